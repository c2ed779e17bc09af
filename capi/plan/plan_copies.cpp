// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "capi/plan/plan_handle.hpp"
#include "ops/copies/copies.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

tw_copies_desc default_desc() {
  tw_copies_desc desc{};
  unset(desc.shape);
  unset(desc.src_stride);
  unset(desc.dst_stride);
  desc.count = TW_UNSET;
  return desc;
}

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
  const int32_t rank = std::clamp(from.rank, 0, TW_MAX_RANK + 0);
  std::copy_n(from.shape, rank, to.shape);
  std::copy_n(from.src_stride, rank, to.src_stride);
  std::copy_n(from.dst_stride, rank, to.dst_stride);
  return to;
}

Status read_desc(const tw_copies_desc* desc, CopiesDesc* out) {
  tw_copies_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_reserved("desc", "reserved", ours.reserved));
  TW_TRY(check_dimensions("shape", ours.shape, ours.rank));
  TW_TRY(check_dimensions("src_stride", ours.src_stride, ours.rank));
  TW_TRY(check_dimensions("dst_stride", ours.dst_stride, ours.rank));
  TW_TRY(check_set("count", ours.count));
  *out = convert(ours);
  return {};
}

}  // namespace

tw_status tw_copies_desc_init(tw_copies_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_copies_args_init(tw_copies_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args", default_args()); });
}

tw_status tw_copies_plan(tw_device* device, const tw_copies_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    CopiesDesc ours;
    TW_TRY(read_desc(desc, &ours));
    return make_plan<CopiesPlan>(device, ours, plan);
  });
}

tw_status tw_copies_supported(tw_device* device, const tw_copies_desc* desc) {
  return supported<CopiesPlan, CopiesDesc>(device, Op::copies, desc, read_desc);
}

tw_status tw_copies_run(tw_plan* plan, tw_stream* stream, const tw_copies_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::copies));
    tw_copies_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    const CopiesRun run{.src_list = ours.src,
                        .dst_list = ours.dst,
                        .count = ours.count,
                        .invalid_count = ours.invalid_count};
    return static_cast<const CopiesPlan&>(*plan->value).run(*stream->value, run);
  });
}
