// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers of the functions that make and run plans of any operation.

#include "capi/common/boundary.hpp"
#include "ops/plan/plan.hpp"

namespace tw::capi {

/// Passes a plan to the caller as a handle.
Status give_plan(std::unique_ptr<Plan> plan, tw_plan** out);

/// Makes a plan of class P from a description that read_struct() filled.
template <class P, class Desc>
Status make_plan(tw_device* device, const Desc& desc, tw_plan** out) {
  std::unique_ptr<Plan> plan;
  TW_TRY(P::create(device->value, desc, &plan));
  return give_plan(std::move(plan), out);
}

/// Whether planning with class P would succeed, for tw_x_supported(). `arguments` are the arguments
/// of P::create() between the device and the description that `read` converts.
template <class P, class Ours, class Desc, class Read, class... Arguments>
tw_status supported(tw_device* device, Op op, const Desc* desc, Read read,
                    const Arguments&... arguments) {
  return guard(device, [&]() -> Status {
    TW_TRY(usable(device, "device"));
    Ours ours;
    TW_TRY(read(desc, &ours));
    return plan_supported<P>(device->value, op, arguments..., ours);
  });
}

/// Refuses a plan of another operation than `op`.
inline Status check_op(const tw_plan* plan, Op op) {
  if (plan->value->op() == op) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "plan",
               .rule = "plan_op",
               .got = static_cast<int64_t>(plan->value->op()),
               .limit = static_cast<int64_t>(op)},
              "plan is a %s plan: make one with tw_%s_plan", family_name(plan->value->op()),
              family_name(op));
}

/// Checks the handles of a run: both are alive and of the same device, and the plan is of the
/// operation `op`.
inline Status check_run_handles(const tw_plan* plan, const tw_stream* stream, Op op) {
  TW_TRY(usable(plan, "plan"));
  TW_TRY(usable(stream, "stream"));
  TW_TRY(same_device(plan, "plan", stream, "stream"));
  return check_op(plan, op);
}

}  // namespace tw::capi
