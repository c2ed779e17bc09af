// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/device/machine_device.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "kernels/image/kernel_images.hpp"
#include "tensor_map/rules/check.hpp"
#include "tests/ptx_machine/device/mutants.hpp"
#include "tests/ptx_machine/instructions/handlers.hpp"
#include "tests/ptx_machine/program/opcodes.hpp"
#include "tests/ptx_machine/program/reader.hpp"

namespace tw::ptx_machine {
namespace {

constexpr int32_t kArch = 90;
constexpr int32_t kFault = 715;  // reported where a GPU reports a CUresult
constexpr uint64_t kAlignment = 1024;
// Padding of allocations: tensor stores write up to 16 bytes past a tensor's end.
constexpr uint64_t kBehind = 1024;
constexpr uint8_t kFill = 0xcd;

Status not_here(const char* what) {
  return fail(Code::ERROR_UNSUPPORTED, {}, "the PTX machine has no %s", what);
}

class MachineDevice final : public Device {
 public:
  MachineDevice();
  ~MachineDevice() override { close(); }

  void close() override;
  Status allocate(uint64_t bytes, uint64_t* address) override;
  Status release(uint64_t address) override;
  Status allocate_host(uint64_t bytes, void** memory) override;
  Status release_host(void* memory) override {
    return release(reinterpret_cast<uintptr_t>(memory));
  }
  Status create_stream(std::unique_ptr<Stream>* out) override;
  Status wrap_stream(CUstream_st*, std::unique_ptr<Stream>*) override {
    return not_here("streams of CUDA");
  }
  Status create_event(std::unique_ptr<Event>* out) override;
  Status load_module(const void*, size_t, std::unique_ptr<tw::Module>*) override {
    return not_here("modules");
  }
  Status prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                 std::unique_ptr<Kernel>* out) override;
  Status find_kernel(const KernelEntry& entry) override;
  Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) override {
    return tw::encode(desc, kArch, bytes);
  }

  Status launch(const Image& image, const LaunchConfig& config, const void* arguments, size_t bytes,
                const void* stream);
  /// The host waits for all launches and writes these bytes; `bytes` may be 0.
  void written(uint64_t address, uint64_t bytes);

  Options options;
  Statistics statistics, last;
  std::vector<std::string> launched;
  std::set<std::string> letters;
  std::string fault;  // the error that lost the device, until write_reports() has written it

 private:
  const Module* module(const std::string& image);
  static void plant(Image* image);
  void write_waits() const;
  void write_reports();

  GlobalMemory memory_;
  History history_;
  std::set<std::string> written_letters_;
  std::map<uint64_t, uint64_t> blocks_;  // address to bytes
  std::map<std::string, std::unique_ptr<Module>> modules_;
  std::map<std::string, std::unique_ptr<Image>> images_;
};

class MachineKernel final : public Kernel {
 public:
  MachineKernel(std::shared_ptr<Device> device, const Image& of)
      : Kernel(std::move(device)), image(of) {}
  Status info(KernelInfo* out) override {
    *out = {};
    out->max_threads = static_cast<int32_t>(image.entry->max_threads);
    out->param_count = static_cast<int32_t>(image.entry->parameters);
    out->param_bytes = static_cast<int32_t>(image.entry->param_bytes);
    out->binary_version = kArch;
    return {};
  }
  Status param(int32_t, size_t*, size_t*) override { return not_here("list of parameters"); }
  Status occupancy(const LaunchConfig& config, int32_t* blocks_per_sm, int32_t* clusters) override {
    *blocks_per_sm = 1;
    *clusters = max_active_clusters(config);
    return {};
  }

  const Image& image;
};

class MachineEvent final : public Event {
 public:
  using Event::Event;
  Status synchronize() override { return device()->check_alive(); }
  Status query() override { return device()->check_alive(); }
  Status elapsed_since(Event& start, float* milliseconds) override {
    const auto& from = static_cast<MachineEvent&>(start);
    *milliseconds = std::chrono::duration<float, std::milli>(at - from.at).count();
    return device()->check_alive();
  }
  std::chrono::steady_clock::time_point at;
};

