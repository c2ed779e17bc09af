// SPDX-License-Identifier: Apache-2.0
// Plans for gather and scatter: preparation, runs and explanations.
#include "ops/rows/rows.hpp"

#include <algorithm>
#include <cinttypes>
#include <tilewright/device/cache.cuh>

#include "base/checked.hpp"
#include "kernels/rows/row_schedule.h"
#include "ops/common/explain_line.hpp"
#include "ops/rows/rows_fill.hpp"
#include "ops/rows/rows_four.hpp"

namespace tw {
namespace {

constexpr uint32_t kWorkspaceAlignment = 256;

// Whether the method's kernel has a pipeline in shared memory.
bool has_pipeline(uint32_t method) {
  return method == kRowsBulk || method == kRowsSum || method == kRowsBulkReduce ||
         method == kRowsStaged || method == kRowsFour;
}

}  // namespace

Status RowsPlan::create(const std::shared_ptr<Device>& device, Op op, const RowsDesc& desc,
                        std::unique_ptr<Plan>* out) {
  RowsProblem problem;
  TW_TRY(rows_problem(op, desc, &problem));
  std::unique_ptr<RowsPlan> plan(new RowsPlan(device, op, problem));
  TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status RowsPlan::check(const Device&, Op op, const RowsDesc& desc) {
  RowsProblem problem;
  return rows_problem(op, desc, &problem);
}

Status RowsPlan::prepare() {
  const RowsDesc& d = problem().desc;
  workspace_ = rows::make_workspace(setup_);
  TW_TRY(rows::prepare_steps(&setup_));
  if (problem().ordered()) return {};  // prepare_steps() has prepared all kernels of an ordered sum

  uint32_t wanted[rows::kMaxMethods] = {};
  rows::list_methods(setup_, wanted);
  const uint32_t reachable = rows::reachable_methods(setup_);
  uint32_t number = 0;
  for (const uint32_t method : wanted) {
    if ((reachable & 1u << method) == 0) continue;
    TW_TRY(setup_.prepare_variant(method,
                                  has_pipeline(method) ? setup_.pipeline.dynamic_smem_bytes() : 0));
    if (method == kRowsFour) TW_TRY(rows::prepare_four(&setup_));
    methods_[number++] = method;
  }
  if ((reachable & 1u << kRowsFew) != 0 && !setup_.kernels[kRowsPlain])
    TW_TRY(setup_.prepare_variant(kRowsPlain, 0));  // for runs whose count the device reads
  if (number == 0)  // only if a test or benchmark restricts the methods
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
                "none of the allowed methods 0x%x supports these rows", d.methods);
  return {};
}

uint32_t RowsPlan::choose(uint64_t table, uint64_t packed) const {
  for (const uint32_t method : methods_)
    if (method != 0 && !rows::refusal(setup_, method, table, packed)) return method;
  return 0;
}

Status RowsPlan::check_run(const RowsRun& run, int64_t count) const {
  const RowsDesc& d = problem().desc;
  const bool gather = op() == Op::gather;
  const bool weighted = problem().flag(kRowsWeighted);
  const auto index_width = static_cast<uint32_t>(problem().index_bytes);
  // For the overlap check only the bytes that the run accesses count. In the table these are the
  // moved columns. In packed rows a scatter skips the columns that lie outside the table; a gather
  // writes zeros there, so they count.
  const uint64_t window = setup_.first_moved_in_table(run.table);
  const auto moved_bytes = static_cast<uint64_t>(problem().moved_bytes);
  const auto row_bytes = static_cast<uint64_t>(
      gather ? problem().row_bytes : problem().moved_columns * problem().packed_element_bytes);
  const auto indices = static_cast<uint64_t>(count * d.group);
  if (problem().table_bytes != 0)
    TW_TRY(check_address("table", run.table, static_cast<uint32_t>(problem().element_bytes),
                         d.table_alignment));
  TW_TRY(check_address("packed", run.packed, static_cast<uint32_t>(problem().packed_element_bytes),
                       d.packed_alignment));
  TW_TRY(check_address("index", run.index, index_width));
  if (weighted)
    TW_TRY(check_address("weights", run.weights, 4));
  else if (run.weights != 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "weights", .rule = "rows_weights"},
                "weights is not 0, but the plan was made without TW_ROWS_WEIGHTS");
  if (run.device_count != 0) TW_TRY(check_address("device_count", run.device_count, index_width));
  if (run.invalid_count != 0) TW_TRY(check_address("invalid_count", run.invalid_count, 8));
  if (workspace_.bytes != 0)
    TW_TRY(
        check_workspace(run.workspace, run.workspace_bytes, workspace_.bytes, kWorkspaceAlignment));
  return check_operands(
      setup_.device,
      {{"index", run.index, indices * index_width, false},
       {"table", window, moved_bytes, !gather, d.table_rows, problem().table_pitch},
       {"packed", gather ? run.packed : setup_.first_moved_in_packed(run.packed), row_bytes, gather,
        count, problem().packed_pitch},
       {"weights", run.weights, weighted ? indices * 4 : 0, false},
       {"device_count", run.device_count, run.device_count == 0 ? 0 : index_width, false},
       {"invalid_count", run.invalid_count, run.invalid_count == 0 ? 0u : 8u, true},
       {"workspace", run.workspace, workspace_.bytes, true}});
}

