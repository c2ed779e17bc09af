// SPDX-License-Identifier: Apache-2.0
// Plans of grouped products. prepare() picks the kernels of a plan: the product and its steps,
// which are the kernels before and after it. run() launches the kernels that a run needs, in the
// order that kernels/grouped/grouped.h describes.
#include "ops/grouped/grouped.hpp"

#include <cinttypes>

#include "ops/common/explain_line.hpp"
#include "ops/grouped/grouped_explain.hpp"
#include "ops/grouped/grouped_kernel.hpp"
#include "ops/grouped/grouped_wgmma.hpp"

namespace tw {

static_assert(static_cast<u32>(Grouping::one) == kGroupsOne &&
              static_cast<u32>(Grouping::ends) == kGroupsEnds &&
              static_cast<u32>(Grouping::offsets) == kGroupsOffsets &&
              static_cast<u32>(Grouping::psum) == kGroupsPsum &&
              static_cast<u32>(Grouping::by_row) == kGroupsByRow &&
              static_cast<u32>(Grouping::masked) == kGroupsMasked &&
              static_cast<u32>(Grouping::k_ranges) == kGroupsRanges);

/// Launches the kernels of a run in one stream. All but the first are dependent launches (PDL).
class GroupedPlan::Launches {
 public:
  Launches(const GroupedPlan& plan, Stream& stream)
      : plan_(plan),
        stream_(stream),
        programmatic_(plan.problem_.desc.has(kGroupedDescProgrammatic)) {}
  Status launch(const PreparedKernel& kernel, const LaunchConfig& config, const GroupedArgs& args) {
    return launch_with(kernel, config, &args, sizeof args);
  }
  Status launch_product(const PreparedKernel& kernel, int64_t m, const GroupedArgs& args,
                        const GroupedRun& run) {
    const GroupedProblem& problem = plan_.problem_;
    const LaunchConfig config = grouped_product_config(*plan_.device(), problem, kernel, m);
    if ((kernel.entry->variant & kGroupedNarrow) == 0) return launch(kernel, config, args);
    const GroupedScaledArgs scaled{.grouped = args, .scales = grouped_scales(problem, run)};
    return launch_with(kernel, config, &scaled, sizeof scaled);
  }
  /// Launches a step with at least `threads` threads, but at most four blocks per SM.
  Status launch_step(const PreparedKernel& kernel, int64_t threads, const GroupedArgs& args) {
    return launch(
        kernel, grouped_step_config(*plan_.device(), plan_.problem_, *kernel.entry, threads), args);
  }

