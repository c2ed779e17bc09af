// SPDX-License-Identifier: Apache-2.0
// Plans of rows: what is prepared when one is made, and how a run goes.
#include "ops/rows/rows.hpp"

#include <algorithm>
#include <cinttypes>
#include <tilewright/device/cache.cuh>

namespace tw {
namespace {

constexpr uint32_t kWorkspaceAlignment = 256;

bool is_ring(uint32_t method) {
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

Status RowsPlan::prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes) {
  const KernelRow* row =
      find_row(*device(), op(), [&](const KernelRow& r) { return r.variant == variant; });
  return prepare_row(*device(), op(), row, dynamic_smem_bytes, &kernels_[variant]);
}

Status RowsPlan::prepare() {
  const RowsDesc& d = problem_.desc;
  tuning_ = make_tuning();
  ring_pieces_ = most_stage_pieces();
  ring_ = ring_size(*device(), tuning_.warps, rows_note_bytes(ring_pieces_), tuning_.stages,
                    tuning_.stage_bytes, tuning_.blocks);
  workspace_ = make_workspace();
  TW_TRY(prepare_steps());
  if (problem_.ordered()) return {};  // steps are all there is

  uint32_t wanted[kMaxMethods] = {};
  list_methods(wanted);
  const uint32_t reachable = reachable_methods();
  uint32_t number = 0;
  for (const uint32_t method : wanted) {
    if ((reachable & 1u << method) == 0) continue;
    TW_TRY(prepare_variant(method, is_ring(method) ? ring_.dynamic_smem_bytes() : 0));
    if (method == kRowsFour) TW_TRY(prepare_four());
    methods_[number++] = method;
  }
  if ((reachable & 1u << kRowsFew) != 0 && !kernels_[kRowsPlain])
    TW_TRY(prepare_variant(kRowsPlain, 0));  // for counts that the device reads
  if (number == 0)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
                "none of the methods 0x%x serves these rows", d.methods);
  return {};
}

Status RowsPlan::check_run(const RowsRun& run, int64_t count) const {
  const RowsDesc& d = problem_.desc;
  const bool gather = op() == Op::gather;
  const bool weighted = problem_.flag(kRowsWeighted);
  const auto index_width = static_cast<uint32_t>(problem_.index_bytes);
  // What is moved: the table's other columns may be other operands', and so may what of a scatter's
  // packed rows has no column in the table. A gather fills that with zeros.
  const uint64_t window = inner_table(run.table);
  const auto inner_bytes = static_cast<uint64_t>(problem_.inner_bytes);
  const auto row_bytes = static_cast<uint64_t>(
      gather ? problem_.row_bytes : problem_.inner_columns * problem_.packed_element_bytes);
  const auto indices = static_cast<uint64_t>(count * d.group);
  if (problem_.table_bytes != 0)
    TW_TRY(check_address("table", run.table, static_cast<uint32_t>(problem_.element_bytes),
                         d.table_alignment));
  TW_TRY(check_address("packed", run.packed, static_cast<uint32_t>(problem_.packed_element_bytes),
                       d.packed_alignment));
  TW_TRY(check_address("index", run.index, index_width));
  if (weighted)
    TW_TRY(check_address("weights", run.weights, 4));
  else if (run.weights != 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "weights", .rule = "rows_weights"},
                "weights is not 0, and the plan was made without TW_ROWS_WEIGHTS");
  if (run.device_count != 0) TW_TRY(check_address("device_count", run.device_count, index_width));
  if (run.outside != 0) TW_TRY(check_address("invalid_count", run.outside, 8));
  if (workspace_.bytes != 0)
    TW_TRY(
        check_workspace(run.workspace, run.workspace_bytes, workspace_.bytes, kWorkspaceAlignment));
  return check_operands(
      *device(),
      {{"index", run.index, indices * index_width, false},
       {"table", window, inner_bytes, !gather, d.table_rows, problem_.table_pitch},
       {"packed", gather ? run.packed : inner_packed(run.packed), row_bytes, gather, count,
        problem_.packed_pitch},
       {"weights", run.weights, weighted ? indices * 4 : 0, false},
       {"device_count", run.device_count, run.device_count == 0 ? 0 : index_width, false},
       {"invalid_count", run.outside, run.outside == 0 ? 0u : 8u, true},
       {"workspace", run.workspace, workspace_.bytes, true}});
}

