// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_HPP
#define TILEWRIGHT_HPP
/// @file tilewright.hpp
/// Header-only RAII classes over tilewright.h for C++20, one class for each handle type. This file
/// includes error.hpp (the exception). Include the other C++ headers where they are needed:
/// graph.hpp (graphs), dlpack.hpp (DLPack tensors), kernels.hpp (embedded kernels) and
/// supported.hpp (whether a plan can be made).
///
/// - Classes own their handle and can be moved but not copied. get() returns the handle, so that
///   calls of the C API may be mixed in. A moved-from object holds NULL and may only be destroyed
///   or assigned to.
/// - A call that fails throws Error, which has the status, the library's message and its details.
///   Destructors do not throw.
/// - Descriptions and arguments are the structs of the C API. copy_desc(), gemm_args() and so on
///   return them with their defaults.
/// - As in the C API, objects may outlive their Device, but can then only be destroyed.
/// - Thread-safety is that of the C API: const and non-const members may be called from any thread,
///   but moving or destroying an object must not overlap another use of it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tilewright/tilewright.h>
#include <tilewright/error.hpp>

namespace tilewright {
inline namespace TILEWRIGHT_NAMESPACE {

/// @name Descriptions and arguments with their defaults
/// @{
#define TILEWRIGHT_DEFAULTS(name)                 \
  inline tw_##name name() {                       \
    return detail::initialized(tw_##name##_init); \
  }
TILEWRIGHT_DEFAULTS(copy_desc)
TILEWRIGHT_DEFAULTS(copy_args)
TILEWRIGHT_DEFAULTS(prefetch_desc)
TILEWRIGHT_DEFAULTS(prefetch_args)
TILEWRIGHT_DEFAULTS(elementwise_desc)
TILEWRIGHT_DEFAULTS(elementwise_args)
TILEWRIGHT_DEFAULTS(copies_desc)
TILEWRIGHT_DEFAULTS(copies_args)
TILEWRIGHT_DEFAULTS(ragged_desc)
TILEWRIGHT_DEFAULTS(ragged_args)
TILEWRIGHT_DEFAULTS(route_desc)
TILEWRIGHT_DEFAULTS(route_args)
TILEWRIGHT_DEFAULTS(grouped_desc)
TILEWRIGHT_DEFAULTS(grouped_args)
TILEWRIGHT_DEFAULTS(quantize_desc)
TILEWRIGHT_DEFAULTS(quantize_args)
TILEWRIGHT_DEFAULTS(rows_desc)
TILEWRIGHT_DEFAULTS(rows_args)
TILEWRIGHT_DEFAULTS(gemm_desc)
TILEWRIGHT_DEFAULTS(gemm_args)
TILEWRIGHT_DEFAULTS(gemm_tune_desc)
TILEWRIGHT_DEFAULTS(launch_desc)
TILEWRIGHT_DEFAULTS(tensor_map_desc)
TILEWRIGHT_DEFAULTS(tile_desc)
#undef TILEWRIGHT_DEFAULTS
/// @}

namespace detail {

template <typename Address, auto allocate, auto release>
class Allocation;

}  // namespace detail

/// A device. Destroying it, or assigning another one to it, closes it: its Memory is freed, and
/// objects that were made from it then return TW_ERROR_DEVICE_CLOSED.
class Device {
 public:
  explicit Device(tw_device_kind kind, int32_t ordinal = 0)
      : open_(std::make_shared<detail::OpenDevice>(tw_device_create, kind, ordinal)) {}
  /// Uses the caller's context, which must outlive the device.
  explicit Device(CUctx_st* context)
      : open_(std::make_shared<detail::OpenDevice>(tw_device_create_from_context, context)) {}
  static Device host() { return Device(TW_DEVICE_HOST); }
  static Device cuda(int32_t ordinal = 0) { return Device(TW_DEVICE_CUDA, ordinal); }
  /// The number of devices of a kind. Throws if they cannot be counted, for example without a
  /// driver.
  static int32_t count(tw_device_kind kind) {
    return detail::result<int32_t>(tw_device_count, kind);
  }
  Device(Device&&) noexcept = default;
  Device& operator=(Device&& other) noexcept {
    Device taken(std::move(other));
    open_.swap(taken.open_);
    return *this;
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    if (open_) open_->close();
  }

  tw_device* get() const noexcept { return open_ ? open_->get() : nullptr; }
  /// The context that a CUDA device works in; not owned by the caller.
  CUctx_st* cuda_context() const {
    return detail::result<CUctx_st*>(tw_device_get_cuda_context, get());
  }
  tw_device_info info() const {
    return detail::filled(tw_device_info_init, tw_device_get_info, get());
  }

 private:
  template <typename, auto, auto>
  friend class detail::Allocation;  // shares open_, to know whether the device still exists
  std::shared_ptr<detail::OpenDevice> open_;
};

namespace detail {

/// Memory of a device, or a registration of memory with a device. It is released when this object
/// is destroyed, or when the device is closed if that happens first.
template <typename Address, auto allocate, auto release>
class Allocation {
 public:
  Allocation() = default;
  Allocation(const Device& device, uint64_t bytes)
      : device_(device.open_),
        address_(result<Address>(allocate, device.get(), bytes)),
        bytes_(bytes) {}
  ~Allocation() { reset(); }
  Allocation(Allocation&& other) noexcept { swap(other); }
  Allocation& operator=(Allocation&& other) noexcept {
    Allocation taken(std::move(other));
    swap(taken);
    return *this;
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  Address address() const noexcept { return address_; }
  uint64_t bytes() const noexcept { return bytes_; }
  void reset() noexcept {
    if (device_) device_->template free<release>(address_);
    device_.reset();
    address_ = {};
    bytes_ = 0;
  }
  void swap(Allocation& other) noexcept {
    device_.swap(other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }

 protected:
  Allocation(const Device& device, Address address, uint64_t bytes) noexcept
      : device_(device.open_), address_(address), bytes_(bytes) {}

 private:
  std::shared_ptr<OpenDevice> device_;
  Address address_{};
  uint64_t bytes_ = 0;
};

}  // namespace detail

/// Device memory.
class Memory : public detail::Allocation<uint64_t, tw_malloc, tw_free> {
 public:
  using Allocation::Allocation;
};

/// Host memory for fast copies to and from the device. On a GPU it is pinned.
class HostMemory : public detail::Allocation<void*, tw_malloc_host, tw_free_host> {
 public:
  using Allocation::Allocation;
  /// The memory as elements of type T, as many as fit.
  template <typename T>
  std::span<T> as() const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {static_cast<T*>(address()), static_cast<size_t>(bytes() / sizeof(T))};
  }
};

/// Memory of the caller in which operands may lie during the lifetime of this object. The host
/// device accepts operands only in such memory and in memory that it allocated; a CUDA device
/// accepts any.
class RegisteredMemory
    : public detail::Allocation<uint64_t, tw_memory_register, tw_memory_unregister> {
 public:
  RegisteredMemory() = default;
  // Registers the memory before the base class is constructed. If that fails, the constructor
  // throws, and nothing is unregistered.
  RegisteredMemory(const Device& device, uint64_t address, uint64_t bytes)
      : Allocation(device, (check(tw_memory_register(device.get(), address, bytes)), address),
                   bytes) {}
  template <typename T>
  RegisteredMemory(const Device& device, std::span<T> numbers)
      : RegisteredMemory(device, reinterpret_cast<uintptr_t>(numbers.data()),
                         numbers.size_bytes()) {}
};

class Stream;

/// A point in a stream's work.
class Event : public detail::Handle<tw_event, tw_event_destroy> {
 public:
  explicit Event(const Device& device)
      : Handle(detail::result<tw_event*>(tw_event_create, device.get())) {}
  /// Wraps the caller's event, which must outlive this object.
  Event(const Device& device, CUevent_st* cuda_event)
      : Handle(detail::result<tw_event*>(tw_event_create_from, device.get(), cuda_event)) {}
  /// The CUDA event behind this object; its owner does not change.
  CUevent_st* cuda() const { return detail::result<CUevent_st*>(tw_event_get_cuda, get()); }
  void record(const Stream& stream);
  void synchronize() const { check(tw_event_synchronize(get())); }
  bool done() const { return detail::done(tw_event_query(get())); }
  /// The time from `start`, which was recorded earlier, to this event.
  float milliseconds_since(const Event& start) const {
    return detail::result<float>(tw_event_elapsed, start.get(), get());
  }
};

/// A queue of work. Its members enqueue work and return at once; host memory must stay valid until
/// the work is done.
class Stream : public detail::Handle<tw_stream, tw_stream_destroy> {
 public:
  explicit Stream(const Device& device)
      : Handle(detail::result<tw_stream*>(tw_stream_create, device.get())) {}
  /// Wraps the caller's stream, which must outlive this object, or a default stream of CUDA.
  Stream(const Device& device, CUstream_st* cuda_stream)
      : Handle(detail::result<tw_stream*>(tw_stream_create_from, device.get(), cuda_stream)) {}
  /// The CUDA stream behind this object; its owner does not change.
  CUstream_st* cuda() const { return detail::result<CUstream_st*>(tw_stream_get_cuda, get()); }
  void synchronize() const { check(tw_stream_synchronize(get())); }
  bool done() const { return detail::done(tw_stream_query(get())); }
  void wait(const Event& event) { check(tw_stream_wait_event(get(), event.get())); }

  template <typename T>
  void to_device(uint64_t dst, std::span<const T> src) {
    static_assert(std::is_trivially_copyable_v<T>);
    check(tw_memcpy_to_device(get(), dst, src.data(), src.size_bytes()));
  }
  template <typename T>
  void to_device(const Memory& dst, const std::vector<T>& src) {
    to_device(dst.address(), std::span<const T>(src));
  }
  template <typename T>
  void to_host(std::span<T> dst, uint64_t src) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>);
    check(tw_memcpy_to_host(get(), dst.data(), src, dst.size_bytes()));
  }
  template <typename T>
  void to_host(std::vector<T>& dst, const Memory& src) {
    to_host(std::span<T>(dst), src.address());
  }
  void on_device(uint64_t dst, uint64_t src, uint64_t bytes) {
    check(tw_memcpy_on_device(get(), dst, src, bytes));
  }
  /// One of the devices must be that of this stream.
  void between_devices(const Device& dst_device, uint64_t dst, const Device& src_device,
                       uint64_t src, uint64_t bytes) {
    check(tw_memcpy_between_devices(get(), dst_device.get(), dst, src_device.get(), src, bytes));
  }
  void fill(uint64_t dst, uint8_t value, uint64_t bytes) {
    check(tw_memset(get(), dst, value, bytes));
  }
};

inline void Event::record(const Stream& stream) {
  check(tw_event_record(get(), stream.get()));
}

/// A layout, as in CuTe's algebra.
class Layout : public detail::Handle<tw_layout, tw_layout_destroy> {
 public:
  using Numbers = std::span<const int64_t>;

