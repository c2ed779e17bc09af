// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/rows_fill.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "kernels/common/realign.h"
#include "kernels/rows/row_schedule.h"
#include "ops/rows/rows_four.hpp"

namespace tw::rows {
namespace {

// Items per thread of the kernels that give a row RowsArgs::lanes threads.
constexpr uint32_t kLaneItemsPerThread = 4;
constexpr uint32_t kStepBlocks = 8;  // blocks per SM of a step before or after the main kernel
constexpr uint64_t kFewMinThreads = 128;
constexpr uint64_t kMostBlocks = INT32_MAX;  // per grid

Divider divider(int64_t divisor) {
  return make_divider(static_cast<u32>(divisor));
}

void fill_bulk(const RowsSetup& setup, uint32_t method, RowsArgs* args) {
  const RowsDesc& d = setup.problem.desc;
  const int64_t row = setup.problem.moved_bytes;
  const int64_t group = d.group;
  const int64_t warps =
      int64_t{usable_sms(setup.device, d.max_sms)} * setup.tuning.blocks * setup.pipeline.warps;
  const int64_t count = std::max<int64_t>(d.count, 1);
  // Cuts a row into equal parts such that a stage holds a group of them. The parts are smaller if
  // there would be fewer parts than warps.
  int64_t part = std::min<int64_t>(row, setup.pipeline.stage_bytes / group / 16 * 16);
  while (method != kRowsStaged && part >= 2 * kMinPart &&
         count < ceil_div(warps, ceil_div(row, part)))
    part /= 2;
  const int64_t parts = ceil_div(row, round_up(part, 16));
  args->part_bytes = static_cast<u32>(round_up(ceil_div(row, parts), 16));
  args->parts = static_cast<u32>(ceil_div(row, args->part_bytes));
  args->last_bytes = static_cast<u32>(row - int64_t{args->parts - 1} * args->part_bytes);
  args->part_divider = divider(int64_t{args->parts} * group);
  args->group_divider = divider(group);
  args->unit_divider = divider(args->part_bytes / 16);
  // A stage holds whole groups of pieces: as many as fit, or fewer, so that every warp gets some.
  const int64_t fit =
      std::min<int64_t>(setup.pipeline.stage_bytes / args->part_bytes, setup.max_pieces) / group;
  const int64_t items = count * args->parts;
  const int64_t fair = items >= warps * fit ? fit : ceil_div(items, warps);
  args->stage_pieces =
      static_cast<u32>(std::clamp<int64_t>(fair, 1, std::max<int64_t>(fit, 1)) * group);
  args->stage_bytes = setup.pipeline.stage_bytes;
  args->stages = setup.pipeline.stages;
  // Short-lived blocks use memory in order. They end even earlier if there is not enough work for
  // all warps.
  const int64_t all = ceil_div(count * args->parts * group, int64_t{args->stage_pieces});
  const int64_t warp_items = std::clamp<int64_t>(ceil_div(all, warps), 1, setup.tuning.warp_items);
  // If the grid is limited, blocks take stages in turn.
  args->block_items = d.max_sms == 0 ? static_cast<u32>(warp_items) * setup.pipeline.warps : 0;
  args->dense = args->parts == 1 && setup.problem.packed_pitch == row;
}

void fill_lanes(const RowsSetup& setup, RowsArgs* args, uint32_t unit) {
  args->unit_bytes = static_cast<unsigned short>(unit);
  args->row_units = args->row_bytes / unit;
  const uint64_t count = static_cast<uint64_t>(std::max<int64_t>(setup.problem.desc.count, 1));
  // A whole block serves a row if 32 lanes would lead to kDividerLimit items.
  for (const u64 maximum : {u64{32}, u64{kRowsBlockThreads}}) {
    args->lanes = static_cast<u32>(std::bit_ceil(std::min<u64>(args->row_units, maximum)));
    args->parts = static_cast<u32>((args->row_units + args->lanes - 1) / args->lanes);
    if (args->parts == 1 || count < kDividerLimit / args->parts) break;
  }
  args->part_divider = make_divider(args->parts);
}

void fill_plain(const RowsSetup& setup, RowsArgs* args, uint32_t unit) {
  args->unit_bytes = static_cast<unsigned short>(unit);
  args->row_units = args->row_bytes / unit;
  args->part_divider = make_divider(static_cast<u32>(args->row_units));
  // A launch is limited to kDividerLimit units.
  const i64 maximum = static_cast<i64>(kDividerLimit / args->row_units);
  args->launch_rows = setup.problem.desc.launch_rows == 0
                          ? maximum
                          : std::min<i64>(maximum, setup.problem.desc.launch_rows);
}

void fill_shift(RowsArgs* args) {
  args->lanes = 1;
  args->parts = static_cast<u32>(most_pieces(args->row_bytes));
  args->part_divider = make_divider(args->parts);
}

void fill_sorted(const RowsSetup& setup, RowsLaunch* launch) {
  SortedArgs& sorted = launch->sorted;
  launch->bytes = sizeof sorted;
  const u64 units = sorted.rows.row_bytes / sorted.rows.unit_bytes;
  sorted.units = static_cast<u32>(units);
  sorted.lanes = static_cast<u32>(std::clamp<u64>(std::bit_ceil(units), 2, 32));
  // A block has one item: the rows of a tile, and of each row 512 bytes (32 lanes x 16 bytes), or
  // more if the description's stage_bytes asks for that.
  const auto lanes = int64_t{sorted.lanes};
  const int64_t lane_units =
      std::max<int64_t>(setup.problem.desc.stage_bytes / (lanes * sorted.rows.unit_bytes), 1);
  sorted.part_units =
      static_cast<u32>(std::min(lane_units, ceil_div(static_cast<int64_t>(units), lanes)) * lanes);
  sorted.parts =
      static_cast<u32>(ceil_div(static_cast<int64_t>(units), int64_t{sorted.part_units}));
  sorted.part_divider = make_divider(sorted.parts);
}

void fill_few(RowsLaunch* launch) {
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

// Cuts rows into equal pieces. With few rows the pieces are smaller, so that all SMs get some.
LaunchConfig few_config(const RowsSetup& setup, const FewArgs& few) {
  const auto pieces = [&few](uint64_t threads) {
    return (few.row_units + threads * kRowsFewFlight - 1) / (threads * kRowsFewFlight);
  };
  const uint64_t sms = usable_sms(setup.device, 0);
  uint64_t block_threads = kRowsFewThreads;
  while (block_threads > kFewMinThreads && few.count * pieces(block_threads) < sms)
    block_threads /= 2;
  const uint64_t per_thread = pieces(block_threads) * kRowsFewFlight;
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(few.count);
  config.grid[1] = static_cast<uint32_t>(pieces(block_threads));
  config.block[0] =
      static_cast<uint32_t>(((few.row_units + per_thread - 1) / per_thread + 31) / 32 * 32);
  config.programmatic = true;  // the kernel waits for the predecessor grid itself
  return config;
}

}  // namespace

void fill(const RowsSetup& setup, uint32_t method, uint64_t table, uint64_t packed,
          RowsLaunch* launch) {
  RowsArgs& args = launch->rows;
  args.parts = 1;
  switch (method) {
    case kRowsFour:
      return fill_four(setup, table, launch);
    case kRowsBulk:
    case kRowsSum:
    case kRowsStaged:
    case kRowsBulkReduce:
      return fill_bulk(setup, method, &args);
    case kRowsShift:
      return fill_shift(&args);
    case kRowsSumPlain:
      return fill_lanes(setup, &args, setup.number_unit(table, packed));
    case kRowsReduce:
      return fill_lanes(setup, &args, static_cast<uint32_t>(setup.problem.element_bytes));
    case kRowsFew:
      return fill_few(launch);
    case kRowsSorted:
      args.unit_bytes = static_cast<unsigned short>(setup.number_unit(table, packed));
      return fill_sorted(setup, launch);
    default:
      return fill_plain(setup, &args, setup.plain_unit(table, packed));
  }
}

LaunchConfig config(const RowsSetup& setup, uint32_t method, const RowsLaunch& launch) {
  if (method == kRowsFew) return few_config(setup, launch.few);
  const RowsArgs& args = launch.rows;
  const RowsDesc& d = setup.problem.desc;
  const uint64_t sms = usable_sms(setup.device, d.max_sms);
  const PreparedKernel& kernel = setup.kernels[method];
  const auto count = static_cast<uint64_t>(args.count);
  const bool pipeline = kernel.dynamic_smem_bytes != 0;
  uint32_t threads =
      pipeline ? setup.pipeline.warps * 32 : static_cast<uint32_t>(kernel.entry->threads);
  if (method == kRowsPlain) threads = setup.tuning.plain_warps * 32;
  uint64_t items = count * args.parts;
  uint64_t per_block = 1;
  uint64_t max_grid = sms;
  if (method == kRowsFour) {
    items = four_stages(args, args.count);
    max_grid = sms * setup.tuning.blocks;
  } else if (pipeline) {
    items *= args.group;
    per_block = uint64_t{args.stage_pieces} * std::max(1u, args.block_items);
    max_grid = kMostBlocks;
  } else if (method == kRowsSorted) {
    items = (count + kRowsSortTile - 1) / kRowsSortTile * launch.sorted.parts;
    per_block = std::max(1u, d.warp_items);
    max_grid = kMostBlocks;
  } else if (method == kRowsPlain) {
    items = static_cast<uint64_t>(std::min<i64>(args.count, args.launch_rows)) * args.row_units;
    per_block = uint64_t{threads} * kRowsPlainFlight;
    max_grid = kMostBlocks;
  } else {
    per_block = uint64_t{threads} / args.lanes * kLaneItemsPerThread;
    max_grid = kMostBlocks;
  }
  if (d.max_sms != 0) max_grid = d.max_sms;
  LaunchConfig config;
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<uint64_t>((items + per_block - 1) / per_block, 1, max_grid));
  config.block[0] = threads;
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  return config;
}

LaunchConfig step_config(const RowsSetup& setup, uint32_t variant, uint64_t items,
                         uint64_t per_block) {
  const uint32_t max_sms = setup.problem.desc.max_sms;
  const uint64_t max_grid =
      max_sms != 0 ? max_sms : uint64_t{usable_sms(setup.device, 0)} * kStepBlocks;
  LaunchConfig config;
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<uint64_t>((items + per_block - 1) / per_block, 1, max_grid));
  config.block[0] = static_cast<uint32_t>(setup.kernels[variant].entry->threads);
  return config;
}

}  // namespace tw::rows
