// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device interface that operations and the C API use. It has two implementations:
// runtime/cuda (a GPU through the driver) and runtime/host (the CPU reference). The callers (capi,
// ops) check all arguments, so implementations may assume handles of their own kind, non-null
// pointers and sane sizes. Every function may be called from any thread.
//
// Ownership: every object holds its Device by shared_ptr, so a handle may outlive the caller's
// tw_device_destroy(), which calls close(). After close(), check_alive() fails, but handles can
// still be destroyed.
//
// Lost devices: an error that kills the context (on the host device: a fault that would kill a
// GPU's) calls mark_lost(). From then on check_alive() fails with the first such error.
//
// Fork: a child process may destroy inherited handles; their destructors touch neither the driver
// nor threads.

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
  int32_t clock_khz = 0;  ///< maximum SM clock; 0: not known
  int32_t memory_clock_khz =
      0;  ///< the memory is DDR: each line of the bus moves two bits per clock
  int32_t memory_bus_bits = 0;
  FeatureMask features = 0;         ///< features of the chip
  FeatureMask kernel_features = 0;  ///< those of them that the embedded kernels may use
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

/// A kernel that is ready to launch. It comes from a kernel entry or from a caller's module.
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
  /// Calls check_alive() itself, like Stream::synchronize().
  virtual Status synchronize() = 0;
  virtual Status query() = 0;
  /// Time from `start`, an event of the same device, to this one.
  virtual Status elapsed_since(Event& start, float* milliseconds) = 0;
  /// The CUevent, which this object keeps. Fails on the host device.
  virtual Status cuda_handle(CUevent_st** out);
};

class Stream;

/// The recording of a stream capture. It must be instantiated before it can be launched.
class Graph : public DeviceObject {
 public:
  using DeviceObject::DeviceObject;
  /// Makes the graph ready to launch; a second call does nothing.
  virtual Status instantiate() = 0;
  virtual Status launch(Stream& stream) = 0;
  /// Later launches run the operations of `captured`, a graph of the same device. A failure leaves
  /// this graph unchanged.
  virtual Status update(Graph& captured) = 0;
};

class Stream : public DeviceObject {
 public:
  using DeviceObject::DeviceObject;
  /// Calls check_alive() itself; callers must not do so first. Where it can, it also waits on a
  /// device that is lost or closing, because work that has begun may still use the caller's memory.
  virtual Status synchronize() = 0;
  virtual Status query() = 0;
  virtual Status wait(Event& event) = 0;
  virtual Status record(Event& event) = 0;
  virtual Status copy_to_device(uint64_t dst, const void* src, uint64_t bytes) = 0;
  virtual Status copy_to_host(void* dst, uint64_t src, uint64_t bytes) = 0;
  virtual Status copy_on_device(uint64_t dst, uint64_t src, uint64_t bytes) = 0;
  virtual Status fill(uint64_t dst, uint8_t value, uint64_t bytes) = 0;

  /// Launches a kernel with one parameter: its family's argument struct, at most kMaxArgumentBytes.
  /// The struct is copied before the call returns.
  virtual Status launch(Kernel& kernel, const LaunchConfig& config, const void* arguments,
                        size_t bytes) = 0;
  /// Launches with one pointer per kernel parameter, for tw_launch(). Fails on the host device.
  virtual Status launch_params(Kernel& kernel, const LaunchConfig& config, void** params) = 0;

  /// Copies between two devices of this stream's kind. One of them is the stream's own device.
  virtual Status copy_between(Device& dst_device, uint64_t dst, Device& src_device, uint64_t src,
                              uint64_t bytes) = 0;

  /// After this call the stream records operations instead of running them.
  virtual Status begin_capture() = 0;
  /// Ends the capture that began on this stream. If `out` is nullptr the recording is discarded.
  virtual Status end_capture(std::unique_ptr<Graph>* out) = 0;
  /// Whether the stream is being captured.
  virtual Status is_captured(bool* yes) = 0;
  /// The CUstream, which this object keeps. Fails on the host device.
  virtual Status cuda_handle(CUstream_st** out);
};

/// Largest argument struct of a kernel family in bytes: CUDA's limit for kernel parameters before
/// CUDA 12.1.
inline constexpr size_t kMaxArgumentBytes = 4096;

/// Largest portable cluster, in blocks: every chip with clusters supports it.
inline constexpr uint32_t kMaxCluster = 8;

/// Value of Device::max_active_clusters(): the driver reports that no cluster of that size can run.
inline constexpr int32_t kNoClusters = -1;

