// SPDX-License-Identifier: Apache-2.0
#pragma once
// The 128 bytes, written and read back; descriptor.cpp has the map of them. encode(), which holds
// a description against the rules before it writes, is in rules/check.hpp.

#include <cstdint>

#include "base/status.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

// Positions of the fields.
inline constexpr int kRankShift = 4;
inline constexpr int kTypeShift = 7;
inline constexpr int kInterleaveShift = 11;
inline constexpr int kSwizzleShift = 13;
inline constexpr int kFillShift = 15;
inline constexpr int kRoundShift = 16;
inline constexpr int kPromotionShift = 17;
inline constexpr int kElementStridesShift = 32;
inline constexpr int kRowShift = 56;
inline constexpr int kPixelsShift = 32;

/// Of word 1: what chips of 10.0 and later are told of a tensor of 128 KiB and more; it says
/// nothing on 9.0, where no driver sets it. See driver_faults.inc.
inline constexpr uint64_t kLargeTensorBit = uint64_t{1} << 21;

/// The descriptor's code of a type; tf32 is f32 with a bit that rounds loads.
struct TypeCode {
  uint8_t code;
  bool round_tf32;
};

/// By CUtensorMapDataType.
inline constexpr int32_t kKnownTypes = 13;
inline constexpr TypeCode kTypeCodes[kKnownTypes] = {
    {0, false}, {1, false}, {2, false},  {3, false}, {4, false}, {5, false}, {6, false},
    {7, false}, {9, false}, {10, false}, {8, false}, {7, true},  {8, true}};

/// Bits of one corner of an im2col map.
constexpr int32_t corner_bits(int32_t rank) {
  return rank <= 3 ? 16 : (rank == 4 ? 8 : 5);
}

/// Whether the library knows the descriptor's bits. It does of what compute capability 9.0 has; the
/// packed types and the 128-byte swizzles with wider atoms are left to the driver.
bool can_encode(const TensorMapDesc& desc);

/// Writes the descriptor of a description that check() has accepted and can_encode() knows.
void encode_accepted(const TensorMapDesc& desc, TensorMapBytes* bytes);

/// Reads a descriptor back. Fails, naming the bits, where they are none that encode() writes; what
/// could be read is in *desc all the same. Bytes do not tell an im2col-wide map from an im2col map
/// of the same corners: both come back as im2col.
Status decode(const TensorMapBytes& bytes, TensorMapDesc* desc);

}  // namespace tw
