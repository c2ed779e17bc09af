// SPDX-License-Identifier: Apache-2.0
#include "capi/plan/plan_handle.hpp"
#include "ops/ragged/ragged.hpp"

using namespace tw;
using namespace tw::capi;

static_assert(TW_RAGGED_PAD == static_cast<int32_t>(RaggedDirection::pad) &&
              TW_RAGGED_UNPAD == static_cast<int32_t>(RaggedDirection::unpad));

namespace {

tw_ragged_desc default_desc() {
  tw_ragged_desc desc{};
  desc.offset_dtype = TW_DTYPE_I32;
  desc.batch = desc.tokens = desc.rows = desc.columns = TW_UNSET;
  return desc;
}

tw_ragged_args default_args() {
  tw_ragged_args args{};
  args.batch = -1;
  args.tokens = -1;
  return args;
}

RaggedDesc convert(const tw_ragged_desc& from) {
  RaggedDesc to;
  to.dtype = static_cast<DType>(from.dtype);
  to.offset_dtype = static_cast<DType>(from.offset_dtype);
  to.direction = static_cast<RaggedDirection>(from.direction);
  to.fill = static_cast<OobFill>(from.fill);
  to.batch = from.batch;
  to.tokens = from.tokens;
  to.rows = from.rows;
  to.columns = from.columns;
  to.packed_columns = from.packed_columns;
  to.packed_pitch = from.packed_pitch;
  to.padded_pitch = from.padded_pitch;
  to.padded_batch_pitch = from.padded_batch_pitch;
  to.packed_alignment = from.packed_alignment;
  to.padded_alignment = from.padded_alignment;
  to.max_sms = from.max_sms;
  return to;
}

Status read_desc(const tw_ragged_desc* desc, RaggedDesc* out) {
  tw_ragged_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_reserved("desc", "reserved", ours.reserved));
  TW_TRY(check_set("batch", ours.batch));
  TW_TRY(check_set("tokens", ours.tokens));
  TW_TRY(check_set("rows", ours.rows));
  TW_TRY(check_set("columns", ours.columns));
  TW_TRY(check_excluded(ours.direction != TW_RAGGED_UNPAD || ours.fill == TW_OOB_FILL_ZERO, "fill",
                        ours.fill, "direction is TW_RAGGED_UNPAD, which has no fill"));
  *out = convert(ours);
  return {};
}

}  // namespace

tw_status tw_ragged_desc_init(tw_ragged_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_ragged_args_init(tw_ragged_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args", default_args()); });
}

tw_status tw_ragged_plan(tw_device* device, const tw_ragged_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    RaggedDesc ours;
    TW_TRY(read_desc(desc, &ours));
    return make_plan<RaggedPlan>(device, ours, plan);
  });
}

tw_status tw_ragged_supported(tw_device* device, const tw_ragged_desc* desc) {
  return supported<RaggedPlan, RaggedDesc>(device, Op::ragged, desc, read_desc);
}

tw_status tw_ragged_run(tw_plan* plan, tw_stream* stream, const tw_ragged_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::ragged));
    tw_ragged_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    const RaggedRun run{.packed = ours.packed,
                        .offsets = ours.offsets,
                        .padded = ours.padded,
                        .batch = ours.batch,
                        .tokens = ours.tokens,
                        .row = ours.row,
                        .column = ours.column,
                        .invalid_count = ours.invalid_count};
    return static_cast<const RaggedPlan&>(*plan->value).run(*stream->value, run);
  });
}
