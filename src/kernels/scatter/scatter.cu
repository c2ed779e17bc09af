// SPDX-License-Identifier: Apache-2.0
// Emits the scatter rows that the target and the shard have.
#include "kernels/emit.cuh"
#include "kernels/parts/row_narrow.cuh"
#include "kernels/parts/row_plain.cuh"
#include "kernels/parts/row_shift.cuh"
#include "kernels/scatter/scatter_bulk.cuh"

#define TW_SCATTER_BULK(feature, shard, symbol)                                \
  TW_EMIT(                                                                     \
      feature, shard,                                                          \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxRingWarps * 32) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::scatter_bulk(args); })
#define TW_SCATTER_SHIFT(feature, shard, symbol)                             \
  TW_EMIT(                                                                   \
      feature, shard,                                                        \
      extern "C" __global__ void __launch_bounds__(tw::kRowsPlainThreads, 3) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::rows_shift<false>(args); })
#define TW_SCATTER_PLAIN(feature, shard, symbol)                          \
  TW_EMIT(                                                                \
      feature, shard,                                                     \
      extern "C" __global__ void __launch_bounds__(tw::kRowsPlainThreads) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::rows_plain<false>(args); })
#define TW_SCATTER_NARROW(feature, shard, symbol)                            \
  TW_EMIT(                                                                   \
      feature, shard,                                                        \
      extern "C" __global__ void __launch_bounds__(tw::kRowsPlainThreads, 3) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::rows_narrow<false>(args); })
#include "kernels/scatter/kernels.inc"
