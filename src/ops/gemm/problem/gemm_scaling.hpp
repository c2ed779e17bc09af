// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules for scales, shared by dense and grouped products. gemm_scaling() applies them to a dense
// product.

#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// Names of a description's fields for an operand's scales, for error messages: kind, order,
/// leading dimension, stride, and the field that counts the matrices the stride separates.
struct ScalingNames {
  const char *kind, *order, *leading, *stride, *count;
};

/// Refuses a value that is no tw_scale_kind, and kinds that no kernel supports.
Status check_scale_kind(const ScalingNames& names, ScaleKind kind);

/// Refuses unsupported pairs of scale kinds, and scales for operands of wide types.
Status check_scale_pair(DType a_dtype, const GemmScaling& a, const GemmScaling& b);

/// Refuses fast accumulation, which the flag named `flag` requests, unless A has an 8-bit float
/// type and scales do not change along k.
Status check_fast_accumulate(const char* flag, DType a_dtype, ScaleKind a);

/// Checks order, leading dimension and stride of `count` scale matrices, and replaces the values
/// that mean "packed".
Status check_scale_layout(const ScalingNames& names, GemmScaleExtent extent, int64_t count,
                          GemmScaling* scaling);

/// Rows and columns of the scale matrix of an A of rows x k, and of a B of k x n.
GemmScaleExtent scale_extent_of_a(ScaleKind kind, int64_t rows, int64_t k);
GemmScaleExtent scale_extent_of_b(ScaleKind kind, int64_t k, int64_t n);

}  // namespace tw
