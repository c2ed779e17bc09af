// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands of dot products, drawn by a form's name and a tile's number alone: the same on every
// machine, so that recorded results need no recorded operands.

#include <cstdint>
#include <string>

namespace tw::test {

enum class DotType : uint8_t { f16, bf16, tf32, e4m3, e5m2, f32, s8, u8, s32 };

struct DotForm {
  const char* name;
  DotType d, a, b;
  uint32_t row_bytes;  // of A's rows and B's columns that count
};
inline constexpr DotForm kDotForms[] = {
#define TW_FORM(name, unit, shape, d, a, b) {#name, DotType::d, DotType::a, DotType::b, 32},
#define TW_HALF_FORM(name, unit, shape, d, a, b) {#name, DotType::d, DotType::a, DotType::b, 16},
#include "tests/device/tensor_cores/forms.inc"
};

inline constexpr uint32_t kTileRows = 64, kTileColumns = 8, kRowBytes = 32;
inline constexpr uint32_t kTiles = 200;  // of a form: 102,400 dot products

/// Operands as tensor_cores.cu has them.
struct DotTile {
  alignas(16) uint8_t a[kTileRows][kRowBytes];
  alignas(16) uint8_t b[kTileColumns][kRowBytes];
  alignas(16) uint8_t c[kTileRows * kTileColumns * 4];  // of f16 the first half counts
};

uint32_t dot_bytes(DotType type);
/// Bytes of C or D.
inline uint32_t result_bytes(const DotForm& form) {
  return kTileRows * kTileColumns * dot_bytes(form.d);
}

void draw_tile(const DotForm& form, uint32_t number, DotTile* out);
/// What the operands of a tile are like.
const char* tile_kind(uint32_t number);

}  // namespace tw::test
