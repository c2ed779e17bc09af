// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every row of the gemm family is launched with.
//
// D (m x n) = alpha * A (m x k) B (k x n) + beta * C. D and C are row-major here: a column-major D
// is planned with the operands swapped. Strides and extents count elements.
//
// Maps, for the rows that go through the TMA; boxes are 64 elements (128 bytes, 128-byte swizzle)
// along the contiguous dimension:
//   A row-major: dims {k, m}, box {64, rows of A that one load brings}; else dims {m, k}, box {64,
//   64} B row-major: dims {n, k}, box {64, 64}; else dims {k, n}, box {64, columns of B of one
//   load} D: dims {n rounded down to 16 bytes, m}, box {128 bytes, 64}

#include "kernels/arguments.h"

namespace tw {

struct GemmArgs {
  KernelMap map_a;
  KernelMap map_b;
  KernelMap map_d;
  u64 a;  // addresses, for what does not go through a map
  u64 b;
  u64 c;
  u64 d;
  i64 a_stride_m;
  i64 a_stride_k;
  i64 b_stride_k;
  i64 b_stride_n;
  i64 c_stride_m;
  i64 d_stride_m;
  i32 m;
  i32 n;
  i32 k;        // 0 where alpha is 0: neither A nor B is read
  i32 units_m;  // work units along m and n: a unit is what one cluster does at once
  i32 units_n;
  i32 band;        // units along m that are walked before the next along n: what stays in L2
  i32 plain_from;  // first column of D that is written by plain stores; 0: all, n: none
  float alpha;
  float beta;  // 0: C is not read
  // The host bodies serve every type and order; a kernel is compiled for its own.
  unsigned char host_in;   // DType
  unsigned char host_out;  // DType
  unsigned char host_column_a;
  unsigned char host_column_b;
  u32 reserved[2];
};

static_assert(sizeof(GemmArgs) == 512, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmArgs, a) == 384, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmArgs, m) == 464, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmArgs, beta) == 496, "as above");

/// Bits of KernelRow::variant in this family.
enum : u32 {
  kGemmColumnA = 1,      // the row wants A column-major (contiguous along m)
  kGemmColumnB = 2,      // the row wants B column-major (contiguous along k)
  kGemmPlain = 4,        // the row takes any strides and needs no maps
  kGemmPingpong = 8,     // whole tiles in turn: one warpgroup writes while the other multiplies
  kGemmSplit = 16,       // a cluster of 2 to 8 blocks shares each tile along k
  kGemmTransposed = 32,  // D is written column-major: planned with the operands swapped
  kGemmHalfSum = 64      // sums in f16
};

/// Shared memory of a wgmma row, in this order: `stages` times A and B, the staging of D, barriers.
struct GemmShared {
  u32 a_bytes;  // one stage
  u32 b_bytes;  // one stage
  u32 d_offset;
  u32 d_bytes;   // of each consumer warpgroup
  u32 barriers;  // offset: full[stages], then empty[stages]
  u32 total;
};

inline constexpr u32 kGemmChunkBytes = 64 * 128;  // 64 rows of D, 128 bytes of each
inline constexpr u32 kGemmChunks = 2;             // staging of a warpgroup: written and being read

/// Warpgroups that multiply: they split the tile's rows, or take whole tiles in turn (ping-pong).
TW_KERNEL_HD constexpr u32 gemm_consumers(u32 tile_m) {
  return tile_m == 64 ? 1 : 2;
}

/// The one place that knows the arrangement: the kernel, the plan and the tests read it.
TW_KERNEL_HD constexpr GemmShared gemm_shared(u32 tile_m, u32 tile_n, u32 tile_k, u32 stages,
                                              u32 element_bytes) {
  GemmShared shared{};
  shared.a_bytes = tile_m * tile_k * element_bytes;
  shared.b_bytes = tile_n * tile_k * element_bytes;
  shared.d_offset = stages * (shared.a_bytes + shared.b_bytes);
  shared.d_bytes = kGemmChunks * kGemmChunkBytes;
  shared.barriers = shared.d_offset + gemm_consumers(tile_m) * shared.d_bytes;
  shared.total = shared.barriers + stages * 2 * 8;
  return shared;
}

/// How `sharers` blocks of a cluster split the loading of an operand with `lines` rows (of A) or
/// columns (of B) in a tile: the extent of a box besides its 64 contiguous elements. Contiguous
/// along k, a box holds a block's share of the lines. Otherwise a box holds 64 lines, and blocks
/// share either those boxes or, where they are too few to be shared evenly, each one's k.
TW_KERNEL_HD constexpr u32 gemm_part(bool along_k, u32 lines, u32 tile_k, u32 sharers) {
  if (along_k) return lines / sharers;
  return lines / 64 % sharers == 0 ? tile_k : tile_k / sharers;
}

/// Boxes that one block sends for one k block of the operand.
TW_KERNEL_HD constexpr u32 gemm_boxes(bool along_k, u32 lines, u32 /*tile_k*/, u32 sharers) {
  if (along_k) return 1;
  return lines / 64 % sharers == 0 ? lines / 64 / sharers : lines / 64;
}

/// Unit `index` of the walk: bands of `band` units along m, each walked along n.
TW_KERNEL_HD constexpr void gemm_unit(const GemmArgs& args, i32 index, i32* unit_m, i32* unit_n) {
  const i32 per_band = args.band * args.units_n;
  const i32 first = index / per_band * args.band;
  const i32 rest = args.units_m - first;
  const i32 height = rest < args.band ? rest : args.band;
  const i32 inside = index % per_band;
  *unit_m = first + inside % height;
  *unit_n = inside / height;
}

}  // namespace tw
