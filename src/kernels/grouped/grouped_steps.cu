// SPDX-License-Identifier: Apache-2.0
// The steps that prepare or complete a grouped product (grouped.h).
//
// Each kernel may start before its predecessor grid has ended, and waits for it before it touches
// memory.
#include "kernels/common/emit.cuh"
#include "kernels/grouped/grouped_combine.cuh"
#include "kernels/grouped/grouped_pack.cuh"

namespace tw {

template <class Out, u32 kVariant>
__device__ __forceinline__ void grouped_step(const GroupedArgs& args) {
  if constexpr (kVariant == kGroupedFind) grouped_find_rows(args);
  if constexpr (kVariant == kGroupedCheck) grouped_check(args);
  if constexpr (kVariant == kGroupedClear) grouped_clear(args);
  if constexpr (kVariant == kGroupedLink) grouped_link(args);
  if constexpr (kVariant == kGroupedPack) grouped_pack(args);
  if constexpr (kVariant == kGroupedCombine) grouped_combine<Out>(args);
}

}  // namespace tw

// The second bound allows 64 registers per thread. Without it some kernels spill.
#define TW_GROUPED_STEP(feature, part, symbol, out, variant)                                     \
  TW_EMIT(                                                                                       \
      feature, part,                                                                             \
      extern "C" __global__ void __launch_bounds__(tw::grouped_step_threads(tw::variant),        \
                                                   1024 / tw::grouped_step_threads(tw::variant)) \
          symbol(const __grid_constant__ tw::GroupedArgs args) {                                 \
            tw::grouped_step<tw::out, tw::variant>(args);                                        \
          })
#include "kernels/grouped/grouped_steps.inc"
