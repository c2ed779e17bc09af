// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize/quantize_problem.hpp"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "base/checked.hpp"
#include "base/excluded.hpp"
#include "kernels/quantize/quantize.h"
#include "ops/common/strided_span.hpp"

namespace tw {
namespace {

constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;
constexpr Code kUnsupported = Code::ERROR_UNSUPPORTED;

// Limit for the groups of 128 elements in all rows. Keeps the kernels' numbers below kDividerLimit.
constexpr int64_t kMaxGroups = int64_t{1} << 30;
constexpr int64_t kGroup = kQuantizeGroup;

Status wrong(Code code, const char* argument, const char* rule, int64_t got, int64_t limit,
             const char* text) {
  return fail(code, {.argument = argument, .rule = rule, .got = got, .limit = limit},
              "%s is %" PRId64 ": %s %" PRId64, argument, got, text, limit);
}

bool wide_format(DType dtype, u32* format) {
  if (dtype == DType::F32) return *format = kFormatF32, true;
  if (dtype == DType::F16) return *format = kFormatF16, true;
  return *format = kFormatBF16, dtype == DType::BF16;
}
bool narrow_format(DType dtype, u32* format) {
  if (dtype == DType::F8E4M3) return *format = kFormatE4M3, true;
  if (dtype == DType::F8E5M2) return *format = kFormatE5M2, true;
  return *format = kFormatI8, dtype == DType::I8;
}

// The types determine the direction.
Status check_types(const QuantizeDesc& d, QuantizeProblem* out) {
  TW_TRY(check_dtype("src_dtype", "quantize_dtype", d.src_dtype));
  TW_TRY(check_dtype("dst_dtype", "quantize_dtype", d.dst_dtype));
  out->dequantizes = !wide_format(d.src_dtype, &out->src_format);
  if (out->dequantizes && !narrow_format(d.src_dtype, &out->src_format))
    return fail(
        kUnsupported,
        {.argument = "src_dtype",
         .rule = "quantize_dtype",
         .got = static_cast<int64_t>(d.src_dtype)},
        "src_dtype is %s: give bf16, f16 or f32 to quantize, f8e4m3, f8e5m2 or i8 to dequantize",
        dtype_name(d.src_dtype));
  const bool fits = out->dequantizes ? wide_format(d.dst_dtype, &out->dst_format)
                                     : narrow_format(d.dst_dtype, &out->dst_format);
  if (!fits)
    return fail(kUnsupported,
                {.argument = "dst_dtype",
                 .rule = "quantize_dtype",
                 .got = static_cast<int64_t>(d.dst_dtype)},
                "dst_dtype is %s: %s becomes %s", dtype_name(d.dst_dtype), dtype_name(d.src_dtype),
                out->dequantizes ? "bf16, f16 or f32" : "f8e4m3, f8e5m2 or i8");
  out->src_bytes = dtype_bytes(d.src_dtype);
  out->dst_bytes = dtype_bytes(d.dst_dtype);
  out->vector = 16 / std::max(out->src_bytes, out->dst_bytes);
  return {};
}

Status check_scale(const QuantizeDesc& d) {
  const auto kind = static_cast<int64_t>(d.scale);
  const Fault fault{.argument = "scale", .rule = "quantize_scale_kind", .got = kind};
  if (d.scale == ScaleKind::row32_ue8m0 || d.scale == ScaleKind::row16_ue4m3)
    return fail(kUnsupported, fault,
                "scale is %" PRId64
                ": scales are f32 so far; give TW_SCALE_TENSOR, TW_SCALE_ROW, TW_SCALE_1X128 or "
                "TW_SCALE_128X128 (1 to 4)",
                kind);
  if (kind < static_cast<int64_t>(ScaleKind::tensor) ||
      kind > static_cast<int64_t>(ScaleKind::block128))
    return fail(kInvalid, fault,
                "scale is %" PRId64
                ": give TW_SCALE_TENSOR, TW_SCALE_ROW, TW_SCALE_1X128 or TW_SCALE_128X128 (1 to 4)",
                kind);
  const auto order = static_cast<int64_t>(d.scale_order);
  if (order < 0 || order > 1)
    return wrong(kInvalid, "scale_order", "order_value", order, 1,
                 "TW_ROW_MAJOR is 0, TW_COLUMN_MAJOR is");
  if (d.scale != ScaleKind::tensor) return {};
  constexpr const char* kReason = "scale is TW_SCALE_TENSOR, and there is one scale";
  TW_TRY(check_excluded(order == 0, "scale_order", order, kReason));
  return check_excluded(d.scale_ld == 0, "scale_ld", d.scale_ld, kReason);
}

Status check_flags(const QuantizeDesc& d, bool dequantizes) {
  constexpr uint32_t kFlags = kQuantizeDescPowersOfTwo | kQuantizeDescGivenScale;
  if ((d.flags & ~kFlags) != 0)
    return fail(kInvalid,
                {.argument = "flags", .rule = "quantize_flags", .got = d.flags, .limit = kFlags},
                "flags is 0x%x: it has bits that are not TW_QUANTIZE_ flags", d.flags);
  if (dequantizes) {
    return check_excluded(d.flags == 0, "flags", d.flags,
                          "src_dtype is narrow, and dequantization reads its scales as they are");
  }
  if ((d.flags & kQuantizeDescGivenScale) == 0) return {};
  TW_TRY(check_excluded(d.scale == ScaleKind::tensor, "flags", d.flags,
                        "TW_QUANTIZE_GIVEN_SCALE needs TW_SCALE_TENSOR"));
  return check_excluded((d.flags & kQuantizeDescPowersOfTwo) == 0, "flags", d.flags,
                        "a scale that is given is not rounded to a power of two");
}

Status check_extents(const QuantizeDesc& d) {
  const std::pair<const char*, int64_t> numbers[] = {{"rows", d.rows},
                                                     {"columns", d.columns},
                                                     {"src_pitch", d.src_pitch},
                                                     {"dst_pitch", d.dst_pitch},
                                                     {"scale_ld", d.scale_ld}};
  for (const auto& [argument, number] : numbers)
    if (number < 0)
      return wrong(kInvalid, argument, "quantize_not_negative", number, 0, "it must be at least");
  if (d.columns > INT32_MAX)
    return wrong(Code::ERROR_OVERFLOW, "columns", "quantize_columns", d.columns, INT32_MAX,
                 "it must be at most");
  const int64_t groups = std::max<int64_t>(1, ceil_div(d.columns, kGroup));
  if (d.rows > kMaxGroups / groups)
    return wrong(Code::ERROR_OVERFLOW, "rows", "quantize_groups", d.rows, kMaxGroups / groups,
                 "so that all rows have at most 2^30 groups of 128 elements it must be at most");
  return {};
}

Status check_pitch(const char* argument, int64_t rows, int64_t columns, int64_t pitch,
                   int64_t bytes) {
  if (pitch < columns)
    return wrong(kInvalid, argument, "quantize_pitch", pitch, columns,
                 "it must be at least the number of columns,");
  const int64_t maximum = kMaxSpan / bytes / std::max<int64_t>(1, rows);
  if (pitch > maximum)
    return wrong(Code::ERROR_OVERFLOW, argument, "quantize_span", pitch, maximum,
                 "so that all rows span at most 2^60 bytes it must be at most");
  return {};
}

Status check_leading(const QuantizeProblem& p) {
  const QuantizeDesc& d = p.desc;
  const bool columns = d.scale_order == ScaleOrder::column;
  const int64_t line = columns ? p.scale_rows(d.rows) : p.scale_columns();
  const int64_t lines = columns ? p.scale_columns() : p.scale_rows(d.rows);
  if (d.scale_ld < line)
    return wrong(kInvalid, "scale_ld", "quantize_scale_ld", d.scale_ld, line,
                 columns ? "column-major, it must be at least the rows of the matrix of scales,"
                         : "row-major, it must be at least the columns of the matrix of scales,");
  const int64_t maximum = kMaxSpan / 4 / std::max<int64_t>(1, lines);
  if (d.scale_ld > maximum)
    return wrong(Code::ERROR_OVERFLOW, "scale_ld", "quantize_span", d.scale_ld, maximum,
                 "so that all scales span at most 2^60 bytes it must be at most");
  return {};
}

}  // namespace

int64_t QuantizeProblem::groups() const {
  return ceil_div(desc.columns, kGroup);
}

int64_t QuantizeProblem::scale_rows(int64_t rows) const {
  if (tensor()) return 1;
  return desc.scale == ScaleKind::block128 ? ceil_div(rows, kGroup) : rows;
}

int64_t QuantizeProblem::scale_columns() const {
  return desc.scale == ScaleKind::row128 || desc.scale == ScaleKind::block128 ? groups() : 1;
}

int64_t QuantizeProblem::scale_row_step() const {
  if (tensor()) return 0;
  return desc.scale_order == ScaleOrder::row ? desc.scale_ld * 4 : 4;
}

int64_t QuantizeProblem::scale_column_step() const {
  if (tensor() || desc.scale == ScaleKind::row) return 0;
  return desc.scale_order == ScaleOrder::row ? 4 : desc.scale_ld * 4;
}

Status quantize_problem(const QuantizeDesc& desc, QuantizeProblem* out) {
  *out = QuantizeProblem{};
  out->desc = desc;
  QuantizeDesc& d = out->desc;
  TW_TRY(check_types(d, out));
  TW_TRY(check_scale(d));
  TW_TRY(check_flags(d, out->dequantizes));
  TW_TRY(check_cache("src_cache", d.src_cache));
  TW_TRY(check_cache("dst_cache", d.dst_cache));
  TW_TRY(check_extents(d));
  if (d.src_pitch == 0) d.src_pitch = d.columns;
  if (d.dst_pitch == 0) d.dst_pitch = d.columns;
  TW_TRY(check_pitch("src_pitch", d.rows, d.columns, d.src_pitch, out->src_bytes));
  TW_TRY(check_pitch("dst_pitch", d.rows, d.columns, d.dst_pitch, out->dst_bytes));
  if (out->tensor()) return {};
  if (d.scale_ld == 0)
    d.scale_ld = d.scale_order == ScaleOrder::row ? out->scale_columns() : out->scale_rows(d.rows);
  return check_leading(*out);
}

}  // namespace tw
