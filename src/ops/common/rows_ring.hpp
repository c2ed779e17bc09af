// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the per-warp shared-memory pipelines of the copy, gather and scatter kernels
// (kernels/common/warp_ring.cuh), and alignments of addresses.

#include <cstdint>

#include "runtime/device.hpp"

namespace tw {

struct PipelineSize {
  uint32_t stages = 0;       ///< per warp; 0: the device has too little shared memory
  uint32_t stage_bytes = 0;  ///< a multiple of 128
  uint32_t note_bytes = 0;   ///< extra bytes that the kernel keeps after each stage
  uint32_t warps = 0;

  /// Bytes for the stages and barriers of all warps.
  uint32_t dynamic_smem_bytes() const { return warps * stages * (stage_bytes + note_bytes + 8); }
};

/// Returns the largest pipeline that fits in the device's shared memory with `blocks` blocks per
/// SM. `stages` and `stage_bytes` are wishes (0: the default); stage_bytes is rounded up to 128.
/// Both are reduced until they fit.
PipelineSize pipeline_size(const Device& device, uint32_t warps, uint32_t note_bytes,
                           uint32_t stages, uint32_t stage_bytes, uint32_t blocks = 1);

/// Returns the largest power of two, at most 16, that divides `value`; 16 for 0.
uint32_t alignment_of(uint64_t value);

/// Returns a sample address for the plan's statistics. It is as badly aligned as the promise
/// allows. Without a promise it is 16-byte aligned, as the addresses from every allocator are.
inline uint64_t promised_address(uint32_t alignment) {
  return alignment == 0 ? 16 : alignment;
}

}  // namespace tw
