// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise_shape.hpp"

#include <cinttypes>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "ops/common/copy_overlap.hpp"
#include "ops/common/fields.hpp"
#include "ops/common/strided_span.hpp"

namespace tw {
namespace {

constexpr const char* kStrideArguments[] = {"a_stride", "b_stride", "dst_stride"};

struct Dim {
  int32_t index;  // the caller's number of the dimension
  int64_t extent;
  int64_t stride[kElementwiseOperands];  // bytes
};

Status read_dims(const ElementwiseDesc& desc, ElementwiseShape* out, Dim* dims, int32_t* count) {
  for (uint32_t o = 0; o < kElementwiseOperands; ++o) out->range[o] = {0, out->bytes[o]};
  for (int32_t i = 0; i < desc.rank; ++i) {
    Dim dim{i, desc.shape[i], {}};
    if (dim.extent == 1) continue;
    for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
      if (out->bytes[o] == 0) continue;
      ByteRange& range = out->range[o];
      int64_t reach = 0;
      TW_TRY(span_of({.rule = "elementwise_span",
                      .extent_name = "shape",
                      .stride_name = kStrideArguments[o],
                      .index = i,
                      .extent = dim.extent,
                      .stride = desc.stride[o][i],
                      .element_bytes = out->bytes[o]},
                     range.high - range.low, &dim.stride[o], &reach));
      (reach < 0 ? range.low : range.high) += reach;
    }
    // A dimension that runs backwards in the destination starts at its other end.
    if (dim.stride[kOperandDst] < 0)
      for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
        out->offset[o] += (dim.extent - 1) * dim.stride[o];
        dim.stride[o] = -dim.stride[o];
      }
    dims[(*count)++] = dim;
  }
  return {};
}

bool continues(const Dim& inner, const Dim& outer) {
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    if (outer.stride[o] != inner.stride[o] * inner.extent) return false;
  return true;
}

// Sorts the dimensions and merges those that are contiguous in every operand.
int32_t merge(Dim* dims, int32_t count) {
  for (int32_t i = 1; i < count; ++i)  // insertion sort; there are at most eight
    for (int32_t j = i; j > 0 && dims[j].stride[kOperandDst] < dims[j - 1].stride[kOperandDst]; --j)
      std::swap(dims[j], dims[j - 1]);
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (kept > 0 && continues(dims[kept - 1], dims[i]))
      dims[kept - 1].extent *= dims[i].extent;
    else
      dims[kept++] = dims[i];
  }
  return kept;
}

bool same_layout(const ElementwiseShape& shape, uint32_t operand) {
  if (shape.bytes[operand] != shape.bytes[kOperandDst]) return false;
  for (int32_t d = 0; d < shape.rank; ++d)
    if (shape.stride[operand][d] != shape.stride[kOperandDst][d]) return false;
  return true;
}

// What a run reads: `bytes` bytes from `low` on, in rows of `row` bytes.
struct Read {
  const char* name;
  uint64_t low;
  uint64_t bytes;
  int64_t row;
  const int64_t* stride;  // bytes, per dimension of the shape; nullptr: one row
  const char* fault;      // message if the destination shares a byte
};

