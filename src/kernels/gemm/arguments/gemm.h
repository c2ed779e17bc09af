// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gemm family's launch arguments, the variant bits of its kernel entries, and the functions
// that kernels and plans share: shared-memory layout, TMA boxes and tile order.
//
// D (m x n) = alpha * A (m x k) B (k x n) + beta * C. D and C are row-major here: the plan swaps
// the operands for a column-major D. Strides and extents count elements.
//
// Swap-AB kernels (kGemmSwapAB) write D column-major. If the caller's D is row-major, the plan
// swaps the operands for them: the kernel's m is the caller's n, and the reverse. This suits a
// small m of the caller, because the weights get the 64-row side of wgmma and the few tokens its n
// side. If the caller's D is column-major, the plan does not swap, and these kernels suit a small
// n. In these launches d_stride_m and c_stride_m are the strides along the kernel's n, and
// plain_from counts along the kernel's m.
//
// Tensor maps of the TMA kernels. Boxes of A and B have 64 elements (128 bytes, 128-byte swizzle)
// along the contiguous dimension, see gemm_box_extent; boxes of D are slabs, see gemm_slab:
//   A row-major: dims {k, m}, else {m, k}
//   B row-major: dims {n, k}, else {k, n}
//   D: dims {n rounded down to 16 bytes, m}; swap-AB {m rounded down to 16 bytes, n}. A TMA store
//   can only end at a multiple of 16 bytes: plain stores write the rest, see plain_from

#include "kernels/arguments.h"

namespace tw {

struct GemmArgs {
  KernelMap map_a;
  KernelMap map_b;
  KernelMap map_d;
  u64 a;  // addresses, for accesses that use no map
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
  i32 units_m;  // work units along m and n: a unit is what one cluster computes at a time
  i32 units_n;
  i32 band;        // units along m in a band (gemm_unit), chosen for reuse in the L2 (gemm_band)
  i32 plain_from;  // first column of D that is written by plain stores; 0: all are, n: none is
  float alpha;
  float beta;  // 0: C is not read
  // Only host bodies read these: a kernel is compiled for its types and orders.
  unsigned char host_in;   // DType
  unsigned char host_out;  // DType
  unsigned char host_column_a;
  unsigned char host_column_b;
  u32 stage_bytes;            // bytes of A and B that one stage receives, see gemm_stage_bytes
  unsigned char adds_to_d;    // 1 if D is C and beta is 1: TMA reductions add to D, C is not read
  unsigned char more_chains;  // accumulation chains beyond the first: gemm_chain_count(k) - 1
  // kGemmOperand bits of the operands that may be loaded before griddepcontrol.wait, because no
  // predecessor grid writes them; 0 unless this is a dependent launch.
  unsigned short early;
};

static_assert(sizeof(GemmArgs) == 512, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmArgs, a) == 384, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmArgs, m) == 464, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmArgs, beta) == 496, "as above");

/// Number of accumulation chains that an f32 D is the sum of; each chain covers a range of k.
/// Tensor cores truncate every sum towards zero. With N(0, 1) inputs the error of one chain over
/// all of k, relative to the sum of magnitudes, is E = 0.73 * 2^-20 at k = 4096 and 1.3 * 2^-20 at
/// k = 16384 on an H200: it grows with sqrt(k). Each of c chains covers k / c, so its error is
/// E / sqrt(c) of its own magnitudes. These are 1 / c of all magnitudes, of which the error is then
/// E / (c sqrt(c)). The c errors have independent signs, so their sum is only sqrt(c) times as
/// large as one of them: E / c. One chain suffices for a k of up to `longest`. Since E / c grows
/// with sqrt(k) / c, c chains suffice for a k of up to c c `longest`. GemmArgs::more_chains limits
/// c to 256.
TW_KERNEL_HD constexpr i32 gemm_chain_count(i64 k, i64 longest = 4096) {
  i32 chains = 1;
  while (chains < 256 && chains * i64{chains} * longest < k) ++chains;
  return chains;
}

/// Bits that denote a set of operands, such as those that may be loaded early (GemmArgs::early).
enum : u32 { kGemmOperandA = 1, kGemmOperandB = 2, kGemmOperandBoth = 3 };

