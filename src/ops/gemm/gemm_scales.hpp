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

/// Lines about the scales of the operands and about the accumulation for this type of A; may be
/// empty.
std::string scales_text(DType a_dtype, const GemmScaling& a, const GemmScaling& b, bool fast);

/// The bytes of an operand's scales if there are `matrices` matrices of them.
GemmBytes scale_bytes(const GemmScaling& scaling, GemmScaleExtent extent, int64_t matrices);

/// Where an operand's scales lie, as an argument of the kernels. A line is a row of A's matrix of
/// scales, or a column of B's.
GemmScale scale_places(const GemmScaling& scaling, bool lines_are_rows, uint64_t address);

/// The kernels' numbers of kinds of scales and of types.
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
