// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every row of the gemm family is launched with.
//
// D (m x n) = alpha * A (m x k) B (k x n) + beta * C. D and C are row-major here: a column-major D
// is planned with the operands swapped. Strides and extents count elements.
//
// Transposed rows serve a small m: they are planned with the operands swapped, so that the weights
// have the 64-row side of wgmma and the few tokens the other, and write D column-major, which is
// the caller's row-major. There d_stride_m and c_stride_m lie between neighbours along n, and
// plain_from counts along m.
//
// Maps, for the rows that go through the TMA. Boxes of A and B are 64 elements (128 bytes, 128-byte
// swizzle) along the contiguous dimension, see gemm_part; those of D are gemm_slab's:
//   A row-major: dims {k, m}, else {m, k}
//   B row-major: dims {n, k}, else {k, n}
//   D: dims {n rounded down to 16 bytes, m}; transposed {m rounded down to 16 bytes, n}

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
  u32 stage_bytes;            // of A and B together that land in one stage, see gemm_stage_bytes
  unsigned char adds;         // 1: D is C and beta is 1: the copy engine adds to D, nobody reads C
  unsigned char more_chains;  // of rows that make chains: gemm_chains(k) - 1
  unsigned short early;  // kGemmEarly bits: operands that are constant, in a programmatic launch
};

static_assert(sizeof(GemmArgs) == 512, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmArgs, a) == 384, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmArgs, m) == 464, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmArgs, beta) == 496, "as above");

/// Chains of products that an f32 sum over k is made of. The tensor cores cut what they add, always
/// towards zero: on an H200 one chain of N(0, 1) products drifts by 0.73 of 2^-20 of the sum of
/// magnitudes at k of 4096 and by 1.3 at 16384, as the square root of k; n chains by an nth of
/// that. As many as GemmArgs::more_chains can say.
TW_KERNEL_HD constexpr i32 gemm_chains(i64 k, i64 longest = 4096) {
  i32 chains = 1;
  while (chains < 256 && chains * i64{chains} * longest < k) ++chains;
  return chains;
}

/// Operands that may be loaded before griddepcontrol.wait.
enum : u32 { kGemmEarlyA = 1, kGemmEarlyB = 2, kGemmEarlyBoth = 3 };

/// Bits of KernelRow::variant in this family.
enum : u32 {
  kGemmColumnA = 1,      // the row wants A column-major (contiguous along m)
  kGemmColumnB = 2,      // the row wants B column-major (contiguous along k)
  kGemmPlain = 4,        // the row needs no maps and takes any pitch: of a split from 7 on
  kGemmPingpong = 8,     // whole tiles in turn: one warpgroup writes while the other multiplies
  kGemmSplit = 16,       // a cluster of 2 to 8 blocks shares each tile along k
  kGemmTransposed = 32,  // D is written column-major: planned with the operands swapped
  kGemmHalfSum = 64,     // sums in f16
  kGemmPrologue = 256,   // no product, but the kernel in front of one, see gemm_pointers.h
  kGemmAlone = 512,      // of the full rows' work alpha * A B alone, see gemm_batch.cuh
  kGemmRealigns = 1024,  // of those in front, what copies operands, see gemm_realign.h
  kGemmShort = 2048,     // a short k, contiguous in both operands: without maps, for few rows
  kGemmStreamK = 4096,   // units behind the last whole wave are shared along k, in a workspace
  kGemmGrouped = 8192,   // of the grouped family: groups of rows with a weight matrix each
  kGemmScaled = 16384,   // of narrow types: launched with gemm_scales.h's arguments, every epilogue
  kGemmFast = 32768,     // whose sums stay in the tensor cores, however long k is
  kGemmFull = 128        // every epilogue, batches: launched with gemm_full.h's arguments
};

