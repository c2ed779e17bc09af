// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a grouped product: as the caller gives it (GroupedDesc), and after the checks,
// with all defaults filled in (GroupedProblem).

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

/// Values of tw_grouping and of kGroups... in kernels/grouped/grouped.h.
enum class Grouping : int32_t {
  one = 0,
  ends = 1,
  offsets = 2,
  psum = 3,
  by_row = 4,
  masked = 5,
  k_ranges = 6,
  blocks = 20  // reserved
};

/// Values of tw_grouped_combine. `store` stores a row of the result in a row of D. The others add
/// rows: a row of D becomes their sum in a fixed order, or they are added to it by atomics, or they
/// are added to it in a fixed order.
enum class Combine : int32_t { store = 0, sum = 1, add_atomic = 2, add = 3 };

/// Bits of the description's flags.
inline constexpr uint32_t kGroupedDescGather = 1;     // args.a_rows has the indices of A's rows
inline constexpr uint32_t kGroupedDescScatter = 2;    // args.d_rows has the indices of D's rows
inline constexpr uint32_t kGroupedDescInvariant = 4;  // a row's bits do not depend on other rows
inline constexpr uint32_t kGroupedDescProgrammatic = 8;
inline constexpr uint32_t kGroupedDescRowWeightByIndex = 16;  // row_weights is indexed by d_rows
inline constexpr uint32_t kGroupedDescZeroOthers = 32;  // rows of D without a result become zero
inline constexpr uint32_t kGroupedDescInverse = 64;     // runs give the inverse of d_rows
inline constexpr uint32_t kGroupedDescFast = 128;       // accumulate all k in the tensor cores

/// The fields of tw_grouped_desc: extents and pitches in elements; 0 stands for packed.
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
  float gate_limit = 0;  // 0: no limit
  float gate_offset = 0;
  float gate_slope = 1;
  uint32_t flags = 0;
  uint32_t a_alignment = 0;
  uint32_t b_alignment = 0;
  uint32_t d_alignment = 0;
  uint32_t max_sms = 0;
  int64_t m = -1, n = -1, k = -1;
  int64_t groups = -1;
  int64_t weight_count = 0;  // number of weight matrices; 0: as many as groups
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t b_stride = 0;              // from one weight matrix to the next
  int64_t d_stride = 0;              // with k_ranges: between matrices of D
  int64_t bias_stride = 0;           // between the biases of weight matrices
  int64_t group_rows = 0;            // with masked: rows from one group's begin to the next one's
  int64_t row_alignment = 0;         // with psum: groups begin at multiples of it; 0: 1
  int64_t a_count = 0;               // rows of a gathered A
  int64_t d_count = 0;               // rows of a scattered D
  int64_t a_divisor = 0;             // an index in a_rows, divided by it, is a row of A; 0: 1
  int64_t d_divisor = 0;             // likewise for d_rows and D
  int64_t expected_rows = 0;         // a hint: rows of a usual group; 0: not given
  GemmScaling a_scaling, b_scaling;  // check_scaling() sets their batch strides from the next two
  int64_t a_scale_stride = 0;        // with masked: between groups' scales; 0: one matrix for all
  int64_t b_scale_stride = 0;        // between weight matrices' scales; 0: packed
  std::string candidate;             // symbol of the kernel that the caller names; empty: any
  /// For tests and benchmarks: kernel variants that may be chosen.
  uint32_t methods = ~0u;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  DType b_type() const { return b_dtype == DType{} ? a_dtype : b_dtype; }
  /// Whether the product needs the kernels for 8-bit types.
  bool is_narrow() const { return is_narrow_type(a_dtype); }
};

/// The checked description with all defaults filled in.
struct GroupedProblem {
  GroupedDesc desc;
  int64_t in_bytes = 2, out_bytes = 2;
  int64_t group_index_bytes = 4;    // size of the elements of args.groups
  int64_t row_index_bytes = 4;      // size of the elements of args.a_rows and args.d_rows
  int64_t d_columns = 0;            // n, or n / 2 with a gate
  bool a_scales_per_group = false;  // each masked group has its own scale matrix of A
  bool has_k_ranges() const { return desc.grouping == Grouping::k_ranges; }
  /// Whether rows are added in a fixed order: rows of the result are first stored in the workspace.
  bool adds_in_order() const { return sums() || desc.combine == Combine::add; }
  /// Whether all rows of D become sums without their old contents.
  bool sums() const { return desc.combine == Combine::sum; }
  bool gathers() const { return desc.has(kGroupedDescGather); }
  bool scatters() const { return desc.has(kGroupedDescScatter); }
  bool has_inverse() const { return desc.has(kGroupedDescInverse); }
  bool has_bias() const { return desc.bias_dtype != DType{}; }
  bool zeroes_other_rows() const { return desc.has(kGroupedDescZeroOthers); }
  /// Number of elements of args.groups in a run with m rows.
  int64_t groups_length(int64_t m) const;
  int64_t groups_length() const { return groups_length(desc.m); }
  /// Rows of the caller's A and D. With k_ranges, D is the matrix of one group.
  int64_t rows_of_a() const;
  int64_t rows_of_d() const;
  /// A line is what a matrix of B stores contiguously. The number of lines, and the elements of
  /// each.
  int64_t b_lines() const { return desc.b_order == Order::row ? desc.k : desc.n; }
  int64_t b_contiguous() const { return desc.b_order == Order::row ? desc.n : desc.k; }
  /// Rows and columns of the scale matrix for `rows` rows of A, and of that for one matrix of B.
  GemmScaleExtent a_scales(int64_t rows) const;
  GemmScaleExtent b_scales() const;
  int64_t a_scale_matrices() const { return a_scales_per_group ? desc.groups : 1; }
  int64_t b_scale_matrices() const { return has_k_ranges() ? 1 : desc.weight_count; }
  /// Elements between neighbors along each dimension of B.
  int64_t b_stride_k() const { return desc.b_order == Order::row ? desc.ldb : 1; }
  int64_t b_stride_n() const { return desc.b_order == Order::row ? 1 : desc.ldb; }
};
Status grouped_problem(const GroupedDesc& desc, GroupedProblem* out);

}  // namespace tw
