// SPDX-License-Identifier: Apache-2.0
// The gemm family's rows of the kernel table.
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_host.hpp"
#include "kernels/kernel_table.hpp"

namespace tw {
namespace {

constexpr uint32_t kOrderROW = 0;
constexpr uint32_t kOrderCOLUMN = 1;
constexpr uint32_t kScheduleCOOP = 0;
constexpr uint32_t kSchedulePING = kGemmPingpong;
constexpr uint32_t kScheduleSPLIT = kGemmSplit;
constexpr DType kAny{};

constexpr KernelRow kRows[] = {
#define TW_GEMM(feature_, shard_, symbol_, in, out, a_order, b_order, tm, tn, tk, stages_, cm, cn, \
                schedule)                                                                          \
  {.family = Family::gemm,                                                                         \
   .feature = feature::feature_,                                                                   \
   .symbol = #symbol_,                                                                             \
   .shard = shard_,                                                                                \
   .host = nullptr,                                                                                \
   .threads = static_cast<int32_t>(128 * (1 + gemm_consumers(tm))),                                \
   .tile = {tm, tn, tk},                                                                           \
   .stages = stages_,                                                                              \
   .cluster = {cm, cn},                                                                            \
   .dtypes = {DType::in, DType::out},                                                              \
   .variant =                                                                                      \
       kOrder##a_order * kGemmColumnA + kOrder##b_order * kGemmColumnB + kSchedule##schedule},
#define TW_GEMM_PLAIN(feature_, shard_, symbol_, in, out, tm, tn, tk) \
  {.family = Family::gemm,                                            \
   .feature = feature::feature_,                                      \
   .symbol = #symbol_,                                                \
   .shard = shard_,                                                   \
   .host = nullptr,                                                   \
   .threads = 128,                                                    \
   .tile = {tm, tn, tk},                                              \
   .stages = 1,                                                       \
   .cluster = {1, 1},                                                 \
   .dtypes = {DType::in, DType::out},                                 \
   .variant = kGemmPlain},
#define TW_GEMM_HOST(symbol_, body, variant_)  \
  {.family = Family::gemm,                     \
   .feature = feature::host,                   \
   .symbol = #symbol_,                         \
   .shard = -1,                                \
   .host = body,                               \
   .threads = 1,                               \
   .tile = {kHostTile, kHostTile, kHostTileK}, \
   .stages = 1,                                \
   .cluster = {1, 1},                          \
   .dtypes = {kAny, kAny},                     \
   .variant = variant_},
#include "kernels/gemm/kernels.inc"
};

}  // namespace

RowRange gemm_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
