// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales of narrow operands and of a quantized D: checks them for a run and fills in the kernels'
// arguments.

#include <string>

#include "kernels/gemm/arguments/gemm_scales.h"
#include "ops/gemm/gemm_spans.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// For example "f8e4m3 to bf16", or "f8e4m3 by f8e5m2 to bf16" if A and B differ in type.
std::string types_text(DType a, DType b, DType d);

/// Lines of text on the scales of A and B and, for 8-bit floats, on where k is accumulated. The
/// text is empty if there is nothing to say.
std::string scales_text(DType a_dtype, const GemmScaling& a, const GemmScaling& b, bool fast);

/// The bytes that `matrices` scale matrices of an operand occupy.
GemmBytes scale_bytes(const GemmScaling& scaling, GemmScaleExtent extent, int64_t matrices);

/// The kernel argument for an operand's scales. A row of A has a row of the scale matrix
/// (`lines_are_rows`), a column of B has a column of it.
GemmScale scale_argument(const GemmScaling& scaling, bool lines_are_rows, uint64_t address);

/// Scale kinds (kScale...) and types (kFormat..., kGemm...) in the kernels' numbering.
unsigned char kernel_scale(ScaleKind kind);
unsigned char kernel_type(DType type);

/// Refuses addresses of scales that the caller's description does not have and, for an i32 D, an
/// alpha other than 1 or a beta other than 0.
Status check_scales_excluded(const GemmDesc& caller, const GemmRun& run);

/// Checks the addresses of the scales for a run of m rows and adds their spans. `caller` is the
/// caller's description, before any swap-AB.
Status add_scales(const GemmDesc& caller, const GemmRun& run, int64_t m, GemmSpans* spans);

/// Fills in the kernel's scale arguments. `kernel_problem` is the problem after any swap-AB.
void fill_scales(const GemmProblem& kernel_problem, const GemmRun& run, GemmScales* scales);

}  // namespace tw
