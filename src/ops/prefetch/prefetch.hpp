// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for prefetching a matrix or a contiguous range into L2.

#include <cstdint>
#include <memory>

#include "base/dtype.hpp"
#include "kernels/prefetch/prefetch.h"
#include "ops/common/strided_span.hpp"
#include "ops/copy/copy_shape.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// How the kernel brings data into L2 (see prefetch.cu).
enum class PrefetchBy { loads, requests };

/// The fields of tw_prefetch_desc: extents and pitch in elements.
struct PrefetchDesc {
  DType dtype = DType::BF16;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t pitch = 0;
  uint32_t alignment = 0;
  uint32_t max_sms = 0;
  CachePriority cache = CachePriority::normal;
  int64_t budget = 0;  // bytes; 0: no limit
  int32_t rank = 0;    // 0: use rows, columns and pitch
  int64_t shape[kMaxCopyRank] = {};
  int64_t stride[kMaxCopyRank] = {};
  /// For tests and benchmarks: a bit 1 << method for each method that may be chosen.
  uint32_t methods = ~0u;
  /// For tests and benchmarks.
  PrefetchBy by = PrefetchBy::loads;
};

class PrefetchPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const PrefetchDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// The checks of create() that need no kernels.
  static Status check(const Device& device, const PrefetchDesc& desc);
  Status run(Stream& stream, uint64_t src) const;
  PlanInfo info() const override;
  std::string explain() const override;

  /// For tests that plant a fault in a map.
  PrefetchBoxArgs& boxes_for_test() { return box_args_; }

 private:
  PrefetchPlan(std::shared_ptr<Device> device, const PrefetchDesc& desc)
      : Plan(std::move(device), Op::prefetch), desc_(desc) {}
  Status check_desc();
  SpanDim span_dim(int32_t i) const;
  Status read_dims();
  Status apply_budget();
  Status prepare();
  Status fill_boxes(bool* fits);
  void fill_rows();
  const PreparedKernel& choose(uint64_t src) const;
  LaunchConfig config(const PreparedKernel& kernel) const;
  uint64_t bulk_chunk_count(uint64_t src) const;

  // A dimension outside the contiguous rows, which repeat along it. Dimensions are merged to as few
  // as possible; the innermost is first. Extents are above 1.
  struct Dim {
    int64_t extent;
    int64_t stride;  // bytes, positive
  };

  PrefetchDesc desc_;
  const char* pitch_name_ = "pitch";  // the caller's name of the field that sets the pitch
  int32_t element_bytes_ = 1;
  uint64_t row_bytes_ = 0;  // 0: nothing to prefetch
  uint64_t row_count_ = 0;
  int32_t rank_ = 0;  // number of dims_
  Dim dims_[kMaxCopyRank] = {};
  int64_t offset_ = 0;  // from the caller's address to the first byte; nonzero for negative strides
  uint64_t all_bytes_ = 0;     // of all rows, before the budget
  uint64_t reach_bytes_ = 0;   // from the first byte to the last, before the budget
  PreparedKernel box_kernel_;  // for a matrix whose address and pitch are multiples of 16
  PreparedKernel row_kernel_;  // for everything else
  PrefetchBoxArgs box_args_{};
  PrefetchRowArgs row_args_{};
};

}  // namespace tw
