// SPDX-License-Identifier: Apache-2.0
// What a plan of rows will do, in numbers and in words.
#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "kernels/rows/row_schedule.h"
#include "ops/common/explain_line.hpp"
#include "ops/rows/rows.hpp"

namespace tw {
namespace {

constexpr uint64_t kPromise = 16;  // what lets a run take the best method

const char* method_name(uint32_t method) {
  switch (method) {
    case kRowsFour:
      return "four rows an instruction";
    case kRowsBulk:
    case kRowsSum:
      return "bulk copies through shared memory";
    case kRowsBulkReduce:
      return "bulk reductions out of shared memory";
    case kRowsStaged:
      return "threads on the table's side and bulk copies on the other";
    case kRowsFew:
      return "few long rows, two units of 16 bytes a thread, launched ahead";
    case kRowsShift:
      return "realigned 16-byte pieces";
    case kRowsSorted:
      return "sums of equal rows of a tile, a reduction each";
    case kRowsReduce:
      return "a reduction an element";
    default:
      return "plain loads and stores";
  }
}

}  // namespace

PlanInfo RowsPlan::info() const {
  const RowsDesc& d = problem_.desc;
  PlanInfo info;
  info.op = op();
  info.workspace_bytes = workspace_.bytes;
  const uint64_t table = promised_address(d.table_alignment);
  const uint64_t packed = promised_address(d.packed_alignment);
  const uint32_t method = problem_.ordered() ? kRowsSegment : choose(table, packed);
  if (method != 0) info.kernel = kernels_[method].row->symbol;
  if (empty() || method == 0 || problem_.inner_bytes == 0) return info;
  RowsLaunch launch;
  const RowsArgs all = run_args({.table = table, .packed = packed}, d.count);
  launch.rows = all;
  LaunchConfig config;
  if (method == kRowsSegment) {
    config = step_config(method, workspace_.segments, kRowsPlainThreads / 32);
  } else {
    fill(method, table, packed, &launch);
    config = this->config(method, launch);
  }
  // Few rows have arguments of their own.
  const RowsArgs& args = method == kRowsFew ? all : launch.rows;
  const auto element = static_cast<uint32_t>(problem_.element_bytes);
  const auto columns = static_cast<uint32_t>(std::min<int64_t>(problem_.inner_columns, INT32_MAX));
  switch (method) {
    case kRowsFour: {
      const uint64_t stages = four_stages(args, d.count);
      // Groups of whole stages, and of the last one.
      const uint64_t whole = static_cast<uint64_t>(d.count) / args.stage_pieces;
      const uint64_t rest = static_cast<uint64_t>(d.count) % args.stage_pieces;
      const uint64_t groups =
          (whole * (args.stage_pieces / kFourRows) + (rest + kFourRows - 1) / kFourRows) *
          args.parts;
      const uint64_t packed_boxes =
          args.dense ? stages : static_cast<uint64_t>(d.count) * args.parts;
      info.boxes_loaded = op() == Op::gather ? groups : packed_boxes;
      info.boxes_stored = op() == Op::gather ? packed_boxes : groups;
      info.tile[0] = args.stage_pieces;
      info.tile[1] = args.part_bytes / element;
      info.stages = args.stages;
      break;
    }
    case kRowsBulk:
    case kRowsSum:
    case kRowsStaged:
    case kRowsBulkReduce: {
      const uint64_t pieces = static_cast<uint64_t>(d.count) * args.parts * args.group;
      const uint64_t stored = pieces / args.group;
      const uint64_t items = (pieces + args.stage_pieces - 1) / args.stage_pieces;
      const bool gather = op() == Op::gather;
      const bool staged = method == kRowsStaged;  // threads move the table's side
      info.boxes_loaded = gather ? (staged ? 0 : pieces) : args.dense ? items : pieces;
      info.boxes_stored = !gather ? (staged ? 0 : stored) : args.dense ? items : stored;
      info.tile[0] = args.stage_pieces;
      info.tile[1] = args.part_bytes / element;
      info.stages = args.stages;
      break;
    }
    case kRowsShift:
      info.tile[0] = config.block[0];
      info.tile[1] = 16 / element;
      break;
    case kRowsSorted:
      info.tile[0] = kRowsSortTile;
      info.tile[1] = std::min(columns, launch.sorted.part_units * args.unit_bytes /
                                           static_cast<u32>(problem_.packed_element_bytes));
      break;
    case kRowsSegment:
      info.tile[0] = kSegmentItems;
      info.tile[1] = columns;
      break;
    case kRowsFew:
      info.tile[0] = 1;
      info.tile[1] = config.block[0] * kRowsFewFlight * 16 / element;
      break;
    case kRowsPlain:
      info.tile[0] = 1;
      info.tile[1] = config.block[0] * kRowsLinearFlight * args.unit_bytes / element;
      break;
    default:
      info.tile[0] = config.block[0] / args.lanes;
      info.tile[1] = args.lanes * args.unit_bytes / element;
      break;
  }
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = config.grid[i];
    info.block[i] = config.block[i];
    info.cluster[i] = config.cluster[i];
  }
  info.dynamic_smem_bytes = config.dynamic_smem_bytes;
  const auto count = static_cast<uint64_t>(d.count);
  const auto read = count * static_cast<uint64_t>(d.group) * args.row_bytes;
  const auto table_bytes = count * static_cast<uint64_t>(problem_.inner_bytes);
  info.bytes_read = read + count * static_cast<uint64_t>(d.group * problem_.index_bytes);
  info.bytes_written =
      op() == Op::gather ? count * static_cast<uint64_t>(problem_.row_bytes) : table_bytes;
  if (d.reduction != kReduceNone) info.bytes_read += table_bytes;
  return info;
}

