// SPDX-License-Identifier: Apache-2.0
#include "ops/common/strided_span.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "base/checked.hpp"
#include "ops/common/copy_overlap.hpp"

namespace tw {
namespace {

// "shape[1]", or the name alone if the index is negative.
struct Name {
  char text[64];
  Name(const char* name, int32_t index) {
    if (index < 0)
      std::snprintf(text, sizeof text, "%s", name);
    else
      std::snprintf(text, sizeof text, "%s[%" PRId32 "]", name, index);
  }
};

}  // namespace

Status span_of(const SpanDim& dim, int64_t covered, int64_t* stride_bytes, int64_t* distance) {
  const auto stride = [&] {
    return Name(dim.stride_name ? dim.stride_name : dim.extent_name, dim.index);
  };
  const auto extent = [&] { return Name(dim.extent_name, dim.index); };
  const int64_t maximum = kMaxSpan / dim.element_bytes;
  if (dim.stride > maximum || dim.stride < -maximum)
    return fail(Code::ERROR_OVERFLOW,
                {.argument = dim.stride_name ? dim.stride_name : dim.extent_name,
                 .index = dim.index,
                 .rule = dim.rule,
                 .got = dim.stride,
                 .limit = dim.stride < 0 ? -maximum : maximum},
                "%s is %" PRId64 " elements of %" PRId64
                " bytes, which exceeds 2^60 bytes; it must be at most %" PRId64 " elements",
                stride().text, dim.stride, dim.element_bytes, maximum);
  *stride_bytes = dim.stride * dim.element_bytes;
  const int64_t step = std::abs(*stride_bytes);
  const int64_t steps = dim.extent - 1;
  const int64_t rest = kMaxSpan - covered;
  if (step == 0 || steps <= rest / step) {
    *distance = steps * *stride_bytes;
    return {};
  }
  if (dim.stride_name && step > steps) {
    const int64_t limit = rest / steps / dim.element_bytes;
    return fail(
        Code::ERROR_OVERFLOW,
        {.argument = dim.stride_name,
         .index = dim.index,
         .rule = dim.rule,
         .got = dim.stride,
         .limit = dim.stride < 0 ? -limit : limit},
        "%s is %" PRId64 ": with %s %" PRId64 " elements of %" PRId64
        " bytes, this dimension and the %" PRId64
        " bytes of the other dimensions exceed 2^60 bytes; the stride must be at most %" PRId64
        " elements",
        stride().text, dim.stride, extent().text, dim.extent, dim.element_bytes, covered, limit);
  }
  const int64_t limit = rest / step + 1;
  return fail(
      Code::ERROR_OVERFLOW,
      {.argument = dim.extent_name,
       .index = dim.index,
       .rule = dim.rule,
       .got = dim.extent,
       .limit = limit},
      "%s is %" PRId64 ": at %" PRId64 " bytes apart, together with %" PRId64
      " bytes of the other dimensions, this exceeds 2^60 bytes; it must be at most %" PRId64,
      extent().text, dim.extent, step, covered, limit);
}

Status count_elements(const int64_t* shape, int32_t rank, const char* extent_rule,
                      const char* elements_rule, int64_t* elements) {
  for (int32_t i = 0; i < rank; ++i)
    if (shape[i] < 0)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "shape", .index = i, .rule = extent_rule, .got = shape[i]},
                  "shape[%" PRId32 "] is %" PRId64 ": an extent is 0 or more", i, shape[i]);
  *elements = std::find(shape, shape + rank, 0) == shape + rank ? 1 : 0;
  for (int32_t i = 0; i < rank && *elements != 0; ++i) {
    const int64_t before = *elements;
    if (checked_mul(before, shape[i], elements)) continue;
    // Blame the largest extent so far. The product of the others fits: none of them is larger.
    const auto largest = static_cast<int32_t>(std::max_element(shape, shape + i + 1) - shape);
    const int64_t others = largest == i ? before : before / shape[largest] * shape[i];
    return fail(Code::ERROR_OVERFLOW,
                {.argument = "shape",
                 .index = largest,
                 .rule = elements_rule,
                 .got = shape[largest],
                 .limit = INT64_MAX / others},
                "shape[%" PRId32 "] is %" PRId64 ": the product of shape[0] to shape[%" PRId32
                "] exceeds 2^63 - 1; it must be at most %" PRId64,
                largest, shape[largest], i, INT64_MAX / others);
  }
  return {};
}

Status check_distinct(const DistinctDim* dims, int32_t count, int64_t element_bytes,
                      const int64_t* strides, const char* distinct_rule,
                      const char* undecided_rule) {
  StridedTerm terms[kMaxTerms] = {};
  for (int32_t i = 0; i < count; ++i) {
    if (dims[i].stride == 0)
      return fail(Code::ERROR_OVERLAP,
                  {.argument = "dst_stride",
                   .index = dims[i].index,
                   .rule = distinct_rule,
                   .got = 0,
                   .limit = 1},
                  "dst_stride[%" PRId32 "] is 0 along a dimension of %" PRId64
                  " elements: they would all be written to one place",
                  dims[i].index, dims[i].extent);
    terms[i] = {dims[i].stride, dims[i].extent};
  }
  int64_t budget = kSearchBudget;
  const Intersection meets = shares_elements(terms, count, element_bytes, &budget);
  if (meets == Intersection::no) return {};
  // Blame the first dimension, by stride, whose stride is less than what the smaller ones reach.
  // There is one, or the strides would be nested and elements could not overlap.
  DistinctDim sorted[kMaxTerms];
  std::copy(dims, dims + count, sorted);
  std::sort(sorted, sorted + count,
            [](const DistinctDim& a, const DistinctDim& b) { return a.stride < b.stride; });
  int64_t reach = element_bytes;
  int32_t at = 0;
  while (at + 1 < count && sorted[at].stride >= reach) {
    reach += sorted[at].stride * (sorted[at].extent - 1);
    ++at;
  }
  const int32_t index = sorted[at].index;
  const int64_t limit = (reach + element_bytes - 1) / element_bytes;
  const Fault fault{.argument = "dst_stride",
                    .index = index,
                    .rule = meets == Intersection::yes ? distinct_rule : undecided_rule,
                    .got = strides[index],
                    .limit = limit};
  if (meets == Intersection::yes)
    return fail(
        Code::ERROR_OVERLAP, fault,
        "dst_stride[%" PRId32 "] is %" PRId64
        ", but the dimensions with smaller strides reach %" PRId64
        " elements, and two coordinates share an element; every element may be written only once",
        index, strides[index], limit);
  return fail(
      Code::ERROR_OVERLAP, fault,
      "dst_stride[%" PRId32 "] is %" PRId64
      ", but the dimensions with smaller strides reach %" PRId64
      " elements, and a search of %" PRId64
      " steps could not prove that no element is written twice; use parts whose strides are nested",
      index, strides[index], limit, kSearchBudget);
}

}  // namespace tw
