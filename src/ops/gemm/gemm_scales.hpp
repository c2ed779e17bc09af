// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales of narrow operands, and of a D that a run quantizes: checks of a run, and the arguments of
// kernels for narrow types.

#include <string>

#include "kernels/gemm/arguments/gemm_scales.h"
#include "ops/gemm/gemm_spans.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// "f8e4m3 to bf16", of two types of A and B "f8e4m3 by f8e5m2 to bf16".
std::string types_text(DType a, DType b, DType d);

/// Scales of the operands, and how far sums of such an A go: lines, or nothing.
std::string scales_text(DType a_dtype, const GemmScaling& a, const GemmScaling& b, bool fast);

/// The bytes of so many matrices of an operand's scales.
GemmBytes scale_bytes(const GemmScaling& scaling, GemmScaleExtent extent, int64_t matrices);

/// Where an operand's scales lie, as kernels are told. A's matrix has its lines as rows, B's as
/// columns.
GemmScale scale_places(const GemmScaling& scaling, bool lines_are_rows, uint64_t address);

/// Kinds of scales and types, as kernels have them.
unsigned char kernel_scale(ScaleKind kind);
unsigned char kernel_type(DType type);

/// Refuses what a run gives that the description has no scales for, and a product that D's type
/// cannot hold.
Status check_scales_excluded(const GemmDesc& own, const GemmRun& run);

/// Checks the addresses of the scales for a run of m rows, and adds their spans. `own` is the
/// caller's description.
Status add_scales(const GemmDesc& own, const GemmRun& run, int64_t m, GemmSpans* spans);

/// Fills in the kernel's scale arguments; `seen` is the problem as the kernel sees it.
void fill_scales(const GemmProblem& seen, const GemmRun& run, GemmScales* scales);

}  // namespace tw
