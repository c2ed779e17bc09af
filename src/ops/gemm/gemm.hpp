// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha * A B + beta * C: from a description to a plan.
//
// A plan serves every m from the description's min_m to its m. The best candidate differs from
// range to range of m; a plan holds the ranges and a ready kernel for each candidate that occurs in
// them, so that a run looks its kernel up by m. Which kernel serves an m does not depend on the
// range that the plan was made for.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/gemm/gemm_kernel.hpp"
#include "ops/gemm/gemm_realign.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

class GemmSpans;

/// Rows m from `first` to `last` are served by one candidate.
struct GemmRange {
  int64_t first = 0, last = 0;
  GemmCandidate candidate;  // its time is for `last` rows
};

/// The ranges of m from min_m (at least 1) to the problem's m, in order. Of a problem without rows
/// one range, which holds 0.
std::vector<GemmRange> gemm_ranges(const GemmRanking& ranking, const GemmProblem& problem);

/// All candidates for the described size, the best first, each as a range of that m alone.
Status gemm_candidates(Device& device, const GemmDesc& desc, std::vector<GemmRange>* out);

/// Ranges of m that explain() lists; of the others it says how many there are.
inline constexpr size_t kRangesShown = 64;

class GemmPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                       std::unique_ptr<Plan>* out) {
    return create(device, desc, nullptr, out);
  }
  /// With measured choices, which are copied; nullptr for none.
  static Status create(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                       const GemmTuning* tuning, std::unique_ptr<Plan>* out);
  /// With one choice for all m, refused where it cannot serve the description.
  static Status create_forced(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                              const GemmChoice& choice, std::unique_ptr<Plan>* out);

  /// What create() checks before it looks for kernels.
  static Status check(const Device& device, const GemmDesc& desc);

  Status run(Stream& stream, const GemmRun& run) const;
  /// Whether a run brings a workspace that it could do without, and which is too small.
  bool has_too_small_a_workspace(const GemmRun& run) const {
    return run.workspace != 0 && run.workspace_bytes >= required_bytes() &&
           run.workspace_bytes < workspace_bytes();
  }
  PlanInfo info() const override;
  std::string explain() const override;

  const std::vector<GemmRange>& ranges() const { return table_.ranges; }
  /// The kernel of a run of m rows (from min_m to the plan's) with aligned addresses.
  const GemmKernel& kernel_for(int64_t m) const { return *table_.at(m); }
  /// The same of a run that reads C.
  const GemmKernel& kernel_with_c(int64_t m) const {
    return *(with_c_.kernels.empty() ? table_ : with_c_).at(m);
  }

  /// For tests that plant a fault in a map: of the kernel for all rows.
  GemmArgs& arguments_for_test() { return table_.kernels.back()->arguments_for_test(); }

 private:
  // Ranges of m and the kernel of each.
  struct Table {
    std::vector<GemmRange> ranges;
    std::vector<GemmKernel*> kernels;

    size_t index(int64_t m) const;
    GemmKernel* at(int64_t m) const { return kernels[index(m)]; }
  };

  GemmPlan(std::shared_ptr<Device> device, const GemmProblem& problem)
      : Plan(std::move(device), Op::gemm), problem_(problem), served_(gemm_served(problem)) {}
  static Status begin(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                      std::unique_ptr<GemmPlan>* out);
  void keep_best(std::vector<GemmCandidate> candidates);
  Status prepare(const GemmRanking& ranking, std::vector<GemmRange> ranges,
                 const GemmChoice* fallback);
  Status fill(std::vector<GemmRange> ranges, Table* table);
  void drop_unused_copies();
  Status kernel_of(const GemmChoice& choice, int64_t rows, GemmKernel** out);
  Status check_run(const GemmRun& run, int64_t m) const;
  Status check_matrices(Stream& stream, const GemmRun& run, int64_t m) const;
  Status add_arrays(const GemmDesc& own, const GemmRun& run, int64_t m, GemmSpans* spans) const;
  Status add_operands(const GemmDesc& own, const GemmRun& run, int64_t m, GemmSpans* spans) const;
  bool uses_workspace(const GemmRun& run) const;
  Status check_workspace(const GemmRun& run) const;
  uint64_t workspace_bytes() const { return required_bytes() + optional_bytes_; }
  uint64_t required_bytes() const;
  Status no_kernel_for(const GemmRun& run) const;
  Status no_kernel_that_does(const GemmRun& run, int64_t m) const;
  std::string explain_choice() const;
  std::string explain_with_c() const;
  std::string explain_options(const GemmDesc& d) const;

  GemmProblem problem_;
  GemmProblem served_;                    // with the pitches of copies
  std::unique_ptr<GemmRealign> realign_;  // nullptr: there are none
  bool forced_ = false;
  std::vector<std::unique_ptr<GemmKernel>> kernels_;
  Table table_;
  Table with_c_;  // for runs that read C where that takes other kernels; empty: none
  std::vector<GemmKernel*> whole_;  // of table_'s ranges, for runs that those do not do; of a
                                    // forced choice there are none
  uint64_t optional_bytes_ = 0;     // of a workspace, for stream-K kernels, behind what is required
  const GemmKernel* fallback_ = nullptr;  // for addresses that maps cannot have
  std::vector<GemmCandidate> best_;       // two for the plan's m: one is not the chosen
};

}  // namespace tw
