// SPDX-License-Identifier: Apache-2.0
#pragma once
// A choice made ready on a device: the kernel, its maps, and what a run fills in.

#include <memory>

#include "kernels/gemm/arguments/gemm_full.h"
#include "kernels/gemm/arguments/gemm_stream.h"
#include "ops/gemm/gemm_pointers.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/gemm/select/gemm_shares.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// Immutable after create(), so that one may be launched from many threads at once.
class GemmKernel {
 public:
  /// For runs of at most `rows` rows m; `problem` as gemm_problem() makes it.
  static Status create(Device& device, const GemmProblem& problem, const GemmChoice& choice,
                       int64_t rows, std::unique_ptr<GemmKernel>* out);

  const GemmChoice& choice() const { return choice_; }
  const PreparedKernel& prepared() const { return prepared_; }

  /// Refuses more rows than its tiles can be counted for.
  Status check_rows(int64_t rows) const;
  /// Whether a run's addresses suit it.
  bool takes(const GemmRun& run) const {
    return !choice_.through_maps() || problem_.desc.has(kGemmPointers) ||
           (run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0);
  }
  /// Whether it does all that a run of m rows asks for; other rows than those of batches do.
  bool does(const GemmRun& run, int64_t m) const;
  /// A checked run of m rows, neither m nor n 0, which it does and takes. `copied`, kGemmEarly bits
  /// of the caller's operands: behind a kernel of the plan's in the same stream that copies those,
  /// whose end the product waits for by itself, so that its beginning overlaps that.
  Status launch(Stream& stream, const GemmRun& run, int64_t m, u32 copied = 0) const;

  /// What launch() would do with aligned addresses and beta 0; m may be 0.
  LaunchConfig config(int64_t m) const;
  uint64_t boxes_loaded(int64_t m) const;
  uint64_t boxes_stored(int64_t m) const;
  /// Of a workspace that is enough for launches of `first` to `last` rows; 0: they need none.
  uint64_t workspace_bytes(int64_t first, int64_t last) const;
  /// Whether D is written once for each chain of k.
  bool writes_chains(int64_t m) const;
  /// Work units, and how many of them run at once.
  uint64_t units(int64_t m) const;
  uint32_t room() const { return room_; }

  /// For tests that plant a fault in a map.
  GemmArgs& arguments_for_test() { return args_; }

 private:
  // An operand's boxes in one block's k block.
  struct Share {
    uint32_t part = 0;     // extent besides 128 bytes, of operands with enough lines
    uint32_t boxes = 0;    // of this block
    uint32_t sharers = 1;  // blocks of the cluster that load a part each for all
    bool along_k = false;  // lines are rows of A or columns of B, so that few of them clip the box
    bool halves = false;   // gated, and columns lie apart: boxes are of one half
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
  u32 stored_as(const GemmRun& run, int64_t n) const;
  GemmProblem problem_at(int64_t m) const;
  static u32 clipped(const Share& share, int64_t lines);
  int32_t plain_from(int64_t contiguous, uint64_t d) const;
  void fill_sizes(int64_t m, GemmArgs* args) const;
  bool adds(const GemmRun& run) const;
  void bind_maps(GemmArgs* args) const;
  void bind(const GemmRun& run, int64_t m, GemmArgs* args) const;
  void bind_options(const GemmRun& run, GemmFullArgs* args) const;
  Status launch_full(Stream& stream, const GemmRun& run, int64_t m, bool behind_own) const;
  Status launch_stream(Stream& stream, const GemmRun& run, int64_t m, u32 copied) const;
  GemmShares shares(const GemmArgs& args) const;
  void bind_width(const GemmShares& shares, GemmStreamArgs* args) const;
  u32 early_behind(u32 copied) const;
  LaunchConfig config(const GemmArgs& args) const;

  GemmProblem problem_;  // as the row sees it
  GemmChoice choice_;
  uint32_t room_ = 1;
  i32 band_ = 1;  // units along m of a square of D
  PreparedKernel prepared_;
  std::unique_ptr<GemmPointers> pointers_;  // nullptr: addresses are the run's
  GemmTile tile_{};                         // of a row that goes through maps
  Share share_a_, share_b_;
  bool stores_ = false;  // a full row's D may go through its map
  GemmFullArgs full_{};  // everything but addresses and the run's sizes
  GemmArgs& args_ = full_.base;
};

}  // namespace tw
