// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/copies.hpp"
#include "plan_handle.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

tw_copies_args default_args() {
  tw_copies_args args{};
  args.count = -1;
  return args;
}

CopiesDesc convert(const tw_copies_desc& from) {
  CopiesDesc to;
  to.dtype = static_cast<DType>(from.dtype);
  to.rank = from.rank;
  to.src_alignment = from.src_alignment;
  to.dst_alignment = from.dst_alignment;
  to.max_sms = from.max_sms;
  to.count = from.count;
  std::copy(std::begin(from.shape), std::end(from.shape), to.shape);
  std::copy(std::begin(from.src_stride), std::end(from.src_stride), to.src_stride);
  std::copy(std::begin(from.dst_stride), std::end(from.dst_stride), to.dst_stride);
  return to;
}

}  // namespace

tw_status tw_copies_desc_init(tw_copies_desc* desc) {
  return guard([&] { return init_struct(desc, "desc", tw_copies_desc{}); });
}

tw_status tw_copies_args_init(tw_copies_args* args) {
  return guard([&] { return init_struct(args, "args", default_args()); });
}

tw_status tw_copies_plan(tw_device* device, const tw_copies_desc* desc, tw_plan** plan) {
  return guard([&]() -> Status {
    TW_TRY(output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    tw_copies_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    return make_plan<CopiesPlan>(device, convert(ours), plan);
  });
}

tw_status tw_copies_run(tw_plan* plan, tw_stream* stream, const tw_copies_args* args) {
  return guard([&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::copies));
    tw_copies_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    TW_TRY(check_reserved("args", "reserved", ours.reserved));
    const CopiesRun run{
        .src_list = ours.src, .dst_list = ours.dst, .count = ours.count, .skipped = ours.skipped};
    return static_cast<const CopiesPlan&>(*plan->value).run(*stream->value, run);
  });
}