/// Bits of KernelEntry::variant in this family.
enum : u32 {
  kGemmColumnA = 1,   // A is column-major (contiguous along m)
  kGemmColumnB = 2,   // B is column-major (contiguous along k)
  kGemmNoMaps = 4,    // uses no maps, takes any pitch; with kGemmSplit see kGemmNoMapsSplitMinPitch
  kGemmPingpong = 8,  // consumer warpgroups alternate tiles: one writes, the other multiplies
  kGemmSplit = 16,    // split-K: a cluster of 2 to 8 CTAs divides k of each tile
  kGemmSwapAB = 32,   // swap-AB: D is written column-major, see the beginning of this file
  kGemmF16Accumulators = 64,  // accumulators in f16
  kGemmPrologue = 256,        // runs before a product and computes none, see gemm_pointers.h
  kGemmBatched = 512,  // batched kernel, with kGemmEpilogue: only alpha * A B, see gemm_batch.cuh
  kGemmStagingCopy = 1024,  // with kGemmPrologue: the staging copy, see gemm_realign.h
  kGemmShort = 2048,        // for few rows and a short k, contiguous in both operands; uses no maps
  kGemmStreamK = 4096,      // stream-K: units after the last complete wave are divided along k
  kGemmGrouped = 8192,      // grouped family: each group of rows has its own weight matrix
  kGemmNarrow = 16384,      // narrow types, with epilogues; launched with gemm_scales.h's arguments
  kGemmNoPromotion = 32768,  // narrow types: no promotion, wgmma accumulates all of k
  // Launched with gemm_full.h's arguments: epilogues (not all kernels have all gates), C and
  // batches, unless kGemmBatched restricts the kernel.
  kGemmEpilogue = 128
};

/// The schedules, by the names that kernel entries use. In names, "full" means an epilogue kernel,
/// except in "full barrier", and "scaled" means a kernel for narrow types.
inline constexpr u32 kSchedule_coop = 0;
inline constexpr u32 kSchedule_ping = kGemmPingpong;
inline constexpr u32 kSchedule_split = kGemmSplit;
inline constexpr u32 kSchedule_half = kGemmF16Accumulators;
inline constexpr u32 kSchedule_halfsplit = kGemmF16Accumulators | kGemmSplit;
inline constexpr u32 kSchedule_swap = kGemmSwapAB;
inline constexpr u32 kSchedule_swapsplit = kGemmSwapAB | kGemmSplit;
inline constexpr u32 kSchedule_stream = kGemmStreamK | kGemmSwapAB;
inline constexpr u32 kSchedule_rowstream = kGemmStreamK;
inline constexpr u32 kSchedule_fullstream = kSchedule_stream | kGemmEpilogue;
inline constexpr u32 kSchedule_grouped = kSchedule_fullstream | kGemmGrouped;
inline constexpr u32 kSchedule_scaledgrouped = kSchedule_grouped | kGemmNarrow;
inline constexpr u32 kSchedule_scaledstream = kSchedule_fullstream | kGemmNarrow;
inline constexpr u32 kSchedule_faststream = kSchedule_scaledstream | kGemmNoPromotion;
inline constexpr u32 kSchedule_scaledrowstream = kSchedule_scaledstream & ~u32{kGemmSwapAB};
inline constexpr u32 kSchedule_plainsplit = kGemmNoMaps | kGemmSwapAB | kGemmSplit;
inline constexpr u32 kSchedule_full = kGemmEpilogue;
inline constexpr u32 kSchedule_fullping = kGemmEpilogue | kGemmPingpong;
inline constexpr u32 kSchedule_batch = kGemmEpilogue | kGemmBatched;
inline constexpr u32 kSchedule_batchping = kGemmEpilogue | kGemmBatched | kGemmPingpong;
inline constexpr u32 kSchedule_fullsplit = kGemmEpilogue | kGemmSplit;
inline constexpr u32 kSchedule_fullswapsplit = kGemmEpilogue | kGemmSwapAB | kGemmSplit;
inline constexpr u32 kSchedule_scaledsplit = kSchedule_fullswapsplit | kGemmNarrow;
inline constexpr u32 kSchedule_fastsplit = kSchedule_scaledsplit | kGemmNoPromotion;

