// SPDX-License-Identifier: Apache-2.0
// A product of equal groups takes about as long as a batch with a product for each group, because
// the grouped kernels share their main loops and epilogues with kernels of the gemm family. So
// these functions describe such a batch, and a kernel of the gemm family, to the cost model of
// GEMM.
#include "ops/grouped/grouped_cost.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm.h"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/grouped/grouped_wgmma.hpp"

namespace tw {
namespace {

// The kernel of the gemm family that resembles a grouped kernel. The wgmma kernels use swap-AB, so
// their tile's rows are columns of B.
KernelEntry similar_entry(const GroupedProblem& problem, const KernelEntry& grouped) {
  KernelEntry entry = grouped;
  entry.family = Family::gemm;
  if ((grouped.variant & kGroupedWgmma) == 0) {
    entry.variant = kGemmNoMaps | kGemmEpilogue;
    return entry;
  }
  const bool narrow = problem.desc.is_narrow();
  std::swap(entry.tile[0], entry.tile[1]);
  entry.variant = narrow ? kSchedule_scaledgrouped : kSchedule_grouped;
  // Tokens that are contiguous along k take only a tile's rows in a stage, not boxes of 64.
  if (!problem.has_k_ranges()) entry.variant |= kGemmColumnB;
  if (narrow && problem.desc.has(kGroupedDescFast)) entry.variant |= kGemmNoPromotion;
  return entry;
}

void fill_operands(const GroupedProblem& problem, GemmDesc* to) {
  const GroupedDesc& d = problem.desc;
  to->a_dtype = d.a_dtype, to->b_dtype = d.b_type(), to->d_dtype = d.d_dtype;
  to->a_order = problem.has_k_ranges() ? Order::column : Order::row;
  to->b_order = d.b_order;
  to->lda = d.lda, to->ldb = d.ldb, to->ldd = d.ldd;
  to->a_scaling = d.a_scaling, to->b_scaling = d.b_scaling;
  to->fast_accumulate = d.has(kGroupedDescFast);
  to->epilogue.bias = problem.has_bias() ? Per::column : Per::none;
  to->epilogue.activation = d.activation;
  to->epilogue.gate = d.gate;
  if (d.has(kGroupedDescProgrammatic)) to->flags |= kGemmProgrammatic;
}

// The batch that a typical run resembles.
GemmProblem similar_batch(const GroupedProblem& problem, bool copies_rows) {
  const GroupedDesc& d = problem.desc;
  const GroupedTypicalRun run = grouped_typical_run(problem);
  GemmProblem batch;
  fill_operands(problem, &batch.desc);
  batch.in_bytes = static_cast<int32_t>(problem.in_bytes);
  batch.out_bytes = static_cast<int32_t>(problem.out_bytes);
  batch.desc.batch = std::max<int64_t>(run.groups, 1);
  batch.desc.m = problem.has_k_ranges() ? d.m : run.rows;
  batch.desc.n = d.n;
  batch.desc.k = problem.has_k_ranges() ? run.rows : d.k;
  if (copies_rows) {
    const auto rows = static_cast<double>(run.groups * run.rows);
    batch.staging_copies = 1;
    batch.staging_copy_bytes =
        2 * rows * static_cast<double>(d.k) * static_cast<double>(problem.in_bytes);
  }
  return batch;
}

}  // namespace

GroupedTypicalRun grouped_typical_run(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  const bool masked = d.grouping == Grouping::masked;
  const int64_t all = problem.has_k_ranges() ? d.k : masked ? d.group_rows * d.groups : d.m;
  if (all == 0 || d.groups == 0) return {};
  const int64_t most = masked ? d.group_rows : all;
  if (d.expected_rows == 0) {
    const int64_t groups = std::min(d.groups, all);
    return {groups, std::min(most, ceil_div(all, groups))};
  }
  const int64_t rows = std::min(d.expected_rows, most);
  return {masked ? d.groups : std::min(d.groups, ceil_div(all, rows)), rows};
}

GroupedCandidate grouped_candidate(const Device& device, const GroupedProblem& problem,
                                   const KernelEntry& entry) {
  const bool wgmma = (entry.variant & kGroupedWgmma) != 0;
  const KernelEntry similar = similar_entry(problem, entry);
  GemmChip chip = GemmChip::of(device, problem.desc.max_sms);
  // No cluster adds up the parts of a tile. They are added in the workspace.
  std::fill(std::begin(chip.clusters) + 2, std::end(chip.clusters), 0);
  GemmChoice choice;
  choice.entry = &similar;
  choice.split = wgmma && grouped_may_divide(problem) ? kMaxCluster : 1;
  const bool copies_rows = wgmma && grouped_packed_bytes(problem) != 0;
  const GemmProblem batch = similar_batch(problem, copies_rows);
  if (batch.desc.m == 0 || batch.desc.n == 0) return {&entry};
  const GemmCandidate candidate = gemm_candidate(choice, gemm_kernel_view(choice, batch), chip);
  return {&entry, candidate.nanoseconds, candidate.waves};
}

}  // namespace tw
