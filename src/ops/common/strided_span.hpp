// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far strided operands may reach, and which of the caller's numbers is at fault where one
// reaches further.

#include <cstdint>

#include "base/status.hpp"

namespace tw {

/// Bytes that an operand spans at most. Addresses have 57 bits; sums of a few spans never overflow.
inline constexpr int64_t kMaxSpan = int64_t{1} << 60;

/// A dimension of an operand, and what the caller calls its numbers.
struct SpanDim {
  const char* rule;
  const char* extent_name;  ///< "shape"
  const char* stride_name;  ///< "src_stride"; nullptr where the caller chooses none
  int32_t index;            ///< of both, or -1
  int64_t extent;           ///< above 0
  int64_t stride;           ///< elements
  int64_t element_bytes;
};

/// The dimension's stride in bytes, and how far its last element lies from its first, of its sign.
/// Refused where that and the `spanned` bytes of other dimensions exceed kMaxSpan: of extent and
/// stride the larger is at fault.
Status span_of(const SpanDim& dim, int64_t spanned, int64_t* stride_bytes, int64_t* reach);

/// Whether extents are 0 or more, and their product fits 63 bits; 0 where one is.
Status count_elements(const int64_t* shape, int32_t rank, const char* extent_rule,
                      const char* elements_rule, int64_t* elements);

/// A dimension of a destination, along which elements lie `stride` apart.
struct DistinctDim {
  int32_t index;  // the caller's
  int64_t extent;
  int64_t stride;  // bytes, 0 or more
};

/// Whether no two coordinates of a destination have a byte in common, for elements of
/// `element_bytes`; `strides` are the caller's numbers, called dst_stride. Refused by the dimension
/// whose stride is too small for what others reach.
Status check_distinct(const DistinctDim* dims, int32_t count, int64_t element_bytes,
                      const int64_t* strides, const char* distinct_rule,
                      const char* undecided_rule);

}  // namespace tw
