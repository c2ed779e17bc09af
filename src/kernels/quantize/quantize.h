// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernels of the quantize family are launched with, for the device, the host bodies and
// the tests alike, and the arithmetic that all of them share.
//
// Of every region of the source that has a scale of its own: scale = largest finite magnitude /
// largest number of the narrow type, and an element is rounded from x * (1 / scale), each operation
// rounded to nearest in f32. So both devices write the same bits.

#include "kernels/common/convert.h"
#include "kernels/common/divide.h"

namespace tw {

/// Bits 0 to 7 of KernelRow::variant: what a kernel does. Bits 8 to 15: elements of a vector of 16
/// bytes of the wide type; 0: element by element, at any alignment.
enum : u32 {
  kQuantizeGroups = 1,      // a scale for each 128 elements of a row
  kQuantizeRows = 2,        // a scale for each row
  kQuantizeBlocks = 3,      // a scale for each 128 rows by 128 columns
  kQuantizeAmax = 4,        // the largest magnitude of what each block reads
  kQuantizeCast = 5,        // quantises by one scale, which is known
  kQuantizeDequantize = 6,  // the other way, by scales of any kind
  kQuantizeRegions = 7,     // the first three, element by element
  kQuantizeSteps = 8
};

/// Narrow types that are not of convert.h.
inline constexpr u32 kFormatI8 = kFormats;

/// Bits of QuantizeArgs::flags.
enum : u32 {
  kQuantizePowersOfTwo = 1,  // scales are rounded up to powers of two
  kQuantizeGiven = 2,        // kQuantizeCast: the scale is read, and not made of `parts`
  kQuantizeByColumns = 4,    // a warp's tile is groups of several rows, not several of one row
  kQuantizeBackwards = 8,    // the last tile first: the cache has what was read last
  kQuantizeWarps = 16,       // kQuantizeRegions: a region is a warp's, not a block's
};

inline constexpr u32 kQuantizeGroup = 128;    // elements along a row with a scale in common
inline constexpr u32 kQuantizeThreads = 256;  // of a block
inline constexpr u32 kQuantizeWarpsOfBlock = kQuantizeThreads / 32;
inline constexpr u32 kQuantizeFlight = 8;    // vectors of a thread at once, and of its tile
inline constexpr u32 kQuantizeParts = 1024;  // blocks of kQuantizeAmax at most

/// Threads of a block of kQuantizeBlocks, which holds 128 by 128 elements in registers.
TW_KERNEL_HD constexpr u32 quantize_block_threads(u32 vector) {
  return vector == 4 ? 512 : 256;
}

/// Addresses, pitches and steps are bytes. The wide matrix is the source of quantisation, the
/// destination of dequantisation.
///
/// A warp's tile is kQuantizeFlight accesses of all lanes: along a row, or with kQuantizeByColumns
/// down as many rows. The steps lead from one access to the next.
struct QuantizeArgs {
  u64 src;
  u64 dst;
  u64 scale;
  u64 amax;   // an f32 that is raised to the largest finite magnitude; 0: none
  u64 parts;  // f32 for each block of kQuantizeAmax, of the workspace
  u64 src_policy;
  u64 dst_policy;
  i64 src_pitch;
  i64 dst_pitch;
  i64 scale_row;     // between scales of neighbouring rows of the matrix of scales; 0: one row
  i64 scale_column;  // likewise of columns
  i64 src_step;
  i64 dst_step;
  i64 scale_step;
  Divider by_tiles;        // tiles beside each other
  Divider by_region_line;  // regions beside each other
  u32 rows;
  u32 columns;
  u32 tiles;  // of a warp; of kQuantizeBlocks 128 by 128, a block's
  u32 part_count;
  u32 scale_row_shift;  // row >> this is the row of the matrix of scales
  u32 team_warps;       // kQuantizeRows: warps that share a row, 1, 2, 4 or 8
  u32 regions;          // kQuantizeRegions and all that goes element by element
  u32 region_rows;
  u32 region_columns;
  u32 src_format;
  u32 dst_format;
  u32 flags;
  float limit;  // the largest number of the narrow type
  u32 reserved;
};
static_assert(sizeof(QuantizeArgs) == 192, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(QuantizeArgs, src_pitch) == 56, "as above");
static_assert(__builtin_offsetof(QuantizeArgs, rows) == 136, "as above");
static_assert(__builtin_offsetof(QuantizeArgs, limit) == 184, "as above");

TW_KERNEL_HD constexpr bool quantize_has(const QuantizeArgs& args, u32 flag) {
  return (args.flags & flag) != 0;
}

TW_KERNEL_HD constexpr u32 quantize_bytes(u32 format) {
  return format == kFormatI8 ? 1 : format_bytes(format);
}

/// The largest number of a narrow type; of i8 the largest that has its negative too.
TW_KERNEL_HD constexpr float quantize_max(u32 format) {
  return format == kFormatI8 ? 127.0f : format_max(format);
}

/// Infinity of a wide format as a magnitude: an element without its sign.
TW_KERNEL_HD constexpr u32 quantize_infinity(u32 format) {
  return format == kFormatF32 ? kInfinityF32 : format == kFormatBF16 ? 0x7f80u : 0x7c00u;
}
TW_KERNEL_HD constexpr u32 quantize_magnitude(u32 format, u32 bits) {
  return bits & (format == kFormatF32 ? 0x7fffffffu : 0x7fffu);
}
/// The magnitude where it is finite; infinities and NaN do not count in the largest.
TW_KERNEL_HD constexpr u32 quantize_finite(u32 format, u32 bits) {
  const u32 magnitude = quantize_magnitude(format, bits);
  return magnitude < quantize_infinity(format) ? magnitude : 0;
}

// Operations that no compiler fuses.
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

inline constexpr float kQuantizeLeast = 0x1p-126f;

/// The scale of a region: 1 where all is zero, never less than the smallest normal number, so that
/// its inverse is finite.
TW_KERNEL_HD inline float quantize_scale(float amax, float max, bool powers_of_two) {
  if (amax == 0) return 1.0f;
  float scale = quantize_quotient(amax, max);
  if (scale < kQuantizeLeast) scale = kQuantizeLeast;
  const u32 bits = bits_of(scale);
  if (powers_of_two && (bits & 0x7fffffu) != 0) scale = float_of((bits & 0x7f800000u) + 0x800000u);
  return scale;
}

/// To nearest even, -128 to 127; of NaN 0.
TW_KERNEL_HD inline u32 quantize_to_i8(float value) {
  // Adding it leaves a number below 2^22 rounded to an integer in the lowest bits.
  constexpr float kRounder = 0x1.8p23f;
  float held = value > 127.0f ? 127.0f : value;
  held = held < -128.0f ? -128.0f : held;
  held = value == value ? held : 0.0f;
#ifdef __CUDA_ARCH__
  return bits_of(__fadd_rn(held, kRounder)) & 0xffu;
#else
  return bits_of(held + kRounder) & 0xffu;
#endif
}
TW_KERNEL_HD constexpr float quantize_from_i8(u32 bits) {
  return float_of(0x4b000000u | ((bits & 0xffu) ^ 0x80u)) - 0x1.0001p23f;
}

/// An element's bits in a narrow format, and back in a wide one.
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

/// Rows and columns of a region of kQuantizeRegions.
struct QuantizeRegion {
  u32 line, place;  // in the matrix of scales
  u32 first_row, end_row, first_column, end_column;
};
TW_KERNEL_HD constexpr u32 quantize_least(u32 a, u32 b) {
  return a < b ? a : b;
}
TW_KERNEL_HD constexpr QuantizeRegion quantize_region(const QuantizeArgs& args, u32 region) {
  QuantizeRegion r{};
  r.line = divide(region, args.by_region_line);
  r.place = region - r.line * args.by_region_line.divisor;
  r.first_row = r.line * args.region_rows;
  r.first_column = r.place * args.region_columns;
  r.end_row = quantize_least(r.first_row + args.region_rows, args.rows);
  r.end_column = quantize_least(r.first_column + args.region_columns, args.columns);
  return r;
}

}  // namespace tw
