// SPDX-License-Identifier: Apache-2.0
#pragma once
// GEMM plans: from a description to a launch.
//
// A plan serves every m from the description's min_m to its m. The best candidate depends on m, so
// a plan holds ranges of m with a ready kernel each, and a run looks its kernel up by m. The kernel
// for an m does not depend on the range of m that the plan covers. If a run asks for something that
// its kernel cannot do, it uses a more general kernel of the plan (for_every_run_ or fallback_).
// Runs that read C may have ranges of their own (with_c_).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/gemm/gemm_kernel.hpp"
#include "ops/gemm/gemm_staging.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

class GemmSpans;

/// The candidate for m from `first` to `last`.
struct GemmRange {
  int64_t first = 0, last = 0;
  GemmCandidate candidate;  // its time is for `last` rows
};

/// The ranges of m from min_m (at least 1) to the problem's m, in order. A problem without rows has
/// one range, which holds 0.
std::vector<GemmRange> gemm_ranges(const GemmRanking& ranking, const GemmProblem& problem);

/// All candidates for the described size, best first, each as a range with that m only.
Status gemm_candidates(Device& device, const GemmDesc& desc, std::vector<GemmRange>* out);

/// explain() lists at most this many ranges of m, and gives the number of the others.
inline constexpr size_t kMaxRangesShown = 64;

class GemmPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                       std::unique_ptr<Plan>* out) {
    return create(device, desc, nullptr, out);
  }
  /// `tuning` may be nullptr and need not outlive the call.
  static Status create(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                       const GemmTuning* tuning, std::unique_ptr<Plan>* out);
  /// A plan that uses one choice for every m. Fails if it cannot serve the description.
  static Status create_forced(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                              const GemmChoice& choice, std::unique_ptr<Plan>* out);

  /// The checks of create() that need no kernels.
  static Status check(const Device& device, const GemmDesc& desc);

  Status run(Stream& stream, const GemmRun& run) const;
  /// Whether a run gives a workspace that has the required bytes, but not all optional ones.
  bool has_too_small_a_workspace(const GemmRun& run) const {
    return run.workspace != 0 && run.workspace_bytes >= required_bytes() &&
           run.workspace_bytes < workspace_bytes();
  }
  PlanInfo info() const override;
  std::string explain() const override;

  const std::vector<GemmRange>& ranges() const { return table_.ranges; }
  /// The kernel for a run of m rows (min_m to the plan's m) with aligned addresses.
  const GemmKernel& kernel_for(int64_t m) const { return *table_.at(m); }
  /// The kernel for such a run that reads C.
  const GemmKernel& kernel_with_c(int64_t m) const {
    return *(with_c_.kernels.empty() ? table_ : with_c_).at(m);
  }

  /// For tests that corrupt a map: the arguments of the kernel for the plan's m.
  GemmArgs& arguments_for_test() { return table_.kernels.back()->arguments_for_test(); }

 private:
  struct Table {
    std::vector<GemmRange> ranges;
    std::vector<GemmKernel*> kernels;

    size_t index(int64_t m) const;
    GemmKernel* at(int64_t m) const { return kernels[index(m)]; }
  };

  GemmPlan(std::shared_ptr<Device> device, const GemmProblem& problem)
      : Plan(std::move(device), Op::gemm),
        problem_(problem),
        staged_problem_(gemm_with_staging(problem)) {}
  static Status create_without_kernels(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                                       std::unique_ptr<GemmPlan>* out);
  void keep_best(std::vector<GemmCandidate> candidates);
  Status prepare(const GemmRanking& ranking, std::vector<GemmRange> ranges,
                 const GemmChoice* fallback);
  Status fill_table(std::vector<GemmRange> ranges, Table* table);
  void drop_unused_copies();
  Status find_or_create_kernel(const GemmChoice& choice, int64_t rows, GemmKernel** out);
  Status check_run(const GemmRun& run, int64_t m) const;
  Status check_matrices(Stream& stream, const GemmRun& run, int64_t m) const;
  Status add_arrays(const GemmDesc& caller, const GemmRun& run, int64_t m, GemmSpans* spans) const;
  Status add_operands(const GemmDesc& caller, const GemmRun& run, int64_t m,
                      GemmSpans* spans) const;
  bool uses_workspace(const GemmRun& run) const;
  Status check_workspace(const GemmRun& run) const;
  uint64_t workspace_bytes() const { return required_bytes() + optional_bytes_; }
  uint64_t required_bytes() const;
  Status forced_kernel_misaligned(const GemmRun& run) const;
  Status forced_kernel_cannot(const GemmRun& run, int64_t m) const;
  std::string explain_choice() const;
  std::string explain_with_c() const;
  std::string explain_options(const GemmDesc& d) const;

  GemmProblem problem_;
  // The problem of TMA kernels: problem_ with the pitches and orders of the staging copies.
  GemmProblem staged_problem_;
  std::unique_ptr<GemmStagingCopies> staging_copies_;  // nullptr: no operand needs a copy
  bool forced_ = false;
  std::vector<std::unique_ptr<GemmKernel>> kernels_;
  Table table_;
  Table with_c_;  // for runs that read C; empty if these use the kernels of table_
  // For each range of table_, a kernel that serves every run. Empty if the choice is forced.
  std::vector<GemmKernel*> for_every_run_;
  uint64_t optional_bytes_ = 0;           // workspace for stream-K kernels, after the required part
  const GemmKernel* fallback_ = nullptr;  // for addresses that do not suit maps
  std::vector<GemmCandidate> best_;       // the best two for the plan's m, for explain()
};

}  // namespace tw
