// SPDX-License-Identifier: Apache-2.0
// Finding GPUs and opening one.
#include <cstdlib>
#include <cstring>

#include "runtime/cuda/cuda_device.hpp"

namespace tw {

Status count_cuda_devices(int32_t* count) {
  const Driver* cu = nullptr;
  if (Status found = find_driver(&cu); !found.ok()) {
    if (found.code() != Code::ERROR_NO_DEVICE) return found;
    *count = 0;  // a driver without a GPU is an answer
    return Code::OK;
  }
  int number = 0;
  if (const CUresult result = cu->DeviceGetCount(&number); result != CUDA_SUCCESS)
    return driver_failure(*cu, result, "cuDeviceGetCount");
  *count = number;
  return Code::OK;
}

Status open_cuda_device(int32_t ordinal, std::shared_ptr<Device>* out) {
  const Driver* cu = nullptr;
  TW_TRY(find_driver(&cu));
  auto device = std::make_shared<cuda::CudaDevice>(*cu);
  TW_TRY(device->open(ordinal));
  *out = std::move(device);
  return Code::OK;
}

Status open_cuda_context(CUctx_st* context, std::shared_ptr<Device>* out) {
  const Driver* cu = nullptr;
  TW_TRY(find_driver(&cu));
  auto device = std::make_shared<cuda::CudaDevice>(*cu);
  TW_TRY(device->open(context));
  *out = std::move(device);
  return Code::OK;
}

namespace cuda {
namespace {

/// Fails below compute capability 9.0, before a context is made.
Status check_capability(const Driver& cu, CUdevice number, int32_t ordinal, DeviceInfo* info) {
  const auto attribute = [&](CUdevice_attribute which, int32_t* out) -> Status {
    int value = 0;
    if (const CUresult result = cu.DeviceGetAttribute(&value, which, number);
        result != CUDA_SUCCESS)
      return driver_failure(cu, result, "cuDeviceGetAttribute");
    *out = value;
    return Code::OK;
  };
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &info->compute_major));
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &info->compute_minor));
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info->sm_count));
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                   &info->max_dynamic_smem_bytes));
  int32_t l2_bytes = 0;
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2_bytes));
  info->l2_bytes = static_cast<uint64_t>(l2_bytes);
  char name[108] = {};
  if (cu.DeviceGetName(name, sizeof name - 1, number) == CUDA_SUCCESS) info->name = name;
  size_t bytes = 0;
  if (cu.DeviceTotalMem(&bytes, number) == CUDA_SUCCESS) info->total_memory_bytes = bytes;
  info->kind = DeviceKind::cuda;
  info->ordinal = ordinal;
  info->driver_version = cu.version;
  info->features = features_of(info->compute_major, info->compute_minor);
  if (info->compute_major >= 9) return Code::OK;
  return fail(
      Code::ERROR_UNSUPPORTED_DEVICE,
      {.argument = "ordinal", .got = info->compute_major * 10 + info->compute_minor, .limit = 90},
      "device %d (%s) has compute capability %d.%d: the Tensor Memory Accelerator needs 9.0",
      ordinal, name, info->compute_major, info->compute_minor);
}

}  // namespace

Status CudaDevice::open(int32_t ordinal) {
  int count = 0;
  TW_TRY(check(cu_.DeviceGetCount(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count)
    return fail(Code::ERROR_NO_DEVICE, {.argument = "ordinal", .got = ordinal, .limit = count - 1},
                count == 0 ? "ordinal is %d: the driver finds no CUDA device"
                           : "ordinal is %d: the driver numbers its CUDA devices from 0 to %d",
                ordinal, count - 1);
  TW_TRY(check(cu_.DeviceGet(&number_, ordinal), "cuDeviceGet"));
  TW_TRY(check_capability(cu_, number_, ordinal, &info_));
  TW_TRY(check(cu_.DevicePrimaryCtxRetain(&context_, number_), "cuDevicePrimaryCtxRetain"));
  owns_primary_ = true;
  return describe();
}

Status CudaDevice::open(CUcontext context) {
  context_ = context;
  const CUresult pushed = cu_.CtxPushCurrent(context);
  if (pushed != CUDA_SUCCESS) {
    context_ = nullptr;
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "context", .driver_result = static_cast<int32_t>(pushed)},
                "context is no live CUDA context: cuCtxPushCurrent says %s",
                result_name(cu_, pushed));
  }
  const CUresult got = cu_.CtxGetDevice(&number_);
  CUcontext popped = nullptr;
  cu_.CtxPopCurrent(&popped);
  TW_TRY(check(got, "cuCtxGetDevice"));
  // CUdevice and ordinal are one number.
  TW_TRY(check_capability(cu_, number_, number_, &info_));
  return describe();
}

Status CudaDevice::describe() {
  const char* ptx_alone = std::getenv("CUDA_FORCE_PTX_JIT");
  chip_ = {info_.compute_major, info_.compute_minor, ptx_alone && std::strcmp(ptx_alone, "1") == 0};
  info_.kernel_features = info_.features & embedded_features(chip_);
  // Where nothing that is embedded runs, choosing goes on by what the chip has, so that the kernel
  // chosen says by name what it lacks.
  if (info_.kernel_features == 0) info_.kernel_features = info_.features;
  // MPS and green contexts give a context fewer SMs than the chip has.
  if (!cu_.CtxGetDevResource) return Code::OK;
  CUdevResource resource{};
  if (cu_.CtxGetDevResource(context_, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
      resource.sm.smCount > 0)
    info_.sm_count = static_cast<int32_t>(resource.sm.smCount);
  return Code::OK;
}

}  // namespace cuda
}  // namespace tw
