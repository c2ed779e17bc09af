// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for many copies of one shape, whose addresses lie in device memory.

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/copies/copies.h"
#include "ops/common/tile_cut.hpp"
#include "ops/copy/copy_shape.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// The fields of tw_copies_desc: extents and strides in elements, outermost first.
struct CopiesDesc {
  DType dtype = DType::U8;
  int32_t rank = 1;
  uint32_t src_alignment = 0;
  uint32_t dst_alignment = 0;
  uint32_t max_sms = 0;
  int64_t shape[kMaxCopyRank] = {};
  int64_t src_stride[kMaxCopyRank] = {};
  int64_t dst_stride[kMaxCopyRank] = {};
  int64_t count = 0;
  /// For tests and benchmarks: a bit 1 << method for each method that may be chosen, and sizes,
  /// where 0 means the library chooses.
  uint32_t methods = ~0u;
  uint32_t warps = 0;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
  uint32_t warp_items = 0;
};

/// The fields of tw_copies_args.
struct CopiesRun {
  uint64_t src_list = 0;
  uint64_t dst_list = 0;
  int64_t count = -1;
  uint64_t invalid_count = 0;
};

class CopiesPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const CopiesDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// The checks of create() that need no kernels. Ignores CopiesDesc::methods, which only tests
  /// set.
  static Status check(const Device& device, const CopiesDesc& desc);
  Status run(Stream& stream, const CopiesRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  CopiesPlan(std::shared_ptr<Device> device, const CopiesDesc& desc, const CopyShape& shape)
      : Plan(std::move(device), Op::copies), desc_(desc), shape_(shape) {}
  /// Does everything that needs no kernel.
  Status arrange(const Device& device);
  Status prepare();
  Status prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes);
  bool empty() const { return shape_.empty || desc_.count == 0; }
  /// Returns why no pair can use bulk copies, or nullptr if pairs with aligned addresses can.
  const char* bulk_refusal() const;
  uint32_t method() const { return bulk_ ? kCopiesBulk : kCopiesPlain; }
  Status check_pair(const CopiesArgs& args, u64 pair) const;
  Status check_pairs(Stream& stream, const CopiesArgs& args) const;
  Status fill(const CopiesRun& run, int64_t count, CopiesArgs* args) const;
  LaunchConfig config(CopiesArgs* args) const;
  Status count_skipped(Stream& stream, const CopiesArgs& args) const;

  CopiesDesc desc_;
  CopyShape shape_;
  TileTuning tuning_;
  PipelineSize pipeline_;
  bool bulk_ = false;  // rows of aligned pairs use bulk copies
  PreparedKernel kernels_[kCopiesVariants];
};

}  // namespace tw
