// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images (CUlibrary) that a device has loaded: the embedded ones of the kernel table, and the
// caller's own modules.
//
// Each device loads its own libraries, so the process has no global state to lock or tear down. The
// driver does not copy embedded images. Everything but unload() may be called from any thread.

#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "driver/driver.hpp"
#include "kernels/image/kernel_images.hpp"
#include "runtime/device.hpp"

namespace tw::cuda {

class CudaDevice;

class Libraries {
 public:
  explicit Libraries(CudaDevice& device) : device_(device) {}
  /// These three implement the functions of Device. find_kernel() only checks, without
  /// loading anything, whether prepare() would find the kernel.
  Status load_module(const void* image, size_t size, std::unique_ptr<Module>* out);
  Status prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                 std::unique_ptr<Kernel>* out);
  Status find_kernel(const KernelEntry& entry);
  /// Unloads all libraries. Call when no other thread uses the device any more.
  void unload();

 private:
  struct CompilerLog {
    char text[512] = {};
  };
  struct Library {
    CUlibrary handle = nullptr;
    std::unique_ptr<CompilerLog> log;
  };

  Status load_library(const void* image, size_t size, bool embedded, Library* out);
  Status find_library(const KernelEntry& entry, CUlibrary* out);
  Status no_image(const KernelEntry& entry, const KernelImage& image);
  Status check_driver(const KernelEntry& entry, const KernelImage& image);

  CudaDevice& device_;
  std::mutex mutex_;                         // guards everything below
  std::map<const void*, Library> embedded_;  // by the embedded image's address
  std::list<Library> modules_;               // the caller's own
};

}  // namespace tw::cuda
