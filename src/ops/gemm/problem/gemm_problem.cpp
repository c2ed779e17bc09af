// SPDX-License-Identifier: Apache-2.0
// Checks a GEMM description rule by rule and normalizes it.
#include <algorithm>
#include <cinttypes>
#include <utility>

#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

Status check_extent(const char* name, int64_t extent) {
  if (extent < 0 || extent > kGemmMaxExtent)
    return fail(extent < 0 ? Code::ERROR_INVALID_ARGUMENT : Code::ERROR_UNSUPPORTED,
                {.argument = name, .rule = "gemm_extent", .got = extent, .limit = kGemmMaxExtent},
                "%s is %" PRId64 ": extents are 0 to %" PRId64, name, extent, kGemmMaxExtent);
  return {};
}

// Fills in a packed leading dimension of a rows x columns matrix, and checks that the matrix's
// bytes fit 63 bits.
Status check_leading(const char* name, int64_t rows, int64_t columns, Order order, int32_t bytes,
                     int64_t* leading) {
  const int64_t contiguous = order == Order::row ? columns : rows;
  const int64_t lines = order == Order::row ? rows : columns;
  if (*leading == 0) *leading = std::max<int64_t>(contiguous, 1);
  if (*leading < contiguous)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = name, .rule = "leading_dimension", .got = *leading, .limit = contiguous},
        "%s is %" PRId64 ", less than the %" PRId64
        " contiguous elements of the matrix: give at least that, or 0 for packed",
        name, *leading, contiguous);
  const int64_t max_leading = INT64_MAX / bytes / std::max<int64_t>(lines, 1);
  if (*leading > max_leading)
    return fail(Code::ERROR_OVERFLOW,
                {.argument = name, .rule = "matrix_bytes", .got = *leading, .limit = max_leading},
                "%s is %" PRId64 ", and the bytes of a matrix of %" PRId64
                " lines exceed 2^63 - 1: it must be at most %" PRId64,
                name, *leading, lines, max_leading);
  return {};
}

// Checks that `type` equals the type of another operand, or is 0, which stands for that type.
Status check_same_type(const char* name, DType type, const char* other_name, DType other) {
  if (type == DType{} || type == other) return {};
  return fail(gemm_unsupported_type(type),
              {.argument = name,
               .rule = "gemm_type_pair",
               .got = static_cast<int64_t>(type),
               .limit = static_cast<int64_t>(other)},
              "%s is %s (%d) and %s is %s: leave %s 0, or give both the same type", name,
              gemm_type_name(type), static_cast<int>(type), other_name, gemm_type_name(other),
              name);
}

}  // namespace

Status gemm_type_pair(DType a, DType b) {
  if (is_f8(a) ? !is_f8(b) : b != a) return check_same_type("b_dtype", b, "a_dtype", a);
  if (a != DType::F8E5M2 || b != DType::F8E5M2) return {};
  return fail(Code::ERROR_UNSUPPORTED,
              {.argument = "b_dtype", .rule = "gemm_type_pair", .got = static_cast<int64_t>(b)},
              "a_dtype and b_dtype are both f8e5m2: of a pair of 8-bit floats one at least is "
              "f8e4m3");
}