std::string RowsPlan::explain_methods() const {
  std::string out;
  if (problem_.ordered()) return out;
  const uint64_t table = promised_address(problem_.desc.table_alignment);
  const uint64_t packed = promised_address(problem_.desc.packed_alignment);
  const uint32_t chosen = choose(table, packed);
  uint32_t wanted[kMaxMethods] = {};
  list_methods(wanted);
  for (const uint32_t method : wanted) {
    if (method == 0) continue;
    if (method == chosen) {
      out += line("takes %s", method_name(method));
      break;
    }
    out += line("not %s: %s", method_name(method), refusal(method, table, packed));
  }
  if (op() == Op::gather ? !problem_.is_sum() : problem_.desc.reduction == kReduceNone)
    out += explain_four(table, packed);
  if (methods_[0] != chosen || methods_[1] == 0) return out;
  std::string others = kernels_[methods_[1]].row->symbol;
  for (uint32_t i = 2; i < kMaxMethods && methods_[i] != 0; ++i)
    others += std::string(" or ") + kernels_[methods_[i]].row->symbol;
  // A window may begin between two boundaries where its operands begin at one.
  const bool promise = choose(kPromise, kPromise) == chosen;
  return out +
         line("runs whose addresses do not suit take %s%s", others.c_str(),
              promise ? "; promise table_alignment and packed_alignment 16 to leave it out" : "");
}

// Where the device's list leaves gather4 and scatter4 out: whether others would take them.
std::string RowsPlan::explain_four(uint64_t table, uint64_t packed) const {
  uint32_t wanted[kMaxMethods] = {};
  list_methods(wanted);
  if (wanted[0] == kRowsFour) return "";
  const char* const name = op() == Op::gather ? "gather4" : "scatter4";
  const char* const reason = four_refusal(table, packed);
  if (!reason) return line("on compute capability 10.0 %s would serve these rows", name);
  return line("on compute capability 10.0 %s would not serve these rows: %s", name, reason);
}

std::string RowsPlan::explain_steps() const {
  std::string out;
  if (problem_.margin_bytes(op()) != 0)
    out += line("%s first: zeros for %" PRId64
                " bytes of each row before the table's columns and "
                "%" PRId64 " behind them",
                kernels_[kRowsMargin].row->symbol, problem_.lead_bytes, problem_.tail_bytes);
  if (problem_.inner_bytes == 0) return out;
  if (problem_.flag(kRowsLastWins))
    out += line(
        "two passes over the indices first find the last that names each row, in a "
        "workspace of %" PRIu64 " bytes",
        workspace_.bytes);
  if (problem_.ordered())
    out += line(
        "indices are sorted by row first, in %u passes of 3 kernels, in a workspace of "
        "%" PRIu64
        " bytes; then equal rows are summed in order, in f32, and the table is "
        "read and written once a row. Without TW_SCATTER_DETERMINISTIC neither sort nor "
        "workspace is needed",
        workspace_.passes, workspace_.bytes);
  else if (problem_.flag(kRowsDeterministic))
    out += line("the result does not depend on an order: TW_SCATTER_DETERMINISTIC costs nothing");
  return out;
}

std::string RowsPlan::explain() const {
  const RowsDesc& d = problem_.desc;
  constexpr const char* kReductions[] = {"", " adding", " keeping the minimum",
                                         " keeping the maximum"};
  std::string out =
      line("%s%s of %" PRId64 " rows by %s indices, %" PRId64 " bytes each, table of %" PRId64
           " rows %" PRId64 " bytes apart",
           family_name(op()), kReductions[d.reduction], d.count, dtype_name(d.index_dtype),
           problem_.row_bytes, d.table_rows, problem_.table_pitch);
  if (d.group > 1) out += line("each row is the sum of %" PRId64 " of the table's", d.group);
  if (empty()) return out + "empty, nothing runs\n";
  out += explain_steps();
  if (problem_.inner_bytes == 0) return out + "no column of the window is the table's\n";
  const PlanInfo i = info();
  out += line(
      "kernel %s: %u blocks of %u threads, %u pieces of %u elements at once, %u stages, %u "
      "bytes of shared memory",
      i.kernel, i.grid[0], i.block[0], i.tile[0], i.tile[1], i.stages, i.dynamic_smem_bytes);
  out += line("%" PRIu64 " boxes loaded, %" PRIu64 " stored, where every index names a row",
              i.boxes_loaded, i.boxes_stored);
  return out + explain_methods();
}

}  // namespace tw