RowsArgs RowsPlan::run_args(const RowsRun& run, int64_t count) const {
  const bool gather = op() == Op::gather;
  RowsArgs args{};
  args.table = setup_.first_moved_in_table(run.table);
  args.index = run.index;
  args.packed = setup_.first_moved_in_packed(run.packed);
  args.weights = run.weights;
  args.winners = problem().flag(kRowsLastWins) ? run.workspace : 0;
  args.count_at = run.device_count;
  args.count = count;
  args.table_rows = problem().desc.table_rows;
  args.table_pitch = problem().table_pitch;
  args.packed_pitch = problem().packed_pitch;
  args.row_bytes = static_cast<u64>(problem().moved_bytes) /
                   static_cast<u32>(problem().element_bytes) *
                   static_cast<u32>(problem().packed_element_bytes);
  args.index_bytes = static_cast<unsigned short>(problem().index_bytes);
  args.group = static_cast<u32>(problem().desc.group);
  args.read_policy =
      (problem().desc.policies & 1) != 0 ? tilewright::kEvictFirst : tilewright::kEvictNormal;
  args.write_policy =
      (problem().desc.policies & 2) != 0 ? tilewright::kEvictFirst : tilewright::kEvictNormal;
  args.op = static_cast<u32>(problem().desc.reduction);
  args.element = problem().element;
  args.packed_element = problem().packed_element;
  args.read_low = gather ? run.table : run.packed;
  args.read_high =
      args.read_low +
      static_cast<uint64_t>(gather ? problem().table_bytes
                                   : (count - 1) * problem().packed_pitch + problem().row_bytes);
  return args;
}

Status RowsPlan::run(Stream& stream, const RowsRun& run) const {
  const int64_t planned = problem().desc.count;
  const int64_t count = run.count == -1 ? planned : run.count;
  if (count < 0 || count > planned)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "count", .rule = "rows_run_count", .got = count, .limit = planned},
                "count is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)",
                count, planned);
  if (count == 0 || setup_.empty()) return {};
  TW_TRY(check_run(run, count));
  uint32_t method = problem().ordered() ? 0 : choose(run.table, run.packed);
  // The grid of kRowsFew is the count, which the host does not know here.
  if (method == kRowsFew && run.device_count != 0) method = kRowsPlain;
  // Only if a test or benchmark restricts the methods.
  if (method == 0 && !problem().ordered())
    return fail(Code::ERROR_MISALIGNED, {.argument = "table", .rule = "rows_methods"},
                "the only allowed method needs rows whose ends are multiples of 16 bytes");
  const RowsArgs args = run_args(run, count);
  if (run.invalid_count != 0) TW_TRY(rows::count_outside(setup_, stream, run, args));
  // gather4 itself loads zeros for columns outside the table.
  if (problem().margin_bytes(op()) != 0 && (method != kRowsFour || problem().moved_bytes == 0))
    TW_TRY(rows::fill_margins(setup_, stream, run, args));
  if (problem().moved_bytes == 0) return {};
  if (problem().ordered()) return rows::add_in_order(setup_, workspace_, stream, run, args);
  if (args.winners != 0) TW_TRY(rows::find_winners(setup_, stream, args));
  RowsLaunch main;
  main.rows = args;
  rows::fill(setup_, method, run.table, run.packed, &main);
  if (method != kRowsPlain)
    return setup_.launch(stream, method, rows::config(setup_, method, main), main);
  // A launch makes at most kDividerLimit accesses, row_units for each row: with accesses of 16
  // bytes it moves up to 32 GB.
  for (i64 first = 0; first < count; first += main.rows.launch_rows) {
    main.rows.first_row = first;
    TW_TRY(setup_.launch(stream, method, rows::config(setup_, method, main), main));
  }
  return {};
}

