// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a wgmma kernel entry becomes in device code.
//
// A translation unit defines TW_GEMM(...) as TW_GEMM_EMIT(body, arguments, __VA_ARGS__). `body` is
// the function in namespace tw that the kernel calls, a template over its GemmConfig. `arguments`
// is the type of the body's argument. Neither has to exist for a target without wgmma.

#include "kernels/common/emit.cuh"
#if TW_HAS_wgmma
#include "kernels/gemm/wgmma/gemm_config.cuh"

namespace tw {
inline constexpr int kOrderROW = 0;
inline constexpr int kOrderCOLUMN = 1;
}  // namespace tw
#endif

#define TW_GEMM_EMIT(body, arguments, feature, part, symbol, in, out, a_order, b_order, tm, tn,    \
                     tk, cm, cn, schedule)                                                         \
  TW_EMIT(                                                                                         \
      feature, part,                                                                               \
      extern "C" __global__ void __launch_bounds__(128 * (1 + tw::gemm_consumers(tm)), 1)          \
          symbol(const __grid_constant__ tw::arguments args) {                                     \
            tw::body<tw::GemmConfig<tw::in, tw::out, tw::kOrder##a_order, tw::kOrder##b_order, tm, \
                                    tn, tk, cm, cn, tw::kSchedule_##schedule>>(args);              \
          })

// The same for kernels of narrow types, whose entries are TW_GEMM_NARROW(...) and which take
// GemmNarrowArgs.
#define TW_GEMM_NARROW_EMIT(body, feature, part, symbol, a, b, tm, tn, tk, schedule)              \
  TW_EMIT(                                                                                        \
      feature, part,                                                                              \
      extern "C" __global__ void __launch_bounds__(128 * (1 + tw::gemm_consumers(tm)), 1) symbol( \
          const __grid_constant__ tw::GemmNarrowArgs args) {                                      \
        tw::body<tw::GemmConfig<tw::GemmPair<tw::a, tw::b>, tw::GemmAny, tw::kOrderROW,           \
                                tw::kOrderCOLUMN, tm, tn, tk, 1, 1, tw::kSchedule_##schedule>>(   \
            args);                                                                                \
      })
