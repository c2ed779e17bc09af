// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha * A B + beta * C: the caller's description, and the problem that kernels see.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"

namespace tw {

enum class Order : int32_t { row = 0, column = 1 };

/// As tw_gemm_desc: extents and leading dimensions in elements, 0 for packed.
struct GemmDesc {
  DType ab_dtype = DType::BF16;
  DType d_dtype = DType::BF16;
  Order a_order = Order::row;
  Order b_order = Order::row;
  Order d_order = Order::row;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  uint32_t a_alignment = 0, b_alignment = 0, c_alignment = 0, d_alignment = 0;
  uint32_t max_sms = 0;
  DType accumulator = DType::F32;
  bool d_padding_free = false;
  int64_t min_m = 0;
  bool realign = false;
};

/// As tw_gemm_args.
struct GemmRun {
  float alpha = 1.0f;
  float beta = 0.0f;
  uint64_t a = 0, b = 0, c = 0, d = 0;
  int64_t m = -1;
  uint64_t workspace = 0, workspace_bytes = 0;
};

/// Tiles are counted in 32 bits, and the last one may reach past the extent.
inline constexpr int64_t kGemmMaxExtent = (int64_t{1} << 31) - 1024;

/// What a tensor map needs of an address and a pitch without interleave.
inline constexpr int64_t kMapAlignment = 16;

inline bool addresses_suit_maps(const GemmRun& run) {
  return run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0;
}

/// The problem as kernels see it: D and C row-major, or, for transposed rows, column-major. Whoever
/// turns it round (D^T = B^T A^T) flips `swapped`.
struct GemmProblem {
  GemmDesc desc;         // checked, packed leading dimensions filled in
  bool swapped = false;  // desc's A is the caller's B, and the caller's m is desc.n
  int32_t in_bytes = 0;
  int32_t out_bytes = 0;

  /// Elements between neighbours along each dimension.
  int64_t a_stride_m() const { return desc.a_order == Order::row ? desc.lda : 1; }
  int64_t a_stride_k() const { return desc.a_order == Order::row ? 1 : desc.lda; }
  int64_t b_stride_k() const { return desc.b_order == Order::row ? desc.ldb : 1; }
  int64_t b_stride_n() const { return desc.b_order == Order::row ? 1 : desc.ldb; }

  /// The extent that runs may have less of: the caller's m.
  int64_t rows() const { return swapped ? desc.n : desc.m; }
  void set_rows(int64_t m) { (swapped ? desc.n : desc.m) = m; }
  /// Elements along D's contiguous dimension.
  int64_t d_contiguous() const { return desc.d_order == Order::row ? desc.n : desc.m; }
  int64_t d_lines() const { return desc.d_order == Order::row ? desc.m : desc.n; }

  bool pitches_suit_maps() const {
    return desc.lda * in_bytes % kMapAlignment == 0 && desc.ldb * in_bytes % kMapAlignment == 0;
  }
};

/// Checks every field of the description by name and brings it into the kernels' form, D row-major.
Status gemm_problem(const GemmDesc& desc, GemmProblem* out);

/// The same product by D^T = B^T A^T: operands swapped, each the same memory in the other order.
GemmProblem turned(const GemmProblem& problem);

}  // namespace tw