/// The schedules as kernels.inc names them.
inline constexpr u32 kSchedule_coop = 0;
inline constexpr u32 kSchedule_ping = kGemmPingpong;
inline constexpr u32 kSchedule_split = kGemmSplit;
inline constexpr u32 kSchedule_half = kGemmHalfSum;
inline constexpr u32 kSchedule_halfsplit = kGemmHalfSum | kGemmSplit;
inline constexpr u32 kSchedule_swap = kGemmTransposed;
inline constexpr u32 kSchedule_swapsplit = kGemmTransposed | kGemmSplit;
inline constexpr u32 kSchedule_stream = kGemmStreamK | kGemmTransposed;
inline constexpr u32 kSchedule_fullstream = kSchedule_stream | kGemmFull;
inline constexpr u32 kSchedule_grouped = kSchedule_fullstream | kGemmGrouped;
inline constexpr u32 kSchedule_scaledgrouped = kSchedule_grouped | kGemmScaled;
inline constexpr u32 kSchedule_scaledstream = kSchedule_fullstream | kGemmScaled;
inline constexpr u32 kSchedule_faststream = kSchedule_scaledstream | kGemmFast;
inline constexpr u32 kSchedule_plainsplit = kGemmPlain | kGemmTransposed | kGemmSplit;
inline constexpr u32 kSchedule_full = kGemmFull;
inline constexpr u32 kSchedule_fullping = kGemmFull | kGemmPingpong;
inline constexpr u32 kSchedule_batch = kGemmFull | kGemmAlone;
inline constexpr u32 kSchedule_batchping = kGemmFull | kGemmAlone | kGemmPingpong;
inline constexpr u32 kSchedule_fullsplit = kGemmFull | kGemmSplit;
inline constexpr u32 kSchedule_fullswapsplit = kGemmFull | kGemmTransposed | kGemmSplit;

/// What a wgmma row's arrangement follows from.
struct GemmTile {
  u32 m, n, k;
  u32 variant;
  u32 in_bytes, out_bytes;  // of an element
};

/// Stream-K kernels multiply as many columns of a tile as a run asks for: one of these widths,
/// which wgmma_any_width has in the same order. All are multiples of the step, half the lines of a
/// slab.
inline constexpr i32 kGemmWidths[] = {32, 64, 96, 128, 144, 160, 176, 192, 208, 224, 240, 256};
inline constexpr u32 kGemmWidthStep = 16;
/// Columns that a stream-K kernel with an epilogue puts down at a time, as accumulators.
inline constexpr u32 kGemmFullLines = 16;
/// Shared memory of a grouped kernel for its table of groups, see
/// kernels/grouped/grouped_wgmma.cuh.
inline constexpr u32 kGemmGroupTableBytes = 17600;

/// Bytes that a type of D has at most.
inline constexpr u32 kGemmAnyBytes = 4;
/// And of a kernel of narrow types for the scales of its stages' lines, see
/// wgmma/narrow_scales.cuh: four bytes for each line of 128 in the ring.
inline constexpr u32 kGemmScaleBytes = 6656;

/// What one store of D takes from shared memory: `contiguous` elements along D's contiguous
/// dimension, `lines` of them. Swizzled, a line is 128 bytes, of full rows 64 too; otherwise it is
/// an odd number of eight columns, and lines that follow one another then start in different banks
/// by themselves.
struct GemmSlab {
  u32 contiguous, lines;
  bool swizzled;
};

/// Whether each warp has its share of a slab, 16 lines, to itself, see epilogue/full_store.cuh.
TW_KERNEL_HD constexpr bool gemm_stages_by_warp(const GemmTile& tile) {
  return (tile.variant & kGemmFull) != 0 && (tile.variant & (kGemmAlone | kGemmStreamK)) == 0;
}

TW_KERNEL_HD constexpr GemmSlab gemm_slab(const GemmTile& tile) {
  const u32 line = 128 / tile.out_bytes;
  if (tile.variant & kGemmStreamK) return {line, 2 * kGemmWidthStep, true};
  // Two slabs of a whole tile of 256 columns leave room for four stages, of a quarter for five.
  if (tile.variant & kGemmTransposed) return {line, tile.n > 192 ? tile.n / 4 : tile.n, true};
  if (tile.n % line == 0) return {line, 64, true};
  if (gemm_stages_by_warp(tile) && tile.n % (line / 2) == 0) return {line / 2, 64, true};
  u32 groups = tile.n / 8;
  while (groups % 2 == 0) groups /= 2;
  return {groups * 8, 64, false};
}