  /// Parses a text such as `((2,3),4):((1,8),2)`.
  explicit Layout(const std::string& text)
      : Layout(detail::result<tw_layout*>(tw_layout_parse, detail::c_text(text, "text"))) {}
  /// A flat layout; without strides the compact column-major layout.
  explicit Layout(Numbers shape, Numbers stride = {}) : Layout(flat(shape, stride)) {}
  /// Takes ownership of a handle of the C API.
  explicit Layout(tw_layout* owned) noexcept : Handle(owned) {}

  std::string text() const { return detail::text(tw_layout_format, get()); }
  int64_t size() const { return detail::result<int64_t>(tw_layout_size, get()); }
  int64_t cosize() const { return detail::result<int64_t>(tw_layout_cosize, get()); }
  int32_t rank() const { return detail::result<int32_t>(tw_layout_rank, get()); }
  int32_t depth() const { return detail::result<int32_t>(tw_layout_depth, get()); }
  int32_t leaves() const { return detail::result<int32_t>(tw_layout_leaves, get()); }
  Layout mode(int32_t mode) const {
    return Layout(detail::result<tw_layout*>(tw_layout_mode, get(), mode));
  }
  /// The index of a coordinate: one linear number, one for each mode, or one for each leaf.
  int64_t operator()(Numbers coord) const {
    return detail::result<int64_t>(tw_layout_crd2idx, get(), coord.data(), length(coord));
  }
  template <typename... Integers>
  requires(sizeof...(Integers) > 0 && (std::is_integral_v<Integers> && ...)) int64_t operator()(
      Integers... coord) const {
    const std::array<int64_t, sizeof...(Integers)> numbers{static_cast<int64_t>(coord)...};
    return (*this)(Numbers(numbers));
  }
  /// The coordinate that a coordinate tensor returns: one number for each basis element.
  std::vector<int64_t> coordinate(Numbers coord) const {
    std::vector<int64_t> out(TW_LAYOUT_MAX_LEAVES);
    out.resize(static_cast<size_t>(detail::result<int32_t>(
        tw_layout_crd2crd, get(), coord.data(), length(coord), out.data(), length(out))));
    return out;
  }
  /// Converts a linear coordinate to one number for each leaf.
  std::vector<int64_t> unravel(int64_t linear) const {
    std::vector<int64_t> out(static_cast<size_t>(leaves()));
    check(tw_layout_idx2crd(get(), linear, out.data(), length(out)));
    return out;
  }
  /// The smallest linear coordinate that has this index.
  int64_t find(int64_t index) const {
    return detail::result<int64_t>(tw_layout_find, get(), index);
  }
  /// One tile, and the index of its first element.
  std::pair<Layout, int64_t> local_tile(Numbers tile, Numbers coord) const {
    same_length(tile, coord);
    tw_layout* out = nullptr;
    int64_t offset = 0;
    check(tw_layout_local_tile(get(), length(tile), tile.data(), coord.data(), &out, &offset));
    return {Layout(out), offset};
  }

