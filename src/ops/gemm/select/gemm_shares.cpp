// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/select/gemm_shares.hpp"

#include <algorithm>
#include <iterator>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm_stream.h"

namespace tw {
namespace {

// How much longer aligned shares, which begin and end with their unit, may be than even ones. They
// leave some clusters idle, but all clusters read the same k at the same time, which helps the L2,
// and each cluster has a part of one unit only.
constexpr double kAlignedLoss = 1.06;

uint32_t width_number(const GemmChoice& choice, const GemmDesc& seen, int64_t n) {
  const int64_t columns = std::max<int64_t>(n, 1), cluster = choice.entry->cluster[1];
  const int32_t most = gemm_tiles_together(choice, seen) > 1
                           ? std::min(choice.entry->tile[1], kGemmMostParked)
                           : choice.entry->tile[1];
  const int64_t tiles = ceil_div(columns, most * cluster);
  const int64_t wanted = ceil_div(columns, tiles * cluster);
  return static_cast<uint32_t>(
      std::lower_bound(std::begin(kGemmWidths), std::end(kGemmWidths), wanted) -
      std::begin(kGemmWidths));
}

// Divides the units that remain after full waves: evenly, or in aligned shares if those are at most
// kAlignedLoss times as long.
void share_rest(const GemmChoice& choice, int64_t at_once, GemmShares* s) {
  const int64_t rest = s->units() % at_once;
  const int64_t even = std::max<int64_t>(ceil_div(rest * s->k_blocks, at_once),
                                         ceil_div(s->k_blocks, int64_t{choice.split}));
  const int64_t aligned = ceil_div(s->k_blocks, s->k_blocks / even);
  if (rest == 0 || aligned == s->k_blocks) return s->share_nothing(at_once);
  s->whole = s->units() - rest;
  s->share = even;
  if (static_cast<double>(aligned) <= static_cast<double>(even) * kAlignedLoss) {
    s->share = aligned;
    s->depth = round_up(s->k_blocks, aligned);
  }
  s->clusters = s->whole > 0 ? at_once : ceil_div(rest * s->depth, s->share);
}

// Most bytes where joined parts meet. They leave room for three stages of the widest tile.
constexpr int64_t kMostJoinedBytes = 80 << 10;

// Lets the blocks that share a unit form a cluster, if the kernel can do that (stream_joins() in
// stream_join.cuh; not the kernels of i8) and all clusters run at the same time.
bool join(const GemmChoice& choice, int64_t at_once, const uint32_t* clusters, GemmShares* s) {
  const bool can =
      choice.cluster() == 1 && s->together == 1 && choice.entry->dtypes[0] != DType::I8;
  if (!can) return false;
  const int64_t most =
      std::min({int64_t{choice.split}, s->k_blocks, at_once / std::max<int64_t>(s->units(), 1)});
  for (int64_t parts = most; parts > 1; --parts) {
    s->share = ceil_div(s->k_blocks, parts);
    s->joined = ceil_div(s->k_blocks, s->share);
    // An item of several chains would add them up in the workspace.
    if (s->share > s->chain) break;
    if (s->units() <= clusters[s->joined] && s->joined_bytes(choice) <= kMostJoinedBytes) {
      s->depth = s->joined * s->share;
      s->whole = 0;
      s->clusters = s->units() * s->joined;
      return true;
    }
  }
  s->share = 1;
  s->joined = 0;
  return false;
}

}  // namespace

int32_t gemm_chains_of(const GemmDesc& desc) {
  constexpr int32_t kLongest16 = 16384;
  // For 8-bit floats the caller chooses the length of chains (TW_GEMM_FAST_ACCUMULATE); integer
  // accumulators are exact.
  if (desc.is_narrow() && desc.a_dtype != DType::TF32) return 1;
  return desc.d_dtype == DType::F32 ? gemm_chains(desc.k) : gemm_chains(desc.k, kLongest16);
}

int64_t gemm_chain_length(const GemmDesc& desc) {
  return ceil_div(std::max<int64_t>(desc.k, 1), gemm_chains_of(desc));
}

bool gemm_needs_no_workspace(const GemmChoice& choice, const GemmDesc& desc) {
  return !choice.has(kGemmStreamK) || (choice.split == 1 && gemm_chains_of(desc) == 1);
}

int64_t gemm_tiles_together(const GemmChoice& choice, const GemmDesc& seen) {
  const bool blocks = choice.has(kGemmScaled) && choice.has(kGemmStreamK) && seen.d_quantize.any();
  return blocks && seen.epilogue.gate != Gate::none ? 2 : 1;
}

int64_t gemm_units_m(const GemmChoice& choice, const GemmDesc& seen, int64_t m) {
  const KernelEntry& entry = *choice.entry;
  return round_up(ceil_div(m, entry.tile[0] * entry.cluster[0]), gemm_tiles_together(choice, seen));
}

int64_t gemm_ring_bytes(const GemmChoice& choice, const GemmDesc& seen, const GemmTile& tile,
                        int64_t width) {
  const int64_t parked = gemm_tiles_together(choice, seen) > 1 ? kGemmParkedBytes * width : 0;
  return gemm_shared(tile).d_offset - parked;
}

int64_t gemm_tile_columns(const GemmChoice& choice, const GemmDesc& seen, int64_t n) {
  return choice.has(kGemmStreamK) ? kGemmWidths[width_number(choice, seen, n)]
                                  : choice.entry->tile[1];
}

GemmShares gemm_shares(const GemmChoice& choice, const GemmDesc& seen, int64_t m, int64_t n,
                       int64_t at_once, const uint32_t* clusters) {
  GemmShares s;
  const KernelEntry& entry = *choice.entry;
  s.width_number = width_number(choice, seen, n);
  s.width = kGemmWidths[s.width_number];
  s.together = gemm_tiles_together(choice, seen);
  s.units_m = gemm_units_m(choice, seen, m);
  s.units_n = ceil_div(n, s.width * entry.cluster[1]);
  s.batch = std::max<int64_t>(seen.batch, 1);
  s.depth = s.k_blocks = std::max<int64_t>(ceil_div(seen.k, entry.tile[2]), 1);
  s.chain = ceil_div(gemm_chain_length(seen), entry.tile[2]);
  if (!join(choice, at_once, clusters, &s)) share_rest(choice, at_once, &s);
  return s;
}

int64_t gemm_max_workspace_bytes(const GemmChoice& choice, int64_t rows, int64_t at_once) {
  const KernelEntry& entry = *choice.entry;
  const int64_t width =
      std::min<int64_t>(entry.tile[1], round_up(ceil_div(rows, entry.cluster[1]), 32));
  return gemm_stream_counter_bytes(static_cast<u32>(at_once), choice.cluster()) +
         at_once * 2 * choice.cluster() *
             gemm_stream_tile_bytes(static_cast<u32>(entry.tile[0]), static_cast<u32>(width));
}

void GemmShares::share_nothing(int64_t at_once) {
  whole = units();
  clusters = std::clamp<int64_t>(units() / together, 1, at_once);
  joined = 0;
}

int64_t GemmShares::joined_bytes(const GemmChoice& choice) const {
  if (joined == 0) return 0;
  return gemm_joined_bytes(static_cast<u32>(choice.entry->tile[0]), static_cast<i32>(width),
                           static_cast<i32>(joined));
}

int64_t GemmShares::parts() const {
  if (shared() == 0) return 1;
  return depth % share == 0 ? depth / share : (depth - 2) / share + 2;
}

int64_t GemmShares::counter_bytes(uint32_t cluster) const {
  return gemm_stream_counter_bytes(static_cast<u32>(shared()), cluster);
}

int64_t GemmShares::workspace_bytes(const GemmChoice& choice) const {
  if (joined > 0 || (shared() == 0 && k_blocks <= chain)) return 0;
  return counter_bytes(choice.cluster()) +
         clusters * 2 * choice.cluster() *
             gemm_stream_tile_bytes(static_cast<u32>(choice.entry->tile[0]),
                                    static_cast<u32>(width));
}

}  // namespace tw
