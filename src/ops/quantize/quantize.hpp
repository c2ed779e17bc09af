// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for quantization to 8 bits with scales, and dequantization.

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/quantize/quantize.h"
#include "ops/plan/plan.hpp"
#include "ops/quantize/quantize_problem.hpp"

namespace tw {

/// The fields of tw_quantize_args.
struct QuantizeRun {
  int64_t rows = -1;
  uint64_t src = 0;
  uint64_t dst = 0;
  uint64_t scale = 0;
  uint64_t amax = 0;
  uint64_t workspace = 0;
  uint64_t workspace_bytes = 0;
};

class QuantizePlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const QuantizeDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// The checks of create() that need no kernels. Ignores QuantizeDesc::methods, which only tests
  /// set.
  static Status check(const Device& device, const QuantizeDesc& desc);
  Status run(Stream& stream, const QuantizeRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  QuantizePlan(std::shared_ptr<Device> device, const QuantizeProblem& problem)
      : Plan(std::move(device), Op::quantize), problem_(problem) {}
  Status prepare();
  /// Prepares the kernel of a step, by vectors of `vector` elements; 0: element by element.
  Status prepare_step(uint32_t step, uint32_t vector, PreparedKernel* out);
  uint32_t main_step() const;
  bool vectors_fit(int64_t rows, uint64_t src, uint64_t dst) const;
  Status check_run(const QuantizeRun& run, int64_t rows) const;
  Status check_memory(const QuantizeRun& run, int64_t rows) const;
  uint64_t workspace_bytes() const;
  /// Groups that one access of a warp covers.
  uint32_t groups_per_access() const { return problem_.vector == 4 ? 1 : 2; }
  bool rows_contiguous(int64_t rows) const;
  bool tile_spans_rows(const QuantizeArgs& args) const;
  QuantizeArgs fill(const QuantizeRun& run, int64_t rows) const;
  void fill_tiles(QuantizeArgs* args) const;
  LaunchConfig config(const PreparedKernel& kernel, const QuantizeArgs& args, bool amax) const;
  std::string scales() const;
  std::string method_reason() const;

  QuantizeProblem problem_;
  // Index 0: element by element; 1: by vectors.
  PreparedKernel main_[2];
  PreparedKernel amax_[2];
};

}  // namespace tw