class MachineStream final : public Stream {
 public:
  using Stream::Stream;
  Status synchronize() override {
    machine().written(0, 0);
    return device()->check_alive();
  }
  Status query() override { return device()->check_alive(); }
  Status wait(Event&) override { return device()->check_alive(); }
  Status record(Event& event) override {
    static_cast<MachineEvent&>(event).at = std::chrono::steady_clock::now();
    return device()->check_alive();
  }
  Status copy_to_device(uint64_t dst, const void* src, uint64_t bytes) override {
    return copy(reinterpret_cast<void*>(dst), src, bytes);
  }
  Status copy_to_host(void* dst, uint64_t src, uint64_t bytes) override {
    return copy(dst, reinterpret_cast<const void*>(src), bytes);
  }
  Status copy_on_device(uint64_t dst, uint64_t src, uint64_t bytes) override {
    return copy(reinterpret_cast<void*>(dst), reinterpret_cast<const void*>(src), bytes);
  }
  Status fill(uint64_t dst, uint8_t value, uint64_t bytes) override {
    TW_TRY(device()->check_alive());
    machine().written(dst, bytes);
    std::memset(reinterpret_cast<void*>(dst), value, bytes);
    return {};
  }
  Status launch(Kernel& kernel, const LaunchConfig& config, const void* arguments,
                size_t bytes) override {
    TW_TRY(device()->check_alive());
    return machine().launch(static_cast<MachineKernel&>(kernel).image, config, arguments, bytes,
                            this);
  }
  Status launch_params(Kernel&, const LaunchConfig&, void**) override {
    return not_here("launches by parameters");
  }
  Status copy_between(Device&, uint64_t dst, Device&, uint64_t src, uint64_t bytes) override {
    return copy_on_device(dst, src, bytes);
  }
  Status begin_capture() override { return not_here("captures"); }
  Status end_capture(std::unique_ptr<Graph>*) override { return not_here("captures"); }
  Status is_captured(bool* yes) override {
    *yes = false;
    return {};
  }

 private:
  MachineDevice& machine() const { return static_cast<MachineDevice&>(*device()); }
  Status copy(void* dst, const void* src, uint64_t bytes) {
    TW_TRY(device()->check_alive());
    machine().written(reinterpret_cast<uintptr_t>(dst), bytes);
    std::memmove(dst, src, bytes);
    return {};
  }
};

MachineDevice::MachineDevice() {
#ifdef __GLIBC__
  // The memory of a CTA serves the next one: without this, its pages would go back to the kernel
  // and be cleared each time.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
#endif
  info_ = machine_info();
}

void MachineDevice::close() {
  if (closed_.exchange(true)) return;
  write_waits();
  for (const auto& [address, bytes] : blocks_) std::free(reinterpret_cast<void*>(address));
  blocks_.clear();
}

Status MachineDevice::allocate(uint64_t bytes, uint64_t* address) {
  TW_TRY(check_alive());
  const uint64_t whole = (bytes + kBehind + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = whole > info_.total_memory_bytes ? nullptr : std::aligned_alloc(kAlignment, whole);
  if (!memory)
    return fail(
        Code::ERROR_OUT_OF_MEMORY, {.argument = "bytes", .got = static_cast<int64_t>(bytes)},
        "the PTX machine is out of memory: %llu bytes", static_cast<unsigned long long>(bytes));
  std::memset(memory, kFill, whole);
  *address = reinterpret_cast<uintptr_t>(memory);
  blocks_[*address] = bytes;
  written(*address, bytes);
  memory_.add(*address, bytes);
  return {};
}

Status MachineDevice::release(uint64_t address) {
  if (blocks_.erase(address) == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "address"},
                "the PTX machine has no such memory");
  memory_.remove(address);
  std::free(reinterpret_cast<void*>(address));
  return {};
}

Status MachineDevice::allocate_host(uint64_t bytes, void** memory) {
  uint64_t address = 0;
  TW_TRY(allocate(bytes, &address));
  *memory = reinterpret_cast<void*>(address);
  return {};
}

