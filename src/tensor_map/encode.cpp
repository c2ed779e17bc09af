// SPDX-License-Identifier: Apache-2.0
// The 128 bytes, as 16 words of 64 bits (little-endian in memory). Read off descriptors that the
// driver made for compute capability 9.0; descriptor.hpp holds the positions.
//
//   0      global_address
//   1      0 im2col · 4-6 rank - 1 · 7-10 type · 11-12 interleave · 13-14 swizzle · 15 oob_fill
//          16 round to tf32 · 17-18 l2_promotion · 32-63 global_stride_bytes[0] / 16, low bits
//   2      global_stride_bytes[1] / 16, low 32 bits · the same of [2]
//   3      global_stride_bytes[3] / 16, low 32 bits · 32-47 bits 32 to 35 of each of the four
//   4, 5   global_dim[0] - 1 · [1] - 1 · [2] - 1 · [3] - 1, 32 bits each
//   6      0-31 global_dim[4] - 1 · 32-46 element_strides[i] - 1, three bits each
//          56-63 box_dim[0] - 1 or channels_per_pixel - 1
//   7      tiled: box_dim[1..4] - 1, eight bits each
//          im2col: 0-15 lower corners · 16-31 upper corners, in 16, 8 or 5 bits each by rank
//          32-41 pixels_per_column - 1
//   8      bytes of the box, each dimension's box / element stride rounded down
//   9      bytes after which the swizzle's pattern repeats; 16 without one
//   10-15  0
#include "tensor_map/descriptor.hpp"
#include "tensor_map/geometry.hpp"

namespace tw {
namespace {

uint64_t flags_word(const TensorMapDesc& desc) {
  const TypeCode type = kTypeCodes[dtype_tensor_map_type(desc.dtype)];
  return static_cast<uint64_t>(desc.kind != MapKind::tiled) |
         static_cast<uint64_t>(desc.rank - 1) << kRankShift |
         static_cast<uint64_t>(type.code) << kTypeShift |
         static_cast<uint64_t>(desc.interleave) << kInterleaveShift |
         static_cast<uint64_t>(desc.swizzle) << kSwizzleShift |
         static_cast<uint64_t>(desc.oob_fill) << kFillShift |
         static_cast<uint64_t>(type.round_tf32) << kRoundShift |
         static_cast<uint64_t>(desc.l2_promotion) << kPromotionShift;
}

uint64_t corners(const TensorMapDesc& desc) {
  const int32_t bits = corner_bits(desc.rank);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const int32_t count = desc.kind == MapKind::im2col_wide ? 1 : desc.rank - 2;
  uint64_t word = 0;
  for (int32_t i = 0; i < count; ++i) {
    word |= (static_cast<uint64_t>(desc.lower_corner[i]) & mask) << (i * bits);
    word |= (static_cast<uint64_t>(desc.upper_corner[i]) & mask) << (16 + i * bits);
  }
  return word;
}

}  // namespace

void encode_accepted(const TensorMapDesc& desc, TensorMapBytes* bytes) {
  const int32_t rank = desc.rank;
  const bool tiled = desc.kind == MapKind::tiled;
  uint64_t stride[4] = {};
  uint64_t last[5] = {};  // extents less one
  uint64_t element_strides = 0;
  for (int32_t i = 0; i + 1 < rank; ++i) stride[i] = desc.global_stride_bytes[i] / 16;
  for (int32_t i = 0; i < rank; ++i) {
    last[i] = desc.global_dim[i] - 1;
    element_strides |= static_cast<uint64_t>(desc.element_strides[i] - 1) << (i * 3);
  }

  uint64_t counted = static_cast<uint64_t>(dtype_bytes(desc.dtype));
  uint64_t shape = 0;  // word 7
  if (tiled) {
    for (int32_t i = 0; i < rank; ++i)
      counted *= desc.element_strides[i] == 1 ? desc.box_dim[i]
                                              : desc.box_dim[i] / desc.element_strides[i];
    for (int32_t i = 1; i < rank; ++i)
      shape |= static_cast<uint64_t>(desc.box_dim[i] - 1) << ((i - 1) * 8);
  } else {
    counted *= uint64_t{desc.channels_per_pixel} * desc.pixels_per_column;
    shape = corners(desc) | static_cast<uint64_t>(desc.pixels_per_column - 1) << kPixelsShift;
  }
  const uint64_t row = (tiled ? desc.box_dim[0] : desc.channels_per_pixel) - 1;

  constexpr uint64_t kLow = 0xffffffffu;
  uint64_t* words = bytes->words;
  words[0] = desc.global_address;
  words[1] = flags_word(desc) | stride[0] << 32;
  words[2] = (stride[1] & kLow) | stride[2] << 32;
  words[3] = (stride[3] & kLow) | (stride[0] >> 32) << 32 | (stride[1] >> 32) << 36 |
             (stride[2] >> 32) << 40 | (stride[3] >> 32) << 44;
  words[4] = last[0] | last[1] << 32;
  words[5] = last[2] | last[3] << 32;
  words[6] = last[4] | element_strides << kElementStridesShift | row << kRowShift;
  words[7] = shape;
  words[8] = counted;
  words[9] = swizzle_period(desc.swizzle);
  for (int32_t i = 10; i < 16; ++i) words[i] = 0;
}

bool can_encode(const TensorMapDesc& desc) {
  return static_cast<int32_t>(desc.swizzle) <= 3 && dtype_tensor_map_type(desc.dtype) < kKnownTypes;
}

Status encode(const TensorMapDesc& desc, int32_t arch, TensorMapBytes* bytes) {
  TW_TRY(check(desc, arch));
  if (!can_encode(desc))
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "dtype"},
                "the bits of packed types and of 128-byte swizzles with wider atoms are not known "
                "to this library: let the CUDA device's driver encode this map");
  encode_accepted(desc, bytes);
  return {};
}

}  // namespace tw
