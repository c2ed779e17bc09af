// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch arguments of the gemm family's epilogue kernels (kGemmEpilogue), whose names contain
// "full": the arguments of a basic kernel, then the options of an epilogue and of a batch. A kernel
// serves all options at run time.
//
//   v = alpha * A B + beta * C + bias             m x n, as C
//   D = act(v) * d_factor
//   D = act(gate element of v) * (value element of v) * d_factor      with a gate
//
// Tensor maps have three dimensions: the two of gemm.h, then the matrices of a batch. D is written
// by TMA if it suits a map and the kernel is neither split-K nor swap-AB. Stream-K kernels without
// swap-AB write D by TMA only if it also has 16 bits and the epilogue is at most alpha, a bias per
// element and relu. Otherwise D is written by plain stores of pairs, or of 16 bytes if D is aligned
// to 16 bytes.
//
// A line is a row of a row-major D or a column of a column-major D. C has the layout of D. Bias and
// d_factor vary along D's lines (one value per element of a line, the same in all lines) or across
// them (one value per line). With a gate, each element of D comes from two elements of v: the gate
// element and the value element. They are neighbors (interleaved gate) or `half` apart (gate of
// halves). TMA kernels take a gate along D's lines only. With a gate of halves, a tile loads half
// of its columns from each half of the operand.

#include "kernels/common/activation.h"
#include "kernels/gemm/arguments/gemm.h"

namespace tw {

/// Where bias and d_factor vary.
enum : unsigned char {
  kFullNone = 0,
  kFullSingle = 1,     // one value for all of D (d_factor only)
  kFullPerLine = 2,    // one value per line of D
  kFullPerElement = 3  // one value per element of a line
};

/// Type of the bias. kBiasAsInput: the type of A and B, but bf16 for narrow types (8 bits or tf32).
/// kBiasF16 is used for narrow types only.
enum : unsigned char { kBiasAsInput = 0, kBiasF32 = 1, kBiasF16 = 2 };

enum : unsigned char { kGateNone = 0, kGateHalves = 1, kGateInterleaved = 2 };

struct GemmEpilogueArgs {
  // plain_from, adds_to_d and more_chains are unused. Only stream-K kernels read `early`; the other
  // kernels have the kFullEarly bits of `flags`. units_m and units_n count the units of one matrix.
  GemmArgs base;
  u64 bias;
  u64 d_factor;  // f32; if 0 with kFullSingle, d_factor_value is used
  u64 amax;      // f32 that becomes the largest |D| (8-bit floats: before d_factor) if that is
                 // larger; 0: none
  // A batch given by addresses, in device memory: three maps (A, B, D) and four addresses (A, B, C,
  // D) for each matrix. 0: the maps of base and constant batch strides apply.
  u64 maps;
  u64 matrices;
  // Addresses of values that replace those of base; the kernel reads them when it starts. 0: none.
  u64 device_m;      // i64
  u64 device_alpha;  // f32
  u64 device_beta;   // f32
  i64 a_batch;       // elements between matrices of a batch, for accesses that use no map
  i64 b_batch;
  i64 c_batch;
  i64 d_batch;
  i32 batch;  // matrices
  i32 half;   // D's extent in the gated dimension
  float d_factor_value;
  u32 flags;  // kFull bits below
  unsigned char bias_by;
  unsigned char bias_type;  // kBiasAsInput and so on
  unsigned char d_factor_by;
  unsigned char activation;
  unsigned char gate;
  unsigned char gate_across;  // 1: the gate is across D's lines (mma.sync kernels only)
  unsigned char reserved[10];
};

static_assert(sizeof(GemmEpilogueArgs) == 640, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmEpilogueArgs, bias) == 512, "as above");
static_assert(__builtin_offsetof(GemmEpilogueArgs, batch) == 608, "as above");

/// Bits of GemmEpilogueArgs::flags. kFullNoEpilogue, kFullSimpleEpilogue and kFullAlignedC are set
/// only together with kFullTmaStores.
enum : u32 {
  kFullEarlyA = kGemmOperandA,  // operands that may be loaded before griddepcontrol.wait
  kFullEarlyB = kGemmOperandB,
  kFullEarly = kGemmOperandBoth,
  kFullSwapped = 4,          // operands are swapped: device_m replaces n
  kFullTmaStores = 8,        // D suits a map and may be written by TMA
  kFullNoEpilogue = 16,      // no C and no epilogue: D = alpha * A B
  kFullSimpleEpilogue = 32,  // at most bias, relu, d_factor, amax and a C of aligned pairs; no gate
  kFullAlignedC = 64,        // with kFullSimpleEpilogue: C is aligned to 16 bytes throughout
  kFullPairs = 128           // two tiles along m belong together: wgmma/narrow/narrow_blocks.cuh
};

/// Lines of D's TMA box: the rows of one warp among a warpgroup's 64 rows.
inline constexpr u32 kGemmStoreLines = 16;

/// Where successive elements of a line of D are in v: the line of v, the position of the first
/// element in this line, and the step from one element to the next.
struct FullPlace {
  i32 line, at, step;
};

/// The kind of gate, and whether it is across D's lines.
struct FullGate {
  unsigned char gate, across;
  i32 half;  // distance of the two elements with kGateHalves
};

/// The place in v that element `at` of line `line` of D comes from. With a gate, this is the place
/// of the value element if `second`, else of the gate element.
TW_KERNEL_HD constexpr FullPlace full_place(FullGate gated, i32 line, i32 at, bool second) {
  if (gated.gate == kGateNone) return {line, at, 1};
  const i32 more = second ? 1 : 0;
  if (gated.gate == kGateInterleaved)
    return gated.across ? FullPlace{2 * line + more, at, 1} : FullPlace{line, 2 * at + more, 2};
  return gated.across ? FullPlace{line + more * gated.half, at, 1}
                      : FullPlace{line, at + more * gated.half, 1};
}
TW_KERNEL_HD constexpr FullPlace full_place(const GemmEpilogueArgs& args, i32 line, i32 at,
                                            bool second) {
  return full_place(FullGate{args.gate, args.gate_across, args.half}, line, at, second);
}

/// The operand's row or column that line `line` of a tile of `lines` lines has. `first` is the
/// tile's first row or column of v. With kGateHalves, half of the tile comes from each half of the
/// operand.
TW_KERNEL_HD constexpr i32 full_line(const GemmEpilogueArgs& args, i32 first, i32 line, i32 lines) {
  if (args.gate != kGateHalves) return first + line;
  return first / 2 + (line < lines / 2 ? line : args.half + line - lines / 2);
}

}  // namespace tw
