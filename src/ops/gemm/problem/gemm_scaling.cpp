// SPDX-License-Identifier: Apache-2.0
// Checks of a description's scales.
#include "ops/gemm/problem/gemm_scaling.hpp"

#include <algorithm>
#include <cinttypes>
#include <string_view>

#include "base/checked.hpp"

namespace tw {
namespace {

constexpr int64_t kBlock = 128;  // elements that have a scale in common
constexpr int64_t kScaleBytes = 4;

const char* kind_name(ScaleKind kind) {
  switch (kind) {
    case ScaleKind::none:
      return "TW_SCALE_NONE";
    case ScaleKind::tensor:
      return "TW_SCALE_TENSOR";
    case ScaleKind::row:
      return "TW_SCALE_ROW";
    case ScaleKind::row128:
      return "TW_SCALE_1X128";
    case ScaleKind::block128:
      return "TW_SCALE_128X128";
    case ScaleKind::row32_ue8m0:
      return "TW_SCALE_K32_UE8M0";
    case ScaleKind::row16_ue4m3:
      return "TW_SCALE_K16_UE4M3";
  }
  return nullptr;
}

constexpr ScalingNames kA{"a_scale", "a_scale_order", "a_scale_ld", "a_scale_batch_stride",
                          "batch_count"};
constexpr ScalingNames kB{"b_scale", "b_scale_order", "b_scale_ld", "b_scale_batch_stride",
                          "batch_count"};
constexpr ScalingNames kD{"d_quantize", "d_block_scale_order", "d_block_scale_ld",
                          "d_block_scale_batch_stride", "batch_count"};

}  // namespace

Status check_scale_kind(const ScalingNames& names, ScaleKind kind) {
  const Fault fault{
      .argument = names.kind, .rule = "gemm_scale_kind", .got = static_cast<int64_t>(kind)};
  if (kind_name(kind) == nullptr)
    return fail(Code::ERROR_INVALID_ARGUMENT, fault,
                "%s is %d, which is not a tw_scale_kind: TW_SCALE_NONE is 0", names.kind,
                static_cast<int>(kind));
  if (kind >= ScaleKind::row32_ue8m0)
    return fail(Code::ERROR_UNSUPPORTED, fault,
                "%s is %s (%d), which the tensor cores of compute capability 10.0 take and no "
                "kernel of this version: scales are f32, see tw_scale_kind",
                names.kind, kind_name(kind), static_cast<int>(kind));
  return {};
}

namespace {

// Refuses an order, leading dimension or stride if the kind of scale makes it meaningless.
Status check_excluded_fields(const ScalingNames& names, const GemmScaling& scaling) {
  if (scaling.order != Order::row)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = scaling.any() ? names.order : names.kind,
                 .rule = "excluded",
                 .got = static_cast<int64_t>(scaling.order)},
                "%s is %d, but %s is %s, which has no matrix of scales: leave it 0", names.order,
                static_cast<int>(scaling.order), names.kind, kind_name(scaling.kind));
  if (scaling.leading != 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = scaling.any() ? names.leading : names.kind,
                 .rule = "excluded",
                 .got = scaling.leading},
                "%s is %" PRId64 ", but %s is %s, which has no matrix of scales: leave it 0",
                names.leading, scaling.leading, names.kind, kind_name(scaling.kind));
  if (scaling.any() || scaling.batch_stride == kGemmPackedBatch) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = names.kind, .rule = "excluded", .got = scaling.batch_stride},
              "%s is %" PRId64 ", and %s is TW_SCALE_NONE: leave it -1", names.stride,
              scaling.batch_stride, names.kind);
}

// Fills in a packed leading dimension and checks order, leading dimension and byte size of a scale
// matrix.
Status check_matrix(const ScalingNames& names, GemmScaleExtent extent, GemmScaling* scaling) {
  if (scaling->order != Order::row && scaling->order != Order::column)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = names.order,
                 .rule = "order_value",
                 .got = static_cast<int64_t>(scaling->order)},
                "%s is %d: TW_ROW_MAJOR is 0, TW_COLUMN_MAJOR is 1", names.order,
                static_cast<int>(scaling->order));
  const bool row = scaling->order == Order::row;
  const int64_t contiguous = row ? extent.columns : extent.rows;
  const int64_t lines = row ? extent.rows : extent.columns;
  if (scaling->leading == 0) scaling->leading = std::max<int64_t>(contiguous, 1);
  if (scaling->leading < contiguous)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = names.leading,
                 .rule = "leading_dimension",
                 .got = scaling->leading,
                 .limit = contiguous},
                "%s is %" PRId64 ", less than the %" PRId64 " contiguous elements of the %" PRId64
                " x %" PRId64 " scales: give at least that, or 0 for packed",
                names.leading, scaling->leading, contiguous, extent.rows, extent.columns);
  const int64_t max_leading = INT64_MAX / kScaleBytes / std::max<int64_t>(lines, 1);
  if (scaling->leading <= max_leading) return {};
  return fail(Code::ERROR_OVERFLOW,
              {.argument = names.leading,
               .rule = "matrix_bytes",
               .got = scaling->leading,
               .limit = max_leading},
              "%s is %" PRId64 ", and the bytes of the scales exceed 2^63 - 1: %" PRId64 " at most",
              names.leading, scaling->leading, max_leading);
}