/// The properties of a wgmma kernel that its shared-memory layout depends on.
struct GemmTile {
  u32 m, n, k;
  u32 variant;
  u32 in_bytes, out_bytes;  // of an element
};

/// Tile widths of stream-K kernels: each run chooses one. wgmma_any_width has the same list in the
/// same order. All are multiples of kGemmWidthStep, half of the lines of a slab with swap-AB
/// (gemm_slab).
inline constexpr i32 kGemmWidths[] = {32,  48,  64,  80,  96,  112, 128, 144,
                                      160, 176, 192, 208, 224, 240, 256};
inline constexpr u32 kGemmWidthStep = 16;
inline constexpr i32 kGemmLeastWidth = kGemmWidths[0];  // device code cannot read the list
TW_KERNEL_HD constexpr i32 gemm_width(i32 index) {
  return kGemmLeastWidth + index * static_cast<i32>(kGemmWidthStep);
}
TW_KERNEL_HD constexpr i32 gemm_width_index(i32 width) {
  return (width - kGemmLeastWidth) / static_cast<i32>(kGemmWidthStep);
}
static_assert(kGemmWidths[gemm_width_index(256)] == 256 && gemm_width(14) == 256, "as listed");
/// Lines of D that a stream-K epilogue kernel stages in shared memory at a time: one StreamSumSlab
/// (stream_write.cuh), not a slab of gemm_slab(). With swap-AB the lines are columns of a tile,
/// else the rows of one warp.
inline constexpr u32 kGemmStreamSlabLines = 16;
/// Shared memory for a grouped kernel's table of groups, see kernels/grouped/grouped_wgmma.cuh.
inline constexpr u32 kGemmGroupTableBytes = 17600;

/// Bytes of D's largest element type, for kernels that take any type of D.
inline constexpr u32 kGemmAnyBytes = 4;
/// Shared memory for the scales of a narrow-type kernel, see wgmma/narrow/narrow_scales.cuh: four
/// bytes for each 128-byte line of the pipeline.
inline constexpr u32 kGemmScaleBytes = 6656;

/// A slab is a piece of a D tile that is staged in shared memory as one unit: `lines` lines of
/// `contiguous` elements. Most kernels store it with one TMA instruction. A line runs along D's
/// contiguous dimension: it is a row of a row-major D. A swizzled line has 128 bytes, in epilogue
/// kernels also 64. A line without swizzle is an odd multiple of eight columns, so that consecutive
/// lines start in different banks.
struct GemmSlab {
  u32 contiguous, lines;
  bool swizzled;
};

/// Whether each warp stages and stores its own 16 lines of a slab, as a slab of its own: see
/// epilogue/full_store.cuh.
TW_KERNEL_HD constexpr bool gemm_stages_by_warp(const GemmTile& tile) {
  return (tile.variant & kGemmEpilogue) != 0 && (tile.variant & (kGemmBatched | kGemmStreamK)) == 0;
}

TW_KERNEL_HD constexpr GemmSlab gemm_slab(const GemmTile& tile) {
  const u32 line = 128 / tile.out_bytes;
  // A stream-K tile has any width, so its slab is a piece of the tile: of few columns with swap-AB,
  // else one line wide (below).
  if (tile.variant & kGemmStreamK && tile.variant & (kGemmSwapAB | kGemmEpilogue))
    return {line, 2 * kGemmWidthStep, true};
  // With swap-AB a tile's columns are lines of D. A tile of more than 192 is written in slabs of a
  // quarter: if tile.n is 256, two slabs of 64 lines leave memory for five stages, two of 256 for
  // only four.
  if (tile.variant & kGemmSwapAB) return {line, tile.n > 192 ? tile.n / 4 : tile.n, true};
  if (tile.n % line == 0) return {line, 64, true};
  if (gemm_stages_by_warp(tile) && tile.n % (line / 2) == 0) return {line / 2, 64, true};
  u32 groups = tile.n / 8;
  while (groups % 2 == 0) groups /= 2;
  return {groups * 8, 64, false};
}

/// Columns of B that a stage holds: a row-major B arrives in boxes of 64 columns.
TW_KERNEL_HD constexpr u32 gemm_b_stage_columns(const GemmTile& tile) {
  return tile.variant & kGemmColumnB ? tile.n : (tile.n + 63) / 64 * 64;
}

