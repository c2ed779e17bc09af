// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm.hpp"
#include "plan_handle.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

tw_gemm_desc default_desc() {
  tw_gemm_desc desc{};
  desc.ab_dtype = TW_DTYPE_BF16;
  desc.d_dtype = TW_DTYPE_BF16;
  return desc;
}

tw_gemm_args default_args() {
  tw_gemm_args args{};
  args.alpha = 1.0f;
  args.m = -1;
  return args;
}

GemmDesc convert(const tw_gemm_desc& from) {
  GemmDesc to;
  to.ab_dtype = static_cast<DType>(from.ab_dtype);
  to.d_dtype = static_cast<DType>(from.d_dtype);
  to.a_order = static_cast<Order>(from.a_order);
  to.b_order = static_cast<Order>(from.b_order);
  to.d_order = static_cast<Order>(from.d_order);
  to.m = from.m;
  to.n = from.n;
  to.k = from.k;
  to.lda = from.lda;
  to.ldb = from.ldb;
  to.ldc = from.ldc;
  to.ldd = from.ldd;
  to.a_alignment = from.a_alignment;
  to.b_alignment = from.b_alignment;
  to.c_alignment = from.c_alignment;
  to.d_alignment = from.d_alignment;
  to.max_sms = from.max_sms;
  return to;
}

}  // namespace

tw_status tw_gemm_desc_init(tw_gemm_desc* desc) {
  return guard([&] { return init_struct(desc, "desc", default_desc()); });
}

tw_status tw_gemm_args_init(tw_gemm_args* args) {
  return guard([&] { return init_struct(args, "args", default_args()); });
}

tw_status tw_gemm_plan(tw_device* device, const tw_gemm_desc* desc, tw_plan** plan) {
  return guard([&]() -> Status {
    TW_TRY(output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    tw_gemm_desc ours = default_desc();
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(check_reserved("desc", ours.reserved));
    return make_plan<GemmPlan>(device, convert(ours), plan);
  });
}

tw_status tw_gemm_run(tw_plan* plan, tw_stream* stream, const tw_gemm_args* args) {
  return guard([&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::gemm));
    tw_gemm_args ours = default_args();
    TW_TRY(read_struct(args, "args", &ours));
    TW_TRY(check_reserved("args", ours.reserved));
    const GemmRun run{.alpha = ours.alpha,
                      .beta = ours.beta,
                      .a = ours.a,
                      .b = ours.b,
                      .c = ours.c,
                      .d = ours.d,
                      .m = ours.m};
    return static_cast<const GemmPlan&>(*plan->value).run(*stream->value, run);
  });
}
