// SPDX-License-Identifier: Apache-2.0
// C API: the functions that all plans share, destroy, get_info and explain.
#include "ops/plan/plan.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "capi/plan/plan_handle.hpp"

tw::Device& tw_plan::device() const {
  return *value->device();
}

using namespace tw;
using namespace tw::capi;

namespace {

constinit DestroyedHandles<tw_plan> g_destroyed_plans;

}  // namespace

#define TW_FAMILY(name, value) \
  static_assert(static_cast<int32_t>(Op::name) == (value), "families.inc and tw_op agree");
#include "kernels/families.inc"
#undef TW_FAMILY
static_assert(TW_OP_COPY == static_cast<int32_t>(Op::copy) &&
              TW_OP_PREFETCH == static_cast<int32_t>(Op::prefetch) &&
              TW_OP_GATHER == static_cast<int32_t>(Op::gather) &&
              TW_OP_SCATTER == static_cast<int32_t>(Op::scatter) &&
              TW_OP_GEMM == static_cast<int32_t>(Op::gemm) &&
              TW_OP_ELEMENTWISE == static_cast<int32_t>(Op::elementwise) &&
              TW_OP_RAGGED == static_cast<int32_t>(Op::ragged) &&
              TW_OP_COPIES == static_cast<int32_t>(Op::copies) &&
              TW_OP_ROUTE == static_cast<int32_t>(Op::route) &&
              TW_OP_GROUPED == static_cast<int32_t>(Op::grouped) &&
              TW_OP_QUANTIZE == static_cast<int32_t>(Op::quantize));

Status tw::capi::give_plan(std::unique_ptr<Plan> plan, tw_plan** out) {
  if (Log& log = plan->device()->log(); log.enabled(LogLevel::debug)) {
    const char* kernel = plan->info().kernel;
    log.write(LogLevel::debug, "%s plan: kernel %s", family_name(plan->op()),
              kernel ? kernel : "none");
  }
  *out = new tw_plan{std::move(plan)};
  return {};
}

void tw_plan_destroy(tw_plan* plan) {
  g_destroyed_plans.destroy(plan);
}

tw_status tw_plan_get_info(const tw_plan* plan, tw_plan_info* info) {
  return guard(plan, [&]() -> Status {
    TW_TRY(clear_output_struct(info, "info"));
    TW_TRY(usable(plan, "plan"));
    const PlanInfo from = plan->value->info();
    tw_plan_info to{};
    to.op = static_cast<tw_op>(from.op);
    to.kernel = from.kernel;
    for (int i = 0; i < 3; ++i) {
      to.grid[i] = from.grid[i];
      to.block[i] = from.block[i];
      to.cluster[i] = from.cluster[i];
      to.tile[i] = from.tile[i];
    }
    to.stages = from.stages;
    to.dynamic_smem_bytes = from.dynamic_smem_bytes;
    to.boxes_loaded = from.boxes_loaded;
    to.boxes_stored = from.boxes_stored;
    to.boxes_prefetched = from.boxes_prefetched;
    to.bytes_read = from.bytes_read;
    to.bytes_written = from.bytes_written;
    to.flops = from.flops;
    to.workspace_bytes = from.workspace_bytes;
    write_struct(info, to);
    return {};
  });
}

tw_status tw_plan_explain(const tw_plan* plan, char* buffer, size_t capacity, size_t* length) {
  return guard(plan, [&]() -> Status {
    if (length) *length = 0;
    if (buffer && capacity) *buffer = '\0';
    TW_TRY(usable(plan, "plan"));
    return write_text(plan->value->explain(), buffer, capacity, length);
  });
}
