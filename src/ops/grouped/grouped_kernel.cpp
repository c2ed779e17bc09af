// SPDX-License-Identifier: Apache-2.0
#include "ops/grouped/grouped_kernel.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/grouped/grouped_wgmma.hpp"

namespace tw {
namespace {

constexpr uint32_t kProductBlocks = 4;  // per SM
constexpr uint32_t kStepBlocks = 4;     // per SM
constexpr int64_t kFindRows = 4;        // most rows per thread before the cluster grows

// Kernel entries without a type serve every type. One kernel serves both types of 8-bit floats.
bool takes(DType of_row, DType type) {
  return of_row == DType{} || of_row == type || (is_f8(of_row) && is_f8(type));
}

bool is_wanted(const GroupedDesc& d, const KernelEntry& entry) {
  return d.candidate.empty() || d.candidate == entry.symbol;
}

// The most tiles that m rows can have. Host code does not know the sizes of the groups. The
// number of tiles is largest if every group has a row: each group begins a tile with one row, and
// every further tile takes tile_m more rows. With ranges() each group has a D of m rows.
int64_t most_tiles(const GroupedProblem& problem, const KernelEntry& entry, int64_t m) {
  const GroupedDesc& d = problem.desc;
  const int64_t columns = ceil_div(d.n, entry.tile[1]);
  if (problem.ranges()) return d.groups * ceil_div(m, entry.tile[0]) * columns;
  const int64_t groups = std::min(d.groups, m);
  return (groups + (m - groups) / entry.tile[0]) * columns;
}

}  // namespace

const KernelEntry* grouped_wgmma_entry(const Device& device, const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  if (grouped_wgmma_refusal(device, problem) != nullptr) return nullptr;
  const uint32_t form = problem.ranges()             ? kGroupedRanges
                        : d.b_order == Order::column ? kGroupedColumnB
                                                     : 0u;
  const uint32_t scaled = d.is_narrow() ? kGroupedScaled : 0u;
  return find_entry(device, Family::grouped, [&](const KernelEntry& entry) {
    return entry.variant == (kGroupedWgmma | scaled | form) && (kGroupedWgmma & ~d.methods) == 0 &&
           entry.dtypes[0] == d.a_dtype && entry.dtypes[1] == d.d_dtype && is_wanted(d, entry);
  });
}

std::vector<const KernelEntry*> grouped_candidates(const Device& device,
                                                   const GroupedProblem& problem) {
  std::vector<const KernelEntry*> entries;
  if (const KernelEntry* entry = grouped_wgmma_entry(device, problem)) entries.push_back(entry);
  if (const KernelEntry* entry = grouped_product_entry(device, problem)) entries.push_back(entry);
  return entries;
}

Status no_grouped_candidate(const Device& device, const GroupedProblem& problem) {
  constexpr uint32_t kProducts = kGroupedMma | kGroupedRanges | kGroupedWgmma;
  const char* const who = problem.desc.candidate.c_str();
  for (const KernelEntry& entry : kernel_entries(Family::grouped)) {
    if ((entry.variant & kProducts) == 0 || problem.desc.candidate != entry.symbol) continue;
    const Fault fault{.argument = "candidate", .rule = "candidate_unsupported"};
    if ((entry.feature & device.info().kernel_features) == 0)
      return fail(Code::ERROR_UNSUPPORTED, fault, "candidate %s does not run on %s", who,
                  device.info().name.c_str());
    const bool wgmma = (entry.variant & kGroupedWgmma) != 0;
    const char* const why = wgmma ? grouped_wgmma_refusal(device, problem) : nullptr;
    return fail(Code::ERROR_UNSUPPORTED, fault,
                "candidate %s cannot serve the description: %s; take one of "
                "tw_grouped_candidates()",
                who, why ? why : "it is for other types, another order of B or another grouping");
  }
  return fail(Code::ERROR_NOT_FOUND, {.argument = "candidate", .rule = "candidate_unknown"},
              "candidate is \"%s\": no kernel of this library for grouped products has that name; "
              "take one of tw_grouped_candidates()",
              who);
}

bool grouped_promises_maps(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  return d.a_alignment % kMapAlignment == 0 && d.a_alignment != 0 &&
         d.b_alignment % kMapAlignment == 0 && d.b_alignment != 0;
}

const KernelEntry* grouped_product_entry(const Device& device, const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  const uint32_t variant =
      (problem.ranges() ? kGroupedRanges : kGroupedMma) | (d.is_narrow() ? kGroupedScaled : 0u);
  return find_entry(device, Family::grouped, [&](const KernelEntry& entry) {
    return entry.variant == variant && (entry.variant & ~d.methods) == 0 &&
           takes(entry.dtypes[0], d.a_dtype) && takes(entry.dtypes[1], d.d_dtype) &&
           is_wanted(d, entry);
  });
}

LaunchConfig grouped_product_config(const Device& device, const GroupedProblem& problem,
                                    const PreparedKernel& kernel, int64_t m) {
  const bool wgmma = (kernel.entry->variant & kGroupedWgmma) != 0;
  const uint64_t room = max_blocks(device, problem.desc.max_sms, wgmma ? 1 : kProductBlocks);
  const auto tiles =
      static_cast<uint64_t>(std::max<int64_t>(most_tiles(problem, *kernel.entry, m), 1));
  // Blocks that divide tiles along k (stream-K) all take part, however few tiles there are.
  const bool shares = wgmma && grouped_wgmma_workspace(problem, 1) != 0;
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(shares ? room : std::min(tiles, room));
  config.block[0] = static_cast<uint32_t>(kernel.entry->threads);
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  return config;
}

// One thread for each of `things`: rows, groups or words, depending on the kernel.
LaunchConfig grouped_step_config(const Device& device, const GroupedProblem& problem,
                                 const KernelEntry& entry, int64_t things) {
  const auto room = static_cast<int64_t>(max_blocks(device, problem.desc.max_sms, kStepBlocks));
  LaunchConfig config;
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<int64_t>(ceil_div(things, entry.threads), 1, room));
  config.block[0] = static_cast<uint32_t>(entry.threads);
  return config;
}

LaunchConfig grouped_find_config(const Device& device, const GroupedProblem& problem,
                                 const KernelEntry& entry, int64_t rows) {
  // The grid is one cluster, whose blocks exchange what they find. LaunchConfig{} has one block.
  const uint32_t room = std::min(usable_sms(device, problem.desc.max_sms), kMaxCluster);
  LaunchConfig config;
  uint32_t& blocks = config.grid[0];
  while (blocks * 2 <= room && blocks * kFindRows * entry.threads < rows) blocks *= 2;
  config.cluster[0] = blocks;
  config.block[0] = static_cast<uint32_t>(entry.threads);
  return config;
}

}  // namespace tw