namespace {

constexpr uint64_t kPromise = 16;  // alignment in bytes that allows the best method

const char* method_name(uint32_t method) {
  switch (method) {
    case kRowsFour:
      return "four rows per instruction";
    case kRowsBulk:
    case kRowsSum:
      return "bulk copies through shared memory";
    case kRowsBulkReduce:
      return "bulk reductions out of shared memory";
    case kRowsStaged:
      return "ordinary loads or stores on the table's side and bulk copies on the packed side";
    case kRowsFew:
      return "few long rows, two units of 16 bytes per thread, launched before the predecessor "
             "ends";
    case kRowsShift:
      return "realigned 16-byte pieces";
    case kRowsSorted:
      return "sums of packed rows that go to the same row of the table, within a share of a tile's "
             "indices, and one reduction for each sum";
    case kRowsReduce:
      return "one reduction per element";
    default:
      return "ordinary loads and stores";
  }
}

}  // namespace

PlanInfo RowsPlan::info() const {
  const RowsDesc& d = problem().desc;
  PlanInfo info;
  info.op = op();
  info.workspace_bytes = workspace_.bytes;
  const uint64_t table = promised_address(d.table_alignment);
  const uint64_t packed = promised_address(d.packed_alignment);
  const uint32_t method = problem().ordered() ? kRowsSegment : choose(table, packed);
  if (method != 0) info.kernel = setup_.kernels[method].entry->symbol;
  if (setup_.empty() || method == 0 || problem().moved_bytes == 0) return info;
  RowsLaunch launch;
  const RowsArgs all = run_args({.table = table, .packed = packed}, d.count);
  launch.rows = all;
  LaunchConfig config;
  if (method == kRowsSegment) {
    config = rows::step_config(setup_, method, workspace_.segments, kRowsBlockThreads / 32);
  } else {
    rows::fill(setup_, method, table, packed, &launch);
    config = rows::config(setup_, method, launch);
  }
  // kRowsFew has arguments of its own, which do not contain RowsArgs.
  const RowsArgs& args = method == kRowsFew ? all : launch.rows;
  const auto element = static_cast<uint32_t>(problem().element_bytes);
  const auto columns = static_cast<uint32_t>(std::min<int64_t>(problem().moved_columns, INT32_MAX));
  switch (method) {
    case kRowsFour: {
      const uint64_t stages = four_stages(args, d.count);
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
      const bool staged = method == kRowsStaged;  // threads move the table rows
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
                                           static_cast<u32>(problem().packed_element_bytes));
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
      info.tile[1] = config.block[0] * kRowsPlainFlight * args.unit_bytes / element;
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
  const auto table_bytes = count * static_cast<uint64_t>(problem().moved_bytes);
  info.bytes_read = read + count * static_cast<uint64_t>(d.group * problem().index_bytes);
  info.bytes_written =
      op() == Op::gather ? count * static_cast<uint64_t>(problem().row_bytes) : table_bytes;
  if (d.reduction != kReduceNone) info.bytes_read += table_bytes;
  return info;
}

std::string RowsPlan::explain_methods() const {
  std::string out;
  if (problem().ordered()) return out;
  const uint64_t table = promised_address(problem().desc.table_alignment);
  const uint64_t packed = promised_address(problem().desc.packed_alignment);
  const uint32_t chosen = choose(table, packed);
  uint32_t wanted[rows::kMaxMethods] = {};
  rows::list_methods(setup_, wanted);
  for (const uint32_t method : wanted) {
    if (method == 0) continue;
    if (method == chosen) {
      out += line("uses %s", method_name(method));
      break;
    }
    out += line("not %s: %s", method_name(method), rows::refusal(setup_, method, table, packed));
  }
  if (op() == Op::gather ? !problem().is_sum() : problem().desc.reduction == kReduceNone)
    out += explain_four(table, packed);
  if (methods_[0] != chosen || methods_[1] == 0) return out;
  std::string others = setup_.kernels[methods_[1]].entry->symbol;
  for (uint32_t i = 2; i < rows::kMaxMethods && methods_[i] != 0; ++i)
    others += std::string(" or ") + setup_.kernels[methods_[i]].entry->symbol;
  // Promised alignments do not help if the first bytes that are moved are misaligned even in
  // aligned operands, because a window begins between two multiples of 16 bytes.
  const bool promise = choose(kPromise, kPromise) == chosen;
  return out + line("runs with unsuitable addresses use %s%s", others.c_str(),
                    promise ? "; promise table_alignment and packed_alignment 16 to avoid it" : "");
}

// On devices without gather4 and scatter4, reports whether these would serve the rows.
std::string RowsPlan::explain_four(uint64_t table, uint64_t packed) const {
  uint32_t wanted[rows::kMaxMethods] = {};
  rows::list_methods(setup_, wanted);
  if (wanted[0] == kRowsFour) return "";
  const char* const name = op() == Op::gather ? "gather4" : "scatter4";
  const char* const reason = rows::four_refusal(setup_, table, packed);
  if (!reason) return line("on compute capability 10.0 %s would serve these rows", name);
  return line("on compute capability 10.0 %s would not serve these rows: %s", name, reason);
}

std::string RowsPlan::explain_steps() const {
  std::string out;
  if (problem().margin_bytes(op()) != 0)
    out +=
        line("%s first: zeros for %" PRId64
             " bytes of each row before the table's columns and "
             "%" PRId64 " behind them",
             setup_.kernels[kRowsMargin].entry->symbol, problem().lead_bytes, problem().tail_bytes);
  if (problem().moved_bytes == 0) return out;
  if (problem().flag(kRowsLastWins))
    out += line(
        "two passes over the indices first find the last that names each row, in a "
        "workspace of %" PRIu64 " bytes",
        workspace_.bytes);
  if (problem().ordered())
    out += line(
        "indices are sorted by row first, in %u passes of 3 kernels, in a workspace of "
        "%" PRIu64
        " bytes; then the rows for one table row are summed in order, in f32, and the table is "
        "read and written once a row. Without TW_SCATTER_DETERMINISTIC neither sort nor "
        "workspace is needed",
        workspace_.passes, workspace_.bytes);
  else if (problem().flag(kRowsDeterministic))
    out += line("the result does not depend on an order: TW_SCATTER_DETERMINISTIC costs nothing");
  return out;
}

std::string RowsPlan::explain() const {
  const RowsDesc& d = problem().desc;
  constexpr const char* kReductions[] = {"", " adding", " keeping the minimum",
                                         " keeping the maximum"};
  std::string out =
      line("%s%s of %" PRId64 " rows by %s indices, %" PRId64 " bytes each, table of %" PRId64
           " rows %" PRId64 " bytes apart",
           family_name(op()), kReductions[d.reduction], d.count, dtype_name(d.index_dtype),
           problem().row_bytes, d.table_rows, problem().table_pitch);
  if (d.group > 1) out += line("each row is the sum of %" PRId64 " of the table's", d.group);
  if (setup_.empty()) return out + "empty, nothing runs\n";
  out += explain_steps();
  if (problem().moved_bytes == 0) return out + "no column of the window is the table's\n";
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