Status MachineDevice::create_stream(std::unique_ptr<Stream>* out) {
  *out = std::make_unique<MachineStream>(shared_from_this());
  return {};
}

Status MachineDevice::create_event(std::unique_ptr<Event>* out) {
  *out = std::make_unique<MachineEvent>(shared_from_this());
  return {};
}

/// TW_PTX_LEAVE_OUT=FILE:LINE disables the wait or fence at that PTX line. TW_PTX_WAITS=FILE lists
/// the executed waits and fences when the device is closed.
void MachineDevice::plant(Image* image) {
  if (std::getenv("TW_PTX_WAITS")) record_waits(image);
  const char* told = std::getenv("TW_PTX_LEAVE_OUT");
  if (!told) return;
  for (const uint32_t instruction : waits_and_fences(*image))
    if (image->module->name + ":" + std::to_string(image->code[instruction].line) == told)
      leave_out(image, instruction);
}

void MachineDevice::write_waits() const {
  const char* path = std::getenv("TW_PTX_WAITS");
  if (!path) return;
  std::ofstream file(path, std::ios::app);
  for (const auto& [kernel, image] : images_)
    for (size_t i = 0; i < image->executed.size(); ++i)
      if (image->executed[i])
        file << image->module->name << ":" << image->code[i].line << " " << kernel << " "
             << opcode_of(image->code[i].op).mnemonic << " " << opcode_of(image->code[i].op).pattern
             << "\n";
}

/// TW_PTX_REPORTS=FILE: appends reports per launch, since a failing test may not close the device.
void MachineDevice::write_reports() {
  if (const char* path = std::getenv("TW_PTX_REPORTS")) {
    std::ofstream file(path, std::ios::app);
    if (!fault.empty()) file << "error: " << fault << "\n";
    for (const std::string& letter : letters)
      if (written_letters_.insert(letter).second) file << "letter: " << letter << "\n";
  }
  fault.clear();
}

void MachineDevice::written(uint64_t address, uint64_t bytes) {
  history_.settle();
  history_.forget(address, bytes);
}

const Module* MachineDevice::module(const std::string& image) {
  std::unique_ptr<Module>& found = modules_[image];
  const std::string path = find_ptx(image);
  if (!found && !path.empty())
    found =
        std::make_unique<Module>(read_module(read_file(path), path.substr(path.rfind('/') + 1)));
  return found.get();
}

Status MachineDevice::find_kernel(const KernelEntry& entry) {
  if (entry.image && !kernel_left_out(entry) && !find_ptx(entry.image).empty()) return {};
  return fail(Code::ERROR_NO_KERNEL_IMAGE, {},
              kernel_left_out(entry) ? "kernel %s was left out of this build by -Dkernels"
                                     : "there is no PTX of %s",
              entry.symbol);
}

Status MachineDevice::prepare(const KernelEntry& entry, uint32_t, std::unique_ptr<Kernel>* out) {
  TW_TRY(check_alive());
  TW_TRY(find_kernel(entry));
  std::unique_ptr<Image>& image = images_[entry.symbol];
  try {
    if (!image) {
      image = std::make_unique<Image>(link(*module(entry.image), entry.symbol, find_handler));
      plant(image.get());
    }
  } catch (const Error& error) {
    return fail(Code::ERROR_NO_KERNEL_IMAGE, {}, "%s", error.what());
  }
  *out = std::make_unique<MachineKernel>(shared_from_this(), *image);
  return {};
}

Status MachineDevice::launch(const Image& image, const LaunchConfig& config, const void* arguments,
                             size_t bytes, const void* stream) {
  Shape shape;
  for (int i = 0; i < 3; ++i) {
    shape.grid[i] = config.grid[i];
    shape.block[i] = config.block[i];
    shape.cluster[i] = config.cluster[i];
  }
  shape.dynamic_shared = config.dynamic_smem_bytes;
  if (std::find(launched.begin(), launched.end(), image.entry->name) == launched.end()) {
    launched.push_back(image.entry->name);
    // TW_PTX_KERNELS=FILE lists the kernels that run.
    if (const char* path = std::getenv("TW_PTX_KERNELS"))
      std::ofstream(path, std::ios::app) << image.entry->name << "\n";
  }
  history_.begin_launch(config.programmatic, stream);
  Options own = options;
  own.history = &history_;
  own.letters = &letters;
  try {
    last = run_launch(image, memory_, shape, arguments, bytes, own);
    statistics.thread_instructions += last.thread_instructions;
  } catch (const Error& error) {
    fault = error.what();
    write_reports();
    mark_lost(kFault, "%s", error.what());
    return check_alive();
  }
  write_reports();
  return {};
}

