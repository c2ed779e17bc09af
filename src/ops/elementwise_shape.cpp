// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise_shape.hpp"

#include <cinttypes>
#include <cstdlib>
#include <utility>

#include "base/checked.hpp"
#include "ops/copy_overlap.hpp"

namespace tw {
namespace {

constexpr int64_t kMaxSpan = int64_t{1} << 60;  // bytes, so that sums of a few never overflow
constexpr const char* kStrideArguments[] = {"a_stride", "b_stride", "dst_stride"};

struct Dim {
  int64_t extent;
  int64_t stride[kElementwiseOperands];  // bytes
};

Status too_large(uint32_t operand, int32_t index) {
  return fail(Code::ERROR_OVERFLOW,
              {.argument = kStrideArguments[operand], .index = index, .rule = "elementwise_span"},
              "%s[%d]: what the operand reaches exceeds 2^60 bytes", kStrideArguments[operand],
              index);
}

// Adds what one dimension reaches to an operand's range.
Status extend(uint32_t operand, int32_t index, const Dim& dim, ByteRange* range) {
  int64_t reach = 0;
  if (!checked_mul(dim.extent - 1, dim.stride[operand], &reach) || reach > kMaxSpan ||
      reach < -kMaxSpan)
    return too_large(operand, index);
  (reach < 0 ? range->low : range->high) += reach;
  if (range->high > kMaxSpan || range->low < -kMaxSpan) return too_large(operand, index);
  return {};
}

Status count_elements(const ElementwiseDesc& desc, ElementwiseShape* out) {
  out->elements = 1;
  for (int32_t i = 0; i < desc.rank; ++i) {
    const int64_t extent = desc.shape[i];
    if (extent < 0)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "shape", .index = i, .rule = "elementwise_extent", .got = extent},
                  "shape[%d] is %" PRId64 ": an extent is 0 or more", i, extent);
    out->empty = out->empty || extent == 0;
  }
  for (int32_t i = 0; i < desc.rank && !out->empty; ++i)
    if (!checked_mul(out->elements, desc.shape[i], &out->elements))
      return fail(Code::ERROR_OVERFLOW,
                  {.argument = "shape", .index = i, .rule = "elementwise_elements"},
                  "the product of shape[0] to shape[%d] exceeds 2^63", i);
  if (out->empty) out->elements = 0;
  return {};
}

Status read_dims(const ElementwiseDesc& desc, ElementwiseShape* out, Dim* dims, int32_t* count) {
  for (uint32_t o = 0; o < kElementwiseOperands; ++o) out->range[o] = {0, out->bytes[o]};
  for (int32_t i = 0; i < desc.rank; ++i) {
    Dim dim{desc.shape[i], {}};
    if (dim.extent == 1) continue;
    for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
      if (out->bytes[o] == 0) continue;
      if (!checked_mul(desc.stride[o][i], int64_t{out->bytes[o]}, &dim.stride[o]))
        return too_large(o, i);
      TW_TRY(extend(o, i, dim, &out->range[o]));
    }
    // Backwards along the destination is forwards from the other end.
    if (dim.stride[kOperandDst] < 0)
      for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
        out->offset[o] += (dim.extent - 1) * dim.stride[o];
        dim.stride[o] = -dim.stride[o];
      }
    dims[(*count)++] = dim;
  }
  return {};
}

Status check_distinct(const ElementwiseShape& shape, const Dim* dims, int32_t count) {
  StridedTerm terms[kMaxCopyRank];
  for (int32_t i = 0; i < count; ++i) {
    if (dims[i].stride[kOperandDst] == 0)
      return fail(Code::ERROR_OVERLAP,
                  {.argument = "dst_stride", .rule = "elementwise_dst_distinct"},
                  "dst_stride is 0 along a dimension of %" PRId64
                  " elements: they would all be written to one place",
                  dims[i].extent);
    terms[i] = {dims[i].stride[kOperandDst], dims[i].extent};
  }
  int64_t budget = kSearchBudget;
  const Meets meets = shares_elements(terms, count, shape.bytes[kOperandDst], &budget);
  if (meets == Meets::no) return {};
  const bool yes = meets == Meets::yes;
  return fail(Code::ERROR_OVERLAP,
              {.argument = "dst_stride",
               .rule = yes ? "elementwise_dst_distinct" : "elementwise_dst_undecided"},
              yes ? "dst_stride places two coordinates of the shape on one element: no element may "
                    "be written twice"
                  : "dst_stride interleaves dimensions in a way that a bounded search could not "
                    "prove free of elements written twice: use parts whose strides nest");
}

