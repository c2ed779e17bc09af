// SPDX-License-Identifier: Apache-2.0
// What the chip has room for, as the context and the driver say.
#include <algorithm>

#include "kernels/gemm/gemm_row.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

// Any row will do: each takes so much shared memory that a block has an SM to itself.
const KernelRow* row_to_ask_with(const Device& device) {
  return find_row(device, Family::gemm, [](const KernelRow& row) {
    return row.feature != feature::host && (row.variant & (kGemmPlain | kGemmPrologue)) == 0;
  });
}

}  // namespace

Status ask_for_clusters(Device& device) {
  if (device.clusters_at_once(kMaxCluster) != 0) return {};
  const KernelRow* row = row_to_ask_with(device);
  if (!row) return {};
  PreparedKernel kernel;
  const u32 shared =
      gemm_shared(gemm_tile(*row, dtype_bytes(row->dtypes[0]), dtype_bytes(row->dtypes[1]))).total;
  TW_TRY(prepare_row(device, Family::gemm, row, shared, &kernel));
  // The largest last: who sees it sees all.
  for (uint32_t size = 2; size <= kMaxCluster; ++size) {
    LaunchConfig config;
    config.grid[0] = config.cluster[0] = size;
    config.block[0] = static_cast<uint32_t>(row->threads);
    config.dynamic_smem_bytes = shared;
    int32_t blocks = 0, clusters = 0;
    TW_TRY(kernel.kernel->occupancy(config, &blocks, &clusters));
    device.set_clusters_at_once(size, std::max(1, clusters));
  }
  return {};
}

uint32_t gemm_plain_room(const Device& device, uint32_t max_sms, bool splits) {
  const uint32_t most = usable_sms(device, 0) * (splits ? kGemmPlainSplitBlocks : kGemmPlainBlocks);
  return max_sms == 0 ? most : std::min(most, max_sms);
}

GemmChip GemmChip::of(const Device& device, uint32_t max_sms) {
  GemmChip chip{.sms = usable_sms(device, max_sms)};
  chip.plain_blocks = gemm_plain_room(device, max_sms, false);
  chip.plain_split_blocks = gemm_plain_room(device, max_sms, true);
  for (uint32_t size = 2; size <= kMaxCluster; ++size)
    chip.clusters[size] = static_cast<uint32_t>(device.clusters_at_once(size));
  return chip;
}

}  // namespace tw