 private:
  static int32_t length(Numbers numbers) { return static_cast<int32_t>(numbers.size()); }
  static void same_length(Numbers a, Numbers b) {
    if (a.size() != b.size()) throw std::invalid_argument("tilewright::Layout: unequal lengths");
  }
  static tw_layout* flat(Numbers shape, Numbers stride) {
    if (!stride.empty()) same_length(shape, stride);
    return detail::result<tw_layout*>(tw_layout_create, length(shape), shape.data(),
                                      stride.empty() ? nullptr : stride.data());
  }
};

/// A tensor map. Kernel::launch() passes it to the kernel as its 128 bytes.
class TensorMap : public detail::Handle<tw_tensor_map, tw_tensor_map_destroy> {
 public:
  TensorMap(const Device& device, const tw_tensor_map_desc& desc)
      : Handle(detail::result<tw_tensor_map*>(tw_tensor_map_create, device.get(), &desc)) {}
  /// All rules that the description breaks on a chip; empty if it is valid.
  static std::vector<tw_rule_violation> violations(const tw_tensor_map_desc& desc, tw_arch arch) {
    int32_t count = 0;
    const tw_status status = tw_tensor_map_check(&desc, arch, nullptr, 0, &count);
    if (status != TW_ERROR_RULE) check(status);
    std::vector<tw_rule_violation> out(static_cast<size_t>(count),
                                       detail::initialized(tw_rule_violation_init));
    if (count > 0) (void)tw_tensor_map_check(&desc, arch, out.data(), count, &count);
    return out;
  }
  std::array<std::byte, 128> bytes() const {
    std::array<std::byte, 128> out{};
    check(tw_tensor_map_bytes(get(), out.data()));
    return out;
  }
  tw_tensor_map_desc desc() const {
    return detail::filled(tw_tensor_map_desc_init, tw_tensor_map_get_desc, get());
  }
  Layout coordinates() const {
    return Layout(detail::result<tw_layout*>(tw_tensor_map_coordinates, get()));
  }
  std::string explain() const { return detail::text(tw_tensor_map_explain, get()); }
};

/// A kernel of the caller.
class Kernel : public detail::Handle<tw_kernel, tw_kernel_destroy> {
 public:
  tw_kernel_info info() const {
    return detail::filled(tw_kernel_info_init, tw_kernel_get_info, get());
  }
  /// The number of blocks that fit on one SM, and of clusters that fit on the device.
  std::pair<int32_t, int32_t> occupancy(const tw_launch_desc& desc) const {
    int32_t blocks = 0;
    int32_t clusters = 0;
    check(tw_kernel_occupancy(get(), &desc, &blocks, &clusters));
    return {blocks, clusters};
  }
  /// Launches the kernel. Each parameter must have the type that the kernel declares.
  template <typename... Params>
  void launch(const Stream& stream, const tw_launch_desc& desc, const Params&... params) const {
    // One element more than needed, because an array without elements has no usable data().
    std::array<uint32_t, sizeof...(Params) + 1> sizes{};
    std::array<std::byte, (size_of<Params>() + ... + 1)> packed{};
    [[maybe_unused]] size_t count = 0;
    [[maybe_unused]] size_t end = 0;
    (pack(params, sizes[count++], packed.data(), end), ...);
    check(tw_launch(stream.get(), get(), &desc, sizeof...(Params), sizes.data(), packed.data()));
  }

