// SPDX-License-Identifier: Apache-2.0
#include "capi/plan/plan_handle.hpp"
#include "ops/quantize/quantize.hpp"

using namespace tw;
using namespace tw::capi;

static_assert(TW_SCALE_NONE == static_cast<int32_t>(ScaleKind::none) &&
              TW_SCALE_TENSOR == static_cast<int32_t>(ScaleKind::tensor) &&
              TW_SCALE_ROW == static_cast<int32_t>(ScaleKind::row) &&
              TW_SCALE_1X128 == static_cast<int32_t>(ScaleKind::row128) &&
              TW_SCALE_128X128 == static_cast<int32_t>(ScaleKind::block128) &&
              TW_SCALE_K32_UE8M0 == static_cast<int32_t>(ScaleKind::row32_ue8m0) &&
              TW_SCALE_K16_UE4M3 == static_cast<int32_t>(ScaleKind::row16_ue4m3) &&
              TW_ROW_MAJOR == static_cast<int32_t>(ScaleOrder::row) &&
              TW_COLUMN_MAJOR == static_cast<int32_t>(ScaleOrder::column) &&
              TW_QUANTIZE_POWERS_OF_TWO == kQuantizeDescPowersOfTwo &&
              TW_QUANTIZE_GIVEN_SCALE == kQuantizeDescGivenScale);

namespace {

tw_quantize_desc default_desc() {
  tw_quantize_desc desc{};
  desc.rows = desc.columns = TW_UNSET;
  return desc;
}

tw_quantize_args default_args() {
  tw_quantize_args args{};
  args.rows = -1;
  return args;
}

QuantizeDesc convert(const tw_quantize_desc& from) {
  QuantizeDesc to;
  to.src_dtype = static_cast<DType>(from.src_dtype);
  to.dst_dtype = static_cast<DType>(from.dst_dtype);
  to.scale = static_cast<ScaleKind>(from.scale);
  to.scale_order = static_cast<ScaleOrder>(from.scale_order);
  to.flags = from.flags;
  to.max_sms = from.max_sms;
  to.src_cache = static_cast<CachePriority>(from.src_cache);
  to.dst_cache = static_cast<CachePriority>(from.dst_cache);
  to.rows = from.rows;
  to.columns = from.columns;
  to.src_pitch = from.src_pitch;
  to.dst_pitch = from.dst_pitch;
  to.scale_ld = from.scale_ld;
  return to;
}

Status read_desc(const tw_quantize_desc* desc, QuantizeDesc* out) {
  tw_quantize_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_set("rows", ours.rows));
  TW_TRY(check_set("columns", ours.columns));
  *out = convert(ours);
  return {};
}

}  // namespace

tw_status tw_quantize_desc_init(tw_quantize_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_quantize_args_init(tw_quantize_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args", default_args()); });
}

tw_status tw_quantize_plan(tw_device* device, const tw_quantize_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    QuantizeDesc ours;
    TW_TRY(read_desc(desc, &ours));
    return make_plan<QuantizePlan>(device, ours, plan);
  });
}

tw_status tw_quantize_supported(tw_device* device, const tw_quantize_desc* desc) {
  return supported<QuantizePlan, QuantizeDesc>(device, Op::quantize, desc, read_desc);
}

tw_status tw_quantize_run(tw_plan* plan, tw_stream* stream, const tw_quantize_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::quantize));
    tw_quantize_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    const QuantizeRun run{.rows = ours.rows,
                          .src = ours.src,
                          .dst = ours.dst,
                          .scale = ours.scale,
                          .amax = ours.amax,
                          .workspace = ours.workspace,
                          .workspace_bytes = ours.workspace_bytes};
    return static_cast<const QuantizePlan&>(*plan->value).run(*stream->value, run);
  });
}
