// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise.hpp"
#include "plan_handle.hpp"

using namespace tw;
using namespace tw::capi;

static_assert(TW_MAX_RANK == kElementwiseRank);
static_assert(+TW_REDUCE_NONE == +kCombineNone && +TW_REDUCE_ADD == +kCombineAdd &&
              +TW_REDUCE_MIN == +kCombineMin && +TW_REDUCE_MAX == +kCombineMax &&
              +TW_REDUCE_AND == +kCombineAnd && +TW_REDUCE_OR == +kCombineOr &&
              +TW_REDUCE_XOR == +kCombineXor && +TW_REDUCE_INC == +kCombineInc &&
              +TW_REDUCE_DEC == +kCombineDec);

namespace {

tw_elementwise_desc default_desc() {
  tw_elementwise_desc desc{};
  desc.a_dtype = desc.dst_dtype = TW_DTYPE_F32;
  desc.rank = 1;
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
  to.saturates = (from.flags & TW_ELEMENTWISE_SATURATE) != 0;
  to.src_cache = static_cast<CachePriority>(from.src_cache);
  to.dst_cache = static_cast<CachePriority>(from.dst_cache);
  for (int i = 0; i < TW_MAX_RANK; ++i) {
    to.shape[i] = from.shape[i];
    to.stride[kOperandA][i] = from.a_stride[i];
    to.stride[kOperandB][i] = from.b_stride[i];
    to.stride[kOperandDst][i] = from.dst_stride[i];
  }
  return to;
}

Status check_flags(uint32_t flags) {
  if ((flags & ~uint32_t{TW_ELEMENTWISE_SATURATE}) == 0) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "flags", .rule = "elementwise_flags", .got = flags},
              "flags is 0x%x: TW_ELEMENTWISE_SATURATE (1) is the one there is", flags);
}

}  // namespace

tw_status tw_elementwise_desc_init(tw_elementwise_desc* desc) {
  return guard([&] { return init_struct(desc, "desc", default_desc()); });
}

tw_status tw_elementwise_args_init(tw_elementwise_args* args) {
  return guard([&] { return init_struct(args, "args", default_args()); });
}

tw_status tw_elementwise_plan(tw_device* device, const tw_elementwise_desc* desc, tw_plan** plan) {
  return guard([&]() -> Status {
    TW_TRY(output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    tw_elementwise_desc ours = default_desc();
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(check_reserved("desc", "reserved", ours.reserved));
    TW_TRY(check_flags(ours.flags));
    return make_plan<ElementwisePlan>(device, convert(ours), plan);
  });
}

tw_status tw_elementwise_run(tw_plan* plan, tw_stream* stream, const tw_elementwise_args* args) {
  return guard([&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::elementwise));
    tw_elementwise_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    TW_TRY(check_reserved("args", "reserved", ours.reserved));
    const ElementwiseRun run{
        .address = {ours.a, ours.b, ours.dst}, .alpha = ours.alpha, .beta = ours.beta};
    return static_cast<const ElementwisePlan&>(*plan->value).run(*stream->value, run);
  });
}
