// SPDX-License-Identifier: Apache-2.0
// C API: gather and scatter, which share a description and a plan class.
#include "capi/plan/plan_handle.hpp"
#include "ops/rows/rows.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

tw_rows_desc default_desc() {
  tw_rows_desc desc{};
  desc.index_dtype = TW_DTYPE_I32;
  desc.group = 1;
  desc.table_rows = desc.columns = desc.count = TW_UNSET;
  return desc;
}

tw_rows_args default_args() {
  tw_rows_args args{};
  args.count = -1;
  return args;
}

RowsDesc convert(const tw_rows_desc& from) {
  RowsDesc to;
  to.dtype = static_cast<DType>(from.dtype);
  to.index_dtype = static_cast<DType>(from.index_dtype);
  to.table_alignment = from.table_alignment;
  to.packed_alignment = from.packed_alignment;
  to.max_sms = from.max_sms;
  to.table_rows = from.table_rows;
  to.table_pitch = from.table_pitch;
  to.column = from.column;
  to.columns = from.columns;
  to.count = from.count;
  to.packed_pitch = from.packed_pitch;
  to.packed_dtype = static_cast<DType>(from.packed_dtype);
  to.reduction = from.reduction;
  to.flags = from.flags;
  to.table_columns = from.table_columns;
  to.group = from.group;
  return to;
}

Status read_desc(const tw_rows_desc* desc, RowsDesc* out) {
  tw_rows_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_set("table_rows", ours.table_rows));
  TW_TRY(check_set("columns", ours.columns));
  TW_TRY(check_set("count", ours.count));
  *out = convert(ours);
  return {};
}

tw_status plan_rows(Op op, tw_device* device, const tw_rows_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    RowsDesc ours;
    TW_TRY(read_desc(desc, &ours));
    std::unique_ptr<Plan> made;
    TW_TRY(RowsPlan::create(device->value, op, ours, &made));
    return give_plan(std::move(made), plan);
  });
}

// `op` is an argument of supported() and of RowsPlan::create().
tw_status rows_supported(Op op, tw_device* device, const tw_rows_desc* desc) {
  return supported<RowsPlan, RowsDesc>(device, op, desc, read_desc, op);
}

tw_status run_rows(Op op, tw_plan* plan, tw_stream* stream, const tw_rows_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, op));
    tw_rows_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    const RowsRun run{.table = ours.table,
                      .index = ours.index,
                      .packed = ours.packed,
                      .count = ours.count,
                      .weights = ours.weights,
                      .device_count = ours.device_count,
                      .invalid_count = ours.invalid_count,
                      .workspace = ours.workspace,
                      .workspace_bytes = ours.workspace_bytes};
    return static_cast<const RowsPlan&>(*plan->value).run(*stream->value, run);
  });
}

}  // namespace

tw_status tw_rows_desc_init(tw_rows_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_rows_args_init(tw_rows_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args", default_args()); });
}

tw_status tw_gather_plan(tw_device* device, const tw_rows_desc* desc, tw_plan** plan) {
  return plan_rows(Op::gather, device, desc, plan);
}

tw_status tw_gather_supported(tw_device* device, const tw_rows_desc* desc) {
  return rows_supported(Op::gather, device, desc);
}

tw_status tw_gather_run(tw_plan* plan, tw_stream* stream, const tw_rows_args* args) {
  return run_rows(Op::gather, plan, stream, args);
}

tw_status tw_scatter_plan(tw_device* device, const tw_rows_desc* desc, tw_plan** plan) {
  return plan_rows(Op::scatter, device, desc, plan);
}

tw_status tw_scatter_supported(tw_device* device, const tw_rows_desc* desc) {
  return rows_supported(Op::scatter, device, desc);
}

tw_status tw_scatter_run(tw_plan* plan, tw_stream* stream, const tw_rows_args* args) {
  return run_rows(Op::scatter, plan, stream, args);
}
