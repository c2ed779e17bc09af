// SPDX-License-Identifier: Apache-2.0
// How many blocks and clusters run concurrently on the chip, and the chip's rates.
#include "ops/gemm/select/gemm_chip.hpp"

#include <algorithm>
#include <string_view>

#include "kernels/gemm/gemm_entry.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

struct KnownChip {
  std::string_view name;
  double sms;
  GemmRates rates;
};

#define TW_GEMM_CHIP(name, sms, clock, flops, limit_tflops, dram_gbs, l2_mb) \
  {name, sms, {clock, flops, (limit_tflops)*1e3, dram_gbs, (l2_mb)*1e6}},
constexpr KnownChip kChips[] = {
#include "ops/gemm/select/gemm_chips.inc"
};
#undef TW_GEMM_CHIP

// The rates that a Hopper chip with these clocks would have. An H100's values replace unknown ones;
// its bandwidth and L2 size are scaled by the number of SMs.
GemmRates estimated(const DeviceInfo& info) {
  constexpr double kFractionAtLimit = 0.65, kDramBytesPerSm = 25, kL2BytesPerSm = 0.38e6;
  GemmRates rates;
  rates.clock = info.clock_khz > 0 ? info.clock_khz * 1e-6 : 1.755;
  rates.flops_per_clock = GemmRates::kFlops;
  rates.power_limit_flop_per_ns =
      kFractionAtLimit * info.sm_count * rates.clock * GemmRates::kFlops;
  const double bus = 2e-6 * info.memory_clock_khz * info.memory_bus_bits / 8;
  rates.dram_bytes_per_ns = bus > 0 ? bus : kDramBytesPerSm * info.sm_count;
  rates.l2_size =
      info.l2_bytes > 0 ? static_cast<double>(info.l2_bytes) : kL2BytesPerSm * info.sm_count;
  return rates;
}

// The kernel whose clusters the driver is asked about. Any TMA kernel of this build will do,
// because each uses so much shared memory that a block has an SM to itself.
const KernelEntry* entry_for_occupancy(Device& device) {
  // That the build lacks a kernel is no error here.
  const RestoreErrors restored_at_end;
  return find_entry(device, Family::gemm, [&](const KernelEntry& entry) {
    return entry.feature != feature::host && (entry.variant & (kGemmNoMaps | kGemmPrologue)) == 0 &&
           device.find_kernel(entry).ok();
  });
}

}  // namespace

GemmRates gemm_rates(const DeviceInfo& info) {
  // The name of a MIG slice begins with the chip's name.
  const KnownChip* known = nullptr;
  for (const KnownChip& chip : kChips)
    if (info.name.starts_with(chip.name) && (!known || chip.name.size() > known->name.size()))
      known = &chip;
  if (!known) return estimated(info);
  GemmRates rates = known->rates;
  const double share = info.name == known->name ? 1 : std::min(1.0, info.sm_count / known->sms);
  rates.power_limit_flop_per_ns *= share;
  rates.dram_bytes_per_ns *= share;
  rates.l2_size *= share;
  return rates;
}

Status query_cluster_occupancy(Device& device) {
  if (device.max_active_clusters(kMaxCluster) != 0) return {};
  const KernelEntry* entry = entry_for_occupancy(device);
  if (!entry) return {};
  PreparedKernel kernel;
  const u32 shared =
      gemm_shared(gemm_tile(*entry, dtype_bytes(entry->dtypes[0]), dtype_bytes(entry->dtypes[1])))
          .total;
  TW_TRY(prepare_entry(device, Family::gemm, entry, shared, &kernel));
  // Another thread may run the same loop. The largest size is set last, so a thread that sees it
  // set sees all sizes.
  for (uint32_t size = 2; size <= kMaxCluster; ++size) {
    LaunchConfig config;
    config.grid[0] = config.cluster[0] = size;
    config.block[0] = static_cast<uint32_t>(entry->threads);
    config.dynamic_smem_bytes = shared;
    int32_t blocks = 0, clusters = 0;
    TW_TRY(kernel.kernel->occupancy(config, &blocks, &clusters));
    device.set_max_active_clusters(size, clusters > 0 ? clusters : kNoClusters);
  }
  return {};
}

uint32_t gemm_no_maps_blocks(const Device& device, uint32_t max_sms, bool splits) {
  const uint32_t most =
      usable_sms(device, 0) * (splits ? kGemmNoMapsSplitBlocksPerSm : kGemmNoMapsBlocksPerSm);
  return max_sms == 0 ? most : std::min(most, max_sms);
}

GemmChip GemmChip::of(const Device& device, uint32_t max_sms) {
  GemmChip chip{.sms = usable_sms(device, max_sms), .rates = gemm_rates(device.info())};
  chip.no_maps_blocks = gemm_no_maps_blocks(device, max_sms, false);
  chip.no_maps_split_blocks = gemm_no_maps_blocks(device, max_sms, true);
  chip.clusters[1] = chip.sms;
  for (uint32_t size = 2; size <= kMaxCluster; ++size) {
    const int32_t known = device.max_active_clusters(size);
    const uint32_t most = chip.sms / size;
    chip.clusters[size] = known == 0             ? most
                          : known == kNoClusters ? 0
                                                 : std::min(most, static_cast<uint32_t>(known));
  }
  return chip;
}

}  // namespace tw
