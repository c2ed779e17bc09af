// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy_window.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>

#include "base/checked.hpp"
#include "ops/common/copy_overlap.hpp"
#include "ops/copy/copy_methods.hpp"

namespace tw {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 60;
// So that an operand's range that begins there ends within 63 bits.
constexpr int64_t kMostBytes = int64_t{1} << 62;
constexpr uint64_t kNanPattern = 0x7ff77ff77ff77ff7;  // the NaN with which TMA loads fill

// The coordinates [low, high) of the copy that lie inside the tensor along a dimension.
struct Inside {
  int64_t low, high;
};
Inside inside_of(const CopyDesc& desc, int32_t d) {
  const int64_t extent = desc.shape[d];
  if (desc.src_shape[d] == 0) return {0, extent};
  const int64_t low = std::clamp<int64_t>(-desc.src_start[d], 0, extent);
  const int64_t high = std::clamp<int64_t>(desc.src_shape[d] - desc.src_start[d], low, extent);
  return {low, high};
}

// Adds index * stride, in elements. Returns false if the sum exceeds kMostElements.
bool add_place(int64_t index, int64_t stride, int64_t* place) {
  int64_t step = 0;
  return checked_mul(index, stride, &step) && checked_add(*place, step, place) &&
         *place <= kMostElements && *place >= -kMostElements;
}

// `maximum` is the largest distance in elements from a window to its tensor; `text` states it.
Status too_far(const CopyDesc& desc, int32_t d, int64_t maximum, const char* text) {
  const int64_t start = desc.src_start[d];
  const int64_t stride = desc.src_stride[d];
  // A dimension of one element may have any stride, even INT64_MIN.
  const int64_t step = stride == INT64_MIN ? INT64_MAX : std::abs(stride);
  const int64_t limit = maximum / std::max<int64_t>(step, 1);
  return fail(Code::ERROR_OVERFLOW,
              {.argument = "src_start",
               .index = d,
               .rule = "copy_window_span",
               .got = start,
               .limit = start < 0 ? -limit : limit},
              "src_start[%d] is %" PRId64 ": with a stride of %" PRId64
              " the window begins more than %s away from the tensor",
              d, start, stride, text);
}

// Computes the shape of the region with coordinates from `low` to below `high`, relative to the
// caller's addresses. A region that reads nothing (`reads` is false) lies outside the tensor and is
// filled.
Status region_shape(const CopyDesc& desc, const int64_t* low, const int64_t* high, bool reads,
                    CopyShape* out) {
  CopyDesc piece = desc;
  piece.padding_writable = false;  // the bytes after a row may belong to another region
  bool empty = false;
  for (int32_t d = 0; d < desc.rank; ++d) {
    piece.shape[d] = high[d] - low[d];
    empty = empty || piece.shape[d] == 0;
    if (!reads) piece.src_stride[d] = desc.dst_stride[d];
  }
  int64_t src_offset = 0;
  int64_t dst_offset = 0;
  for (int32_t d = 0; d < desc.rank && !empty; ++d)
    if ((reads && !add_place(desc.src_start[d] + low[d], desc.src_stride[d], &src_offset)) ||
        !add_place(low[d], desc.dst_stride[d], &dst_offset))
      return too_far(desc, d, kMostElements, "2^60 elements");
  TW_TRY(copy_shape(piece, out));
  if (!checked_mul(src_offset, int64_t{out->element_bytes}, &src_offset) ||
      !checked_mul(dst_offset, int64_t{out->element_bytes}, &dst_offset) ||
      std::max(std::abs(src_offset), std::abs(dst_offset)) > kMostBytes) {
    // Each product is less than 2^60 elements, so it does not overflow.
    const auto place = [&](int32_t d) {
      return std::abs((desc.src_start[d] + low[d]) * desc.src_stride[d]);
    };
    int32_t furthest = 0;
    for (int32_t d = 1; d < desc.rank; ++d)
      if (place(d) > place(furthest)) furthest = d;
    return too_far(desc, furthest, kMostBytes / out->element_bytes, "2^62 bytes");
  }
  out->src_offset += src_offset;
  out->src_range.low += src_offset;
  out->src_range.high += src_offset;
  out->dst_offset += dst_offset;
  out->dst_range.low += dst_offset;
  out->dst_range.high += dst_offset;
  return {};
}

}  // namespace

bool has_window(const CopyDesc& desc) {
  for (int32_t d = 0; d < desc.rank; ++d)
    if (desc.src_shape[d] != 0) return true;
  return false;
}

