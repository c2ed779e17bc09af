// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "capi/plan/plan_gemm.hpp"
#include "ops/grouped/grouped.hpp"

using namespace tw;
using namespace tw::capi;

static_assert(TW_GROUPING_ONE == static_cast<int32_t>(Grouping::one) &&
              TW_GROUPING_ENDS == static_cast<int32_t>(Grouping::ends) &&
              TW_GROUPING_OFFSETS == static_cast<int32_t>(Grouping::offsets) &&
              TW_GROUPING_PSUM == static_cast<int32_t>(Grouping::psum) &&
              TW_GROUPING_ROW_GROUPS == static_cast<int32_t>(Grouping::by_row) &&
              TW_GROUPING_MASKED == static_cast<int32_t>(Grouping::masked) &&
              TW_GROUPING_K_RANGES == static_cast<int32_t>(Grouping::k_ranges) &&
              TW_GROUPING_BLOCKS == static_cast<int32_t>(Grouping::blocks));
static_assert(TW_GROUPED_COMBINE_STORE == static_cast<int32_t>(Combine::store) &&
              TW_GROUPED_COMBINE_SUM == static_cast<int32_t>(Combine::sum) &&
              TW_GROUPED_COMBINE_ADD_ATOMIC == static_cast<int32_t>(Combine::add_atomic) &&
              TW_GROUPED_COMBINE_ADD == static_cast<int32_t>(Combine::add));
static_assert(TW_GROUPED_GATHER == kGroupedDescGather &&
              TW_GROUPED_SCATTER == kGroupedDescScatter &&
              TW_GROUPED_BATCH_INVARIANT == kGroupedDescInvariant &&
              TW_GROUPED_PROGRAMMATIC == kGroupedDescProgrammatic &&
              TW_GROUPED_ROW_WEIGHT_BY_INDEX == kGroupedDescRowWeightByIndex &&
              TW_GROUPED_ZERO_OTHER_ROWS == kGroupedDescZeroOthers &&
              TW_GROUPED_INVERSE == kGroupedDescInverse &&
              TW_GROUPED_FAST_ACCUMULATE == kGroupedDescFast);

namespace {

tw_grouped_desc default_desc() {
  tw_grouped_desc desc{};
  desc.a_dtype = TW_DTYPE_BF16;
  desc.index_dtype = desc.row_index_dtype = TW_DTYPE_I32;
  desc.grouping = TW_GROUPING_ENDS;
  desc.gate_slope = 1.0f;
  desc.m = desc.n = desc.k = desc.group_count = TW_UNSET;
  return desc;
}

tw_grouped_args default_args() {
  tw_grouped_args args{};
  args.alpha = 1.0f;
  args.m = args.k = args.a_count = args.d_count = -1;
  return args;
}

GemmScaling scaling(tw_scale_kind kind, tw_order order, int64_t leading) {
  return {
      .kind = static_cast<ScaleKind>(kind), .order = static_cast<Order>(order), .leading = leading};
}

GroupedDesc convert_options(const tw_grouped_desc& from) {
  GroupedDesc to;
  to.a_dtype = static_cast<DType>(from.a_dtype);
  to.b_dtype = static_cast<DType>(from.b_dtype);
  to.d_dtype = static_cast<DType>(from.d_dtype);
  to.bias_dtype = static_cast<DType>(from.bias_dtype);
  to.index_dtype = static_cast<DType>(from.index_dtype);
  to.row_index_dtype = static_cast<DType>(from.row_index_dtype);
  to.b_order = static_cast<Order>(from.b_order);
  to.grouping = static_cast<Grouping>(from.grouping);
  to.combine = static_cast<Combine>(from.combine);
  to.activation = static_cast<Activation>(from.activation);
  to.gate = static_cast<Gate>(from.gate);
  to.gate_limit = from.gate_limit;
  to.gate_offset = from.gate_offset;
  to.gate_slope = from.gate_slope;
  to.flags = from.flags;
  to.a_alignment = from.a_alignment;
  to.b_alignment = from.b_alignment;
  to.d_alignment = from.d_alignment;
  to.max_sms = from.max_sms;
  return to;
}

GroupedDesc convert(const tw_grouped_desc& from) {
  GroupedDesc to = convert_options(from);
  to.m = from.m;
  to.n = from.n;
  to.k = from.k;
  // TW_UNSET, which only TW_GROUPING_ONE allows, becomes -1.
  to.groups = from.group_count == TW_UNSET ? -1 : from.group_count;
  to.weight_count = from.weight_count;
  to.lda = from.lda;
  to.ldb = from.ldb;
  to.ldd = from.ldd;
  to.b_stride = from.b_stride;
  to.d_stride = from.d_stride;
  to.bias_stride = from.bias_stride;
  to.group_rows = from.group_rows;
  to.row_alignment = from.row_alignment;
  to.a_count = from.a_count;
  to.d_count = from.d_count;
  to.a_divisor = from.a_divisor;
  to.d_divisor = from.d_divisor;
  to.expected_rows = from.expected_rows;
  to.a_scaling = scaling(from.a_scale, from.a_scale_order, from.a_scale_ld);
  to.b_scaling = scaling(from.b_scale, from.b_scale_order, from.b_scale_ld);
  to.a_scale_stride = from.a_scale_stride;
  to.b_scale_stride = from.b_scale_stride;
  return to;
}

Status read_desc(const tw_grouped_desc* desc, GroupedDesc* out) {
  tw_grouped_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_reserved("desc", "reserved", ours.reserved));
  TW_TRY(check_set("m", ours.m));
  TW_TRY(check_set("n", ours.n));
  TW_TRY(check_set("k", ours.k));
  if (ours.grouping != TW_GROUPING_ONE) TW_TRY(check_set("group_count", ours.group_count));
  *out = convert(ours);
  return {};
}

