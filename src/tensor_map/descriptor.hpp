// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encoding and decoding of the 128 bytes; descriptor.cpp documents their format. encode() in
// rules/check.hpp also checks the rules.

#include <cstdint>

#include "base/status.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

// Bit positions of the fields within their words.
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

/// In word 1: tells chips of 10.0 and later that the tensor spans 128 KiB or more. Drivers do not
/// set it on 9.0. See driver_faults.inc.
inline constexpr uint64_t kLargeTensorBit = uint64_t{1} << 21;

/// The descriptor's code of a type. tf32 is f32 with a bit that makes loads round.
struct TypeCode {
  uint8_t code;
  bool round_tf32;
};

/// Indexed by CUtensorMapDataType.
inline constexpr int32_t kKnownTypes = 13;
inline constexpr TypeCode kTypeCodes[kKnownTypes] = {
    {0, false}, {1, false}, {2, false},  {3, false}, {4, false}, {5, false}, {6, false},
    {7, false}, {9, false}, {10, false}, {8, false}, {7, true},  {8, true}};

/// Bits of one corner coordinate of an im2col map.
constexpr int32_t corner_bits(int32_t rank) {
  return rank <= 3 ? 16 : (rank == 4 ? 8 : 5);
}

/// Whether the library knows the descriptor's format. It does for every map that compute capability
/// 9.0 accepts. Later chips also accept packed types and 128-byte swizzles with wider atoms, which
/// only the driver can encode.
bool can_encode(const TensorMapDesc& desc);

/// Encodes a description that check() and can_encode() have accepted.
void encode_accepted(const TensorMapDesc& desc, TensorMapBytes* bytes);

/// Decodes a descriptor. If it has bits that encode() would not write, fails and names them; *desc
/// then still has the fields that could be read. The bytes do not distinguish im2col-wide maps from
/// im2col maps, so both decode as im2col.
Status decode(const TensorMapBytes& bytes, TensorMapDesc* desc);

}  // namespace tw
