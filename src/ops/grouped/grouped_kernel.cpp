// SPDX-License-Identifier: Apache-2.0
#include "ops/grouped/grouped_kernel.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/grouped/grouped_wgmma.hpp"

namespace tw {
namespace {

constexpr uint32_t kProductBlocksPerSm = 4;
constexpr uint32_t kStepBlocksPerSm = 4;   // at most, in the grid of a step (grouped.h)
constexpr int64_t kFindRowsPerThread = 4;  // if threads had more rows, the cluster gets more blocks

// Whether a wgmma kernel multiplies the types of a product.
bool serves_types(const KernelEntry& entry, const GroupedDesc& d) {
  const DType b = entry.dtypes[2] == DType{} ? entry.dtypes[0] : entry.dtypes[2];
  return entry.dtypes[0] == d.a_dtype && b == d.b_type() &&
         (entry.dtypes[1] == DType{} || entry.dtypes[1] == d.d_dtype);
}

// Kernel entries without a type serve every type. One mma.sync kernel serves both types of 8-bit
// floats.
bool serves(DType entry_type, DType type) {
  return entry_type == DType{} || entry_type == type || (is_f8(entry_type) && is_f8(type));
}

bool caller_allows(const GroupedDesc& d, const KernelEntry& entry) {
  return d.candidate.empty() || d.candidate == entry.symbol;
}

// The largest number of tiles that m rows can have. Host code does not know the sizes of the
// groups. The number of tiles is largest if every group has a row: each group then has a tile for
// one row, and tile[0] more rows for every further tile. With has_k_ranges() each group has a D of
// m rows.
int64_t max_tiles(const GroupedProblem& problem, const KernelEntry& entry, int64_t m) {
  const GroupedDesc& d = problem.desc;
  const int64_t columns = ceil_div(d.n, entry.tile[1]);
  if (problem.has_k_ranges()) return d.groups * ceil_div(m, entry.tile[0]) * columns;
  const int64_t groups = std::min(d.groups, m);
  return (groups + (m - groups) / entry.tile[0]) * columns;
}

}  // namespace

const KernelEntry* grouped_wgmma_entry(const Device& device, const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  if (!grouped_wgmma_refusal(device, problem).empty()) return nullptr;
  const uint32_t form = problem.has_k_ranges()       ? kGroupedRanges
                        : d.b_order == Order::column ? kGroupedColumnB
                                                     : 0u;
  const uint32_t narrow = d.is_narrow() ? kGroupedNarrow : 0u;
  return find_entry(device, Family::grouped, [&](const KernelEntry& entry) {
    return entry.variant == (kGroupedWgmma | narrow | form) && (kGroupedWgmma & ~d.methods) == 0 &&
           serves_types(entry, d) && caller_allows(d, entry);
  });
}

std::vector<GroupedCandidate> grouped_candidates(const Device& device,
                                                 const GroupedProblem& problem) {
  std::vector<GroupedCandidate> candidates;
  for (const KernelEntry* entry :
       {grouped_wgmma_entry(device, problem), grouped_product_entry(device, problem)})
    if (entry) candidates.push_back(grouped_candidate(device, problem, *entry));
  return candidates;
}

Status no_grouped_candidate(const Device& device, const GroupedProblem& problem) {
  constexpr uint32_t kProducts = kGroupedMma | kGroupedRanges | kGroupedWgmma;
  const char* const name = problem.desc.candidate.c_str();
  for (const KernelEntry& entry : kernel_entries(Family::grouped)) {
    if ((entry.variant & kProducts) == 0 || problem.desc.candidate != entry.symbol) continue;
    const Fault fault{.argument = "candidate", .rule = "candidate_unsupported"};
    if ((entry.feature & device.info().kernel_features) == 0)
      return fail(Code::ERROR_UNSUPPORTED, fault, "candidate %s does not run on %s", name,
                  device.info().name.c_str());
    const bool wgmma = (entry.variant & kGroupedWgmma) != 0;
    const std::string why = wgmma ? grouped_wgmma_refusal(device, problem) : std::string();
    return fail(Code::ERROR_UNSUPPORTED, fault,
                "candidate %s cannot serve the description: %s; take one of "
                "tw_grouped_candidates()",
                name,
                why.empty() ? "it is for other types, another order of B or another grouping"
                            : why.c_str());
  }
  return fail(Code::ERROR_NOT_FOUND, {.argument = "candidate", .rule = "candidate_unknown"},
              "candidate is \"%s\": no kernel of this library for grouped products has that name; "
              "take one of tw_grouped_candidates()",
              name);
}

bool grouped_promises_alignment(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  return d.a_alignment % kMapAlignment == 0 && d.a_alignment != 0 &&
         d.b_alignment % kMapAlignment == 0 && d.b_alignment != 0;
}

const KernelEntry* grouped_product_entry(const Device& device, const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  const uint32_t variant = (problem.has_k_ranges() ? kGroupedRanges : kGroupedMma) |
                           (d.is_narrow() ? kGroupedNarrow : 0u);
  return find_entry(device, Family::grouped, [&](const KernelEntry& entry) {
    return entry.variant == variant && (entry.variant & ~d.methods) == 0 &&
           serves(entry.dtypes[0], d.a_dtype) && serves(entry.dtypes[1], d.d_dtype) &&
           caller_allows(d, entry);
  });
}

LaunchConfig grouped_product_config(const Device& device, const GroupedProblem& problem,
                                    const PreparedKernel& kernel, int64_t m) {
  const bool wgmma = (kernel.entry->variant & kGroupedWgmma) != 0;
  const uint64_t limit = max_blocks(device, problem.desc.max_sms, wgmma ? 1 : kProductBlocksPerSm);
  const auto tiles =
      static_cast<uint64_t>(std::max<int64_t>(max_tiles(problem, *kernel.entry, m), 1));
  // With stream-K, even a few tiles can occupy all blocks.
  const bool may_divide = wgmma && grouped_stream_k_bytes(problem, 1) != 0;
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(may_divide ? limit : std::min(tiles, limit));
  config.block[0] = static_cast<uint32_t>(kernel.entry->threads);
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  return config;
}

LaunchConfig grouped_step_config(const Device& device, const GroupedProblem& problem,
                                 const KernelEntry& entry, int64_t threads) {
  const auto limit =
      static_cast<int64_t>(max_blocks(device, problem.desc.max_sms, kStepBlocksPerSm));
  LaunchConfig config;
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<int64_t>(ceil_div(threads, entry.threads), 1, limit));
  config.block[0] = static_cast<uint32_t>(entry.threads);
  return config;
}

LaunchConfig grouped_find_config(const Device& device, const GroupedProblem& problem,
                                 const KernelEntry& entry, int64_t rows) {
  // The grid is one cluster, whose blocks exchange what they find. `blocks` begins at 1.
  const uint32_t limit = std::min(usable_sms(device, problem.desc.max_sms), kMaxCluster);
  LaunchConfig config;
  uint32_t& blocks = config.grid[0];
  while (blocks * 2 <= limit && blocks * kFindRowsPerThread * entry.threads < rows) blocks *= 2;
  config.cluster[0] = blocks;
  config.block[0] = static_cast<uint32_t>(entry.threads);
  return config;
}

}  // namespace tw
