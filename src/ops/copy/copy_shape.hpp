// SPDX-License-Identifier: Apache-2.0
#pragma once
// A copy's description, checked and brought into the form that every method starts from. Pure host
// code.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "ops/common/fields.hpp"
#include "runtime/device.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

inline constexpr int32_t kMaxCopyRank = 8;

/// As tw_copy_desc: extents and strides in elements, outermost first.
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
  /// Bytes between the end of a destination row and the next multiple of 16 may be written.
  bool padding_free = false;
  /// The tensor that the source is a window of, by dimensions: coordinate i of the copy is its
  /// coordinate src_start + i. 0: no bound along that dimension, and no start.
  int64_t src_shape[kMaxCopyRank] = {};
  int64_t src_start[kMaxCopyRank] = {};
  OobFill fill = OobFill::zero;
  /// For tests and benchmarks: bits 1 << method of the methods that may be chosen, and the sizes of
  /// the shared-memory rings, 0 being the library's choice.
  uint32_t methods = ~0u;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
};

/// Which bytes an operand can touch, from the caller's address: [low, high).
struct ByteRange {
  int64_t low = 0;
  int64_t high = 0;
};

/// Refuses an operand that lies in no memory that the device knows: `range` from `address`.
inline Status check_memory_range(const Device& device, const char* operand, uint64_t address,
                                 const ByteRange& range) {
  return device.check_memory(operand, address + static_cast<uint64_t>(range.low),
                             static_cast<uint64_t>(range.high - range.low));
}

/// The same copy as rows of `row_bytes` contiguous bytes on both sides, and up to eight dimensions
/// of them with as few as possible: extents above 1, innermost first, sorted by the destination's
/// stride, none that continues its neighbour on both sides. Strides count bytes; the destination's
/// are positive.
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
  /// From the caller's addresses to those of the first row: dimensions that ran backwards were
  /// turned round.
  int64_t src_offset = 0;
  int64_t dst_offset = 0;
  ByteRange src_range;
  ByteRange dst_range;
  bool padding_free = false;  // as in CopyDesc
};

/// Checks the description by name, the destination's elements for being distinct included, and
/// brings it into that form.
Status copy_shape(const CopyDesc& desc, CopyShape* out);

/// Whether source and destination share no byte in a run at these addresses. Decided by covering
/// ranges, then exactly; a case too hard to decide is refused by name.
Status check_copy_disjoint(const CopyShape& shape, uint64_t src, uint64_t dst);

}  // namespace tw
