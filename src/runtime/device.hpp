// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device interface: what operations and the C API ask of a device, and nothing of how.
//
// Two implementations: runtime/cuda (a GPU through the driver) and runtime/host (the CPU
// reference). Arguments have been checked at the front door (capi, ops): implementations may assume
// handles of their own kind, non-null pointers and sane sizes.
//
// Ownership: every object holds its Device by shared_ptr, so that a handle outlives the caller's
// tw_device_destroy(): close() then runs, alive() fails from there on, and destruction still works.
// Thread-safety: every function may be called from any thread.
//
// Lost devices: an error that kills the context (or, on the host device, a fault that would have)
// calls mark_lost(); from then on alive() fails with the first such error. Fork: a child process
// may destroy the handles it inherited, which then touches neither driver nor threads.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/feature.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "kernels/table/kernel_table.hpp"
#include "runtime/fork_mark.hpp"
#include "tensor_map/tensor_map.hpp"

struct CUstream_st;
struct CUctx_st;
struct CUevent_st;

namespace tw {

enum class DeviceKind : int32_t { host = 1, cuda = 2 };

struct DeviceInfo {
  DeviceKind kind = DeviceKind::host;
  int32_t ordinal = 0;
  int32_t compute_major = 0;
  int32_t compute_minor = 0;
  int32_t driver_version = 0;
  int32_t sm_count = 1;
  int32_t max_dynamic_smem_bytes = 0;
  uint64_t total_memory_bytes = 0;
  uint64_t l2_bytes = 0;
  int32_t clock_khz = 0;  ///< of the SMs at most; 0: not known
  int32_t memory_clock_khz =
      0;  ///< of memory, which moves two bits a clock on each line of its bus
  int32_t memory_bus_bits = 0;
  FeatureMask features = 0;         ///< what the chip has
  FeatureMask kernel_features = 0;  ///< what rows of the table may use of it
  std::string name;
};

struct LaunchConfig {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {128, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t dynamic_smem_bytes = 0;
  bool programmatic = false;
};

struct KernelInfo {
  int32_t registers = 0;
  int32_t static_smem_bytes = 0;
  int32_t local_bytes = 0;
  int32_t max_threads = 0;
  int32_t binary_version = 0;
  int32_t param_count = 0;
  int32_t param_bytes = 0;
};

class Device;

/// Base of everything that belongs to a device.
class DeviceObject {
 public:
  explicit DeviceObject(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  virtual ~DeviceObject() = default;
  DeviceObject(const DeviceObject&) = delete;
  DeviceObject& operator=(const DeviceObject&) = delete;
  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  std::shared_ptr<Device> device_;
};

/// A kernel that is ready to launch: of a row of the table, or of a caller's module.
class Kernel : public DeviceObject {
 public:
  using DeviceObject::DeviceObject;
  virtual Status info(KernelInfo* out) = 0;
  virtual Status param(int32_t index, size_t* offset, size_t* size) = 0;
  virtual Status occupancy(const LaunchConfig& config, int32_t* blocks_per_sm,
                           int32_t* clusters) = 0;
};

class Module : public DeviceObject {
 public:
  using DeviceObject::DeviceObject;
  virtual Status kernel(const char* name, std::unique_ptr<Kernel>* out) = 0;
};

class Event : public DeviceObject {
 public:
  using DeviceObject::DeviceObject;
  /// As Stream::synchronize().
  virtual Status synchronize() = 0;
  virtual Status query() = 0;
  /// Time from `start`, an event of the same device, to this one.
  virtual Status elapsed_since(Event& start, float* milliseconds) = 0;
  /// The CUevent behind it, which stays this object's. The host device has none.
  virtual Status cuda_handle(CUevent_st** out);
};

class Stream;

/// What a capture recorded. Once instantiated it can be launched.
class Graph : public DeviceObject {
 public:
  using DeviceObject::DeviceObject;
  /// Makes it ready to launch; does nothing the second time.
  virtual Status instantiate() = 0;
  virtual Status launch(Stream& stream) = 0;
  /// Takes the operations of `captured`, a graph of the same device: later launches run those. A
  /// failure leaves the graph as it was.
  virtual Status update(Graph& captured) = 0;
};

class Stream : public DeviceObject {
 public:
  using DeviceObject::DeviceObject;
  /// Looks after alive() itself: a device that is lost or closed is waited for too where work that
  /// has begun may be using the caller's memory.
  virtual Status synchronize() = 0;
  virtual Status query() = 0;
  virtual Status wait(Event& event) = 0;
  virtual Status record(Event& event) = 0;
  virtual Status copy_to_device(uint64_t dst, const void* src, uint64_t bytes) = 0;
  virtual Status copy_to_host(void* dst, uint64_t src, uint64_t bytes) = 0;
  virtual Status copy_on_device(uint64_t dst, uint64_t src, uint64_t bytes) = 0;
  virtual Status fill(uint64_t dst, uint8_t value, uint64_t bytes) = 0;

  /// Launches with one parameter, the family's argument struct (at most kMaxArgumentBytes).
  virtual Status launch(Kernel& kernel, const LaunchConfig& config, const void* arguments,
                        size_t bytes) = 0;
  /// Launches with parameters one by one, as tw_launch does. CUDA alone.
  virtual Status launch_params(Kernel& kernel, const LaunchConfig& config, void** params) = 0;

  /// Copies between memory of two devices of this stream's kind, one of which is its own.
  virtual Status copy_between(Device& dst_device, uint64_t dst, Device& src_device, uint64_t src,
                              uint64_t bytes) = 0;

