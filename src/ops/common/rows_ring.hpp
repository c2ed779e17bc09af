// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the shared-memory rings that copy, gather and scatter kernels run
// (common/warp_ring.cuh).

#include <cstdint>

#include "runtime/device.hpp"

namespace tw {

struct RingSize {
  uint32_t stages = 0;       ///< of each warp; 0: the device has too little shared memory
  uint32_t stage_bytes = 0;  ///< a multiple of 128
  uint32_t note_bytes = 0;   ///< that the kernel keeps behind each stage
  uint32_t warps = 0;

  /// All warps' stages and barriers.
  uint32_t dynamic_smem_bytes() const { return warps * stages * (stage_bytes + note_bytes + 8); }
};

/// The best ring that the device's shared memory holds, `blocks` of them on an SM; with `stages`
/// and `stage_bytes` as they are given where they are not 0, a multiple of 128 bytes.
RingSize ring_size(const Device& device, uint32_t warps, uint32_t note_bytes, uint32_t stages,
                   uint32_t stage_bytes, uint32_t blocks = 1);

/// What the bytes of a run have in common with an address: the largest power of two, at most 16,
/// that divides it. 16 for 0.
uint32_t alignment_of(uint64_t value);

/// The address that a plan's numbers are for: as badly aligned as the promise allows, or 16-byte
/// aligned, as every allocator gives, where nothing is promised.
inline uint64_t promised_address(uint32_t alignment) {
  return alignment == 0 ? 16 : alignment;
}

}  // namespace tw
