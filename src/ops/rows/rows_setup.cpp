// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/rows_setup.hpp"

#include <algorithm>

#include "kernels/rows/row_schedule.h"

namespace tw {
namespace {

constexpr int64_t kSmallBytes = 8 << 20;

}  // namespace

RowsSetup::RowsSetup(Device& run_device, Op operation, const RowsProblem& checked)
    : device(run_device), op(operation), problem(checked) {
  tuning = make_tuning();
  max_pieces = max_stage_pieces();
  pipeline = pipeline_size(device, tuning.warps, rows_note_bytes(max_pieces), tuning.stages,
                           tuning.stage_bytes, tuning.blocks);
}

// The best configurations, within 1 %, of a sweep over rows of 64 bytes to 14 KB on an H200: blocks
// that move a few kilobytes in memory order (tests/README.md).
RowsTuning RowsSetup::make_tuning() const {
  const RowsDesc& d = problem.desc;
  const int64_t row = problem.moved_bytes;
  RowsTuning t;
  t.blocks = d.blocks == 0 ? 2 : d.blocks;
  if (d.max_sms != 0)
    t.warps = kRowsMaxPipelineWarps;  // one block per SM, so it needs all warps
  else if (d.group > 1)
    t.stage_bytes = 8192, t.blocks = 1;  // larger parts, although a stage holds a whole group
  else if (problem.is_sum())
    t.warp_items = 3;
  else if (d.reduction != kReduceNone)
    t.warps = 4, t.stage_bytes = 1024, t.warp_items = 4;
  else if (op == Op::gather && row >= 128 && row < 256)
    t.warps = 8, t.stage_bytes = 1024, t.warp_items = 3;
  else if (op == Op::scatter && row >= 128)
    t.stage_bytes = row >= 256 && row < 1024 ? 1024 : 2048, t.warp_items = 3;
  if (is_small()) t.plain_warps = 4;
  if (d.warps != 0) t.warps = t.plain_warps = std::min(d.warps, kRowsMaxPipelineWarps);
  t.plain_warps = std::min(t.plain_warps, kRowsPlainThreads / 32);
  if (d.stages != 0) t.stages = d.stages;
  if (d.stage_bytes != 0) t.stage_bytes = d.stage_bytes;
  if (d.warp_items != 0) t.warp_items = d.warp_items;
  return t;
}

bool RowsSetup::is_small() const {
  return problem.desc.count < kSmallBytes / std::max<int64_t>(problem.moved_bytes, 1);
}

uint32_t RowsSetup::max_stage_pieces() const {
  const int64_t part = std::clamp<int64_t>(problem.moved_bytes, 16, rows::kMinPart);
  const int64_t pieces =
      std::max({tuning.stage_bytes / part, problem.desc.group, int64_t{kFourRows}});
  return static_cast<uint32_t>(std::clamp<int64_t>(pieces, 1, kRowsMaxStagePieces));
}

uint64_t RowsSetup::first_moved_in_packed(uint64_t packed) const {
  return packed + static_cast<uint64_t>(problem.lead_bytes);
}

uint64_t RowsSetup::first_moved_in_table(uint64_t table) const {
  return table + static_cast<uint64_t>(problem.column_bytes);
}

uint32_t RowsSetup::plain_unit(uint64_t table, uint64_t packed) const {
  uint32_t unit = std::min({alignment_of(first_moved_in_table(table)),
                            alignment_of(first_moved_in_packed(packed)),
                            alignment_of(static_cast<uint64_t>(problem.moved_bytes))});
  if (problem.desc.table_rows > 1)
    unit = std::min(unit, alignment_of(static_cast<uint64_t>(problem.table_pitch)));
  if (problem.desc.count > 1)
    unit = std::min(unit, alignment_of(static_cast<uint64_t>(problem.packed_pitch)));
  return unit;
}

// Unit of the packed operand for arithmetic: 16 bytes or one element. 16 bytes of f16 or bf16
// correspond to 32 bytes of an f32 table, to which the kernels add in 16-byte pieces.
uint32_t RowsSetup::number_unit(uint64_t table, uint64_t packed) const {
  const RowsProblem& p = problem;
  const auto element = static_cast<uint32_t>(p.packed_element_bytes);
  // A run moves only the columns inside the table.
  const auto moved = static_cast<uint64_t>(p.moved_bytes / p.element_bytes * element);
  uint32_t unit = std::min({alignment_of(first_moved_in_table(table)),
                            alignment_of(first_moved_in_packed(packed)), alignment_of(moved)});
  if (p.desc.table_rows > 1)
    unit = std::min(unit, alignment_of(static_cast<uint64_t>(p.table_pitch)));
  if (p.desc.count > 1) unit = std::min(unit, alignment_of(static_cast<uint64_t>(p.packed_pitch)));
  return unit == 16 ? 16 : element;
}

Status RowsSetup::prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes) {
  const KernelEntry* entry = find_entry(
      device, op, [&](const KernelEntry& candidate) { return candidate.variant == variant; });
  return prepare_entry(device, op, entry, dynamic_smem_bytes, &kernels[variant]);
}

Status RowsSetup::launch(Stream& stream, uint32_t variant, const LaunchConfig& config,
                         const RowsLaunch& launch) const {
  return stream.launch(*kernels[variant].kernel, config, &launch.rows, launch.bytes);
}

}  // namespace tw
