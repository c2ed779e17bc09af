// SPDX-License-Identifier: Apache-2.0
// Plans of grouped products. prepare() picks the kernels of a plan; run() launches those that a run
// needs, in the order that kernels/grouped/grouped.h describes.
#include "ops/grouped/grouped.hpp"

#include <cinttypes>

#include "base/decimal.hpp"
#include "ops/common/explain_line.hpp"
#include "ops/gemm/gemm_scales.hpp"
#include "ops/grouped/grouped_kernel.hpp"
#include "ops/grouped/grouped_wgmma.hpp"

namespace tw {

static_assert(static_cast<u32>(Grouping::all) == kGroupsAll &&
              static_cast<u32>(Grouping::ends) == kGroupsEnds &&
              static_cast<u32>(Grouping::offsets) == kGroupsOffsets &&
              static_cast<u32>(Grouping::psum) == kGroupsPsum &&
              static_cast<u32>(Grouping::by_row) == kGroupsByRow &&
              static_cast<u32>(Grouping::masked) == kGroupsMasked &&
              static_cast<u32>(Grouping::k_ranges) == kGroupsRanges);

/// Launches the kernels of a run in one stream, each after the first as a dependent launch (PDL).
class GroupedPlan::Launches {
 public:
  Launches(const GroupedPlan& plan, Stream& stream)
      : plan_(plan),
        stream_(stream),
        programmatic_(plan.problem_.desc.has(kGroupedDescProgrammatic)) {}
  Status launch(const PreparedKernel& kernel, const LaunchConfig& config, const GroupedArgs& args) {
    return launch_with(kernel, config, &args, sizeof args);
  }
  Status product(const PreparedKernel& kernel, int64_t m, const GroupedArgs& args,
                 const GroupedRun& run) {
    const GroupedProblem& problem = plan_.problem_;
    const LaunchConfig config = grouped_product_config(*plan_.device(), problem, kernel, m);
    if ((kernel.entry->variant & kGroupedScaled) == 0) return launch(kernel, config, args);
    const GroupedScaledArgs scaled{.grouped = args, .scales = grouped_scales(problem, run)};
    return launch_with(kernel, config, &scaled, sizeof scaled);
  }
  Status step(const PreparedKernel& kernel, int64_t things, const GroupedArgs& args) {
    return launch(
        kernel, grouped_step_config(*plan_.device(), plan_.problem_, *kernel.entry, things), args);
  }