 private:
  friend class Module;
  explicit Kernel(tw_kernel* owned) noexcept : Handle(owned) {}

  template <typename T>
  static constexpr size_t size_of() {
    return std::is_same_v<T, TensorMap> ? 128 : sizeof(T);
  }
  template <typename T>
  static void pack(const T& value, uint32_t& size, std::byte* packed, size_t& end) {
    size = static_cast<uint32_t>(size_of<T>());
    if constexpr (std::is_same_v<T, TensorMap>) {
      check(tw_tensor_map_bytes(value.get(), packed + end));
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      std::memcpy(packed + end, &value, sizeof(T));
    }
    end += size;
  }
};

/// A fatbin, cubin or PTX of the caller.
class Module : public detail::Handle<tw_module, tw_module_destroy> {
 public:
  Module(const Device& device, std::span<const std::byte> image)
      : Handle(
            detail::result<tw_module*>(tw_module_load, device.get(), image.data(), image.size())) {}
  Kernel kernel(const std::string& name) const {
    return Kernel(detail::result<tw_kernel*>(tw_kernel_get, get(), detail::c_text(name, "name")));
  }
};

/// A set of GEMM tuning entries, for any number of chips.
class GemmTuning : public detail::Handle<tw_gemm_tuning, tw_gemm_tuning_destroy> {
 public:
  GemmTuning() : Handle(detail::result<tw_gemm_tuning*>(tw_gemm_tuning_create)) {}
  void load(const std::string& text) {
    check(tw_gemm_tuning_load(get(), detail::c_text(text, "text")));
  }
  std::string text() const { return detail::text(tw_gemm_tuning_format, get()); }
  tw_gemm_candidate tune(const Stream& stream, const tw_gemm_desc& desc, const tw_gemm_args& args,
                         const tw_gemm_tune_desc& how = gemm_tune_desc()) {
    return detail::filled(tw_gemm_candidate_init, tw_gemm_tune, get(), stream.get(), &desc, &args,
                          &how);
  }
  void calibrate(const Stream& stream, uint64_t scratch, uint64_t scratch_bytes) {
    check(tw_gemm_calibrate(get(), stream.get(), scratch, scratch_bytes));
  }
};

/// A plan: an operation that is made once and run many times. The argument of run() must belong to
/// the plan's operation.
class Plan : public detail::Handle<tw_plan, tw_plan_destroy> {
 public:
  static Plan copy(const Device& device, const tw_copy_desc& desc) {
    return Plan(TW_OP_COPY, detail::result<tw_plan*>(tw_copy_plan, device.get(), &desc));
  }
  static Plan prefetch(const Device& device, const tw_prefetch_desc& desc) {
    return Plan(TW_OP_PREFETCH, detail::result<tw_plan*>(tw_prefetch_plan, device.get(), &desc));
  }
  static Plan elementwise(const Device& device, const tw_elementwise_desc& desc) {
    return Plan(TW_OP_ELEMENTWISE,
                detail::result<tw_plan*>(tw_elementwise_plan, device.get(), &desc));
  }
  static Plan gather(const Device& device, const tw_rows_desc& desc) {
    return Plan(TW_OP_GATHER, detail::result<tw_plan*>(tw_gather_plan, device.get(), &desc));
  }
  static Plan scatter(const Device& device, const tw_rows_desc& desc) {
    return Plan(TW_OP_SCATTER, detail::result<tw_plan*>(tw_scatter_plan, device.get(), &desc));
  }
  static Plan copies(const Device& device, const tw_copies_desc& desc) {
    return Plan(TW_OP_COPIES, detail::result<tw_plan*>(tw_copies_plan, device.get(), &desc));
  }
  static Plan ragged(const Device& device, const tw_ragged_desc& desc) {
    return Plan(TW_OP_RAGGED, detail::result<tw_plan*>(tw_ragged_plan, device.get(), &desc));
  }
  static Plan route(const Device& device, const tw_route_desc& desc) {
    return Plan(TW_OP_ROUTE, detail::result<tw_plan*>(tw_route_plan, device.get(), &desc));
  }
  static Plan grouped(const Device& device, const tw_grouped_desc& desc) {
    return Plan(TW_OP_GROUPED, detail::result<tw_plan*>(tw_grouped_plan, device.get(), &desc));
  }
  static Plan quantize(const Device& device, const tw_quantize_desc& desc) {
    return Plan(TW_OP_QUANTIZE, detail::result<tw_plan*>(tw_quantize_plan, device.get(), &desc));
  }
  static Plan gemm(const Device& device, const tw_gemm_desc& desc) {
    return Plan(TW_OP_GEMM, detail::result<tw_plan*>(tw_gemm_plan, device.get(), &desc));
  }
  static Plan gemm(const Device& device, const tw_gemm_desc& desc, const GemmTuning& tuning) {
    return Plan(TW_OP_GEMM,
                detail::result<tw_plan*>(tw_gemm_plan_tuned, device.get(), &desc, tuning.get()));
  }

