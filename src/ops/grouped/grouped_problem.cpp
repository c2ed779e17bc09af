// SPDX-License-Identifier: Apache-2.0
// Checks the description of a grouped product and fills in its defaults. grouped_problem() lists
// the checks in order.
#include "ops/grouped/grouped_problem.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <utility>

#include "base/checked.hpp"
#include "base/decimal.hpp"
#include "base/excluded.hpp"
#include "ops/common/fields.hpp"
#include "ops/common/strided_span.hpp"
#include "ops/gemm/problem/gemm_scaling.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;
constexpr Code kUnsupported = Code::ERROR_UNSUPPORTED;

Status wrong(Code code, const char* argument, const char* rule, int64_t got, int64_t limit,
             const char* text) {
  return fail(code, {.argument = argument, .rule = rule, .got = got, .limit = limit},
              "%s is %" PRId64 ": %s %" PRId64, argument, got, text, limit);
}

// Refuses a field that must be 0 because of another one.
Status excluded(const char* argument, int64_t value, const char* because) {
  return check_excluded(value == 0, argument, value, because);
}

Status excluded_number(const char* argument, float value, float unset, const char* because) {
  if (!(value < unset || value > unset)) return {};
  return fail(kInvalid, {.argument = argument, .rule = "excluded"},
              "%s is %s, but %s: leave it as the init function sets it", argument,
              Decimal::significant(static_cast<double>(value), 6).text(), because);
}

bool is_16_bit(DType type) {
  return type == DType::BF16 || type == DType::F16;
}

Status check_input_types(const GroupedDesc& d) {
  if (!is_16_bit(d.a_dtype) && !is_f8(d.a_dtype) && d.a_dtype != DType::I8)
    return fail(gemm_unsupported_type(d.a_dtype),
                {.argument = "a_dtype",
                 .rule = "grouped_input_type",
                 .got = static_cast<int64_t>(d.a_dtype)},
                "a_dtype is %s (%d): bf16, f16, f8e4m3, f8e5m2 and i8 can be multiplied",
                gemm_type_name(d.a_dtype), static_cast<int>(d.a_dtype));
  return gemm_type_pair(d.a_dtype, d.b_type());
}

// Whether D or the bias may have a type: f32 always, bf16 and f16 if A has an 8-bit type, otherwise
// the type of A.
bool is_output_type(const GroupedDesc& d, DType type) {
  return type == DType::F32 || (d.is_narrow() ? is_16_bit(type) : type == d.a_dtype);
}

Status check_types(const GroupedDesc& d) {
  TW_TRY(check_input_types(d));
  const char* const others = d.is_narrow() ? "bf16, f16" : dtype_name(d.a_dtype);
  if (!is_output_type(d, d.d_dtype))
    return fail(gemm_unsupported_type(d.d_dtype),
                {.argument = "d_dtype",
                 .rule = "grouped_output_type",
                 .got = static_cast<int64_t>(d.d_dtype)},
                "d_dtype is %s (%d): with %s inputs it is %s or f32", gemm_type_name(d.d_dtype),
                static_cast<int>(d.d_dtype), dtype_name(d.a_dtype), others);
  if (d.bias_dtype != DType{} && !is_output_type(d, d.bias_dtype))
    return fail(gemm_unsupported_type(d.bias_dtype),
                {.argument = "bias_dtype",
                 .rule = "grouped_bias_type",
                 .got = static_cast<int64_t>(d.bias_dtype)},
                "bias_dtype is %s (%d): with %s inputs it is %s or f32; 0 is no bias",
                gemm_type_name(d.bias_dtype), static_cast<int>(d.bias_dtype), dtype_name(d.a_dtype),
                others);
  TW_TRY(
      check_index_dtype("index_dtype", "grouped_index_dtype", "numbers of groups", d.index_dtype));
  return check_index_dtype("row_index_dtype", "grouped_row_index_dtype", "row indices",
                           d.row_index_dtype);
}

