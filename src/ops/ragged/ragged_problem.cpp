// SPDX-License-Identifier: Apache-2.0
#include "ops/ragged/ragged_problem.hpp"

#include <cinttypes>
#include <utility>

#include "base/checked.hpp"
#include "ops/common/fields.hpp"
#include "ops/common/strided_span.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

Status wrong(const char* argument, const char* rule, int64_t got, int64_t limit, const char* text) {
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument, .rule = rule, .got = got, .limit = limit},
              "%s is %" PRId64 ": %s %" PRId64, argument, got, text, limit);
}

Status check_words(const RaggedDesc& d) {
  TW_TRY(check_dtype("dtype", "ragged_dtype", d.dtype));
  TW_TRY(check_index_dtype("offset_dtype", "ragged_offset_dtype", "offsets", d.offset_dtype));
  const auto direction = static_cast<int64_t>(d.direction);
  if (direction != 0 && direction != 1)
    return wrong("direction", "ragged_direction", direction, 1,
                 "TW_RAGGED_PAD is 0 and TW_RAGGED_UNPAD is");
  const auto fill = static_cast<int64_t>(d.fill);
  if (fill != 0 && fill != 1)
    return wrong("fill", "ragged_fill", fill, 1, "TW_OOB_FILL_ZERO is 0 and TW_OOB_FILL_NAN is");
  if (d.fill == OobFill::zero) return {};
  if (d.direction == RaggedDirection::unpad)
    return wrong("fill", "ragged_fill_unpad", fill, 0,
                 "a copy to the packed operand fills nothing: it is");
  // As in tensor maps: the types for which 0x7ff7 in every 16 bits is a NaN.
  const int32_t type = dtype_tensor_map_type(d.dtype);
  if (type >= 6 && type <= 12) return {};
  return fail(Code::ERROR_UNSUPPORTED,
              {.argument = "fill", .rule = "ragged_fill_dtype", .got = fill, .limit = 0},
              "fill is NaN (1) and dtype %s: f16, bf16, f32, tf32 and f64 have that pattern",
              dtype_name(d.dtype));
}

Status check_extents(const RaggedDesc& d) {
  const std::pair<const char*, int64_t> numbers[] = {{"batch", d.batch},
                                                     {"tokens", d.tokens},
                                                     {"rows", d.rows},
                                                     {"columns", d.columns},
                                                     {"packed_columns", d.packed_columns},
                                                     {"packed_pitch", d.packed_pitch},
                                                     {"padded_pitch", d.padded_pitch},
                                                     {"padded_batch_pitch", d.padded_batch_pitch}};
  for (const auto& [argument, number] : numbers)
    if (number < 0)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = argument, .rule = "ragged_not_negative", .got = number},
                  "%s is %" PRId64 ": it must be 0 or more", argument, number);
  return {};
}

Status to_bytes(const char* argument, int64_t elements, int64_t element_bytes, int64_t* bytes) {
  if (checked_mul(elements, element_bytes, bytes) && *bytes <= kMaxSpan) return {};
  const int64_t maximum = kMaxSpan / element_bytes;
  return fail(Code::ERROR_OVERFLOW,
              {.argument = argument, .rule = "ragged_span", .got = elements, .limit = maximum},
              "%s is %" PRId64 " elements, more than 2^60 bytes: %" PRId64 " at most", argument,
              elements, maximum);
}

// Computes the span of `count` items of `width` bytes, `pitch` bytes apart.
Status reach(const char* argument, int64_t count, int64_t pitch, int64_t width, int64_t* bytes) {
  *bytes = width;
  if (count <= 1) return {};
  int64_t steps = 0;
  if (checked_mul(count - 1, pitch, &steps) && steps <= kMaxSpan) {
    *bytes += steps;
    if (*bytes <= kMaxSpan) return {};
  }
  const int64_t maximum = (kMaxSpan - width) / pitch + 1;
  return fail(Code::ERROR_OVERFLOW,
              {.argument = argument, .rule = "ragged_span", .got = count, .limit = maximum},
              "%s is %" PRId64 ": so many, %" PRId64 " bytes apart, exceed 2^60 bytes: %" PRId64
              " at most",
              argument, count, pitch, maximum);
}