/// Bytes of an epilogue kernel's table of bias and d_factor (epilogue/full_board.cuh): one float of
/// each per column of a tile, twice for ping-pong. Split-K and swap-AB kernels have no table.
TW_KERNEL_HD constexpr u32 gemm_table_bytes(const GemmTile& tile) {
  if (!gemm_stages_by_warp(tile) || (tile.variant & (kGemmSplit | kGemmSwapAB))) return 0;
  return tile.n * 8 * (tile.variant & kGemmPingpong ? 2 : 1);
}

/// Shared-memory layout of a wgmma kernel, in this order: `stages` times A and B, the slabs of D,
/// the barriers, the table.
struct GemmShared {
  u32 stages;
  u32 a_bytes;  // one stage
  u32 b_bytes;  // one stage
  u32 d_offset;
  u32 slab_bytes;     // a multiple of 1024 where slabs are swizzled
  u32 slabs;          // for each consumer warpgroup
  u32 receive_bytes;  // at d_offset, for split-K partial accumulators: gemm_split_receive_bytes
  u32 barriers;       // offset of full[stages], empty[stages], tile positions[stages] (not in
                      // epilogue kernels without stream-K), and the barrier of split-K partials
  u32 table_offset;   // of bias and d_factor, a grouped kernel's table, or a narrow type's scales
  u32 total;
};

inline constexpr u32 kGemmSharedLimit = 232448;  // bytes for one CTA on sm_90
inline constexpr u32 kGemmMaxStages = 16;
/// Bytes of the two barriers of a stage and, behind them, of the tile's position.
inline constexpr u32 kGemmStageBarrierBytes = 16, kGemmTilePositionBytes = 8;
/// Bytes of the barrier of split-K partials.
inline constexpr u32 kGemmPartialsBarrierBytes = 8;

/// Consumer warpgroups. Two split the tile's rows, or alternate whole tiles (ping-pong). A tile of
/// 64 rows has only one, because a wgmma has 64 rows.
TW_KERNEL_HD constexpr u32 gemm_consumers(u32 tile_m) {
  return tile_m == 64 ? 1 : 2;
}

/// Rows of a tile that one consumer warpgroup multiplies.
TW_KERNEL_HD constexpr u32 gemm_rows_per_warpgroup(const GemmTile& tile) {
  return tile.variant & kGemmPingpong ? tile.m : tile.m / gemm_consumers(tile.m);
}

/// Whether a kernel keeps the sum of earlier chains in registers: a thread has registers for two
/// sets of accumulators, and adds the chains up before it writes D. If neither this nor
/// gemm_parks_chains holds, the kernel writes the first chain to D and adds the others to it there.
TW_KERNEL_HD constexpr bool gemm_keeps_chains(u32 tile_m, u32 tile_n, u32 variant) {
  return !(variant & kGemmPingpong) && tile_m / 64 / gemm_consumers(tile_m) * tile_n / 2 <= 72;
}

/// Whether a thread has registers to park the upper 16 bits of each accumulator at the end of a
/// chain (gemm_park), two accumulators to a register. The exact remainder is the start value of the
/// next chain, and the parked bits are added again at that chain's end.
TW_KERNEL_HD constexpr bool gemm_parks_chains(u32 tile_m, u32 tile_n, u32 variant) {
  const u32 sharers = variant & kGemmPingpong ? 1 : gemm_consumers(tile_m);
  return !gemm_keeps_chains(tile_m, tile_n, variant) && tile_m / 64 / sharers * tile_n / 2 <= 128;
}

/// Slabs of D that a consumer warpgroup writes for one tile.
TW_KERNEL_HD constexpr u32 gemm_slabs_of_tile(const GemmTile& tile) {
  const GemmSlab slab = gemm_slab(tile);
  const u32 across = tile.variant & kGemmSwapAB ? 64 / slab.contiguous * (tile.n / slab.lines)
                                                : tile.n / slab.contiguous;
  return across * (gemm_rows_per_warpgroup(tile) / 64);
}

/// Whether a variant is that of a split-K kernel for narrow types.
TW_KERNEL_HD constexpr bool gemm_is_narrow_split(u32 variant) {
  return (variant & kGemmNarrow) != 0 && (variant & kGemmSplit) != 0;
}