namespace {

// Checks the types of A, B and D, and of the accumulator, for 8-bit types and tf32.
Status check_narrow_types(const GemmDesc& desc) {
  const DType a = desc.a_dtype, d = desc.d_dtype;
  TW_TRY(gemm_type_pair(a, desc.b_type()));
  const bool is_float = d == DType::BF16 || d == DType::F16 || d == DType::F32;
  const bool integers = a == DType::I8 && (d == DType::I8 || d == DType::I32);
  if (!is_float && !integers && !(a != DType::I8 && is_f8(d)))
    return fail(gemm_unsupported_type(d),
                {.argument = "d_dtype", .rule = "gemm_output_type", .got = static_cast<int64_t>(d)},
                "d_dtype is %s (%d): with %s inputs it is bf16, f16, f32, %s", gemm_type_name(d),
                static_cast<int>(d), dtype_name(a),
                a == DType::I8 ? "i32 or i8" : "f8e4m3 or f8e5m2");
  TW_TRY(check_same_type("c_dtype", desc.c_dtype, "d_dtype", d));
  if (desc.accumulator == DType::F32 || (a == DType::I8 && desc.accumulator == DType::I32))
    return {};
  return fail(gemm_unsupported_type(desc.accumulator),
              {.argument = "accumulator_dtype",
               .rule = "gemm_accumulator_type",
               .got = static_cast<int64_t>(desc.accumulator)},
              "accumulator_dtype is %s (%d) with %s inputs: leave it f32%s",
              gemm_type_name(desc.accumulator), static_cast<int>(desc.accumulator), dtype_name(a),
              a == DType::I8 ? ", or give i32" : "");
}

Status check_types(const GemmDesc& desc) {
  if (desc.is_narrow()) return check_narrow_types(desc);
  if (desc.a_dtype != DType::BF16 && desc.a_dtype != DType::F16)
    return fail(gemm_unsupported_type(desc.a_dtype),
                {.argument = "a_dtype",
                 .rule = "gemm_input_type",
                 .got = static_cast<int64_t>(desc.a_dtype)},
                "a_dtype is %s (%d): bf16, f16, f8e4m3, f8e5m2, i8 and tf32 can be multiplied",
                gemm_type_name(desc.a_dtype), static_cast<int>(desc.a_dtype));
  TW_TRY(check_same_type("b_dtype", desc.b_dtype, "a_dtype", desc.a_dtype));
  if (desc.d_dtype != desc.a_dtype && desc.d_dtype != DType::F32)
    return fail(gemm_unsupported_type(desc.d_dtype),
                {.argument = "d_dtype",
                 .rule = "gemm_output_type",
                 .got = static_cast<int64_t>(desc.d_dtype)},
                "d_dtype is %s (%d): with %s inputs it is %s or f32", gemm_type_name(desc.d_dtype),
                static_cast<int>(desc.d_dtype), dtype_name(desc.a_dtype), dtype_name(desc.a_dtype));
  TW_TRY(check_same_type("c_dtype", desc.c_dtype, "d_dtype", desc.d_dtype));
  const bool f16_accumulators = desc.accumulator == DType::F16;
  if (!f16_accumulators && desc.accumulator != DType::F32)
    return fail(gemm_unsupported_type(desc.accumulator),
                {.argument = "accumulator_dtype",
                 .rule = "gemm_accumulator_type",
                 .got = static_cast<int64_t>(desc.accumulator)},
                "accumulator_dtype is %s (%d): sums are kept in f32, or in f16 where inputs and "
                "output are f16",
                gemm_type_name(desc.accumulator), static_cast<int>(desc.accumulator));
  if (f16_accumulators && (desc.a_dtype != DType::F16 || desc.d_dtype != DType::F16))
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "accumulator_dtype",
         .rule = "gemm_accumulator_type",
         .got = static_cast<int64_t>(desc.accumulator)},
        "accumulator_dtype is f16, which needs f16 inputs and output (they are %s and %s): use f32",
        dtype_name(desc.a_dtype), dtype_name(desc.d_dtype));
  return {};
}

Status check_order(const char* name, Order order) {
  if (order == Order::row || order == Order::column) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = name, .rule = "order_value", .got = static_cast<int64_t>(order)},
              "%s is %d: TW_ROW_MAJOR is 0, TW_COLUMN_MAJOR is 1", name, static_cast<int>(order));
}

