// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales that dequantize A and B of narrow types. In the arguments of kernels for these types, the
// scales follow the arguments of the epilogue.
//
//   v = alpha * sum over blocks of 128 of k (sA * sB * (sum of the block's A * B)) + beta * C +
//   bias
//
// A scale lies at `address + 4 * (line * line_step + block * block_step)`. A line is a row of A or
// a column of B, or 128 rows or columns with kScaleBlock. A block is 128 elements of k. Scales of a
// whole operand or of a line do not depend on k and are applied once, to the finished accumulators.
// All scales are f32 and are read when the kernel executes. With swap-AB, the scales of A and B are
// swapped too.

#include "kernels/common/convert.h"
#include "kernels/gemm/arguments/gemm_full.h"
#include "kernels/narrow.h"

namespace tw {

/// Elements of k that share a scale.
inline constexpr i32 kScaleDepth = 128;

enum : unsigned char {
  kScaleNone = 0,
  kScaleOne = 1,    // one for the operand
  kScaleLine = 2,   // one per line
  kScaleDeep = 3,   // one per line and block of k
  kScaleBlock = 4,  // one per 128 lines and block of k
};

/// Types of A, B and D beyond the formats of convert.h.
enum : unsigned char { kGemmI8 = kFormats, kGemmI32, kGemmTf32 };

struct GemmScale {
  u64 address;
  i64 line_step, block_step;  // elements; 0 if all lines or blocks share a scale
  i64 batch_step;             // elements from one product's scales to the next one's
};

struct GemmScales {
  GemmScale a, b;
  // Scales that the kernel writes, one per 128 elements along a line of D. It stores D / scale.
  // Address 0: D is not quantized.
  GemmScale d;
  unsigned char a_by, b_by;      // what has a scale of its own: kScaleNone to kScaleBlock
  unsigned char a_type, b_type;  // for kernels that serve several types
  unsigned char d_type;          // of D and C
  unsigned char reserved[3];
};

static_assert(sizeof(GemmScales) == 104, "host and device must agree on the layout");

/// Arguments of the mma.sync kernels and host bodies for narrow types ("scaled" in names).
struct GemmScaledArgs {
  GemmEpilogueArgs full;
  GemmScales scales;
};

static_assert(sizeof(GemmScaledArgs) == 768, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmScaledArgs, scales) == 640, "as above");

/// Whether scales change along k, so that they must be applied to the accumulators of each block.
TW_KERNEL_HD constexpr bool gemm_scales_along_k(const GemmScales& scales) {
  return scales.a_by >= kScaleDeep || scales.b_by >= kScaleDeep;
}

/// The scale of a line for a block of k in product z of the batch.
TW_KERNEL_HD inline float gemm_scale(const GemmScale& scale, unsigned char by, i32 line, i32 block,
                                     i32 z) {
  if (by == kScaleNone) return 1.0f;
  const i64 at = (by == kScaleBlock ? line / kScaleDepth : line) * scale.line_step +
                 block * scale.block_step + z * scale.batch_step;
  return reinterpret_cast<const float*>(scale.address)[at];
}

/// The scale of a block of D. It maps `largest`, the block's largest finite magnitude, to `most`,
/// the largest number of D's type. It is 1 for a block of zeros, and at least the smallest normal
/// number, so that its inverse is finite. The quantize family uses the same rule.
TW_KERNEL_HD inline float gemm_block_scale(float largest, float most) {
  if (largest == 0.0f) return 1.0f;
  const float scale = largest / most;
  return scale < 0x1p-126f ? 0x1p-126f : scale;
}
TW_KERNEL_HD inline float gemm_block_inverse(float scale) {
  return 1.0f / scale;
}
/// The bits of a magnitude for gemm_block_scale(), which ignores infinities and NaNs: 0 for those.
TW_KERNEL_HD inline u32 gemm_finite(float value) {
  const u32 magnitude = bits_of(value) & 0x7fffffffu;
  return magnitude < kInfinityF32 ? magnitude : 0;
}

}  // namespace tw
