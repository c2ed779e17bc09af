// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a grouped product, checked, with the numbers that 0 stands for.

#include <cstdint>
#include <limits>
#include <string>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "kernels/common/activation.h"
#include "kernels/grouped/grouped.h"
#include "ops/common/activation.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// As tw_grouping, and as kGroups of kernels/grouped/grouped.h.
enum class Grouping : int32_t {
  all = 0,
  ends = 1,
  offsets = 2,
  psum = 3,
  by_row = 4,
  masked = 5,
  k_ranges = 6,
  blocks = 20  // reserved
};

/// As tw_grouped_combine: what becomes of a row of the result.
enum class Combine : int32_t { store = 0, add = 1, add_atomic = 2 };

/// Bits of the description's flags.
inline constexpr uint32_t kGroupedDescGather = 1;     // args.a_rows says which rows A has
inline constexpr uint32_t kGroupedDescScatter = 2;    // args.d_rows says where rows go
inline constexpr uint32_t kGroupedDescInvariant = 4;  // a row's bits do not depend on others
inline constexpr uint32_t kGroupedDescProgrammatic = 8;
inline constexpr uint32_t kGroupedDescWeightByIndex = 16;  // row_weights is indexed by d_rows
inline constexpr uint32_t kGroupedDescZeroOthers = 32;     // rows of D in no group become zero
inline constexpr uint32_t kGroupedDescInverse = 64;        // runs give the inverse of d_rows
inline constexpr uint32_t kGroupedDescFast = 128;          // no sums in f32 for each 128 of k

/// As tw_grouped_desc: extents and pitches in elements; 0 stands for packed.
struct GroupedDesc {
  DType a_dtype = DType::BF16;
  DType b_dtype{};                     // none: a_dtype
  DType d_dtype{};                     // none: a_dtype
  DType bias_dtype{};                  // none: there is no bias
  DType index_dtype = DType::I32;      // of args.groups
  DType row_index_dtype = DType::I32;  // of args.a_rows and args.d_rows
  Order b_order = Order::row;
  Grouping grouping = Grouping::ends;
  Combine combine = Combine::store;
  Activation activation = Activation::identity;
  Gate gate = Gate::none;
  float gate_limit = 0;  // 0: none
  float gate_offset = 0;
  float gate_slope = 1;
  uint32_t flags = 0;
  uint32_t a_alignment = 0;
  uint32_t b_alignment = 0;
  uint32_t d_alignment = 0;
  uint32_t max_sms = 0;
  int64_t m = -1, n = -1, k = -1;
  int64_t groups = -1;
  int64_t weights = 0;  // 0: groups
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t b_stride = 0;       // between weight matrices
  int64_t d_stride = 0;       // of k_ranges: between matrices of D
  int64_t bias_stride = 0;    // between the biases of weight matrices
  int64_t group_rows = 0;     // of masked: rows from one group to the next
  int64_t row_alignment = 0;  // of psum; 0: 1
  int64_t a_count = 0;        // rows of A where they are gathered
  int64_t d_count = 0;        // rows of D where they are scattered
  int64_t a_divisor = 0;      // 0: 1
  int64_t d_divisor = 0;
  int64_t expected_rows = 0;         // a hint: rows of a usual group; 0: unknown
  GemmScaling a_scaling, b_scaling;  // whose batch strides follow from these
  int64_t a_scale_stride = 0;        // of masked: between groups' scales; 0: all rows have a matrix
  int64_t b_scale_stride = 0;        // between weight matrices' scales; 0: packed
  std::string candidate;             // symbol of the kernel that multiplies; empty: any may
  /// For tests and benchmarks: kernel variants that may be chosen.
  uint32_t methods = ~0u;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  DType b_type() const { return b_dtype == DType{} ? a_dtype : b_dtype; }
  /// Whether it takes the kernels of 8-bit types.
  bool is_narrow() const { return is_narrow_type(a_dtype); }
};

/// The checked description with all numbers filled in.
struct GroupedProblem {
  GroupedDesc desc;
  int64_t in_bytes = 2, out_bytes = 2;
  int64_t number_bytes = 4, index_bytes = 4;  // of args.groups, and of args.a_rows and args.d_rows
  int64_t d_columns = 0;                      // of D: n, or half of it where columns are gated
  bool splits_a_scales = false;  // each masked group's scales of A are a matrix of their own
  bool ranges() const { return desc.grouping == Grouping::k_ranges; }
  bool adds() const { return desc.combine != Combine::store; }
  /// Whether rows are stored in the workspace and added from there.
  bool ordered() const { return desc.combine == Combine::add; }
  bool gathers() const { return desc.has(kGroupedDescGather); }
  bool scatters() const { return desc.has(kGroupedDescScatter); }
  bool inverse() const { return desc.has(kGroupedDescInverse); }
  bool biased() const { return desc.bias_dtype != DType{}; }
  bool zeroes() const { return desc.has(kGroupedDescZeroOthers); }
  /// How many numbers args.groups has in a run of m rows.
  int64_t numbers(int64_t m) const;
  int64_t numbers() const { return numbers(desc.m); }
  /// Rows of the operands as the caller has them.
  int64_t a_rows() const;
  int64_t d_rows() const;
  /// Lines of B's matrices, and the elements of each.
  int64_t b_lines() const { return desc.b_order == Order::row ? desc.k : desc.n; }
  int64_t b_contiguous() const { return desc.b_order == Order::row ? desc.n : desc.k; }
  /// Rows and columns of the matrices of scales: of an A with `rows` rows, and of each weight
  /// matrix.
  GemmScaleExtent a_scales(int64_t rows) const;
  GemmScaleExtent b_scales() const;
  /// Numbers of matrices of scales.
  int64_t a_scale_matrices() const { return splits_a_scales ? desc.groups : 1; }
  int64_t b_scale_matrices() const { return ranges() ? 1 : desc.weights; }
  /// Strides of B in elements.
  int64_t b_stride_k() const { return desc.b_order == Order::row ? desc.ldb : 1; }
  int64_t b_stride_n() const { return desc.b_order == Order::row ? 1 : desc.ldb; }
};
Status grouped_problem(const GroupedDesc& desc, GroupedProblem* out);

}  // namespace tw