/// Reads TW_PTX_SEED, TW_PTX_LATE=1, TW_PTX_JUDGE=1, TW_PTX_MOST (most_instructions), and
/// TW_PTX_RESIDENT (resident).
Options options_of_environment() {
  Options options;
  if (const char* seed = std::getenv("TW_PTX_SEED"))
    options.seed = std::strtoull(seed, nullptr, 10);
  if (const char* most = std::getenv("TW_PTX_MOST"))
    options.most_instructions = std::strtoull(most, nullptr, 10);
  if (const char* resident = std::getenv("TW_PTX_RESIDENT"))
    options.resident = static_cast<uint32_t>(std::strtoul(resident, nullptr, 10));
  if (const char* late = std::getenv("TW_PTX_LATE")) options.late = std::strcmp(late, "1") == 0;
  if (const char* judge = std::getenv("TW_PTX_JUDGE")) options.judge = std::strcmp(judge, "1") == 0;
  return options;
}

/// The environment variable TW_PTX_FOLDERS, or else the build's definition.
std::vector<std::string> folders() {
  const char* told = std::getenv("TW_PTX_FOLDERS");
  std::stringstream list(told ? told : TW_PTX_FOLDERS);
  std::vector<std::string> out;
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty()) out.push_back(folder);
  return out;
}

}  // namespace

std::string find_ptx(const std::string& image) {
  for (const std::string& folder : folders()) {
    const std::string path = folder + "/" + image + ".sm_90a.ptx";
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

DeviceInfo machine_info() {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.name = "PTX machine";
  info.compute_major = kArch / 10;
  info.compute_minor = kArch % 10;
  info.driver_version = 13000;
  info.sm_count = 8;
  info.max_dynamic_smem_bytes = static_cast<int32_t>(kMostShared);
  info.total_memory_bytes = uint64_t{1} << 33;
  info.l2_bytes = uint64_t{50} << 20;
  // Those of an H200, because plans choose by them.
  info.clock_khz = 1980000;
  info.memory_clock_khz = 3201000;
  info.memory_bus_bits = 6144;
  info.features = info.kernel_features = feature::tma | feature::mma | feature::wgmma;
  return info;
}

int32_t max_active_clusters(const LaunchConfig& config) {
  const uint32_t size = config.cluster[0] * config.cluster[1] * config.cluster[2];
  return std::max(1, machine_info().sm_count / static_cast<int32_t>(size));
}

Status open_machine_device(std::shared_ptr<Device>* out) {
  for (const std::string& folder : folders()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
      if (entry.path().string().ends_with(".sm_90a.ptx")) {
        auto device = std::make_shared<MachineDevice>();
        device->options = options_of_environment();
        *out = device;
        return {};
      }
  }
  return fail(Code::ERROR_NO_KERNEL_IMAGE, {},
              "no PTX of the kernels: build with nvcc, or set TW_PTX_FOLDERS");
}

void set_options(Device& device, const Options& options) {
  static_cast<MachineDevice&>(device).options = options;
}
Statistics statistics(const Device& device) {
  return static_cast<const MachineDevice&>(device).statistics;
}
Statistics last_launch(const Device& device) {
  return static_cast<const MachineDevice&>(device).last;
}
std::set<std::string> letters(const Device& device) {
  return static_cast<const MachineDevice&>(device).letters;
}
std::vector<std::string> launched_kernels(const Device& device) {
  return static_cast<const MachineDevice&>(device).launched;
}

}  // namespace tw::ptx_machine
