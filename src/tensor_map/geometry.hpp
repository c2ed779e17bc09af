// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shape of a box in shared memory, for the rules, the encoder and the TMA model.
//
// A box consists of rows, one per position of the outer dimensions (or per pixel of an im2col
// column). A row holds the box's elements along dimension 0 and begins at a multiple of
// row_pitch().

#include <cstdint>

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Width of the swizzle in bytes, the largest row it allows; 0 without a swizzle.
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

/// Period of the swizzle pattern in bytes. The box must be aligned to it in shared memory.
constexpr uint32_t swizzle_period(Swizzle swizzle) {
  const uint32_t span = swizzle_span(swizzle);
  return span == 0 ? 16 : span * 8;
}

/// Maps an unswizzled shared memory address to the swizzled one.
constexpr uint32_t swizzled(uint32_t address, uint32_t mask) {
  return address ^ (address >> 3 & mask);
}

/// For swizzled(): which of the address bits 4 to 6 are XORed with the bits 7 to 9.
constexpr uint32_t swizzle_mask(Swizzle swizzle) {
  const uint32_t span = swizzle_span(swizzle);
  return span == 0 ? 0 : span - 16;
}

/// Whether the type packs 16 elements of 4 or 6 bits into a group. Extents count the elements;
/// dtypes.inc has the size of a group in shared memory.
constexpr bool is_packed(DType dtype) {
  return dtype == DType::U4X16_ALIGN8B || dtype == DType::U4X16_ALIGN16B ||
         dtype == DType::U6X16_ALIGN16B;
}
/// The packed types whose groups take 16 bytes of shared memory.
constexpr bool is_padded(DType dtype) {
  return is_packed(dtype) && dtype != DType::U4X16_ALIGN8B;
}

/// Bits of one element in global memory, where packed types have no padding.
inline uint32_t global_bits(DType dtype) {
  if (!is_packed(dtype)) return static_cast<uint32_t>(dtype_bits(dtype));
  return dtype == DType::U6X16_ALIGN16B ? 6 : 4;
}
/// Bits of one element in shared memory, including the padding of packed types.
inline uint32_t element_bits(DType dtype) {
  return static_cast<uint32_t>(dtype_bits(dtype)) / (is_packed(dtype) ? 16 : 1);
}

/// Coordinate 0 of a box must be a multiple of this many bytes. Otherwise the TMA raises an illegal
/// instruction (measured on 9.0).
inline constexpr uint32_t kCoordinateBytes = 16;

/// Bits of the box along dimension 0. The TMA ignores dimension 0's element stride without
/// interleave, and so does this.
inline uint64_t row_bits(const TensorMapDesc& desc) {
  const uint64_t elements = desc.kind == MapKind::tiled ? desc.box_dim[0] : desc.channels_per_pixel;
  return elements * element_bits(desc.dtype);
}
/// The same in bytes. Rows of an accepted map are whole bytes.
inline uint64_t row_bytes(const TensorMapDesc& desc) {
  return row_bits(desc) / 8;
}

/// Bytes from one row to the next in shared memory.
inline uint64_t row_pitch(const TensorMapDesc& desc) {
  const uint64_t bytes = row_bytes(desc);
  const uint64_t span = swizzle_span(desc.swizzle);
  return bytes < span ? span : bytes;
}

/// Positions of the box along dimension i that are moved: one per element stride, rounded up.
inline uint32_t box_count(const TensorMapDesc& desc, int32_t i) {
  return (desc.box_dim[i] + desc.element_strides[i] - 1) / desc.element_strides[i];
}

inline uint64_t box_rows(const TensorMapDesc& desc) {
  if (desc.kind != MapKind::tiled) return desc.pixels_per_column;
  uint64_t rows = 1;
  for (int32_t i = 1; i < desc.rank; ++i) rows *= box_count(desc, i);
  return rows;
}

/// Transaction bytes that loading one box (for im2col: one column) counts on the mbarrier.
inline uint64_t box_bytes(const TensorMapDesc& desc) {
  return row_bytes(desc) * box_rows(desc);
}

/// Bytes that one box spans in shared memory. This exceeds box_bytes() if rows are narrower than
/// the swizzle.
inline uint64_t box_span_bytes(const TensorMapDesc& desc) {
  return row_pitch(desc) * box_rows(desc);
}

}  // namespace tw
