// SPDX-License-Identifier: Apache-2.0
#include "ops/grouped/grouped_explain.hpp"

#include <cinttypes>

#include "base/decimal.hpp"
#include "ops/common/explain_line.hpp"
#include "ops/gemm/gemm_scales.hpp"
#include "ops/grouped/grouped_kernel.hpp"

namespace tw {
namespace {

const char* grouping_text(Grouping grouping) {
  constexpr const char* kTexts[] = {
      "all rows are one group",
      "groups are given by their ends",
      "groups are given by their begins and the end of the last",
      "groups are given by their ends and begin at multiples of row_alignment",
      "the group of each row is given",
      "each group has room for group_rows rows and uses the first of them",
      "groups are ranges of k"};
  return kTexts[static_cast<int>(grouping)];
}

const char* combine_text(const GroupedProblem& p) {
  if (p.desc.combine == Combine::add_atomic) return "added to rows of D by index, in any order";
  if (p.sums())
    return p.has_inverse() ? "summed into rows of D in the order of inverse"
                           : "summed into rows of D by index, in ascending order";
  if (p.adds_in_order())
    return p.has_inverse() ? "added to rows of D in the order of inverse"
                           : "added to rows of D by index, in ascending order";
  return p.scatters() ? "stored at rows of D by index" : "stored in place";
}

std::string epilogue_text(const GroupedProblem& p) {
  const GroupedDesc& d = p.desc;
  std::string text =
      p.has_bias() ? std::string(", plus a bias in ") + dtype_name(d.bias_dtype) : "";
  const std::string function = activation_name(d.activation);
  if (d.gate == Gate::none) return function.empty() ? text : text + ", then " + function;
  text += ", then ";
  text += function.empty() ? "the first" : function + " of the first";
  text += d.gate == Gate::halves ? " half of the columns times the second"
                                 : " of two columns times the second";
  if (d.gate_limit > 0.0f)
    text += std::string(", limited by ") +
            Decimal::significant(static_cast<double>(d.gate_limit), 6).text();
  return text;
}

std::string microseconds(const GroupedCandidate& candidate) {
  return Decimal(candidate.nanoseconds / 1e3, 2).text();
}

}  // namespace

std::string grouped_problem_text(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  const std::string types = types_text(d.a_dtype, d.b_type(), d.d_dtype);
  std::string out = line("grouped product of up to %" PRId64 " rows, n %" PRId64 ", k %" PRId64
                         ", in %" PRId64 " groups with %" PRId64 " weight matrices, %s",
                         d.m, d.n, d.k, d.groups, d.weight_count, types.c_str());
  out += line("%s", grouping_text(d.grouping));
  if (const std::string text = epilogue_text(problem); !text.empty())
    out += line("each row is a product%s", text.c_str());
  if (!problem.has_k_ranges())
    out += line("rows of A are %s, and rows of the result are %s",
                problem.gathers() ? "gathered by index" : "taken in place", combine_text(problem));
  return out + scales_text(d.a_dtype, d.a_scaling, d.b_scaling, d.has(kGroupedDescFast));
}

std::string grouped_times_text(const Device& device, const GroupedProblem& problem,
                               const KernelEntry& chosen) {
  const GroupedTypicalRun run = grouped_typical_run(problem);
  const GroupedCandidate candidate = grouped_candidate(device, problem, chosen);
  if (candidate.nanoseconds <= 0) return {};  // there is nothing to multiply
  const int64_t hint = problem.desc.expected_rows;
  std::string out =
      line("predicted %s us, %s waves, for %" PRId64 " groups of %" PRId64
           " rows each (expected_rows is %s)",
           microseconds(candidate).c_str(), Decimal(candidate.waves, 2).text(), run.groups,
           run.rows, hint != 0 ? std::to_string(hint).c_str() : "not set");
  GroupedProblem unforced = problem;
  unforced.desc.candidate.clear();
  const std::vector<GroupedCandidate> all = grouped_candidates(device, unforced);
  const bool forced_other = !all.empty() && all.front().entry != &chosen;
  for (const GroupedCandidate& other : all) {
    if (other.entry == &chosen) continue;
    return out + line("%s %s: predicted %s us", forced_other ? "without forcing" : "next best",
                      other.entry->symbol, microseconds(other).c_str());
  }
  return out;
}

}  // namespace tw