  void run(const Stream& stream, const tw_copy_args& args) const {
    check(tw_copy_run(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_prefetch_args& args) const {
    check(tw_prefetch_run(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_elementwise_args& args) const {
    check(tw_elementwise_run(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_rows_args& args) const {
    check((op_ == TW_OP_SCATTER ? tw_scatter_run : tw_gather_run)(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_copies_args& args) const {
    check(tw_copies_run(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_ragged_args& args) const {
    check(tw_ragged_run(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_route_args& args) const {
    check(tw_route_run(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_grouped_args& args) const {
    check(tw_grouped_run(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_quantize_args& args) const {
    check(tw_quantize_run(get(), stream.get(), &args));
  }
  void run(const Stream& stream, const tw_gemm_args& args) const {
    check(tw_gemm_run(get(), stream.get(), &args));
  }
  tw_plan_info info() const { return detail::filled(tw_plan_info_init, tw_plan_get_info, get()); }
  std::string explain() const { return detail::text(tw_plan_explain, get()); }

 private:
  Plan(tw_op op, tw_plan* owned) noexcept : Handle(owned), op_(op) {}
  tw_op op_;
};

}  // namespace TILEWRIGHT_NAMESPACE
}  // namespace tilewright

#endif  // TILEWRIGHT_HPP