Status check_window(const CopyDesc& desc) {
  for (int32_t d = 0; d < desc.rank; ++d) {
    const auto wrong = [&](const char* argument, int64_t got, int64_t limit, const char* text) {
      return fail(
          Code::ERROR_INVALID_ARGUMENT,
          {.argument = argument, .index = d, .rule = "copy_window", .got = got, .limit = limit},
          "%s[%d] is %" PRId64 ": %s", argument, d, got, text);
    };
    if (desc.src_shape[d] < 0 || desc.src_shape[d] > kMostElements)
      return wrong("src_shape", desc.src_shape[d], kMostElements,
                   "the source tensor has 1 to 2^60 elements along a dimension, or 0 for no bound");
    if (desc.src_shape[d] == 0 && desc.src_start[d] != 0)
      return wrong("src_start", desc.src_start[d], 0,
                   "src_shape is 0 along this dimension, so src_start must be 0");
    if (desc.src_start[d] > kMostElements || desc.src_start[d] < -kMostElements)
      return wrong("src_start", desc.src_start[d],
                   desc.src_start[d] < 0 ? -kMostElements : kMostElements,
                   "it lies within 2^60 elements of the tensor");
  }
  if (desc.fill == OobFill::zero) return {};
  if (desc.fill != OobFill::nan)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "fill",
                 .rule = "copy_fill",
                 .got = static_cast<int64_t>(desc.fill),
                 .limit = static_cast<int64_t>(OobFill::nan)},
                "fill is %d: it must be 0 (zeros) or 1 (NaN)", static_cast<int>(desc.fill));
  switch (desc.dtype) {
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F32_FTZ:
    case DType::TF32:
    case DType::TF32_FTZ:
    case DType::F64:
      return {};
    default:
      return fail(Code::ERROR_UNSUPPORTED,
                  {.argument = "fill",
                   .rule = "copy_fill_type",
                   .got = static_cast<int64_t>(desc.fill),
                   .limit = static_cast<int64_t>(OobFill::zero)},
                  "fill is NaN (0x7ff7 in every 16 bits), which %s cannot represent: use f16, "
                  "bf16, f32, tf32 or f64, or fill with zeros",
                  dtype_name(desc.dtype));
  }
}

Status split_window(const CopyDesc& desc, CopyShape* inside, std::vector<CopyShape>* fills) {
  int64_t low[kMaxCopyRank] = {};
  int64_t high[kMaxCopyRank] = {};
  std::copy_n(desc.shape, kMaxCopyRank, high);
  // Along each dimension there is one region on either side of the inside part. The regions of
  // later dimensions are limited to the inside part of earlier ones.
  for (int32_t d = 0; d < desc.rank; ++d) {
    const Inside range = inside_of(desc, d);
    const int64_t ends[2][2] = {{0, range.low}, {range.high, desc.shape[d]}};
    for (const auto& end : ends) {
      if (end[0] == end[1]) continue;
      low[d] = end[0];
      high[d] = end[1];
      CopyShape region;
      TW_TRY(region_shape(desc, low, high, false, &region));
      if (fills && !region.empty) fills->push_back(region);
    }
    low[d] = range.low;
    high[d] = range.high;
  }
  return region_shape(desc, low, high, true, inside);
}

Status check_fill_disjoint(const CopyShape& inside, const CopyShape& region, uint64_t src,
                           uint64_t dst) {
  if (inside.empty) return {};
  const uint64_t src_low = src + static_cast<uint64_t>(inside.src_range.low);
  const uint64_t dst_low = dst + static_cast<uint64_t>(region.dst_range.low);
  const auto src_bytes = static_cast<uint64_t>(inside.src_range.high - inside.src_range.low);
  const auto dst_bytes = static_cast<uint64_t>(region.dst_range.high - region.dst_range.low);
  if (src_low - dst_low >= dst_bytes && dst_low - src_low >= src_bytes) return {};
  // As in check_copy_disjoint(), with rows of two shapes.
  StridedTerm terms[kMaxTerms];
  int32_t count = 0;
  for (int32_t d = 0; d < inside.rank; ++d)
    if (inside.src_stride[d] != 0)
      terms[count++] = {std::abs(inside.src_stride[d]), inside.extent[d]};
  for (int32_t d = 0; d < region.rank; ++d)
    terms[count++] = {region.dst_stride[d], region.extent[d]};
  const int64_t reach = static_cast<int64_t>(dst_bytes) - region.row_bytes;
  const int64_t constant = static_cast<int64_t>(src_low - dst_low) - reach;
  int64_t budget = kSearchBudget;
  const Intersection meets = sums_intersect(terms, count, -constant - (inside.row_bytes - 1),
                                            -constant + (region.row_bytes - 1), &budget);
  if (meets == Intersection::no) return {};
  return fail(Code::ERROR_OVERLAP, {.argument = "dst", .rule = "copy_window_overlap"},
              "src [0x%" PRIx64 ", +%" PRIu64 ") and the part of dst that is filled [0x%" PRIx64
              ", +%" PRIu64 ") %s",
              src_low, src_bytes, dst_low, dst_bytes,
              meets == Intersection::yes
                  ? "share elements"
                  : "interleave, and a bounded search could not prove that they "
                    "share no elements: copy in parts");
}

CopyFillArgs fill_args(const CopyDesc& desc, const CopyShape& region, uint64_t dst) {
  CopyFillArgs args{};
  dst += static_cast<uint64_t>(region.dst_offset);
  fill_strided(region, alignment_of(dst), &args.place);
  args.place.dst = dst;
  args.place.dst_policy = cache_policy(desc.dst_cache);
  args.pattern = desc.fill == OobFill::nan ? kNanPattern : 0;
  return args;
}

}  // namespace tw
