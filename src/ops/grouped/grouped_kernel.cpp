// SPDX-License-Identifier: Apache-2.0
#include "ops/grouped/grouped_kernel.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace tw {
namespace {

constexpr uint32_t kProductBlocks = 4;  // of an SM
constexpr uint32_t kStepBlocks = 4;
constexpr int64_t kFindRows = 16384;  // from so many rows on a cluster finds the rows of groups

bool takes(DType of_row, DType type) {
  return of_row == DType{} || of_row == type;
}

}  // namespace

const KernelRow* grouped_product_row(const Device& device, const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  const uint32_t variant = problem.ranges() ? kGroupedRanges : kGroupedMma;
  return find_row(device, Family::grouped, [&](const KernelRow& row) {
    return row.variant == variant && (row.variant & ~d.methods) == 0 &&
           takes(row.dtypes[0], d.a_dtype) && takes(row.dtypes[1], d.d_dtype);
  });
}

LaunchConfig grouped_product_config(const Device& device, const GroupedProblem& problem,
                                    const KernelRow& row) {
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(most_blocks(device, problem.desc.max_sms, kProductBlocks));
  config.block[0] = static_cast<uint32_t>(row.threads);
  return config;
}

LaunchConfig grouped_step_config(const Device& device, const GroupedProblem& problem,
                                 const KernelRow& row, int64_t things) {
  const auto room = static_cast<int64_t>(most_blocks(device, problem.desc.max_sms, kStepBlocks));
  LaunchConfig config;
  config.block[0] = static_cast<uint32_t>(row.threads);
  if (row.variant == kGroupedFind) {
    const uint32_t most = problem.desc.max_sms == 0 ? kGroupedFindCluster : problem.desc.max_sms;
    config.grid[0] = config.cluster[0] =
        things < kFindRows ? 1 : std::min(most, kGroupedFindCluster);
    return config;
  }
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<int64_t>(ceil_div(things, row.threads), 1, room));
  return config;
}

}  // namespace tw
