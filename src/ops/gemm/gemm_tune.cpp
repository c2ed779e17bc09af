// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_tune.hpp"

#include <algorithm>
#include <cinttypes>

#include "ops/common/strided_span.hpp"
#include "ops/prefetch/prefetch.hpp"

namespace tw {
namespace {

// A measurement repeats a run until it lasts about this long, so that the overhead of events does
// not matter.
constexpr double kMeasurementNs = 200e3;
constexpr int32_t kMaxRunsPerMeasurement = 64;
// After the first round, candidates that take this many times as long as the fastest are not
// measured again.
constexpr double kDropFactor = 1.3;

struct Contender {
  GemmCandidate candidate;
  std::unique_ptr<Plan> plan;
  std::vector<double> nanoseconds;  // per run, one value per measurement

  const GemmPlan& gemm() const { return static_cast<const GemmPlan&>(*plan); }
  double median() const {
    std::vector<double> sorted = nanoseconds;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }
};

class Stopwatch {
 public:
  Stopwatch(Stream& stream, const GemmRun& run, const GemmTuneDesc& how)
      : stream_(stream), run_(run), how_(how) {}

  Status prepare(const std::shared_ptr<Device>& device) {
    TW_TRY(device->create_event(&start_));
    TW_TRY(device->create_event(&end_));
    if (how_.flush_bytes == 0) return {};
    PrefetchDesc desc;
    desc.dtype = DType::U8;
    desc.rows = 1;
    desc.columns = static_cast<int64_t>(how_.flush_bytes);
    return PrefetchPlan::create(device, desc, &flush_);
  }

  // Measures `runs` runs back to back, and gives the nanoseconds per run.
  Status time(const GemmPlan& plan, int32_t runs, double* nanoseconds) {
    if (flush_) TW_TRY(static_cast<const PrefetchPlan&>(*flush_).run(stream_, how_.flush));
    TW_TRY(stream_.record(*start_));
    for (int32_t i = 0; i < runs; ++i) TW_TRY(run(plan));
    TW_TRY(stream_.record(*end_));
    TW_TRY(end_->synchronize());
    float milliseconds = 0;
    TW_TRY(end_->elapsed_since(*start_, &milliseconds));
    *nanoseconds = double{milliseconds} * 1e6 / runs;
    return {};
  }

  Status run(const GemmPlan& plan) {
    const Status status = plan.run(stream_, run_);
    return status.ok() || how_.scratch_d == 0 ? status
                                              : fail_context(status, "scratch_d is the runs' d");
  }

  bool flushes() const { return flush_ != nullptr; }

 private:
  Stream& stream_;
  const GemmRun& run_;
  const GemmTuneDesc& how_;
  std::unique_ptr<Event> start_, end_;
  std::unique_ptr<Plan> flush_;
};

Status check_tune(const GemmTuneDesc& how) {
  if (how.candidates < 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "candidates", .rule = "gemm_tune_candidates", .got = how.candidates},
                "candidates is %d: how many are tried, or 0 for all", how.candidates);
  if (how.rounds < 1 || how.rounds > 1000)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "rounds", .rule = "gemm_tune_rounds", .got = how.rounds, .limit = 1000},
        "rounds is %d: each candidate is measured 1 to 1000 times", how.rounds);
  if ((how.flush == 0) != (how.flush_bytes == 0))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "flush", .rule = "gemm_tune_flush"},
                "flush is 0x%" PRIx64 " and flush_bytes %" PRIu64
                ": set both to the memory that is read between runs, or both to 0",
                how.flush, how.flush_bytes);
  if (how.flush_bytes > uint64_t{kMaxSpan})
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "flush_bytes",
                 .rule = "gemm_tune_flush_bytes",
                 .got = static_cast<int64_t>(how.flush_bytes),
                 .limit = kMaxSpan},
                "flush_bytes is %" PRIu64 ": what is read between runs has %" PRId64
                " bytes (2^60) at most, and a few times the L2 cache's size will do",
                how.flush_bytes, kMaxSpan);
  return {};
}

