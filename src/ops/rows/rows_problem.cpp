// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/rows_problem.hpp"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "base/checked.hpp"
#include "ops/common/fields.hpp"
#include "ops/common/strided_span.hpp"

namespace tw {
namespace {

// Keeps the pieces of one row below kDividerLimit.
constexpr int64_t kMaxRow = int64_t{1} << 30;
constexpr int64_t kMaxGroup = 1 << 20;

Status not_negative(const char* argument, int64_t value) {
  if (value >= 0) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument, .rule = "rows_not_negative", .got = value},
              "%s is %" PRId64 ": it is 0 or more", argument, value);
}

// Rows must not share elements. With fewer than two rows the pitch does not matter.
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
  if (checked_mul(rows - 1, pitch, bytes) && width <= kMaxSpan && *bytes <= kMaxSpan - width) {
    *bytes += width;
    return {};
  }
  const int64_t maximum = width > kMaxSpan ? 0 : pitch == 0 ? 1 : (kMaxSpan - width) / pitch + 1;
  return fail(Code::ERROR_OVERFLOW,
              {.argument = argument, .rule = "rows_span", .got = rows, .limit = maximum},
              "%s is %" PRId64 ": rows %" PRId64
              " bytes apart would exceed 2^60 bytes; it must be at most %" PRId64,
              argument, rows, pitch, maximum);
}

Status to_bytes(const char* argument, int64_t elements, int64_t element_bytes, int64_t* bytes) {
  if (checked_mul(elements, element_bytes, bytes) && *bytes <= kMaxSpan) return {};
  const int64_t maximum = kMaxSpan / element_bytes;
  return fail(Code::ERROR_OVERFLOW,
              {.argument = argument, .rule = "rows_span", .got = elements, .limit = maximum},
              "%s is %" PRId64 " elements, more than 2^60 bytes; it must be at most %" PRId64,
              argument, elements, maximum);
}

// Returns the element type for arithmetic; kElementBits if there is none.
uint32_t element_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return kElementF32;
    case DType::F16:
      return kElementF16;
    case DType::BF16:
      return kElementBF16;
    case DType::F64:
      return kElementF64;
    case DType::U32:
      return kElementU32;
    case DType::I32:
      return kElementI32;
    case DType::U64:
      return kElementU64;
    case DType::I64:
      return kElementI64;
    default:
      return kElementBits;
  }
}

bool is_number(uint32_t element) {
  return element == kElementF32 || element == kElementF16 || element == kElementBF16;
}

Status check_types(const RowsDesc& d) {
  TW_TRY(check_dtype("dtype", "rows_dtype", d.dtype));
  TW_TRY(check_dtype("packed_dtype", "rows_dtype", d.packed_dtype));
  return check_index_dtype("index_dtype", "rows_index_dtype", "indices", d.index_dtype);
}

