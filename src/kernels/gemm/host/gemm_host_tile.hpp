// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the gemm family's host bodies have in common: access to elements of any type, and to tiles
// in shared memory.

#include <algorithm>
#include <cstring>

#include "base/dtype.hpp"
#include "base/float_formats.hpp"
#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/gemm/host/gemm_host.hpp"

namespace tw::gemm_host {

inline float read_narrow(const uint8_t* from, DType type) {
  if (type == DType::F8E4M3) return decode(kFormatE4M3, *from);
  if (type == DType::F8E5M2) return decode(kFormatE5M2, *from);
  if (type == DType::I8) return static_cast<float>(static_cast<int8_t>(*from));
  float value;
  std::memcpy(&value, from, 4);
  return rounded_to_tf32(value);
}

inline float read_element(const uint8_t* from, DType type) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, from, 4);
    return value;
  }
  if (type != DType::BF16 && type != DType::F16) return read_narrow(from, type);
  uint16_t bits;
  std::memcpy(&bits, from, 2);
  return type == DType::BF16 ? bf16_to_float(bits) : f16_to_float(bits);
}

inline void write_element(uint8_t* to, DType type, float value) {
  if (type == DType::F32) {
    std::memcpy(to, &value, 4);
    return;
  }
  if (dtype_bytes(type) == 1) {
    const u32 format = type == DType::F8E4M3 ? kFormatE4M3 : kFormatE5M2;
    *to = static_cast<uint8_t>(type == DType::I8
                                   ? static_cast<u32>(rounded_to_i8(value))
                                   : encode(format, saturate(value, format_max(format))));
    return;
  }
  const uint16_t bits = type == DType::BF16 ? float_to_bf16(value) : float_to_f16(value);
  std::memcpy(to, &bits, 2);
}

inline const uint8_t* global(u64 address, i64 element, int32_t bytes) {
  return reinterpret_cast<const uint8_t*>(address) + element * bytes;
}

inline constexpr GemmShared kShared = gemm_shared({kHostTile, kHostTile, kHostTileK, 0, 2, 2});
inline constexpr uint32_t kSpan = 64 * 128;  // 64 lines of 128 bytes

struct Tile {
  alignas(64) float a[kHostTile][kHostTileK];
  alignas(64) float b[kHostTileK][kHostTile];
  alignas(64) float d[kHostTile][kHostTile];
};

// Offset of byte `byte` of line `line` in 128-byte-swizzled lines of 128 bytes: the 16-byte piece p
// of line l is at p ^ (l % 8).
inline uint32_t swizzled(uint32_t line, uint32_t byte) {
  return line * 128 + (((byte / 16) ^ (line % 8)) * 16) + byte % 16;
}

// How many lines of the tile that begins at `first` are inside of an extent.
inline uint32_t lines_inside(i32 extent, i32 first) {
  return static_cast<uint32_t>(std::clamp(extent - first, 0, i32{kHostTile}));
}

// Calls put(line, k, value) for the first `lines` rows of A or columns of B in a stage. along_k:
// the operand is contiguous along k, not along m or n.
template <class Put>
void unpack(const uint8_t* shared, bool along_k, DType type, uint32_t lines, Put put) {
  for (uint32_t line = 0; line < lines; ++line)
    for (uint32_t k = 0; k < kHostTileK; ++k) {
      const uint32_t at =
          along_k ? swizzled(line, k * 2) : line / 64 * kSpan + swizzled(k, line % 64 * 2);
      put(line, k, read_element(shared + at, type));
    }
}

inline void multiply(Tile& tile, uint32_t rows, uint32_t columns) {
  for (uint32_t m = 0; m < rows; ++m)
    for (int k = 0; k < kHostTileK; ++k) {
      const float a = tile.a[m][k];
      for (uint32_t n = 0; n < columns; ++n) tile.d[m][n] += a * tile.b[k][n];
    }
}

}  // namespace tw::gemm_host