  /// From here on what is enqueued is recorded and does not run.
  virtual Status begin_capture() = 0;
  /// Ends the capture that began on this stream; `out` may be nullptr, which discards the
  /// recording.
  virtual Status end_capture(std::unique_ptr<Graph>* out) = 0;
  /// Whether what is enqueued is recorded.
  virtual Status captured(bool* yes) = 0;
  /// The CUstream behind it, which stays this object's. The host device has none.
  virtual Status cuda_handle(CUstream_st** out);
};

/// Largest argument struct of a kernel family: CUDA's classic 4 KB of kernel parameters.
inline constexpr size_t kMaxArgumentBytes = 4096;

/// Most blocks of a cluster that every chip with clusters takes.
inline constexpr uint32_t kMaxCluster = 8;

/// Of Device::clusters_at_once(): the driver was asked, and not one runs.
inline constexpr int32_t kNoClusters = -1;

/// What has_all_kernels() (rehearsal.hpp) has found out about a device's families, a bit for each.
struct KnownFamilies {
  std::atomic<uint32_t> looked{0};  // those that were looked up
  std::atomic<uint32_t> whole{0};   // of these, the ones that have all their kernels
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  const DeviceInfo& info() const { return info_; }

  /// Clusters of `size` blocks (up to kMaxCluster), each with an SM to itself, that run at once, or
  /// kNoClusters; 0 until somebody with a kernel in hand has asked the driver. SMs come in groups
  /// that a cluster cannot straddle, so that the number is not a quotient.
  int32_t clusters_at_once(uint32_t size) const {
    return clusters_at_once_[size].load(std::memory_order_acquire);
  }
  void set_clusters_at_once(uint32_t size, int32_t clusters) {
    clusters_at_once_[size].store(clusters, std::memory_order_release);
  }

  /// The device's own log, whose messages go to the process's while it has no callback.
  Log& log() const { return log_; }

  /// OK while the device can be used: not closed, not lost, not in a forked child. Each entry
  /// point of the C API asks this first.
  Status alive() const;
  /// Whether this is another process than the one that opened the device.
  bool forked() const { return fork_mark_.forked(); }
  /// Whether the device knows the memory that operands may lie in: the host device does.
  bool checks_memory() const { return checks_memory_; }
  /// Refuses an operand by its name, a literal, whose `bytes` bytes from `address`, its lowest, do
  /// not lie inside one block of memory that the device knows. Nothing where bytes is 0.
  Status check_memory(const char* operand, uint64_t address, uint64_t bytes) const {
    return checks_memory_ && bytes != 0 ? find_memory(operand, address, bytes) : Status();
  }

  /// Stops the device for good; idempotent. Everything still allocated by it is freed.
  virtual void close() = 0;

  virtual Status allocate(uint64_t bytes, uint64_t* address) = 0;
  virtual Status release(uint64_t address) = 0;
  /// Host memory that the device copies from and to without a detour; close() frees it too.
  virtual Status allocate_host(uint64_t bytes, void** memory) = 0;
  virtual Status release_host(void* memory) = 0;
  /// Memory of the caller's in which operands may lie, as tw_memory_register() has it. Devices that
  /// do not check memory have no use for it.
  virtual Status register_memory(uint64_t, uint64_t) { return {}; }
  virtual Status unregister_memory(uint64_t) { return {}; }
  virtual Status create_stream(std::unique_ptr<Stream>* out) = 0;
  virtual Status wrap_stream(CUstream_st* cuda_stream, std::unique_ptr<Stream>* out) = 0;
  virtual Status create_event(std::unique_ptr<Event>* out) = 0;
  /// An event of the caller's own. The host device has none.
  virtual Status wrap_event(CUevent_st* cuda_event, std::unique_ptr<Event>* out);
  /// The context that the device works in. The host device has none.
  virtual Status cuda_handle(CUctx_st** out);
  virtual Status load_module(const void* image, size_t size, std::unique_ptr<Module>* out) = 0;

  /// Makes a row of the kernel table ready: image loaded, attributes set for up to
  /// `dynamic_smem_bytes` and for clusters. After it, a launch loads nothing.
  virtual Status prepare(const KernelRow& row, uint32_t dynamic_smem_bytes,
                         std::unique_ptr<Kernel>* out) = 0;
  /// Whether prepare() would find the row's code: fails as it would, and loads nothing.
  virtual Status find_kernel(const KernelRow&) { return {}; }
  KnownFamilies& known_families() { return known_families_; }
  /// Writes the 128 bytes of a checked description; the driver's own on CUDA.
  virtual Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) = 0;

 protected:
  Device() = default;
  /// The first call wins: `result` is the CUresult (or another non-zero number), the text says what
  /// happened and which kernel ran last.
  [[gnu::format(printf, 3, 4)]] void mark_lost(int32_t result, const char* format, ...);
  bool lost() const { return lost_.load(std::memory_order_acquire) != 0; }

  /// What check_memory() asks of a device that checks.
  virtual Status find_memory(const char*, uint64_t, uint64_t) const { return {}; }

  DeviceInfo info_;
  bool checks_memory_ = false;
  std::atomic<bool> closed_{false};

 private:
  KnownFamilies known_families_;
  std::atomic<int32_t> clusters_at_once_[kMaxCluster + 1] = {};
  std::atomic<int32_t> lost_{0};  // the sticky CUresult, or 0
  std::mutex lost_mutex_;
  char lost_message_[512] = {};  // written once, before lost_
  ForkMark fork_mark_;
  mutable Log log_{&process_log()};
};

}  // namespace tw