/// Bytes of the memory in which a split-K CTA receives the partial accumulators of the others, so
/// that senders need not wait until its pipeline is drained. It is 0 for larger tiles, which
/// receive them in the pipeline's memory. Each group of eight columns is added up by one CTA.
TW_KERNEL_HD constexpr u32 gemm_split_receive_bytes(const GemmTile& tile) {
  const bool narrow = gemm_is_narrow_split(tile.variant);
  if (!(tile.variant & kGemmSplit) || (!narrow && (tile.variant & kGemmEpilogue))) return 0;
  if (tile.m > 64 || tile.n > (narrow ? 128 : 72)) return 0;
  u32 most = 0;
  for (u32 parts = 2; parts <= 8; ++parts) {
    const u32 cells = (tile.n / 8 + parts - 1) / parts * parts;
    if (cells > most) most = cells;
  }
  return (most * tile.m * 32 + 1023) / 1024 * 1024;
}

/// Bytes of a slab of accumulators of an epilogue kernel for narrow types (StreamSumSlab).
TW_KERNEL_HD constexpr u32 gemm_sum_slab_bytes(const GemmTile& tile) {
  return (gemm_rows_per_warpgroup(tile) + 4) * kGemmStreamSlabLines * 4;
}

/// The layout of split-K kernels for narrow types: the stages, the memory for partial accumulators
/// or for two slabs of accumulators (these are not needed at the same time), the barriers, and the
/// scales.
TW_KERNEL_HD constexpr GemmShared gemm_narrow_split_shared(const GemmTile& tile) {
  constexpr u32 kStageBarriers = kGemmStageBarrierBytes + kGemmTilePositionBytes;
  constexpr u32 kPartialsBarrier = 2 * kGemmPartialsBarrierBytes;  // padded for the scales
  const u32 consumers = gemm_consumers(tile.m);
  GemmShared shared{};
  shared.a_bytes = tile.m * tile.k * tile.in_bytes;
  shared.b_bytes = tile.n * tile.k * tile.in_bytes;
  shared.slabs = 2;
  shared.slab_bytes = gemm_sum_slab_bytes(tile);
  shared.receive_bytes = gemm_split_receive_bytes(tile);
  const u32 slab_bytes = consumers * shared.slabs * shared.slab_bytes;
  const u32 d_bytes = shared.receive_bytes > slab_bytes ? shared.receive_bytes : slab_bytes;
  const u32 stage = shared.a_bytes + shared.b_bytes;
  shared.stages =
      (kGemmSharedLimit - d_bytes - kPartialsBarrier - kGemmScaleBytes) / (stage + kStageBarriers);
  if (shared.stages > kGemmMaxStages) shared.stages = kGemmMaxStages;
  shared.d_offset = shared.stages * stage;
  shared.barriers = shared.d_offset + d_bytes;
  const u32 barriers_end =
      shared.barriers + shared.stages * kStageBarriers + kGemmPartialsBarrierBytes;
  shared.table_offset = (barriers_end + 15) / 16 * 16;
  shared.total = shared.table_offset + kGemmScaleBytes;
  return shared;
}

