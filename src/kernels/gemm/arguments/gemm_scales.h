// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales of A and B, which dequantise the elements of narrow types: what kernels of such types are
// launched with behind an epilogue's arguments.
//
//   v = alpha * sum over blocks of 128 of k (sA * sB * (sum of the block's A * B)) + beta * C +
//   bias
//
// A scale lies at `address + 4 * (line * line_step + block * block_step)`. A line is a row of A or
// a column of B, or with kScaleBlock 128 of those; a block is 128 of k. Scales for the whole
// operand and by lines do not depend on k and are applied once, to the finished sum. All are f32
// and are read when the kernel executes. Where a kernel sees the operands swapped, so are the
// scales.

#include "kernels/common/convert.h"
#include "kernels/gemm/arguments/gemm_full.h"
#include "kernels/narrow.h"

namespace tw {

/// Elements of k that have a scale in common.
inline constexpr i32 kScaleDepth = 128;

enum : unsigned char {
  kScaleNone = 0,
  kScaleOne = 1,    // one for the operand
  kScaleLine = 2,   // one a line
  kScaleDeep = 3,   // one a line and block of k
  kScaleBlock = 4,  // one for each 128 lines and block of k
};

/// Types of A, B and D: the formats of convert.h and these.
enum : unsigned char { kGemmI8 = kFormats, kGemmI32, kGemmTf32 };

struct GemmScale {
  u64 address;
  i64 line_step, block_step;  // elements; 0 where there is but one
  i64 batch_step;             // from one product's scales to the next one's
};

struct GemmScales {
  GemmScale a, b;
  // Scales of D, one for each 128 elements of its lines, written by the kernel: D / scale is
  // stored. Address 0: there are none.
  GemmScale d;
  unsigned char a_by, b_by;      // kScale
  unsigned char a_type, b_type;  // for kernels that serve several
  unsigned char d_type;          // of D and C
  unsigned char reserved[3];
};

static_assert(sizeof(GemmScales) == 104, "host and device must agree on the layout");

/// Arguments of the mma.sync kernels and host bodies of narrow types.
struct GemmScaledArgs {
  GemmEpilogueArgs full;
  GemmScales scales;
};

static_assert(sizeof(GemmScaledArgs) == 768, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmScaledArgs, scales) == 640, "as above");

/// Whether scales change along k, so that each block's sum is multiplied by its own.
TW_KERNEL_HD constexpr bool gemm_scales_along_k(const GemmScales& scales) {
  return scales.a_by >= kScaleDeep || scales.b_by >= kScaleDeep;
}

/// The scale of a line for a block of k.
TW_KERNEL_HD inline float gemm_scale(const GemmScale& scale, unsigned char by, i32 line, i32 block,
                                     i32 z) {
  if (by == kScaleNone) return 1.0f;
  const i64 at = (by == kScaleBlock ? line / kScaleDepth : line) * scale.line_step +
                 block * scale.block_step + z * scale.batch_step;
  return reinterpret_cast<const float*>(scale.address)[at];
}

/// The scale of elements of D whose largest finite magnitude is given: that becomes the type's
/// largest number. Of zeros alone it is 1, and never less than the smallest normal number, so that
/// its inverse, which elements are multiplied by, is finite. As the quantize family has it.
TW_KERNEL_HD inline float gemm_block_scale(float largest, float most) {
  if (largest == 0.0f) return 1.0f;
  const float scale = largest / most;
  return scale < 0x1p-126f ? 0x1p-126f : scale;
}
TW_KERNEL_HD inline float gemm_block_inverse(float scale) {
  return 1.0f / scale;
}
/// Whether a magnitude counts in that.
TW_KERNEL_HD inline u32 gemm_finite(float value) {
  const u32 magnitude = bits_of(value) & 0x7fffffffu;
  return magnitude < kInfinityF32 ? magnitude : 0;
}

}  // namespace tw
