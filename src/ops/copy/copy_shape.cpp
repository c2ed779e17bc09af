// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy_shape.hpp"

#include <cinttypes>
#include <utility>

#include "ops/common/copy_overlap.hpp"
#include "ops/common/fields.hpp"
#include "ops/common/strided_span.hpp"

namespace tw {
namespace {

struct Dim {
  int32_t index;  // the caller's number of the dimension
  int64_t extent;
  int64_t src;  // bytes
  int64_t dst;
};

Status extend(const char* stride_name, const CopyDesc& desc, const int64_t* strides, int32_t index,
              int64_t element_bytes, int64_t* stride, ByteRange* range) {
  int64_t reach = 0;
  TW_TRY(span_of({.rule = "copy_span",
                  .extent_name = "shape",
                  .stride_name = stride_name,
                  .index = index,
                  .extent = desc.shape[index],
                  .stride = strides[index],
                  .element_bytes = element_bytes},
                 range->high - range->low, stride, &reach));
  (reach < 0 ? range->low : range->high) += reach;
  return {};
}

Status read_dims(const CopyDesc& desc, CopyShape* out, Dim* dims, int32_t* count) {
  const int64_t bytes = out->element_bytes;
  out->src_range = out->dst_range = {0, bytes};
  TW_TRY(count_elements(desc.shape, desc.rank, "copy_extent", "copy_elements", &out->elements));
  out->empty = out->elements == 0;
  for (int32_t i = 0; i < desc.rank && !out->empty; ++i) {
    Dim dim{i, desc.shape[i], 0, 0};
    if (dim.extent == 1) continue;
    TW_TRY(extend("src_stride", desc, desc.src_stride, i, bytes, &dim.src, &out->src_range));
    TW_TRY(extend("dst_stride", desc, desc.dst_stride, i, bytes, &dim.dst, &out->dst_range));
    // A dimension that runs backwards in the destination starts at its other end.
    if (dim.dst < 0) {
      out->src_offset += (dim.extent - 1) * dim.src;
      out->dst_offset += (dim.extent - 1) * dim.dst;
      dim.src = -dim.src;
      dim.dst = -dim.dst;
    }
    dims[(*count)++] = dim;
  }
  return {};
}

// Insertion sort; there are at most eight dimensions.
void sort_by_destination(Dim* dims, int32_t count) {
  for (int32_t i = 1; i < count; ++i)
    for (int32_t j = i; j > 0 && dims[j].dst < dims[j - 1].dst; --j)
      std::swap(dims[j], dims[j - 1]);
}

}  // namespace

Status copy_shape(const CopyDesc& desc, CopyShape* out) {
  TW_TRY(check_dtype("dtype", "copy_dtype", desc.dtype));
  if (desc.rank < 1 || desc.rank > kMaxCopyRank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "rank", .rule = "copy_rank", .got = desc.rank, .limit = kMaxCopyRank},
                "rank is %d: a copy has 1 to %d dimensions", desc.rank, kMaxCopyRank);
  *out = CopyShape{};
  out->element_bytes = dtype_bytes(desc.dtype);
  out->padding_writable = desc.padding_writable;
  Dim dims[kMaxCopyRank];
  int32_t count = 0;
  TW_TRY(read_dims(desc, out, dims, &count));
  if (out->empty) return {};
  DistinctDim distinct[kMaxCopyRank];
  for (int32_t i = 0; i < count; ++i) distinct[i] = {dims[i].index, dims[i].extent, dims[i].dst};
  TW_TRY(check_distinct(distinct, count, out->element_bytes, desc.dst_stride, "copy_dst_distinct",
                        "copy_dst_undecided"));

  sort_by_destination(dims, count);
  // Merges dimensions that are contiguous with their inner neighbor on both sides.
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (kept > 0) {
      Dim& inner = dims[kept - 1];
      if (dims[i].dst == inner.dst * inner.extent && dims[i].src == inner.src * inner.extent) {
        inner.extent *= dims[i].extent;
        continue;
      }
    }
    dims[kept++] = dims[i];
  }
  out->row_bytes = out->element_bytes;
  int32_t first = 0;
  if (kept > 0 && dims[0].dst == out->element_bytes && dims[0].src == out->element_bytes) {
    out->row_bytes *= dims[0].extent;
    first = 1;
  }
  out->rank = kept - first;
  for (int32_t i = first; i < kept; ++i) {
    out->extent[i - first] = dims[i].extent;
    out->src_stride[i - first] = dims[i].src;
    out->dst_stride[i - first] = dims[i].dst;
  }
  out->rows = out->elements / (out->row_bytes / out->element_bytes);
  return {};
}

Status check_copy_disjoint(const CopyShape& shape, uint64_t src, uint64_t dst) {
  const uint64_t src_low = src + static_cast<uint64_t>(shape.src_range.low);
  const uint64_t dst_low = dst + static_cast<uint64_t>(shape.dst_range.low);
  const auto src_bytes = static_cast<uint64_t>(shape.src_range.high - shape.src_range.low);
  const auto dst_bytes = static_cast<uint64_t>(shape.dst_range.high - shape.dst_range.low);
  if (src_low - dst_low >= dst_bytes && dst_low - src_low >= src_bytes) return {};

  // Two rows at addresses s and d share a byte if s - d is less than a row's length. Write s as
  // src_low plus multiples of the steps, and d as the address of the last row minus multiples of
  // the steps. Then s - d is a sum of non-negative terms and a constant.
  StridedTerm terms[kMaxTerms];
  int32_t count = 0;
  for (int32_t i = 0; i < shape.rank; ++i) {
    const int64_t step = shape.src_stride[i] < 0 ? -shape.src_stride[i] : shape.src_stride[i];
    if (step != 0) terms[count++] = {step, shape.extent[i]};
    terms[count++] = {shape.dst_stride[i], shape.extent[i]};
  }
  const int64_t dst_reach =
      static_cast<int64_t>(dst_bytes) - shape.row_bytes;  // from the first row to the last
  const int64_t constant = static_cast<int64_t>(src_low - dst_low) - dst_reach;
  int64_t budget = kSearchBudget;
  const Intersection meets = sums_intersect(terms, count, -constant - (shape.row_bytes - 1),
                                            -constant + (shape.row_bytes - 1), &budget);
  if (meets == Intersection::no) return {};
  const bool yes = meets == Intersection::yes;
  return fail(Code::ERROR_OVERLAP,
              {.argument = "dst", .rule = yes ? "operands_disjoint" : "copy_overlap_undecided"},
              "src [0x%" PRIx64 ", +%" PRIu64 ") and dst [0x%" PRIx64 ", +%" PRIu64 ") %s", src_low,
              src_bytes, dst_low, dst_bytes,
              yes ? "share elements"
                  : "interleave in a way that a bounded search could not prove free of shared "
                    "elements: copy in parts");
}

}  // namespace tw