/// The shared-memory layout: kernels, plans and tests take it from here. First, each consumer
/// warpgroup gets memory for two slabs, or for one if that makes a fourth stage possible (kernels
/// that stage by warp want more, see below). Then there are as many stages as fit. The rest, less
/// than a stage, goes to more slabs, so that more of D leaves the registers before a consumer
/// warpgroup waits for TMA stores.
TW_KERNEL_HD constexpr GemmShared gemm_shared(const GemmTile& tile) {
  if (gemm_is_narrow_split(tile.variant)) return gemm_narrow_split_shared(tile);
  const GemmSlab slab = gemm_slab(tile);
  GemmShared shared{};
  shared.a_bytes = tile.m * tile.k * tile.in_bytes;
  shared.b_bytes = (gemm_b_stage_columns(tile) * tile.k * tile.in_bytes + 1023) / 1024 * 1024;
  shared.slab_bytes = (slab.contiguous * slab.lines * tile.out_bytes + 1023) / 1024 * 1024;
  const bool by_warp = gemm_stages_by_warp(tile);
  if (tile.variant & kGemmStreamK && tile.variant & kGemmEpilogue) {
    const u32 accumulators = gemm_sum_slab_bytes(tile);
    shared.slab_bytes = tile.variant & (kGemmGrouped | kGemmNarrow)
                            ? accumulators
                            : (accumulators + 1023) / 1024 * 1024;
    // Without swap-AB, the two slabs hold all of a warpgroup's rows of a 16-bit D, which the TMA
    // stores while the next tile is multiplied.
    if (!(tile.variant & kGemmSwapAB)) shared.slab_bytes = 64 * tile.n;
  }
  // Split-K CTAs reduce and write D in the memory of the pipeline.
  const bool stages_d = (tile.variant & kGemmSplit) == 0;
  // Bytes of one slab for each consumer warpgroup.
  const u32 slab_of_each_bytes = stages_d ? gemm_consumers(tile.m) * shared.slab_bytes : 0;
  // Each stage has two barriers and, except in epilogue kernels without stream-K, the tile's
  // position.
  const bool has_position = (tile.variant & (kGemmEpilogue | kGemmStreamK)) != kGemmEpilogue;
  const u32 barrier_bytes = kGemmStageBarrierBytes + (has_position ? kGemmTilePositionBytes : 0);
  const u32 last = stages_d ? 0 : kGemmPartialsBarrierBytes;
  const u32 limit = kGemmSharedLimit - last - gemm_table_bytes(tile);
  if (tile.variant & kGemmStreamK) {
    // Two slabs, the barriers of kGemmMaxStages stages and the table have fixed sizes; the pipeline
    // has the rest. The plan splits it into stages by the run's width.
    const u32 table = tile.variant & kGemmGrouped  ? kGemmGroupTableBytes
                      : tile.variant & kGemmNarrow ? kGemmScaleBytes
                                                   : 0;
    shared.slabs = 2;
    shared.d_offset =
        (kGemmSharedLimit - 2 * slab_of_each_bytes - kGemmMaxStages * barrier_bytes - table) /
        1024 * 1024;
    shared.stages = shared.d_offset / (shared.a_bytes + shared.b_bytes);
    shared.barriers = shared.d_offset + 2 * slab_of_each_bytes;
    shared.table_offset = shared.barriers + kGemmMaxStages * barrier_bytes;
    shared.total = shared.table_offset + table;
    return shared;
  }
  shared.receive_bytes = gemm_split_receive_bytes(tile);
  const u32 stage = shared.a_bytes + shared.b_bytes + barrier_bytes;
  // Kernels that stage by warp load C into their slabs before the main loop, so they want slabs for
  // a whole tile. They get only two if that makes a fourth stage possible. These counts of slabs
  // are those of one consumer warpgroup.
  const u32 tile_slabs = gemm_slabs_of_tile(tile);
  const u32 across = tile.n / slab.contiguous;
  const u32 preferred_slabs = across > 4 && across % 2 != 0 ? across
                              : tile_slabs < 2              ? 2
                              : tile_slabs < 4              ? tile_slabs
                                                            : 4;
  const u32 min_slabs = by_warp ? preferred_slabs : 2;
  const u32 fallback_slabs = by_warp ? 2 : 1;
  shared.slabs = min_slabs;
  shared.stages = (limit - shared.receive_bytes - min_slabs * slab_of_each_bytes) / stage;
  if (shared.stages < 4 && (limit - fallback_slabs * slab_of_each_bytes) / stage > shared.stages) {
    shared.slabs = fallback_slabs;
    shared.stages = (limit - fallback_slabs * slab_of_each_bytes) / stage;
  }
  const u32 max_slabs = by_warp ? shared.slabs : tile_slabs < 4 ? tile_slabs : 4;
  while (shared.slabs < max_slabs &&
         (limit - (shared.slabs + 1) * slab_of_each_bytes) / stage == shared.stages)
    ++shared.slabs;
  if (shared.stages > kGemmMaxStages) shared.stages = kGemmMaxStages;
  shared.d_offset = shared.stages * (shared.a_bytes + shared.b_bytes);
  shared.barriers = shared.d_offset + shared.receive_bytes + shared.slabs * slab_of_each_bytes;
  shared.table_offset = shared.barriers + shared.stages * barrier_bytes + last;
  shared.total = shared.table_offset + gemm_table_bytes(tile);
  return shared;
}

