// SPDX-License-Identifier: Apache-2.0
// Instantiates the gather kernels of one part for the architecture being compiled.
#include "kernels/common/emit.cuh"
#include "kernels/gather/gather_bulk.cuh"
#include "kernels/gather/gather_plain.cuh"
#include "kernels/rows/row_few.cuh"
#include "kernels/rows/row_four.cuh"
#include "kernels/rows/row_outside.cuh"
#include "kernels/rows/row_plain.cuh"
#include "kernels/rows/row_shift.cuh"
#include "kernels/rows/row_staged.cuh"

#define TW_GATHER_BULK(feature, part, symbol)                                         \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxPipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::GatherArgs args) { tw::gather_bulk(args); })
#define TW_GATHER_SHIFT(feature, part, symbol)                               \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 3) \
          symbol(const __grid_constant__ tw::GatherArgs args) { tw::rows_shift<true>(args); })
#define TW_GATHER_PLAIN(feature, part, symbol)                               \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsPlainThreads, 6) \
          symbol(const __grid_constant__ tw::GatherArgs args) { tw::rows_plain<true>(args); })
#define TW_GATHER_SUM(feature, part, symbol)                                          \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxPipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::GatherArgs args) { tw::gather_sum(args); })
#define TW_GATHER_SUM_PLAIN(feature, part, symbol)                           \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 2) \
          symbol(const __grid_constant__ tw::GatherArgs args) { tw::gather_sum_plain(args); })
#define TW_GATHER_MARGIN(feature, part, symbol)                              \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) \
          symbol(const __grid_constant__ tw::MarginArgs args) { tw::gather_margin(args); })
#define TW_GATHER_OUTSIDE(feature, part, symbol)                             \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kRowsBlockThreads, 4) \
          symbol(const __grid_constant__ tw::OutsideArgs args) { tw::rows_outside(args); })
#define TW_GATHER_STAGED(feature, part, symbol)                                       \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxPipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::GatherArgs args) {                       \
            tw::rows_staged<tw::StagedGather>(args);                                  \
          })
#define TW_GATHER_FOUR(feature, part, symbol)                                         \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kRowsMaxPipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::FourArgs args) { tw::rows_four<false>(args); })
#define TW_GATHER_FEW(feature, part, symbol)                               \
  TW_EMIT(                                                                 \
      feature, part,                                                       \
      extern "C" __global__ void __launch_bounds__(tw::kRowsFewThreads, 4) \
          symbol(const __grid_constant__ tw::FewArgs args) { tw::rows_few<true>(args); })
#include "kernels/gather/kernels.inc"