Status check_unwritten(const ElementwiseShape& shape, uint64_t dst, const Read& read) {
  const ByteRange& range = shape.range[kOperandDst];
  const uint64_t dst_low = dst + static_cast<uint64_t>(range.low);
  const auto dst_bytes = static_cast<uint64_t>(range.high - range.low);
  if (read.low - dst_low >= dst_bytes && dst_low - read.low >= read.bytes) return {};
  // As in check_copy_disjoint(), but with rows of different lengths.
  StridedTerm terms[kMaxTerms];
  int32_t count = 0;
  for (int32_t d = shape.row_dims; d < shape.rank; ++d) {
    const int64_t step = read.stride == nullptr ? 0 : std::abs(read.stride[d]);
    if (step != 0) terms[count++] = {step, shape.extent[d]};
    terms[count++] = {shape.stride[kOperandDst][d], shape.extent[d]};
  }
  const int64_t dst_row = shape.row_elements * int64_t{shape.bytes[kOperandDst]};
  const int64_t dst_reach = static_cast<int64_t>(dst_bytes) - dst_row;
  const int64_t constant = static_cast<int64_t>(read.low - dst_low) - dst_reach;
  int64_t budget = kSearchBudget;
  const Intersection meets =
      sums_intersect(terms, count, -constant - (read.row - 1), -constant + (dst_row - 1), &budget);
  if (meets == Intersection::no) return {};
  const bool yes = meets == Intersection::yes;
  return fail(
      Code::ERROR_OVERLAP,
      {.argument = "dst", .rule = yes ? "operands_disjoint" : "elementwise_overlap_undecided"},
      "%s [0x%" PRIx64 ", +%" PRIu64 ") and dst [0x%" PRIx64 ", +%" PRIu64 ") %s", read.name,
      read.low, read.bytes, dst_low, dst_bytes,
      yes ? read.fault
          : "interleave, and a bounded search could not prove that they share no elements: use "
            "parts");
}

}  // namespace

Status elementwise_shape(const ElementwiseDesc& desc, ElementwiseShape* out) {
  *out = ElementwiseShape{};
  TW_TRY(check_elementwise_types(desc, out));
  if (desc.rank < 1 || desc.rank > kMaxCopyRank)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "rank", .rule = "elementwise_rank", .got = desc.rank, .limit = kMaxCopyRank},
        "rank is %d: there are 1 to %d dimensions", desc.rank, kMaxCopyRank);
  TW_TRY(count_elements(desc.shape, desc.rank, "elementwise_extent", "elementwise_elements",
                        &out->elements));
  out->empty = out->elements == 0;
  if (out->empty) return {};
  Dim dims[kMaxCopyRank];
  int32_t count = 0;
  TW_TRY(read_dims(desc, out, dims, &count));
  DistinctDim distinct[kMaxCopyRank];
  for (int32_t i = 0; i < count; ++i)
    distinct[i] = {dims[i].index, dims[i].extent, dims[i].stride[kOperandDst]};
  TW_TRY(check_distinct(distinct, count, out->bytes[kOperandDst], desc.stride[kOperandDst],
                        "elementwise_dst_distinct", "elementwise_dst_undecided"));
  out->rank = merge(dims, count);
  bool contiguous = out->rank > 0;
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    contiguous = contiguous && dims[0].stride[o] == out->bytes[o];
  for (int32_t d = 0; d < out->rank; ++d) {
    out->extent[d] = dims[d].extent;
    for (uint32_t o = 0; o < kElementwiseOperands; ++o) out->stride[o][d] = dims[d].stride[o];
  }
  out->row_dims = contiguous ? 1 : 0;
  out->row_elements = contiguous ? out->extent[0] : 1;
  return {};
}

Status check_elementwise_disjoint(const ElementwiseShape& shape,
                                  const uint64_t (&address)[kElementwiseOperands]) {
  for (uint32_t o = 0; o < shape.sources; ++o) {
    if (address[o] == address[kOperandDst] && same_layout(shape, o)) continue;
    TW_TRY(
        check_unwritten(shape, address[kOperandDst],
                        {.name = operand_name(o),
                         .low = address[o] + static_cast<uint64_t>(shape.range[o].low),
                         .bytes = static_cast<uint64_t>(shape.range[o].high - shape.range[o].low),
                         .row = shape.row_elements * int64_t{shape.bytes[o]},
                         .stride = shape.stride[o],
                         .fault = "overlap without being identical in address, type and layout"}));
  }
  return {};
}

