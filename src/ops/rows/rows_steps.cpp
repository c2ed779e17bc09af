// SPDX-License-Identifier: Apache-2.0
// Steps of a run beside the kernel that moves rows: the count of indices outside the table, zeros
// beside it, the last of equal indices, sums in order.
#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "ops/rows/rows.hpp"

namespace tw {
namespace {

constexpr uint64_t kPartAlignment = 256;  // of the workspace's parts

}  // namespace

Status RowsPlan::prepare_steps() {
  TW_TRY(prepare_variant(kRowsOutside, 0));
  if (problem_.margin_bytes(op()) != 0) TW_TRY(prepare_variant(kRowsMargin, 0));
  if (problem_.flag(kRowsLastWins))
    for (const uint32_t step : {kRowsClear, kRowsMark}) TW_TRY(prepare_variant(step, 0));
  if (problem_.ordered())
    for (const uint32_t step : {kRowsCount, kRowsScan, kRowsPlace, kRowsSegment, kRowsJoin})
      TW_TRY(prepare_variant(step, 0));
  return {};
}

RowsPlan::Workspace RowsPlan::make_workspace() const {
  Workspace w;
  const auto count = static_cast<uint64_t>(problem_.desc.count);
  const auto rows = static_cast<uint64_t>(problem_.desc.table_rows);
  const auto take = [&](uint64_t bytes) {
    const uint64_t at = w.bytes;
    w.bytes = (at + bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
    return at;
  };
  // Where the window lies beside the table no row is written, whatever the indices.
  if (empty() || problem_.inner_bytes == 0) return w;
  if (problem_.flag(kRowsLastWins)) take(rows * 4);
  if (!problem_.ordered()) return w;
  w.blocks = static_cast<uint32_t>((count + kSortBlockItems - 1) / kSortBlockItems);
  // Keys are 0 to table_rows, which stands for no row.
  w.passes = static_cast<uint32_t>(std::bit_width(rows) + 7) / 8;
  w.passes = std::max(w.passes, 1u);
  w.segments = (count + kSegmentItems - 1) / kSegmentItems;
  w.order[0] = take(count * 4);
  w.order[1] = take(count * 4);
  w.digits = take(uint64_t{w.blocks} * kSortDigits * 4);
  w.partials = take(w.segments * 2 * static_cast<uint64_t>(problem_.inner_columns) * 4);
  return w;
}

Status RowsPlan::count_outside(Stream& stream, const RowsRun& run, const RowsArgs& args) const {
  RowsLaunch step;
  step.outside = OutsideArgs{args, run.outside};
  step.bytes = sizeof step.outside;
  const uint64_t indices = static_cast<uint64_t>(args.count) * args.group;
  return launch(stream, kRowsOutside, step_config(kRowsOutside, indices, kRowsPlainThreads), step);
}

Status RowsPlan::fill_margins(Stream& stream, const RowsRun& run, const RowsArgs& args) const {
  RowsLaunch step;
  step.margin = MarginArgs{args, static_cast<u64>(problem_.lead_bytes),
                           static_cast<u64>(problem_.tail_bytes)};
  step.bytes = sizeof step.margin;
  RowsArgs& rows = step.margin.rows;
  rows.packed = run.packed;
  rows.row_bytes = static_cast<u64>(problem_.row_bytes);
  uint32_t unit = 16;
  for (const uint64_t value :
       {run.packed, static_cast<uint64_t>(problem_.packed_pitch), uint64_t{rows.row_bytes},
        static_cast<uint64_t>(problem_.lead_bytes), static_cast<uint64_t>(problem_.tail_bytes)})
    unit = std::min(unit, alignment_of(value));
  rows.unit_bytes = static_cast<unsigned short>(unit == 16 ? 16 : unit >= 4 ? 4 : 1);
  return launch(stream, kRowsMargin,
                step_config(kRowsMargin, static_cast<uint64_t>(args.count), kRowsPlainThreads / 32),
                step);
}

Status RowsPlan::find_winners(Stream& stream, const RowsArgs& args) const {
  RowsLaunch step;
  step.rows = args;
  const auto indices = static_cast<uint64_t>(args.count);
  for (const uint32_t pass : {kRowsClear, kRowsMark})
    TW_TRY(launch(stream, pass, step_config(pass, indices, kRowsPlainThreads), step));
  return {};
}

Status RowsPlan::add_in_order(Stream& stream, const RowsRun& run, const RowsArgs& args) const {
  RowsLaunch step;
  OrderArgs& order = step.order;
  order = OrderArgs{};
  order.rows = args;
  order.rows.unit_bytes = static_cast<unsigned short>(number_unit(run.table, run.packed));
  step.bytes = sizeof order;
  order.digits = run.workspace + workspace_.digits;
  order.partials = run.workspace + workspace_.partials;
  order.blocks = workspace_.blocks;
  order.units = static_cast<u32>(args.row_bytes / order.rows.unit_bytes);
  const LaunchConfig blocks = step_config(kRowsCount, workspace_.blocks, 1);
  LaunchConfig one;
  one.block[0] = kRowsScanThreads;
  for (uint32_t pass = 0; pass < workspace_.passes; ++pass) {
    order.shift = pass * 8;
    order.to = run.workspace + workspace_.order[pass % 2];
    TW_TRY(launch(stream, kRowsCount, blocks, step));
    TW_TRY(launch(stream, kRowsScan, one, step));
    TW_TRY(launch(stream, kRowsPlace, blocks, step));
    order.from = order.to;
  }
  for (const uint32_t pass : {kRowsSegment, kRowsJoin})
    TW_TRY(
        launch(stream, pass, step_config(pass, workspace_.segments, kRowsPlainThreads / 32), step));
  return {};
}

}  // namespace tw
