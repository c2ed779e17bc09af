// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the full rows of the gemm family are launched with: the plain rows' arguments and, behind
// them, an epilogue's options and a batch's, all of them run-time choices of one body.
//
//   v = alpha * A B + beta * C + bias          of m x n, as C is
//   D = act(v) * scale                         or, gated, act(v of the gate) * (v beside it) *
//   scale
//
// Maps have three dimensions: the two of gemm.h, then the matrices of a batch. D is written through
// a map where it suits one and the row has whole tiles to itself, else by plain stores, of pairs or
// of 16 bytes at once where it is aligned to that.
//
// D lies in lines, rows of a row-major D, columns of a column-major one; C lies as D does, bias and
// scale go along its lines or across them. Gated, each element of D comes from two columns of v:
// neighbours, or `half` apart. Through maps the gated dimension is the one along D's lines; a tile
// whose columns lie apart loads half of them from each half of the operand.

#include "kernels/common/activation.h"
#include "kernels/gemm/arguments/gemm.h"

namespace tw {

/// Where bias and scale vary.
enum : unsigned char {
  kFullNone = 0,
  kFullOne = 1,     // one for all (scale alone)
  kFullAcross = 2,  // one a line of D
  kFullAlong = 3    // one an element of a line
};

/// A bias in f16 behind operands of narrow types.
inline constexpr unsigned char kBiasF16 = 2;

enum : unsigned char { kGateNone = 0, kGateHalves = 1, kGateNeighbours = 2 };

struct GemmFullArgs {
  // plain_from, adds, more_chains and early are not used; units are those of one matrix.
  GemmArgs base;
  u64 bias;
  u64 scale;  // f32; 0 with kFullOne: scale_value counts
  u64 amax;   // f32 word that the bits of the largest |D| are raised to; 0: none
  // Of a batch whose matrices lie anywhere, in device memory: maps, three a matrix (A, B, D), and
  // addresses, four (A, B, C, D). 0: maps are those of base, addresses a constant distance apart.
  u64 maps;
  u64 matrices;
  // Read when the kernel begins, where they are not 0.
  u64 device_m;      // i64
  u64 device_alpha;  // f32
  u64 device_beta;   // f32
  i64 a_batch;       // elements between matrices of a batch, for what goes through no map
  i64 b_batch;
  i64 c_batch;
  i64 d_batch;
  i32 batch;  // matrices
  i32 half;   // D's extent in the gated dimension
  float scale_value;
  u32 flags;  // kFull bits below
  unsigned char bias_by;
  unsigned char bias_f32;  // 0: the type of A and B, of narrow types bf16; or kBiasF16
  unsigned char scale_by;
  unsigned char activation;
  unsigned char gate;
  unsigned char gate_across;  // 1: the gated dimension is that of D's lines, for plain rows
  unsigned char reserved[10];
};

static_assert(sizeof(GemmFullArgs) == 640, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmFullArgs, bias) == 512, "as above");
static_assert(__builtin_offsetof(GemmFullArgs, batch) == 608, "as above");

/// Bits of GemmFullArgs::flags: operands that may be loaded before griddepcontrol.wait; and that
/// device_m stands for n, where operands are swapped.
/// And that D suits a map and is written by the copy engine; then also that nothing but alpha is
/// asked for, or nothing but bias, relu, scale, amax and a C that lies in aligned pairs; and that C
/// lies in pieces of 16 bytes.
enum : u32 {
  kFullEarlyA = kGemmEarlyA,
  kFullEarlyB = kGemmEarlyB,
  kFullEarly = kGemmEarlyBoth,
  kFullRowsAreN = 4,
  kFullStores = 8,
  kFullAlphaAlone = 16,
  kFullShort = 32,
  kFullWideC = 64,
  kFullPairs = 128  // two tiles along m belong together, see wgmma/narrow/narrow_blocks.cuh
};

/// Lines of a box of D, which a warp writes: its share of 64.
inline constexpr u32 kGemmStoreLines = 16;

/// Where v's elements for one of D's are: line, place along it, and the step to the next.
struct FullPlace {
  i32 line, at, step;
};

/// Which of two dimensions is gated, and how.
struct FullGate {
  unsigned char gate, across;
  i32 half;  // distance of what is apart
};

/// `second`: not the gate's element but the one that it lets through.
TW_KERNEL_HD constexpr FullPlace full_place(FullGate gated, i32 line, i32 at, bool second) {
  if (gated.gate == kGateNone) return {line, at, 1};
  const i32 more = second ? 1 : 0;
  if (gated.gate == kGateNeighbours)
    return gated.across ? FullPlace{2 * line + more, at, 1} : FullPlace{line, 2 * at + more, 2};
  return gated.across ? FullPlace{line + more * gated.half, at, 1}
                      : FullPlace{line, at + more * gated.half, 1};
}
TW_KERNEL_HD constexpr FullPlace full_place(const GemmFullArgs& args, i32 line, i32 at,
                                            bool second) {
  return full_place(FullGate{args.gate, args.gate_across, args.half}, line, at, second);
}

/// First row or column of a gated operand that line `line` of a tile is, where the tile's first is
/// `first` and it has `lines`.
TW_KERNEL_HD constexpr i32 full_line(const GemmFullArgs& args, i32 first, i32 line, i32 lines) {
  if (args.gate != kGateHalves) return first + line;
  return first / 2 + (line < lines / 2 ? line : args.half + line - lines / 2);
}

}  // namespace tw
