// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "capi/plan/plan_handle.hpp"
#include "ops/prefetch/prefetch.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

tw_prefetch_desc default_desc() {
  tw_prefetch_desc desc{};
  desc.rows = desc.columns = TW_UNSET;
  unset(desc.shape);
  unset(desc.stride);
  return desc;
}

PrefetchDesc convert(const tw_prefetch_desc& from) {
  PrefetchDesc to;
  to.dtype = static_cast<DType>(from.dtype);
  if (from.rank == 0) {
    to.rows = from.rows;
    to.columns = from.columns;
    to.pitch = from.pitch;
  }
  to.alignment = from.alignment;
  to.max_sms = from.max_sms;
  to.cache = static_cast<CachePriority>(from.cache);
  to.budget = from.budget;
  to.rank = from.rank;
  const int32_t rank = std::clamp(from.rank, 0, TW_MAX_RANK + 0);
  std::copy_n(from.shape, rank, to.shape);
  std::copy_n(from.stride, rank, to.stride);
  return to;
}

// The operand is described either by rows, columns and pitch (rank 0) or by shape and stride.
Status read_desc(const tw_prefetch_desc* desc, PrefetchDesc* out) {
  tw_prefetch_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_reserved("desc", "reserved", ours.reserved));
  TW_TRY(check_dimensions("shape", ours.shape, ours.rank));
  TW_TRY(check_dimensions("stride", ours.stride, ours.rank));
  if (ours.rank == 0) {
    TW_TRY(check_set("rows", ours.rows));
    TW_TRY(check_set("columns", ours.columns));
    for (int32_t i = 0; i < TW_MAX_RANK; ++i) {
      constexpr const char* kWhy = "rank is 0, so rows and columns describe the operand";
      TW_TRY(check_excluded(ours.shape[i] == TW_UNSET, "shape", ours.shape[i], kWhy, i));
      TW_TRY(check_excluded(ours.stride[i] == TW_UNSET, "stride", ours.stride[i], kWhy, i));
    }
  } else if (ours.rank >= 1 && ours.rank <= TW_MAX_RANK) {
    constexpr const char* kWhy = "rank is above 0, so shape and stride describe the operand";
    TW_TRY(check_excluded(ours.rows == TW_UNSET, "rows", ours.rows, kWhy));
    TW_TRY(check_excluded(ours.columns == TW_UNSET, "columns", ours.columns, kWhy));
    TW_TRY(check_excluded(ours.pitch == 0, "pitch", ours.pitch, kWhy));
  }
  *out = convert(ours);
  return {};
}

}  // namespace

tw_status tw_prefetch_desc_init(tw_prefetch_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_prefetch_args_init(tw_prefetch_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args"); });
}

tw_status tw_prefetch_plan(tw_device* device, const tw_prefetch_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    PrefetchDesc ours;
    TW_TRY(read_desc(desc, &ours));
    return make_plan<PrefetchPlan>(device, ours, plan);
  });
}

tw_status tw_prefetch_supported(tw_device* device, const tw_prefetch_desc* desc) {
  return supported<PrefetchPlan, PrefetchDesc>(device, Op::prefetch, desc, read_desc);
}

tw_status tw_prefetch_run(tw_plan* plan, tw_stream* stream, const tw_prefetch_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::prefetch));
    tw_prefetch_args ours{};
    TW_TRY(read_struct(args, "args", &ours));
    return static_cast<const PrefetchPlan&>(*plan->value).run(*stream->value, ours.src);
  });
}
