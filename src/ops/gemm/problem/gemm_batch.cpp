// SPDX-License-Identifier: Apache-2.0
// Checks a description's batch and flags.
#include <algorithm>
#include <cinttypes>

#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {
namespace {

// One operand's matrices: `lines` lines of `contiguous` elements, `leading` elements apart.
struct Operand {
  const char* name;  // of the batch stride's field
  int64_t lines, contiguous, leading;
  int32_t bytes;
};

Operand operand(const char* name, int64_t rows, int64_t columns, Order order, int64_t leading,
                int32_t bytes) {
  const bool row = order == Order::row;
  return {name, row ? rows : columns, row ? columns : rows, leading, bytes};
}

// Fills in a packed stride and checks that the batch's bytes fit 63 bits.
Status check_stride(const Operand& of, int64_t batch, int64_t* stride) {
  if (*stride == kGemmPackedBatch) *stride = of.leading * std::max<int64_t>(of.lines, 1);
  if (*stride < 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = of.name, .rule = "batch_stride", .got = *stride, .limit = 0},
                "%s is %" PRId64
                ": elements between matrices are 0 (all products share one) or more, or -1 for "
                "packed matrices",
                of.name, *stride);
  if (batch <= 1) return {};
  const int64_t one = of.leading * std::max<int64_t>(of.lines, 1);
  const int64_t most = (INT64_MAX / of.bytes - one) / (batch - 1);
  if (*stride <= most) return {};
  return fail(Code::ERROR_OVERFLOW,
              {.argument = of.name, .rule = "batch_bytes", .got = *stride, .limit = most},
              "%s is %" PRId64 " and batch_count %" PRId64
              ", and the batch's bytes exceed 2^63 - 1: %" PRId64 " at most",
              of.name, *stride, batch, most);
}

Status check_disjoint_d(const Operand& d, int64_t batch, int64_t stride, bool padding_free) {
  const int64_t other = gemm_first_overlap(d.lines, d.contiguous, d.leading, batch, stride);
  if (other == 0) return {};
  return fail(Code::ERROR_OVERLAP,
              {.argument = d.name,
               .index = static_cast<int32_t>(other),
               .rule = "batch_disjoint",
               .got = stride},
              "%s is %" PRId64 ": matrices 0 and %" PRId64 " of D, %" PRId64 " lines of %" PRId64
              " elements %" PRId64 " apart%s, share elements: give %" PRId64
              " or more, or -1 for packed",
              d.name, stride, other, d.lines, d.contiguous, d.leading,
              padding_free ? " (the padding is D's, by TW_GEMM_D_PADDING_WRITABLE)" : "",
              (d.lines - 1) * d.leading + d.contiguous);
}

Status check_flags(const GemmDesc& d) {
  if (d.flags >= kGemmFlagsEnd)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "flags", .rule = "flag_bits", .got = d.flags, .limit = kGemmFlagsEnd - 1},
        "flags is 0x%x: bits above 0x%x mean nothing", d.flags, kGemmFlagsEnd - 1);
  if (d.has(kGemmPointers) && d.realign)
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
    // Each line of matrix i begins `into` elements after a line of matrix 0 does.
    const int64_t line = i * stride / leading;
    const int64_t into = i * stride % leading;
    if (into < contiguous && line < lines) return i;
    if (leading - into < contiguous && line + 1 < lines) return i;
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
  if (d.has(kGemmPointers)) d.a_batch = d.b_batch = d.c_batch = d.d_batch = kGemmPackedBatch;
  const auto in = problem->in_bytes, result = problem->out_bytes;
  TW_TRY(
      check_stride(operand("a_batch_stride", d.m, d.k, d.a_order, d.lda, in), d.batch, &d.a_batch));
  TW_TRY(
      check_stride(operand("b_batch_stride", d.k, d.n, d.b_order, d.ldb, in), d.batch, &d.b_batch));
  TW_TRY(check_stride(operand("c_batch_stride", d.m, d.n, d.d_order, d.ldc, result), d.batch,
                      &d.c_batch));
  Operand of_d = operand("d_batch_stride", d.m, problem->d_columns(), d.d_order, d.ldd, result);
  TW_TRY(check_stride(of_d, d.batch, &d.d_batch));
  if (d.d_padding_free) of_d.contiguous = d.ldd;
  return check_disjoint_d(of_d, d.batch, d.d_batch, d.d_padding_free);
}

}  // namespace tw