/// Columns of B that have room in a stage: contiguous along n they come in boxes of 64.
TW_KERNEL_HD constexpr u32 gemm_b_lines(const GemmTile& tile) {
  return tile.variant & kGemmColumnB ? tile.n : (tile.n + 63) / 64 * 64;
}

/// Bytes of the board of a full row: bias and scale along D's lines as floats, one a column, for
/// those that write a tile together (epilogue/full_board.cuh). Splits have none.
TW_KERNEL_HD constexpr u32 gemm_board_bytes(const GemmTile& tile) {
  if (!gemm_stages_by_warp(tile) || (tile.variant & (kGemmSplit | kGemmTransposed))) return 0;
  return tile.n * 8 * (tile.variant & kGemmPingpong ? 2 : 1);
}

/// Shared memory of a wgmma row, in this order: `stages` times A and B, the staging of D, barriers,
/// a full row's board.
struct GemmShared {
  u32 stages;
  u32 a_bytes;  // one stage
  u32 b_bytes;  // one stage
  u32 d_offset;
  u32 slab_bytes;  // a multiple of 1024, as swizzled slabs want it
  u32 slabs;       // of each consumer warpgroup
  u32 room;        // of a split for few tokens: where the parts of its sums arrive; at d_offset
  u32 barriers;    // offset: full[stages], empty[stages], then (not of full rows) where a tile is,
                   // then (of a split) the barrier of the parts
  u32 board;       // offset; of a grouped kernel that of its table, of narrow types of the scales
  u32 total;
};

inline constexpr u32 kGemmSharedLimit = 232448;  // what a block can have on sm_90
inline constexpr u32 kGemmMaxStages = 16;

/// Warpgroups that multiply: they split the tile's rows, or take whole tiles in turn (ping-pong).
TW_KERNEL_HD constexpr u32 gemm_consumers(u32 tile_m) {
  return tile_m == 64 ? 1 : 2;
}

/// Rows of a tile that one of them multiplies.
TW_KERNEL_HD constexpr u32 gemm_own_rows(const GemmTile& tile) {
  return tile.variant & kGemmPingpong ? tile.m : tile.m / gemm_consumers(tile.m);
}

/// Whether a thread has registers for the sums of two chains: it adds them up before D is written.
/// Elsewhere gemm_parks_chains, or each is written, and the next one added to it in memory.
TW_KERNEL_HD constexpr bool gemm_keeps_chains(u32 tile_m, u32 tile_n, u32 variant) {
  return !(variant & kGemmPingpong) && tile_m / 64 / gemm_consumers(tile_m) * tile_n / 2 <= 72;
}

/// Whether it has registers for the upper halves of a chain's sums: the lower ones are where the
/// next chain begins (gemm_park).
TW_KERNEL_HD constexpr bool gemm_parks_chains(u32 tile_m, u32 tile_n, u32 variant) {
  const u32 sharers = variant & kGemmPingpong ? 1 : gemm_consumers(tile_m);
  return !gemm_keeps_chains(tile_m, tile_n, variant) && tile_m / 64 / sharers * tile_n / 2 <= 128;
}

/// Slabs of D that a consumer warpgroup writes for one tile.
TW_KERNEL_HD constexpr u32 gemm_slabs_of_tile(const GemmTile& tile) {
  const GemmSlab slab = gemm_slab(tile);
  const u32 across = tile.variant & kGemmTransposed ? 64 / slab.contiguous * (tile.n / slab.lines)
                                                    : tile.n / slab.contiguous;
  return across * (gemm_own_rows(tile) / 64);
}

/// Bytes for the parts of a split's sums, which then need not wait until the ring is free: where
/// they are few. A group of eight columns goes to one block.
TW_KERNEL_HD constexpr u32 gemm_split_room(const GemmTile& tile) {
  if (!(tile.variant & kGemmSplit) || (tile.variant & kGemmFull)) return 0;
  if (tile.m > 64 || tile.n > 72) return 0;
  u32 most = 0;
  for (u32 parts = 2; parts <= 8; ++parts) {
    const u32 cells = (tile.n / 8 + parts - 1) / parts * parts;
    if (cells > most) most = cells;
  }
  return (most * tile.m * 32 + 1023) / 1024 * 1024;
}

