// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits the reach of strided operands, and reports which of the caller's numbers exceeds them.

#include <cstdint>

#include "base/status.hpp"

namespace tw {

/// Largest span of an operand in bytes. Addresses have 57 bits, and sums of a few spans cannot
/// overflow 64 bits.
inline constexpr int64_t kMaxSpan = int64_t{1} << 60;

/// A dimension of an operand, and the caller's names for its numbers.
struct SpanDim {
  const char* rule;
  const char* extent_name;  ///< "shape"
  const char* stride_name;  ///< "src_stride"; nullptr if the caller gives no stride
  int32_t index;            ///< index into both, or -1
  int64_t extent;           ///< at least 1
  int64_t stride;           ///< elements
  int64_t element_bytes;
};

/// Computes the dimension's stride in bytes, and the signed distance in bytes from its first to its
/// last element. Fails if the distance plus the `covered` bytes of other dimensions exceeds
/// kMaxSpan; the error blames the larger of extent and stride.
Status span_of(const SpanDim& dim, int64_t covered, int64_t* stride_bytes, int64_t* distance);

/// Computes the product of the extents. Fails if one is negative or the product exceeds 63 bits.
Status count_elements(const int64_t* shape, int32_t rank, const char* extent_rule,
                      const char* elements_rule, int64_t* elements);

/// A dimension of a destination.
struct DistinctDim {
  int32_t index;  // the caller's number of the dimension
  int64_t extent;
  int64_t stride;  // bytes, 0 or more
};

/// Fails if elements at two coordinates of a destination share a byte. `strides` are the caller's
/// values, in elements, of dst_stride. The error names the dimension whose stride is too small.
Status check_distinct(const DistinctDim* dims, int32_t count, int64_t element_bytes,
                      const int64_t* strides, const char* distinct_rule,
                      const char* undecided_rule);

}  // namespace tw
