// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_scales.hpp"

#include <cinttypes>
#include <utility>

#include "base/decimal.hpp"
#include "base/excluded.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

constexpr int64_t kScaleBytes = 4;

const char* text_of(ScaleKind kind, bool of_a) {
  switch (kind) {
    case ScaleKind::tensor:
      return "one";
    case ScaleKind::row:
      return of_a ? "one for each row" : "one for each column";
    case ScaleKind::row128:
      return of_a ? "one for each row and 128 of k" : "one for each column and 128 of k";
    default:
      return "one for each block of 128 by 128";
  }
}

}  // namespace

std::string types_text(DType a, DType b, DType d) {
  std::string text = dtype_name(a);
  if (b != a) text += std::string(" by ") + dtype_name(b);
  return text + " to " + dtype_name(d);
}

std::string scales_text(DType a_dtype, const GemmScaling& a, const GemmScaling& b, bool fast) {
  std::string text;
  if (a.any())
    text += std::string("scales of A: ") + text_of(a.kind, true) +
            "; of B: " + text_of(b.kind, false) + "\n";
  if (is_f8(a_dtype))
    text += fast ? "the tensor cores may accumulate all of k\n"
                 : "sums of each 128 of k are added in f32\n";
  return text;
}

GemmBytes scale_bytes(const GemmScaling& scaling, GemmScaleExtent extent, int64_t matrices) {
  const bool row = scaling.order == Order::row && scaling.leading != 0;
  const int64_t contiguous = scaling.leading == 0 ? extent.rows * extent.columns
                             : row                ? extent.columns
                                                  : extent.rows;
  const int64_t lines = scaling.leading == 0 ? 1 : row ? extent.rows : extent.columns;
  return {.contiguous = contiguous * kScaleBytes,
          .lines = contiguous == 0 ? 0 : lines,
          .pitch = scaling.leading * kScaleBytes,
          .matrices = matrices,
          .matrix_stride = matrices > 1 ? scaling.batch_stride * kScaleBytes : 0};
}

// The scales of two neighboring rows of A (columns of B) are `leading` elements apart if they are
// in two rows of a row-major scale matrix or in two columns of a column-major one.
GemmScale scale_argument(const GemmScaling& scaling, bool lines_are_rows, uint64_t address) {
  GemmScale out{.address = address, .batch_step = scaling.batch_stride};
  if (scaling.kind == ScaleKind::row) out.line_step = 1;
  if (scaling.leading == 0) return out;
  const bool by_leading = (scaling.order == Order::row) == lines_are_rows;
  out.line_step = by_leading ? scaling.leading : 1;
  out.block_step = by_leading ? 1 : scaling.leading;
  return out;
}

unsigned char kernel_scale(ScaleKind kind) {
  static_assert(static_cast<int>(ScaleKind::tensor) == kScaleOne &&
                static_cast<int>(ScaleKind::row) == kScaleLine &&
                static_cast<int>(ScaleKind::row128) == kScaleDeep &&
                static_cast<int>(ScaleKind::block128) == kScaleBlock);
  return static_cast<unsigned char>(kind);
}

unsigned char kernel_type(DType type) {
  switch (type) {
    case DType::F16:
      return kFormatF16;
    case DType::BF16:
      return kFormatBF16;
    case DType::F8E4M3:
      return kFormatE4M3;
    case DType::F8E5M2:
      return kFormatE5M2;
    case DType::I8:
      return kGemmI8;
    case DType::I32:
      return kGemmI32;
    case DType::TF32:
      return kGemmTf32;
    default:
      return kFormatF32;
  }
}

Status check_scales_excluded(const GemmDesc& caller, const GemmRun& run) {
  if (!caller.a_scaling.any())
    TW_TRY(check_null_address("a_scale", run.a_scale, "the description has no scales of A"));
  if (!caller.b_scaling.any())
    TW_TRY(check_null_address("b_scale", run.b_scale, "the description has no scales of B"));
  if (!caller.d_quantize.any())
    TW_TRY(check_null_address("d_block_scale", run.d_block_scale,
                              "the description's d_quantize is TW_SCALE_NONE"));
  if (caller.d_dtype != DType::I32) return {};
  const struct {
    const char* name;
    float value;
    int wanted;
  } scalars[] = {{"alpha", run.alpha, 1}, {"beta", run.beta, 0}};
  for (const auto& [name, value, wanted] : scalars)
    if (value != static_cast<float>(wanted))
      return fail(Code::ERROR_UNSUPPORTED, {.argument = name, .rule = "gemm_exact_integers"},
                  "%s is %s, and d_dtype i32, which has the exact sums of A B: it must be %d", name,
                  Decimal::significant(static_cast<double>(value), 6).text(), wanted);
  return {};
}

Status add_scales(const GemmDesc& caller, const GemmRun& run, int64_t m, GemmSpans* spans) {
  if (run.reads_ab() && caller.k > 0) {
    if (caller.a_scaling.any()) {
      TW_TRY(check_address("a_scale", run.a_scale, kScaleBytes));
      spans->reads("a_scale", run.a_scale,
                   scale_bytes(caller.a_scaling, gemm_a_scales(caller, m), caller.batch));
    }
    if (caller.b_scaling.any()) {
      TW_TRY(check_address("b_scale", run.b_scale, kScaleBytes));
      spans->reads("b_scale", run.b_scale,
                   scale_bytes(caller.b_scaling, gemm_b_scales(caller), caller.batch));
    }
  }
  if (!caller.d_quantize.any()) return {};
  TW_TRY(check_address("d_block_scale", run.d_block_scale, kScaleBytes));
  spans->writes("d_block_scale", run.d_block_scale,
                scale_bytes(caller.d_quantize, gemm_d_scales(caller, m), caller.batch));
  return {};
}

void fill_scales(const GemmProblem& kernel_problem, const GemmRun& run, GemmScales* scales) {
  const GemmDesc& d = kernel_problem.desc;
  *scales = {};
  scales->a = scale_argument(d.a_scaling, true, kernel_problem.swapped ? run.b_scale : run.a_scale);
  scales->b =
      scale_argument(d.b_scaling, false, kernel_problem.swapped ? run.a_scale : run.b_scale);
  if (d.d_quantize.any()) scales->d = scale_argument(d.d_quantize, true, run.d_block_scale);
  scales->a_by = kernel_scale(d.a_scaling.kind);
  scales->b_by = kernel_scale(d.b_scaling.kind);
  scales->a_type = kernel_type(d.a_dtype);
  scales->b_type = kernel_type(d.b_type());
  scales->d_type = kernel_type(d.d_dtype);
}

}  // namespace tw
