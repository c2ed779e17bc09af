// SPDX-License-Identifier: Apache-2.0
// The gemm kernels that the target and the part have.
#include "kernels/common/emit.cuh"
#include "kernels/gemm/gemm_pointers.cuh"
#include "kernels/gemm/gemm_realign.cuh"
#include "kernels/gemm/mma/gemm_full_plain.cuh"
#include "kernels/gemm/mma/gemm_plain_short.cuh"
#include "kernels/gemm/mma/gemm_plain_split.cuh"
#if TW_HAS_wgmma
#include "kernels/gemm/wgmma/gemm_batch.cuh"
#endif

namespace tw {
using BF16 = Bf16;
inline constexpr int kOrderROW = 0;
inline constexpr int kOrderCOLUMN = 1;
#if TW_HAS_wgmma
template <class Config, class Args>
__device__ __forceinline__ void gemm_row(const Args& args) {
  if constexpr ((Config::kTile.variant & kGemmAlone) != 0)
    gemm_batch<Config>(args);
  else
    gemm_wgmma<Config>(args);
}
#endif
}  // namespace tw

#define TW_GEMM(feature, part, symbol, in, out, a_order, b_order, tm, tn, tk, cm, cn, schedule)    \
  TW_EMIT(                                                                                         \
      feature, part,                                                                               \
      extern "C" __global__ void __launch_bounds__(128 * (1 + tw::gemm_consumers(tm)), 1)          \
          symbol(const __grid_constant__                                                           \
                     tw::GemmArgsOf<(tw::kSchedule_##schedule & tw::kGemmFull) != 0>::Type args) { \
            tw::gemm_row<tw::GemmConfig<tw::in, tw::out, tw::kOrder##a_order, tw::kOrder##b_order, \
                                        tm, tn, tk, cm, cn, tw::kSchedule_##schedule>>(args);      \
          })
#define TW_GEMM_PLAIN(feature, part, symbol, in, out, tm, tn, tk)             \
  TW_EMIT(                                                                    \
      feature, part,                                                          \
      extern "C" __global__ void __launch_bounds__(tw::kPlainThreads) symbol( \
          const __grid_constant__ tw::GemmArgs args) { tw::gemm_plain<tw::in, tw::out>(args); })
#define TW_GEMM_PLAIN_FULL(feature, part, symbol, in, out, tm, tn, tk) \
  TW_EMIT(                                                             \
      feature, part,                                                   \
      extern "C" __global__ void __launch_bounds__(tw::kPlainThreads)  \
          symbol(const __grid_constant__ tw::GemmFullArgs args) {      \
            tw::gemm_plain<tw::in, tw::out>(args);                     \
          })
#define TW_GEMM_PLAIN_SPLIT(feature, part, symbol, in, out, tm, tn, tk)       \
  TW_EMIT(                                                                    \
      feature, part,                                                          \
      extern "C" __global__ void __launch_bounds__(tw::kPlainSplitThreads, 2) \
          symbol(const __grid_constant__ tw::GemmArgs args) {                 \
            tw::gemm_plain_split<tw::in, tw::out>(args);                      \
          })
#define TW_GEMM_PLAIN_SHORT(feature, part, symbol, in, out, tm, tn, tk)       \
  TW_EMIT(                                                                    \
      feature, part,                                                          \
      extern "C" __global__ void __launch_bounds__(tw::kPlainShortThreads, 4) \
          symbol(const __grid_constant__ tw::GemmArgs args) {                 \
            tw::gemm_plain_short<tw::in, tw::out>(args);                      \
          })
#define TW_GEMM_POINTERS(feature, part, symbol, maps, variant)                  \
  TW_EMIT(                                                                      \
      feature, part,                                                            \
      extern "C" __global__ void __launch_bounds__(32 * tw::kGemmPointersWarps) \
          symbol(const __grid_constant__ tw::GemmPointersArgs args) {           \
            tw::gemm_read_pointers<maps>(args);                                 \
          })
#define TW_GEMM_REALIGN(feature, part, symbol)                                            \
  TW_EMIT(                                                                                \
      feature, part,                                                                      \
      extern "C" __global__ void __launch_bounds__(tw::kRealignThreads, tw::kRealignRoom) \
          symbol(const __grid_constant__ tw::GemmRealignArgs args) { tw::gemm_realign(args); })
#define TW_GEMM_HOST(symbol, body, variant)
#include "kernels/gemm/kernels.inc"
