// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images that a device has loaded: the embedded ones of the kernel table, and modules of the
// caller's own.
//
// Libraries are loaded once for each device, not once a process: with all state in the device there
// is nothing process-wide to lock or to tear down, and the driver does not copy embedded images.
// Thread-safety: everything but unload() may be called from any thread.

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
  /// These three are the device's.
  Status load_module(const void* image, size_t size, std::unique_ptr<Module>* out);
  Status prepare(const KernelRow& row, uint32_t dynamic_smem_bytes, std::unique_ptr<Kernel>* out);
  Status find_kernel(const KernelRow& row);
  /// Unloads all of them, once nobody uses the device any more.
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
  Status find_library(const KernelRow& row, CUlibrary* out);
  Status no_image(const KernelRow& row, const KernelImage& image);
  Status check_driver(const KernelRow& row, const KernelImage& image);

  CudaDevice& device_;
  std::mutex mutex_;                         // of everything below
  std::map<const void*, Library> embedded_;  // by embedded image
  std::list<Library> modules_;               // of the caller's own
};

}  // namespace tw::cuda
