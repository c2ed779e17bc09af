// SPDX-License-Identifier: Apache-2.0
#include "runtime/dlpack.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/checked.hpp"

namespace tw {
namespace {

// The structs of DLPack's specification: a fixed ABI.
struct DlDevice {
  int32_t type;
  int32_t id;
};
struct DlDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; nullptr: compact, row-major
  uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged* self);
};
struct DlVersioned {
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*deleter)(DlVersioned* self);
  uint64_t flags;
  DlTensor tensor;
};
static_assert(sizeof(DlTensor) == 48 && offsetof(DlTensor, dtype) == 20 &&
              offsetof(DlTensor, byte_offset) == 40);
static_assert(sizeof(DlManaged) == 64 && offsetof(DlManaged, context) == 48);
static_assert(sizeof(DlVersioned) == 80 && offsetof(DlVersioned, tensor) == 32);

constexpr uint32_t kMajor = 1;
constexpr uint64_t kReadOnly = 1;
constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;
constexpr int kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6, kE4m3fn = 10, kE5m2 = 12;

// Types that DLPack and the library share. An export uses the first entry with the DType, an import
// the first one with the code and bits.
struct TypePair {
  uint8_t code;
  uint8_t bits;
  DType dtype;
};
constexpr TypePair kTypes[] = {
    {kUInt, 8, DType::U8},        {kInt, 8, DType::I8},      {kUInt, 16, DType::U16},
    {kInt, 16, DType::I16},       {kUInt, 32, DType::U32},   {kInt, 32, DType::I32},
    {kUInt, 64, DType::U64},      {kInt, 64, DType::I64},    {kFloat, 16, DType::F16},
    {kBfloat, 16, DType::BF16},   {kFloat, 32, DType::F32},  {kFloat, 64, DType::F64},
    {kE4m3fn, 8, DType::F8E4M3},  {kE5m2, 8, DType::F8E5M2}, {kBool, 8, DType::U8},
    {kFloat, 32, DType::F32_FTZ}, {kFloat, 32, DType::TF32}, {kFloat, 32, DType::TF32_FTZ},
};

Status read_type(const DlDataType& type, DType* out) {
  for (const TypePair& pair : kTypes)
    if (type.lanes == 1 && pair.code == type.code && pair.bits == type.bits) {
      *out = pair.dtype;
      return Code::OK;
    }
  return fail(Code::ERROR_UNSUPPORTED, {.argument = "dlpack", .got = type.code},
              "the tensor `dlpack` has elements of code %u with %u bits and %u lanes, for which "
              "there is no TW_DTYPE_: view it as another type first",
              type.code, type.bits, type.lanes);
}

Status read_device(const DlDevice& device, Tensor* out) {
  if (device.type == kCpu || device.type == kCudaHost) {
    // Pinned memory counts as host memory, so DLPack's device id is ignored.
    out->device_kind = DeviceKind::host;
    return Code::OK;
  }
  if (device.type == kCuda || device.type == kCudaManaged) {
    if (device.id < 0)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "dlpack", .got = device.id},
                  "the tensor `dlpack` is on CUDA device %d: device numbers are 0 or more",
                  device.id);
    out->device_kind = DeviceKind::cuda;
    out->ordinal = device.id;
    return Code::OK;
  }
  return fail(
      Code::ERROR_UNSUPPORTED, {.argument = "dlpack", .got = device.type},
      "the tensor `dlpack` is on a device of type %d: only host memory (types 1 and 3) and CUDA "
      "memory (types 2 and 13) can be used",
      device.type);
}

Status read_extents(const DlTensor& from, Tensor* out) {
  if (from.ndim < 0 || from.ndim > kMaxTensorRank)
    return fail(Code::ERROR_CAPACITY,
                {.argument = "dlpack", .got = from.ndim, .limit = kMaxTensorRank},
                "the tensor `dlpack` has %d dimensions, and a tw_tensor has at most %d: join some "
                "of them first",
                from.ndim, kMaxTensorRank);
  if (from.ndim > 0 && !from.shape)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "dlpack", .got = from.ndim},
                "the tensor `dlpack` has %d dimensions, but its shape is NULL", from.ndim);
  out->rank = from.ndim;
  int64_t compact = 1;  // stride of dimension i in a compact, row-major tensor
  for (int32_t i = from.ndim - 1; i >= 0; --i) {
    if (from.shape[i] < 0)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "dlpack", .index = i, .got = from.shape[i]},
                  "extent %lld of the DLPack tensor's dimension %d is negative",
                  static_cast<long long>(from.shape[i]), i);
    out->shape[i] = from.shape[i];
    out->stride[i] = from.strides ? from.strides[i] : compact;
    if (!checked_mul(compact, std::max<int64_t>(from.shape[i], 1), &compact))
      return fail(Code::ERROR_OVERFLOW, {.argument = "dlpack", .index = i, .got = from.shape[i]},
                  "the DLPack tensor's extents other than 0 multiply to more than 2^63 - 1");
  }
  return Code::OK;
}

