// SPDX-License-Identifier: Apache-2.0
#include "ops/copy.hpp"
#include "plan_handle.hpp"

using namespace tw;
using namespace tw::capi;

static_assert(TW_MAX_RANK == kMaxCopyRank);

namespace {

CopyDesc convert(const tw_copy_desc& from) {
  CopyDesc to;
  to.dtype = static_cast<DType>(from.dtype);
  to.rank = from.rank;
  to.src_alignment = from.src_alignment;
  to.dst_alignment = from.dst_alignment;
  to.max_sms = from.max_sms;
  to.src_cache = static_cast<CachePriority>(from.src_cache);
  to.dst_cache = static_cast<CachePriority>(from.dst_cache);
  to.padding_free = from.padding_free != 0;
  to.fill = static_cast<OobFill>(from.fill);
  for (int i = 0; i < kMaxCopyRank; ++i) {
    to.shape[i] = from.shape[i];
    to.src_stride[i] = from.src_stride[i];
    to.dst_stride[i] = from.dst_stride[i];
    to.src_shape[i] = from.src_shape[i];
    to.src_start[i] = from.src_start[i];
  }
  return to;
}

}  // namespace

tw_status tw_copy_desc_init(tw_copy_desc* desc) {
  return guard([&] { return init_struct(desc, "desc", tw_copy_desc{}); });
}

tw_status tw_copy_args_init(tw_copy_args* args) {
  return guard([&] { return init_struct(args, "args", tw_copy_args{}); });
}

tw_status tw_copy_plan(tw_device* device, const tw_copy_desc* desc, tw_plan** plan) {
  return guard([&]() -> Status {
    TW_TRY(output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    tw_copy_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(check_reserved("desc", "reserved", ours.reserved));
    TW_TRY(check_reserved("desc", "reserved2", ours.reserved2));
    TW_TRY(check_flag("padding_free", ours.padding_free));
    return make_plan<CopyPlan>(device, convert(ours), plan);
  });
}

tw_status tw_copy_run(tw_plan* plan, tw_stream* stream, const tw_copy_args* args) {
  return guard([&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::copy));
    tw_copy_args ours{};
    TW_TRY(read_struct(args, "args", &ours));
    TW_TRY(check_reserved("args", "reserved", ours.reserved));
    return static_cast<const CopyPlan&>(*plan->value).run(*stream->value, ours.src, ours.dst);
  });
}
