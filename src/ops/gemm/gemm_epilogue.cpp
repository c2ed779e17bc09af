// SPDX-License-Identifier: Apache-2.0
// Epilogue options: checks of a description and of a run, and the arguments of epilogue kernels.
// "full" in names marks code of the epilogue kernels.
#include "ops/gemm/gemm_epilogue.hpp"

#include "base/decimal.hpp"
#include "base/excluded.hpp"

#include <algorithm>
#include <cinttypes>

namespace tw {
namespace {

Status check_choice(const char* argument, const char* rule, int32_t value, int32_t last,
                    const char* choices) {
  if (value >= 0 && value <= last) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument, .rule = rule, .got = value, .limit = last}, "%s is %d: %s",
              argument, value, choices);
}

Status check_bias(const GemmDesc& d) {
  const GemmEpilogue& e = d.epilogue;
  if (e.bias == Per::tensor)
    return fail(Code::ERROR_UNSUPPORTED,
                {.argument = "bias", .rule = "gemm_bias", .got = static_cast<int64_t>(e.bias)},
                "bias is TW_PER_TENSOR: a bias has an element for each row or each column "
                "(TW_PER_ROW, TW_PER_COLUMN)");
  if (e.bias == Per::none && e.bias_dtype != DType{})
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "bias_dtype",
                 .rule = "gemm_bias_type",
                 .got = static_cast<int64_t>(e.bias_dtype)},
                "bias_dtype is %s (%d) and there is no bias: leave it 0",
                gemm_type_name(e.bias_dtype), static_cast<int>(e.bias_dtype));
  const DType type = e.bias_dtype;
  if (d.is_narrow()) {
    if (e.bias == Per::none || type == DType{} || type == DType::BF16 || type == DType::F16 ||
        type == DType::F32)
      return {};
    return fail(
        gemm_unsupported_type(type),
        {.argument = "bias_dtype", .rule = "gemm_bias_type", .got = static_cast<int64_t>(type)},
        "bias_dtype is %s (%d): with %s inputs a bias is bf16, f16 or f32", gemm_type_name(type),
        static_cast<int>(type), dtype_name(d.a_dtype));
  }
  if (e.bias != Per::none && type != DType{} && type != d.a_dtype && type != DType::F32)
    return fail(gemm_unsupported_type(e.bias_dtype),
                {.argument = "bias_dtype",
                 .rule = "gemm_bias_type",
                 .got = static_cast<int64_t>(e.bias_dtype)},
                "bias_dtype is %s (%d): a bias is of the type of A and B, %s, or f32",
                gemm_type_name(e.bias_dtype), static_cast<int>(e.bias_dtype),
                dtype_name(d.a_dtype));
  return {};
}

// Elements of a vector that has one for each row or each column of D.
int64_t vector_length(Per per, int64_t rows, int64_t columns) {
  return per == Per::row ? rows : per == Per::column ? columns : 1;
}

unsigned char kernel_per(Per per, Order d_order) {
  if (per == Per::none) return kFullNone;
  if (per == Per::tensor) return kFullSingle;
  return (per == Per::column) == (d_order == Order::row) ? kFullPerElement : kFullPerLine;
}

}  // namespace

Status gemm_epilogue(GemmDesc* desc) {
  GemmEpilogue& e = desc->epilogue;
  TW_TRY(check_choice("bias", "gemm_per", static_cast<int32_t>(e.bias), 3,
                      "TW_PER_NONE is 0, TW_PER_ROW 2, TW_PER_COLUMN 3"));
  TW_TRY(check_activation(e.activation));
  TW_TRY(check_choice("gate", "gemm_gate", static_cast<int32_t>(e.gate), 2,
                      "TW_GATE_NONE is 0, TW_GATE_HALVES 1, TW_GATE_INTERLEAVED 2"));
  TW_TRY(check_choice("d_factor", "gemm_per", static_cast<int32_t>(e.d_factor), 3,
                      "TW_PER_NONE is 0, TW_PER_TENSOR 1, TW_PER_ROW 2, TW_PER_COLUMN 3"));
  TW_TRY(check_bias(*desc));
  if (e.gate != Gate::none && desc->n % 2 != 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "n", .rule = "gemm_gate_columns", .got = desc->n, .limit = 2},
                "n is %" PRId64
                " and gated: each column of D comes from two of A B, so that n is even",
                desc->n);
  if (e.bias != Per::none && e.bias_dtype == DType{}) {
    const DType d = desc->d_dtype;
    const bool as_d = d == DType::BF16 || d == DType::F16;
    e.bias_dtype = as_d ? d : DType::F32;
  }
  return {};
}

Status check_epilogue_excluded(const GemmDesc& caller, const GemmRun& run) {
  const GemmEpilogue& e = caller.epilogue;
  if (e.bias == Per::none)
    TW_TRY(check_null_address("bias", run.bias, "the description has no bias"));
  if (e.d_factor == Per::none)
    TW_TRY(check_null_address("d_factor", run.d_factor, "the description has no d_factor"));
  if (!e.amax) TW_TRY(check_null_address("amax", run.amax, "the description lacks TW_GEMM_AMAX"));
  if (run.d_factor_value == 1.0f || (e.d_factor == Per::tensor && run.d_factor == 0)) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "d_factor_value", .rule = "excluded"},
              "d_factor_value is %s, but %s: leave it 1",
              Decimal::significant(static_cast<double>(run.d_factor_value), 6).text(),
              e.d_factor == Per::tensor ? "d_factor is an address, where the factor is read"
                                        : "the description's d_factor is not TW_PER_TENSOR");
}

Status add_epilogue(const GemmDesc& caller, const GemmRun& run, int64_t m, GemmSpans* spans) {
  const GemmEpilogue& e = caller.epilogue;
  const int64_t d_columns = e.gate == Gate::none ? caller.n : caller.n / 2;
  if (e.bias != Per::none) {
    const auto size = static_cast<uint32_t>(dtype_bytes(e.bias_dtype));
    TW_TRY(check_address("bias", run.bias, size));
    const auto bytes = static_cast<uint64_t>(vector_length(e.bias, m, caller.n)) * size;
    spans->reads("bias", run.bias, bytes);
  }
  if (e.d_factor != Per::none && (e.d_factor != Per::tensor || run.d_factor != 0)) {
    TW_TRY(check_address("d_factor", run.d_factor, 4));
    const auto bytes = static_cast<uint64_t>(vector_length(e.d_factor, m, d_columns)) * 4;
    spans->reads("d_factor", run.d_factor, bytes);
  }
  if (!e.amax) return {};
  TW_TRY(check_address("amax", run.amax, 4));
  spans->writes("amax", run.amax, 4);
  return {};
}

void fill_epilogue(const GemmProblem& kernel_problem, GemmEpilogueArgs* args) {
  const GemmEpilogue& e = kernel_problem.desc.epilogue;
  args->bias_by = kernel_per(e.bias, kernel_problem.desc.d_order);
  args->bias_type = e.bias_dtype == DType::F32 ? kBiasF32 : kBiasAsInput;
  if (kernel_problem.desc.is_narrow() && e.bias_dtype == DType::F16) args->bias_type = kBiasF16;
  args->d_factor_by = kernel_per(e.d_factor, kernel_problem.desc.d_order);
  args->activation = static_cast<unsigned char>(e.activation);
  args->gate = static_cast<unsigned char>(e.gate);
  args->gate_across = kernel_problem.gated() && !kernel_problem.gates_along_lines();
  args->half = static_cast<i32>(
      (kernel_problem.swapped ? kernel_problem.desc.m : kernel_problem.desc.n) / 2);
}

}  // namespace tw
