// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for dst[i...] = act(alpha * a[i...] + beta * b[i...]) or act(alpha * a[i...]) * b[i...],
// converted, and optionally reduced into the old destination.

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_shape.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// A run: addresses of the elements with coordinate 0, and the factors.
struct ElementwiseRun {
  uint64_t address[kElementwiseOperands] = {};
  float alpha = 1;
  float beta = 1;
  uint64_t device_alpha = 0;  // address of an f32 that replaces alpha; 0: none
  uint64_t device_beta = 0;
};

class ElementwisePlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const ElementwiseDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// The checks of create() that need no kernels. Ignores ElementwiseDesc::methods, which only
  /// tests set.
  static Status check(const Device& device, const ElementwiseDesc& desc);
  Status run(Stream& stream, const ElementwiseRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

  /// Returns the method of a run at these addresses.
  uint32_t method_for_test(const ElementwiseRun& run) const {
    return choose(first_elements(run.address));
  }

 private:
  using Addresses = uint64_t[kElementwiseOperands];
  struct FirstElements {
    Addresses address;
  };
  ElementwisePlan(std::shared_ptr<Device> device, const ElementwiseDesc& desc,
                  const ElementwiseShape& shape)
      : Plan(std::move(device), Op::elementwise), desc_(desc), shape_(shape) {}
  Status prepare();
  Status prepare_method(uint32_t method);
  void fill_common();
  bool fill_vectors(uint32_t misalignment);
  void fill_strided();
  bool strides_keep_misalignment() const;
  bool has_beta() const { return shape_.sources == 2 && desc_.combine == kCombineAdd; }
  Status factor(const char* argument, float value, u64* bits) const;
  Status check_scalar(const char* argument, uint64_t address, bool beta) const;
  Status check_factors(const ElementwiseRun& run, u64* alpha, u64* beta) const;
  Status check_addresses(const ElementwiseRun& run) const;
  Status check_memory(const ElementwiseRun& run) const;
  /// Converts addresses of coordinate 0 to those of the first elements in the kernel's order.
  FirstElements first_elements(const Addresses& address) const;
  FirstElements promised_elements() const;
  /// Offset of the destination within a vector, in elements.
  uint32_t misalignment(const FirstElements& at) const;
  uint32_t choose(const FirstElements& at) const;
  ElementwiseArgs arguments(uint32_t method, const FirstElements& at) const;
  LaunchConfig config(uint32_t method, const ElementwiseArgs& args) const;
  uint32_t element_class() const;
  std::string formula() const;
  std::string reduction_note() const;

  ElementwiseDesc desc_;
  ElementwiseShape shape_;
  uint32_t vector_ = 1;
  bool rows_equally_misaligned_ = false;  // all rows are equally misaligned
  bool vectors_ = false;                  // some addresses allow vectors
  PreparedKernel kernels_[kElementwiseMethods];
  ElementwiseArgs vector_args_{};  // without addresses, factors and slots
  ElementwiseArgs strided_args_{};
};

}  // namespace tw
