// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gather and scatter of rows: from a description to a plan. One plan class serves both: they differ
// in which side is read.
//
// A plan holds the methods that its runs may come to, best first, and the steps that come before or
// after them. Which method a run takes depends on its addresses alone.

#include <cstdint>
#include <memory>
#include <string>

#include "base/dtype.hpp"
#include "kernels/gather/gather.h"
#include "kernels/rows/row_steps.h"
#include "kernels/scatter/scatter.h"
#include "ops/common/rows_ring.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// Bits of RowsDesc::flags, numbers of the C API.
enum RowsFlag : uint32_t {
  kRowsLastWins = 1,
  kRowsDeterministic = 2,
  kRowsWeighted = 4,
  kRowsAccumulateF32 = 8,
  kRowsFlags = 15
};

/// As tw_rows_desc: extents and pitches in elements.
struct RowsDesc {
  DType dtype = DType::BF16;
  DType index_dtype = DType::I32;
  uint32_t table_alignment = 0;
  uint32_t packed_alignment = 0;
  uint32_t max_sms = 0;
  int64_t table_rows = 0;
  int64_t table_pitch = 0;
  int64_t column = 0;
  int64_t columns = 0;
  int64_t count = 0;
  int64_t packed_pitch = 0;
  int64_t table_columns = 0;  // 0: the window lies inside the table
  int64_t group = 1;
  int32_t reduction = 0;  // kReduceNone ...
  uint32_t flags = 0;
  DType packed_dtype = DType{0};  // 0: dtype
  /// For tests and benchmarks: bits 1 << method of the methods that may be chosen, and the sizes of
  /// the shared-memory rings, 0 being the library's choice.
  uint32_t methods = ~0u;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
  uint32_t warps = 0;       // of a block
  uint32_t blocks = 0;      // of an SM
  uint32_t warp_items = 0;  // stages of a warp, after which its block ends
  int64_t launch_rows = 0;  // of plain rows, at most
  uint32_t policies = 0;    // bits: 1 what is read is evicted first, 2 what is written
};

/// As tw_rows_args.
struct RowsRun {
  uint64_t table = 0;
  uint64_t index = 0;
  uint64_t packed = 0;
  int64_t count = -1;
  uint64_t weights = 0;
  uint64_t device_count = 0;
  uint64_t outside = 0;
  uint64_t workspace = 0;
  uint64_t workspace_bytes = 0;
};

/// The checked description in bytes, pitches filled in, the window cut to the table.
struct RowsProblem {
  RowsDesc desc;
  int32_t element_bytes = 1;
  int32_t packed_element_bytes = 1;
  int32_t index_bytes = 4;
  uint32_t element = 0;         // kElementBits ..., of the table
  uint32_t packed_element = 0;  // of the packed operand
  int64_t row_bytes = 0;        // of the packed operand
  int64_t lead_bytes = 0;       // of a packed row that lie before the table's first column
  int64_t tail_bytes = 0;       // behind its last
  int64_t inner_bytes = 0;      // of a row of the table that are moved
  int64_t inner_columns = 0;
  int64_t column_bytes = 0;  // where they begin
  int64_t table_pitch = 0;   // bytes
  int64_t packed_pitch = 0;  // bytes
  int64_t table_bytes = 0;   // from the first element of row 0 to the last window's end
  int64_t packed_bytes = 0;  // likewise, for the described count
  /// Of a packed row that a gather fills with zeros.
  int64_t margin_bytes(Op op) const { return op == Op::gather ? lead_bytes + tail_bytes : 0; }
  bool is_sum() const { return desc.group > 1 || (desc.flags & kRowsWeighted) != 0; }
  bool flag(RowsFlag bit) const { return (desc.flags & bit) != 0; }
  /// A sum of floating-point numbers whose order a run must not choose.
  bool ordered() const {
    return flag(kRowsDeterministic) && desc.reduction == kReduceAdd &&
           (element == kElementF32 || element == kElementF16 || element == kElementBF16);
  }
};
Status rows_problem(Op op, const RowsDesc& desc, RowsProblem* out);

/// What a run's arguments become, whichever kernel takes them: RowsArgs comes first in each.
struct RowsLaunch {
  union {
    RowsArgs rows;
    SortedArgs sorted;
    OrderArgs order;
    MarginArgs margin;
    OutsideArgs outside;
    FourArgs four;
    FewArgs few;
  };
  uint32_t bytes = sizeof(RowsArgs);
  RowsLaunch() : rows{} {}
};

