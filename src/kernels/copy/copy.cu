// SPDX-License-Identifier: Apache-2.0
// Emits the copy rows that the target and the shard have.
#include "kernels/copy/copy_boxes.cuh"
#include "kernels/copy/copy_bulk_rows.cuh"
#include "kernels/copy/copy_permute.cuh"
#include "kernels/copy/copy_shift.cuh"
#include "kernels/copy/copy_strided.cuh"
#include "kernels/emit.cuh"

#define TW_COPY_BOXES(feature, shard, symbol, rank)                         \
  TW_EMIT(                                                                  \
      feature, shard,                                                       \
      extern "C" __global__ void __launch_bounds__(tw::kCopyRingWarps * 32) \
          symbol(const __grid_constant__ tw::CopyBoxArgs args) { tw::copy_boxes<rank>(args); })
#define TW_COPY_ROWS(feature, shard, symbol)                                \
  TW_EMIT(                                                                  \
      feature, shard,                                                       \
      extern "C" __global__ void __launch_bounds__(tw::kCopyRingWarps * 32) \
          symbol(const __grid_constant__ tw::CopyRowArgs args) { tw::copy_bulk_rows(args); })
#define TW_COPY_PERMUTE(feature, shard, symbol, element_bytes)          \
  TW_EMIT(                                                              \
      feature, shard,                                                   \
      extern "C" __global__ void __launch_bounds__(tw::kPermuteThreads) \
          symbol(const __grid_constant__ tw::CopyPermuteArgs args) {    \
            tw::copy_permute<element_bytes>(args);                      \
          })
#define TW_COPY_SHIFT(feature, shard, symbol)                                \
  TW_EMIT(                                                                   \
      feature, shard,                                                        \
      extern "C" __global__ void __launch_bounds__(tw::kCopyShiftThreads, 3) \
          symbol(const __grid_constant__ tw::CopyShiftArgs args) { tw::copy_shift(args); })
#define TW_COPY_STRIDED(feature, shard, symbol)                             \
  TW_EMIT(                                                                  \
      feature, shard,                                                       \
      extern "C" __global__ void __launch_bounds__(tw::kCopyStridedThreads) \
          symbol(const __grid_constant__ tw::CopyStridedArgs args) { tw::copy_strided(args); })
#include "kernels/copy/kernels.inc"