RowsArgs RowsPlan::run_args(const RowsRun& run, int64_t count) const {
  const bool gather = op() == Op::gather;
  RowsArgs args{};
  args.table = inner_table(run.table);
  args.index = run.index;
  args.packed = inner_packed(run.packed);
  args.weights = run.weights;
  args.winners = problem_.flag(kRowsLastWins) ? run.workspace : 0;
  args.count_at = run.device_count;
  args.count = count;
  args.table_rows = problem_.desc.table_rows;
  args.table_pitch = problem_.table_pitch;
  args.packed_pitch = problem_.packed_pitch;
  args.row_bytes = static_cast<u64>(problem_.inner_bytes) /
                   static_cast<u32>(problem_.element_bytes) *
                   static_cast<u32>(problem_.packed_element_bytes);
  args.index_bytes = static_cast<unsigned short>(problem_.index_bytes);
  args.group = static_cast<u32>(problem_.desc.group);
  args.read_policy =
      (problem_.desc.policies & 1) != 0 ? tilewright::kEvictFirst : tilewright::kEvictNormal;
  args.write_policy =
      (problem_.desc.policies & 2) != 0 ? tilewright::kEvictFirst : tilewright::kEvictNormal;
  args.op = static_cast<u32>(problem_.desc.reduction);
  args.element = problem_.element;
  args.packed_element = problem_.packed_element;
  args.read_low = gather ? run.table : run.packed;
  args.read_high =
      args.read_low +
      static_cast<uint64_t>(gather ? problem_.table_bytes
                                   : (count - 1) * problem_.packed_pitch + problem_.row_bytes);
  return args;
}

Status RowsPlan::launch(Stream& stream, uint32_t variant, const LaunchConfig& config,
                        const RowsLaunch& launch) const {
  return stream.launch(*kernels_[variant].kernel, config, &launch.rows, launch.bytes);
}

Status RowsPlan::run(Stream& stream, const RowsRun& run) const {
  const int64_t planned = problem_.desc.count;
  const int64_t count = run.count == -1 ? planned : run.count;
  if (count < 0 || count > planned)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "count", .rule = "rows_run_count", .got = count, .limit = planned},
                "count is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)",
                count, planned);
  if (count == 0 || empty()) return {};
  TW_TRY(check_run(run, count));
  uint32_t method = problem_.ordered() ? 0 : choose(run.table, run.packed);
  // Its grid is the count, which the host does not know then.
  if (method == kRowsFew && run.device_count != 0) method = kRowsPlain;
  if (method == 0 && !problem_.ordered())
    return fail(Code::ERROR_MISALIGNED, {.argument = "table", .rule = "rows_methods"},
                "the only method allowed needs rows whose ends are multiples of 16 bytes");
  const RowsArgs args = run_args(run, count);
  if (run.outside != 0) TW_TRY(count_outside(stream, run, args));
  // Loads of four rows fill what lies beside the table by themselves.
  if (problem_.margin_bytes(op()) != 0 && (method != kRowsFour || problem_.inner_bytes == 0))
    TW_TRY(fill_margins(stream, run, args));
  if (problem_.inner_bytes == 0) return {};
  if (problem_.ordered()) return add_in_order(stream, run, args);
  if (args.winners != 0) TW_TRY(find_winners(stream, args));
  RowsLaunch main;
  main.rows = args;
  fill(method, run.table, run.packed, &main);
  if (method != kRowsPlain) return launch(stream, method, config(method, main), main);
  // As many launches as the count of units asks for: one, where rows are not a terabyte.
  for (i64 first = 0; first < count; first += main.rows.launch_rows) {
    main.rows.first_row = first;
    TW_TRY(launch(stream, method, config(method, main), main));
  }
  return {};
}

}  // namespace tw
