// SPDX-License-Identifier: Apache-2.0
#pragma once
// A GPU through the driver: one context, and everything that the library made in it.
//
// The device owns the raw driver objects (own streams, events, allocations, libraries) and frees
// them in close(); the objects of the interface hold numbers that they give back. So a handle that
// outlives its device never touches a context that is gone.
//
// Every call into the driver happens inside a Scope, which makes the context current and restores
// the caller's afterwards, error paths included. Results go through check(), which marks the device
// lost on a result that kills the context.
//
// Libraries are loaded once for each device, not once a process: with all state in the device there
// is nothing process-wide to lock or to tear down, and the driver does not copy embedded images.

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "kernels/image/driver_choice.hpp"
#include "runtime/device.hpp"

namespace tw::cuda {

struct LaunchTarget;

class CudaDevice final : public Device {
 public:
  /// On the primary context of a device number, or on the caller's context. Call open() next.
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
  Status load_module(const void* image, size_t size, std::unique_ptr<Module>* out) override;
  Status prepare(const KernelRow& row, uint32_t dynamic_smem_bytes,
                 std::unique_ptr<Kernel>* out) override;
  Status find_kernel(const KernelRow& row) override;
  Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) override;

  // For the objects of this folder.
  const Driver& cu() const { return cu_; }
  CUcontext context() const { return context_; }
  CUdevice number() const { return number_; }
  /// The Status of a driver call; a sticky result loses the device.
  Status check(CUresult result, const char* call);
  void launched(const char* kernel) { last_kernel_.store(kernel, std::memory_order_relaxed); }
  /// A copy of a name that lives as long as the device.
  const char* keep_name(const char* name);
  /// Shared by all who are inside the driver on this device's behalf; close() waits for them.
  std::shared_mutex& users() { return users_; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  /// Whether close() has waited for the device's work and given its objects back. For those who
  /// share users().
  bool gone() const { return gone_; }
  /// Fails where there is nothing to wait for, or nobody who could: the device is lost, or this is
  /// a forked child.
  Status waitable() const { return lost() || forked() ? alive() : Status(Code::OK); }
  void destroy_stream(CUstream stream);
  void destroy_event(CUevent event);
  /// Puts what the driver made on the device's lists, or gives it back where they cannot grow.
  void keep_graph(CUgraph graph);
  void keep_exec(CUgraphExec exec);
  void destroy_graph(CUgraph graph);
  void destroy_exec(CUgraphExec exec);
  /// Fails where the driver lacks an optional function, `name`.
  Status need(bool found, const char* name) const;
  /// A kernel of a loaded library, its attributes set for whatever a launch may ask.
  Status get_kernel(CUlibrary library, const char* name, LaunchTarget* out);

 private:
  struct CompilerLog {
    char text[512] = {};
  };
  struct Library {
    CUlibrary handle = nullptr;
    std::unique_ptr<CompilerLog> log;
  };

  Status describe();
  Status load_library(const void* image, size_t size, bool embedded, Library* out);
  Status find_shard(const KernelRow& row, CUlibrary* out);
  Status no_image(const KernelRow& row, const KernelImage& image);
  Status check_driver(const KernelRow& row, const KernelImage& image);
  void destroy_all();
  void discard_capture(CUstream stream);
  /// Destroys a driver object unless close() has done it, or will.
  template <class Handle>
  void destroy(std::set<Handle>& list, Handle handle, CUresult (*call)(Handle));

  const Driver& cu_;
  CUcontext context_ = nullptr;
  CUdevice number_ = 0;
  ChipCode chip_;
  bool owns_primary_ = false;
  std::atomic<const char*> last_kernel_{nullptr};

  std::shared_mutex users_;
  bool gone_ = false;  // of users_
  std::mutex mutex_;   // of everything below
  std::map<CUdeviceptr, uint64_t> allocations_;
  std::set<void*> host_allocations_;
  std::set<CUstream> streams_;
  std::set<CUevent> events_;
  std::set<CUgraph> graphs_;
  std::set<CUgraphExec> execs_;
  std::map<const void*, Library> shards_;  // by embedded image
  std::list<Library> modules_;             // of the caller's own
  std::set<std::string> names_;
};

/// Makes the device's context current for a scope, in which the device is not closed by another
/// thread. `relaxed` also keeps calls that a capture in global mode would forbid (loading,
/// allocating, queries) from breaking captures of others; `waiting` is as relaxed, and enters a
/// device whose closing has begun too, as long as its work has not been waited for; `closing` is
/// close()'s, which waits until it is alone.
class Scope {
 public:
  enum Mode { enqueue, relaxed, waiting, closing };
  Scope(CudaDevice& device, Mode mode);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  /// OK if the context is current; nothing may be called otherwise.
  Status status() const { return status_; }

 private:
  void enter(Mode mode);

  CudaDevice& device_;
  const Scope* const outer_;  // of this thread
  Status status_;
  bool shares_ = false;  // users(), which an outer scope of the same device may share already
  bool alone_ = false;
  bool pushed_ = false;
  bool exchanged_ = false;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace tw::cuda