bool continues(const Dim& inner, const Dim& outer) {
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    if (outer.stride[o] != inner.stride[o] * inner.extent) return false;
  return true;
}

// A dimension that begins where its neighbour ends, in every operand, is the same dimension.
int32_t merge(Dim* dims, int32_t count) {
  for (int32_t i = 1; i < count; ++i)  // eight at most: an insertion each
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

}  // namespace

Status elementwise_shape(const ElementwiseDesc& desc, ElementwiseShape* out) {
  *out = ElementwiseShape{};
  TW_TRY(check_elementwise_types(desc, out));
  if (desc.rank < 1 || desc.rank > kMaxCopyRank)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "rank", .rule = "elementwise_rank", .got = desc.rank, .limit = kMaxCopyRank},
        "rank is %d: there are 1 to %d dimensions", desc.rank, kMaxCopyRank);
  TW_TRY(count_elements(desc, out));
  if (out->empty) return {};
  Dim dims[kMaxCopyRank];
  int32_t count = 0;
  TW_TRY(read_dims(desc, out, dims, &count));
  TW_TRY(check_distinct(*out, dims, count));
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
  const auto low_of = [&](uint32_t o) {
    return address[o] + static_cast<uint64_t>(shape.range[o].low);
  };
  const auto bytes_of = [&](uint32_t o) {
    return static_cast<uint64_t>(shape.range[o].high - shape.range[o].low);
  };
  const uint64_t dst_low = low_of(kOperandDst);
  const uint64_t dst_bytes = bytes_of(kOperandDst);
  for (uint32_t o = 0; o < shape.sources; ++o) {
    if (address[o] == address[kOperandDst] && same_layout(shape, o)) continue;
    const uint64_t src_low = low_of(o);
    const uint64_t src_bytes = bytes_of(o);
    if (src_low - dst_low >= dst_bytes && dst_low - src_low >= src_bytes) continue;
    // As in check_copy_disjoint(): rows at s and d share a byte where s - d lies between what is
    // less than a row of either, and s - d is a constant and a sum of terms.
    const int64_t src_row = shape.row_elements * int64_t{shape.bytes[o]};
    const int64_t dst_row = shape.row_elements * int64_t{shape.bytes[kOperandDst]};
    StridedTerm terms[kMaxTerms];
    int32_t count = 0;
    for (int32_t d = shape.row_dims; d < shape.rank; ++d) {
      const int64_t step = std::abs(shape.stride[o][d]);
      if (step != 0) terms[count++] = {step, shape.extent[d]};
      terms[count++] = {shape.stride[kOperandDst][d], shape.extent[d]};
    }
    const int64_t dst_reach = static_cast<int64_t>(dst_bytes) - dst_row;
    const int64_t constant = static_cast<int64_t>(src_low - dst_low) - dst_reach;
    int64_t budget = kSearchBudget;
    const Meets meets =
        sums_meet(terms, count, -constant - (src_row - 1), -constant + (dst_row - 1), &budget);
    if (meets == Meets::no) continue;
    const bool yes = meets == Meets::yes;
    return fail(
        Code::ERROR_OVERLAP,
        {.argument = "dst", .rule = yes ? "operands_disjoint" : "elementwise_overlap_undecided"},
        "%s [0x%" PRIx64 ", +%" PRIu64 ") and dst [0x%" PRIx64 ", +%" PRIu64 ") %s",
        operand_name(o), src_low, src_bytes, dst_low, dst_bytes,
        yes ? "share elements, and are not the same elements of one type and layout"
            : "interleave in a way that a bounded search could not prove free of shared "
              "elements: use parts");
  }
  return {};
}

}  // namespace tw
