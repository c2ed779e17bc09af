// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for copies between packed sequences and padded ones.

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/ragged/ragged.h"
#include "ops/common/tile_cut.hpp"
#include "ops/plan/plan.hpp"
#include "ops/ragged/ragged_problem.hpp"

namespace tw {

/// The fields of tw_ragged_args.
struct RaggedRun {
  uint64_t packed = 0;
  uint64_t offsets = 0;
  uint64_t padded = 0;
  int64_t batch = -1;
  int64_t tokens = -1;
  int64_t row = 0;
  int64_t column = 0;
  uint64_t invalid_count = 0;
};

class RaggedPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const RaggedDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// The checks of create() that need no kernels. Ignores RaggedDesc::methods, which only tests
  /// set.
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
  /// Returns why bulk copies cannot move rows of which the first bytes that move have these
  /// addresses; nullptr if they can.
  const char* bulk_refusal(uint64_t packed, uint64_t padded) const;
  uint32_t choose(uint64_t packed, uint64_t padded) const;
  Status make_args(uint32_t method, const RaggedRun& run, int64_t batch, int64_t tokens,
                   RaggedArgs* args) const;
  LaunchConfig config(uint32_t method, RaggedArgs* args) const;
  Status count_invalid(Stream& stream, const RaggedArgs& args) const;

  RaggedProblem problem_;
  TileTuning tuning_;
  PipelineSize pipeline_;
  PreparedKernel kernels_[kRaggedVariants];
};

}  // namespace tw
