// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans: an operation that is described once and run many times.
//
// A plan is immutable after create(). It holds prepared kernels, and tensor maps of its operands
// with address 0. A run copies the argument struct to its stack, patches addresses and sizes, and
// launches, without allocation, driver query or synchronization. So threads may run one plan on
// many streams at once.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "runtime/device.hpp"
#include "runtime/rehearsal.hpp"

namespace tw {

/// The values of the C API's tw_op, which equal the kernels' Family.
using Op = Family;

struct PlanInfo {
  Op op = Op::copy;
  const char* kernel = "";
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint32_t cluster[3] = {};
  uint32_t tile[3] = {};
  uint32_t stages = 0;
  uint32_t dynamic_smem_bytes = 0;
  uint64_t boxes_loaded = 0;
  uint64_t boxes_stored = 0;
  uint64_t boxes_prefetched = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t flops = 0;
  uint64_t workspace_bytes = 0;
};

class Plan {
 public:
  Plan(std::shared_ptr<Device> device, Op op) : device_(std::move(device)), op_(op) {}
  virtual ~Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  Op op() const { return op_; }
  const std::shared_ptr<Device>& device() const { return device_; }

  /// Describes a run with the described sizes and the promised alignments.
  virtual PlanInfo info() const = 0;
  /// The same as text, with the reason for the choice of kernel.
  virtual std::string explain() const = 0;

 private:
  std::shared_ptr<Device> device_;
  Op op_;
};

/// A kernel entry prepared on a device, and its launch parameters. Empty (entry is nullptr) if the
/// plan does not use that path.
struct PreparedKernel {
  const KernelEntry* entry = nullptr;
  std::unique_ptr<Kernel> kernel;
  uint32_t dynamic_smem_bytes = 0;
  explicit operator bool() const { return entry != nullptr; }
};

/// Returns the first kernel entry of the family that satisfies `fits` and whose feature the
/// device's kernels have; nullptr if there is none. A CUDA device never has the feature `host`, so
/// it cannot fall back to a host body.
template <class Fits>
const KernelEntry* find_entry(const Device& device, Family family, Fits fits) {
  for (const KernelEntry& entry : kernel_entries(family))
    if ((entry.feature & device.info().kernel_features) && fits(entry)) return &entry;
  return nullptr;
}

/// Prepares a kernel entry. Fails with TW_ERROR_UNSUPPORTED if `entry` is nullptr.
Status prepare_entry(Device& device, Family family, const KernelEntry* entry,
                     uint32_t dynamic_smem_bytes, PreparedKernel* out);

/// Returns the status that planning would return, without making a plan. It does not foresee
/// exhausted memory, driver failures, and kernels whose clusters do not fit the context's SMs.
/// `arguments` are those of P::create() between device and plan. If the device has all kernels,
/// P::check(device, arguments...), with which create() begins, gives the answer. Otherwise create()
/// runs on a rehearsal device (runtime/rehearsal.hpp), which loads and launches nothing.
template <class P, class... Arguments>
Status plan_supported(const std::shared_ptr<Device>& device, Family family,
                      const Arguments&... arguments) {
  // A GEMM plan contains plans of its staging copies.
  if (has_all_kernels(*device, family) && has_all_kernels(*device, Family::copy))
    return P::check(*device, arguments...);
  std::unique_ptr<Plan> plan;
  return P::create(make_rehearsal_device(device), arguments..., &plan);
}

/// Number of SMs that a plan may use: the context's, limited to max_sms unless that is 0.
uint32_t usable_sms(const Device& device, uint32_t max_sms);

/// Returns the largest grid: `blocks_per_sm` blocks per SM (0: unlimited). If max_sms is not 0, one
/// block per usable SM, because the hardware gives every SM one block before any gets a second.
uint64_t max_blocks(const Device& device, uint32_t max_sms, uint32_t blocks_per_sm);

/// Fails unless `alignment` is 0 (no promise) or a power of two of at least `element`.
Status check_alignment(const char* argument, uint32_t alignment, uint32_t element);

/// Fails unless an address is a multiple of `alignment`, which its elements need, and `promised`.
Status check_address(const char* argument, uint64_t address, uint32_t alignment,
                     uint32_t promised = 0);

/// Fails unless the run gives the workspace of `needed` bytes (more than 0) that its plan requires.
Status check_workspace(uint64_t address, uint64_t bytes, uint64_t needed, uint32_t alignment);

/// Fails with TW_ERROR_OVERLAP if the byte ranges [a, a + a_bytes) and [b, b + b_bytes) intersect.
Status check_disjoint(const char* a_name, uint64_t a, uint64_t a_bytes, const char* b_name,
                      uint64_t b, uint64_t b_bytes);

/// An operand of a run: `rows` rows of `bytes` bytes. Empty if one of them is 0.
struct RunOperand {
  const char* name;
  uint64_t address;
  uint64_t bytes;
  bool written;
  int64_t rows = 1;
  int64_t pitch = 0;  // bytes from row to row; all rows together span at most 2^60
};

/// Fails with TW_ERROR_OVERLAP if one operand writes bytes of another. The error names the operand
/// that is later in the list. Rows may lie between another operand's rows. With equal pitches the
/// check is exact; otherwise a bounded search must prove the rows disjoint.
Status check_apart(std::initializer_list<RunOperand> operands);

/// Calls check_apart(), and fails if an operand is outside the memory that the device knows.
Status check_operands(const Device& device, std::initializer_list<RunOperand> operands);

}  // namespace tw
