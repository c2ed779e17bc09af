// SPDX-License-Identifier: Apache-2.0
#include "ops/route/route_problem.hpp"

#include <cinttypes>
#include <cmath>
#include <utility>

#include "base/checked.hpp"
#include "kernels/route/route.h"
#include "ops/common/fields.hpp"
#include "ops/common/strided_span.hpp"

namespace tw {
namespace {

Status wrong(Code code, const char* argument, const char* rule, int64_t got, int64_t limit,
             const char* text) {
  return fail(code, {.argument = argument, .rule = rule, .got = got, .limit = limit},
              "%s is %" PRId64 ": %s %" PRId64, argument, got, text, limit);
}

constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;
constexpr Code kUnsupported = Code::ERROR_UNSUPPORTED;

Status check_logits(const RouteDesc& d) {
  TW_TRY(check_dtype("dtype", "route_dtype", d.dtype));
  if (d.dtype == DType::F32 || d.dtype == DType::BF16 || d.dtype == DType::F16) return {};
  return fail(kUnsupported,
              {.argument = "dtype", .rule = "route_dtype", .got = static_cast<int64_t>(d.dtype)},
              "dtype is %s: logits are f32, bf16 or f16", dtype_name(d.dtype));
}

Status check_types_and_options(const RouteDesc& d) {
  constexpr uint32_t kFlags = kRouteDescRenormalize | kRouteDescGivenIds;
  if ((d.flags & ~kFlags) != 0)
    return fail(kInvalid,
                {.argument = "flags", .rule = "route_flags", .got = d.flags, .limit = kFlags},
                "flags is 0x%x: it has bits that are not TW_ROUTE_ flags", d.flags);
  if ((d.flags & kRouteDescGivenIds) == 0) TW_TRY(check_logits(d));
  TW_TRY(check_index_dtype("id_dtype", "route_id_dtype", "ids", d.id_dtype));
  TW_TRY(check_index_dtype("offset_dtype", "route_offset_dtype", "offsets", d.offset_dtype));
  const auto score = static_cast<int64_t>(d.score);
  if (score < 0 || score > kRouteSoftmaxChosen)
    return wrong(kInvalid, "score", "route_score", score, kRouteSoftmaxChosen,
                 "TW_ROUTE_ scores are 0 to");
  const auto group_score = static_cast<int64_t>(d.group_score);
  if (group_score < 0 || group_score > 1)
    return wrong(kInvalid, "group_score", "route_group_score", group_score, 1,
                 "TW_ROUTE_GROUP_ scores are 0 and");
  if (!std::isfinite(d.scale))
    return fail(kInvalid, {.argument = "scale", .rule = "route_scale"},
                "scale is %s: it must be a finite number",
                std::isnan(d.scale) ? "NaN" : "infinite");
  return {};
}

Status check_extents(const RouteDesc& d) {
  const std::pair<const char*, int64_t> numbers[] = {{"tokens", d.tokens},
                                                     {"local_experts", d.local_experts},
                                                     {"groups", d.groups},
                                                     {"top_groups", d.top_groups},
                                                     {"logits_pitch", d.logits_pitch}};
  for (const auto& [argument, number] : numbers)
    if (number < 0)
      return wrong(kInvalid, argument, "route_not_negative", number, 0, "it must be at least");
  if (d.experts < 1)
    return wrong(kInvalid, "experts", "route_experts", d.experts, 1, "it must be at least");
  if (d.experts > kRouteMaxExperts)
    return wrong(kUnsupported, "experts", "route_experts", d.experts, kRouteMaxExperts,
                 "it must be at most");
  if (d.top_k < 1)
    return wrong(kInvalid, "top_k", "route_top_k", d.top_k, 1, "it must be at least");
  if (d.top_k > kRouteMaxTopK)
    return wrong(kUnsupported, "top_k", "route_top_k", d.top_k, kRouteMaxTopK,
                 "it must be at most");
  if (d.tokens > INT32_MAX / d.top_k)
    return wrong(Code::ERROR_OVERFLOW, "tokens", "route_pairs", d.tokens, INT32_MAX / d.top_k,
                 "tokens times top_k must be below 2^31, so it must be at most");
  if (d.local_experts > d.experts)
    return wrong(kInvalid, "local_experts", "route_local_experts", d.local_experts, d.experts,
                 "it must be at most the number of experts,");
  return {};
}

Status check_groups(const RouteDesc& d) {
  if (d.groups > kRouteMaxGroups)
    return wrong(kUnsupported, "groups", "route_groups", d.groups, kRouteMaxGroups,
                 "it must be at most");
  if (d.experts % d.groups != 0)
    return wrong(kInvalid, "groups", "route_groups", d.groups, d.experts,
                 "it must divide the number of experts,");
  if (d.top_groups > d.groups)
    return wrong(kInvalid, "top_groups", "route_top_groups", d.top_groups, d.groups,
                 "it must be at most the number of groups,");
  const int64_t limit = d.top_groups * (d.experts / d.groups);
  if ((d.flags & kRouteDescGivenIds) == 0 && d.top_k > limit)
    return wrong(kInvalid, "top_k", "route_top_k", d.top_k, limit,
                 "it must be at most the number of experts that can be chosen,");
  return {};
}

Status check_pitch(const RouteDesc& d, int64_t element_bytes, int64_t* pitch) {
  if (d.logits_pitch < d.experts)
    return wrong(kInvalid, "logits_pitch", "route_pitch", d.logits_pitch, d.experts,
                 "it must be at least the number of experts,");
  const int64_t limit = kMaxSpan / element_bytes;
  int64_t span = 0;
  if (d.logits_pitch > limit || !checked_mul(d.tokens, d.logits_pitch, &span) || span > limit)
    return wrong(Code::ERROR_OVERFLOW, "logits_pitch", "route_span", d.logits_pitch, limit,
                 "logits_pitch times tokens must be at most");
  *pitch = d.logits_pitch * element_bytes;
  return {};
}

}  // namespace

Status route_problem(const RouteDesc& desc, RouteProblem* out) {
  TW_TRY(check_types_and_options(desc));
  TW_TRY(check_extents(desc));
  *out = RouteProblem{};
  out->desc = desc;
  RouteDesc& d = out->desc;
  if (d.local_experts == 0) d.local_experts = d.experts;
  if (d.groups == 0) d.groups = 1;
  if (d.top_groups == 0) d.top_groups = d.groups;
  if (d.logits_pitch == 0) d.logits_pitch = d.experts;
  TW_TRY(check_groups(d));
  out->element_bytes = out->given() ? 4 : dtype_bytes(d.dtype);
  out->id_bytes = dtype_bytes(d.id_dtype);
  out->offset_bytes = dtype_bytes(d.offset_dtype);
  return check_pitch(d, out->element_bytes, &out->pitch);
}

}  // namespace tw
