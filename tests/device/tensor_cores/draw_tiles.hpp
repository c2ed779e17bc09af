// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random operands of dot products. They depend only on a form's name and a tile's number, so that
// recorded results need no recorded operands.

#include <cstdint>
#include <string>

namespace tw::test {

enum class DotType : uint8_t { f16, bf16, tf32, e4m3, e5m2, f32, s8, u8, s32 };

struct DotForm {
  const char* name;
  DotType d, a, b;
  uint32_t row_bytes;  // used bytes of A's rows and B's columns
};
inline constexpr DotForm kDotForms[] = {
#define TW_FORM(name, unit, shape, d, a, b) {#name, DotType::d, DotType::a, DotType::b, 32},
#define TW_HALF_FORM(name, unit, shape, d, a, b) {#name, DotType::d, DotType::a, DotType::b, 16},
#include "tests/device/tensor_cores/forms.inc"
};

inline constexpr uint32_t kTileRows = 64, kTileColumns = 8, kRowBytes = 32;
inline constexpr uint32_t kTiles = 200;  // per form: 102,400 dot products

/// Operands of a tile, in the layout of tensor_cores.cu.
struct DotTile {
  alignas(16) uint8_t a[kTileRows][kRowBytes];
  alignas(16) uint8_t b[kTileColumns][kRowBytes];
  alignas(16) uint8_t c[kTileRows * kTileColumns * 4];  // f16 uses the first half
};

uint32_t dot_bytes(DotType type);
/// Bytes of a tile's C or D.
inline uint32_t result_bytes(const DotForm& form) {
  return kTileRows * kTileColumns * dot_bytes(form.d);
}

void draw_tile(const DotForm& form, uint32_t number, DotTile* out);
/// Name of the distribution of a tile's operands.
const char* tile_kind(uint32_t number);

}  // namespace tw::test
