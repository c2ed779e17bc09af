// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha * A B + beta * C: from a description to a plan.

#include <cstdint>
#include <memory>

#include "base/dtype.hpp"
#include "kernels/gemm/gemm.h"
#include "ops/plan.hpp"

namespace tw {

enum class Order : int32_t { row = 0, column = 1 };

/// As tw_gemm_desc: extents and leading dimensions in elements, 0 for packed.
struct GemmDesc {
  DType ab_dtype = DType::BF16;
  DType d_dtype = DType::BF16;
  Order a_order = Order::row;
  Order b_order = Order::row;
  Order d_order = Order::row;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  uint32_t a_alignment = 0, b_alignment = 0, c_alignment = 0, d_alignment = 0;
  uint32_t max_sms = 0;
};

/// As tw_gemm_args.
struct GemmRun {
  float alpha = 1.0f;
  float beta = 0.0f;
  uint64_t a = 0, b = 0, c = 0, d = 0;
  int64_t m = -1;
};

/// The problem as kernels see it: D and C row-major. A column-major D is its own transpose with the
/// operands swapped, and `swapped` remembers that.
struct GemmProblem {
  GemmDesc desc;  // checked, packed leading dimensions filled in, d_order row
  bool swapped = false;
  int32_t in_bytes = 0;
  int32_t out_bytes = 0;

  /// Elements between neighbours along each dimension.
  int64_t a_stride_m() const { return desc.a_order == Order::row ? desc.lda : 1; }
  int64_t a_stride_k() const { return desc.a_order == Order::row ? 1 : desc.lda; }
  int64_t b_stride_k() const { return desc.b_order == Order::row ? desc.ldb : 1; }
  int64_t b_stride_n() const { return desc.b_order == Order::row ? 1 : desc.ldb; }
};

/// Checks every field of the description by name and brings it into the kernels' form.
Status gemm_problem(const GemmDesc& desc, GemmProblem* out);

/// A row, and how many blocks share each of its tiles along k (1 unless the row splits).
struct GemmChoice {
  const KernelRow* row = nullptr;
  uint32_t split = 1;
};

/// The cheapest choice by the cost model, among the rows whose feature the device has and that read
/// A and B through maps (through_maps) or by plain loads; row is nullptr if there is none.
GemmChoice select_gemm(const Device& device, const GemmProblem& problem, bool through_maps);

/// Nanoseconds that the model of gemm_costs.inc gives a choice for a problem on `sms` SMs.
double gemm_cost(const GemmChoice& choice, const GemmProblem& problem, uint32_t sms);

class GemmPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                       std::unique_ptr<Plan>* out);
  Status run(Stream& stream, const GemmRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

  /// For tests that plant a fault in a map.
  GemmArgs& arguments_for_test() { return args_; }

 private:
  GemmPlan(std::shared_ptr<Device> device, const GemmProblem& problem)
      : Plan(std::move(device), Op::gemm), problem_(problem) {}
  Status prepare();
  Status encode_maps();
  Status check_run(const GemmRun& run, int64_t m) const;
  const PreparedKernel& choose(uint64_t a, uint64_t b) const;
  uint32_t fill_units(const PreparedKernel& kernel, GemmArgs* args) const;
  int32_t plain_from(int64_t n, uint64_t d) const;
  Status launch(Stream& stream, const PreparedKernel& kernel, GemmArgs* args) const;
  LaunchConfig config(const PreparedKernel& kernel, uint32_t units) const;

  GemmProblem problem_;
  PreparedKernel boxes_;  // reads A and B through maps
  PreparedKernel plain_;  // for addresses and pitches that maps cannot have
  uint32_t split_ = 1;    // blocks of boxes_ that share a tile along k
  uint32_t max_clusters_ = 1;
  GemmArgs args_{};  // everything but addresses and the run's sizes
};

}  // namespace tw
