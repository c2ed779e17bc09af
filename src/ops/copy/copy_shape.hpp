// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the description of a copy and reduces it to the form from which every method starts. Pure
// host code.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "ops/common/fields.hpp"
#include "runtime/device.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

inline constexpr int32_t kMaxCopyRank = 8;

/// The fields of tw_copy_desc: extents and strides in elements, outermost first.
struct CopyDesc {
  DType dtype = DType::U8;
  int32_t rank = 1;
  uint32_t src_alignment = 0;
  uint32_t dst_alignment = 0;
  uint32_t max_sms = 0;
  int64_t shape[kMaxCopyRank] = {};
  int64_t src_stride[kMaxCopyRank] = {};
  int64_t dst_stride[kMaxCopyRank] = {};
  CachePriority src_cache = CachePriority::normal;
  CachePriority dst_cache = CachePriority::normal;
  /// Allows writes to the bytes between the end of a destination row and the next multiple of 16.
  bool padding_writable = false;
  /// The tensor of which the source is a window: coordinate i of the copy is coordinate src_start +
  /// i of the tensor. An extent of 0 means that the dimension has no bound and no start.
  int64_t src_shape[kMaxCopyRank] = {};
  int64_t src_start[kMaxCopyRank] = {};
  OobFill fill = OobFill::zero;
  /// For tests and benchmarks: a bit 1 << method for each method that may be chosen, and the sizes
  /// of the shared-memory pipelines, where 0 means the library chooses.
  uint32_t methods = ~0u;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
};

/// The bytes that an operand may touch, relative to the caller's address: [low, high).
struct ByteRange {
  int64_t low = 0;
  int64_t high = 0;
};

/// Fails if the operand's `range` at `address` is outside the memory that the device knows.
inline Status check_memory_range(const Device& device, const char* operand, uint64_t address,
                                 const ByteRange& range) {
  return device.check_memory(operand, address + static_cast<uint64_t>(range.low),
                             static_cast<uint64_t>(range.high - range.low));
}

/// The copy as rows of `row_bytes` bytes that are contiguous on both sides, and as few dimensions
/// of rows as possible. All extents are above 1. Dimensions are sorted by the destination's stride,
/// innermost first, and none is contiguous with its neighbor on both sides. Strides are in bytes;
/// those of the destination are positive.
struct CopyShape {
  bool empty = false;
  int32_t element_bytes = 1;
  int64_t elements = 0;
  int64_t row_bytes = 0;
  int64_t rows = 0;
  int32_t rank = 0;
  int64_t extent[kMaxCopyRank] = {};
  int64_t src_stride[kMaxCopyRank] = {};
  int64_t dst_stride[kMaxCopyRank] = {};
  /// Offsets in bytes from the caller's addresses to the first row. Nonzero if dimensions that ran
  /// backwards were reversed.
  int64_t src_offset = 0;
  int64_t dst_offset = 0;
  ByteRange src_range;
  ByteRange dst_range;
  bool padding_writable = false;  ///< as in CopyDesc
};

/// Checks the description, including that the destination's elements do not overlap, and computes
/// its shape.
Status copy_shape(const CopyDesc& desc, CopyShape* out);

/// Fails unless source and destination share no byte in a run at these addresses. Compares the
/// covering ranges first, then searches; fails if the bounded search does not decide.
Status check_copy_disjoint(const CopyShape& shape, uint64_t src, uint64_t dst);

}  // namespace tw