/// Cache of has_all_kernels() (rehearsal.hpp). Bit i stands for the family with the value i.
struct FamilyCache {
  std::atomic<uint32_t> looked_up{0};
  std::atomic<uint32_t> complete{0};  // the families among them that have all their kernels
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  const DeviceInfo& info() const { return info_; }

  /// How many clusters of `size` blocks (at most kMaxCluster) run at once with one block per SM, or
  /// kNoClusters. 0 until a planner stores the driver's answer, which needs a kernel. A cluster
  /// cannot straddle GPCs, so the answer is not sm_count / size.
  int32_t max_active_clusters(uint32_t size) const {
    return max_active_clusters_[size].load(std::memory_order_acquire);
  }
  void set_max_active_clusters(uint32_t size, int32_t clusters) {
    max_active_clusters_[size].store(clusters, std::memory_order_release);
  }

  /// The device's own log. Its messages go to the process's log while it has no callback.
  Log& log() const { return log_; }

  /// OK while the device is usable: not closed, not lost, not in a forked child. Every entry point
  /// of the C API checks this first.
  Status check_alive() const;
  /// Whether the calling process is a forked child of the one that opened the device.
  bool forked() const { return fork_mark_.forked(); }
  /// Whether check_memory() checks anything. Only the host device does.
  bool checks_memory() const { return checks_memory_; }
  /// Fails unless the `bytes` bytes from `address` lie inside one block or range of memory that the
  /// device knows. `operand` is a literal for the message. Succeeds if bytes is 0.
  Status check_memory(const char* operand, uint64_t address, uint64_t bytes) const {
    return checks_memory_ && bytes != 0 ? find_memory(operand, address, bytes) : Status();
  }

  /// Shuts the device down permanently and frees everything it still has allocated. Idempotent.
  virtual void close() = 0;

  virtual Status allocate(uint64_t bytes, uint64_t* address) = 0;
  virtual Status release(uint64_t address) = 0;
  /// Host memory that the device can copy from and to directly (pinned, on CUDA).
  virtual Status allocate_host(uint64_t bytes, void** memory) = 0;
  virtual Status release_host(void* memory) = 0;
  /// Adds memory of the caller to what check_memory() accepts. A device that does not check memory
  /// ignores it.
  virtual Status register_memory(uint64_t, uint64_t) { return {}; }
  virtual Status unregister_memory(uint64_t) { return {}; }
  virtual Status create_stream(std::unique_ptr<Stream>* out) = 0;
  virtual Status wrap_stream(CUstream_st* cuda_stream, std::unique_ptr<Stream>* out) = 0;
  virtual Status create_event(std::unique_ptr<Event>* out) = 0;
  /// Wraps an event that the caller keeps. Fails on the host device.
  virtual Status wrap_event(CUevent_st* cuda_event, std::unique_ptr<Event>* out);
  /// The context of the device. Fails on the host device.
  virtual Status cuda_handle(CUctx_st** out);
  virtual Status load_module(const void* image, size_t size, std::unique_ptr<Module>* out) = 0;

  /// Loads a kernel entry's image and sets its attributes for `dynamic_smem_bytes` and clusters, so
  /// that a later launch loads nothing.
  virtual Status prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                         std::unique_ptr<Kernel>* out) = 0;
  /// Fails as prepare() would if the kernel entry has no code for this device. Loads nothing.
  virtual Status find_kernel(const KernelEntry&) { return {}; }
  FamilyCache& family_cache() { return known_families_; }
  /// Checks the description and writes its 128-byte tensor map. On CUDA the driver encodes it.
  virtual Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) = 0;

 protected:
  Device() = default;
  /// Marks the device as lost; only the first call has an effect. `result` is the CUresult or
  /// another non-zero number. The text says what happened and which kernel was launched last.
  [[gnu::format(printf, 3, 4)]] void mark_lost(int32_t result, const char* format, ...);
  bool lost() const { return lost_.load(std::memory_order_acquire) != 0; }

  /// Implements check_memory() if checks_memory_ is set. `bytes` is above 0.
  virtual Status find_memory(const char*, uint64_t, uint64_t) const { return {}; }

  DeviceInfo info_;
  bool checks_memory_ = false;
  std::atomic<bool> closed_{false};

 private:
  FamilyCache known_families_;
  std::atomic<int32_t> max_active_clusters_[kMaxCluster + 1] = {};
  std::atomic<int32_t> lost_{0};  // the sticky CUresult, or 0
  std::mutex lost_mutex_;
  char lost_message_[512] = {};  // written once, before lost_
  ForkMark fork_mark_;
  mutable Log log_{&process_log()};
};

}  // namespace tw
