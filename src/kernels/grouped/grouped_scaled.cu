// SPDX-License-Identifier: Apache-2.0
// The mma.sync kernels for grouped products of 8-bit types.
#include "kernels/common/emit.cuh"
#include "kernels/grouped/grouped_scaled.cuh"

namespace tw {

template <class Loads, u32 kVariant>
__device__ __forceinline__ void grouped_by_scaled_mma(const GroupedScaledArgs& args) {
  if constexpr (kVariant == kGroupedRanges)
    grouped_scaled_ranges<Loads>(args);
  else
    grouped_scaled_mma<Loads>(args);
}

}  // namespace tw

#define TW_GROUPED_SCALED(feature, part, symbol, in, loads, variant)         \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kScaledThreads)       \
          symbol(const __grid_constant__ tw::GroupedScaledArgs args) {       \
            tw::grouped_by_scaled_mma<tw::Scaled##loads, tw::variant>(args); \
          })
#include "kernels/grouped/grouped_scaled.inc"
