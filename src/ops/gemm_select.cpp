// SPDX-License-Identifier: Apache-2.0
// Which row multiplies: pure host code, no GPU needed.
#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "ops/gemm.hpp"

namespace tw {
namespace {

bool fits(const KernelRow& row, const GemmProblem& problem, bool through_maps) {
  const bool host = row.feature == feature::host;
  if (((row.variant & kGemmPlain) == 0) != through_maps) return false;
  if (host) return true;
  if (row.dtypes[0] != problem.desc.ab_dtype || row.dtypes[1] != problem.desc.d_dtype) return false;
  if (!through_maps) return true;
  const uint32_t orders = (problem.desc.a_order == Order::column ? kGemmColumnA : 0u) |
                          (problem.desc.b_order == Order::column ? kGemmColumnB : 0u);
  return (row.variant & (kGemmColumnA | kGemmColumnB)) == orders;
}

}  // namespace

double gemm_cost(const KernelRow& row, const GemmProblem& problem, uint32_t sms) {
  const GemmDesc& d = problem.desc;
  const int64_t cluster = row.cluster[0] * row.cluster[1];
  const int64_t units = ceil_div(std::max<int64_t>(d.m, 1), row.tile[0] * row.cluster[0]) *
                        ceil_div(std::max<int64_t>(d.n, 1), row.tile[1] * row.cluster[1]);
  const int64_t at_once = std::max<int64_t>(1, sms / cluster);
  const double waves = static_cast<double>(ceil_div(units, at_once));
  // 4096 FLOP a clock and SM, less where a tile asks the L2 for more than it can give: 128 x 128
  // reads 48 B a clock (with its cluster), at the edge of the 46.6 an SM gets.
  const double elements = static_cast<double>(row.tile[0]) * row.tile[1];
  const double efficiency = elements >= 128.0 * 256.0 ? 1.0 : 0.8;
  const double multiply =
      elements * static_cast<double>(round_up(std::max<int64_t>(d.k, 1), 64)) / 2048.0 / efficiency;
  // Write-out is not hidden behind the next tile's products: 32 bytes a clock and SM, about.
  const double write = elements * problem.out_bytes / 32.0;
  constexpr double kFill = 1500.0;  // first loads of a tile's ring
  return waves * (multiply + write + kFill);
}

const KernelRow* select_gemm(const Device& device, const GemmProblem& problem, bool through_maps) {
  const KernelRow* best = nullptr;
  double best_cost = std::numeric_limits<double>::infinity();
  const uint32_t sms = usable_sms(device, problem.desc.max_sms);
  for (const KernelRow& row : kernel_rows(Family::gemm)) {
    if (!(row.feature & device.info().features) || !fits(row, problem, through_maps)) continue;
    if (static_cast<uint32_t>(row.cluster[0] * row.cluster[1]) > sms) continue;
    const double cost = gemm_cost(row, problem, sms);
    if (cost < best_cost) {
      best = &row;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace tw