Status check_grouping(Grouping grouping) {
  const auto number = static_cast<int64_t>(grouping);
  if (number >= 0 && number <= static_cast<int64_t>(Grouping::k_ranges)) return {};
  if (grouping == Grouping::blocks)
    return fail(kUnsupported, {.argument = "grouping", .rule = "grouped_grouping", .got = number},
                "grouping is TW_GROUPING_BLOCKS: this version takes no lists of blocks; give the "
                "rows of each group, as TW_GROUPING_ENDS, TW_GROUPING_OFFSETS or TW_GROUPING_PSUM");
  return wrong(kInvalid, "grouping", "grouped_grouping", number,
               static_cast<int64_t>(Grouping::k_ranges), "TW_GROUPING_ values are 0 to");
}

Status check_choices(const GroupedDesc& d) {
  TW_TRY(check_grouping(d.grouping));
  const struct {
    const char* argument;
    int64_t value, last;
  } choices[] = {{"combine", static_cast<int64_t>(d.combine), static_cast<int64_t>(Combine::add)},
                 {"gate", static_cast<int64_t>(d.gate), static_cast<int64_t>(Gate::interleaved)}};
  for (const auto& [argument, value, last] : choices)
    if (value < 0 || value > last)
      return wrong(kInvalid, argument, "grouped_choice", value, last, "its values are 0 to");
  const auto order = static_cast<int64_t>(d.b_order);
  if (order < 0 || order > 1)
    return wrong(kInvalid, "b_order", "order_value", order, 1,
                 "TW_ROW_MAJOR is 0, TW_COLUMN_MAJOR is");
  TW_TRY(check_activation(d.activation));
  constexpr uint32_t kFlags = 2 * kGroupedDescFast - 1;
  if ((d.flags & ~kFlags) == 0) return {};
  return fail(kInvalid,
              {.argument = "flags", .rule = "grouped_flags", .got = d.flags, .limit = kFlags},
              "flags is 0x%x: it has bits that are not TW_GROUPED_ flags", d.flags);
}

Status check_number(const char* argument, float value) {
  if (std::isfinite(value)) return {};
  return fail(kInvalid, {.argument = argument, .rule = "grouped_number"},
              "%s is %s: it must be a finite number", argument,
              std::isnan(value) ? "NaN" : "infinite");
}

Status check_gate(const GroupedDesc& d) {
  TW_TRY(check_number("gate_limit", d.gate_limit));
  TW_TRY(check_number("gate_offset", d.gate_offset));
  TW_TRY(check_number("gate_slope", d.gate_slope));
  if (d.gate == Gate::none) {
    constexpr const char* kNoGate = "gate is TW_GATE_NONE";
    TW_TRY(excluded_number("gate_limit", d.gate_limit, 0.0f, kNoGate));
    TW_TRY(excluded_number("gate_offset", d.gate_offset, 0.0f, kNoGate));
    return excluded_number("gate_slope", d.gate_slope, 1.0f, kNoGate);
  }
  if (d.activation != Activation::silu)
    TW_TRY(
        excluded_number("gate_slope", d.gate_slope, 1.0f, "activation is not TW_ACTIVATION_SILU"));
  if (d.gate_limit < 0)
    return fail(kInvalid, {.argument = "gate_limit", .rule = "grouped_gate_limit"},
                "gate_limit is %s: it must be above 0, or 0 for none",
                Decimal::significant(static_cast<double>(d.gate_limit), 6).text());
  if (d.n % 2 == 0) return {};
  return wrong(kInvalid, "n", "grouped_gate_columns", d.n, 2,
               "with a gate each column of D takes two columns of B, so it must be a multiple of");
}

Status check_extents(const GroupedDesc& d) {
  const std::pair<const char*, int64_t> extents[] = {{"m", d.m},
                                                     {"n", d.n},
                                                     {"k", d.k},
                                                     {"weight_count", d.weight_count},
                                                     {"a_count", d.a_count},
                                                     {"d_count", d.d_count},
                                                     {"group_rows", d.group_rows},
                                                     {"row_alignment", d.row_alignment},
                                                     {"a_divisor", d.a_divisor},
                                                     {"d_divisor", d.d_divisor},
                                                     {"expected_rows", d.expected_rows}};
  for (const auto& [argument, extent] : extents) {
    if (extent < 0)
      return wrong(kInvalid, argument, "grouped_extent", extent, 0, "it must be at least");
    if (extent > kGemmMaxExtent)
      return wrong(kUnsupported, argument, "grouped_extent", extent, kGemmMaxExtent,
                   "it must be at most");
  }
  if (d.groups < 0)
    return wrong(kInvalid, "group_count", "grouped_groups", d.groups, 0, "it must be at least");
  if (d.groups > kGroupedMaxGroups)
    return wrong(kUnsupported, "group_count", "grouped_groups", d.groups, kGroupedMaxGroups,
                 "it must be at most");
  if (d.grouping == Grouping::one && d.groups != 1)
    return wrong(kInvalid, "group_count", "grouped_groups", d.groups, 1,
                 "with TW_GROUPING_ONE all rows are one group, and it must be");
  return {};
}

