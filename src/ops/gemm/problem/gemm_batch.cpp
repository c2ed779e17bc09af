// SPDX-License-Identifier: Apache-2.0
// Checks a description's batch and flags.
#include <algorithm>
#include <cinttypes>

#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {
namespace {

// One operand's matrices: `lines` lines of `contiguous` elements, which begin every `leading`
// elements.
struct Operand {
  const char* stride_name;  // the name of the batch stride in the description
  int64_t lines, contiguous, leading;
  int32_t bytes;
};

Operand make_operand(const char* stride_name, int64_t rows, int64_t columns, Order order,
                     int64_t leading, int32_t bytes) {
  const bool row = order == Order::row;
  return {stride_name, row ? rows : columns, row ? columns : rows, leading, bytes};
}

// Fills in a packed stride and checks that the batch's bytes fit 63 bits.
Status check_stride(const Operand& operand, int64_t batch, int64_t* stride) {
  if (*stride == kGemmPackedBatch) *stride = operand.leading * std::max<int64_t>(operand.lines, 1);
  if (*stride < 0)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = operand.stride_name, .rule = "batch_stride", .got = *stride, .limit = 0},
        "%s is %" PRId64
        ": elements between matrices are 0 (all products share one) or more, or -1 for "
        "packed matrices",
        operand.stride_name, *stride);
  if (batch <= 1) return {};
  const int64_t matrix_elements = operand.leading * std::max<int64_t>(operand.lines, 1);
  const int64_t max_stride = (INT64_MAX / operand.bytes - matrix_elements) / (batch - 1);
  if (*stride <= max_stride) return {};
  return fail(
      Code::ERROR_OVERFLOW,
      {.argument = operand.stride_name, .rule = "batch_bytes", .got = *stride, .limit = max_stride},
      "%s is %" PRId64 " and batch_count %" PRId64
      ", and the batch's bytes exceed 2^63 - 1: %" PRId64 " at most",
      operand.stride_name, *stride, batch, max_stride);
}

Status check_disjoint_d(const Operand& d, int64_t batch, int64_t stride, bool padding_free) {
  const int64_t overlapping = gemm_first_overlap(d.lines, d.contiguous, d.leading, batch, stride);
  if (overlapping == 0) return {};
  return fail(Code::ERROR_OVERLAP,
              {.argument = d.stride_name,
               .index = static_cast<int32_t>(overlapping),
               .rule = "batch_disjoint",
               .got = stride},
              "%s is %" PRId64 ": matrices 0 and %" PRId64 " of D, %" PRId64 " lines of %" PRId64
              " elements %" PRId64 " apart%s, share elements: give %" PRId64
              " or more, or -1 for packed",
              d.stride_name, stride, overlapping, d.lines, d.contiguous, d.leading,
              padding_free ? " (the padding is D's, by TW_GEMM_D_PADDING_WRITABLE)" : "",
              (d.lines - 1) * d.leading + d.contiguous);
}

Status check_flags(const GemmDesc& d) {
  if (d.flags >= kGemmFlagsEnd)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "flags", .rule = "flag_bits", .got = d.flags, .limit = kGemmFlagsEnd - 1},
        "flags is 0x%x: bits above 0x%x mean nothing", d.flags, kGemmFlagsEnd - 1);
  if (d.has(kGemmPointers) && d.staging_copy)
    return fail(
        Code::ERROR_INVALID_ARGUMENT, {.argument = "flags", .rule = "gemm_realign_pointers"},
        "flags has TW_GEMM_STAGING_COPY, which copies operands whose addresses a run gives, and "
        "TW_GEMM_BATCH_POINTERS, with which only the device knows them: leave one of the two out");
  return {};
}

}  // namespace

int64_t gemm_first_overlap(int64_t lines, int64_t contiguous, int64_t leading, int64_t batch,
                           int64_t stride) {
  if (lines == 0 || contiguous == 0) return 0;
  const int64_t span = (lines - 1) * leading + contiguous;
  for (int64_t i = 1; i < batch && i * stride < span; ++i) {
    // Each line of matrix i begins `offset` elements after the beginning of a line of matrix 0.
    const int64_t line = i * stride / leading;
    const int64_t offset = i * stride % leading;
    if (offset < contiguous && line < lines) return i;
    if (leading - offset < contiguous && line + 1 < lines) return i;
  }
  return 0;
}

Status gemm_batch(GemmProblem* problem) {
  GemmDesc& d = problem->desc;
  TW_TRY(check_flags(d));
  if (d.batch < 0 || d.batch > kGemmMaxBatch)
    return fail(
        d.batch < 0 ? Code::ERROR_INVALID_ARGUMENT : Code::ERROR_UNSUPPORTED,
        {.argument = "batch_count", .rule = "gemm_batch", .got = d.batch, .limit = kGemmMaxBatch},
        "batch_count is %" PRId64 ": 0 to %" PRId64 " products in a run", d.batch, kGemmMaxBatch);
  // With arrays of addresses, strides have no meaning.
  if (d.has(kGemmPointers))
    d.a_batch_stride = d.b_batch_stride = d.c_batch_stride = d.d_batch_stride = kGemmPackedBatch;
  const auto in = problem->in_bytes, result = problem->out_bytes;
  TW_TRY(check_stride(make_operand("a_batch_stride", d.m, d.k, d.a_order, d.lda, in), d.batch,
                      &d.a_batch_stride));
  TW_TRY(check_stride(make_operand("b_batch_stride", d.k, d.n, d.b_order, d.ldb, in), d.batch,
                      &d.b_batch_stride));
  TW_TRY(check_stride(make_operand("c_batch_stride", d.m, d.n, d.d_order, d.ldc, result), d.batch,
                      &d.c_batch_stride));
  Operand d_operand =
      make_operand("d_batch_stride", d.m, problem->d_columns(), d.d_order, d.ldd, result);
  TW_TRY(check_stride(d_operand, d.batch, &d.d_batch_stride));
  if (d.d_padding_writable) d_operand.contiguous = d.ldd;
  return check_disjoint_d(d_operand, d.batch, d.d_batch_stride, d.d_padding_writable);
}

}  // namespace tw
