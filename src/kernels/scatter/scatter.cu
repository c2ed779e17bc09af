// SPDX-License-Identifier: Apache-2.0
// Instantiates the scatter kernels of one part for the architecture being compiled.
#include "kernels/common/emit.cuh"
#include "kernels/rows/row_few.cuh"
#include "kernels/rows/row_four.cuh"
#include "kernels/rows/row_outside.cuh"
#include "kernels/rows/row_plain.cuh"
#include "kernels/rows/row_shift.cuh"
#include "kernels/rows/row_staged.cuh"
#include "kernels/scatter/scatter_bulk.cuh"
#include "kernels/scatter/scatter_order.cuh"
#include "kernels/scatter/scatter_reduce.cuh"
#include "kernels/scatter/scatter_segment.cuh"
#include "kernels/scatter/scatter_sorted.cuh"
#include "kernels/scatter/scatter_winners.cuh"

#define TW_SCATTER_BULK(feature, part, symbol)                                        \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxPipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::scatter_bulk(args); })
#define TW_SCATTER_SHIFT(feature, part, symbol)                              \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 3) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::rows_shift<false>(args); })
#define TW_SCATTER_PLAIN(feature, part, symbol)                              \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsPlainThreads, 6) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::rows_plain<false>(args); })
#define TW_SCATTER_BULK_REDUCE(feature, part, symbol)                                 \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxPipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::scatter_bulk_reduce(args); })
#define TW_SCATTER_REDUCE(feature, part, symbol)                             \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) \
          symbol(const __grid_constant__ tw::ScatterArgs args) { tw::scatter_reduce(args); })
#define TW_SCATTER_SORTED(feature, part, symbol)                             \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 3) \
          symbol(const __grid_constant__ tw::SortedArgs args) { tw::scatter_sorted(args); })
#define TW_SCATTER_CLEAR(feature, part, symbol)                                      \
  TW_EMIT(                                                                           \
      feature, part,                                                                 \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) symbol( \
          const __grid_constant__ tw::ScatterArgs args) { tw::scatter_winners<false>(args); })
#define TW_SCATTER_MARK(feature, part, symbol)                                       \
  TW_EMIT(                                                                           \
      feature, part,                                                                 \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) symbol( \
          const __grid_constant__ tw::ScatterArgs args) { tw::scatter_winners<true>(args); })
#define TW_SCATTER_COUNT(feature, part, symbol)                              \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) \
          symbol(const __grid_constant__ tw::OrderArgs args) { tw::scatter_count(args); })
#define TW_SCATTER_SCAN(feature, part, symbol)                              \
  TW_EMIT(                                                                  \
      feature, part,                                                        \
      extern "C" __global__ void __launch_bounds__(tw::kRowsScanThreads, 1) \
          symbol(const __grid_constant__ tw::OrderArgs args) { tw::scatter_scan(args); })
#define TW_SCATTER_PLACE(feature, part, symbol)                              \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) \
          symbol(const __grid_constant__ tw::OrderArgs args) { tw::scatter_place(args); })
#define TW_SCATTER_SEGMENT(feature, part, symbol)                                    \
  TW_EMIT(                                                                           \
      feature, part,                                                                 \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 3) symbol( \
          const __grid_constant__ tw::OrderArgs args) { tw::scatter_segments<false>(args); })
#define TW_SCATTER_JOIN(feature, part, symbol)                                       \
  TW_EMIT(                                                                           \
      feature, part,                                                                 \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) symbol( \
          const __grid_constant__ tw::OrderArgs args) { tw::scatter_segments<true>(args); })
#define TW_SCATTER_OUTSIDE(feature, part, symbol)                            \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) \
          symbol(const __grid_constant__ tw::OutsideArgs args) { tw::rows_outside(args); })
#define TW_SCATTER_STAGED(feature, part, symbol)                                      \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxPipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::ScatterArgs args) {                      \
            tw::rows_staged<tw::StagedScatter>(args);                                 \
          })
#define TW_SCATTER_FOUR(feature, part, symbol)                                        \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxPipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::FourArgs args) { tw::rows_four<true>(args); })
#define TW_SCATTER_FEW(feature, part, symbol)                              \
  TW_EMIT(                                                                 \
      feature, part,                                                       \
      extern "C" __global__ void __launch_bounds__(tw::kRowsFewThreads, 4) \
          symbol(const __grid_constant__ tw::FewArgs args) { tw::rows_few<false>(args); })
#include "kernels/scatter/kernels.inc"