Status check_elementwise_scalar(const ElementwiseShape& shape, const char* name, uint64_t address,
                                uint64_t dst) {
  return check_unwritten(shape, dst,
                         {.name = name,
                          .low = address,
                          .bytes = 4,
                          .row = 4,
                          .stride = nullptr,
                          .fault = "share bytes: the run would write the scalar that it reads"});
}

namespace {

constexpr const char* kOperandNames[] = {"a", "b", "dst"};
constexpr const char* kTypeArguments[] = {"a_dtype", "b_dtype", "dst_dtype"};
constexpr const char* kReduceNames[] = {"none", "add", "min", "max", "and",
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
        "reduction %s of %s: %s", reduction_name(desc.reduction),
        dtype_name(desc.dtype[kOperandDst]), what);
  };
  switch (desc.reduction) {
    case kReduceNone:
      return {};
    case kReduceAdd:
    case kReduceMin:
    case kReduceMax:
      if (kind < kTypeUnsigned && bytes == 1)
        return unsupported("8-bit floating numbers are not reduced; f16, bf16 and f32 are");
      return {};
    case kReduceAnd:
    case kReduceOr:
    case kReduceXor:
      if (kind < kTypeUnsigned || kind == kTypeF64)
        return unsupported("it exists for integers only; describe the operands as integers");
      return {};
    case kReduceInc:
    case kReduceDec:
      if (desc.dtype[kOperandDst] != DType::U32) return unsupported("it exists for u32 only");
      return {};
    default:
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "reduction",
                   .rule = "elementwise_reduction",
                   .got = desc.reduction,
                   .limit = kReduceDec},
                  "reduction is %" PRId32 ": it must be 0 to %u", desc.reduction, kReduceDec);
  }
}

Status check_combine(const ElementwiseDesc& desc) {
  if (desc.combine > kCombineMultiply)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "combine",
                 .rule = "elementwise_combine",
                 .got = static_cast<int32_t>(desc.combine),
                 .limit = kCombineMultiply},
                "combine is %" PRId32 ": TW_COMBINE_ADD is 0, TW_COMBINE_MULTIPLY 1",
                static_cast<int32_t>(desc.combine));
  if (desc.combine == kCombineMultiply && desc.dtype[kOperandB] == DType{})
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "combine", .rule = "elementwise_combine_sources"},
                "combine is TW_COMBINE_MULTIPLY and b_dtype is 0: give b a type, or leave combine "
                "TW_COMBINE_ADD");
  return {};
}

// Checks options that only some types have.
Status check_options(const ElementwiseDesc& desc, uint32_t kind) {
  const char* const dst = dtype_name(desc.dtype[kOperandDst]);
  if (desc.saturates && kind >= kTypeUnsigned)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "flags", .rule = "elementwise_saturate"},
                "flags: TW_ELEMENTWISE_SATURATE exists for f32, f16, bf16, f8e4m3 and f8e5m2; %s "
                "wraps or overflows",
                dst);
  if (desc.device_scalars && kind >= kTypeUnsigned && kind != kTypeF64)
    return fail(
        Code::ERROR_UNSUPPORTED, {.argument = "flags", .rule = "elementwise_device_scalars"},
        "flags: TW_ELEMENTWISE_DEVICE_SCALARS exists for floating-point types; a factor of %s "
        "must be a whole number, which the library cannot check before the run executes: give "
        "alpha and "
        "beta in the run's arguments",
        dst);
  TW_TRY(check_activation(desc.activation));
  if (desc.activation != Activation::identity && kind >= kTypeUnsigned)
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

const char* reduction_name(int32_t reduction) {
  return kReduceNames[reduction];
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
      *kind = kTypeF64;
      return true;
    case DType::U8:
    case DType::U16:
    case DType::U32:
    case DType::U64:
      *kind = kTypeUnsigned;
      return true;
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64:
      *kind = kTypeSigned;
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
    const bool floats = out->kind[o] < kTypeUnsigned && dst < kTypeUnsigned;
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
