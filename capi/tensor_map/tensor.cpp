// SPDX-License-Identifier: Apache-2.0
// C API: tensors, conversion from and to DLPack.
#include <algorithm>

#include "capi/tensor_map/tensor.hpp"
#include "runtime/dlpack.hpp"

using namespace tw;        // NOLINT
using namespace tw::capi;  // NOLINT

namespace {

constexpr tw_tensor kTensorDefaults = {.device_kind = TW_DEVICE_HOST};
static_assert(TW_DLPACK_TENSOR == static_cast<int32_t>(DlpackForm::tensor) &&
              TW_DLPACK_VERSIONED == static_cast<int32_t>(DlpackForm::versioned));

Status check_form(tw_dlpack_form form) {
  if (form == TW_DLPACK_TENSOR || form == TW_DLPACK_VERSIONED) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "form", .got = form, .limit = TW_DLPACK_VERSIONED},
              "form %d is neither TW_DLPACK_TENSOR (1) nor TW_DLPACK_VERSIONED (2)", form);
}

Status check_tensor(const tw_tensor& tensor) {
  if (!is_dtype(tensor.dtype))
    return fail(
        Code::ERROR_INVALID_ARGUMENT, {.argument = "dtype", .got = tensor.dtype},
        "dtype %d is not an element type: set it to a TW_DTYPE_ value, for example %d for f32",
        tensor.dtype, TW_DTYPE_F32);
  if (tensor.device_kind != TW_DEVICE_HOST && tensor.device_kind != TW_DEVICE_CUDA)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "device_kind", .got = tensor.device_kind, .limit = TW_DEVICE_CUDA},
                "device_kind %d is neither TW_DEVICE_HOST (1) nor TW_DEVICE_CUDA (2)",
                tensor.device_kind);
  const bool host = tensor.device_kind == TW_DEVICE_HOST;
  if (host ? tensor.ordinal != 0 : tensor.ordinal < 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "ordinal", .got = tensor.ordinal},
                "ordinal is %d: %s", tensor.ordinal,
                host ? "TW_DEVICE_HOST has 0 alone" : "the number of a GPU must be 0 or more");
  if (tensor.rank < 0 || tensor.rank > kMaxTensorRank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "rank", .got = tensor.rank, .limit = kMaxTensorRank},
                "rank is %d: 0 to %d", tensor.rank, kMaxTensorRank);
  if (tensor.flags & ~static_cast<uint32_t>(TW_TENSOR_READ_ONLY))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "flags", .got = tensor.flags},
                "flags 0x%x has bits that are not TW_TENSOR_ flags", tensor.flags);
  for (int32_t i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] < 0)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "shape", .index = i, .got = tensor.shape[i]},
                  "shape[%d] is %lld: an extent must be 0 or more", i,
                  static_cast<long long>(tensor.shape[i]));
  return Code::OK;
}

}  // namespace

namespace tw::capi {

Status read_tensor(const tw_tensor* tensor, const char* name, tw_tensor* out) {
  *out = kTensorDefaults;
  TW_TRY(read_struct(tensor, name, out));
  const Status status = check_tensor(*out);
  return status.ok() ? status : fail_context(status, "%s", name);
}

}  // namespace tw::capi

tw_status tw_tensor_init(tw_tensor* tensor, size_t size) {
  return guard([&]() -> Status { return init_struct(tensor, size, "tensor", kTensorDefaults); });
}

tw_status tw_tensor_from_dlpack(const void* dlpack, tw_dlpack_form form, tw_tensor* tensor) {
  return guard([&]() -> Status {
    TW_TRY(clear_output_struct(tensor, "tensor"));
    TW_TRY(require(dlpack, "dlpack"));
    TW_TRY(check_form(form));
    Tensor from;
    TW_TRY(from_dlpack(dlpack, static_cast<DlpackForm>(form), &from));
    tw_tensor value = {.dtype = static_cast<tw_dtype>(from.dtype),
                       .device_kind = static_cast<tw_device_kind>(from.device_kind),
                       .ordinal = from.ordinal,
                       .rank = from.rank,
                       .flags = from.read_only ? uint32_t{TW_TENSOR_READ_ONLY} : 0u,
                       .address = from.address};
    std::copy_n(from.shape, kMaxTensorRank, value.shape);
    std::copy_n(from.stride, kMaxTensorRank, value.stride);
    write_struct(tensor, value);
    return Code::OK;
  });
}

tw_status tw_tensor_to_dlpack(const tw_tensor* tensor, tw_dlpack_form form,
                              tw_release_callback release, void* user, void** managed) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(managed, "managed"));
    tw_tensor in{};
    TW_TRY(read_tensor(tensor, "tensor", &in));
    TW_TRY(check_form(form));
    Tensor to{.dtype = static_cast<DType>(in.dtype),
              .device_kind = static_cast<DeviceKind>(in.device_kind),
              .ordinal = in.ordinal,
              .rank = in.rank,
              .read_only = (in.flags & TW_TENSOR_READ_ONLY) != 0,
              .address = in.address};
    std::copy_n(in.shape, kMaxTensorRank, to.shape);
    std::copy_n(in.stride, kMaxTensorRank, to.stride);
    return to_dlpack(to, static_cast<DlpackForm>(form), release, user, managed);
  });
}
