// SPDX-License-Identifier: Apache-2.0
// Instantiates the copy kernels of one part for the architecture being compiled.
#include "kernels/common/emit.cuh"
#include "kernels/copy/copy_boxes.cuh"
#include "kernels/copy/copy_bulk_rows.cuh"
#include "kernels/copy/copy_interleave.cuh"
#include "kernels/copy/copy_permute.cuh"
#include "kernels/copy/copy_pieces.cuh"
#include "kernels/copy/copy_strided.cuh"
#include "kernels/copy/copy_transpose.cuh"

#define TW_COPY_BOXES(feature, part, symbol, rank)                              \
  TW_EMIT(                                                                      \
      feature, part,                                                            \
      extern "C" __global__ void __launch_bounds__(tw::kCopyPipelineWarps * 32) \
          symbol(const __grid_constant__ tw::CopyBoxArgs args) { tw::copy_boxes<rank>(args); })
#define TW_COPY_ROWS(feature, part, symbol)                                     \
  TW_EMIT(                                                                      \
      feature, part,                                                            \
      extern "C" __global__ void __launch_bounds__(tw::kCopyPipelineWarps * 32) \
          symbol(const __grid_constant__ tw::CopyRowArgs args) { tw::copy_bulk_rows(args); })
#define TW_COPY_PERMUTE(feature, part, symbol, unit_bytes)              \
  TW_EMIT(                                                              \
      feature, part,                                                    \
      extern "C" __global__ void __launch_bounds__(tw::kPermuteThreads) \
          symbol(const __grid_constant__ tw::CopyPermuteArgs args) {    \
            tw::copy_permute<unit_bytes>(args);                         \
          })
#define TW_COPY_TRANSPOSE(feature, part, symbol, bytes, lanes_a, warps_a, cells_a, cells_b) \
  TW_EMIT(                                                                                  \
      feature, part,                                                                        \
      extern "C" __global__ void __launch_bounds__(tw::kTransposeThreads)                   \
          symbol(const __grid_constant__ tw::CopyTransposeArgs args) {                      \
            tw::copy_transpose<bytes, lanes_a, warps_a, cells_a, cells_b>(args);            \
          })
#define TW_COPY_TRANSPOSE_SMALL(feature, part, symbol, bytes)                  \
  TW_EMIT(                                                                     \
      feature, part,                                                           \
      extern "C" __global__ void __launch_bounds__(tw::kSmallTransposeThreads) \
          symbol(const __grid_constant__ tw::CopyTransposeArgs args) {         \
            tw::copy_transpose_small<bytes>(args);                             \
          })
#define TW_COPY_TRANSPOSE_PLAIN(feature, part, symbol, bytes)             \
  TW_EMIT(                                                                \
      feature, part,                                                      \
      extern "C" __global__ void __launch_bounds__(tw::kTransposeThreads) \
          symbol(const __grid_constant__ tw::CopyTransposeArgs args) {    \
            tw::copy_transpose_plain<bytes>(args);                        \
          })
#define TW_COPY_INTERLEAVE_ANY(feature, part, symbol, bytes, planes, to_planes)       \
  TW_EMIT(                                                                            \
      feature, part,                                                                  \
      extern "C" __global__ void __launch_bounds__(tw::interleave_threads(planes), 2) \
          symbol(const __grid_constant__ tw::CopyInterleaveArgs args) {               \
            tw::copy_interleave<bytes, planes, to_planes>(args);                      \
          })
#define TW_COPY_INTERLEAVE(feature, part, symbol, bytes, planes) \
  TW_COPY_INTERLEAVE_ANY(feature, part, symbol, bytes, planes, false)
#define TW_COPY_DEINTERLEAVE(feature, part, symbol, bytes, planes) \
  TW_COPY_INTERLEAVE_ANY(feature, part, symbol, bytes, planes, true)
#define TW_COPY_PIECES_ANY(feature, part, symbol, flight, realign)    \
  TW_EMIT(                                                            \
      feature, part,                                                  \
      extern "C" __global__ void __launch_bounds__(tw::kPieceThreads) \
          symbol(const __grid_constant__ tw::CopyPieceArgs args) {    \
            tw::copy_pieces<flight, realign>(args);                   \
          })
#define TW_COPY_PIECES(feature, part, symbol, flight) \
  TW_COPY_PIECES_ANY(feature, part, symbol, flight, false)
#define TW_COPY_SHIFT(feature, part, symbol, flight) \
  TW_COPY_PIECES_ANY(feature, part, symbol, flight, true)
#define TW_COPY_STRIDED(feature, part, symbol)                              \
  TW_EMIT(                                                                  \
      feature, part,                                                        \
      extern "C" __global__ void __launch_bounds__(tw::kCopyStridedThreads) \
          symbol(const __grid_constant__ tw::CopyStridedArgs args) { tw::copy_strided(args); })
#define TW_COPY_FILL(feature, part, symbol)                                 \
  TW_EMIT(                                                                  \
      feature, part,                                                        \
      extern "C" __global__ void __launch_bounds__(tw::kCopyStridedThreads) \
          symbol(const __grid_constant__ tw::CopyFillArgs args) { tw::copy_fill(args); })
#include "kernels/copy/kernels.inc"
