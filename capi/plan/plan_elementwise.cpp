// SPDX-License-Identifier: Apache-2.0
#include "capi/plan/plan_handle.hpp"
#include "ops/elementwise/elementwise.hpp"

using namespace tw;
using namespace tw::capi;

static_assert(TW_MAX_RANK == kElementwiseRank);
static_assert(+TW_REDUCE_NONE == +kReduceNone && +TW_REDUCE_ADD == +kReduceAdd &&
              +TW_REDUCE_MIN == +kReduceMin && +TW_REDUCE_MAX == +kReduceMax &&
              +TW_REDUCE_AND == +kReduceAnd && +TW_REDUCE_OR == +kReduceOr &&
              +TW_REDUCE_XOR == +kReduceXor && +TW_REDUCE_INC == +kReduceInc &&
              +TW_REDUCE_DEC == +kReduceDec);

static_assert(+TW_COMBINE_ADD == +kCombineAdd && +TW_COMBINE_MULTIPLY == +kCombineMultiply);

namespace {

constexpr uint32_t kFlags = TW_ELEMENTWISE_SATURATE | TW_ELEMENTWISE_DEVICE_SCALARS;

tw_elementwise_desc default_desc() {
  tw_elementwise_desc desc{};
  desc.a_dtype = desc.dst_dtype = TW_DTYPE_F32;
  unset(desc.shape);
  unset(desc.a_stride);
  unset(desc.b_stride);
  unset(desc.dst_stride);
  return desc;
}

tw_elementwise_args default_args() {
  tw_elementwise_args args{};
  args.alpha = args.beta = 1;
  return args;
}

ElementwiseDesc convert(const tw_elementwise_desc& from) {
  ElementwiseDesc to;
  to.dtype[kOperandA] = static_cast<DType>(from.a_dtype);
  to.dtype[kOperandB] = static_cast<DType>(from.b_dtype);
  to.dtype[kOperandDst] = static_cast<DType>(from.dst_dtype);
  to.alignment[kOperandA] = from.a_alignment;
  to.alignment[kOperandB] = from.b_alignment;
  to.alignment[kOperandDst] = from.dst_alignment;
  to.rank = from.rank;
  to.max_sms = from.max_sms;
  to.reduction = from.reduction;
  to.combine = static_cast<uint32_t>(from.combine);
  to.activation = static_cast<Activation>(from.activation);
  to.device_scalars = (from.flags & TW_ELEMENTWISE_DEVICE_SCALARS) != 0;
  to.saturates = (from.flags & TW_ELEMENTWISE_SATURATE) != 0;
  to.src_cache = static_cast<CachePriority>(from.src_cache);
  to.dst_cache = static_cast<CachePriority>(from.dst_cache);
  for (int i = 0; i < from.rank && i < TW_MAX_RANK; ++i) {
    to.shape[i] = from.shape[i];
    to.stride[kOperandA][i] = from.a_stride[i];
    to.stride[kOperandB][i] = from.b_dtype == 0 ? 0 : from.b_stride[i];
    to.stride[kOperandDst][i] = from.dst_stride[i];
  }
  return to;
}

Status check_b(const tw_elementwise_desc& desc) {
  if (desc.b_dtype != 0) return check_dimensions("b_stride", desc.b_stride, desc.rank);
  constexpr const char* kWhy = "b_dtype is 0, so there is no b";
  TW_TRY(check_excluded(desc.b_alignment == 0, "b_alignment", desc.b_alignment, kWhy));
  for (int32_t i = 0; i < TW_MAX_RANK; ++i)
    TW_TRY(check_excluded(desc.b_stride[i] == TW_UNSET, "b_stride", desc.b_stride[i], kWhy, i));
  return {};
}

Status read_desc(const tw_elementwise_desc* desc, ElementwiseDesc* out) {
  tw_elementwise_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_flags("flags", ours.flags, kFlags,
                     "TW_ELEMENTWISE_SATURATE (1) and TW_ELEMENTWISE_DEVICE_SCALARS (2)"));
  TW_TRY(check_dimensions("shape", ours.shape, ours.rank));
  TW_TRY(check_dimensions("a_stride", ours.a_stride, ours.rank));
  TW_TRY(check_dimensions("dst_stride", ours.dst_stride, ours.rank));
  TW_TRY(check_b(ours));
  *out = convert(ours);
  return {};
}

}  // namespace

tw_status tw_elementwise_desc_init(tw_elementwise_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_elementwise_args_init(tw_elementwise_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args", default_args()); });
}

tw_status tw_elementwise_plan(tw_device* device, const tw_elementwise_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    ElementwiseDesc ours;
    TW_TRY(read_desc(desc, &ours));
    return make_plan<ElementwisePlan>(device, ours, plan);
  });
}

tw_status tw_elementwise_supported(tw_device* device, const tw_elementwise_desc* desc) {
  return supported<ElementwisePlan, ElementwiseDesc>(device, Op::elementwise, desc, read_desc);
}

tw_status tw_elementwise_run(tw_plan* plan, tw_stream* stream, const tw_elementwise_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::elementwise));
    tw_elementwise_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    const ElementwiseRun run{.address = {ours.a, ours.b, ours.dst},
                             .alpha = ours.alpha,
                             .beta = ours.beta,
                             .device_alpha = ours.device_alpha,
                             .device_beta = ours.device_beta};
    return static_cast<const ElementwisePlan&>(*plan->value).run(*stream->value, run);
  });
}
