// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/select/gemm_shares.hpp"

#include <algorithm>
#include <iterator>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm_stream.h"

namespace tw {
namespace {

// Even shares divide the k blocks of all units without regard to where a unit ends. Aligned shares
// divide each unit into the same number of shares, so that none crosses into the next unit. Aligned
// shares leave some workers idle, but all workers read the same k at the same time, which helps the
// L2, and each has a part of one unit only. So aligned shares may be longer than even ones by this
// factor.
constexpr double kMaxAlignedExcess = 1.06;

// A share can end one unit and begin another, so a worker stores up to two partial results.
constexpr int64_t kPartsPerWorker = 2;

// A number of columns rounded up to this is at least the width of a tile that holds them. Tiles
// whose rows are tokens have whole pieces of 64 columns, which the TMA stores and which have one
// scale each.
int64_t width_step(const GemmChoice& choice) {
  return choice.streams_rows() ? 64 : 32;
}

uint32_t width_index(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t n) {
  const int64_t columns = std::max<int64_t>(n, 1), cluster = choice.entry->cluster[1];
  const int32_t max_width = gemm_tiles_together(choice, kernel_desc) > 1
                                ? std::min(choice.entry->tile[1], kGemmMaxHeldColumns)
                                : choice.entry->tile[1];
  const int64_t tiles = ceil_div(columns, max_width * cluster);
  int64_t wanted = ceil_div(columns, tiles * cluster);
  if (choice.streams_rows()) wanted = round_up(wanted, width_step(choice));
  return static_cast<uint32_t>(
      std::lower_bound(std::begin(kGemmWidths), std::end(kGemmWidths), wanted) -
      std::begin(kGemmWidths));
}

// Divides the units that remain after complete waves into even or aligned shares.
void share_rest(const GemmChoice& choice, int64_t resident_clusters, GemmShares* s) {
  const int64_t rest = s->units() % resident_clusters;
  const int64_t even = std::max<int64_t>(ceil_div(rest * s->k_blocks, resident_clusters),
                                         ceil_div(s->k_blocks, int64_t{choice.split}));
  const int64_t aligned = ceil_div(s->k_blocks, s->k_blocks / even);
  if (rest == 0 || aligned == s->k_blocks) return s->share_nothing(resident_clusters);
  s->whole_units = s->units() - rest;
  s->share = even;
  if (static_cast<double>(aligned) <= static_cast<double>(even) * kMaxAlignedExcess) {
    s->share = aligned;
    s->depth = round_up(s->k_blocks, aligned);
  }
  s->workers = s->whole_units > 0 ? resident_clusters : ceil_div(rest * s->depth, s->share);
}

// The most shared memory of a CTA for adding up the parts of a unit whose CTAs are joined. The rest
// holds three stages of the widest tile.
constexpr int64_t kMaxJoinedBytes = 80 << 10;

// Joins the CTAs that share a unit, which means that they form a cluster. Returns false if the
// kernel cannot do that (stream_is_joined() in stream_join.cuh), or if not all clusters could run
// at the same time. `clusters` is as in gemm_shares().
bool join_ctas(const GemmChoice& choice, int64_t resident_clusters, const uint32_t* clusters,
               GemmShares* s) {
  const bool can_join = choice.cluster() == 1 && s->tiles_together == 1 &&
                        choice.has(kGemmSwapAB) && choice.entry->dtypes[0] != DType::I8;
  if (!can_join) return false;
  const int64_t max_parts = std::min(
      {int64_t{choice.split}, s->k_blocks, resident_clusters / std::max<int64_t>(s->units(), 1)});
  for (int64_t parts = max_parts; parts > 1; --parts) {
    s->share = ceil_div(s->k_blocks, parts);
    s->joined = ceil_div(s->k_blocks, s->share);
    // A share of several accumulation chains would need the workspace to add them.
    if (s->share > s->chain_blocks) break;
    if (s->units() <= clusters[s->joined] && s->joined_bytes(choice) <= kMaxJoinedBytes) {
      s->depth = s->joined * s->share;
      s->whole_units = 0;
      s->workers = s->units() * s->joined;
      return true;
    }
  }
  s->share = 1;
  s->joined = 0;
  return false;
}

}  // namespace

int32_t gemm_required_chains(const GemmDesc& desc) {
  constexpr int32_t kMaxLengthForF16 = 16384;
  // For 8-bit floats the caller chooses the length of chains (TW_GEMM_FAST_ACCUMULATE); integer
  // accumulators are exact.
  if (desc.is_narrow() && desc.a_dtype != DType::TF32) return 1;
  return desc.d_dtype == DType::F32 ? gemm_chain_count(desc.k)
                                    : gemm_chain_count(desc.k, kMaxLengthForF16);
}

int64_t gemm_chain_length(const GemmDesc& desc) {
  return ceil_div(std::max<int64_t>(desc.k, 1), gemm_required_chains(desc));
}

bool gemm_needs_no_workspace(const GemmChoice& choice, const GemmDesc& desc) {
  return !choice.has(kGemmStreamK) || (choice.split == 1 && gemm_required_chains(desc) == 1);
}

int64_t gemm_tiles_together(const GemmChoice& choice, const GemmDesc& kernel_desc) {
  const bool quantizes_d =
      choice.has(kGemmNarrow) && choice.has(kGemmStreamK) && kernel_desc.d_quantize.any();
  // With a gate, the 128 columns of D that have a scale in common come from two tiles.
  return quantizes_d && kernel_desc.epilogue.gate != Gate::none ? 2 : 1;
}

int64_t gemm_units_m(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m) {
  const KernelEntry& entry = *choice.entry;
  return round_up(ceil_div(m, entry.tile[0] * entry.cluster[0]),
                  gemm_tiles_together(choice, kernel_desc));
}

int64_t gemm_pipeline_bytes(const GemmChoice& choice, const GemmDesc& kernel_desc,
                            const GemmTile& tile, int64_t width) {
  const int64_t gated_bytes =
      gemm_tiles_together(choice, kernel_desc) > 1 ? kGemmHeldColumnBytes * width : 0;
  return gemm_shared(tile).d_offset - gated_bytes;
}

int64_t gemm_tile_columns(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t n) {
  return choice.has(kGemmStreamK) ? kGemmWidths[width_index(choice, kernel_desc, n)]
                                  : choice.entry->tile[1];
}

GemmShares gemm_shares(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m, int64_t n,
                       int64_t resident_clusters, const uint32_t* clusters) {
  GemmShares s;
  const KernelEntry& entry = *choice.entry;
  s.width_index = width_index(choice, kernel_desc, n);
  s.width = kGemmWidths[s.width_index];
  s.tiles_together = gemm_tiles_together(choice, kernel_desc);
  s.units_m = gemm_units_m(choice, kernel_desc, m);
  s.units_n = ceil_div(n, s.width * entry.cluster[1]);
  s.batch = std::max<int64_t>(kernel_desc.batch, 1);
  s.depth = s.k_blocks = std::max<int64_t>(ceil_div(kernel_desc.k, entry.tile[2]), 1);
  s.chain_blocks = ceil_div(gemm_chain_length(kernel_desc), entry.tile[2]);
  if (!join_ctas(choice, resident_clusters, clusters, &s))
    share_rest(choice, resident_clusters, &s);
  return s;
}

int64_t gemm_max_workspace_bytes(const GemmChoice& choice, int64_t rows,
                                 int64_t resident_clusters) {
  const KernelEntry& entry = *choice.entry;
  const int64_t width = std::min<int64_t>(
      entry.tile[1], round_up(ceil_div(rows, entry.cluster[1]), width_step(choice)));
  return gemm_stream_counter_bytes(static_cast<u32>(resident_clusters), choice.cluster()) +
         resident_clusters * kPartsPerWorker * choice.cluster() *
             gemm_stream_tile_bytes(static_cast<u32>(entry.tile[0]), static_cast<u32>(width));
}

void GemmShares::share_nothing(int64_t resident_clusters) {
  whole_units = units();
  workers = std::clamp<int64_t>(units() / tiles_together, 1, resident_clusters);
  joined = 0;
}

int64_t GemmShares::joined_bytes(const GemmChoice& choice) const {
  if (joined == 0) return 0;
  return gemm_joined_bytes(static_cast<u32>(choice.entry->tile[0]), static_cast<i32>(width),
                           static_cast<i32>(joined));
}

int64_t GemmShares::max_parts() const {
  if (divided_units() == 0) return 1;
  // Of even shares, the first and the last that reach into a unit may have only one k block in it.
  return depth % share == 0 ? depth / share : (depth - 2) / share + 2;
}

int64_t GemmShares::counter_bytes(uint32_t cluster) const {
  return gemm_stream_counter_bytes(static_cast<u32>(divided_units()), cluster);
}

int64_t GemmShares::workspace_bytes(const GemmChoice& choice) const {
  if (joined > 0 || (divided_units() == 0 && k_blocks <= chain_blocks)) return 0;
  return counter_bytes(choice.cluster()) +
         workers * kPartsPerWorker * choice.cluster() *
             gemm_stream_tile_bytes(static_cast<u32>(choice.entry->tile[0]),
                                    static_cast<u32>(width));
}

}  // namespace tw
