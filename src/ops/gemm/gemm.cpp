// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm.hpp"

#include <algorithm>
#include <cinttypes>
#include <initializer_list>
#include <optional>

namespace tw {
namespace {

// The product of non-negative factors, saturated at UINT64_MAX.
uint64_t saturated_product(std::initializer_list<int64_t> factors) {
  uint64_t out = 1;
  bool overflowed = false;
  for (const int64_t factor : factors) {
    if (factor == 0) return 0;
    overflowed = __builtin_mul_overflow(out, static_cast<uint64_t>(factor), &out) || overflowed;
  }
  return overflowed ? UINT64_MAX : out;
}

// The problem by which epilogue kernels are ranked for runs that read C. It is empty if runs that
// read C must use the same kernels as runs that do not. Basic kernels read C element by element
// after the main loop, which for some tiles takes longer than the product. Epilogue kernels begin
// to load C before the main loop, 16 bytes at a time.
std::optional<GemmProblem> problem_with_c(const GemmProblem& problem) {
  const GemmDesc& d = problem.desc;
  if (problem.wants_batch() || problem.gated() || problem.out_bytes != 2 ||
      d.accumulator != DType::F32 || d.has(kGemmInvariant) || d.c_alignment < kMapAlignment ||
      !pitch_suits_maps(d.ldc * problem.out_bytes) || !problem.d_pitch_suits_maps())
    return {};
  GemmProblem with_c = problem;
  with_c.reads_c = true;
  return with_c;
}

// The fewest rows of a non-empty run; 0 if all runs are empty.
int64_t min_rows(const GemmProblem& problem) {
  return std::min(std::max<int64_t>(problem.desc.min_m, 1), problem.rows());
}

bool same_choices(const std::vector<GemmRange>& a, const std::vector<GemmRange>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const GemmRange& one, const GemmRange& other) {
        return one.last == other.last && one.candidate.choice == other.candidate.choice;
      });
}

}  // namespace

size_t GemmPlan::Table::index(int64_t m) const {
  const auto found =
      std::lower_bound(ranges.begin(), ranges.end(), m,
                       [](const GemmRange& r, int64_t rows) { return r.last < rows; });
  const auto last = static_cast<int64_t>(ranges.size()) - 1;
  return static_cast<size_t>(std::min<int64_t>(found - ranges.begin(), last));
}

std::vector<GemmRange> gemm_ranges(const GemmRanking& ranking, const GemmProblem& problem) {
  const int64_t rows = problem.rows();
  std::vector<GemmRange> ranges;
  for (int64_t m = min_rows(problem); m <= rows;) {
    const GemmCandidate best = ranking.best(m);
    int64_t last = std::min(gemm_step_end(m), rows);
    // Within a step, m may grow beyond what one launch of the choice can cover. Up to that m the
    // choice is the best one for the whole step.
    if (best.choice.entry) last = ranking.last_that_fits(best.choice, m, last);
    if (ranges.empty() || !(ranges.back().candidate.choice == best.choice))
      ranges.push_back({.first = m});
    ranges.back().last = last;
    ranges.back().candidate = best;
    m = last + 1;
  }
  return ranges;
}

Status gemm_candidates(Device& device, const GemmDesc& desc, std::vector<GemmRange>* out) {
  GemmProblem problem;
  TW_TRY(gemm_problem(desc, &problem));
  TW_TRY(query_cluster_occupancy(device));
  const int64_t rows = problem.rows();
  const GemmRanking ranking(device, gemm_with_staging(problem));
  TW_TRY(ranking.check_fits_launch(rows));
  for (const GemmCandidate& candidate : ranking.candidates(rows))
    out->push_back({.first = rows, .last = rows, .candidate = candidate});
  return {};
}

Status GemmPlan::check(const Device& device, const GemmDesc& desc) {
  GemmProblem problem;
  TW_TRY(gemm_problem(desc, &problem));
  if (desc.staging_copy) TW_TRY(GemmStagingCopies::check(device, problem));
  const GemmProblem staged = gemm_with_staging(problem);
  if (gemm_surely_fits_launch(device, staged)) return {};
  return GemmRanking(device, staged).check_fits_launch(staged.rows());
}