Status check_batch(const ScalingNames& names, GemmScaleExtent extent, int64_t count,
                   GemmScaling* scaling) {
  const bool matrix = scaling->leading != 0;
  const int64_t lines = scaling->order == Order::row ? extent.rows : extent.columns;
  const int64_t elements =
      matrix ? scaling->leading * std::max<int64_t>(lines, 1) : extent.rows * extent.columns;
  if (scaling->batch_stride == kGemmPackedBatch) scaling->batch_stride = elements;
  if (scaling->batch_stride < 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = names.stride, .rule = "batch_stride", .got = scaling->batch_stride},
                "%s is %" PRId64
                ": scales between products are 0 (all share them) or more, or -1 for packed",
                names.stride, scaling->batch_stride);
  if (count <= 1) return {};
  const int64_t max_stride = (INT64_MAX / kScaleBytes - elements) / (count - 1);
  if (scaling->batch_stride <= max_stride) return {};
  return fail(Code::ERROR_OVERFLOW,
              {.argument = names.stride,
               .rule = "batch_bytes",
               .got = scaling->batch_stride,
               .limit = max_stride},
              "%s is %" PRId64 " and %s %" PRId64
              ", and the bytes of the scales exceed 2^63 - 1: %" PRId64 " at most",
              names.stride, scaling->batch_stride, names.count, count, max_stride);
}

}  // namespace

Status check_scale_layout(const ScalingNames& names, GemmScaleExtent extent, int64_t count,
                          GemmScaling* scaling) {
  if (scaling->kind == ScaleKind::row128 || scaling->kind == ScaleKind::block128)
    TW_TRY(check_matrix(names, extent, scaling));
  else
    TW_TRY(check_excluded_fields(names, *scaling));
  return scaling->any() ? check_batch(names, extent, count, scaling) : Status{};
}

Status check_scale_pair(DType a_dtype, const GemmScaling& a_scaling, const GemmScaling& b_scaling) {
  const ScaleKind a = a_scaling.kind, b = b_scaling.kind;
  if (!a_scaling.any() && !b_scaling.any()) return {};
  const char* const name = a_scaling.any() ? "a_scale" : "b_scale";
  const Fault fault{.argument = name,
                    .rule = "gemm_scale_pair",
                    .got = static_cast<int64_t>(a),
                    .limit = static_cast<int64_t>(b)};
  if (!is_narrow_type(a_dtype))
    return fail(Code::ERROR_UNSUPPORTED, fault,
                "%s is %s, and a_dtype %s: 8-bit types and tf32 have scales; give TW_SCALE_NONE "
                "(0) and fold one scale of the whole operand into alpha",
                name, kind_name(a_scaling.any() ? a : b), dtype_name(a_dtype));
  const bool equal = a == b && a != ScaleKind::block128;
  if (equal || (a == ScaleKind::row128 && b == ScaleKind::block128)) return {};
  return fail(Code::ERROR_UNSUPPORTED, fault,
              "a_scale is %s and b_scale %s: pairs of scales are none and none, TW_SCALE_TENSOR "
              "twice, TW_SCALE_ROW twice (rows of A, columns of B), TW_SCALE_1X128 twice, or "
              "TW_SCALE_1X128 of A and TW_SCALE_128X128 of B",
              kind_name(a), kind_name(b));
}

Status check_fast_accumulate(const char* flag, DType a_dtype, ScaleKind a) {
  const Fault fault{
      .argument = "flags", .rule = "gemm_fast_accumulate", .got = static_cast<int64_t>(a)};
  if (!is_f8(a_dtype))
    return fail(Code::ERROR_UNSUPPORTED, fault,
                "flags has %s, which is only for 8-bit floats: a_dtype is %s", flag,
                dtype_name(a_dtype));
  if (a < ScaleKind::row128) return {};
  return fail(Code::ERROR_UNSUPPORTED, fault,
              "flags has %s, and a_scale is %s, which is multiplied with the sum of each 128 of "
              "k: it goes with TW_SCALE_NONE, TW_SCALE_TENSOR and TW_SCALE_ROW",
              flag, kind_name(a));
}