/// Extent of a TMA box along its second dimension; the first has 64 contiguous elements. `sharers`
/// CTAs of a cluster each load a part of an operand's tile and multicast it. `lines` is the tile's
/// m for A, gemm_b_stage_columns for B. If the operand is contiguous along k, the second dimension
/// is lines: each CTA loads one box with its share of them. Otherwise the 64 contiguous elements
/// are lines, and the second dimension is k: the CTAs divide the boxes among them, or the k of each
/// box if the number of boxes is no multiple of `sharers`.
TW_KERNEL_HD constexpr u32 gemm_box_extent(bool along_k, u32 lines, u32 tile_k, u32 sharers) {
  if (along_k) return lines / sharers;
  return lines / 64 % sharers == 0 ? tile_k : tile_k / sharers;
}

/// Boxes that one CTA loads for one k block of the operand; `lines` as for gemm_box_extent.
TW_KERNEL_HD constexpr u32 gemm_boxes_per_cta(bool along_k, u32 lines, u32 sharers) {
  if (along_k) return 1;
  return lines / 64 % sharers == 0 ? lines / 64 / sharers : lines / 64;
}

/// Bytes that the full barrier of a stage expects. `a_part` and `b_part` are the box extents of
/// gemm_box_extent. If an operand contiguous along k has fewer lines than the tile, the plan clips
/// its box to a multiple of 8 lines, because a box that exceeds the tensor loads slower.
TW_KERNEL_HD constexpr u32 gemm_stage_bytes(const GemmTile& tile, u32 a_part, u32 b_part,
                                            u32 sharers_a, u32 sharers_b) {
  const bool a_along_k = !(tile.variant & kGemmColumnA);
  const bool b_along_k = (tile.variant & kGemmColumnB) != 0;
  const u32 a = a_part * gemm_boxes_per_cta(a_along_k, tile.m, sharers_a) * sharers_a;
  const u32 b =
      b_part * gemm_boxes_per_cta(b_along_k, gemm_b_stage_columns(tile), sharers_b) * sharers_b;
  return (a + b) * 128;
}

/// The band, in units along m, that minimizes the L2 traffic of `at_once` concurrent units.
/// `square` is the band with which the concurrent units cover a square of D. If D has too few
/// columns for that, the concurrent units cover whole rows of units, whatever the band is. A tall D
/// of few columns then gets the band 1: units that share a row of A run at the same time on
/// neighboring SMs, and their loads merge before the L2. For example, 64 x 64 tiles take 15.9 us
/// for (m, n, k) = (2048, 256, 7168) to f32 with band 1, and 21.1 us if units along m come first.
/// Kernels with clusters do not need this: they multicast their loads.
TW_KERNEL_HD constexpr i32 gemm_band(i32 square, i32 units_m, i32 units_n, i32 at_once,
                                     bool cluster) {
  const i32 needed = (at_once + units_n - 1) / units_n;
  const bool few = units_n <= 4 || units_m <= needed;
  if (!cluster && needed > square && units_n < units_m && few) return 1;
  const i32 band = square > needed ? square : needed;
  return band < units_m ? band : units_m;
}

/// The tile scheduler: coordinates of unit `index`. Units are ordered in bands of args.band units
/// along m; within a band, units along m come first, then the next ones along n. `divide(a, b)`
/// computes the quotients.
template <class Sizes, class Divide>
TW_KERNEL_HD constexpr void gemm_unit(const Sizes& sizes, i32 index, i32* unit_m, i32* unit_n,
                                      Divide divide) {
  const i32 per_band = sizes.band * sizes.units_n;
  const i32 bands = divide(index, per_band);
  const i32 first = bands * sizes.band;
  const i32 rest = sizes.units_m - first;
  const i32 height = rest < sizes.band ? rest : sizes.band;
  const i32 inside = index - bands * per_band;
  const i32 across = divide(inside, height);
  *unit_m = first + inside - across * height;
  *unit_n = across;
}
template <class Sizes>
TW_KERNEL_HD constexpr void gemm_unit(const Sizes& sizes, i32 index, i32* unit_m, i32* unit_n) {
  gemm_unit(sizes, index, unit_m, unit_n, [](i32 a, i32 b) { return a / b; });
}

}  // namespace tw
