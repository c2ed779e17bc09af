// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/library.hpp"

#include <cstdio>
#include <cstring>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_module.hpp"
#include "runtime/cuda/image.hpp"
#include "runtime/cuda/scope.hpp"

namespace tw::cuda {
namespace {

Status no_code_for_device(const DeviceInfo& info, const ImageSummary& image) {
  return fail(Code::ERROR_NO_KERNEL_IMAGE,
              {.driver_result = static_cast<int32_t>(CUDA_ERROR_NO_BINARY_FOR_GPU)},
              "nothing in the image runs on %s, compute capability %d.%d: it holds %s",
              info.name.c_str(), info.compute_major, info.compute_minor, image.contents);
}

/// The failure of loading an image, with more than the driver's result says.
Status explain_load(CudaDevice& device, CUresult result, const char* call,
                    const ImageSummary& image, const char* compiler_log) {
  const DeviceInfo& info = device.info();
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) return no_code_for_device(info, image);
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    return fail(Code::ERROR_DRIVER_TOO_OLD, {.driver_result = static_cast<int32_t>(result)},
                "the image's PTX (%s) is newer than this driver, which is for CUDA %d.%d: PTX of "
                "nvcc 13.0 needs driver 580; update it, or bring machine code for sm_%d%d",
                image.contents, info.driver_version / 1000, info.driver_version % 1000 / 10,
                info.compute_major, info.compute_minor);
  return fail_context(device.check(result, call), "loading an image with %s%s%s", image.contents,
                      compiler_log[0] ? "; the driver's compiler says: " : "", compiler_log);
}

}  // namespace

Status Libraries::load_library(const void* image, size_t size, bool embedded, Library* out) {
  ImageSummary summary;
  TW_TRY(check_image(image, size, &summary));
  // Must live as long as the library: loading is lazy, so the driver may write to it later.
  auto compiler_log = std::make_unique<CompilerLog>();
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {compiler_log->text, reinterpret_cast<void*>(sizeof compiler_log->text - 1)};
  CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
  void* yes = reinterpret_cast<void*>(uintptr_t{1});
  CUlibrary library = nullptr;
  const CUresult loaded =
      device_.cu().LibraryLoadData(&library, image, options, values, summary.has_ptx ? 2 : 0,
                                   &preserved, &yes, embedded ? 1 : 0);
  if (loaded != CUDA_SUCCESS)
    return explain_load(device_, loaded, "cuLibraryLoadData", summary, compiler_log->text);
  // Loads the code into the context. cuLibraryLoadData alone may defer that.
  CUmodule module = nullptr;
  if (const CUresult result = device_.cu().LibraryGetModule(&module, library);
      result != CUDA_SUCCESS) {
    const Status status =
        explain_load(device_, result, "cuLibraryGetModule", summary, compiler_log->text);
    device_.cu().LibraryUnload(library);
    return status;
  }
  *out = {library, std::move(compiler_log)};
  return Code::OK;
}

Status Libraries::load_module(const void* image, size_t size, std::unique_ptr<Module>* out) {
  // Copy the image: the driver wants it aligned, and PTX must end with a zero byte.
  std::unique_ptr<unsigned char[]> copy(new unsigned char[size + 1]);
  std::memcpy(copy.get(), image, size);
  copy[size] = 0;
  const ContextScope scope(device_, ContextScope::relaxed);
  TW_TRY(scope.status());
  // Allocate the list node first, so that nothing can throw between loading and the list.
  std::list<Library> place(1);
  TW_TRY(load_library(copy.get(), size, /*embedded=*/false, &place.front()));
  const CUlibrary handle = place.front().handle;
  {
    const std::lock_guard lock(mutex_);
    modules_.splice(modules_.end(), place);
  }
  *out = std::make_unique<CudaModule>(device_.shared_from_this(), handle);
  return Code::OK;
}

Status Libraries::no_image(const KernelEntry& entry, const KernelImage& image) {
  if (kernel_left_out(entry))
    return fail(Code::ERROR_NO_KERNEL_IMAGE, {},
                "kernel %s was left out of this build: configure it with a -Dkernels pattern that "
                "matches the name, or without that option to get every kernel",
                entry.symbol);
  ImageSummary summary;
  if (image.size == 0 || !check_image(image.data, image.size, &summary).ok())
    std::strcpy(summary.contents, "nothing");
  // A target of archs.inc that would have the kernel but is not in this build.
  const Target* absent = target_for(entry.feature, device_.chip());
  FatbinEntry packed;
  const DeviceInfo& info = device_.info();
  if (absent && find_entry(image.data, image.size, *absent, &packed)) absent = nullptr;
  return fail(Code::ERROR_NO_KERNEL_IMAGE, {},
              "kernel %s has no image for %s, compute capability %d.%d: this build embeds %s%s%s%s",
              entry.symbol, info.name.c_str(), info.compute_major, info.compute_minor,
              summary.contents, absent ? "; add " : "", absent ? absent->name : "",
              absent ? " to -Dgpu_archs" : "");
}

