// SPDX-License-Identifier: Apache-2.0
#pragma once
// A choice made ready on a device: the loaded kernel, its tensor maps with address 0, and arguments
// that each run copies and completes.

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

  /// Fails if one launch cannot cover the work units of so many rows.
  Status check_rows(int64_t rows) const;
  /// Whether a run's addresses of A and B suit the kernel.
  bool takes(const GemmRun& run) const {
    return !choice_.uses_maps() || problem_.desc.has(kGemmPointers) ||
           (run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0);
  }
  /// Whether the kernel can do all that a run of m rows asks for. Only batched and stream-K kernels
  /// may not.
  bool does(const GemmRun& run, int64_t m) const;
  /// Launches a checked run of m rows that does() and takes() accept; neither m nor n is 0.
  /// `copied`: kGemmEarly bits of the caller's operands that a preceding copy kernel of the plan
  /// stages. The product then overlaps that kernel through PDL.
  Status launch(Stream& stream, const GemmRun& run, int64_t m, u32 copied = 0) const;

  /// The launch for aligned addresses and beta 0, and the TMA boxes it moves; m may be 0.
  LaunchConfig config(int64_t m) const;
  uint64_t boxes_loaded(int64_t m) const;
  uint64_t boxes_stored(int64_t m) const;
  /// Workspace bytes that suffice for launches of `first` to `last` rows; 0: none needed.
  uint64_t workspace_bytes(int64_t first, int64_t last) const;
  /// Whether D is written once per accumulation chain.
  bool writes_chains(int64_t m) const;
  /// Work units, and how many of them run concurrently.
  uint64_t units(int64_t m) const;
  uint32_t room() const { return room_; }

  /// For tests that corrupt a map.
  GemmArgs& arguments_for_test() { return args_; }

 private:
  // How one block loads an operand of one k block. (GemmShares is something else: how stream-K
  // divides the work.)
  struct Share {
    uint32_t part = 0;     // lines of a box, each of 128 bytes, before clipping
    uint32_t boxes = 0;    // boxes that this block loads
    uint32_t sharers = 1;  // blocks of the cluster that load a part each and multicast it
    bool along_k = false;  // contiguous along k: lines are rows of A or columns of B
    bool halves = false;   // Gate::halves: a box lies within one half of the operand
  };

  GemmKernel(const GemmProblem& seen, const GemmChoice& choice) : problem_(seen), choice_(choice) {}
  Status prepare(Device& device);
  Status encode_maps(Device& device);
  Status ask_for_room();
  void fill_batch();
  u32 early() const;
  bool can_store() const;
  int64_t d_extent(int64_t n) const;
  bool stores(int64_t n, uint64_t address) const;
  u32 store_flags(const GemmRun& run, int64_t n) const;
  GemmProblem problem_at(int64_t m) const;
  static u32 clipped(const Share& share, int64_t lines);
  int32_t plain_from(int64_t contiguous, uint64_t d) const;
  void fill_sizes(int64_t m, GemmArgs* args) const;
  bool adds(const GemmRun& run) const;
  void bind_maps(GemmArgs* args) const;
  void bind(const GemmRun& run, int64_t m, GemmArgs* args) const;
  void bind_options(const GemmRun& run, GemmEpilogueArgs* args) const;
  // `behind_own`: the plan's staging copy has been enqueued just before.
  Status launch_full(Stream& stream, const GemmRun& run, int64_t m, bool behind_own) const;
  Status launch_stream(Stream& stream, const GemmRun& run, int64_t m, u32 copied) const;
  LaunchConfig config(const GemmShares& shares) const;
  LaunchConfig config(uint32_t clusters, uint32_t together) const;
  GemmShares shares(const GemmArgs& args) const;
  void bind_width(const GemmShares& shares, GemmStreamArgs* args) const;
  u32 early_after_copy(u32 copied) const;
  LaunchConfig config(const GemmArgs& args) const;

  GemmProblem problem_;  // as the kernel sees it
  GemmChoice choice_;
  uint32_t room_ = 1;  // clusters (of mma.sync kernels: blocks) that run at the same time
  uint32_t clusters_[kMaxCluster + 1] = {};  // of a stream-K kernel: likewise, by size in blocks
  i32 band_ = 1;  // units along m if all concurrent units form a square of D
  PreparedKernel prepared_;
  std::unique_ptr<GemmPointers> pointers_;  // nullptr: a run gives addresses, not arrays of them
  GemmTile tile_{};                         // of a TMA kernel
  Share share_a_, share_b_;
  bool stores_ = false;      // an epilogue kernel may write D through a map
  GemmEpilogueArgs full_{};  // everything but addresses and the run's sizes; for epilogue kernels
  GemmArgs& args_ = full_.base;  // the part that basic kernels have, too
};

}  // namespace tw
