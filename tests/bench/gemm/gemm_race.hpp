// SPDX-License-Identifier: Apache-2.0
#pragma once
// Races one gemm shape against cuBLASLt: operands, launches, times, and a check of the results.
//
// If cuBLASLt lacks the shape's epilogue, its product is followed by a copy of as many bytes as a
// pass for the rest of the epilogue would read and write. Such results are not compared.
//
// Operands are slices of one pool of N(0, 1) elements. Cold mode: a shape that takes 100 us or more
// is launched singly between events after an L2 flush. A shorter one is timed as a graph of 20 or
// more launches, each on operands that are not in the L2. Hot mode: launches back to back on one
// set of operands.

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
  int peer_rounds = 5;  ///< rounds to choose among the peer's algorithms
  bool hot = false;
  bool clocks = false;          ///< also read the SM clock
  bool programmatic = false;    ///< our plans use dependent launch (PDL), with constant B
  bool self = false;            ///< race the plan against itself, to measure noise
  bool all_candidates = false;  ///< also time candidates
  double within = 3;            ///< time candidates up to this multiple of the best modeled time
  bool regret = false;          ///< time all candidates, then race the choice and the fastest again
  uint64_t order_seed = 0;      ///< for the random order of candidates with `regret`
  double alone_us = 0;          ///< shapes that take longer are timed with each side alone; 0: none
  double alone_seconds = 0.5;   ///< length of each of the four runs of such a shape
  double candidate_seconds = 1;  ///< budget per shape; at least six candidates are tried
};

/// The time of the plan's own choice or of a candidate.
struct GemmTime {
  std::string kernel;  ///< symbol; for a candidate its text
  uint32_t grid = 0, cluster = 0;
  double us = 0;
  double model_us = 0;
  double megahertz = 0;  ///< SM clock, if read
  double joules = 0;     ///< per product, if it ran alone
};

struct GemmResult {
  std::string error;  ///< why nothing was measured, or empty
  GemmTime ours;
  std::vector<GemmTime> candidates;  ///< if asked for; the model's best first
  std::string fastest;               ///< with `regret`: text of the fastest candidate
  double regret = 0;                 ///< time of the choice over that of the fastest, less 1
  double peer_us = 0;                ///< 0: the peer has no algorithm for this shape
  double peer_megahertz = 0;
  double peer_joules = 0;
  int peer_algorithm = 0, peer_algorithms = 0;
  std::string peer_kernel;
  double distance = 0;  ///< 1 - 2 <x, y> / (<x, x> + <y, y>), to the peer or to float64
  bool right = false;

  double ratio() const { return ours.us > 0 ? peer_us / ours.us : 0; }
};

class GemmRacer {
 public:
  GemmRacer(GpuBench& bench, GemmPeer* peer, const GemmRaceOptions& options);

  GemmResult race(const GemmShape& shape);
  /// For a profiler: launches the plan's choice and the peer's first algorithm once each, after L2
  /// flushes. Returns why nothing was launched, or an empty string.
  std::string launch_once(const GemmShape& shape);
  /// FLOP/s of the peer (without one, ours) at 8192^3, from which limits of time are computed.
  double measured_peak();

 private:
  struct Operands {
    uint64_t a, b, c, d;  // c is 0 if the shape reads no C
  };
  struct Copies {
    uint64_t input_step = 0, output_step = 0;
    uint64_t b_offset = 0, c_offset = 0;
    uint64_t pass_offset = 0, pass_bytes = 0;  // what the peer's second pass writes, after D
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
  int prepare_peer(const GemmShape& shape, const Copies& copies);
  int best_of_peer(const GemmShape& shape, const Copies& copies);
  std::vector<std::unique_ptr<Plan>> force_all(const GemmShape& shape,
                                               std::vector<GemmTime>* candidates);
  /// The times of variants by the method of the shape, and joules where they ran alone.
  std::vector<Alone> times(const GemmShape& shape, const std::vector<Variant>& variants);
  void find_regret(const GemmShape& shape, const Variant& choice,
                   const std::vector<Variant>& forced, GemmResult* result);
  void check(const GemmShape& shape, const GemmPlan& plan, const Copies& copies,
             GemmResult* result);
  double reference_distance(const GemmShape& shape, Operands at, bool* right);
  double one_reference_distance(const GemmShape& shape, const Operands& at, bool* right);

  GpuBench& bench_;
  GemmPeer* peer_;
  GemmRaceOptions options_;
  test::GemmCheck check_;
  uint64_t inputs_ = 0, outputs_ = 0, workspace_ = 0;
  uint64_t bias_ = 0, scale_ = 0;  // vectors of epilogues
};

}  // namespace tw::bench