/// Fails if the driver is too old for the image. Checked before loading, because drivers differ in
/// the error they return for code that is too new.
Status Libraries::check_driver(const KernelEntry& entry, const KernelImage& image) {
  const DriverChoice choice = driver_choice(image.data, image.size, device_.chip());
  const int32_t needed = choice.oldest_driver(), has = device_.info().driver_version;
  if (!choice.target || has >= needed) return Code::OK;
  char rule[256];
  if (choice.target->ptx)
    std::snprintf(rule, sizeof rule,
                  "PTX needs a driver of its toolkit's version or newer: update "
                  "the driver to one of CUDA %d.%d",
                  needed / 1000, needed % 1000 / 10);
  else
    std::snprintf(rule, sizeof rule,
                  "machine code needs a driver of its toolkit's major version or newer: update the "
                  "driver to one of CUDA %d.%d, or build the library with an nvcc of CUDA %d",
                  needed / 1000, needed % 1000 / 10, has / 1000);
  return fail(Code::ERROR_DRIVER_TOO_OLD,
              {.rule = "driver_of_toolkit", .got = has, .limit = needed},
              "kernel %s is embedded as %s (%s) of CUDA %d.%d and the driver is for CUDA %d.%d: %s",
              entry.symbol, choice.target->ptx ? "PTX" : "machine code", choice.target->name,
              choice.toolkit / 1000, choice.toolkit % 1000 / 10, has / 1000, has % 1000 / 10, rule);
}

// Checks, without loading anything, whether prepare() would find the kernel, and fails with the
// same error. For an image without code for the chip, that is the error the driver would cause.
Status Libraries::find_kernel(const KernelEntry& entry) {
  const KernelImage image = kernel_image(entry.image);
  if (image.size == 0 || kernel_left_out(entry)) return no_image(entry, image);
  TW_TRY(check_driver(entry, image));
  const DriverChoice choice = driver_choice(image.data, image.size, device_.chip());
  if (choice.target && (choice.target->features & entry.feature) != 0) return {};
  if (choice.target) return no_image(entry, image);
  ImageSummary summary;
  TW_TRY(check_image(image.data, image.size, &summary));
  return no_code_for_device(device_.info(), summary);
}

Status Libraries::find_library(const KernelEntry& entry, CUlibrary* out) {
  const KernelImage image = kernel_image(entry.image);
  if (image.size == 0 || kernel_left_out(entry)) return no_image(entry, image);
  TW_TRY(check_driver(entry, image));
  // Held while loading, so that concurrent callers load an image only once.
  const std::lock_guard lock(mutex_);
  if (const auto known = embedded_.find(image.data); known != embedded_.end()) {
    *out = known->second.handle;
    return Code::OK;
  }
  // Allocate the map node first, so that nothing can throw between loading and the map.
  decltype(embedded_) place;
  Library& library = place[image.data];
  TW_TRY(load_library(image.data, image.size, /*embedded=*/true, &library));
  *out = library.handle;
  embedded_.merge(place);
  return Code::OK;
}

Status Libraries::prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                          std::unique_ptr<Kernel>* out) {
  if (!entry.image)
    return fail(Code::ERROR_INTERNAL, {}, "%s is a kernel of the host device", entry.symbol);
  LaunchTarget target;
  {
    const ContextScope scope(device_, ContextScope::relaxed);
    TW_TRY(scope.status());
    CUlibrary library = nullptr;
    TW_TRY(find_library(entry, &library));
    const Status got = get_kernel(device_, library, entry.symbol, &target);
    // The image has code for this chip. That code was compiled for a target without the feature
    // that this kernel needs, so it does not contain the kernel.
    if (got.code() == Code::ERROR_NOT_FOUND) return no_image(entry, kernel_image(entry.image));
    TW_TRY(got);
  }
  // The driver returns INVALID_VALUE both at the end of the parameter list and if it cannot list
  // the parameters. Every kernel of the table has one parameter, so an empty list is the second
  // case.
  if (target.parameters.empty())
    return device_.check(CUDA_ERROR_INVALID_VALUE, "cuKernelGetParamInfo");
  if (dynamic_smem_bytes > target.limits.max_dynamic_smem)
    return fail(Code::ERROR_UNSUPPORTED,
                {.got = dynamic_smem_bytes, .limit = target.limits.max_dynamic_smem},
                "kernel %s needs %u bytes of shared memory, but %s has %u", entry.symbol,
                dynamic_smem_bytes, device_.info().name.c_str(), target.limits.max_dynamic_smem);
  if (entry.prefers_shared_carveout) {
    const ContextScope scope(device_, ContextScope::relaxed);
    TW_TRY(scope.status());
    // Only a preference: without it the kernel still runs, but the next kernel's blocks, which need
    // shared memory, may not start beside it.
    (void)device_.cu().FuncSetAttribute(target.function,
                                        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                        CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
  }
  *out = std::make_unique<CudaKernel>(device_.shared_from_this(), std::move(target));
  return Code::OK;
}

void Libraries::unload() {
  const std::lock_guard lock(mutex_);
  for (auto& [image, library] : embedded_) device_.cu().LibraryUnload(library.handle);
  for (auto& library : modules_) device_.cu().LibraryUnload(library.handle);
}

}  // namespace tw::cuda