Status check_grouping_fields(const GroupedDesc& d) {
  if (d.grouping != Grouping::psum)
    TW_TRY(excluded("row_alignment", d.row_alignment, "grouping is not TW_GROUPING_PSUM"));
  if (d.grouping != Grouping::masked)
    TW_TRY(excluded("group_rows", d.group_rows, "grouping is not TW_GROUPING_MASKED"));
  if (d.grouping != Grouping::k_ranges)
    return excluded("d_stride", d.d_stride, "grouping is not TW_GROUPING_K_RANGES");
  return {};
}

Status check_masked(GroupedDesc* d) {
  if (d->grouping != Grouping::masked || d->groups == 0) return {};
  const int64_t limit = d->m / d->groups;
  if (d->group_rows == 0) d->group_rows = limit;
  if (d->group_rows <= limit) return {};
  return wrong(kInvalid, "group_rows", "grouped_group_rows", d->group_rows, limit,
               "all groups lie in the m rows, so it must be at most");
}

Status check_indices(const GroupedDesc& d) {
  if (!d.has(kGroupedDescGather)) {
    constexpr const char* kReason = "flags lack TW_GROUPED_GATHER";
    TW_TRY(excluded("a_count", d.a_count, kReason));
    TW_TRY(excluded("a_divisor", d.a_divisor, kReason));
  } else if (d.a_count == 0 && d.m != 0) {
    return wrong(kInvalid, "a_count", "grouped_count", 0, 1,
                 "with TW_GROUPED_GATHER it is the number of rows of A and must be at least");
  }
  if (!d.has(kGroupedDescScatter)) {
    constexpr const char* kReason = "flags lack TW_GROUPED_SCATTER";
    TW_TRY(excluded("d_count", d.d_count, kReason));
    TW_TRY(excluded("d_divisor", d.d_divisor, kReason));
    TW_TRY(excluded("combine", static_cast<int64_t>(d.combine), kReason));
    return check_excluded(!d.has(kGroupedDescRowWeightByIndex), "flags", d.flags,
                          "TW_GROUPED_ROW_WEIGHT_BY_INDEX needs TW_GROUPED_SCATTER");
  }
  if (d.d_count == 0 && d.m != 0)
    return wrong(kInvalid, "d_count", "grouped_count", 0, 1,
                 "with TW_GROUPED_SCATTER it is the number of rows of D and must be at least");
  const int64_t limit = INT32_MAX / std::max<int64_t>(d.d_divisor, 1);
  if (d.d_count <= limit) return {};
  return wrong(Code::ERROR_OVERFLOW, "d_count", "grouped_pairs", d.d_count, limit,
               "d_count times d_divisor must be below 2^31, so it must be at most");
}

Status check_inverse(const GroupedDesc& d) {
  const bool in_order = d.combine == Combine::sum || d.combine == Combine::add;
  return check_excluded(!d.has(kGroupedDescInverse) || in_order, "flags", d.flags,
                        "TW_GROUPED_INVERSE needs the combine TW_GROUPED_COMBINE_SUM or "
                        "TW_GROUPED_COMBINE_ADD");
}

