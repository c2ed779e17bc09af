// SPDX-License-Identifier: Apache-2.0
#pragma once
// A GPU through the CUDA driver: one context and everything that the library made in it.
//
// The device lists every driver object it made (streams, events, graphs, allocations, libraries)
// and close() frees them all. Interface objects such as CudaStream only name an entry of these
// lists, so a handle that outlives its device never touches a dead context.
//
// Every driver call happens inside a ContextScope (scope.hpp), which makes the context current.
// check() turns results into Status and marks the device as lost if a result has killed the
// context.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>

#include "driver/driver.hpp"
#include "kernels/image/driver_choice.hpp"
#include "runtime/cuda/library.hpp"
#include "runtime/device.hpp"

namespace tw::cuda {

class CudaDevice final : public Device {
 public:
  /// Call open() next: with an ordinal for the primary context of that GPU, which the device
  /// retains, or with a context that stays the caller's.
  explicit CudaDevice(const Driver& driver) : cu_(driver) {}
  ~CudaDevice() override;
  Status open(int32_t ordinal);
  Status open(CUcontext context);

  void close() override;
  Status allocate(uint64_t bytes, uint64_t* address) override;
  Status release(uint64_t address) override;
  Status allocate_host(uint64_t bytes, void** memory) override;
  Status release_host(void* memory) override;
  Status create_stream(std::unique_ptr<Stream>* out) override;
  Status wrap_stream(CUstream_st* cuda_stream, std::unique_ptr<Stream>* out) override;
  Status create_event(std::unique_ptr<Event>* out) override;
  Status wrap_event(CUevent_st* cuda_event, std::unique_ptr<Event>* out) override;
  Status cuda_handle(CUctx_st** out) override;
  Status load_module(const void* image, size_t size, std::unique_ptr<Module>* out) override {
    return libraries_.load_module(image, size, out);
  }
  Status prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                 std::unique_ptr<Kernel>* out) override {
    return libraries_.prepare(entry, dynamic_smem_bytes, out);
  }
  Status find_kernel(const KernelEntry& entry) override { return libraries_.find_kernel(entry); }
  Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) override;

  // For the other classes of this folder.
  const Driver& cu() const { return cu_; }
  CUcontext context() const { return context_; }
  CUdevice number() const { return number_; }
  const ChipCode& chip() const { return chip_; }
  /// The Status of a driver call. A sticky result marks the device as lost.
  Status check(CUresult result, const char* call);
  /// Remembers the last launched kernel for the message of a lost device. `kernel` must live as
  /// long as the device: see keep_name().
  void note_launch(const char* kernel) { last_kernel_.store(kernel, std::memory_order_relaxed); }
  /// Copies a name. The copy lives as long as the device.
  const char* keep_name(const char* name);
  /// Held shared by each ContextScope, exclusively by close().
  std::shared_mutex& users() { return users_; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  /// Whether close() has waited for all work and freed the device's objects. Call with users()
  /// held.
  bool freed() const { return freed_; }
  /// Fails if waiting for work is impossible: the device is lost, or this is a forked child.
  Status check_not_lost_or_forked() const {
    return lost() || forked() ? check_alive() : Status(Code::OK);
  }
  void destroy_stream(CUstream stream);
  void destroy_event(CUevent event);
  /// Puts a graph on the device's list. Destroys it and throws if the list cannot grow.
  void keep_graph(CUgraph graph);
  void keep_exec(CUgraphExec exec);
  void destroy_graph(CUgraph graph);
  void destroy_exec(CUgraphExec exec);
  /// Fails with ERROR_DRIVER_TOO_OLD unless the optional driver function `name` was found.
  Status check_available(bool found, const char* name) const;

 private:
  /// Sets chip_ and the members of info_ that depend on the context.
  Status complete_info();
  void destroy_all();
  void discard_capture(CUstream stream);
  /// Destroys a driver object unless close() has done so or will do so.
  template <class Handle>
  void destroy(std::set<Handle>& list, Handle handle, CUresult (*call)(Handle));

  const Driver& cu_;
  CUcontext context_ = nullptr;
  CUdevice number_ = 0;
  ChipCode chip_;
  bool owns_primary_ = false;
  Libraries libraries_{*this};
  std::atomic<const char*> last_kernel_{nullptr};

  std::shared_mutex users_;
  bool freed_ = false;  // guarded by users_
  std::mutex mutex_;    // guards everything below
  std::map<CUdeviceptr, uint64_t> allocations_;
  std::set<void*> host_allocations_;
  std::set<CUstream> streams_;
  std::set<CUevent> events_;
  std::set<CUgraph> graphs_;
  std::set<CUgraphExec> execs_;
  std::set<std::string> names_;
};

}  // namespace tw::cuda
