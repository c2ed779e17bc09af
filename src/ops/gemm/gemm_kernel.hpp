// SPDX-License-Identifier: Apache-2.0
#pragma once
// A choice made ready on a device: the loaded kernel, its tensor maps with address 0, and arguments
// that each run copies and completes. An epilogue kernel's arguments contain those of a basic
// kernel.

#include <memory>

#include "kernels/gemm/arguments/gemm_full.h"
#include "kernels/gemm/arguments/gemm_stream.h"
#include "ops/gemm/gemm_pointers.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/gemm/select/gemm_shares.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// Immutable after create(); several threads may launch it at once.
class GemmKernel {
 public:
  /// For runs of at most `rows` rows. `problem` is the plan's, before gemm_kernel_view(). Fails
  /// with TW_ERROR_UNSUPPORTED if choice.entry is nullptr, which means that no kernel serves the
  /// problem.
  static Status create(Device& device, const GemmProblem& problem, const GemmChoice& choice,
                       int64_t rows, std::unique_ptr<GemmKernel>* out);

  const GemmChoice& choice() const { return choice_; }
  const PreparedKernel& prepared() const { return prepared_; }

  /// Fails if one launch cannot cover the work units of `rows` rows.
  Status check_rows(int64_t rows) const;
  /// Whether a run's addresses of A and B suit the kernel.
  bool addresses_suit(const GemmRun& run) const {
    return !choice_.uses_maps() || problem_.desc.has(kGemmPointers) ||
           (run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0);
  }
  /// Whether the kernel can do all that a run of m rows asks for. Only batched and stream-K kernels
  /// cannot serve every run.
  bool supports(const GemmRun& run, int64_t m) const;
  /// Launches a checked run of m rows that supports() and addresses_suit() accept; neither m nor n
  /// is 0. `staged_operands`: kGemmOperand bits of the caller's operands that a preceding kernel of
  /// the plan copies into the workspace. The product then overlaps that kernel through PDL.
  Status launch(Stream& stream, const GemmRun& run, int64_t m, u32 staged_operands = 0) const;

  /// The launch for a run of m rows with aligned addresses and a beta of 0, and the numbers of TMA
  /// boxes that it loads and stores. m may be 0.
  LaunchConfig config(int64_t m) const;
  uint64_t boxes_loaded(int64_t m) const;
  uint64_t boxes_stored(int64_t m) const;
  /// Workspace bytes that suffice for launches of `first` to `last` rows; 0 if none are needed.
  uint64_t workspace_bytes(int64_t first, int64_t last) const;
  /// Whether a run of m rows writes D once per accumulation chain.
  bool adds_chains_in_d(int64_t m) const;
  /// The number of work units of m rows.
  uint64_t units(int64_t m) const;
  /// The number of clusters that run at the same time. Each works on one unit at a time.
  uint32_t resident_clusters() const { return resident_clusters_; }

  /// For tests that corrupt a map.
  GemmArgs& arguments_for_test() { return args_; }

 private:
  // The boxes in which a CTA loads an operand. A line of the operand is a row of A or a column of B
  // if it is contiguous along k; otherwise its lines run along m or n.
  struct OperandBoxes {
    uint32_t box_lines = 0;       // lines of a box before clipping; a box has 128 bytes of each
    uint32_t count = 0;           // boxes that a CTA loads for a k block
    uint32_t multicast_ctas = 1;  // CTAs of the cluster that each load and multicast a part
    bool along_k = false;         // whether the operand is contiguous along k
    bool halves = false;          // Gate::halves: a box lies within one half of the operand
  };

  GemmKernel(const GemmProblem& kernel_problem, const GemmChoice& choice)
      : problem_(kernel_problem), choice_(choice) {}
  Status prepare(Device& device);
  Status encode_maps(Device& device);
  Status query_occupancy();
  void fill_batch();
  u32 constant_operands() const;
  bool can_write_d_by_tma() const;
  int64_t d_extent(int64_t n) const;
  bool writes_d_by_tma(int64_t n, uint64_t address) const;
  void bind_d_map(const GemmRun& run, GemmEpilogueArgs* args) const;
  u32 tma_store_flags(const GemmRun& run, int64_t n) const;
  GemmProblem problem_at(int64_t m) const;
  static u32 clipped_lines(const OperandBoxes& boxes, int64_t lines);
  int32_t plain_from(int64_t contiguous, uint64_t d) const;
  void fill_sizes(int64_t m, int64_t tile_columns, GemmArgs* args) const;
  bool adds_to_d(const GemmRun& run) const;
  void bind_maps(GemmArgs* args) const;
  void bind(const GemmRun& run, int64_t m, int64_t tile_columns, GemmArgs* args) const;
  void bind_options(const GemmRun& run, GemmEpilogueArgs* args) const;
  // `after_staging_copy`: the preceding kernel in the stream is the plan's staging copy.
  Status launch_epilogue(Stream& stream, const GemmRun& run, int64_t m,
                         bool after_staging_copy) const;
  Status launch_stream(Stream& stream, const GemmRun& run, int64_t m, u32 staged_operands) const;
  Status launch_narrow_split(Stream& stream, const GemmRun& run, int64_t m,
                             u32 staged_operands) const;
  LaunchConfig config_for_units(const GemmArgs& args) const;
  LaunchConfig config_for_shares(const GemmShares& shares) const;
  LaunchConfig config_for_clusters(uint32_t clusters, uint32_t launch_cluster) const;
  GemmShares shares(int64_t m) const;
  void bind_width(const GemmShares& shares, GemmStreamArgs* args) const;
  u32 operands_not_copied(u32 staged_operands) const;

  GemmProblem problem_;  // as the kernel sees it: after staging copies and swap-AB
  GemmChoice choice_;
  uint32_t resident_clusters_ = 1;  // clusters (of mma.sync kernels: blocks) that run at once
  // For stream-K kernels: clusters_[c] clusters of c blocks run at once.
  uint32_t clusters_[kMaxCluster + 1] = {};
  // If a band has this many units along m, the resident units cover a square of D.
  i32 square_band_ = 1;
  PreparedKernel prepared_;
  std::unique_ptr<GemmPointers> pointers_;  // only if runs give arrays of addresses
  GemmTile tile_{};                         // only of a TMA kernel
  OperandBoxes a_boxes_, b_boxes_;
  bool has_d_map_ = false;  // whether runs of an epilogue kernel may write D through a map
  GemmEpilogueArgs epilogue_args_{};      // all arguments except a run's addresses and sizes
  GemmArgs& args_ = epilogue_args_.base;  // the arguments that basic kernels have as well
};

}  // namespace tw
