// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sequences packed behind one another to padded ones and back: from a description to a plan.

#include <cstdint>
#include <memory>
#include <string>

#include "base/dtype.hpp"
#include "kernels/ragged/ragged.h"
#include "ops/common/tile_cut.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// As tw_ragged_direction.
enum class RaggedDirection : int32_t { pad = 0, unpad = 1 };

/// As tw_ragged_desc: extents and pitches in elements.
struct RaggedDesc {
  DType dtype = DType::BF16;
  DType offset_dtype = DType::I32;
  RaggedDirection direction = RaggedDirection::pad;
  OobFill fill = OobFill::zero;
  int64_t batch = 0;
  int64_t tokens = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t packed_columns = 0;
  int64_t packed_pitch = 0;
  int64_t padded_pitch = 0;
  int64_t padded_batch_pitch = 0;
  uint32_t packed_alignment = 0;
  uint32_t padded_alignment = 0;
  uint32_t max_sms = 0;
  /// For tests and benchmarks: bits 1 << method of the methods that may be chosen, and sizes, 0
  /// being the library's choice.
  uint32_t methods = ~0u;
  uint32_t warps = 0;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
  uint32_t warp_items = 0;
};

/// As tw_ragged_args.
struct RaggedRun {
  uint64_t packed = 0;
  uint64_t offsets = 0;
  uint64_t padded = 0;
  int64_t batch = -1;
  int64_t tokens = -1;
  int64_t row = 0;
  int64_t column = 0;
  uint64_t faults = 0;
};

/// The checked description in bytes, pitches filled in.
struct RaggedProblem {
  RaggedDesc desc;
  int64_t element_bytes = 1;
  int64_t offset_bytes = 4;
  int64_t row_bytes = 0;
  int64_t packed_pitch = 0;
  int64_t packed_width = 0;  // bytes of a packed row that windows may lie in
  int64_t padded_pitch = 0;
  int64_t batch_pitch = 0;
  bool empty() const { return desc.batch == 0 || desc.rows == 0 || desc.columns == 0; }
  bool pads() const { return desc.direction == RaggedDirection::pad; }
  int64_t packed_bytes(int64_t tokens) const {
    return tokens == 0 ? 0 : (tokens - 1) * packed_pitch + packed_width;
  }
  int64_t padded_bytes(int64_t batch) const {
    return batch == 0 ? 0 : (batch - 1) * batch_pitch + (desc.rows - 1) * padded_pitch + row_bytes;
  }
};
Status ragged_problem(const RaggedDesc& desc, RaggedProblem* out);

class RaggedPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const RaggedDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// What create() checks before it looks for kernels, of a description that allows all methods.
  static Status check(const Device& device, const RaggedDesc& desc);
  Status run(Stream& stream, const RaggedRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  RaggedPlan(std::shared_ptr<Device> device, const RaggedProblem& problem)
      : Plan(std::move(device), Op::ragged), problem_(problem) {}
  Status prepare();
  Status prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes);
  Status check_run(const RaggedRun& run, int64_t batch, int64_t tokens) const;
  Status check_offsets(Stream& stream, const RaggedArgs& args) const;
  /// Why bulk copies do not serve first columns at these addresses; nullptr where they do.
  const char* bulk_refusal(uint64_t packed, uint64_t padded) const;
  uint32_t choose(uint64_t packed, uint64_t padded) const;
  Status fill(uint32_t method, const RaggedRun& run, int64_t batch, int64_t tokens,
              RaggedArgs* args) const;
  LaunchConfig config(uint32_t method, RaggedArgs* args) const;
  Status count_faults(Stream& stream, const RaggedArgs& args) const;

  RaggedProblem problem_;
  TileTuning tuning_;
  RingSize ring_;
  PreparedKernel kernels_[kRaggedVariants];
};

}  // namespace tw
