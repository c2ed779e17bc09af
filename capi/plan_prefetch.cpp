// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/prefetch.hpp"
#include "plan_handle.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

tw_prefetch_desc default_desc() {
  tw_prefetch_desc desc{};
  desc.rows = 1;
  return desc;
}

PrefetchDesc convert(const tw_prefetch_desc& from) {
  PrefetchDesc to;
  to.dtype = static_cast<DType>(from.dtype);
  to.rows = from.rows;
  to.columns = from.columns;
  to.pitch = from.pitch;
  to.alignment = from.alignment;
  to.max_sms = from.max_sms;
  to.cache = static_cast<CachePriority>(from.cache);
  to.budget = from.budget;
  to.rank = from.rank;
  std::copy(std::begin(from.shape), std::end(from.shape), to.shape);
  std::copy(std::begin(from.stride), std::end(from.stride), to.stride);
  return to;
}

}  // namespace

tw_status tw_prefetch_desc_init(tw_prefetch_desc* desc) {
  return guard([&] { return init_struct(desc, "desc", default_desc()); });
}

tw_status tw_prefetch_args_init(tw_prefetch_args* args) {
  return guard([&] { return init_struct(args, "args", tw_prefetch_args{}); });
}

tw_status tw_prefetch_plan(tw_device* device, const tw_prefetch_desc* desc, tw_plan** plan) {
  return guard([&]() -> Status {
    TW_TRY(output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    tw_prefetch_desc ours = default_desc();
    TW_TRY(read_struct(desc, "desc", &ours));
    return make_plan<PrefetchPlan>(device, convert(ours), plan);
  });
}

tw_status tw_prefetch_run(tw_plan* plan, tw_stream* stream, const tw_prefetch_args* args) {
  return guard([&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::prefetch));
    tw_prefetch_args ours{};
    TW_TRY(read_struct(args, "args", &ours));
    TW_TRY(check_reserved("args", "reserved", ours.reserved));
    return static_cast<const PrefetchPlan&>(*plan->value).run(*stream->value, ours.src);
  });
}
