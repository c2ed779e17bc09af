// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for dst[i...] = src[i...].

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/copy/copy.h"
#include "ops/copy/copy_choose.hpp"
#include "ops/copy/copy_shape.hpp"
#include "ops/copy/copy_window.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

class CopyPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const CopyDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// The checks of create() that need no kernels. Ignores CopyDesc::methods, which only tests set.
  static Status check(const Device& device, const CopyDesc& desc);
  /// `src` and `dst` are the addresses of the elements with coordinate 0.
  Status run(Stream& stream, uint64_t src, uint64_t dst) const;
  PlanInfo info() const override;
  std::string explain() const override;

  /// For tests that plant a fault in a map.
  CopyBoxArgs& boxes_for_test() { return methods_.boxes; }
  /// Returns the method (kCopyBoxes and so on) of a run at these addresses.
  uint32_t method_for_test(uint64_t src, uint64_t dst) const {
    return choose(src + static_cast<uint64_t>(shape_.src_offset),
                  dst + static_cast<uint64_t>(shape_.dst_offset));
  }

 private:
  CopyPlan(std::shared_ptr<Device> device, const CopyDesc& desc, const CopyShape& shape)
      : Plan(std::move(device), Op::copy), desc_(desc), shape_(shape) {}
  Status prepare();
  Status check_memory(uint64_t src, uint64_t dst) const;
  Status run_fills(Stream& stream, uint64_t src, uint64_t dst) const;
  // What the kernel entry of a method must be like.
  struct EntryNeeds {
    uint32_t detail;  // the bits of KernelEntry::variant from bit 8 on, shifted down
    uint32_t smem;    // dynamic shared memory per block, in bytes
  };
  EntryNeeds entry_needs(uint32_t method) const;
  Status prepare_method(uint32_t method);
  bool small() const { return is_small(shape_); }
  uint32_t choose(uint64_t src, uint64_t dst) const { return methods_.choose(shape_, src, dst); }
  std::string reason(uint32_t method) const;
  std::string window_note() const;
  LaunchConfig config(uint32_t method, uint64_t items, uint32_t items_per_block,
                      uint32_t blocks_per_sm) const;
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
  CopyShape shape_;               // for a window: the part inside its tensor
  std::vector<CopyShape> fills_;  // regions of the destination to fill
  ByteRange dst_range_;           // covers shape_ and fills_
  PreparedKernel fill_;
  PipelineSize pipeline_;
  CopyMethods methods_;
  PreparedKernel kernels_[kCopyMethods];
};

}  // namespace tw