class RowsPlan final : public Plan {
 public:
  /// `op` is gather or scatter.
  static Status create(const std::shared_ptr<Device>& device, Op op, const RowsDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// What create() checks before it looks for kernels, of a description that allows all methods.
  static Status check(const Device& device, Op op, const RowsDesc& desc);
  Status run(Stream& stream, const RowsRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  static constexpr uint32_t kVariants = 32;
  static constexpr uint32_t kMaxMethods = 8;

  RowsPlan(std::shared_ptr<Device> device, Op op, const RowsProblem& problem)
      : Plan(std::move(device), op), problem_(problem) {}
  Status prepare();
  /// How the rings are laid out, and how long blocks live.
  struct Tuning {
    uint32_t warps = 2;
    uint32_t blocks = 2;  // of an SM
    uint32_t stages = 4;
    uint32_t stage_bytes = 2048;
    uint32_t warp_items = 2;   // stages of a warp, after which its block ends
    uint32_t plain_warps = 1;  // of a block of plain rows
  };
  Tuning make_tuning() const;
  uint32_t most_stage_pieces() const;
  /// Whether plain loads are done before bulk copies are under way.
  bool is_small() const;
  Status prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes);
  Status prepare_steps();
  /// Methods that suit the description, best first, 0 behind them.
  void list_methods(uint32_t (&methods)[kMaxMethods]) const;
  bool empty() const { return problem_.desc.count == 0 || problem_.row_bytes == 0; }

  // Which method serves addresses of whole operands, and why others do not (rows_methods.cpp).
  const char* refusal(uint32_t method, uint64_t table, uint64_t packed) const;
  const char* bulk_refusal(uint32_t method, uint64_t table, uint64_t packed) const;
  const char* four_refusal(uint64_t table, uint64_t packed) const;
  /// Bits 1 << method of those that some addresses which keep the promise lead to.
  uint32_t reachable_methods() const;
  uint32_t choose(uint64_t table, uint64_t packed) const;

  // Four rows an instruction (rows_four.cpp).
  struct FourShape {
    int64_t unit = 0;        // bytes of the map's elements
    int64_t part_bytes = 0;  // of a box's row
    int64_t end_bytes = 0;   // of a table row that the map covers
    DType dtype = DType::U8;
  };
  FourShape four_shape() const;
  Status prepare_four();
  void fill_four(uint64_t table, RowsLaunch* launch) const;

  // Arguments and grids (rows_fill.cpp).
  uint64_t inner_packed(uint64_t packed) const;
  uint64_t inner_table(uint64_t table) const;
  uint32_t plain_unit(uint64_t table, uint64_t packed) const;
  void fill(uint32_t method, uint64_t table, uint64_t packed, RowsLaunch* launch) const;
  void fill_bulk(uint32_t method, RowsArgs* args) const;
  void fill_shift(RowsArgs* args) const;
  void fill_plain(RowsArgs* args, uint32_t unit) const;
  void fill_lanes(RowsArgs* args, uint32_t unit) const;
  void fill_sorted(RowsLaunch* launch) const;
  LaunchConfig few_config(const FewArgs& few) const;
  void fill_few(RowsLaunch* launch) const;
  uint32_t number_unit(uint64_t table, uint64_t packed) const;
  LaunchConfig config(uint32_t method, const RowsLaunch& launch) const;
  LaunchConfig step_config(uint32_t variant, uint64_t items, uint64_t of_block) const;

  // Runs (rows.cpp, rows_steps.cpp).
  Status check_run(const RowsRun& run, int64_t count) const;
  RowsArgs run_args(const RowsRun& run, int64_t count) const;
  Status launch(Stream& stream, uint32_t variant, const LaunchConfig& config,
                const RowsLaunch& launch) const;
  Status count_outside(Stream& stream, const RowsRun& run, const RowsArgs& args) const;
  Status fill_margins(Stream& stream, const RowsRun& run, const RowsArgs& args) const;
  Status find_winners(Stream& stream, const RowsArgs& args) const;
  Status add_in_order(Stream& stream, const RowsRun& run, const RowsArgs& args) const;

  /// Parts of the workspace, as offsets; nothing where the plan needs none.
  struct Workspace {
    uint64_t order[2] = {};
    uint64_t digits = 0;
    uint64_t partials = 0;
    uint64_t bytes = 0;
    uint32_t blocks = 0;  // of a pass of the sort
    uint32_t passes = 0;
    uint64_t segments = 0;
  };
  Workspace make_workspace() const;

  std::string explain_methods() const;
  std::string explain_four(uint64_t table, uint64_t packed) const;
  std::string explain_steps() const;

  RowsProblem problem_;
  Tuning tuning_;
  RingSize ring_;
  uint32_t ring_pieces_ = 0;  // of a stage, at most
  Workspace workspace_;
  uint32_t methods_[kMaxMethods] = {};  // prepared ones, best first
  PreparedKernel kernels_[kVariants];   // by KernelRow::variant
  KernelMap four_map_{};                // of the table at address 0
};

}  // namespace tw