// Checks the combination of types, reduction, weights, groups and flags.
Status check_arithmetic(Op op, const RowsDesc& d) {
  const uint32_t element = element_of(d.dtype);
  const bool add = d.reduction == kReduceAdd;
  const auto has = [&](RowsFlag bit) { return (d.flags & bit) != 0; };
  // `limit` is a value that works, or all valid bits of flags.
  const auto refuse = [&](const char* argument, const char* rule, int64_t got, int64_t limit,
                          const char* text, Code code = Code::ERROR_INVALID_ARGUMENT) {
    return fail(code, {.argument = argument, .rule = rule, .got = got, .limit = limit},
                "%s is %" PRId64 ": %s", argument, got, text);
  };
  if (d.reduction < 0 || d.reduction > static_cast<int32_t>(kReduceMax))
    return refuse("reduction", "rows_reduction", d.reduction, kReduceMax,
                  "it is 0, add, min or max");
  if ((d.flags & ~uint32_t{kRowsFlags}) != 0)
    return refuse("flags", "rows_flags", d.flags, kRowsFlags, "it has unknown bits");
  if (d.group < 1) return refuse("group", "rows_group", d.group, 1, "it is 1 or more");
  if (d.group > kMaxGroup)
    return refuse("group", "rows_group", d.group, kMaxGroup, "it is 2^20 at most",
                  Code::ERROR_UNSUPPORTED);
  if (op == Op::gather) {
    if (d.reduction != 0)
      return refuse("reduction", "rows_reduction", d.reduction, 0, "a gather has none");
    if ((d.flags & ~uint32_t{kRowsWeighted}) != 0)
      return refuse("flags", "rows_flags", d.flags, kRowsWeighted,
                    "a gather may have TW_ROWS_WEIGHTS alone");
  } else {
    if (d.group != 1) return refuse("group", "rows_group", d.group, 1, "a scatter has groups of 1");
    if (d.reduction == 0 && (d.flags & ~uint32_t{kRowsLastWins}) != 0)
      return refuse("flags", "rows_flags", d.flags, kRowsLastWins,
                    "a scatter that stores may have TW_SCATTER_LAST_WINS alone; the others are of "
                    "sums");
    if (d.reduction != 0 && has(kRowsLastWins))
      return refuse("flags", "rows_flags", d.flags, kRowsFlags & ~kRowsLastWins,
                    "TW_SCATTER_LAST_WINS is for a scatter that stores");
    if (!add && (has(kRowsWeighted) || has(kRowsAccumulateF32)))
      return refuse("flags", "rows_flags", d.flags, kRowsDeterministic,
                    "weights and f32 sums are of additions");
  }
  if (d.reduction != 0 && element == kElementBits)
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "dtype", .rule = "rows_reduction_type", .got = static_cast<int64_t>(d.dtype)},
        "dtype is %s: reductions are of f32, f16, bf16, f64, u32, i32, u64 and i64",
        dtype_name(d.dtype));
  const bool numbers =
      op == Op::gather ? d.group > 1 || has(kRowsWeighted)
                       : has(kRowsWeighted) || has(kRowsAccumulateF32) || d.packed_dtype != d.dtype;
  if (numbers && !is_number(element))
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "dtype", .rule = "rows_number_type", .got = static_cast<int64_t>(d.dtype)},
        "dtype is %s: weights, groups, f32 sums and mixed types are of f32, f16 and bf16",
        dtype_name(d.dtype));
  if (has(kRowsDeterministic) && add && element == kElementF64)
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "flags", .rule = "rows_deterministic", .got = d.flags},
        "flags ask for deterministic sums: they are of f32, f16, bf16 and integers, not of f64");
  if (d.packed_dtype == d.dtype) return {};
  const uint32_t packed = element_of(d.packed_dtype);
  if (op == Op::scatter && add && element == kElementF32 &&
      (packed == kElementF16 || packed == kElementBF16))
    return {};
  return fail(Code::ERROR_UNSUPPORTED,
              {.argument = "packed_dtype",
               .rule = "rows_packed_dtype",
               .got = static_cast<int64_t>(d.packed_dtype)},
              "packed_dtype is %s and dtype %s: they must be equal, except that f16 or bf16 may be "
              "added to f32",
              dtype_name(d.packed_dtype), dtype_name(d.dtype));
}

// The kernels that sort or compare index numbers keep them in 32 bits.
Status check_counted(const RowsDesc& d) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (d.count <= kMost || (d.flags & (kRowsLastWins | kRowsDeterministic)) == 0) return {};
  return fail(Code::ERROR_UNSUPPORTED,
              {.argument = "count", .rule = "rows_counted", .got = d.count, .limit = kMost},
              "count is %" PRId64
              ": TW_SCATTER_LAST_WINS and TW_SCATTER_DETERMINISTIC take 2^31 - 1 indices at most",
              d.count);
}

// Clips the window to the table's columns.
Status cut_window(Op op, RowsDesc* d, RowsProblem* out) {
  int64_t reach = 0;
  if (!checked_add(d->column, d->columns, &reach))
    return fail(Code::ERROR_OVERFLOW,
                {.argument = "column",
                 .rule = "rows_span",
                 .got = d->column,
                 .limit = INT64_MAX - d->columns},
                "column %" PRId64 " plus columns %" PRId64 " exceeds 2^63", d->column, d->columns);
  const bool bounded = d->table_columns != 0;
  if (d->column < 0 && (op == Op::scatter || !bounded))
    return fail(bounded ? Code::ERROR_UNSUPPORTED : Code::ERROR_INVALID_ARGUMENT,
                {.argument = "column", .rule = "rows_column", .got = d->column},
                op == Op::scatter
                    ? "column is %" PRId64 ": a scatter's is 0 or more"
                    : "column is %" PRId64
                      ": a window may extend beyond the table only if table_columns is given",
                d->column);
  const int64_t width = bounded ? d->table_columns : reach;
  if (d->table_pitch == 0) d->table_pitch = width;
  if (d->packed_pitch == 0) d->packed_pitch = d->columns;
  TW_TRY(check_pitch("table_pitch", d->table_rows, d->table_pitch, width));
  TW_TRY(check_pitch("packed_pitch", d->count, d->packed_pitch, d->columns));
  const int64_t first = std::clamp<int64_t>(d->column, 0, width);
  const int64_t end = std::clamp<int64_t>(reach, first, width);
  // A window entirely outside the table is all margin.
  out->moved_columns = end - first;
  out->column_bytes = out->moved_columns == 0 ? 0 : first;
  out->lead_bytes = out->moved_columns == 0 ? d->columns : first - d->column;
  out->tail_bytes = d->columns - out->lead_bytes - out->moved_columns;
  return {};
}

}  // namespace

