// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the method of a copy from its shape and from its addresses modulo 16.

#include <cstdint>

#include "kernels/copy/copy.h"
#include "ops/common/rows_ring.hpp"
#include "ops/copy/copy_methods.hpp"
#include "ops/copy/copy_permute.hpp"
#include "ops/copy/copy_shape.hpp"
#include "ops/copy/copy_turn.hpp"
#include "runtime/device.hpp"

namespace tw {

/// The methods that can serve a copy, and their arguments. All functions take the same `shape`.
struct CopyMethods {
  void find_methods(const Device& device, const CopyDesc& desc, const CopyShape& shape,
                    const PipelineSize& pipeline);
  /// Returns the method to use if the first rows are at addresses `src` and `dst`, of which only
  /// the values modulo 16 matter. Returns 0 if no method suits.
  uint32_t choose(const CopyShape& shape, uint64_t src, uint64_t dst) const;
  /// Returns the methods, one bit each, that addresses within the promised alignment can select.
  uint32_t reachable_methods(const CopyDesc& desc, const CopyShape& shape) const;

  uint32_t possible = 0;      // methods that work for some addresses, one bit each
  uint32_t fast_methods = 0;  // the fast ones among them
  // Complete except for addresses. Access widths are those for the promised alignment.
  CopyBoxArgs boxes{};
  CopyPieceArgs pieces{};
  CopyPieceArgs shift{};
  // The destination's misalignment (modulo kPieceSector) for which `pieces` and `shift` are valid.
  uint32_t piece_misalignment = 0;
  CopyPermuteArgs permute{};
  CopyTransposeArgs transpose{};
  CopyTransposeArgs plain_transpose{};
  CopyInterleaveArgs interleave{};
  CopyStridedArgs strided{};
  bool to_planes = false;  // kCopyInterleave writes planes instead of reading them

 private:
  void find_row_methods(const Device& device, const CopyDesc& desc, const CopyShape& shape,
                        const PipelineSize& pipeline);
  void add_method(const CopyDesc& desc, uint32_t method, bool can, bool fast);
  bool suits(const CopyShape& shape, uint32_t method, uint32_t src, uint32_t dst) const;
};

/// Returns whether a copy is so small that it is divided into finer work items.
inline bool is_small(const CopyShape& shape) {
  return shape.elements * shape.element_bytes < kSmallCopy;
}

}  // namespace tw
