// SPDX-License-Identifier: Apache-2.0
// The format of the 128 bytes, as 16 little-endian words of 64 bits. It was inferred from what the
// driver writes for compute capability 9.0. Numbers such as "0-31" are bits of the word.
//
//   0      global_address
//   1      0 im2col · 4-6 rank - 1 · 7-10 type · 11-12 interleave · 13-14 swizzle · 15 oob_fill
//          16 round to tf32 · 17-18 l2_promotion · 21 kLargeTensorBit
//          32-63 global_stride_bytes[0] / 16, low 32 bits
//   2      global_stride_bytes[1] / 16, low 32 bits · the same for [2]
//   3      global_stride_bytes[3] / 16, low 32 bits · 32-47 the high four bits of each stride / 16
//   4, 5   global_dim[0] - 1 · [1] - 1 · [2] - 1 · [3] - 1, 32 bits each
//   6      0-31 global_dim[4] - 1 · 32-46 element_strides[i] - 1, three bits each
//          56-63 box_dim[0] - 1 or channels_per_pixel - 1
//   7      tiled: box_dim[1..4] - 1, eight bits each
//          im2col: 0-15 lower corners · 16-31 upper corners, in 16, 8 or 5 bits each by rank
//          32-41 pixels_per_column - 1
//   8      bytes of the box, with each box_dim / element_stride rounded down
//   9      period of the swizzle pattern in bytes; 16 without a swizzle
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
  uint64_t last[5] = {};  // extents minus one
  uint64_t element_strides = 0;
  for (int32_t i = 0; i + 1 < rank; ++i) stride[i] = desc.global_stride_bytes[i] / 16;
  for (int32_t i = 0; i < rank; ++i) {
    last[i] = desc.global_dim[i] - 1;
    element_strides |= static_cast<uint64_t>(desc.element_strides[i] - 1) << (i * 3);
  }

  uint64_t transaction_bytes = static_cast<uint64_t>(dtype_bytes(desc.dtype));
  uint64_t shape = 0;  // word 7
  if (tiled) {
    for (int32_t i = 0; i < rank; ++i)
      transaction_bytes *= desc.element_strides[i] == 1 ? desc.box_dim[i]
                                                        : desc.box_dim[i] / desc.element_strides[i];
    for (int32_t i = 1; i < rank; ++i)
      shape |= static_cast<uint64_t>(desc.box_dim[i] - 1) << ((i - 1) * 8);
  } else {
    transaction_bytes *= uint64_t{desc.channels_per_pixel} * desc.pixels_per_column;
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
  words[8] = transaction_bytes;
  words[9] = swizzle_period(desc.swizzle);
  for (int32_t i = 10; i < 16; ++i) words[i] = 0;
}

bool can_encode(const TensorMapDesc& desc) {
  return static_cast<int32_t>(desc.swizzle) <= 3 && dtype_tensor_map_type(desc.dtype) < kKnownTypes;
}

namespace {

uint64_t field(uint64_t word, int shift, int bits) {
  return word >> shift & ((uint64_t{1} << bits) - 1);
}

int32_t signed_field(uint64_t word, int shift, int bits) {
  const auto value = static_cast<int32_t>(field(word, shift, bits));
  const int32_t sign = 1 << (bits - 1);
  return (value ^ sign) - sign;
}

// Several types of dtypes.inc may share a code; the first one is taken.
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
  return fail(Code::ERROR_UNSUPPORTED,
              {.argument = "bytes",
               .index = word,
               .rule = "descriptor_bits",
               .got = static_cast<int64_t>(bits)},
              "word %d (bytes %d to %d) of the descriptor has unexpected bits 0x%llx: it was made "
              "for a newer chip or driver, was patched in part, or is not a descriptor",
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

  // Encode the result again to find bits that no field explains.
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
