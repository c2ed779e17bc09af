// SPDX-License-Identifier: Apache-2.0
#pragma once
// dst[i...] = src[i...]: from a description to a plan.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/copy/copy.h"
#include "ops/copy/copy_methods.hpp"
#include "ops/copy/copy_permute.hpp"
#include "ops/copy/copy_shape.hpp"
#include "ops/copy/copy_turn.hpp"
#include "ops/copy/copy_window.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

class CopyPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const CopyDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// What create() checks before it looks for kernels, of a description that allows all methods.
  static Status check(const Device& device, const CopyDesc& desc);
  /// `src` and `dst` are of the elements with coordinate 0.
  Status run(Stream& stream, uint64_t src, uint64_t dst) const;
  PlanInfo info() const override;
  std::string explain() const override;

  /// For tests that plant a fault in a map.
  CopyBoxArgs& boxes_for_test() { return box_args_; }
  /// The method (kCopyBoxes and so on) that a run at these addresses takes.
  uint32_t method_for_test(uint64_t src, uint64_t dst) const;

 private:
  CopyPlan(std::shared_ptr<Device> device, const CopyDesc& desc, const CopyShape& shape)
      : Plan(std::move(device), Op::copy), desc_(desc), shape_(shape) {}
  Status prepare();
  Status check_memory(uint64_t src, uint64_t dst) const;
  Status run_fills(Stream& stream, uint64_t src, uint64_t dst) const;
  struct RowChoice {
    uint32_t detail;  // KernelRow::variant above the method
    uint32_t smem;
  };
  RowChoice row_choice(uint32_t method) const;
  Status prepare_method(uint32_t method);
  void find_methods();
  void find_row_methods();
  void found(uint32_t method, bool can, bool fast);
  bool small() const { return shape_.elements * shape_.element_bytes < kSmallCopy; }
  bool suits(uint32_t method, uint32_t src, uint32_t dst) const;
  /// The method for first rows at these addresses; 0 where none serves. Only what the addresses are
  /// modulo 16 counts.
  uint32_t choose(uint64_t src, uint64_t dst) const;
  /// The methods that any addresses within the promise can get, a bit each.
  uint32_t reachable_methods() const;
  std::string reason(uint32_t method) const;
  std::string window_note() const;
  LaunchConfig config(uint32_t method, uint64_t items, uint32_t items_of_block,
                      uint32_t blocks_of_sm) const;
  LaunchConfig box_config() const;
  LaunchConfig permute_config() const;
  LaunchConfig row_config(const CopyRowArgs& args) const;
  LaunchConfig piece_config(uint32_t method, const CopyPieceArgs& args) const;
  LaunchConfig transpose_config(uint32_t method) const;
  LaunchConfig interleave_config() const;
  LaunchConfig strided_config(const CopyStridedArgs& args) const;
  CopyPieceArgs piece_args(uint32_t method, uint64_t src, uint64_t dst) const;
  CopyRowArgs row_args(uint64_t address) const;
  CopyStridedArgs strided_args(uint64_t src, uint64_t dst) const;

  CopyDesc desc_;
  CopyShape shape_;                 // of a window what lies inside its tensor
  std::vector<CopyShape> outside_;  // boxes of the destination that are filled
  ByteRange dst_range_;             // of both
  PreparedKernel fill_;
  RingSize ring_;
  uint32_t possible_ = 0;  // methods that could do it at some address, a bit each
  uint32_t favoured_ = 0;  // of these, the ones that are fast at it
  PreparedKernel kernels_[kCopyMethods];
  // Everything but addresses; those with widths in them for the promised alignment.
  CopyBoxArgs box_args_{};
  CopyPieceArgs piece_args_{};
  CopyPieceArgs shift_args_{};
  uint32_t piece_misalignment_ = 0;  // of the destination, that these two are for
  CopyPermuteArgs permute_args_{};
  CopyTransposeArgs transpose_args_{};
  CopyTransposeArgs plain_transpose_args_{};
  CopyInterleaveArgs interleave_args_{};
  CopyStridedArgs strided_args_{};
  bool to_planes_ = false;
};

}  // namespace tw
