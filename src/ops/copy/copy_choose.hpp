// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which method a copy takes: from its shape, and from what its addresses are modulo 16.

#include <cstdint>

#include "kernels/copy/copy.h"
#include "ops/common/rows_ring.hpp"
#include "ops/copy/copy_methods.hpp"
#include "ops/copy/copy_permute.hpp"
#include "ops/copy/copy_shape.hpp"
#include "ops/copy/copy_turn.hpp"
#include "runtime/device.hpp"

namespace tw {

/// The methods that serve a copy, and the arguments of each. `shape` is that copy's everywhere.
struct CopyChoice {
  void find_methods(const Device& device, const CopyDesc& desc, const CopyShape& shape,
                    const RingSize& ring);
  /// The method for first rows at these addresses; 0 where none serves. Only what the addresses are
  /// modulo 16 counts.
  uint32_t choose(const CopyShape& shape, uint64_t src, uint64_t dst) const;
  /// The methods that any addresses within the promise can get, a bit each.
  uint32_t reachable_methods(const CopyDesc& desc, const CopyShape& shape) const;

  uint32_t possible = 0;  // methods that could do it at some address, a bit each
  uint32_t favoured = 0;  // of these, the ones that are fast at it
  // Everything but addresses; those with widths in them for the promised alignment.
  CopyBoxArgs boxes{};
  CopyPieceArgs pieces{};
  CopyPieceArgs shift{};
  uint32_t piece_misalignment = 0;  // of the destination, that these two are for
  CopyPermuteArgs permute{};
  CopyTransposeArgs transpose{};
  CopyTransposeArgs plain_transpose{};
  CopyInterleaveArgs interleave{};
  CopyStridedArgs strided{};
  bool to_planes = false;

 private:
  void find_row_methods(const Device& device, const CopyDesc& desc, const CopyShape& shape,
                        const RingSize& ring);
  void found(const CopyDesc& desc, uint32_t method, bool can, bool fast);
  bool suits(const CopyShape& shape, uint32_t method, uint32_t src, uint32_t dst) const;
};

/// Whether a copy is one of few bytes, which are cut finer.
inline bool is_small(const CopyShape& shape) {
  return shape.elements * shape.element_bytes < kSmallCopy;
}

}  // namespace tw