tw_gemm_candidate convert(const GroupedCandidate& from, int64_t m) {
  tw_gemm_candidate to{};
  to.split = 1;
  to.kernel = from.entry->symbol;
  to.m_last = m;
  to.microseconds = from.nanoseconds / 1e3;
  to.waves = from.waves;
  std::snprintf(to.text, sizeof to.text, "%s", from.entry->symbol);
  return to;
}

}  // namespace

tw_status tw_grouped_desc_init(tw_grouped_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_grouped_args_init(tw_grouped_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args", default_args()); });
}

tw_status tw_grouped_plan(tw_device* device, const tw_grouped_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    GroupedDesc ours;
    TW_TRY(read_desc(desc, &ours));
    return make_plan<GroupedPlan>(device, ours, plan);
  });
}

tw_status tw_grouped_supported(tw_device* device, const tw_grouped_desc* desc) {
  return supported<GroupedPlan, GroupedDesc>(device, Op::grouped, desc, read_desc);
}

tw_status tw_grouped_candidates(tw_device* device, const tw_grouped_desc* desc,
                                tw_gemm_candidate* candidates, int32_t capacity, int32_t* count) {
  return guard(device, [&]() -> Status {
    if (count) *count = 0;
    TW_TRY(usable(device, "device"));
    GroupedDesc ours;
    TW_TRY(read_desc(desc, &ours));
    TW_TRY(check_capacity(candidates, capacity));
    std::vector<GroupedCandidate> found;
    TW_TRY(grouped_candidates_of(*device->value, ours, &found));
    std::vector<tw_gemm_candidate> values;
    for (const GroupedCandidate& candidate : found) values.push_back(convert(candidate, ours.m));
    TW_TRY(write_candidates(values, candidates, capacity));
    if (count) *count = static_cast<int32_t>(values.size());
    return {};
  });
}

tw_status tw_grouped_plan_candidate(tw_device* device, const tw_grouped_desc* desc,
                                    const char* candidate, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    GroupedDesc ours;
    TW_TRY(read_desc(desc, &ours));
    TW_TRY(require(candidate, "candidate"));
    if (*candidate == 0)
      return fail(Code::ERROR_PARSE, {.argument = "candidate", .rule = "candidate_text"},
                  "candidate is empty: take the text of one of tw_grouped_candidates()");
    ours.candidate = candidate;
    return make_plan<GroupedPlan>(device, ours, plan);
  });
}

tw_status tw_grouped_run(tw_plan* plan, tw_stream* stream, const tw_grouped_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::grouped));
    tw_grouped_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    const GroupedRun run{.alpha = ours.alpha,
                         .beta = ours.beta,
                         .m = ours.m,
                         .k = ours.k,
                         .a_count = ours.a_count,
                         .d_count = ours.d_count,
                         .a = ours.a,
                         .b = ours.b,
                         .d = ours.d,
                         .bias = ours.bias,
                         .groups = ours.groups,
                         .group_map = ours.group_map,
                         .group_alpha = ours.group_alpha,
                         .a_rows = ours.a_rows,
                         .d_rows = ours.d_rows,
                         .row_weights = ours.row_weights,
                         .inverse = ours.inverse,
                         .invalid_count = ours.invalid_count,
                         .workspace = ours.workspace,
                         .workspace_bytes = ours.workspace_bytes,
                         .a_scale = ours.a_scale,
                         .b_scale = ours.b_scale};
    return static_cast<const GroupedPlan&>(*plan->value).run(*stream->value, run);
  });
}
