// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantization and dequantization: kernel arguments and element arithmetic, shared by the kernels,
// the host bodies and the tests.
//
// Each region of the source has one scale = (largest finite magnitude) / (largest number of the
// narrow type). An element is rounded from x * (1 / scale). Every operation is a separate f32
// operation rounded to nearest, so that the device and the host write the same bits.

#include "kernels/common/convert.h"
#include "kernels/common/divide.h"
#include "kernels/narrow.h"

namespace tw {

/// KernelEntry::variant of this family. Bits 0 to 7: the body. Bits 8 to 15: elements per vector,
/// 16 bytes of the wide type; 0: element by element, any alignment.
enum : u32 {
  kQuantizeGroups = 1,      // one scale per 128 elements of a row
  kQuantizeRows = 2,        // one scale per row
  kQuantizeBlocks = 3,      // one scale per 128 rows x 128 columns
  kQuantizeAmax = 4,        // the largest magnitude that each block reads
  kQuantizeByOneScale = 5,  // by one scale for the matrix: a given one, or after kQuantizeAmax
  kQuantizeDequantize = 6,  // from 8 bits back to a wide type, by scales of any kind
  kQuantizeRegions = 7      // the first three bodies, element by element
};

/// A narrow type that convert.h does not have.
inline constexpr u32 kFormatI8 = kFormats;

/// Bits of QuantizeArgs::flags.
enum : u32 {
  kQuantizePowersOfTwo = 1,    // scales are rounded up to powers of two
  kQuantizeGiven = 2,          // kQuantizeByOneScale: the scale is given, not computed
  kQuantizeTileSpansRows = 4,  // the accesses of a warp's tile lie in several rows
  kQuantizeReverseTiles = 8,   // last tile first, because the L2 holds what was read last
  kQuantizeWarps = 16,         // kQuantizeRegions: warps process regions; if not set, blocks do
};

inline constexpr u32 kQuantizeGroup = 128;    // adjacent elements of a row with a common scale
inline constexpr u32 kQuantizeThreads = 256;  // per block
inline constexpr u32 kQuantizeWarpsPerBlock = kQuantizeThreads / 32;
inline constexpr u32 kQuantizeAccesses = 8;  // accesses of a warp's tile, all in flight at once
inline constexpr u32 kQuantizeMaxPartials = 1024;  // largest grid of kQuantizeAmax

/// Threads per block of kQuantizeBlocks, which holds 128 x 128 elements in registers.
TW_KERNEL_HD constexpr u32 quantize_block_threads(u32 vector) {
  return vector == 4 ? 512 : 256;
}

/// Addresses, pitches and steps are in bytes. The wide matrix is the source of quantization and the
/// destination of dequantization.
///
/// A warp's tile consists of kQuantizeAccesses accesses by all lanes, either along a row or, with
/// kQuantizeTileSpansRows, in consecutive rows. `src_step`, `dst_step` and `scale_step` lead from
/// one access to the next.
struct QuantizeArgs {
  u64 src;
  u64 dst;
  u64 scale;
  u64 amax;  // address of an f32, replaced if the largest finite magnitude is larger; 0: none
  u64 partial_amax;  // workspace: one f32 per block of kQuantizeAmax
  u64 src_policy;
  u64 dst_policy;
  i64 src_pitch;
  i64 dst_pitch;
  i64 scale_row;     // from one row of the scale matrix to the next; 0: it has one row
  i64 scale_column;  // from one column of the scale matrix to the next
  i64 src_step;
  i64 dst_step;
  i64 scale_step;
  Divider tiles_across;    // tiles per row of tiles
  Divider regions_across;  // regions per row of regions
  u32 rows;
  u32 columns;
  // Tiles of the matrix. A warp processes a tile at a time. In kQuantizeBlocks a block does, and a
  // tile has 128 x 128 elements.
  u32 tiles;
  u32 partial_count;    // number of f32 in partial_amax
  u32 scale_row_shift;  // row >> scale_row_shift is the row of the scale matrix
  u32 team_warps;       // kQuantizeRows: warps that share a row; 1, 2, 4 or 8
  // For the element-by-element kernels. A region is that of a scale in kQuantizeRegions, and 128
  // elements of a row in the others.
  u32 regions;
  u32 region_rows;
  u32 region_columns;
  u32 src_format;
  u32 dst_format;
  u32 flags;
  float limit;  // the largest number of the narrow type
  u32 reserved;
};
static_assert(sizeof(QuantizeArgs) == 192, "host and device must agree on the layout");
static_assert(__builtin_offsetof(QuantizeArgs, src_pitch) == 56, "as above");
static_assert(__builtin_offsetof(QuantizeArgs, rows) == 136, "as above");
static_assert(__builtin_offsetof(QuantizeArgs, limit) == 184, "as above");

TW_KERNEL_HD constexpr bool quantize_has(const QuantizeArgs& args, u32 flag) {
  return (args.flags & flag) != 0;
}

TW_KERNEL_HD constexpr u32 quantize_bytes(u32 format) {
  return format == kFormatI8 ? 1 : format_bytes(format);
}

/// The largest number of a narrow type. For i8 it is the largest number whose negative also exists.
TW_KERNEL_HD constexpr float quantize_max(u32 format) {
  return format == kFormatI8 ? 127.0f : format_max(format);
}

/// Infinity of a wide format as a magnitude, that is, as bits without the sign.
TW_KERNEL_HD constexpr u32 quantize_infinity(u32 format) {
  return format == kFormatF32 ? kInfinityF32 : format == kFormatBF16 ? 0x7f80u : 0x7c00u;
}
TW_KERNEL_HD constexpr u32 quantize_magnitude(u32 format, u32 bits) {
  return bits & (format == kFormatF32 ? 0x7fffffffu : 0x7fffu);
}
/// Returns the magnitude, or 0 for infinities and NaN, which do not affect the scale.
TW_KERNEL_HD constexpr u32 quantize_finite(u32 format, u32 bits) {
  const u32 magnitude = quantize_magnitude(format, bits);
  return magnitude < quantize_infinity(format) ? magnitude : 0;
}

// No compiler may contract two of these operations into one. The intrinsics prevent that on the
// device, and the option -ffp-contract=off (meson.build) on the host.
TW_KERNEL_HD inline float quantize_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
TW_KERNEL_HD inline float quantize_quotient(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}
TW_KERNEL_HD inline float quantize_inverse(float scale) {
#ifdef __CUDA_ARCH__
  return __frcp_rn(scale);
#else
  return 1.0f / scale;
#endif
}

inline constexpr float kQuantizeMinScale = 0x1p-126f;

/// Returns the scale of a region: 1 if all elements are zero, and at least the smallest normal
/// number, so that its inverse is finite.
TW_KERNEL_HD inline float quantize_scale(float amax, float max, bool powers_of_two) {
  if (amax == 0) return 1.0f;
  float scale = quantize_quotient(amax, max);
  if (scale < kQuantizeMinScale) scale = kQuantizeMinScale;
  const u32 bits = bits_of(scale);
  if (powers_of_two && (bits & 0x7fffffu) != 0) scale = float_of((bits & 0x7f800000u) + 0x800000u);
  return scale;
}

/// Rounds to nearest even and saturates to [-128, 127]. NaN becomes 0.
TW_KERNEL_HD inline u32 quantize_to_i8(float value) {
  float clamped = value > 127.0f ? 127.0f : value;
  clamped = clamped < -128.0f ? -128.0f : clamped;
  clamped = value == value ? clamped : 0.0f;
#ifdef __CUDA_ARCH__
  return bits_of(__fadd_rn(clamped, kRounder)) & 0xffu;
#else
  return bits_of(clamped + kRounder) & 0xffu;
#endif
}
TW_KERNEL_HD constexpr float quantize_from_i8(u32 bits) {
  return float_of(0x4b000000u | ((bits & 0xffu) ^ 0x80u)) - 0x1.0001p23f;
}

/// Converts one element from a wide format to a narrow one. dequantize_element() converts back.
TW_KERNEL_HD inline u32 quantize_element(u32 src_format, u32 dst_format, float inverse, u32 bits) {
  const float value = quantize_product(decode(src_format, bits), inverse);
  if (dst_format == kFormatI8) return quantize_to_i8(value);
  return encode(dst_format, saturate(value, format_max(dst_format)));
}
TW_KERNEL_HD inline u32 dequantize_element(u32 src_format, u32 dst_format, float scale, u32 bits) {
  const float value = src_format == kFormatI8 ? quantize_from_i8(bits) : decode(src_format, bits);
  return encode(dst_format, quantize_product(value, scale));
}

TW_KERNEL_HD constexpr u64 quantize_scale_address(const QuantizeArgs& args, u32 scale_row,
                                                  u32 scale_column) {
  return args.scale + static_cast<u64>(static_cast<i64>(scale_row) * args.scale_row +
                                       static_cast<i64>(scale_column) * args.scale_column);
}

struct QuantizeRegion {
  u32 region_row, region_column;  // position in the matrix of regions
  u32 first_row, end_row, first_column, end_column;
};
TW_KERNEL_HD constexpr u32 quantize_min(u32 a, u32 b) {
  return a < b ? a : b;
}
TW_KERNEL_HD constexpr QuantizeRegion quantize_region(const QuantizeArgs& args, u32 region) {
  QuantizeRegion r{};
  r.region_row = divide(region, args.regions_across);
  r.region_column = region - r.region_row * args.regions_across.divisor;
  r.first_row = r.region_row * args.region_rows;
  r.first_column = r.region_column * args.region_columns;
  r.end_row = quantize_min(r.first_row + args.region_rows, args.rows);
  r.end_column = quantize_min(r.first_column + args.region_columns, args.columns);
  return r;
}

}  // namespace tw
