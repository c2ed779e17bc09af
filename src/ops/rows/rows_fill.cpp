// SPDX-License-Identifier: Apache-2.0
// The numbers that each method is launched with, and its grid.
#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "kernels/common/realign.h"
#include "kernels/rows/row_schedule.h"
#include "ops/rows/rows.hpp"

namespace tw {
namespace {

// What a thread of plain loads and stores moves at once.
constexpr uint32_t kPlainItemsOfThread = 4;
constexpr uint32_t kStepBlocks = 8;
constexpr uint64_t kFewLeastThreads = 128;
constexpr int64_t kSmallBytes = 8 << 20;
constexpr uint64_t kMostBlocks = INT32_MAX;  // of a grid
constexpr int64_t kMinPart = 512;            // bytes of the least part of a row

Divider divider(int64_t divisor) {
  return make_divider(static_cast<u32>(divisor));
}

}  // namespace

// What a sweep of rows of 64 bytes to 14 KB on an H200 found best, or within a percent of it:
// blocks of a few kilobytes, in the order of memory (tests/README.md).
RowsPlan::Tuning RowsPlan::make_tuning() const {
  const RowsDesc& d = problem_.desc;
  const int64_t row = problem_.inner_bytes;
  Tuning t;
  t.blocks = d.blocks == 0 ? 2 : d.blocks;
  if (d.max_sms != 0)
    t.warps = kRowsMaxRingWarps;  // one block an SM, which is all that runs
  else if (d.group > 1)
    t.stage_bytes = 8192, t.blocks = 1;  // parts that a group of leaves room for
  else if (problem_.is_sum())
    t.warp_items = 3;
  else if (d.reduction != kReduceNone)
    t.warps = 4, t.stage_bytes = 1024, t.warp_items = 4;
  else if (op() == Op::gather && row >= 128 && row < 256)
    t.warps = 8, t.stage_bytes = 1024, t.warp_items = 3;
  else if (op() == Op::scatter && row >= 128)
    t.stage_bytes = row >= 256 && row < 1024 ? 1024 : 2048, t.warp_items = 3;
  if (is_small()) t.plain_warps = 4;
  if (d.warps != 0) t.warps = t.plain_warps = std::min(d.warps, kRowsMaxRingWarps);
  t.plain_warps = std::min(t.plain_warps, kRowsLinearThreads / 32);
  if (d.stages != 0) t.stages = d.stages;
  if (d.stage_bytes != 0) t.stage_bytes = d.stage_bytes;
  if (d.warp_items != 0) t.warp_items = d.warp_items;
  return t;
}

bool RowsPlan::is_small() const {
  return problem_.desc.count < kSmallBytes / std::max<int64_t>(problem_.inner_bytes, 1);
}

uint32_t RowsPlan::most_stage_pieces() const {
  const int64_t part = std::clamp<int64_t>(problem_.inner_bytes, 16, kMinPart);
  const int64_t pieces =
      std::max({tuning_.stage_bytes / part, problem_.desc.group, int64_t{kFourRows}});
  return static_cast<uint32_t>(std::clamp<int64_t>(pieces, 1, kRowsMaxStagePieces));
}

// Where the packed operand's columns that the table has begin, and where they do in the table.
uint64_t RowsPlan::inner_packed(uint64_t packed) const {
  return packed + static_cast<uint64_t>(problem_.lead_bytes);
}

uint64_t RowsPlan::inner_table(uint64_t table) const {
  return table + static_cast<uint64_t>(problem_.column_bytes);
}

uint32_t RowsPlan::plain_unit(uint64_t table, uint64_t packed) const {
  uint32_t unit = std::min({alignment_of(inner_table(table)), alignment_of(inner_packed(packed)),
                            alignment_of(static_cast<uint64_t>(problem_.inner_bytes))});
  if (problem_.desc.table_rows > 1)
    unit = std::min(unit, alignment_of(static_cast<uint64_t>(problem_.table_pitch)));
  if (problem_.desc.count > 1)
    unit = std::min(unit, alignment_of(static_cast<uint64_t>(problem_.packed_pitch)));
  return unit;
}

// Of the packed operand, for arithmetic: 16 bytes, or one element. Sixteen bytes of f16 or bf16
// become 32 of an f32 table, which is added to in pieces of 16.
uint32_t RowsPlan::number_unit(uint64_t table, uint64_t packed) const {
  const RowsProblem& p = problem_;
  const auto element = static_cast<uint32_t>(p.packed_element_bytes);
  // What a run moves of a row: the columns that the table has.
  const auto moved = static_cast<uint64_t>(p.inner_bytes / p.element_bytes * element);
  uint32_t unit = std::min(
      {alignment_of(inner_table(table)), alignment_of(inner_packed(packed)), alignment_of(moved)});
  if (p.desc.table_rows > 1)
    unit = std::min(unit, alignment_of(static_cast<uint64_t>(p.table_pitch)));
  if (p.desc.count > 1) unit = std::min(unit, alignment_of(static_cast<uint64_t>(p.packed_pitch)));
  return unit == 16 ? 16 : element;
}

void RowsPlan::fill_bulk(uint32_t method, RowsArgs* args) const {
  const RowsDesc& d = problem_.desc;
  const int64_t row = problem_.inner_bytes;
  const int64_t group = d.group;
  const int64_t warps = int64_t{usable_sms(*device(), d.max_sms)} * tuning_.blocks * ring_.warps;
  const int64_t count = std::max<int64_t>(d.count, 1);
  // A row in even parts of which a stage holds a group; smaller ones where there would be fewer
  // than warps.
  int64_t part = std::min<int64_t>(row, ring_.stage_bytes / group / 16 * 16);
  while (method != kRowsStaged && part >= 1024 && count < ceil_div(warps, ceil_div(row, part)))
    part /= 2;
  const int64_t parts = ceil_div(row, round_up(part, 16));
  args->part_bytes = static_cast<u32>(round_up(ceil_div(row, parts), 16));
  args->parts = static_cast<u32>(ceil_div(row, args->part_bytes));
  args->last_bytes = static_cast<u32>(row - int64_t{args->parts - 1} * args->part_bytes);
  args->part_divider = divider(int64_t{args->parts} * group);
  args->group_divider = divider(group);
  args->unit_divider = divider(args->part_bytes / 16);
  // Whole groups of pieces; as many as fit, or as leave some for every warp.
  const int64_t fit = std::min<int64_t>(ring_.stage_bytes / args->part_bytes, ring_pieces_) / group;
  const int64_t items = count * args->parts;
  const int64_t fair = items >= warps * fit ? fit : ceil_div(items, warps);
  args->stage_pieces =
      static_cast<u32>(std::clamp<int64_t>(fair, 1, std::max<int64_t>(fit, 1)) * group);
  args->stage_bytes = ring_.stage_bytes;
  args->stages = ring_.stages;
  // Short blocks, in the order of memory; shorter ones where there are not enough for all warps.
  const int64_t all = ceil_div(count * args->parts * group, int64_t{args->stage_pieces});
  const int64_t turns = std::clamp<int64_t>(ceil_div(all, warps), 1, tuning_.warp_items);
  // A bounded grid takes turns over all of it.
  args->block_items = d.max_sms == 0 ? static_cast<u32>(turns) * ring_.warps : 0;
  args->dense = args->parts == 1 && problem_.packed_pitch == row;
}

void RowsPlan::fill_lanes(RowsArgs* args, uint32_t unit) const {
  args->unit_bytes = static_cast<unsigned short>(unit);
  args->row_units = args->row_bytes / unit;
  const uint64_t count = static_cast<uint64_t>(std::max<int64_t>(problem_.desc.count, 1));
  // Parts are counted in 31 bits where a row has several: then a whole block serves one.
  for (const u64 most : {u64{32}, u64{kRowsPlainThreads}}) {
    args->lanes = static_cast<u32>(std::bit_ceil(std::min<u64>(args->row_units, most)));
    args->parts = static_cast<u32>((args->row_units + args->lanes - 1) / args->lanes);
    if (args->parts == 1 || count < kDividerLimit / args->parts) break;
  }
  args->part_divider = make_divider(args->parts);
}

void RowsPlan::fill_plain(RowsArgs* args, uint32_t unit) const {
  args->unit_bytes = static_cast<unsigned short>(unit);
  args->row_units = args->row_bytes / unit;
  args->part_divider = make_divider(static_cast<u32>(args->row_units));
  // Units of one launch are counted in 31 bits; of 16 bytes each that is all that memories hold.
  const i64 most = static_cast<i64>(kDividerLimit / args->row_units);
  args->launch_rows =
      problem_.desc.launch_rows == 0 ? most : std::min<i64>(most, problem_.desc.launch_rows);
}

void RowsPlan::fill_shift(RowsArgs* args) const {
  args->lanes = 1;
  args->parts = static_cast<u32>(most_pieces(args->row_bytes));
  args->part_divider = make_divider(args->parts);
}

void RowsPlan::fill_sorted(RowsLaunch* launch) const {
  SortedArgs& sorted = launch->sorted;
  launch->bytes = sizeof sorted;
  const u64 units = sorted.rows.row_bytes / sorted.rows.unit_bytes;
  sorted.units = static_cast<u32>(units);
  sorted.lanes = static_cast<u32>(std::clamp<u64>(std::bit_ceil(units), 2, 32));
  // A block an item: a tile's rows, half a kilobyte of each.
  const auto lanes = int64_t{sorted.lanes};
  const int64_t turns =
      std::max<int64_t>(problem_.desc.stage_bytes / (lanes * sorted.rows.unit_bytes), 1);
  sorted.part_units =
      static_cast<u32>(std::min(turns, ceil_div(static_cast<int64_t>(units), lanes)) * lanes);
  sorted.parts =
      static_cast<u32>(ceil_div(static_cast<int64_t>(units), int64_t{sorted.part_units}));
  sorted.part_divider = make_divider(sorted.parts);
}

void RowsPlan::fill_few(RowsLaunch* launch) const {
  const RowsArgs args = launch->rows;
  launch->few = FewArgs{.table = args.table,
                        .index = args.index,
                        .packed = args.packed,
                        .table_rows = args.table_rows,
                        .table_pitch = args.table_pitch,
                        .packed_pitch = args.packed_pitch,
                        .row_units = static_cast<u32>(args.row_bytes / 16),
                        .index_bytes = args.index_bytes,
                        .count = static_cast<u64>(args.count)};
  launch->bytes = sizeof launch->few;
}

void RowsPlan::fill(uint32_t method, uint64_t table, uint64_t packed, RowsLaunch* launch) const {
  RowsArgs& args = launch->rows;
  args.parts = 1;
  switch (method) {
    case kRowsFour:
      return fill_four(table, launch);
    case kRowsBulk:
    case kRowsSum:
    case kRowsStaged:
    case kRowsBulkReduce:
      return fill_bulk(method, &args);
    case kRowsShift:
      return fill_shift(&args);
    case kRowsSumPlain:
      return fill_lanes(&args, number_unit(table, packed));
    case kRowsReduce:
      return fill_lanes(&args, static_cast<uint32_t>(problem_.element_bytes));
    case kRowsFew:
      return fill_few(launch);
    case kRowsSorted:
      args.unit_bytes = static_cast<unsigned short>(number_unit(table, packed));
      return fill_sorted(launch);
    default:
      return fill_plain(&args, plain_unit(table, packed));
  }
}

// Rows in even pieces: the largest, and of a few rows smaller ones, so that all SMs have some.
LaunchConfig RowsPlan::few_config(const FewArgs& few) const {
  const auto pieces = [&few](uint64_t threads) {
    return (few.row_units + threads * kRowsFewFlight - 1) / (threads * kRowsFewFlight);
  };
  const uint64_t sms = usable_sms(*device(), 0);
  uint64_t most = kRowsFewThreads;
  while (most > kFewLeastThreads && few.count * pieces(most) < sms) most /= 2;
  const uint64_t of_thread = pieces(most) * kRowsFewFlight;
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(few.count);
  config.grid[1] = static_cast<uint32_t>(pieces(most));
  config.block[0] =
      static_cast<uint32_t>(((few.row_units + of_thread - 1) / of_thread + 31) / 32 * 32);
  config.programmatic = true;  // it waits for the grid in front itself
  return config;
}

LaunchConfig RowsPlan::config(uint32_t method, const RowsLaunch& launch) const {
  if (method == kRowsFew) return few_config(launch.few);
  const RowsArgs& args = launch.rows;
  const RowsDesc& d = problem_.desc;
  const uint64_t sms = usable_sms(*device(), d.max_sms);
  const PreparedKernel& kernel = kernels_[method];
  const auto count = static_cast<uint64_t>(args.count);
  const bool ring = kernel.dynamic_smem_bytes != 0;
  uint32_t threads = ring ? ring_.warps * 32 : static_cast<uint32_t>(kernel.row->threads);
  if (method == kRowsPlain) threads = tuning_.plain_warps * 32;
  uint64_t items = count * args.parts;
  uint64_t of_block = 1;
  uint64_t room = sms;
  if (method == kRowsFour) {
    items = four_stages(args, args.count);
    room = sms * tuning_.blocks;
  } else if (ring) {
    items *= args.group;
    of_block = uint64_t{args.stage_pieces} * std::max(1u, args.block_items);
    room = kMostBlocks;
  } else if (method == kRowsSorted) {
    items = (count + kRowsSortTile - 1) / kRowsSortTile * launch.sorted.parts;
    of_block = std::max(1u, d.warp_items);
    room = kMostBlocks;
  } else if (method == kRowsPlain) {
    items = static_cast<uint64_t>(std::min<i64>(args.count, args.launch_rows)) * args.row_units;
    of_block = uint64_t{threads} * kRowsLinearFlight;
    room = kMostBlocks;
  } else {
    of_block = uint64_t{threads} / args.lanes * kPlainItemsOfThread;
    room = kMostBlocks;
  }
  if (d.max_sms != 0) room = d.max_sms;
  LaunchConfig config;
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<uint64_t>((items + of_block - 1) / of_block, 1, room));
  config.block[0] = threads;
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  return config;
}

LaunchConfig RowsPlan::step_config(uint32_t variant, uint64_t items, uint64_t of_block) const {
  const uint32_t max_sms = problem_.desc.max_sms;
  const uint64_t room = max_sms != 0 ? max_sms : uint64_t{usable_sms(*device(), 0)} * kStepBlocks;
  LaunchConfig config;
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<uint64_t>((items + of_block - 1) / of_block, 1, room));
  config.block[0] = static_cast<uint32_t>(kernels_[variant].row->threads);
  return config;
}

}  // namespace tw