namespace {

Status check_quantize(const GemmDesc& d) {
  if (!d.d_quantize.any()) return {};
  const Fault fault{.argument = "d_quantize",
                    .rule = "gemm_quantize",
                    .got = static_cast<int64_t>(d.d_quantize.kind)};
  if (d.d_quantize.kind != ScaleKind::row128)
    return fail(Code::ERROR_UNSUPPORTED, fault,
                "d_quantize is %s: a run computes scales of TW_SCALE_1X128 or none; one that is "
                "known goes into d_factor",
                kind_name(d.d_quantize.kind));
  if (!is_f8(d.d_dtype))
    return fail(Code::ERROR_UNSUPPORTED, fault,
                "d_quantize is TW_SCALE_1X128, and d_dtype is %s: f8e4m3 and f8e5m2 take scales",
                dtype_name(d.d_dtype));
  if (d.d_order == Order::row) return {};
  return fail(Code::ERROR_UNSUPPORTED, fault,
              "d_quantize is TW_SCALE_1X128, and D is column-major: a scale is that of 128 "
              "consecutive elements of a row, which are contiguous only in a row-major D");
}

// An i32 D holds the exact accumulators, so nothing may be applied to them.
Status check_integers(const GemmDesc& d) {
  if (d.d_dtype != DType::I32) return {};
  const struct {
    const char* name;
    bool asked;
  } excluded[] = {{"a_scale", d.a_scaling.any()},
                  {"bias", d.epilogue.bias != Per::none},
                  {"activation", d.epilogue.activation != Activation::identity},
                  {"gate", d.epilogue.gate != Gate::none},
                  {"d_factor", d.epilogue.d_factor != Per::none},
                  {"flags", d.epilogue.amax || d.has(kGemmDeviceScalars)}};
  for (const auto& [name, asked] : excluded)
    if (asked)
      return fail(
          Code::ERROR_UNSUPPORTED, {.argument = name, .rule = "gemm_exact_integers"},
          "d_dtype is i32, which holds exactly A B, and %s asks for more%s: leave it 0, or use "
          "another type of D",
          name,
          std::string_view(name) == "flags" ? " (TW_GEMM_AMAX or TW_GEMM_DEVICE_SCALARS)" : "");
  return {};
}

int64_t count_blocks(int64_t extent) {
  return ceil_div(extent, kBlock);
}

}  // namespace

GemmScaleExtent scale_extent_of_a(ScaleKind kind, int64_t rows, int64_t k) {
  return {kind == ScaleKind::tensor     ? 1
          : kind == ScaleKind::block128 ? count_blocks(rows)
                                        : rows,
          kind >= ScaleKind::row128 ? count_blocks(k) : 1};
}

GemmScaleExtent scale_extent_of_b(ScaleKind kind, int64_t k, int64_t n) {
  const GemmScaleExtent transposed = scale_extent_of_a(kind, n, k);
  return {transposed.columns, transposed.rows};
}

GemmScaleExtent gemm_a_scales(const GemmDesc& desc, int64_t rows) {
  return scale_extent_of_a(desc.a_scaling.kind, rows, desc.k);
}

GemmScaleExtent gemm_b_scales(const GemmDesc& desc) {
  return scale_extent_of_b(desc.b_scaling.kind, desc.k, desc.n);
}

GemmScaleExtent gemm_d_scales(const GemmDesc& desc, int64_t rows) {
  return {rows, count_blocks(desc.epilogue.gate == Gate::none ? desc.n : desc.n / 2)};
}

Status gemm_scaling(GemmDesc* desc) {
  GemmDesc& d = *desc;
  TW_TRY(check_scale_kind(kA, d.a_scaling.kind));
  TW_TRY(check_scale_kind(kB, d.b_scaling.kind));
  TW_TRY(check_scale_kind(kD, d.d_quantize.kind));
  TW_TRY(check_scale_pair(d.a_dtype, d.a_scaling, d.b_scaling));
  if (d.fast_accumulate)
    TW_TRY(check_fast_accumulate("TW_GEMM_FAST_ACCUMULATE", d.a_dtype, d.a_scaling.kind));
  TW_TRY(check_quantize(d));
  TW_TRY(check_integers(d));
  TW_TRY(check_scale_layout(kA, gemm_a_scales(d, d.m), d.batch, &d.a_scaling));
  TW_TRY(check_scale_layout(kB, gemm_b_scales(d), d.batch, &d.b_scaling));
  return check_scale_layout(kD, gemm_d_scales(d, d.m), d.batch, &d.d_quantize);
}

}  // namespace tw