Status check_k_ranges(const GroupedDesc& d) {
  if (d.grouping != Grouping::k_ranges) return {};
  constexpr const char* kReason = "grouping is TW_GROUPING_K_RANGES";
  constexpr uint32_t kNone = kGroupedDescGather | kGroupedDescScatter |
                             kGroupedDescRowWeightByIndex | kGroupedDescZeroOthers |
                             kGroupedDescInverse;
  TW_TRY(check_excluded((d.flags & kNone) == 0, "flags", d.flags, kReason));
  const std::pair<const char*, int64_t> zeroes[] = {
      {"combine", static_cast<int64_t>(d.combine)},
      {"bias_dtype", static_cast<int64_t>(d.bias_dtype)},
      {"activation", static_cast<int64_t>(d.activation)},
      {"gate", static_cast<int64_t>(d.gate)},
      {"b_order", static_cast<int64_t>(d.b_order)},
      {"b_stride", d.b_stride},
      {"weight_count", d.weight_count}};
  for (const auto& [argument, value] : zeroes) TW_TRY(excluded(argument, value, kReason));
  if (d.d_dtype == DType::F32) return {};
  return fail(kUnsupported,
              {.argument = "d_dtype",
               .rule = "grouped_output_type",
               .got = static_cast<int64_t>(d.d_dtype)},
              "d_dtype is %s (%d): with TW_GROUPING_K_RANGES it is f32", dtype_name(d.d_dtype),
              static_cast<int>(d.d_dtype));
}

// The matrices of an operand, and the names of the caller's fields for their pitch and stride. A
// line is what a matrix stores contiguously.
struct Matrices {
  const char* leading_name;
  const char* stride_name;
  int64_t lines, contiguous, bytes, count;
};

// Replaces a pitch or stride of 0 by the packed one, and checks the bytes that the operand spans.
Status check_matrices(const Matrices& matrices, int64_t* leading, int64_t* stride) {
  if (*leading == 0) *leading = std::max<int64_t>(matrices.contiguous, 1);
  if (*leading < matrices.contiguous)
    return wrong(
        kInvalid, matrices.leading_name, "grouped_pitch", *leading, matrices.contiguous,
        "0 means packed; otherwise it must be at least the number of contiguous elements,");
  const int64_t limit = kMaxSpan / matrices.bytes;
  const int64_t lines = std::max<int64_t>(matrices.lines, 1);
  if (*leading > limit / lines)
    return wrong(Code::ERROR_OVERFLOW, matrices.leading_name, "grouped_span", *leading,
                 limit / lines, "an operand may span 2^60 bytes, so it must be at most");
  const int64_t matrix = *leading * lines;
  if (*stride == 0) *stride = matrix;
  if (*stride < 0)
    return wrong(kInvalid, matrices.stride_name, "grouped_stride", *stride, 0,
                 "0 means packed; otherwise it must be at least");
  if (matrices.count <= 1) return {};
  const int64_t max_stride = (limit - matrix) / (matrices.count - 1);
  if (*stride <= max_stride) return {};
  // If the caller gave no stride, *stride is the packed one.
  return wrong(Code::ERROR_OVERFLOW, matrices.stride_name, "grouped_span", *stride, max_stride,
               "an operand may span 2^60 bytes, so it must be at most");
}

Status check_d_disjoint(const GroupedDesc& d) {
  const int64_t other = gemm_first_overlap(d.m, d.n, d.ldd, d.groups, d.d_stride);
  if (other == 0) return {};
  return fail(Code::ERROR_OVERLAP,
              {.argument = "d_stride",
               .index = static_cast<int32_t>(other),
               .rule = "grouped_disjoint",
               .got = d.d_stride},
              "d_stride is %" PRId64 ": matrices 0 and %" PRId64 " of D, %" PRId64
              " rows of %" PRId64 " elements %" PRId64 " apart, share elements: give %" PRId64
              " or more, or 0 for packed",
              d.d_stride, other, d.m, d.n, d.ldd, (d.m - 1) * d.ldd + d.n);
}

