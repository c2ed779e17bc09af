// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of scales that every description of a product shares. gemm_scaling() applies them to a
// dense one.

#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// What a description calls the fields of an operand's scales: their kind, order, leading dimension
/// and stride, and the number of matrices of scales that the stride separates.
struct ScalingNames {
  const char *kind, *order, *leading, *stride, *count;
};

/// Refuses a kind that is none, or that no kernel takes.
Status check_scale_kind(const ScalingNames& names, ScaleKind kind);

/// Refuses kinds of scales of A and B that do not go together, or not with A's type.
Status check_scale_pair(DType a_dtype, const GemmScaling& a, const GemmScaling& b);

/// Refuses long sums in the tensor cores, which `flag` asks for, where there are none.
Status check_fast_accumulate(const char* flag, DType a_dtype, ScaleKind a);

/// Checks order, leading dimension and stride of `count` matrices of scales, and fills in packed
/// ones.
Status check_scale_layout(const ScalingNames& names, GemmScaleExtent extent, int64_t count,
                          GemmScaling* scaling);

/// Rows and columns of the matrix of scales of that kind: of an A of rows x k, and of a B of k x n.
GemmScaleExtent scale_extent_of_a(ScaleKind kind, int64_t rows, int64_t k);
GemmScaleExtent scale_extent_of_b(ScaleKind kind, int64_t k, int64_t n);

}  // namespace tw