 private:
  Status launch_with(const PreparedKernel& kernel, LaunchConfig config, const void* args,
                     size_t bytes) {
    config.programmatic = programmatic_;
    programmatic_ = true;  // each kernel of a run waits for its predecessor grid itself
    return stream_.launch(*kernel.kernel, config, args, bytes);
  }
  const GroupedPlan& plan_;
  Stream& stream_;
  bool programmatic_;
};

Status GroupedPlan::create(const std::shared_ptr<Device>& device, const GroupedDesc& desc,
                           std::unique_ptr<Plan>* out) {
  GroupedProblem problem;
  TW_TRY(grouped_problem(desc, &problem));
  std::unique_ptr<GroupedPlan> plan(new GroupedPlan(device, problem));
  TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status GroupedPlan::check(const Device&, const GroupedDesc& desc) {
  GroupedProblem problem;
  return grouped_problem(desc, &problem);
}

Status GroupedPlan::prepare_step(uint32_t variant, PreparedKernel* out) {
  const DType type = problem_.desc.d_dtype;
  const KernelEntry* entry = find_entry(*device(), Family::grouped, [&](const KernelEntry& e) {
    return e.variant == variant && (e.dtypes[1] == DType{} || e.dtypes[1] == type);
  });
  return prepare_entry(*device(), Family::grouped, entry, 0, out);
}

// If a wgmma kernel supports the description, prepares it. Lays out the workspace in any case.
// wgmma kernels load through tensor maps.
Status GroupedPlan::prepare_wgmma() {
  const KernelEntry* entry = grouped_wgmma_entry(*device(), problem_);
  workspace_ = grouped_workspace(problem_, {});
  if (entry == nullptr) return {};
  const uint32_t blocks = usable_sms(*device(), problem_.desc.max_sms);
  TW_TRY(prepare_entry(*device(), Family::grouped, entry, grouped_wgmma_smem(problem_), &product_));
  TW_TRY(prepare_grouped_wgmma(*device(), problem_, blocks, &wgmma_));
  workspace_ =
      grouped_workspace(problem_, {.stream_k_bytes = grouped_stream_k_bytes(problem_, blocks),
                                   .stream_k_required = grouped_needs_workspace(problem_),
                                   .packed_a_bytes = grouped_packed_bytes(problem_)});
  return workspace_.has_packed_a ? prepare_step(kGroupedPack, &pack_) : Status();
}

Status GroupedPlan::prepare() {
  TW_TRY(prepare_wgmma());
  const bool forced = !problem_.desc.candidate.empty();
  if (!product_ || (!forced && !grouped_promises_alignment(problem_))) {
    const KernelEntry* entry = grouped_product_entry(*device(), problem_);
    if (!entry && forced) return no_grouped_candidate(*device(), problem_);
    TW_TRY(prepare_entry(*device(), Family::grouped, entry, 0, product_ ? &fallback_ : &product_));
  }
  TW_TRY(prepare_step(kGroupedCheck, &check_));
  if (problem_.desc.grouping == Grouping::by_row) TW_TRY(prepare_step(kGroupedFind, &find_));
  if (problem_.adds_in_order() || problem_.zeroes_other_rows())
    TW_TRY(prepare_step(kGroupedClear, &clear_));
  if (!problem_.adds_in_order()) return {};
  if (!problem_.has_inverse()) TW_TRY(prepare_step(kGroupedLink, &link_));
  return prepare_step(kGroupedCombine, &combine_);
}

Status GroupedPlan::clear_d(Launches* launches, const GroupedArgs& args,
                            const GroupedSizes& sizes) const {
  GroupedArgs clear = args;
  clear.m = static_cast<i32>(sizes.rows_of_d);
  // kGroupedClear takes both in bytes: the distance between rows, and the size of a row.
  clear.d_pitch = problem_.desc.ldd * problem_.out_bytes;
  clear.d_stride = problem_.d_columns * problem_.out_bytes;
  return launches->launch_step(clear_, sizes.rows_of_d * clear.d_stride / 16, clear);
}

// Copies the gathered rows of A to the workspace, and changes the product's arguments so that it
// loads the copy instead of gathering rows.
Status GroupedPlan::pack(Launches* launches, GroupedArgs* product, uint64_t address) const {
  GroupedArgs step = *product;
  step.d = address + workspace_.packed_a;
  TW_TRY(launches->launch_step(pack_, int64_t{step.m} * 32, step));
  product->a = step.d;
  product->a_pitch = step.k;
  product->a_rows = 0;
  return {};
}

Status GroupedPlan::combine(Launches* launches, const GroupedArgs& args, uint64_t address) const {
  GroupedArgs step = args;
  if (!problem_.has_inverse()) {
    step.heads = address + workspace_.heads;
    step.links = address + workspace_.links;
    TW_TRY(launches->launch_step(clear_, step.d_count, step));
    TW_TRY(launches->launch_step(link_, step.m, step));
  }
  step.a = address + workspace_.product_rows;
  step.a_pitch = workspace_.row_pitch;
  step.n = static_cast<i32>(problem_.d_columns);
  const int64_t blocks = int64_t{step.d_count} * grouped_combine_blocks(step.n);
  return launches->launch_step(combine_, blocks * combine_.entry->threads, step);
}

bool GroupedPlan::uses_tensor_maps() const {
  return (product_.entry->variant & kGroupedWgmma) != 0;
}

// Refuses addresses that tensor maps cannot have if the plan has a wgmma kernel and no fallback.
Status GroupedPlan::check_tensor_map_alignment(const GroupedRun& run,
                                               const GroupedSizes& sizes) const {
  if (!uses_tensor_maps() || fallback_ || !sizes.multiplies || sizes.k == 0) return {};
  const bool a = run.a % kMapAlignment != 0;
  if (!a && run.b % kMapAlignment == 0) return {};
  const uint64_t address = a ? run.a : run.b;
  return fail(Code::ERROR_MISALIGNED,
              {.argument = a ? "a" : "b",
               .rule = "candidate_alignment",
               .got = static_cast<int64_t>(address % kMapAlignment),
               .limit = kMapAlignment},
              "%s is 0x%" PRIx64
              ", and the plan's candidate %s reads it through a tensor map, "
              "whose address must be a multiple of %d: plan without a candidate, or align it",
              a ? "a" : "b", address, product_.entry->symbol, static_cast<int>(kMapAlignment));
}

// Returns the product kernel for the run's addresses, and fills in the arguments that only this
// kernel needs.
const PreparedKernel& GroupedPlan::bind_product(const GroupedRun& run, GroupedArgs* product) const {
  if (problem_.adds_in_order()) {
    product->row_output = kRowsInPlace;
    product->d = run.workspace + workspace_.product_rows;
    product->d_pitch = workspace_.row_pitch;
  }
  if (!uses_tensor_maps()) return product_;
  const bool is_aligned = run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0;
  if (fallback_ && !is_aligned) return fallback_;
  bind_grouped_wgmma(problem_, wgmma_, product);
  if (run.workspace != 0 && workspace_.stream_k < workspace_.bytes)
    product->workspace = run.workspace + workspace_.stream_k;
  return product_;
}

Status GroupedPlan::run(Stream& stream, const GroupedRun& run) const {
  GroupedSizes sizes;
  TW_TRY(check_grouped_run(*device(), problem_, workspace_, run, &sizes));
  TW_TRY(check_tensor_map_alignment(run, sizes));
  GroupedArgs args = grouped_args(problem_, workspace_, run, sizes);
  Launches launches(*this, stream);
  if (sizes.clears) TW_TRY(clear_d(&launches, args, sizes));
  if (sizes.finds) {
    TW_TRY(launches.launch(find_, grouped_find_config(*device(), problem_, *find_.entry, sizes.m),
                           args));
    args.groups = args.found_groups;
    args.flags |= kGroupedFound;
  }
  if (sizes.checks) TW_TRY(launches.launch_step(check_, sizes.m, args));
  if (!sizes.multiplies) return {};
  GroupedArgs product = args;
  const bool is_aligned = run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0;
  if (workspace_.has_packed_a && run.workspace != 0 && sizes.k > 0 && run.alpha != 0.0f &&
      is_aligned)
    TW_TRY(pack(&launches, &product, run.workspace));
  const PreparedKernel& kernel = bind_product(run, &product);
  TW_TRY(launches.launch_product(kernel, sizes.m, product, run));
  return problem_.adds_in_order() ? combine(&launches, args, run.workspace) : Status();
}

PlanInfo GroupedPlan::info() const {
  const GroupedDesc& d = problem_.desc;
  PlanInfo info;
  info.op = Op::grouped;
  const LaunchConfig launch = grouped_product_config(*device(), problem_, product_, d.m);
  info.kernel = product_.entry->symbol;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
    info.tile[i] = static_cast<uint32_t>(product_.entry->tile[i]);
  }
  info.workspace_bytes = workspace_.bytes;
  // Assumes that all rows are in groups and that every weight matrix is read.
  const auto bytes = [](int64_t rows, int64_t columns, int64_t size) {
    return static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns) *
           static_cast<uint64_t>(size);
  };
  const int64_t matrices = problem_.has_k_ranges() ? 1 : d.weight_count;
  info.bytes_read = bytes(d.m, d.k, problem_.in_bytes) +
                    static_cast<uint64_t>(matrices) * bytes(d.n, d.k, problem_.in_bytes);
  const int64_t rows_of_d = problem_.has_k_ranges() ? d.m * d.groups : problem_.rows_of_d();
  info.bytes_written = bytes(rows_of_d, problem_.d_columns, problem_.out_bytes);
  info.flops = 2 * bytes(d.m, d.n, d.k);
  return info;
}