Status check_operand_pitches(GroupedProblem* p) {
  GroupedDesc& d = p->desc;
  int64_t no_stride = 0;  // A is a single matrix
  const int64_t a_columns = p->has_k_ranges() ? d.m : d.k;
  TW_TRY(
      check_matrices({"lda", "", p->rows_of_a(), a_columns, p->in_bytes, 1}, &d.lda, &no_stride));
  const int64_t matrices = p->has_k_ranges() ? 1 : d.weight_count;
  TW_TRY(check_matrices({"ldb", "b_stride", p->b_lines(), p->b_contiguous(), p->in_bytes, matrices},
                        &d.ldb, &d.b_stride));
  const int64_t d_matrices = p->has_k_ranges() ? d.groups : 1;
  TW_TRY(check_matrices({"ldd", "d_stride", p->rows_of_d(), p->d_columns, p->out_bytes, d_matrices},
                        &d.ldd, &d.d_stride));
  if (p->has_k_ranges()) return check_d_disjoint(d);
  if (!p->has_bias())
    return excluded("bias_stride", d.bias_stride, "there is no bias (bias_dtype is 0)");
  int64_t length = 0;
  return check_matrices({"n", "bias_stride", 1, d.n, dtype_bytes(d.bias_dtype), d.weight_count},
                        &length, &d.bias_stride);
}

// Rows that are added in a fixed order are first stored in the workspace.
Status check_workspace_span(const GroupedProblem& p) {
  const int64_t limit = kMaxSpan / (p.d_columns * p.out_bytes + kMapAlignment);
  if (!p.adds_in_order() || p.desc.m <= limit) return {};
  return wrong(Code::ERROR_OVERFLOW, "m", "grouped_span", p.desc.m, limit,
               "the rows in the workspace may span 2^60 bytes, so it must be at most");
}

Status check_alignments(const GroupedProblem& p) {
  const auto in = static_cast<uint32_t>(p.in_bytes);
  TW_TRY(check_alignment("a_alignment", p.desc.a_alignment, in));
  TW_TRY(check_alignment("b_alignment", p.desc.b_alignment, in));
  return check_alignment("d_alignment", p.desc.d_alignment, static_cast<uint32_t>(p.out_bytes));
}

constexpr ScalingNames kScalesOfA{"a_scale", "a_scale_order", "a_scale_ld", "a_scale_stride",
                                  "group_count"};
constexpr ScalingNames kScalesOfB{"b_scale", "b_scale_order", "b_scale_ld", "b_scale_stride",
                                  "weight_count"};

Status check_scale_stride(const char* argument, const GemmScaling& scaling, int64_t stride) {
  if (!scaling.any()) return excluded(argument, stride, "there are no such scales (TW_SCALE_NONE)");
  if (stride >= 0) return {};
  return wrong(kInvalid, argument, "grouped_stride", stride, 0,
               "0 means packed; otherwise it must be at least");
}

// Unless groups are masked, refuses a_scale_stride: scales of A that each group has of its own.
Status check_scales_per_group(const GroupedDesc& d) {
  const char* because = nullptr;
  if (d.grouping != Grouping::masked) because = "grouping is not TW_GROUPING_MASKED";
  if (d.has(kGroupedDescGather))
    because = "flags has TW_GROUPED_GATHER: scales are indexed by the rows of A";
  if (d.a_scaling.kind == ScaleKind::tensor) because = "a_scale is TW_SCALE_TENSOR";
  return because ? excluded("a_scale_stride", d.a_scale_stride, because) : Status();
}

// With ranges of k, refuses a scale for 128 elements of k, which could belong to several ranges.
Status check_k_ranges_scale(const GroupedDesc& d) {
  if (d.grouping != Grouping::k_ranges || d.a_scaling.kind < ScaleKind::row128) return {};
  return fail(
      kUnsupported,
      {.argument = "a_scale",
       .rule = "grouped_scale_ranges",
       .got = static_cast<int64_t>(d.a_scaling.kind)},
      "a_scale is %d, one scale for 128 elements of k, but the ranges of TW_GROUPING_K_RANGES "
      "end anywhere: use TW_SCALE_NONE, TW_SCALE_TENSOR or TW_SCALE_ROW",
      static_cast<int>(d.a_scaling.kind));
}

