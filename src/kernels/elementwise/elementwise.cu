// SPDX-License-Identifier: Apache-2.0
// Instantiates the elementwise kernels of one part for the architecture being compiled.
#include "kernels/common/emit.cuh"
#include "kernels/elementwise/elementwise_strided.cuh"
#include "kernels/elementwise/elementwise_vectors.cuh"

// Four blocks per SM leave 64 registers per thread, enough for the vectors of one iteration, and
// keep 64 KB in flight. Combining vectors of four elements needs 48 registers, so five blocks fit.
#define TW_ELEMENTWISE(feature, part, symbol, blocks, body)                         \
  TW_EMIT(                                                                          \
      feature, part,                                                                \
      extern "C" __global__ void __launch_bounds__(tw::kElementwiseThreads, blocks) \
          symbol(const __grid_constant__ tw::ElementwiseArgs args) { body; })
#define TW_ELEMENTWISE_CONVERT(feature, part, symbol, elements)     \
  TW_ELEMENTWISE(feature, part, symbol, ((elements) == 16 ? 2 : 4), \
                 (tw::elementwise_floats<elements, true>(args)))
#define TW_ELEMENTWISE_FLOATS(feature, part, symbol, elements)     \
  TW_ELEMENTWISE(feature, part, symbol, ((elements) == 4 ? 5 : 4), \
                 (tw::elementwise_floats<elements, false>(args)))
#define TW_ELEMENTWISE_INTEGERS_F64(feature, part, symbol, elements) \
  TW_ELEMENTWISE(feature, part, symbol, 4, tw::elementwise_integers_f64<elements>(args))
#define TW_ELEMENTWISE_STRIDED(feature, part, symbol) \
  TW_ELEMENTWISE(feature, part, symbol, 3, tw::elementwise_strided(args))
#include "kernels/elementwise/kernels.inc"