// Applies the limit of read_extents() to an export, so that the tensor can be imported again.
Status check_extents(const Tensor& tensor) {
  int64_t elements = 1;
  for (int32_t i = tensor.rank - 1; i >= 0; --i)
    if (!checked_mul(elements, std::max<int64_t>(tensor.shape[i], 1), &elements))
      return fail(Code::ERROR_OVERFLOW, {.argument = "shape", .index = i, .got = tensor.shape[i]},
                  "tensor->shape's extents other than 0 multiply to more than 2^63 - 1");
  return Code::OK;
}

// An exported tensor with its shape and strides. The consumer gets `managed` and calls its deleter.
template <class Managed>
struct Export {
  Managed managed{};
  int64_t shape[kMaxTensorRank];
  int64_t stride[kMaxTensorRank];
  ReleaseCallback release;
  void* user;

  static void destroy(Managed* self) {
    auto* whole = static_cast<Export*>(self->context);
    const ReleaseCallback release = whole->release;
    void* const user = whole->user;
    delete whole;
    if (release) release(user);
  }
};

template <class Managed>
Export<Managed>* make_export(const Tensor& from, const DlDataType& type, ReleaseCallback release,
                             void* user) {
  auto* out = new Export<Managed>;
  std::copy_n(from.shape, kMaxTensorRank, out->shape);
  std::copy_n(from.stride, kMaxTensorRank, out->stride);
  out->release = release;
  out->user = user;
  out->managed.context = out;
  out->managed.deleter = Export<Managed>::destroy;
  out->managed.tensor = {
      .data = reinterpret_cast<void*>(from.address),
      .device = {from.device_kind == DeviceKind::cuda ? kCuda : kCpu, from.ordinal},
      .ndim = from.rank,
      .dtype = type,
      .shape = out->shape,
      .strides = out->stride,
      .byte_offset = 0};
  return out;
}

}  // namespace

Status from_dlpack(const void* dlpack, DlpackForm form, Tensor* out) {
  *out = Tensor{};
  DlTensor from;
  if (form == DlpackForm::versioned) {
    DlVersioned versioned;
    // Read the version alone first: another major version may lay out the rest differently.
    std::memcpy(&versioned, dlpack, 2 * sizeof(uint32_t));
    if (versioned.major != kMajor)
      return fail(Code::ERROR_UNSUPPORTED,
                  {.argument = "dlpack", .got = versioned.major, .limit = kMajor},
                  "the tensor `dlpack` has version %u.%u, but this library reads %u.x",
                  versioned.major, versioned.minor, kMajor);
    std::memcpy(&versioned, dlpack, sizeof versioned);
    out->read_only = (versioned.flags & kReadOnly) != 0;
    from = versioned.tensor;
  } else {
    std::memcpy(&from, dlpack, sizeof from);
  }
  TW_TRY(read_type(from.dtype, &out->dtype));
  TW_TRY(read_device(from.device, out));
  TW_TRY(read_extents(from, out));
  out->address = reinterpret_cast<uintptr_t>(from.data) + from.byte_offset;
  return Code::OK;
}

Status to_dlpack(const Tensor& tensor, DlpackForm form, ReleaseCallback release, void* user,
                 void** managed) {
  DlDataType type{};
  for (const TypePair& pair : kTypes)
    if (type.bits == 0 && pair.dtype == tensor.dtype) type = {pair.code, pair.bits, 1};
  if (type.bits == 0)
    return fail(Code::ERROR_UNSUPPORTED,
                {.argument = "dtype", .got = static_cast<int64_t>(tensor.dtype)},
                "dtype %s has no counterpart in DLPack", dtype_name(tensor.dtype));
  TW_TRY(check_extents(tensor));
  if (form == DlpackForm::tensor && tensor.read_only)
    return fail(
        Code::ERROR_UNSUPPORTED, {.argument = "form", .got = static_cast<int64_t>(form)},
        "form TW_DLPACK_TENSOR (1) cannot say that a tensor is TW_TENSOR_READ_ONLY, and its "
        "consumer might write: export TW_DLPACK_VERSIONED (2), or clear the flag");
  if (form == DlpackForm::tensor) {
    *managed = &make_export<DlManaged>(tensor, type, release, user)->managed;
    return Code::OK;
  }
  auto* out = make_export<DlVersioned>(tensor, type, release, user);
  out->managed.major = kMajor;
  out->managed.minor = 0;
  out->managed.flags = tensor.read_only ? kReadOnly : 0;
  *managed = &out->managed;
  return Code::OK;
}

}  // namespace tw
