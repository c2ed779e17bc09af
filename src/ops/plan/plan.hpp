// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans: an operation described once, run many times.
//
// A plan is immutable after create(): it holds kernels that are ready to launch and the tensor maps
// of its operands with address 0. A run copies the argument struct to its stack, patches addresses
// and sizes, and launches: no allocation, no driver query, no synchronisation. So one plan may run
// on many streams from many threads at once.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "runtime/device.hpp"
#include "runtime/rehearsal.hpp"

namespace tw {

/// Numbers of the C API's tw_op; the same as the kernels' Family.
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

  /// For a run at the described sizes with the promised alignments.
  virtual PlanInfo info() const = 0;
  /// The same in words, with the reason for the choice of kernel.
  virtual std::string explain() const = 0;

 private:
  std::shared_ptr<Device> device_;
  Op op_;
};

/// A row of the table made ready on a device, and how it is launched. Empty (no row) where a plan
/// has no use for the path.
struct PreparedKernel {
  const KernelRow* row = nullptr;
  std::unique_ptr<Kernel> kernel;
  uint32_t dynamic_smem_bytes = 0;
  explicit operator bool() const { return row != nullptr; }
};

/// The first row of the family for which `fits` holds and whose feature the device has for kernels
/// of the table; nullptr if there is none. A CUDA device never has the feature `host`, so nothing
/// falls to the CPU.
template <class Fits>
const KernelRow* find_row(const Device& device, Family family, Fits fits) {
  for (const KernelRow& row : kernel_rows(family))
    if ((row.feature & device.info().kernel_features) && fits(row)) return &row;
  return nullptr;
}

/// Prepares a row, or fails with TW_ERROR_UNSUPPORTED naming what is missing where row is nullptr.
Status prepare_row(Device& device, Family family, const KernelRow* row, uint32_t dynamic_smem_bytes,
                   PreparedKernel* out);

/// Whether planning would succeed, without a plan: the same Status, with the same words, but for
/// memory that is exhausted and the driver's own failures. `arguments` are what P's create() takes
/// between device and plan. Where the device has all kernels, P::check(device, arguments...), which
/// create() begins with, decides alone; elsewhere create() itself does, on a device that loads and
/// launches nothing.
template <class P, class... Arguments>
Status plan_supported(const std::shared_ptr<Device>& device, Family family,
                      const Arguments&... arguments) {
  // Staging copies of a product are plans of copies.
  if (has_all_kernels(*device, family) && has_all_kernels(*device, Family::copy))
    return P::check(*device, arguments...);
  std::unique_ptr<Plan> plan;
  return P::create(rehearsal_of(device), arguments..., &plan);
}

/// SMs that a plan may fill: the context's, at most max_sms unless that is 0.
uint32_t usable_sms(const Device& device, uint32_t max_sms);

/// Blocks of a grid at most: `blocks_of_sm` for each SM, 0 being no bound; where max_sms is not 0
/// as many as it allows SMs, since the hardware gives every SM a block before any gets a second.
uint64_t most_blocks(const Device& device, uint32_t max_sms, uint32_t blocks_of_sm);

/// A promised alignment: 0 counts as `element`; otherwise it must be a power of two, at most 2^31.
Status check_alignment(const char* argument, uint32_t alignment, uint32_t element);

/// Whether an operand's address is a multiple of `alignment`, which its elements need, and of what
/// the plan was promised; refused by name otherwise.
Status check_address(const char* argument, uint64_t address, uint32_t alignment,
                     uint32_t promised = 0);

/// Whether a run brings the workspace that its plan needs: `needed` bytes, more than 0.
Status check_workspace(uint64_t address, uint64_t bytes, uint64_t needed, uint32_t alignment);

/// Fails with TW_ERROR_OVERLAP where the byte ranges [a, a + a_bytes) and [b, b + b_bytes) meet.
Status check_disjoint(const char* a_name, uint64_t a, uint64_t a_bytes, const char* b_name,
                      uint64_t b, uint64_t b_bytes);

/// What a run is given an address of: a range of bytes, or rows of so many. Nothing where `bytes`
/// or `rows` is 0.
struct RunOperand {
  const char* name;
  uint64_t address;
  uint64_t bytes;
  bool written;
  int64_t rows = 1;
  int64_t pitch = 0;  // bytes between rows, of which several span 2^60 at most
};

/// Fails with TW_ERROR_OVERLAP where bytes that one operand writes are another's too; of the two
/// the later one of the list is the argument at fault. Rows may lie between another operand's rows:
/// of equal pitches that is always known, of others where a bounded search finds it.
Status check_apart(std::initializer_list<RunOperand> operands);

/// Likewise, and refuses an operand that lies in no memory that the device knows.
Status check_operands(const Device& device, std::initializer_list<RunOperand> operands);

}  // namespace tw