Status GemmPlan::create_without_kernels(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                                        std::unique_ptr<GemmPlan>* out) {
  GemmProblem problem;
  TW_TRY(gemm_problem(desc, &problem));
  TW_TRY(query_cluster_occupancy(*device));
  out->reset(new GemmPlan(device, problem));
  TW_TRY(GemmStagingCopies::create(device, problem, &(*out)->staging_copies_));
  // Each run writes the copies anew, so these operands are not constant for the product kernel.
  if ((*out)->staging_copies_)
    (*out)->staged_problem_.desc.flags &= ~(kGemmConstantA | kGemmConstantB);
  return {};
}

Status GemmPlan::create(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                        const GemmTuning* tuning, std::unique_ptr<Plan>* out) {
  std::unique_ptr<GemmPlan> plan;
  TW_TRY(create_without_kernels(device, desc, &plan));
  const GemmProblem& staged = plan->staged_problem_;
  const GemmRanking ranking(*device, staged, tuning);
  TW_TRY(ranking.check_fits_launch(staged.rows()));
  plan->keep_best(ranking.candidates(staged.rows()));
  const GemmChoice without_maps = ranking.best_without_maps(staged.rows()).choice;
  TW_TRY(plan->prepare(ranking, gemm_ranges(ranking, staged),
                       staged.wants_fallback() ? &without_maps : nullptr));
  const std::optional<GemmProblem> with_c = problem_with_c(staged);
  if (with_c && !ranking.is_tuned() && plan->table_.kernels.back()->choice().uses_maps()) {
    const GemmRanking ranking_with_c(*device, *with_c, tuning);
    const GemmCandidate best = ranking_with_c.best(with_c->rows());
    std::vector<GemmRange> ranges = gemm_ranges(ranking_with_c, *with_c);
    if (best.choice.entry && best.choice.uses_maps() && !same_choices(ranges, plan->ranges()))
      TW_TRY(plan->fill_table(std::move(ranges), &plan->with_c_));
  }
  plan->drop_unused_copies();
  *out = std::move(plan);
  return {};
}

Status GemmPlan::create_forced(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                               const GemmChoice& choice, std::unique_ptr<Plan>* out) {
  std::unique_ptr<GemmPlan> plan;
  TW_TRY(create_without_kernels(device, desc, &plan));
  const GemmProblem& staged = plan->staged_problem_;
  TW_TRY(check_gemm_choice(*device, staged, choice));
  const GemmRanking ranking(*device, staged);
  if (desc.has(kGemmInvariant) && !ranking.has(choice))
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "candidate", .rule = "candidate_invariant"},
                "candidate %s adds in another order than the kernels of TW_GEMM_BATCH_INVARIANT "
                "for this n and k: use one that tw_gemm_candidates() lists",
                gemm_choice_text(choice).c_str());
  plan->forced_ = true;
  plan->keep_best(ranking.candidates(staged.rows()));
  const int64_t rows = staged.rows();
  GemmProblem kernel_problem = staged;
  kernel_problem.set_rows(gemm_step_end(rows));
  kernel_problem = gemm_kernel_view(choice, kernel_problem);
  const GemmCandidate candidate =
      gemm_candidate(choice, kernel_problem, GemmChip::of(*device, desc.max_sms));
  TW_TRY(plan->prepare(ranking, {{.first = min_rows(staged), .last = rows, .candidate = candidate}},
                       nullptr));
  plan->drop_unused_copies();
  *out = std::move(plan);
  return {};
}

void GemmPlan::keep_best(std::vector<GemmCandidate> candidates) {
  candidates.resize(std::min<size_t>(candidates.size(), 2));
  best_ = std::move(candidates);
}

Status GemmPlan::fill_table(std::vector<GemmRange> ranges, Table* table) {
  table->ranges = std::move(ranges);
  for (const GemmRange& range : table->ranges) {
    GemmKernel* kernel = nullptr;
    TW_TRY(find_or_create_kernel(range.candidate.choice, range.last, &kernel));
    table->kernels.push_back(kernel);
    optional_bytes_ = std::max(optional_bytes_, kernel->workspace_bytes(range.first, range.last));
  }
  return {};
}

