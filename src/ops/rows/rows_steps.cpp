// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/rows_steps.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "ops/rows/rows_fill.hpp"

namespace tw::rows {
namespace {

constexpr uint64_t kRegionAlignment = 256;  // of the regions of a workspace

}  // namespace

Status prepare_steps(RowsSetup* setup) {
  TW_TRY(setup->prepare_variant(kRowsOutside, 0));
  if (setup->problem.margin_bytes(setup->op) != 0) TW_TRY(setup->prepare_variant(kRowsMargin, 0));
  if (setup->problem.flag(kRowsLastWins))
    for (const uint32_t step : {kRowsClear, kRowsMark}) TW_TRY(setup->prepare_variant(step, 0));
  if (setup->problem.ordered())
    for (const uint32_t step : {kRowsCount, kRowsScan, kRowsPlace, kRowsSegment, kRowsJoin})
      TW_TRY(setup->prepare_variant(step, 0));
  return {};
}

RowsWorkspace make_workspace(const RowsSetup& setup) {
  RowsWorkspace w;
  const auto count = static_cast<uint64_t>(setup.problem.desc.count);
  const auto rows = static_cast<uint64_t>(setup.problem.desc.table_rows);
  const auto take = [&](uint64_t bytes) {
    const uint64_t at = w.bytes;
    w.bytes = (at + bytes + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
    return at;
  };
  // A window entirely outside the table writes no row, whatever the indices.
  if (setup.empty() || setup.problem.moved_bytes == 0) return w;
  if (setup.problem.flag(kRowsLastWins)) take(rows * 4);
  if (!setup.problem.ordered()) return w;
  w.blocks = static_cast<uint32_t>((count + kSortBlockItems - 1) / kSortBlockItems);
  // Sort keys are 0 to table_rows; table_rows means no row.
  w.passes = static_cast<uint32_t>(std::bit_width(rows) + 7) / 8;
  w.passes = std::max(w.passes, 1u);
  w.segments = (count + kSegmentItems - 1) / kSegmentItems;
  w.order[0] = take(count * 4);
  w.order[1] = take(count * 4);
  w.digit_counts = take(uint64_t{w.blocks} * kSortDigits * 4);
  w.partials = take(w.segments * 2 * static_cast<uint64_t>(setup.problem.moved_columns) * 4);
  return w;
}

Status count_outside(const RowsSetup& setup, Stream& stream, const RowsRun& run,
                     const RowsArgs& args) {
  RowsLaunch step;
  step.outside = OutsideArgs{args, run.invalid_count};
  step.bytes = sizeof step.outside;
  const uint64_t indices = static_cast<uint64_t>(args.count) * args.group;
  return setup.launch(stream, kRowsOutside,
                      step_config(setup, kRowsOutside, indices, kRowsBlockThreads), step);
}

Status fill_margins(const RowsSetup& setup, Stream& stream, const RowsRun& run,
                    const RowsArgs& args) {
  RowsLaunch step;
  step.margin = MarginArgs{args, static_cast<u64>(setup.problem.lead_bytes),
                           static_cast<u64>(setup.problem.tail_bytes)};
  step.bytes = sizeof step.margin;
  RowsArgs& rows = step.margin.rows;
  rows.packed = run.packed;
  rows.row_bytes = static_cast<u64>(setup.problem.row_bytes);
  uint32_t unit = 16;
  for (const uint64_t value :
       {run.packed, static_cast<uint64_t>(setup.problem.packed_pitch), uint64_t{rows.row_bytes},
        static_cast<uint64_t>(setup.problem.lead_bytes),
        static_cast<uint64_t>(setup.problem.tail_bytes)})
    unit = std::min(unit, alignment_of(value));
  rows.unit_bytes = static_cast<unsigned short>(unit == 16 ? 16 : unit >= 4 ? 4 : 1);
  return setup.launch(
      stream, kRowsMargin,
      step_config(setup, kRowsMargin, static_cast<uint64_t>(args.count), kRowsBlockThreads / 32),
      step);
}

Status find_winners(const RowsSetup& setup, Stream& stream, const RowsArgs& args) {
  RowsLaunch step;
  step.rows = args;
  const auto indices = static_cast<uint64_t>(args.count);
  for (const uint32_t pass : {kRowsClear, kRowsMark})
    TW_TRY(setup.launch(stream, pass, step_config(setup, pass, indices, kRowsBlockThreads), step));
  return {};
}

Status add_in_order(const RowsSetup& setup, const RowsWorkspace& workspace, Stream& stream,
                    const RowsRun& run, const RowsArgs& args) {
  RowsLaunch step;
  OrderArgs& order = step.order;
  order = OrderArgs{};
  order.rows = args;
  order.rows.unit_bytes = static_cast<unsigned short>(setup.number_unit(run.table, run.packed));
  step.bytes = sizeof order;
  order.digit_counts = run.workspace + workspace.digit_counts;
  order.partials = run.workspace + workspace.partials;
  order.blocks = workspace.blocks;
  order.units = static_cast<u32>(args.row_bytes / order.rows.unit_bytes);
  const LaunchConfig blocks = step_config(setup, kRowsCount, workspace.blocks, 1);
  LaunchConfig one;
  one.block[0] = kRowsScanThreads;
  for (uint32_t pass = 0; pass < workspace.passes; ++pass) {
    order.shift = pass * 8;
    order.to = run.workspace + workspace.order[pass % 2];
    TW_TRY(setup.launch(stream, kRowsCount, blocks, step));
    TW_TRY(setup.launch(stream, kRowsScan, one, step));
    TW_TRY(setup.launch(stream, kRowsPlace, blocks, step));
    order.from = order.to;
  }
  for (const uint32_t pass : {kRowsSegment, kRowsJoin})
    TW_TRY(setup.launch(
        stream, pass, step_config(setup, pass, workspace.segments, kRowsBlockThreads / 32), step));
  return {};
}

}  // namespace tw::rows
