// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/open_cuda.hpp"

#include "runtime/cuda/cuda_device.hpp"

namespace tw {

Status count_cuda_devices(int32_t* count) {
  const Driver* cu = nullptr;
  if (Status found = find_driver(&cu); !found.ok()) {
    if (found.code() != Code::ERROR_NO_DEVICE) return found;
    *count = 0;  // a driver without a GPU is no failure
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

}  // namespace tw
