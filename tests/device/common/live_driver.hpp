// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA driver, loaded at run time with prototypes of its own: tests build without cuda.h and
// share no code with the library's driver layer.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "doctest_main.hpp"

namespace tw::test {

struct LiveDriver {
  using Result = int32_t;
  Result (*init)(unsigned) = nullptr;
  Result (*device_get)(int*, int) = nullptr;
  Result (*device_attribute)(int*, int, int) = nullptr;
  Result (*context_retain)(void**, int) = nullptr;
  Result (*context_set)(void*) = nullptr;
  Result (*synchronize)() = nullptr;
  Result (*module_load)(void**, const void*) = nullptr;
  Result (*module_function)(void**, void*, const char*) = nullptr;
  Result (*function_set)(void*, int, int) = nullptr;
  Result (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**) = nullptr;
  Result (*allocate)(uint64_t*, size_t) = nullptr;
  Result (*release)(uint64_t) = nullptr;
  Result (*allocate_host)(void**, size_t, unsigned) = nullptr;
  Result (*release_host)(void*) = nullptr;
  Result (*to_device)(uint64_t, const void*, size_t) = nullptr;
  Result (*to_host)(void*, uint64_t, size_t) = nullptr;
  Result (*encode_tiled)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*,
                         const uint32_t*, const uint32_t*, int, int, int, int) = nullptr;
  Result (*encode_im2col)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const int*,
                          const int*, uint32_t, uint32_t, const uint32_t*, int, int, int,
                          int) = nullptr;
  Result (*encode_wide)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, int, int,
                        uint32_t, uint32_t, const uint32_t*, int, int, int, int, int) = nullptr;

  /// Returns false, and skips the test case, without a device of compute capability 9.0.
  bool open() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return skipped("no libcuda.so.1");
    const auto find = [&](auto* function, const char* name) {
      *reinterpret_cast<void**>(function) = dlsym(library, name);
    };
    find(&init, "cuInit");
    find(&device_get, "cuDeviceGet");
    find(&device_attribute, "cuDeviceGetAttribute");
    find(&context_retain, "cuDevicePrimaryCtxRetain");
    find(&context_set, "cuCtxSetCurrent");
    find(&synchronize, "cuCtxSynchronize");
    find(&module_load, "cuModuleLoadData");
    find(&module_function, "cuModuleGetFunction");
    find(&function_set, "cuFuncSetAttribute");
    find(&launch, "cuLaunchKernel");
    find(&allocate, "cuMemAlloc_v2");
    find(&release, "cuMemFree_v2");
    find(&allocate_host, "cuMemHostAlloc");
    find(&release_host, "cuMemFreeHost");
    find(&to_device, "cuMemcpyHtoD_v2");
    find(&to_host, "cuMemcpyDtoH_v2");
    find(&encode_tiled, "cuTensorMapEncodeTiled");
    find(&encode_im2col, "cuTensorMapEncodeIm2col");
    find(&encode_wide, "cuTensorMapEncodeIm2colWide");
    int device = 0;
    int major = 0;
    int minor = 0;
    void* context = nullptr;
    if (!encode_tiled || init(0) != 0 || device_get(&device, 0) != 0)
      return skipped("no CUDA device, or a driver without tensor maps");
    (void)device_attribute(&major, 75, device);
    (void)device_attribute(&minor, 76, device);
    if (major != 9 || minor != 0) return skipped("no device of compute capability 9.0");
    REQUIRE(context_retain(&context, device) == 0);
    REQUIRE(context_set(context) == 0);
    return true;
  }

 private:
  static bool skipped(const char* reason) {
    skip(reason);
    return false;
  }
};

}  // namespace tw::test
