// SPDX-License-Identifier: Apache-2.0
#include "capi/plan/plan_handle.hpp"
#include "ops/route/route.hpp"

using namespace tw;
using namespace tw::capi;

static_assert(TW_ROUTE_SOFTMAX == static_cast<int32_t>(RouteScore::softmax) &&
              TW_ROUTE_SIGMOID == static_cast<int32_t>(RouteScore::sigmoid) &&
              TW_ROUTE_SOFTMAX_CHOSEN == static_cast<int32_t>(RouteScore::softmax_chosen) &&
              TW_ROUTE_GROUP_BEST == static_cast<int32_t>(RouteGroupScore::best) &&
              TW_ROUTE_GROUP_TOP2 == static_cast<int32_t>(RouteGroupScore::top2) &&
              TW_ROUTE_RENORMALIZE == kRouteDescRenormalize &&
              TW_ROUTE_GIVEN_IDS == kRouteDescGivenIds);

namespace {

tw_route_desc default_desc() {
  tw_route_desc desc{};
  desc.id_dtype = TW_DTYPE_I32;
  desc.offset_dtype = TW_DTYPE_I32;
  desc.scale = 1.0f;
  desc.tokens = desc.experts = desc.top_k = TW_UNSET;
  return desc;
}

tw_route_args default_args() {
  tw_route_args args{};
  args.tokens = -1;
  return args;
}

RouteDesc convert(const tw_route_desc& from) {
  RouteDesc to;
  to.dtype = static_cast<DType>(from.dtype);
  to.id_dtype = static_cast<DType>(from.id_dtype);
  to.offset_dtype = static_cast<DType>(from.offset_dtype);
  to.score = static_cast<RouteScore>(from.score);
  to.group_score = static_cast<RouteGroupScore>(from.group_score);
  to.flags = from.flags;
  to.scale = from.scale;
  to.max_sms = from.max_sms;
  to.tokens = from.tokens;
  to.experts = from.experts;
  to.top_k = from.top_k;
  to.local_experts = from.local_experts;
  to.groups = from.groups;
  to.top_groups = from.top_groups;
  to.logits_pitch = from.logits_pitch;
  return to;
}

// If the caller gives the experts, refuses the fields that say how to choose them; otherwise
// refuses the field that describes given experts.
Status check_given_ids(const tw_route_desc& d) {
  if ((d.flags & TW_ROUTE_GIVEN_IDS) == 0)
    return check_excluded(d.id_dtype == TW_DTYPE_I32, "id_dtype", d.id_dtype,
                          "flags have no TW_ROUTE_GIVEN_IDS");
  constexpr const char* kReason = "flags have TW_ROUTE_GIVEN_IDS";
  TW_TRY(check_excluded(d.dtype == 0, "dtype", d.dtype, kReason));
  TW_TRY(check_excluded(d.score == TW_ROUTE_SOFTMAX, "score", d.score, kReason));
  TW_TRY(check_excluded(d.groups == 0, "groups", d.groups, kReason));
  return check_excluded(d.logits_pitch == 0, "logits_pitch", d.logits_pitch, kReason);
}

Status read_desc(const tw_route_desc* desc, RouteDesc* out) {
  tw_route_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_set("tokens", ours.tokens));
  TW_TRY(check_set("experts", ours.experts));
  TW_TRY(check_set("top_k", ours.top_k));
  TW_TRY(check_given_ids(ours));
  constexpr const char* kNoGroups = "groups is 0 or 1";
  TW_TRY(check_excluded(ours.groups != 0 || ours.top_groups == 0, "top_groups", ours.top_groups,
                        "groups is 0"));
  TW_TRY(check_excluded(ours.groups > 1 || ours.group_score == TW_ROUTE_GROUP_BEST, "group_score",
                        ours.group_score, kNoGroups));
  *out = convert(ours);
  return {};
}

}  // namespace

tw_status tw_route_desc_init(tw_route_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_route_args_init(tw_route_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args", default_args()); });
}

tw_status tw_route_plan(tw_device* device, const tw_route_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    RouteDesc ours;
    TW_TRY(read_desc(desc, &ours));
    return make_plan<RoutePlan>(device, ours, plan);
  });
}

tw_status tw_route_supported(tw_device* device, const tw_route_desc* desc) {
  return supported<RoutePlan, RouteDesc>(device, Op::route, desc, read_desc);
}

tw_status tw_route_run(tw_plan* plan, tw_stream* stream, const tw_route_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::route));
    tw_route_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    const RouteRun run{.tokens = ours.tokens,
                       .logits = ours.logits,
                       .bias = ours.bias,
                       .given_ids = ours.given_ids,
                       .given_weights = ours.given_weights,
                       .expert_map = ours.expert_map,
                       .ids = ours.ids,
                       .weights = ours.weights,
                       .counts = ours.counts,
                       .offsets = ours.offsets,
                       .order = ours.order,
                       .order_tokens = ours.order_tokens,
                       .inverse = ours.inverse,
                       .invalid_count = ours.invalid_count,
                       .workspace = ours.workspace,
                       .workspace_bytes = ours.workspace_bytes};
    return static_cast<const RoutePlan&>(*plan->value).run(*stream->value, run);
  });
}
