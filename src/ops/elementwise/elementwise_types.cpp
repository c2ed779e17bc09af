// SPDX-License-Identifier: Apache-2.0
// Which types, reductions, activations and flags go together.
#include <cinttypes>
#include <initializer_list>

#include "base/check_dtype.hpp"
#include "ops/elementwise/elementwise_shape.hpp"

namespace tw {
namespace {

constexpr const char* kOperandNames[] = {"a", "b", "dst"};
constexpr const char* kTypeArguments[] = {"a_dtype", "b_dtype", "dst_dtype"};
constexpr const char* kCombineNames[] = {"none", "add", "min", "max", "and",
                                         "or",   "xor", "inc", "dec"};

Status unknown_type(uint32_t operand, DType dtype) {
  const char* argument = kTypeArguments[operand];
  TW_TRY(check_dtype(argument, "elementwise_dtype", dtype));
  return fail(
      Code::ERROR_UNSUPPORTED,
      {.argument = argument, .rule = "elementwise_dtype", .got = static_cast<int64_t>(dtype)},
      "%s is %s: elements are f32, f16, bf16, f8e4m3, f8e5m2, f64 or integers of 8 to 64 "
      "bits",
      argument, dtype_name(dtype));
}

Status check_reduction(const ElementwiseDesc& desc, uint32_t kind, uint32_t bytes) {
  const auto unsupported = [&](const char* what) {
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "reduction", .rule = "elementwise_reduction_type", .got = desc.reduction},
        "reduction %s of %s: %s", combine_name(desc.reduction), dtype_name(desc.dtype[kOperandDst]),
        what);
  };
  switch (desc.reduction) {
    case kCombineNone:
      return {};
    case kCombineAdd:
    case kCombineMin:
    case kCombineMax:
      if (kind < kWordUnsigned && bytes == 1)
        return unsupported("8-bit floating numbers are not reduced; f16, bf16 and f32 are");
      return {};
    case kCombineAnd:
    case kCombineOr:
    case kCombineXor:
      if (kind < kWordUnsigned || kind == kWordF64)
        return unsupported("it is of integers; describe the bits as such");
      return {};
    case kCombineInc:
    case kCombineDec:
      if (desc.dtype[kOperandDst] != DType::U32) return unsupported("it is of u32 alone");
      return {};
    default:
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "reduction",
                   .rule = "elementwise_reduction",
                   .got = desc.reduction,
                   .limit = kCombineDec},
                  "reduction %" PRId32 " is none of 0 to %u", desc.reduction, kCombineDec);
  }
}

Status check_combine(const ElementwiseDesc& desc) {
  if (desc.combine > kSourcesMultiply)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "combine",
                 .rule = "elementwise_combine",
                 .got = static_cast<int32_t>(desc.combine),
                 .limit = kSourcesMultiply},
                "combine is %" PRId32 ": TW_COMBINE_ADD is 0, TW_COMBINE_MULTIPLY 1",
                static_cast<int32_t>(desc.combine));
  if (desc.combine == kSourcesMultiply && desc.dtype[kOperandB] == DType{})
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "combine", .rule = "elementwise_combine_sources"},
                "combine is TW_COMBINE_MULTIPLY and b_dtype is 0: give b a type, or leave combine "
                "TW_COMBINE_ADD");
  return {};
}

// What only some types have.
Status check_options(const ElementwiseDesc& desc, uint32_t kind) {
  const char* const dst = dtype_name(desc.dtype[kOperandDst]);
  if (desc.saturates && kind >= kWordUnsigned)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "flags", .rule = "elementwise_saturate"},
                "flags: TW_ELEMENTWISE_SATURATE is of f32, f16, bf16, f8e4m3 and f8e5m2; %s wraps "
                "or overflows",
                dst);
  if (desc.device_scalars && kind >= kWordUnsigned && kind != kWordF64)
    return fail(Code::ERROR_UNSUPPORTED,
                {.argument = "flags", .rule = "elementwise_device_scalars"},
                "flags: TW_ELEMENTWISE_DEVICE_SCALARS is of floating types; a factor of %s must be "
                "a whole number, which nobody can check before the run executes: give alpha and "
                "beta in the run's arguments",
                dst);
  TW_TRY(check_activation(desc.activation));
  if (desc.activation != Activation::identity && kind >= kWordUnsigned)
    return fail(Code::ERROR_UNSUPPORTED,
                {.argument = "activation", .rule = "elementwise_activation_type"},
                "activation %s of %s: activations are computed in f32, for f32, f16, bf16, f8e4m3 "
                "and f8e5m2",
                activation_name(desc.activation), dst);
  return {};
}

}  // namespace

const char* operand_name(uint32_t operand) {
  return kOperandNames[operand];
}

const char* combine_name(int32_t reduction) {
  return kCombineNames[reduction];
}

bool kind_of(DType dtype, uint32_t* kind) {
  switch (dtype) {
    case DType::F32:
      *kind = kFormatF32;
      return true;
    case DType::F16:
      *kind = kFormatF16;
      return true;
    case DType::BF16:
      *kind = kFormatBF16;
      return true;
    case DType::F8E4M3:
      *kind = kFormatE4M3;
      return true;
    case DType::F8E5M2:
      *kind = kFormatE5M2;
      return true;
    case DType::F64:
      *kind = kWordF64;
      return true;
    case DType::U8:
    case DType::U16:
    case DType::U32:
    case DType::U64:
      *kind = kWordUnsigned;
      return true;
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64:
      *kind = kWordSigned;
      return true;
    default:
      return false;
  }
}

Status check_elementwise_types(const ElementwiseDesc& desc, ElementwiseShape* out) {
  TW_TRY(check_combine(desc));
  out->sources = desc.dtype[kOperandB] == DType{} ? 1 : 2;
  for (const uint32_t o : {kOperandA, kOperandB, kOperandDst}) {
    if (o == kOperandB && out->sources == 1) continue;
    if (!kind_of(desc.dtype[o], &out->kind[o])) return unknown_type(o, desc.dtype[o]);
    out->bytes[o] = static_cast<uint32_t>(dtype_bytes(desc.dtype[o]));
  }
  const uint32_t dst = out->kind[kOperandDst];
  for (const uint32_t o : {kOperandA, kOperandB}) {
    if (o == kOperandB && out->sources == 1) continue;
    const bool floats = out->kind[o] < kWordUnsigned && dst < kWordUnsigned;
    if (!floats && desc.dtype[o] != desc.dtype[kOperandDst])
      return fail(Code::ERROR_UNSUPPORTED,
                  {.argument = kTypeArguments[o],
                   .rule = "elementwise_pair",
                   .got = static_cast<int64_t>(desc.dtype[o])},
                  "%s %s to dst_dtype %s: f32, f16, bf16, f8e4m3 and f8e5m2 are converted to one "
                  "another; integers and f64 stay what they are",
                  kTypeArguments[o], dtype_name(desc.dtype[o]),
                  dtype_name(desc.dtype[kOperandDst]));
  }
  TW_TRY(check_options(desc, dst));
  return check_reduction(desc, dst, out->bytes[kOperandDst]);
}

}  // namespace tw
