// SPDX-License-Identifier: Apache-2.0
// Checks a description of rows, a line a rule.
#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "ops/rows.hpp"

namespace tw {
namespace {

// Spans stay below this, so that sums of a few never overflow.
constexpr int64_t kMaxSpan = int64_t{1} << 60;
// Pieces of one row are counted in 31 bits.
constexpr int64_t kMaxRow = int64_t{1} << 34;

Status not_negative(const char* argument, int64_t value) {
  if (value >= 0) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument, .rule = "rows_not_negative", .got = value},
              "%s is %" PRId64 ": it is 0 or more", argument, value);
}

// Rows of a pitch must not share elements; with one row or none the pitch does not matter.
Status check_pitch(const char* argument, int64_t rows, int64_t pitch, int64_t width) {
  if (rows <= 1 || pitch >= width) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument, .rule = "rows_pitch", .got = pitch, .limit = width},
              "%s is %" PRId64 " elements, less than the %" PRId64
              " that a row reaches: rows would overlap (0 means packed)",
              argument, pitch, width);
}

Status span(const char* argument, int64_t rows, int64_t pitch, int64_t width, int64_t* bytes) {
  *bytes = 0;
  if (rows == 0 || width == 0) return {};
  if (checked_mul(rows - 1, pitch, bytes) && *bytes <= kMaxSpan && width <= kMaxSpan) {
    *bytes += width;
    return {};
  }
  return fail(Code::ERROR_OVERFLOW, {.argument = argument, .rule = "rows_span"},
              "%s: %" PRId64 " rows, %" PRId64 " bytes apart, exceed 2^60 bytes", argument, rows,
              pitch);
}

Status to_bytes(const char* argument, int64_t elements, int64_t element_bytes, int64_t* bytes) {
  if (checked_mul(elements, element_bytes, bytes) && *bytes <= kMaxSpan) return {};
  return fail(Code::ERROR_OVERFLOW, {.argument = argument, .rule = "rows_span", .got = elements},
              "%s is %" PRId64 " elements, more than 2^60 bytes", argument, elements);
}

}  // namespace

Status rows_problem(const RowsDesc& desc, RowsProblem* out) {
  if (!is_dtype(static_cast<int32_t>(desc.dtype)))
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "dtype", .rule = "rows_dtype", .got = static_cast<int64_t>(desc.dtype)},
        "dtype %d names no element type", static_cast<int>(desc.dtype));
  if (desc.index_dtype != DType::I32 && desc.index_dtype != DType::I64)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "index_dtype",
                 .rule = "rows_index_dtype",
                 .got = static_cast<int64_t>(desc.index_dtype)},
                "index_dtype is %s: indices are i32 or i64", dtype_name(desc.index_dtype));
  TW_TRY(not_negative("table_rows", desc.table_rows));
  TW_TRY(not_negative("table_pitch", desc.table_pitch));
  TW_TRY(not_negative("column", desc.column));
  TW_TRY(not_negative("columns", desc.columns));
  TW_TRY(not_negative("count", desc.count));
  TW_TRY(not_negative("packed_pitch", desc.packed_pitch));

  *out = RowsProblem{};
  out->desc = desc;
  RowsDesc& d = out->desc;
  int64_t reach = 0;
  if (!checked_add(d.column, d.columns, &reach))
    return fail(Code::ERROR_OVERFLOW, {.argument = "column", .rule = "rows_span"},
                "column %" PRId64 " plus columns %" PRId64 " exceeds 2^63", d.column, d.columns);
  if (d.table_pitch == 0) d.table_pitch = reach;
  if (d.packed_pitch == 0) d.packed_pitch = d.columns;
  TW_TRY(check_pitch("table_pitch", d.table_rows, d.table_pitch, reach));
  TW_TRY(check_pitch("packed_pitch", d.count, d.packed_pitch, d.columns));

  out->element_bytes = dtype_bytes(d.dtype);
  out->index_bytes = dtype_bytes(d.index_dtype);
  const int64_t element = out->element_bytes;
  const auto width = static_cast<uint32_t>(element);
  TW_TRY(check_alignment("table_alignment", d.table_alignment, width));
  TW_TRY(check_alignment("packed_alignment", d.packed_alignment, width));
  TW_TRY(to_bytes("columns", d.columns, element, &out->row_bytes));
  if (out->row_bytes > kMaxRow)
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "columns", .rule = "rows_row_limit", .got = out->row_bytes, .limit = kMaxRow},
        "columns make rows of %" PRId64 " bytes: 2^34 at most, move longer ones in parts",
        out->row_bytes);
  TW_TRY(to_bytes("column", d.column, element, &out->column_bytes));
  TW_TRY(to_bytes("table_pitch", d.table_pitch, element, &out->table_pitch));
  TW_TRY(to_bytes("packed_pitch", d.packed_pitch, element, &out->packed_pitch));
  TW_TRY(span("table_rows", d.table_rows, out->table_pitch, out->column_bytes + out->row_bytes,
              &out->table_bytes));
  TW_TRY(span("count", d.count, out->packed_pitch, out->row_bytes, &out->packed_bytes));
  int64_t index_bytes = 0;
  return to_bytes("count", d.count, out->index_bytes, &index_bytes);
}

}  // namespace tw