/// The one place that knows the arrangement: the kernel, the plan and the tests read it. As many
/// stages as there is room for beside two slabs, or one where that makes a fourth; what is left is
/// for more slabs, so that more of D leaves the registers before it waits for the copy engine.
TW_KERNEL_HD constexpr GemmShared gemm_shared(const GemmTile& tile) {
  const GemmSlab slab = gemm_slab(tile);
  GemmShared shared{};
  shared.a_bytes = tile.m * tile.k * tile.in_bytes;
  shared.b_bytes = (gemm_b_lines(tile) * tile.k * tile.in_bytes + 1023) / 1024 * 1024;
  shared.slab_bytes = (slab.contiguous * slab.lines * tile.out_bytes + 1023) / 1024 * 1024;
  const bool by_warp = gemm_stages_by_warp(tile);
  if (tile.variant & kGemmStreamK && tile.variant & kGemmFull) {
    const u32 accumulators = (gemm_own_rows(tile) + 4) * kGemmFullLines * 4;
    shared.slab_bytes = tile.variant & (kGemmGrouped | kGemmScaled)
                            ? accumulators
                            : (accumulators + 1023) / 1024 * 1024;
  }
  // The blocks of a split sum from and write out of the ring.
  const bool stages_d = (tile.variant & kGemmSplit) == 0;
  const u32 one_each = stages_d ? gemm_consumers(tile.m) * shared.slab_bytes : 0;
  const u32 notes = (tile.variant & (kGemmFull | kGemmStreamK)) == kGemmFull ? 16 : 24;
  const u32 last = stages_d ? 0 : 8;  // the barrier of the parts
  const u32 limit = kGemmSharedLimit - last - gemm_board_bytes(tile);
  if (tile.variant & kGemmStreamK) {
    // What is left beside two slabs and the most barriers is the ring: a run's width decides how
    // many stages that is.
    const u32 table = tile.variant & kGemmGrouped  ? kGemmGroupTableBytes
                      : tile.variant & kGemmScaled ? kGemmScaleBytes
                                                   : 0;
    shared.slabs = 2;
    shared.d_offset =
        (kGemmSharedLimit - 2 * one_each - kGemmMaxStages * notes - table) / 1024 * 1024;
    shared.stages = shared.d_offset / (shared.a_bytes + shared.b_bytes);
    shared.barriers = shared.d_offset + 2 * one_each;
    shared.board = shared.barriers + kGemmMaxStages * notes;
    shared.total = shared.board + table;
    return shared;
  }
  shared.room = gemm_split_room(tile);
  const u32 stage = shared.a_bytes + shared.b_bytes + notes;
  // Warps that write for themselves have a tile's slabs, so that C has room for all of it; two
  // where a fourth stage is worth more.
  const u32 of_tile = gemm_slabs_of_tile(tile);
  const u32 across = tile.n / slab.contiguous;
  const u32 wanted = across > 4 && across % 2 != 0 ? across
                     : of_tile < 2                 ? 2
                     : of_tile < 4                 ? of_tile
                                                   : 4;
  const u32 least = by_warp ? wanted : 2;
  const u32 fewer = by_warp ? 2 : 1;
  shared.slabs = least;
  shared.stages = (limit - shared.room - least * one_each) / stage;
  if (shared.stages < 4 && (limit - fewer * one_each) / stage > shared.stages) {
    shared.slabs = fewer;
    shared.stages = (limit - fewer * one_each) / stage;
  }
  const u32 most = by_warp ? shared.slabs : of_tile < 4 ? of_tile : 4;
  while (shared.slabs < most && (limit - (shared.slabs + 1) * one_each) / stage == shared.stages)
    ++shared.slabs;
  if (shared.stages > kGemmMaxStages) shared.stages = kGemmMaxStages;
  shared.d_offset = shared.stages * (shared.a_bytes + shared.b_bytes);
  shared.barriers = shared.d_offset + shared.room + shared.slabs * one_each;
  shared.board = shared.barriers + shared.stages * notes + last;
  shared.total = shared.board + gemm_board_bytes(tile);
  return shared;
}

