// SPDX-License-Identifier: Apache-2.0
// The 128 bytes back into fields. Whether bits are left over is found by encoding the result again.
#include "tensor_map/descriptor.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {
namespace {

uint64_t field(uint64_t word, int shift, int bits) {
  return word >> shift & ((uint64_t{1} << bits) - 1);
}

int32_t signed_field(uint64_t word, int shift, int bits) {
  const auto value = static_cast<int32_t>(field(word, shift, bits));
  const int32_t sign = 1 << (bits - 1);
  return (value ^ sign) - sign;
}

// The first type of dtypes.inc with the code: signs and formats that share one cannot be told
// apart.
bool type_of(uint64_t code, bool round_tf32, DType* out) {
  for (int32_t type = 0; type < kKnownTypes; ++type)
    if (kTypeCodes[type].code == code && kTypeCodes[type].round_tf32 == round_tf32) {
      static constexpr DType kTypes[] = {
#define TW_DTYPE(name, value, bits, map_type, text) DType::name,
#include "base/dtypes.inc"
#undef TW_DTYPE
      };
      for (const DType dtype : kTypes)
        if (dtype_tensor_map_type(dtype) == type) {
          *out = dtype;
          return true;
        }
    }
  return false;
}

void decode_tensor(const uint64_t* words, TensorMapDesc* desc) {
  const uint64_t strides[4] = {
      field(words[1], 32, 32) | field(words[3], 32, 4) << 32,
      field(words[2], 0, 32) | field(words[3], 36, 4) << 32,
      field(words[2], 32, 32) | field(words[3], 40, 4) << 32,
      field(words[3], 0, 32) | field(words[3], 44, 4) << 32,
  };
  desc->global_address = words[0];
  for (int32_t i = 0; i < desc->rank; ++i) {
    desc->global_dim[i] = field(words[4 + i / 2], i % 2 * 32, 32) + 1;
    if (i + 1 < desc->rank) desc->global_stride_bytes[i] = strides[i] * 16;
    desc->element_strides[i] =
        static_cast<uint32_t>(field(words[6], kElementStridesShift + 3 * i, 3)) + 1;
  }
}

void decode_box(const uint64_t* words, TensorMapDesc* desc) {
  const auto row = static_cast<uint32_t>(field(words[6], kRowShift, 8)) + 1;
  if (desc->kind == MapKind::tiled) {
    desc->box_dim[0] = row;
    for (int32_t i = 1; i < desc->rank; ++i)
      desc->box_dim[i] = static_cast<uint32_t>(field(words[7], (i - 1) * 8, 8)) + 1;
    return;
  }
  desc->channels_per_pixel = row;
  desc->pixels_per_column = static_cast<uint32_t>(field(words[7], kPixelsShift, 10)) + 1;
  const int32_t bits = corner_bits(desc->rank);
  for (int32_t i = 0; i < desc->rank - 2; ++i) {
    desc->lower_corner[i] = signed_field(words[7], i * bits, bits);
    desc->upper_corner[i] = signed_field(words[7], 16 + i * bits, bits);
  }
}

Status unknown_bits(int32_t word, uint64_t bits) {
  return fail(
      Code::ERROR_UNSUPPORTED,
      {.argument = "bytes",
       .index = word,
       .rule = "descriptor_bits",
       .got = static_cast<int64_t>(bits)},
      "word %d (bytes %d to %d) of the descriptor has bits 0x%llx other than its fields make "
      "them: it is of a newer chip or driver, was patched in part, or is no descriptor",
      word, word * 8, word * 8 + 7, static_cast<unsigned long long>(bits));
}

}  // namespace

Status decode(const TensorMapBytes& bytes, TensorMapDesc* desc) {
  const uint64_t* words = bytes.words;
  *desc = TensorMapDesc{};
  const uint64_t flags = words[1];
  desc->kind = (flags & 1) != 0 ? MapKind::im2col : MapKind::tiled;
  desc->interleave = static_cast<Interleave>(field(flags, kInterleaveShift, 2));
  desc->swizzle = static_cast<Swizzle>(field(flags, kSwizzleShift, 2));
  desc->oob_fill = static_cast<OobFill>(field(flags, kFillShift, 1));
  desc->l2_promotion = static_cast<L2Promotion>(field(flags, kPromotionShift, 2));

  // Everything else depends on the rank and the type.
  const auto rank = static_cast<int32_t>(field(flags, kRankShift, 3)) + 1;
  if (rank > 5 || (desc->kind == MapKind::im2col && rank < 3))
    return unknown_bits(1, flags & (uint64_t{7} << kRankShift));
  desc->rank = rank;
  if (desc->interleave > Interleave::b32)
    return unknown_bits(1, flags & (uint64_t{3} << kInterleaveShift));
  if (!type_of(field(flags, kTypeShift, 4), field(flags, kRoundShift, 1) != 0, &desc->dtype))
    return unknown_bits(1, flags & (uint64_t{15} << kTypeShift | uint64_t{1} << kRoundShift));
  decode_tensor(words, desc);
  decode_box(words, desc);

  TensorMapBytes again;
  encode_accepted(*desc, &again);
  for (int32_t i = 0; i < 16; ++i) {
    const uint64_t known = i == 1 ? kLargeTensorBit : 0;
    if (const uint64_t unknown = (again.words[i] ^ words[i]) & ~known; unknown != 0)
      return unknown_bits(i, unknown);
  }
  return {};
}

}  // namespace tw
