// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shape of a box in shared memory, as rules, encoder and model all need it.
//
// A box lies as rows, one for each position of the outer dimensions (or each pixel of a column).
// A row is the box's extent along dimension 0; it begins at a multiple of the row pitch.

#include <cstdint>

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Bytes after which the swizzle's XOR pattern treats a row as a new one: 0 without a swizzle.
constexpr uint32_t swizzle_span(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return 0;
    case Swizzle::b32:
      return 32;
    case Swizzle::b64:
      return 64;
    default:
      return 128;
  }
}

/// Bytes after which the pattern repeats, to which the box must be aligned in shared memory.
constexpr uint32_t swizzle_period(Swizzle swizzle) {
  const uint32_t span = swizzle_span(swizzle);
  return span == 0 ? 16 : span * 8;
}

/// The address in shared memory of the byte that would be at `address` without a swizzle.
constexpr uint32_t swizzled(uint32_t address, uint32_t mask) {
  return address ^ (address >> 3 & mask);
}

/// One mask a mode: address bits 4 to 6 that take up the bits 7 to 9.
constexpr uint32_t swizzle_mask(Swizzle swizzle) {
  const uint32_t span = swizzle_span(swizzle);
  return span == 0 ? 0 : span - 16;
}

/// The packed types count elements of 4 or 6 bits one by one, in groups of sixteen; dtypes.inc has
/// the size of a group as it lies in shared memory.
constexpr bool is_packed(DType dtype) {
  return dtype == DType::U4X16_ALIGN8B || dtype == DType::U4X16_ALIGN16B ||
         dtype == DType::U6X16_ALIGN16B;
}
/// The packed types whose groups of sixteen take sixteen bytes of shared memory.
constexpr bool is_padded(DType dtype) {
  return is_packed(dtype) && dtype != DType::U4X16_ALIGN8B;
}

/// Bits of one element in global memory, where the packed types' lie without gaps.
inline uint32_t global_bits(DType dtype) {
  if (!is_packed(dtype)) return static_cast<uint32_t>(dtype_bits(dtype));
  return dtype == DType::U6X16_ALIGN16B ? 6 : 4;
}
/// Bits of one element of a tensor map, in shared memory.
inline uint32_t element_bits(DType dtype) {
  return static_cast<uint32_t>(dtype_bits(dtype)) / (is_packed(dtype) ? 16 : 1);
}

/// Coordinate 0 is a multiple of so many bytes: at any other place in a row the copy engine stops
/// the kernel with an illegal instruction (measured on 9.0).
inline constexpr uint32_t kCoordinateBytes = 16;

/// Bits of the box along dimension 0. Dimension 0 has no element stride in this: where interleave
/// is none the copy engine ignores it.
inline uint64_t row_bits(const TensorMapDesc& desc) {
  const uint64_t elements = desc.kind == MapKind::tiled ? desc.box_dim[0] : desc.channels_per_pixel;
  return elements * element_bits(desc.dtype);
}
/// The same in bytes, which an accepted map's rows are whole numbers of.
inline uint64_t row_bytes(const TensorMapDesc& desc) {
  return row_bits(desc) / 8;
}

/// Bytes from a row to the next in shared memory.
inline uint64_t row_pitch(const TensorMapDesc& desc) {
  const uint64_t bytes = row_bytes(desc);
  const uint64_t span = swizzle_span(desc.swizzle);
  return bytes < span ? span : bytes;
}

/// Positions that the box visits along dimension i: one every element stride.
inline uint32_t box_count(const TensorMapDesc& desc, int32_t i) {
  return (desc.box_dim[i] + desc.element_strides[i] - 1) / desc.element_strides[i];
}

/// Rows of the box.
inline uint64_t box_rows(const TensorMapDesc& desc) {
  if (desc.kind != MapKind::tiled) return desc.pixels_per_column;
  uint64_t rows = 1;
  for (int32_t i = 1; i < desc.rank; ++i) rows *= box_count(desc, i);
  return rows;
}

/// Bytes that one whole box (of an im2col map: one column) counts on the mbarrier. A dimension
/// contributes its box over its element stride, rounded up.
inline uint64_t box_bytes(const TensorMapDesc& desc) {
  return row_bytes(desc) * box_rows(desc);
}

/// Bytes that one whole box spans in shared memory: rows narrower than the swizzle span advance by
/// the whole span.
inline uint64_t box_span_bytes(const TensorMapDesc& desc) {
  return row_pitch(desc) * box_rows(desc);
}

}  // namespace tw