Status GemmPlan::prepare(const GemmRanking& ranking, std::vector<GemmRange> ranges,
                         const GemmChoice* fallback) {
  TW_TRY(fill_table(std::move(ranges), &table_));
  for (size_t i = 0; i < table_.ranges.size(); ++i) {
    const GemmRange& range = table_.ranges[i];
    GemmKernel* kernel = table_.kernels[i];
    if (forced_) continue;
    if (!gemm_serves_every_run(range.candidate.choice, staged_problem_.desc))
      TW_TRY(find_or_create_kernel(ranking.best_for_every_run(range.last).choice, range.last,
                                   &kernel));
    for_every_run_.push_back(kernel);
  }
  if (!fallback) return {};
  GemmKernel* kernel = nullptr;
  TW_TRY(find_or_create_kernel(*fallback, problem_.rows(), &kernel));
  fallback_ = kernel;
  return {};
}

void GemmPlan::drop_unused_copies() {
  const auto uses_maps = [](const auto& kernel) { return kernel->choice().uses_maps(); };
  if (std::none_of(kernels_.begin(), kernels_.end(), uses_maps)) staging_copies_.reset();
}

// Ranges with the same choice use the same kernel.
Status GemmPlan::find_or_create_kernel(const GemmChoice& choice, int64_t rows, GemmKernel** out) {
  for (const auto& kernel : kernels_)
    if (kernel->choice() == choice) {
      *out = kernel.get();
      return kernel->check_rows(rows);
    }
  std::unique_ptr<GemmKernel> kernel;
  const bool uses_maps = choice.entry && choice.uses_maps();
  TW_TRY(
      GemmKernel::create(*device(), uses_maps ? staged_problem_ : problem_, choice, rows, &kernel));
  *out = kernel.get();
  kernels_.push_back(std::move(kernel));
  return {};
}

Status GemmPlan::forced_kernel_misaligned(const GemmRun& run) const {
  const bool a = run.a % kMapAlignment != 0;
  return fail(Code::ERROR_MISALIGNED,
              {.argument = a ? "a" : "b",
               .rule = "candidate_alignment",
               .got = static_cast<int64_t>((a ? run.a : run.b) % kMapAlignment),
               .limit = kMapAlignment},
              "%s is 0x%" PRIx64
              ": the plan's forced candidate %s uses tensor maps, which need addresses that are "
              "multiples of 16",
              a ? "a" : "b", a ? run.a : run.b,
              gemm_choice_text(ranges().back().candidate.choice).c_str());
}

// The error for a run that the forced kernel cannot do. Only batched and stream-K kernels can
// refuse one.
Status GemmPlan::forced_kernel_cannot(const GemmRun& run, int64_t m) const {
  const GemmChoice& choice = ranges().back().candidate.choice;
  const std::string text = gemm_choice_text(choice);
  const char* const kernel_name = text.c_str();
  const struct {
    const char* name;
    bool asked;
  } unsupported[] = {{"device_m", run.device_m != 0},
                     {"device_alpha", run.device_alpha != 0},
                     {"device_beta", run.device_beta != 0},
                     {"beta", run.beta != 0.0f}};
  for (const auto& [name, asked] : unsupported)
    if (asked && !(choice.has(kGemmStreamK) && choice.has(kGemmEpilogue)))
      return fail(Code::ERROR_UNSUPPORTED, {.argument = name, .rule = "candidate_alone"},
                  "%s is not 0: the plan's forced candidate %s only computes alpha * A B with m "
                  "and alpha from the host: force an epilogue kernel, or let the plan choose",
                  name, kernel_name);
  // A basic stream-K kernel always reads A and B (GemmKernel::supports()).
  const bool is_basic_stream_k = choice.has(kGemmStreamK) && !choice.has(kGemmEpilogue);
  if (is_basic_stream_k && (!run.reads_ab() || problem_.desc.k == 0)) {
    const char* const zero = run.reads_ab() ? "k" : "alpha";
    return fail(Code::ERROR_UNSUPPORTED, {.argument = zero, .rule = "candidate_alone"},
                "%s is 0: the plan's forced candidate %s can only multiply A and B: force another "
                "kernel, or let the plan choose",
                zero, kernel_name);
  }
  if (run.workspace == 0 && workspace_bytes() > 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "workspace",
                 .rule = "candidate_workspace",
                 .limit = static_cast<int64_t>(workspace_bytes())},
                "workspace is NULL: the plan's forced candidate %s needs one of %" PRIu64
                " bytes for partial accumulators: pass it, or let the plan choose",
                kernel_name, workspace_bytes());
  if (run.d % kMapAlignment != 0)
    return fail(Code::ERROR_MISALIGNED,
                {.argument = "d",
                 .rule = "candidate_alignment",
                 .got = static_cast<int64_t>(run.d % kMapAlignment),
                 .limit = kMapAlignment},
                "d is 0x%" PRIx64
                ": the plan's forced candidate %s stores D in pieces of 16 bytes, which needs "
                "an address that is a multiple of 16",
                run.d, kernel_name);
  const int64_t step = kMapAlignment / problem_.out_bytes;
  return fail(
      Code::ERROR_UNSUPPORTED, {.argument = "m", .rule = "candidate_rows", .got = m, .limit = step},
      "m is %" PRId64
      ": the plan's forced candidate %s stores lines of D along m in pieces of 16 bytes, so "
      "m must be a multiple of %" PRId64 ": or force an epilogue kernel",
      m, kernel_name, step);
}

