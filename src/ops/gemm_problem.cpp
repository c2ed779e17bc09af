// SPDX-License-Identifier: Apache-2.0
// Checks a GEMM description, a line a rule, and normalises it.
#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "ops/gemm.hpp"

namespace tw {
namespace {

// Tiles are counted in 32 bits, and the last one may reach past the extent.
constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1024;

Status check_extent(const char* name, int64_t extent) {
  if (extent < 0 || extent > kMaxExtent)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = name, .rule = "gemm_extent", .got = extent, .limit = kMaxExtent},
                "%s is %" PRId64 ": extents are 0 to %" PRId64, name, extent, kMaxExtent);
  return {};
}

// A matrix of rows x columns; fills in a packed leading dimension and checks that all of it can be
// addressed.
Status check_leading(const char* name, int64_t rows, int64_t columns, Order order, int32_t bytes,
                     int64_t* leading) {
  const int64_t contiguous = order == Order::row ? columns : rows;
  const int64_t others = order == Order::row ? rows : columns;
  if (*leading == 0) *leading = std::max<int64_t>(contiguous, 1);
  if (*leading < contiguous)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = name, .rule = "leading_dimension", .got = *leading, .limit = contiguous},
        "%s is %" PRId64 ", less than the %" PRId64
        " contiguous elements of the matrix: give at least that, or 0 for packed",
        name, *leading, contiguous);
  int64_t span;
  if (!checked_mul(*leading, std::max<int64_t>(others, 1), &span) ||
      !checked_mul(span, bytes, &span))
    return fail(Code::ERROR_OVERFLOW,
                {.argument = name, .rule = "matrix_bytes", .got = *leading, .limit = INT64_MAX},
                "%s is %" PRId64 " and there are %" PRId64
                " of them: the matrix's bytes exceed 2^63 - 1",
                name, *leading, others);
  return {};
}

Status check_types(const GemmDesc& desc) {
  if (desc.ab_dtype != DType::BF16 && desc.ab_dtype != DType::F16)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "ab_dtype",
                 .rule = "gemm_input_type",
                 .got = static_cast<int64_t>(desc.ab_dtype)},
                "ab_dtype is %s (%d): bf16 and f16 can be multiplied", dtype_name(desc.ab_dtype),
                static_cast<int>(desc.ab_dtype));
  if (desc.d_dtype != desc.ab_dtype && desc.d_dtype != DType::F32)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "d_dtype",
                 .rule = "gemm_output_type",
                 .got = static_cast<int64_t>(desc.d_dtype)},
                "d_dtype is %s (%d): with %s inputs it is %s or f32", dtype_name(desc.d_dtype),
                static_cast<int>(desc.d_dtype), dtype_name(desc.ab_dtype),
                dtype_name(desc.ab_dtype));
  return {};
}

Status check_order(const char* name, Order order) {
  if (order == Order::row || order == Order::column) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = name, .rule = "order_value", .got = static_cast<int64_t>(order)},
              "%s is %d: TW_ROW_MAJOR is 0, TW_COLUMN_MAJOR is 1", name, static_cast<int>(order));
}

Order flipped(Order order) {
  return order == Order::row ? Order::column : Order::row;
}

// D^T = B^T A^T: a transposed operand is the same memory in the other order.
void swap_operands(GemmDesc* desc) {
  std::swap(desc->m, desc->n);
  std::swap(desc->a_order, desc->b_order);
  desc->a_order = flipped(desc->a_order);
  desc->b_order = flipped(desc->b_order);
  desc->d_order = Order::row;
  std::swap(desc->lda, desc->ldb);
  std::swap(desc->a_alignment, desc->b_alignment);
}

}  // namespace

Status gemm_problem(const GemmDesc& desc, GemmProblem* out) {
  TW_TRY(check_types(desc));
  TW_TRY(check_order("a_order", desc.a_order));
  TW_TRY(check_order("b_order", desc.b_order));
  TW_TRY(check_order("d_order", desc.d_order));
  TW_TRY(check_extent("m", desc.m));
  TW_TRY(check_extent("n", desc.n));
  TW_TRY(check_extent("k", desc.k));
  out->desc = desc;
  out->in_bytes = dtype_bytes(desc.ab_dtype);
  out->out_bytes = dtype_bytes(desc.d_dtype);
  GemmDesc& d = out->desc;
  TW_TRY(check_leading("lda", d.m, d.k, d.a_order, out->in_bytes, &d.lda));
  TW_TRY(check_leading("ldb", d.k, d.n, d.b_order, out->in_bytes, &d.ldb));
  TW_TRY(check_leading("ldc", d.m, d.n, d.d_order, out->out_bytes, &d.ldc));
  TW_TRY(check_leading("ldd", d.m, d.n, d.d_order, out->out_bytes, &d.ldd));
  const auto in = static_cast<uint32_t>(out->in_bytes);
  const auto result = static_cast<uint32_t>(out->out_bytes);
  TW_TRY(check_alignment("a_alignment", d.a_alignment, in));
  TW_TRY(check_alignment("b_alignment", d.b_alignment, in));
  TW_TRY(check_alignment("c_alignment", d.c_alignment, result));
  TW_TRY(check_alignment("d_alignment", d.d_alignment, result));
  out->swapped = d.d_order == Order::column;
  if (out->swapped) swap_operands(&d);
  return {};
}

}  // namespace tw
