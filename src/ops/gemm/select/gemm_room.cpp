// SPDX-License-Identifier: Apache-2.0
// Whether one launch can cover a product's work units, and the errors if none can.
#include <algorithm>
#include <cinttypes>
#include <string>

#include "base/checked.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

// The last number in [first, beyond) for which `holds` is true; `first` if there is none. `holds`
// is monotonic, and false for `beyond`.
template <class Holds>
int64_t last_where(int64_t first, int64_t beyond, Holds holds) {
  while (first + 1 < beyond) {
    const int64_t middle = first + (beyond - first) / 2;
    (holds(middle) ? first : beyond) = middle;
  }
  return first;
}

}  // namespace

Status too_many_gemm_units(const GemmChoice& choice, const GemmProblem& kernel_problem) {
  const int64_t units = gemm_count_units(choice, kernel_problem), most = gemm_max_units(choice);
  return fail(
      Code::ERROR_UNSUPPORTED, {.argument = "m", .rule = "gemm_tiles", .got = units, .limit = most},
      "m %" PRId64 ", n %" PRId64 " and batch_count %" PRId64 " give %" PRId64
      " work units of kernel %s: one launch can have at most %" PRId64,
      kernel_problem.rows(), kernel_problem.swapped ? kernel_problem.desc.m : kernel_problem.desc.n,
      kernel_problem.desc.batch, units, choice.entry->symbol, most);
}

bool gemm_fits_launch(const GemmChoice& choice, const GemmProblem& kernel_problem) {
  const int64_t units = gemm_count_units(choice, kernel_problem);
  return units <= gemm_max_units(choice) &&
         (choice.is_persistent() || kernel_problem.desc.max_sms == 0 ||
          units * choice.cluster() <= kernel_problem.desc.max_sms);
}

bool gemm_surely_fits_launch(const Device& device, const GemmProblem& problem) {
  const GemmDesc& d = problem.desc;
  const int64_t blocks = ceil_div(d.m, kGemmMinTile) * ceil_div(d.n, kGemmMinTile) * d.batch;
  const bool countable = blocks <= INT32_MAX / int64_t{2 * kMaxCluster};
  if (d.has(kGemmInvariant))
    return countable && (d.max_sms == 0 || blocks * kMaxCluster <= d.max_sms);
  if (countable) return true;
  const KernelEntry* general = find_entry(device, Family::gemm, [&](const KernelEntry& entry) {
    constexpr uint32_t kSpecialized =
        kGemmSplit | kGemmShort | kGemmPrologue | kGemmBatched | kGemmStreamK;
    return (entry.variant & (kGemmNoMaps | kSpecialized)) == kGemmNoMaps &&
           ((entry.variant & kGemmEpilogue) != 0) == problem.wants_epilogue_kernel() &&
           gemm_types_fit(entry, d);
  });
  return general && gemm_fits_launch({general, 1}, problem);
}

bool GemmRanking::fits_launch(const GemmChoice& choice, int64_t m) const {
  GemmProblem problem = problem_;
  problem.set_rows(m);
  return gemm_fits_launch(choice, gemm_kernel_view(choice, problem));
}

int64_t GemmRanking::last_that_fits(const GemmChoice& choice, int64_t m, int64_t last) const {
  if (fits_launch(choice, last)) return last;
  return last_where(m, last, [&](int64_t rows) { return fits_launch(choice, rows); });
}

Status GemmRanking::check_fits_launch(int64_t rows) const {
  const auto any = [](const GemmChoice&) { return true; };
  const auto without_maps = [](const GemmChoice& c) { return !c.uses_maps(); };
  const auto for_every_run = [&](const GemmChoice& c) {
    return gemm_serves_every_run(c, problem_.desc);
  };
  TW_TRY(check_any_fits(rows, any));
  if (problem_.wants_fallback()) TW_TRY(check_any_fits(rows, without_maps));
  // Batched and stream-K kernels cannot serve every run, so a plan also needs one that can.
  return check_any_fits(rows, for_every_run);
}

template <class Accepts>
Status GemmRanking::check_any_fits(int64_t rows, Accepts accepts) const {
  GemmProblem problem = problem_;
  problem.set_rows(rows);
  const GemmProblem swapped = swap_ab(problem);
  const auto kernel_problem = [&](const GemmChoice& c) -> const GemmProblem& {
    return c.has(kGemmSwapAB) ? swapped : problem;
  };
  const GemmChoice* least = nullptr;  // the choice that needs the fewest blocks
  int64_t least_blocks = 0;
  for (const GemmChoice& c : choices_) {
    if (!accepts(c)) continue;
    if (gemm_fits_launch(c, kernel_problem(c))) return {};
    const int64_t blocks = gemm_count_units(c, kernel_problem(c)) * c.cluster();
    if (least && blocks >= least_blocks) continue;
    least = &c;
    least_blocks = blocks;
  }
  if (!least) return {};
  return problem_.desc.has(kGemmInvariant) ? invariant_does_not_fit(rows, *least)
                                           : too_many_gemm_units(*least, kernel_problem(*least));
}

Status GemmRanking::invariant_does_not_fit(int64_t rows, const GemmChoice& least) const {
  const int64_t fits = last_where(0, rows, [&](int64_t m) {
    return std::any_of(choices_.begin(), choices_.end(),
                       [&](const GemmChoice& c) { return fits_launch(c, m); });
  });
  GemmProblem problem = problem_;
  problem.set_rows(rows);
  const int64_t blocks =
      gemm_count_units(least, gemm_kernel_view(least, problem)) * least.cluster();
  const GemmDesc& d = problem_.desc;
  const int64_t limit =
      d.max_sms != 0 ? int64_t{d.max_sms} : gemm_max_units(least) * least.cluster();
  const std::string which_m = fits > 0 ? "m up to " + std::to_string(fits) : "no m";
  std::string others, bound = "a launch has 2^31 - 1 at most";
  if (d.max_sms != 0) {
    bound = "max_sms is " + std::to_string(d.max_sms);
    others = ", or for any without the flag, ";
    others += d.a_dtype == DType::BF16 ? "with D in bf16 or with max_sms 0" : "or with max_sms 0";
  }
  return fail(Code::ERROR_UNSUPPORTED,
              {.argument = "m", .rule = "gemm_invariant_room", .got = blocks, .limit = limit},
              "m is %" PRId64 ": with TW_GEMM_BATCH_INVARIANT every m divides k %" PRId64
              " among %u blocks, which needs at least %" PRId64
              " blocks at once, and %s: there is room for %s%s",
              rows, d.k, least.split, blocks, bound.c_str(), which_m.c_str(), others.c_str());
}

}  // namespace tw