Status GemmPlan::run(Stream& stream, const GemmRun& run) const {
  const int64_t planned_m = problem_.rows();
  const int64_t min_m = problem_.desc.min_m;
  const int64_t m = run.m == -1 ? planned_m : run.m;
  if (m < 0 || m > planned_m || (m < min_m && m != 0))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "m",
                 .rule = "gemm_run_m",
                 .got = m,
                 .limit = m > planned_m ? planned_m : min_m},
                "m is %" PRId64 ": the plan was made for %" PRId64 " to %" PRId64
                " (-1 means all, 0 does nothing)",
                m, min_m, planned_m);
  const GemmDesc& d = problem_.desc;
  if (m == 0 || d.batch == 0 || (problem_.swapped ? d.m : d.n) == 0) return {};
  TW_TRY(check_run(run, m));
  if (d.has(kGemmPointers) && device()->checks_memory()) TW_TRY(check_matrices(stream, run, m));
  const GemmKernel* kernel = run.reads_c() ? &kernel_with_c(m) : &kernel_for(m);
  if (!kernel->supports(run, m)) {
    if (forced_) return forced_kernel_cannot(run, m);
    kernel = for_every_run_[table_.index(m)];
  }
  // If A and B are not read, their addresses may be anything.
  const bool reads_ab = run.reads_ab() && d.k > 0;
  if (reads_ab && staging_copies_ && kernel->choice().uses_maps()) {
    GemmRun staged_run = run;
    u32 staged_operands = 0;
    TW_TRY(staging_copies_->apply(stream, &staged_run, &staged_operands));
    staged_run.workspace += required_bytes();
    return kernel->launch(stream, staged_run, m, staged_operands);
  }
  if (reads_ab && !kernel->addresses_suit(run)) {
    if (!fallback_) return forced_kernel_misaligned(run);
    kernel = fallback_;
  }
  return kernel->launch(stream, run, m);
}

PlanInfo GemmPlan::info() const {
  const GemmDesc& d = problem_.desc;
  const GemmKernel& kernel = *table_.kernels.back();
  const KernelEntry& entry = *kernel.choice().entry;
  const bool empty = d.m == 0 || d.n == 0 || d.batch == 0;
  const LaunchConfig launch = kernel.config(empty ? 0 : problem_.rows());

  PlanInfo info;
  info.op = Op::gemm;
  info.kernel = entry.symbol;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
    info.tile[i] = static_cast<uint32_t>(entry.tile[i]);
  }
  info.stages = static_cast<uint32_t>(entry.stages);
  info.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  info.boxes_loaded = empty ? 0 : kernel.boxes_loaded(problem_.rows());
  info.boxes_stored = empty ? 0 : kernel.boxes_stored(problem_.rows());
  // A matrix that all products share counts once.
  const int64_t a_matrices = d.a_batch_stride == 0 ? std::min<int64_t>(d.batch, 1) : d.batch;
  const int64_t b_matrices = d.b_batch_stride == 0 ? std::min<int64_t>(d.batch, 1) : d.batch;
  const uint64_t a_bytes = saturated_product({d.m, d.k, a_matrices, problem_.in_bytes});
  const uint64_t b_bytes = saturated_product({d.k, d.n, b_matrices, problem_.in_bytes});
  info.bytes_read = a_bytes > UINT64_MAX - b_bytes ? UINT64_MAX : a_bytes + b_bytes;
  info.bytes_written =
      saturated_product({problem_.d_rows(), problem_.d_columns(), d.batch, problem_.out_bytes});
  info.workspace_bytes = workspace_bytes();
  info.flops = saturated_product({2, d.m, d.n, d.k, d.batch});
  return info;
}

}  // namespace tw