std::string GroupedPlan::explain() const {
  std::string out = grouped_problem_text(problem_);
  const PlanInfo i = info();
  out += line("kernel %s: at most %u blocks of %u threads, which take tiles in turn", i.kernel,
              i.grid[0], i.block[0]);
  out += explain_choice();
  out += grouped_times_text(*device(), problem_, *product_.entry);
  if (i.workspace_bytes == 0) return out + "no workspace is needed\n";
  out += line("a workspace of %" PRIu64 " bytes", i.workspace_bytes);
  if (workspace_.required == workspace_.bytes) return out;
  return out + line("%" PRIu64
                    " of them only save time: with them, blocks can divide tiles along k%s",
                    workspace_.bytes - workspace_.required,
                    workspace_.has_packed_a ? " and load gathered rows from a packed copy" : "");
}

std::string GroupedPlan::explain_choice() const {
  const GroupedDesc& d = problem_.desc;
  if (!d.candidate.empty()) return "the caller named the kernel\n";
  if (!uses_tensor_maps()) {
    const FeatureMask features = device()->info().kernel_features;
    if ((features & feature::host) != 0) return {};
    if ((features & feature::wgmma) == 0)
      return "not by wgmma: this device runs no wgmma kernels\n";
    const std::string why = grouped_wgmma_refusal(*device(), problem_);
    return why.empty() ? std::string() : line("not by wgmma: %s", why.c_str());
  }
  std::string out;
  if (workspace_.has_packed_a)
    out += "a run with a workspace first copies gathered rows into a packed matrix\n";
  else if (problem_.gathers())
    out += "the product kernel gathers rows itself\n";
  if (!problem_.has_k_ranges())
    out += line("a tile has %d columns of B, and only as many rows as its group needs, up to %d",
                product_.entry->tile[1], product_.entry->tile[0]);
  if (!fallback_) return out;
  return out + line(
                   "runs with addresses that are not multiples of %d use %s: promise a_alignment "
                   "and b_alignment %d to avoid it",
                   static_cast<int>(kMapAlignment), fallback_.entry->symbol,
                   static_cast<int>(kMapAlignment));
}

Status grouped_candidates_of(const Device& device, const GroupedDesc& desc,
                             std::vector<GroupedCandidate>* out) {
  GroupedProblem problem;
  TW_TRY(grouped_problem(desc, &problem));
  *out = grouped_candidates(device, problem);
  return {};
}

}  // namespace tw