Status check_scaling(GroupedProblem* p) {
  GroupedDesc& d = p->desc;
  TW_TRY(check_scale_kind(kScalesOfA, d.a_scaling.kind));
  TW_TRY(check_scale_kind(kScalesOfB, d.b_scaling.kind));
  TW_TRY(check_scale_pair(d.a_dtype, d.a_scaling, d.b_scaling));
  if (d.has(kGroupedDescFast))
    TW_TRY(check_fast_accumulate("TW_GROUPED_FAST_ACCUMULATE", d.a_dtype, d.a_scaling.kind));
  TW_TRY(check_k_ranges_scale(d));
  TW_TRY(check_scale_stride("a_scale_stride", d.a_scaling, d.a_scale_stride));
  TW_TRY(check_scale_stride("b_scale_stride", d.b_scaling, d.b_scale_stride));
  TW_TRY(check_scales_per_group(d));
  if (p->has_k_ranges())
    TW_TRY(excluded("b_scale_stride", d.b_scale_stride, "grouping is TW_GROUPING_K_RANGES"));
  p->a_scales_per_group = d.a_scale_stride != 0;
  if (p->a_scales_per_group) d.a_scaling.batch_stride = d.a_scale_stride;
  if (d.b_scale_stride != 0) d.b_scaling.batch_stride = d.b_scale_stride;
  const int64_t rows = p->a_scales_per_group ? d.group_rows
                       : p->has_k_ranges()   ? d.m
                                             : p->rows_of_a();
  TW_TRY(check_scale_layout(kScalesOfA, p->a_scales(rows), p->a_scale_matrices(), &d.a_scaling));
  return check_scale_layout(kScalesOfB, p->b_scales(), p->b_scale_matrices(), &d.b_scaling);
}

// Sets the defaults that the first checks need. fill_counts() sets the others after these checks.
void fill_types_and_groups(GroupedDesc* d) {
  if (d->d_dtype == DType{})
    d->d_dtype = d->grouping == Grouping::k_ranges ? DType::F32 : d->a_dtype;
  if (d->grouping == Grouping::one && d->groups == -1) d->groups = 1;
}

void fill_counts(GroupedDesc* d) {
  if (d->weight_count == 0) d->weight_count = d->groups;
  d->a_divisor = std::max<int64_t>(d->a_divisor, 1);
  d->d_divisor = std::max<int64_t>(d->d_divisor, 1);
  d->row_alignment = std::max<int64_t>(d->row_alignment, 1);
}

}  // namespace

int64_t GroupedProblem::groups_length(int64_t m) const {
  switch (desc.grouping) {
    case Grouping::one:
      return 0;
    case Grouping::offsets:
      return desc.groups + 1;
    case Grouping::by_row:
      return m;
    default:
      return desc.groups;
  }
}

int64_t GroupedProblem::rows_of_a() const {
  return has_k_ranges() ? desc.k : gathers() ? desc.a_count : desc.m;
}

int64_t GroupedProblem::rows_of_d() const {
  return scatters() ? desc.d_count : desc.m;
}

GemmScaleExtent GroupedProblem::a_scales(int64_t rows) const {
  return scale_extent_of_a(desc.a_scaling.kind, rows, desc.k);
}

GemmScaleExtent GroupedProblem::b_scales() const {
  return scale_extent_of_b(desc.b_scaling.kind, desc.k, desc.n);
}

Status grouped_problem(const GroupedDesc& desc, GroupedProblem* out) {
  *out = GroupedProblem{};
  out->desc = desc;
  GroupedDesc& d = out->desc;
  fill_types_and_groups(&d);
  TW_TRY(check_choices(d));
  TW_TRY(check_types(d));
  TW_TRY(check_extents(d));
  TW_TRY(check_grouping_fields(d));
  TW_TRY(check_k_ranges(d));
  TW_TRY(check_gate(d));
  TW_TRY(check_masked(&d));
  TW_TRY(check_indices(d));
  TW_TRY(check_inverse(d));
  fill_counts(&d);
  out->in_bytes = dtype_bytes(d.a_dtype);
  out->out_bytes = dtype_bytes(d.d_dtype);
  out->group_index_bytes = dtype_bytes(d.index_dtype);
  out->row_index_bytes = dtype_bytes(d.row_index_dtype);
  out->d_columns = d.gate == Gate::none ? d.n : d.n / 2;
  TW_TRY(check_operand_pitches(out));
  TW_TRY(check_scaling(out));
  TW_TRY(check_workspace_span(*out));
  return check_alignments(*out);
}

}  // namespace tw
