// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "capi/plan/plan_handle.hpp"
#include "ops/copy/copy.hpp"

using namespace tw;
using namespace tw::capi;

static_assert(TW_MAX_RANK == kMaxCopyRank);

namespace {

tw_copy_desc default_desc() {
  tw_copy_desc desc{};
  unset(desc.shape);
  unset(desc.src_stride);
  unset(desc.dst_stride);
  return desc;
}

// Refuses a window in dimensions beyond the rank, and a fill value without a window.
Status check_window(const tw_copy_desc& desc) {
  bool window = false;
  for (int32_t i = 0; i < TW_MAX_RANK; ++i) {
    window = window || desc.src_shape[i] != 0;
    if (i < desc.rank || desc.rank < 0) continue;
    if (desc.src_shape[i] == 0 && desc.src_start[i] == 0) continue;
    const std::string why = "rank is " + std::to_string(desc.rank);
    TW_TRY(check_excluded(desc.src_shape[i] == 0, "src_shape", desc.src_shape[i], why.c_str(), i));
    TW_TRY(check_excluded(desc.src_start[i] == 0, "src_start", desc.src_start[i], why.c_str(), i));
  }
  return check_excluded(window || desc.fill == TW_OOB_FILL_ZERO, "fill", desc.fill,
                        "no src_shape is set, so no element is outside the source");
}

CopyDesc convert(const tw_copy_desc& from) {
  CopyDesc to;
  to.dtype = static_cast<DType>(from.dtype);
  to.rank = from.rank;
  to.src_alignment = from.src_alignment;
  to.dst_alignment = from.dst_alignment;
  to.max_sms = from.max_sms;
  to.src_cache = static_cast<CachePriority>(from.src_cache);
  to.dst_cache = static_cast<CachePriority>(from.dst_cache);
  to.padding_writable = (from.flags & TW_COPY_PADDING_WRITABLE) != 0;
  to.fill = static_cast<OobFill>(from.fill);
  for (int i = 0; i < from.rank && i < kMaxCopyRank; ++i) {
    to.shape[i] = from.shape[i];
    to.src_stride[i] = from.src_stride[i];
    to.dst_stride[i] = from.dst_stride[i];
    to.src_shape[i] = from.src_shape[i];
    to.src_start[i] = from.src_start[i];
  }
  return to;
}

Status read_desc(const tw_copy_desc* desc, CopyDesc* out) {
  tw_copy_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_reserved("desc", "reserved", ours.reserved));
  TW_TRY(
      check_flags("flags", ours.flags, TW_COPY_PADDING_WRITABLE, "TW_COPY_PADDING_WRITABLE (1)"));
  TW_TRY(check_dimensions("shape", ours.shape, ours.rank));
  TW_TRY(check_dimensions("src_stride", ours.src_stride, ours.rank));
  TW_TRY(check_dimensions("dst_stride", ours.dst_stride, ours.rank));
  TW_TRY(check_window(ours));
  *out = convert(ours);
  return {};
}

}  // namespace

tw_status tw_copy_desc_init(tw_copy_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_copy_args_init(tw_copy_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args"); });
}

tw_status tw_copy_plan(tw_device* device, const tw_copy_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    CopyDesc ours;
    TW_TRY(read_desc(desc, &ours));
    return make_plan<CopyPlan>(device, ours, plan);
  });
}

tw_status tw_copy_supported(tw_device* device, const tw_copy_desc* desc) {
  return supported<CopyPlan, CopyDesc>(device, Op::copy, desc, read_desc);
}

tw_status tw_copy_run(tw_plan* plan, tw_stream* stream, const tw_copy_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::copy));
    tw_copy_args ours{};
    TW_TRY(read_struct(args, "args", &ours));
    return static_cast<const CopyPlan&>(*plan->value).run(*stream->value, ours.src, ours.dst);
  });
}
