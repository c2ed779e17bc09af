// SPDX-License-Identifier: Apache-2.0
#include "ops/common/rows_ring.hpp"

#include <algorithm>

namespace tw {
namespace {

// Six stages of 8 KB per warp: four warps keep about 100 KB of loads in flight, several times what
// one SM needs to hide Hopper's memory latency.
constexpr uint32_t kStages = 6;
constexpr uint32_t kMinStages = 4;  // kMinPipelineStages of warp_ring.cuh (checks/tables.py)
constexpr uint32_t kStageBytes = 8192;
constexpr uint32_t kMinStageBytes = 1024;

}  // namespace

PipelineSize pipeline_size(const Device& device, uint32_t warps, uint32_t note_bytes,
                           uint32_t stages, uint32_t stage_bytes, uint32_t blocks) {
  // The hardware reserves 1 KB of an SM's shared memory for each block.
  const auto maximum = static_cast<uint32_t>(std::max(0, device.info().max_dynamic_smem_bytes));
  const uint32_t available = blocks <= 1 ? maximum : (maximum + 1024) / blocks - 1024;
  const uint32_t wanted = stages == 0 ? kStages : std::max(stages, kMinStages);
  uint32_t bytes = stage_bytes == 0 ? kStageBytes : (stage_bytes + 127) / 128 * 128;
  for (; bytes >= kMinStageBytes; bytes = bytes / 256 * 128) {
    const uint32_t fit = std::min(wanted, available / (warps * (bytes + note_bytes + 8)));
    if (fit >= kMinStages) return {fit, bytes, note_bytes, warps};
  }
  return {};
}

uint32_t alignment_of(uint64_t value) {
  const uint64_t bit = value & (~value + 1);
  return bit == 0 || bit > 16 ? 16 : static_cast<uint32_t>(bit);
}

}  // namespace tw
