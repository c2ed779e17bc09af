// SPDX-License-Identifier: Apache-2.0
#pragma once
// dst[i...] = src[i...]: from a description to a plan.

#include <cstdint>
#include <memory>

#include "kernels/copy/copy.h"
#include "ops/copy_methods.hpp"
#include "ops/copy_permute.hpp"
#include "ops/copy_shape.hpp"
#include "ops/plan.hpp"

namespace tw {

class CopyPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const CopyDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// `src` and `dst` are of the elements with coordinate 0.
  Status run(Stream& stream, uint64_t src, uint64_t dst) const;
  PlanInfo info() const override;
  std::string explain() const override;

  /// For tests that plant a fault in a map.
  CopyBoxArgs& boxes_for_test() { return box_args_; }

 private:
  CopyPlan(std::shared_ptr<Device> device, const CopyDesc& desc, const CopyShape& shape)
      : Plan(std::move(device), Op::copy), desc_(desc), shape_(shape) {}
  Status prepare();
  Status prepare_boxes();
  Status prepare_permute();
  Status prepare_method(uint32_t method, uint32_t detail, uint32_t smem, PreparedKernel* out);
  /// The kernel for these addresses, of the first row.
  const PreparedKernel& choose(uint64_t src, uint64_t dst) const;
  LaunchConfig config(const PreparedKernel& kernel, uint64_t items, uint32_t items_of_block) const;
  LaunchConfig box_config() const;
  LaunchConfig permute_config() const;
  LaunchConfig shift_config() const;
  LaunchConfig row_config(const CopyRowArgs& args) const;
  LaunchConfig strided_config(const CopyStridedArgs& args) const;
  CopyShiftArgs shift_args(uint64_t src, uint64_t dst) const;
  CopyRowArgs row_args(uint64_t address) const;
  CopyStridedArgs strided_args(uint64_t src, uint64_t dst) const;

  CopyDesc desc_;
  CopyShape shape_;
  RingSize ring_;
  PreparedKernel boxes_;    // rows by tensor-map boxes: addresses are multiples of 16
  PreparedKernel rows_;     // rows by bulk copies: addresses are alike modulo 16
  PreparedKernel permute_;  // dimensions in another order: addresses are multiples of the unit
  PreparedKernel shift_;    // long rows, realigned in registers
  PreparedKernel strided_;  // everything
  // Everything but addresses; those with widths in them for the promised alignment.
  CopyBoxArgs box_args_{};
  CopyRowArgs row_args_{};
  CopyPermuteArgs permute_args_{};
  CopyShiftArgs shift_args_{};
  CopyStridedArgs strided_args_{};
};

}  // namespace tw
