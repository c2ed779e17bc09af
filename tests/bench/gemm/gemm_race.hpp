// SPDX-License-Identifier: Apache-2.0
#pragma once
// One shape of gemm against cuBLASLt: operands, launches, times, and whether both agree.
//
// Operands are slices of one pool of N(0, 1) elements. Cold, a shape that takes 100 us or more is
// launched by itself between events, after a pass that reads 256 MB; a shorter one is timed as a
// graph of 20 launches or more, each on operands of its own that nobody touched since such a pass.
// Hot times launches back to back on one set of operands.

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/common/gpu_bench.hpp"
#include "tests/bench/gemm/gemm_peer.hpp"
#include "tests/bench/gemm/gemm_sets.hpp"
#include "tests/device/gemm/gemm_check.hpp"

namespace tw::bench {

struct GemmRaceOptions {
  DType dtype = DType::BF16;
  int rounds = 15;
  int peer_rounds = 5;  ///< of the choice among the peer's algorithms
  bool hot = false;
  bool clocks = false;          ///< read the SMs' clock, too
  bool programmatic = false;    ///< ours launched programmatically, B constant
  bool self = false;            ///< the same plan in the peer's place: what is noise
  bool all_candidates = false;  ///< time them all beside the plan's own choice
  double within = 3;            ///< those that the model gives at most so many times the best
  double alone_us = 0;  ///< what takes longer is timed alone, each side by itself; 0: nothing
  double alone_seconds = 0.5;    ///< of each of four such runs
  double candidate_seconds = 1;  ///< of a shape; slow shapes try fewer candidates, six at least
};

/// One way to run the shape: the plan's own choice, or a candidate.
struct GemmTime {
  std::string kernel;  ///< of a candidate its text
  uint32_t grid = 0, cluster = 0;
  double us = 0;
  double model_us = 0;
  double megahertz = 0;  ///< of the SMs meanwhile, where it was read
  double joules = 0;     ///< of a product, where it ran alone
};

struct GemmResult {
  std::string error;  ///< why nothing was measured; empty if it was
  GemmTime ours;
  std::vector<GemmTime> candidates;  ///< where asked for, the model's best first
  double peer_us = 0;                ///< 0: the peer has nothing for this shape
  double peer_megahertz = 0;
  double peer_joules = 0;
  int peer_algorithm = 0, peer_algorithms = 0;
  double distance = 0;  ///< 1 - 2 <x, y> / (<x, x> + <y, y>), to the peer or to float64
  bool right = false;

  double ratio() const { return ours.us > 0 ? peer_us / ours.us : 0; }
};

class GemmRacer {
 public:
  GemmRacer(GpuBench& bench, GemmPeer* peer, const GemmRaceOptions& options);

  GemmResult race(const GemmShape& shape);
  /// Launches the plan's choice and the peer's first algorithm once each, the L2 flushed: for a
  /// profiler. Returns why nothing was launched; empty if it was.
  std::string launch_once(const GemmShape& shape);
  /// FLOP/s of the peer (ours without one) at 8192^3: what a limit of arithmetic is made from.
  double measured_peak();

 private:
  struct Operands {
    uint64_t a, b, d;
  };
  struct Copies {
    uint64_t input_step = 0, output_step = 0;
    uint64_t b_offset = 0;
    int count = 1;
  };
  GemmDesc describe(const GemmShape& shape) const;
  double graph_limit_us() const;
  bool is_alone(const GemmShape& shape) const;
  Copies arrange(const GemmShape& shape) const;
  Operands operands(const Copies& copies, int index) const;
  GemmRun run_of(const GemmShape& shape, const Operands& at) const;
  Variant variant(const GemmPlan& plan, const GemmShape& shape, const Copies& copies);
  Variant peer_variant(int algorithm, const Copies& copies);
  std::vector<double> time(const GemmShape& shape, const std::vector<Variant>& variants,
                           int rounds);
  int best_of_peer(const GemmShape& shape, const Copies& copies);
  std::vector<std::unique_ptr<Plan>> force_all(const GemmShape& shape,
                                               std::vector<GemmTime>* candidates);
  void check(const GemmShape& shape, const GemmPlan& plan, const Copies& copies,
             GemmResult* result);
  double reference_distance(const GemmShape& shape, const Operands& at, bool* right);

  GpuBench& bench_;
  GemmPeer* peer_;
  GemmRaceOptions options_;
  test::GemmCheck check_;
  uint64_t inputs_ = 0, outputs_ = 0, workspace_ = 0;
};

}  // namespace tw::bench
