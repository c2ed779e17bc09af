// SPDX-License-Identifier: Apache-2.0
// The mma.sync kernels for grouped products.
#include "kernels/common/emit.cuh"
#include "kernels/grouped/grouped_mma.cuh"
#include "kernels/grouped/grouped_ranges.cuh"

namespace tw {

template <class In, class Out, u32 kVariant>
__device__ __forceinline__ void grouped_by_mma(const GroupedArgs& args) {
  if constexpr (kVariant == kGroupedRanges)
    grouped_ranges<In>(args);
  else
    grouped_mma<In, Out>(args);
}

}  // namespace tw

#define TW_GROUPED_MMA(feature, part, symbol, in, out, variant)       \
  TW_EMIT(                                                            \
      feature, part,                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kPlainThreads) \
          symbol(const __grid_constant__ tw::GroupedArgs args) {      \
            tw::grouped_by_mma<tw::in, tw::out, tw::variant>(args);   \
          })
#include "kernels/grouped/grouped_mma.inc"
