// SPDX-License-Identifier: Apache-2.0
// The gemm family's entries of the kernel table.
#include "kernels/gemm/arguments/gemm_realign.h"
#include "kernels/gemm/gemm_entry.hpp"
#include "kernels/gemm/host/gemm_host.hpp"

namespace tw {
namespace {

constexpr uint32_t kOrderROW = 0;
constexpr uint32_t kOrderCOLUMN = 1;
constexpr DType kAny{};

constexpr KernelEntry wgmma_entry(const char* symbol, const char* part, DType in, DType out, int tm,
                                  int tn, int tk, int cm, int cn, uint32_t variant) {
  KernelEntry entry{};
  entry.family = Family::gemm;
  entry.feature = feature::wgmma;
  entry.symbol = symbol;
  entry.image = part;
  entry.threads = static_cast<int32_t>(128 * (1 + gemm_consumers(static_cast<u32>(tm))));
  entry.tile[0] = tm;
  entry.tile[1] = tn;
  entry.tile[2] = tk;
  entry.cluster[0] = cm;
  entry.cluster[1] = cn;
  entry.dtypes[0] = in;
  entry.dtypes[1] = out;
  entry.variant = variant;
  entry.stages = static_cast<int32_t>(gemm_shared(gemm_tile(entry, 2, dtype_bytes(out))).stages);
  return entry;
}

// An entry for narrow types: both operands K-major, D of any type.
constexpr KernelEntry narrow_entry(const char* symbol, const char* part, DType a, DType b, int tm,
                                   int tn, int tk, uint32_t variant) {
  KernelEntry entry{};
  entry.family = Family::gemm;
  entry.feature = feature::wgmma;
  entry.symbol = symbol;
  entry.image = part;
  entry.threads = static_cast<int32_t>(128 * (1 + gemm_consumers(static_cast<u32>(tm))));
  entry.tile[0] = tm;
  entry.tile[1] = tn;
  entry.tile[2] = tk;
  entry.cluster[0] = entry.cluster[1] = 1;
  entry.dtypes[0] = a;
  entry.dtypes[2] = b;
  entry.variant = kGemmColumnB | variant;
  entry.stages =
      static_cast<int32_t>(gemm_shared(gemm_tile(entry, dtype_bytes(a), kGemmAnyBytes)).stages);
  return entry;
}

constexpr KernelEntry plain_entry(FeatureMask needs, const char* symbol, const char* part, DType in,
                                  DType out, int tm, int tn, int tk, uint32_t variant,
                                  int threads = 128, bool prefers_shared_carveout = false) {
  return {.family = Family::gemm,
          .feature = needs,
          .symbol = symbol,
          .image = part,
          .host = nullptr,
          .threads = threads,
          .tile = {tm, tn, tk},
          .stages = 1,
          .cluster = {1, 1},
          .dtypes = {in, out},
          .variant = variant,
          .prefers_shared_carveout = prefers_shared_carveout};
}

constexpr KernelEntry kEntries[] = {
#define TW_GEMM(feature_, part_, symbol_, in, out, a_order, b_order, tm, tn, tk, cm, cn, schedule) \
  wgmma_entry(                                                                                     \
      #symbol_, #part_, DType::in, DType::out, tm, tn, tk, cm, cn,                                 \
      kOrder##a_order* kGemmColumnA + kOrder##b_order * kGemmColumnB + kSchedule_##schedule),
#define TW_GEMM_MMA(feature_, part_, symbol_, in, out, tm, tn, tk, threads_, variant_)          \
  plain_entry(feature::feature_, #symbol_, #part_, DType::in, DType::out, tm, tn, tk, variant_, \
              threads_),
#define TW_GEMM_NARROW(feature_, part_, symbol_, a, b, tm, tn, tk, schedule) \
  narrow_entry(#symbol_, #part_, DType::a, DType::b, tm, tn, tk, kSchedule_##schedule),
#define TW_GEMM_SCALED_MMA(feature_, part_, symbol_, in, loads, tm, tn, tk, threads_) \
  plain_entry(feature::feature_, #symbol_, #part_, DType::in, kAny, tm, tn, tk,       \
              kGemmNoMaps | kGemmEpilogue | kGemmNarrow, threads_),
#define TW_GEMM_POINTERS(feature_, part_, symbol_, maps, variant_) \
  plain_entry(feature::feature_, #symbol_, #part_, kAny, kAny, 0, 0, 0, kGemmPrologue | variant_),
#define TW_GEMM_REALIGN(feature_, part_, symbol_)                       \
  plain_entry(feature::feature_, #symbol_, #part_, kAny, kAny, 0, 0, 0, \
              kGemmPrologue | kGemmStagingCopy, static_cast<int>(kStagingThreads), true),
#define TW_GEMM_HOST(symbol_, body, variant_)  \
  {.family = Family::gemm,                     \
   .feature = feature::host,                   \
   .symbol = #symbol_,                         \
   .image = nullptr,                           \
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

KernelEntries gemm_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
