// SPDX-License-Identifier: Apache-2.0
// Gemm against cuBLASLt on the shapes of gemm_sets.cpp.
//   bench_gemm --set=SQ,KS [--shard=1/4] [--dtype=f16] [--mode=hot] [--rounds=15] [--json=FILE]
//              [--min_m=512] [--max_m=256] [--shape=4096x4096x7168,...] [--seconds=280]
//              [--peer_rounds=5]
//              [--all_candidates [--within=3] [--candidate_seconds=1]] [--self] [--profile]
//              [--programmatic] [--clocks]
//   bench_gemm --random=SEED --class=decode|prefill|random|odd [--count=20] [--f32]
//              [--alone_seconds=0.5] [--rounds_only] [--list] ...
//   bench_gemm --regret --random=SEED --class=decode,prefill,random
//   bench_gemm --sustained=3 --random=SEED [--class=large] [--count=12] ...
//              [--cublaslt=/path/to/libcublasLt.so.13]
// Prints a line per shape, then the classes for which speed is stated. gemm_table.py joins the JSON
// lines of several runs.
// --random draws the shapes of a class (gemm_draw.hpp). Shapes of up to 400 us are then timed in
// graphs. For longer ones each side runs alone for half a second twice, in the order ABBA;
// --alone_seconds changes that, and with --rounds_only they are launched in rounds like shapes of
// the sets, so that all candidates of many shapes can be recorded. --list prints the shapes as JSON
// lines and measures nothing; it needs no GPU.
// --sustained=S runs each side of every shape alone for S seconds twice, and prints the energy per
// product by the GPU's counter.
// --all_candidates times each candidate whose modeled time is at most --within times the best.
// --regret times every candidate in random order, races the choice and the fastest again as a pair,
// and prints by how much choices are slower: mean, 95th percentile and most of each class.
// --self races the plan against itself and prints the noise: the standard deviation of the ratios
// of each set or class. Its JSON lines are of kind "self".
// --programmatic gives our plans dependent launch (PDL) with constant B.
// --clocks reads the SM clock around each launch, which at the power limit depends on what else
// runs, and prints the fraction of the tensor cores' speed at that clock.
// --profile launches the plan and the peer of each shape once and times nothing, for
// gemm_counters.py under ncu.
// A run that stops after --seconds prints the --skip with which the rest can be measured.
#include "tests/bench/gemm/gemm_program.hpp"

int main(int argc, char** argv) {
  return tw::bench::run_gemm_program(argc, argv, "");
}