// The description with exactly the run's rows, but the leading dimensions of the full matrices.
Status exact_desc(const GemmDesc& desc, const GemmRun& run, GemmDesc* out) {
  GemmProblem problem;
  TW_TRY(gemm_problem(desc, &problem));
  *out = problem.swapped ? swap_ab(problem).desc : problem.desc;
  const int64_t m = run.m == -1 ? desc.m : run.m;
  if (m < desc.min_m || m > desc.m)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "m", .rule = "gemm_run_m", .got = m, .limit = desc.m},
                "m is %" PRId64 ": the description is for %" PRId64 " to %" PRId64
                " rows (-1 means all)",
                m, desc.min_m, desc.m);
  if (m == 0 || desc.n == 0 || desc.k == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = m == 0        ? "m"
                             : desc.n == 0 ? "n"
                                           : "k",
                 .rule = "gemm_tune_empty",
                 .limit = 1},
                "m %" PRId64 ", n %" PRId64 ", k %" PRId64
                ": an empty product has no choice to make",
                m, desc.n, desc.k);
  if (desc.batch == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "batch_count", .rule = "gemm_tune_empty"},
                "batch_count is 0: a batch of no products has no choice to make");
  out->m = out->min_m = m;
  return {};
}

}  // namespace

Status tune_gemm(const std::shared_ptr<Device>& device, Stream& stream, const GemmDesc& desc,
                 const GemmRun& run, const GemmTuneDesc& how, const GemmTuning& known,
                 GemmTuningEntry* out) {
  TW_TRY(check_tune(how));
  GemmDesc exact;
  TW_TRY(exact_desc(desc, run, &exact));
  GemmRun tuned_run = run;
  tuned_run.m = exact.m;
  if (how.scratch_d != 0 && exact.has(kGemmPointers))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "scratch_d", .rule = "gemm_tune_pointers"},
                "scratch_d replaces D, but with TW_GEMM_BATCH_POINTERS d is an array of addresses: "
                "put scratch matrices into that array, and leave scratch_d 0");
  if (how.scratch_d != 0) tuned_run.d = how.scratch_d;
  TW_TRY(device->check_memory("flush", how.flush, how.flush_bytes));
  TW_TRY(stream.synchronize());  // fails on a captured stream before anything is launched

  GemmProblem problem;
  TW_TRY(gemm_problem(exact, &problem));
  TW_TRY(query_cluster_occupancy(*device));
  std::vector<Contender> contenders;
  const GemmProblem staged = gemm_with_staging(problem);
  const GemmRanking ranking(*device, staged, &known);
  TW_TRY(ranking.check_fits_launch(exact.m));
  for (const GemmCandidate& candidate : ranking.candidates(exact.m)) {
    if (how.candidates != 0 && contenders.size() == static_cast<size_t>(how.candidates)) break;
    if (candidate.choice.uses_maps() && !exact.staging_copy && !exact.has(kGemmPointers) &&
        !addresses_suit_maps(tuned_run))
      continue;
    Contender contender{.candidate = candidate};
    TW_TRY(GemmPlan::create_forced(device, exact, candidate.choice, &contender.plan));
    // For a run that this kernel cannot do, a plan uses another kernel, which is a contender
    // itself.
    if (!contender.gemm().kernel_for(exact.m).supports(tuned_run, exact.m)) continue;
    if (contender.gemm().has_too_small_a_workspace(tuned_run)) continue;
    contenders.push_back(std::move(contender));
  }
  if (contenders.empty())
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "desc"},
                "no gemm kernel supports this description on %s", device->info().name.c_str());

  Stopwatch watch(stream, tuned_run, how);
  TW_TRY(watch.prepare(device));
  double best = 0;
  for (int32_t round = -1; round < how.rounds; ++round)  // round -1 warms up
    for (Contender& contender : contenders) {
      const double last = contender.nanoseconds.empty() ? 0 : contender.median();
      if (round > 0 && last > best * kDropFactor) continue;
      const int32_t runs =
          watch.flushes() || round < 0
              ? 1
              : static_cast<int32_t>(std::clamp(kMeasurementNs / std::max(last, 1.0), 1.0,
                                                double{kMaxRunsPerMeasurement}));
      double time = 0;
      TW_TRY(watch.time(contender.gemm(), runs, &time));
      // The warm-up's time only decides how many runs the first measurement has.
      if (round <= 0) contender.nanoseconds.clear();
      contender.nanoseconds.push_back(time);
      if (round >= 0 && (best == 0 || contender.median() < best)) best = contender.median();
    }
  const auto fastest = std::min_element(
      contenders.begin(), contenders.end(),
      [](const Contender& a, const Contender& b) { return a.median() < b.median(); });
  *out = {gemm_tuning_key(*device, problem), exact.m, fastest->candidate};
  out->candidate.nanoseconds = std::max(fastest->median(), 1.0);
  out->candidate.measured = true;
  return {};
}

}  // namespace tw
