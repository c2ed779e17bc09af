// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program that bench_gemm.cpp describes. bench_gemm_epilogue and bench_gemm_batch run it too,
// for drawn shapes, with all its options.

#include <string>

namespace tw::bench {

/// `kind` says what is drawn for the classes decode and prefill: "" products, "epi" products with
/// epilogues (or "oth", by --epilogues=others), "bat" batches. Returns the exit status.
int run_gemm_program(int argc, char** argv, const std::string& kind);

/// Whether the arguments ask for drawn shapes.
bool wants_drawn_shapes(int argc, char** argv);

}  // namespace tw::bench
