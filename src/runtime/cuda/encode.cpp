// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/encode.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/scope.hpp"
#include "tensor_map/descriptor.hpp"
#include "tensor_map/driver_faults.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw::cuda {
namespace {

static_assert(sizeof(CUtensorMap) == sizeof(TensorMapBytes));

/// Calls the driver's encoder for the description's kind. The description has passed the rules, so
/// all numbers fit the driver's types.
Status call_driver(CudaDevice& device, const TensorMapDesc& desc, CUtensorMap* map) {
  const Driver& cu = device.cu();
  const auto type = static_cast<CUtensorMapDataType>(dtype_tensor_map_type(desc.dtype));
  const auto rank = static_cast<cuuint32_t>(desc.rank);
  void* address = reinterpret_cast<void*>(desc.global_address);
  cuuint64_t dims[5];
  cuuint64_t strides[5];
  std::copy_n(desc.global_dim, 5, dims);
  std::copy_n(desc.global_stride_bytes, 5, strides);
  const auto interleave = static_cast<CUtensorMapInterleave>(desc.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(desc.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(desc.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(desc.oob_fill);
  switch (desc.kind) {
    case MapKind::tiled:
      return device.check(
          cu.TensorMapEncodeTiled(map, type, rank, address, dims, strides, desc.box_dim,
                                  desc.element_strides, interleave, swizzle, promotion, fill),
          "cuTensorMapEncodeTiled");
    case MapKind::im2col:
      return device.check(cu.TensorMapEncodeIm2col(
                              map, type, rank, address, dims, strides, desc.lower_corner,
                              desc.upper_corner, desc.channels_per_pixel, desc.pixels_per_column,
                              desc.element_strides, interleave, swizzle, promotion, fill),
                          "cuTensorMapEncodeIm2col");
    case MapKind::im2col_wide:
      if (cu.TensorMapEncodeIm2colWide)
        return device.check(
            cu.TensorMapEncodeIm2colWide(
                map, type, rank, address, dims, strides, desc.lower_corner[0], desc.upper_corner[0],
                desc.channels_per_pixel, desc.pixels_per_column, desc.element_strides, interleave,
                static_cast<CUtensorMapIm2ColWideMode>(desc.wide_mode), swizzle, promotion, fill),
            "cuTensorMapEncodeIm2colWide");
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "kind"},
                  "im2col-wide maps need a driver for CUDA 12.8 at least (driver 570)");
  }
  return fail(Code::ERROR_INTERNAL, {.argument = "kind"}, "kind %d is not a kind of tensor map",
              static_cast<int>(desc.kind));
}

void log_differences(Log& log, const TensorMapBytes& driver, const TensorMapBytes& ours) {
  for (int i = 0; i < 16; ++i)
    if (driver.words[i] != ours.words[i])
      log.write(
          LogLevel::warning,
          "tensor map: word %d is 0x%016llx from the driver and 0x%016llx from the library; the "
          "driver's is used",
          i, static_cast<unsigned long long>(driver.words[i]),
          static_cast<unsigned long long>(ours.words[i]));
}

}  // namespace

Status encode(CudaDevice& device, const TensorMapDesc& desc, TensorMapBytes* bytes) {
  const DeviceInfo& info = device.info();
  const int32_t arch = info.compute_major * 10 + info.compute_minor;
  TW_TRY(tw::check(desc, arch));
  alignas(128) CUtensorMap map;
  {
    const ContextScope scope(device, ContextScope::keep_capture_mode);
    TW_TRY(scope.status());
    const Status encoded = call_driver(device, desc, &map);
    if (encoded.code() == Code::ERROR_DRIVER)
      return fail_context(
          encoded, "the driver refuses a tensor map that breaks no rule known to the library");
    TW_TRY(encoded);
  }
  std::memcpy(bytes->words, &map, sizeof map);
  if (const char* fault = correct_driver_faults(desc, arch, info.driver_version, bytes))
    device.log().write(LogLevel::info, "tensor map: corrected a known fault of this driver (%s)",
                       fault);
  if (!can_encode(desc)) return Code::OK;
  TensorMapBytes ours;
  encode_accepted(desc, &ours);
  log_differences(device.log(), *bytes, ours);
  return Code::OK;
}

}  // namespace tw::cuda