Status rows_problem(Op op, const RowsDesc& desc, RowsProblem* out) {
  *out = RowsProblem{};
  out->desc = desc;
  RowsDesc& d = out->desc;
  if (d.packed_dtype == DType{0}) d.packed_dtype = d.dtype;
  TW_TRY(check_types(d));
  TW_TRY(check_arithmetic(op, d));
  TW_TRY(not_negative("table_rows", d.table_rows));
  TW_TRY(not_negative("table_pitch", d.table_pitch));
  TW_TRY(not_negative("table_columns", d.table_columns));
  TW_TRY(not_negative("columns", d.columns));
  TW_TRY(not_negative("count", d.count));
  TW_TRY(not_negative("packed_pitch", d.packed_pitch));
  TW_TRY(check_counted(d));
  TW_TRY(cut_window(op, &d, out));

  out->element_bytes = dtype_bytes(d.dtype);
  out->packed_element_bytes = dtype_bytes(d.packed_dtype);
  out->index_bytes = dtype_bytes(d.index_dtype);
  out->element = element_of(d.dtype);
  out->packed_element = element_of(d.packed_dtype);
  const int64_t element = out->element_bytes;
  const int64_t packed = out->packed_element_bytes;
  TW_TRY(check_alignment("table_alignment", d.table_alignment, static_cast<uint32_t>(element)));
  TW_TRY(check_alignment("packed_alignment", d.packed_alignment, static_cast<uint32_t>(packed)));
  TW_TRY(to_bytes("columns", d.columns, packed, &out->row_bytes));
  TW_TRY(to_bytes("columns", out->moved_columns, element, &out->moved_bytes));
  if (std::max(out->row_bytes, out->moved_bytes) > kMaxRow)
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "columns", .rule = "rows_row_limit", .got = out->row_bytes, .limit = kMaxRow},
        "columns make rows of %" PRId64 " bytes: 2^30 at most, move longer ones in parts",
        out->row_bytes);
  TW_TRY(to_bytes("column", out->column_bytes, element, &out->column_bytes));
  TW_TRY(to_bytes("column", out->lead_bytes, packed, &out->lead_bytes));
  TW_TRY(to_bytes("columns", out->tail_bytes, packed, &out->tail_bytes));
  // Blames the field that the caller has set: a pitch of 0 means the width.
  const char* const width = desc.table_columns != 0 ? "table_columns" : "column";
  TW_TRY(to_bytes(desc.table_pitch != 0 ? "table_pitch" : width, d.table_pitch, element,
                  &out->table_pitch));
  TW_TRY(to_bytes(desc.packed_pitch != 0 ? "packed_pitch" : "columns", d.packed_pitch, packed,
                  &out->packed_pitch));
  TW_TRY(span("table_rows", d.table_rows, out->table_pitch, out->column_bytes + out->moved_bytes,
              &out->table_bytes));
  TW_TRY(span("count", d.count, out->packed_pitch, out->row_bytes, &out->packed_bytes));
  int64_t indices = 0;
  int64_t index_bytes = 0;
  if (!checked_mul(d.count, d.group, &indices))
    return fail(
        Code::ERROR_OVERFLOW,
        {.argument = "group", .rule = "rows_span", .got = d.group, .limit = INT64_MAX / d.count},
        "count %" PRId64 " times group %" PRId64 " exceeds 2^63", d.count, d.group);
  return to_bytes("count", indices, out->index_bytes, &index_bytes);
}

}  // namespace tw
