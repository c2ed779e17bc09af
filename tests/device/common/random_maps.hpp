// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random tensor map descriptions: wild ones, with fields near the limits of the rules, and tame
// ones, which are valid and fit a small arena.

#include <cstdint>
#include <initializer_list>
#include <random>

#include "tensor_map/geometry.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw::test {

class RandomMaps {
 public:
  explicit RandomMaps(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t n) { return random_() % n; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }
  int64_t pick(std::initializer_list<int64_t> values) {
    return values.begin()[below(values.size())];
  }

  /// The type with a number of CUtensorMapDataType, 0 to 15.
  static DType type(int64_t number) {
    static constexpr DType kTypes[] = {
#define TW_DTYPE(name, value, bits, map_type, text) DType::name,
#include "base/dtypes.inc"
#undef TW_DTYPE
    };
    for (const DType dtype : kTypes)
      if (dtype_tensor_map_type(dtype) == number) return dtype;
    return DType::B128;
  }

  /// Each field is mostly valid, and rarely at or past its limit.
  TensorMapDesc wild(MapKind kind) {
    TensorMapDesc desc;
    desc.kind = kind;
    const bool tiled = kind == MapKind::tiled;
    desc.dtype = type(rarely() ? between(13, 15) : between(0, 12));
    desc.rank =
        static_cast<int32_t>(rarely() ? pick({tiled ? 0 : 2, 6}) : between(tiled ? 1 : 3, 5));
    desc.interleave = static_cast<Interleave>(below(3) != 0 ? 0 : (rarely() ? 3 : between(0, 2)));
    desc.swizzle = static_cast<Swizzle>(rarely() ? between(4, 7) : between(0, 3));
    desc.l2_promotion = static_cast<L2Promotion>(rarely() ? 4 : between(0, 3));
    desc.oob_fill = static_cast<OobFill>(rarely() ? 2 : below(4) == 0);
    desc.global_address =
        below(uint64_t{1} << between(8, 58)) / 32 * 32 + (rarely() ? below(32) : 0);
    for (int i = 0; i < 5; ++i) {
      desc.global_dim[i] =
          rarely() ? static_cast<uint64_t>(pick({0, (1ll << 32) - 1, 1ll << 32, (1ll << 32) + 1,
                                                 (1ll << 31) - 3, (1ll << 31) - 1, 1ll << 31}))
                   : 1 + below(uint64_t{1} << between(1, 24));
      desc.global_stride_bytes[i] =
          rarely()
              ? static_cast<uint64_t>(pick({0, 8, (1ll << 40) - 16, (1ll << 40) - 32, 1ll << 40}))
              : 32 * (1 + below(uint64_t{1} << between(1, 30)));
      desc.element_strides[i] =
          static_cast<uint32_t>(below(4) != 0 ? 1 : (rarely() ? pick({0, 9}) : between(1, 8)));
      if (tiled)
        desc.box_dim[i] = static_cast<uint32_t>(rarely() ? pick({0, 255, 256, 257})
                                                         : between(1, below(2) ? 16 : 64));
    }
    const uint32_t bytes = element_bits(desc.dtype) / 8;
    if (tiled) {
      if (!rarely() && bytes != 0)
        desc.box_dim[0] = static_cast<uint32_t>(between(1, below(2) ? 2 : 16)) * 16 / bytes;
      return desc;
    }
    desc.channels_per_pixel = bytes == 0 || rarely()
                                  ? static_cast<uint32_t>(between(0, 258))
                                  : static_cast<uint32_t>(between(1, 8)) * 16 / bytes;
    desc.pixels_per_column =
        static_cast<uint32_t>(rarely() ? pick({0, 1024, 1025}) : between(1, 400));
    const int64_t reach = desc.rank <= 3 ? 32768 : (desc.rank == 4 ? 128 : 16);
    for (int i = 0; i < 3; ++i) {
      const bool far = rarely();
      desc.lower_corner[i] =
          static_cast<int32_t>(far ? between(-reach - 1, reach) : between(-3, 3));
      desc.upper_corner[i] =
          static_cast<int32_t>(far ? between(-reach - 1, reach) : between(-3, 3));
    }
    if (kind == MapKind::im2col_wide) desc.wide_mode = static_cast<int32_t>(below(2));
    return desc;
  }

  /// A valid map of a tensor without overlaps that spans less than `arena` bytes. Its address is an
  /// offset, a multiple of 16. Its type number is at most 12.
  TensorMapDesc tame(MapKind kind, uint64_t arena) {
    for (;;) {
      TensorMapDesc desc = tame_once(kind);
      uint64_t end = desc.global_address + 64;
      for (int i = 1; i < desc.rank; ++i)
        end += desc.global_dim[i] * desc.global_stride_bytes[i - 1];
      if (desc.rank == 1) end += desc.global_dim[0] * 8;
      if (end < arena && box_span_bytes(desc) <= 100 * 1024 && check(desc, 90).ok()) return desc;
    }
  }

 private:
  bool rarely() {
    return below(24) == 0;
  }

  TensorMapDesc tame_once(MapKind kind) {
    TensorMapDesc desc;
    desc.kind = kind;
    const bool tiled = kind == MapKind::tiled;
    desc.dtype = type(between(0, 12));
    const auto bytes = static_cast<uint32_t>(dtype_bytes(desc.dtype));
    desc.rank = static_cast<int32_t>(between(tiled ? 1 : 3, 5));
    desc.swizzle = static_cast<Swizzle>(below(4));
    desc.l2_promotion = static_cast<L2Promotion>(below(4));
    if (dtype_tensor_map_type(desc.dtype) >= 6) desc.oob_fill = static_cast<OobFill>(below(2));
    desc.global_address = 16 * below(64);
    uint64_t pitch = 0;
    for (int i = 0; i < desc.rank; ++i) {
      desc.global_dim[i] = static_cast<uint64_t>(between(1, i == 0 ? 200 : 24));
      pitch = i == 0 ? (desc.global_dim[0] * bytes + 15) / 16 * 16 : pitch * desc.global_dim[i];
      if (below(2) != 0) pitch += 16 * below(4);
      desc.global_stride_bytes[i] = pitch;
      desc.element_strides[i] = i > 0 && below(4) == 0 ? static_cast<uint32_t>(between(1, 8)) : 1;
      desc.box_dim[i] = tiled ? static_cast<uint32_t>(between(1, 20)) : 0;
    }
    const uint32_t span = swizzle_span(desc.swizzle);
    const auto chunks = static_cast<uint32_t>(between(1, span == 0 ? 12 : span / 16));
    if (tiled) {
      desc.box_dim[0] = chunks * 16 / bytes;
      return desc;
    }
    desc.channels_per_pixel = chunks * 16 / bytes;
    desc.pixels_per_column = static_cast<uint32_t>(between(1, 200));
    for (int i = 0; i < desc.rank - 2; ++i) {
      desc.lower_corner[i] = static_cast<int32_t>(between(-3, 3));
      desc.upper_corner[i] = static_cast<int32_t>(between(-3, 3));
    }
    return desc;
  }

  std::mt19937_64 random_;
};

}  // namespace tw::test