 private:
  Status launch_with(const PreparedKernel& kernel, LaunchConfig config, const void* args,
                     size_t bytes) {
    config.programmatic = programmatic_;
    programmatic_ = true;  // the kernels of a run wait for their predecessor grid themselves
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
  const KernelEntry* entry = find_entry(*device(), Family::grouped, [&](const KernelEntry& r) {
    return r.variant == variant && (r.dtypes[1] == DType{} || r.dtypes[1] == type);
  });
  return prepare_entry(*device(), Family::grouped, entry, 0, out);
}

// Prepares a wgmma kernel, which loads through tensor maps, if one supports the description, and
// the layout of the workspace.
Status GroupedPlan::prepare_wgmma() {
  const KernelEntry* entry = grouped_wgmma_entry(*device(), problem_);
  parts_ = grouped_parts(problem_, {});
  if (entry == nullptr) return {};
  const uint32_t blocks = usable_sms(*device(), problem_.desc.max_sms);
  TW_TRY(prepare_entry(*device(), Family::grouped, entry, grouped_wgmma_smem(problem_), &product_));
  TW_TRY(prepare_grouped_wgmma(*device(), problem_, blocks, &wgmma_));
  parts_ = grouped_parts(problem_, {.shared = grouped_wgmma_workspace(problem_, blocks),
                                    .required = grouped_needs_workspace(problem_),
                                    .packed = grouped_packed_bytes(problem_)});
  return parts_.packs ? prepare_step(kGroupedPack, &pack_) : Status();
}

Status GroupedPlan::prepare() {
  TW_TRY(prepare_wgmma());
  const bool forced = !problem_.desc.candidate.empty();
  if (!product_ || (!forced && !grouped_promises_maps(problem_))) {
    const KernelEntry* entry = grouped_product_entry(*device(), problem_);
    if (!entry && forced) return no_grouped_candidate(*device(), problem_);
    TW_TRY(prepare_entry(*device(), Family::grouped, entry, 0, product_ ? &fallback_ : &product_));
  }
  TW_TRY(prepare_step(kGroupedCheck, &check_));
  if (problem_.desc.grouping == Grouping::by_row) TW_TRY(prepare_step(kGroupedFind, &find_));
  if (problem_.ordered() || problem_.zeroes()) TW_TRY(prepare_step(kGroupedClear, &clear_));
  if (!problem_.ordered()) return {};
  if (!problem_.inverse()) TW_TRY(prepare_step(kGroupedLink, &link_));
  return prepare_step(kGroupedCombine, &combine_);
}

Status GroupedPlan::clear_d(Launches* launches, const GroupedArgs& args,
                            const GroupedSizes& sizes) const {
  GroupedArgs clear = args;
  clear.m = static_cast<i32>(sizes.d_rows);
  clear.d_pitch = problem_.desc.ldd * problem_.out_bytes;
  clear.d_stride = problem_.d_columns * problem_.out_bytes;
  return launches->step(clear_, sizes.d_rows * clear.d_stride / 16, clear);
}

// Copies the gathered rows of A to the workspace and redirects the product there, which then loads
// them in place.
Status GroupedPlan::pack(Launches* launches, GroupedArgs* product, uint64_t workspace) const {
  GroupedArgs step = *product;
  step.d = workspace + parts_.packed;
  TW_TRY(launches->step(pack_, int64_t{step.m} * 32, step));
  product->a = step.d;
  product->a_pitch = step.k;
  product->a_rows = 0;
  return {};
}

Status GroupedPlan::combine(Launches* launches, const GroupedArgs& args, uint64_t workspace) const {
  GroupedArgs step = args;
  if (!problem_.inverse()) {
    step.heads = workspace + parts_.heads;
    step.links = workspace + parts_.links;
    TW_TRY(launches->step(clear_, step.d_count, step));
    TW_TRY(launches->step(link_, step.m, step));
  }
  step.a = workspace + parts_.rows;
  step.a_pitch = parts_.row_pitch;
  step.n = static_cast<i32>(problem_.d_columns);
  const int64_t blocks = int64_t{step.d_count} * grouped_combine_parts(step.n);
  return launches->step(combine_, blocks * combine_.entry->threads, step);
}

bool GroupedPlan::uses_maps() const {
  return (product_.entry->variant & kGroupedWgmma) != 0;
}

// Refuses misaligned addresses if the plan has a wgmma kernel and no fallback.
Status GroupedPlan::check_maps(const GroupedRun& run, const GroupedSizes& sizes) const {
  if (!uses_maps() || fallback_ || !sizes.multiplies || sizes.k == 0) return {};
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
              "which takes multiples of %d: plan without a candidate, or align it",
              a ? "a" : "b", address, product_.entry->symbol, static_cast<int>(kMapAlignment));
}

// Returns the kernel for the run's addresses, and fills in the arguments that only the product
// needs.
const PreparedKernel& GroupedPlan::bind_product(const GroupedRun& run, GroupedArgs* product) const {
  if (problem_.ordered()) {
    product->out = kRowsInPlace;
    product->d = run.workspace + parts_.rows;
    product->d_pitch = parts_.row_pitch;
  }
  if (!uses_maps()) return product_;
  const bool suits = run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0;
  if (fallback_ && !suits) return fallback_;
  bind_grouped_wgmma(problem_, wgmma_, product);
  if (run.workspace != 0 && parts_.shared < parts_.bytes)
    product->workspace = run.workspace + parts_.shared;
  return product_;
}

Status GroupedPlan::run(Stream& stream, const GroupedRun& run) const {
  GroupedSizes sizes;
  TW_TRY(check_grouped_run(*device(), problem_, parts_, run, &sizes));
  TW_TRY(check_maps(run, sizes));
  GroupedArgs args = grouped_args(problem_, parts_, run, sizes);
  Launches launches(*this, stream);
  if (sizes.clears) TW_TRY(clear_d(&launches, args, sizes));
  if (sizes.finds) {
    TW_TRY(launches.launch(find_, grouped_find_config(*device(), problem_, *find_.entry, sizes.m),
                           args));
    args.groups = args.found;
    args.flags |= kGroupedFound;
  }
  if (sizes.checks) TW_TRY(launches.step(check_, sizes.m, args));
  if (!sizes.multiplies) return {};
  GroupedArgs product = args;
  const bool suits = run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0;
  if (parts_.packs && run.workspace != 0 && sizes.k > 0 && run.alpha != 0.0f && suits)
    TW_TRY(pack(&launches, &product, run.workspace));
  const PreparedKernel& kernel = bind_product(run, &product);
  TW_TRY(launches.product(kernel, sizes.m, product, run));
  return problem_.ordered() ? combine(&launches, args, run.workspace) : Status();
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
  info.workspace_bytes = parts_.bytes;
  // Assumes that all rows are in groups and that every weight matrix is read.
  const auto bytes = [](int64_t count, int64_t each, int64_t size) {
    return static_cast<uint64_t>(count) * static_cast<uint64_t>(each) * static_cast<uint64_t>(size);
  };
  const int64_t matrices = problem_.ranges() ? 1 : d.weights;
  info.bytes_read = bytes(d.m, d.k, problem_.in_bytes) +
                    static_cast<uint64_t>(matrices) * bytes(d.n, d.k, problem_.in_bytes);
  const int64_t results = problem_.ranges() ? d.m * d.groups : problem_.d_rows();
  info.bytes_written = bytes(results, problem_.d_columns, problem_.out_bytes);
  info.flops = 2 * bytes(d.m, d.n, d.k);
  return info;
}

namespace {

const char* grouping_text(Grouping grouping) {
  constexpr const char* kTexts[] = {"all rows are one group",
                                    "groups are given by their ends",
                                    "groups are given by their begins and the last end",
                                    "groups are given by their ends and begin at multiples",
                                    "each row says its group",
                                    "groups have a place each, of which some rows are used",
                                    "groups are ranges of k"};
  return kTexts[static_cast<int>(grouping)];
}

const char* combine_text(const GroupedProblem& p) {
  if (p.desc.combine == Combine::add_atomic) return "added to rows of D by index, in any order";
  if (p.inverse()) return "added to rows of D in the order of the pairs of each, by their inverse";
  if (p.ordered()) return "added to rows of D by index, in their own order";
  return p.scatters() ? "stored at rows of D by index" : "stored in place";
}

std::string epilogue_text(const GroupedProblem& p) {
  const GroupedDesc& d = p.desc;
  std::string text = p.biased() ? std::string(", plus a bias in ") + dtype_name(d.bias_dtype) : "";
  const std::string function = activation_name(d.activation);
  if (d.gate == Gate::none) return function.empty() ? text : text + ", then " + function;
  text += ", then ";
  text += function.empty() ? "the first" : function + " of the first";
  text += d.gate == Gate::halves ? " half of the columns times the second"
                                 : " of two columns times the second";
  if (d.gate_limit > 0.0f)
    text += std::string(", limited by ") +
            Decimal::shortest(static_cast<double>(d.gate_limit), 6).text();
  return text;
}

}  // namespace

std::string GroupedPlan::explain() const {
  const GroupedDesc& d = problem_.desc;
  const std::string types = types_text(d.a_dtype, d.b_type(), d.d_dtype);
  std::string out = line("grouped product of up to %" PRId64 " rows, n %" PRId64 ", k %" PRId64
                         ", in %" PRId64 " groups with %" PRId64 " weight matrices, %s",
                         d.m, d.n, d.k, d.groups, d.weights, types.c_str());
  out += line("%s", grouping_text(d.grouping));
  if (const std::string text = epilogue_text(problem_); !text.empty())
    out += line("each row is a product%s", text.c_str());
  if (!problem_.ranges())
    out +=
        line("rows of A are %s, and rows of the result are %s",
             problem_.gathers() ? "gathered by index" : "taken in place", combine_text(problem_));
  out += scales_text(d.a_dtype, d.a_scaling, d.b_scaling, d.has(kGroupedDescFast));
  const PlanInfo i = info();
  out += line("kernel %s: at most %u blocks of %u threads, which take tiles in turn", i.kernel,
              i.grid[0], i.block[0]);
  out += explain_choice();
  if (i.workspace_bytes == 0) return out + "no workspace is needed\n";
  out += line("a workspace of %" PRIu64 " bytes", i.workspace_bytes);
  if (parts_.required == parts_.bytes) return out;
  return out + line("a run may do without %" PRIu64
                    " of them: then no tile is shared along k%s, which may be slower",
                    parts_.bytes - parts_.required,
                    parts_.packs ? ", and tiles gather their rows" : "");
}

std::string GroupedPlan::explain_choice() const {
  const GroupedDesc& d = problem_.desc;
  if (!d.candidate.empty()) return "the caller named the kernel\n";
  if (!uses_maps()) {
    const bool has_wgmma = (device()->info().kernel_features & feature::wgmma) != 0;
    const char* const why = grouped_wgmma_refusal(*device(), problem_);
    return has_wgmma && why ? line("not by wgmma: %s", why) : std::string();
  }
  std::string out;
  if (parts_.packs) out += "with a workspace, gathered rows are copied side by side first\n";
  if (!problem_.ranges())
    out += line("tiles of %d columns of B are as wide as a group needs, up to %d rows",
                product_.entry->tile[1], product_.entry->tile[0]);
  if (!fallback_) return out;
  return out + line(
                   "runs with addresses that are not multiples of %d use %s: promise a_alignment "
                   "and b_alignment %d to avoid it",
                   static_cast<int>(kMapAlignment), fallback_.entry->symbol,
                   static_cast<int>(kMapAlignment));
}

Status grouped_candidates_of(const Device& device, const GroupedDesc& desc,
                             std::vector<const KernelEntry*>* out) {
  GroupedProblem problem;
  TW_TRY(grouped_problem(desc, &problem));
  *out = grouped_candidates(device, problem);
  return {};
}

}  // namespace tw