/// How `sharers` blocks of a cluster split the loading of an operand with `lines` rows (of A) or
/// columns (of B) in a tile: the extent of a box besides its 64 contiguous elements. Contiguous
/// along k, a box holds a block's share of the lines. Otherwise a box holds 64 lines, and blocks
/// share either those boxes or, where they are too few to be shared evenly, each one's k. `lines`
/// is the tile's m, or gemm_b_lines.
TW_KERNEL_HD constexpr u32 gemm_part(bool along_k, u32 lines, u32 tile_k, u32 sharers) {
  if (along_k) return lines / sharers;
  return lines / 64 % sharers == 0 ? tile_k : tile_k / sharers;
}

/// Boxes that one block sends for one k block of the operand; `lines` as for gemm_part.
TW_KERNEL_HD constexpr u32 gemm_boxes(bool along_k, u32 lines, u32 /*tile_k*/, u32 sharers) {
  if (along_k) return 1;
  return lines / 64 % sharers == 0 ? lines / 64 / sharers : lines / 64;
}

/// Bytes that land in one stage, which its full barrier waits for. `a_part` and `b_part` are
/// gemm_part's, or less along k where the operand has fewer lines than the tile: a box that hangs
/// over the edge loads slower, so the plan clips it to a multiple of 8 lines.
TW_KERNEL_HD constexpr u32 gemm_stage_bytes(const GemmTile& tile, u32 a_part, u32 b_part,
                                            u32 sharers_a, u32 sharers_b) {
  const bool a_along_k = !(tile.variant & kGemmColumnA);
  const bool b_along_k = (tile.variant & kGemmColumnB) != 0;
  const u32 a = a_part * gemm_boxes(a_along_k, tile.m, tile.k, sharers_a) * sharers_a;
  const u32 b = b_part * gemm_boxes(b_along_k, gemm_b_lines(tile), tile.k, sharers_b) * sharers_b;
  return (a + b) * 128;
}

/// The band for which `at_once` units, which work side by side, ask the L2 for the fewest lines of
/// operands: `square` units where those make a square of D. Where D has too few columns for that,
/// they are all of some rows whatever the band is. Where the columns are few, or those rows all of
/// D, and there are more rows than columns, units of one block are walked along n then, 1, so that
/// those that want the same A are next to each other: their loads meet on the way to the L2. 64 x
/// 64 takes 15.9 us for (2048, 256, 7168) to f32 that way, and 21.1 along m. A cluster shares its
/// loads by itself.
TW_KERNEL_HD constexpr i32 gemm_band(i32 square, i32 units_m, i32 units_n, i32 at_once,
                                     bool cluster) {
  const i32 needed = (at_once + units_n - 1) / units_n;
  const bool few = units_n <= 4 || units_m <= needed;
  if (!cluster && needed > square && units_n < units_m && few) return 1;
  const i32 band = square > needed ? square : needed;
  return band < units_m ? band : units_m;
}

/// Unit `index` of the walk that band, units_m and units_n of `args` describe: bands of `band`
/// units along m, each walked along n. `divide` is what a quotient is made with.
template <class Walk, class Divide>
TW_KERNEL_HD constexpr void gemm_unit(const Walk& args, i32 index, i32* unit_m, i32* unit_n,
                                      Divide divide) {
  const i32 per_band = args.band * args.units_n;
  const i32 bands = divide(index, per_band);
  const i32 first = bands * args.band;
  const i32 rest = args.units_m - first;
  const i32 height = rest < args.band ? rest : args.band;
  const i32 inside = index - bands * per_band;
  const i32 across = divide(inside, height);
  *unit_m = first + inside - across * height;
  *unit_n = across;
}
template <class Walk>
TW_KERNEL_HD constexpr void gemm_unit(const Walk& args, i32 index, i32* unit_m, i32* unit_n) {
  gemm_unit(args, index, unit_m, unit_n, [](i32 a, i32 b) { return a / b; });
}

}  // namespace tw