// Rows of the padded operand must not share elements. Either sequences follow one another, or their
// rows interleave.
Status check_padded(const RaggedProblem& p) {
  const RaggedDesc& d = p.desc;
  if (p.empty()) return {};
  int64_t sequence = 0;
  int64_t step = 0;
  int64_t all = 0;
  TW_TRY(reach("rows", d.rows, p.padded_pitch, p.row_bytes, &sequence));
  TW_TRY(reach("batch", d.batch, p.batch_pitch, p.row_bytes, &step));
  TW_TRY(reach("batch", d.batch, p.batch_pitch, sequence, &all));
  const int64_t element = p.element_bytes;
  if (d.rows > 1 && p.padded_pitch < p.row_bytes)
    return wrong("padded_pitch", "ragged_pitch", d.padded_pitch, p.row_bytes / element,
                 "rows would overlap, it is 0 or at least");
  if (d.batch > 1 && p.batch_pitch < sequence &&
      (p.batch_pitch < p.row_bytes || p.padded_pitch < step))
    return wrong("padded_batch_pitch", "ragged_batch_pitch", d.padded_batch_pitch,
                 sequence / element,
                 "padded sequences would overlap; behind one another it is 0 or at least");
  return {};
}

}  // namespace

Status ragged_problem(const RaggedDesc& desc, RaggedProblem* out) {
  *out = RaggedProblem{};
  out->desc = desc;
  RaggedDesc& d = out->desc;
  TW_TRY(check_words(d));
  TW_TRY(check_extents(d));
  if (d.packed_columns == 0) d.packed_columns = d.columns;
  if (d.packed_columns < d.columns)
    return wrong("packed_columns", "ragged_columns", d.packed_columns, d.columns,
                 "a row of the packed operand has no fewer than the columns that are moved,");
  if (d.packed_pitch == 0) d.packed_pitch = d.packed_columns;
  if (d.padded_pitch == 0) d.padded_pitch = d.columns;
  if (d.tokens > 1 && d.packed_pitch < d.packed_columns)
    return wrong("packed_pitch", "ragged_pitch", d.packed_pitch, d.packed_columns,
                 "rows would overlap, it is 0 or at least");
  out->element_bytes = dtype_bytes(d.dtype);
  out->offset_bytes = dtype_bytes(d.offset_dtype);
  const int64_t element = out->element_bytes;
  TW_TRY(check_alignment("packed_alignment", d.packed_alignment, static_cast<uint32_t>(element)));
  TW_TRY(check_alignment("padded_alignment", d.padded_alignment, static_cast<uint32_t>(element)));
  TW_TRY(to_bytes("columns", d.columns, element, &out->row_bytes));
  TW_TRY(to_bytes("packed_columns", d.packed_columns, element, &out->packed_width));
  TW_TRY(to_bytes("packed_pitch", d.packed_pitch, element, &out->packed_pitch));
  TW_TRY(to_bytes("padded_pitch", d.padded_pitch, element, &out->padded_pitch));
  if (d.padded_batch_pitch == 0 && !checked_mul(d.rows, d.padded_pitch, &d.padded_batch_pitch))
    return fail(Code::ERROR_OVERFLOW, {.argument = "rows", .rule = "ragged_span", .got = d.rows},
                "rows %" PRId64 " times padded_pitch %" PRId64 " exceeds 2^63", d.rows,
                d.padded_pitch);
  TW_TRY(to_bytes("padded_batch_pitch", d.padded_batch_pitch, element, &out->batch_pitch));
  int64_t bytes = 0;
  TW_TRY(reach("tokens", d.tokens, out->packed_pitch, out->packed_width, &bytes));
  TW_TRY(reach("batch", d.batch, out->offset_bytes, 2 * out->offset_bytes, &bytes));
  return check_padded(*out);
}

}  // namespace tw
