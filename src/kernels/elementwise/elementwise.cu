// SPDX-License-Identifier: Apache-2.0
// The elementwise kernels that the target and the part have.
#include "kernels/common/emit.cuh"
#include "kernels/elementwise/elementwise_strided.cuh"
#include "kernels/elementwise/elementwise_vectors.cuh"

// Four blocks an SM leave each thread 64 registers: what a turn of vectors needs, and 64 KB in
// flight. A sum of vectors of four elements needs 48, with which five blocks run.
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
#define TW_ELEMENTWISE_WORDS(feature, part, symbol, elements) \
  TW_ELEMENTWISE(feature, part, symbol, 4, tw::elementwise_words<elements>(args))
#define TW_ELEMENTWISE_STRIDED(feature, part, symbol) \
  TW_ELEMENTWISE(feature, part, symbol, 3, tw::elementwise_strided(args))
#include "kernels/elementwise/kernels.inc"