// The pitch of a packed column-major A is m, so m would decide whether a tensor map can read A. But
// TMA kernels add in another order than kernels without maps.
Status check_invariant(const GemmDesc& desc) {
  if (!desc.has(kGemmInvariant) || desc.a_order == Order::row || desc.lda != 0 || desc.staging_copy)
    return {};
  return fail(
      Code::ERROR_INVALID_ARGUMENT, {.argument = "lda", .rule = "gemm_invariant_lda"},
      "lda is 0, so the pitch of the column-major A is m, %" PRId64
      ": with TW_GEMM_BATCH_INVARIANT the choice of kernel must not depend on m. Set lda, to the "
      "same number in every plan (a multiple of 8 for tensor maps), or set TW_GEMM_STAGING_COPY",
      desc.m);
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
  if (desc.min_m < 0 || desc.min_m > desc.m)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "min_m", .rule = "gemm_min_m", .got = desc.min_m, .limit = desc.m},
                "min_m is %" PRId64 ": the least rows of a run are 0 to m, which is %" PRId64,
                desc.min_m, desc.m);
  out->desc = desc;
  out->in_bytes = dtype_bytes(desc.a_dtype);
  out->out_bytes = dtype_bytes(desc.d_dtype);
  out->swapped = false;
  GemmDesc& d = out->desc;
  TW_TRY(gemm_epilogue(&d));
  TW_TRY(check_invariant(d));
  TW_TRY(check_leading("lda", d.m, d.k, d.a_order, out->in_bytes, &d.lda));
  TW_TRY(check_leading("ldb", d.k, d.n, d.b_order, out->in_bytes, &d.ldb));
  TW_TRY(check_leading("ldc", d.m, d.n, d.d_order, out->out_bytes, &d.ldc));
  TW_TRY(check_leading("ldd", d.m, out->d_columns(), d.d_order, out->out_bytes, &d.ldd));
  const auto in = static_cast<uint32_t>(out->in_bytes);
  const auto result = static_cast<uint32_t>(out->out_bytes);
  TW_TRY(check_alignment("a_alignment", d.a_alignment, in));
  TW_TRY(check_alignment("b_alignment", d.b_alignment, in));
  TW_TRY(check_alignment("c_alignment", d.c_alignment, result));
  TW_TRY(check_alignment("d_alignment", d.d_alignment, result));
  TW_TRY(gemm_batch(out));
  TW_TRY(gemm_scaling(&d));
  // The description of an i8 product may say i32, which means the same as the default: kernels for
  // narrow types have only one type of accumulators.
  if (d.is_narrow()) d.accumulator = DType::F32;
  if (d.d_order == Order::column) *out = swap_ab(*out);
  return {};
}

GemmProblem swap_ab(const GemmProblem& problem) {
  const auto flipped = [](Order order) { return order == Order::row ? Order::column : Order::row; };
  GemmProblem out = problem;
  GemmDesc& d = out.desc;
  std::swap(d.m, d.n);
  const DType b_type = d.b_type();
  d.b_dtype = std::exchange(d.a_dtype, b_type);
  std::swap(d.a_scaling, d.b_scaling);
  // Only scales that form a matrix, and so have a leading dimension, have an order.
  if (d.a_scaling.leading != 0) d.a_scaling.order = flipped(d.a_scaling.order);
  if (d.b_scaling.leading != 0) d.b_scaling.order = flipped(d.b_scaling.order);
  std::swap(d.a_order, d.b_order);
  d.a_order = flipped(d.a_order);
  d.b_order = flipped(d.b_order);
  d.d_order = flipped(d.d_order);
  std::swap(d.lda, d.ldb);
  std::swap(d.a_alignment, d.b_alignment);
  std::swap(d.a_batch_stride, d.b_batch_stride);
  const uint32_t constant = d.flags & (kGemmConstantA | kGemmConstantB);
  if (constant == kGemmConstantA || constant == kGemmConstantB)
    d.flags ^= kGemmConstantA | kGemmConstantB;
  const auto swapped_per = [](Per per) {
    return per == Per::row ? Per::column : per == Per::column ? Per::row : per;
  };
  d.epilogue.bias = swapped_per(d.epilogue.bias);
  d.epilogue.d_factor = swapped_per(d.epilogue.d_factor);
  out.swapped = !problem.swapped;
  return out;
}

}  // namespace tw
