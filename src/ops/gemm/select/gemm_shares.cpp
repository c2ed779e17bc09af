// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/select/gemm_shares.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm_stream.h"

namespace tw {
namespace {

// The k blocks of the divided units are divided into even or aligned shares. Even shares divide the
// k blocks of all these units as one sequence, so a share can end one unit and begin the next.
// Aligned shares divide each unit separately. They leave some workers idle, but each worker
// multiplies a part of only one unit. Besides, workers with the same position in different units
// read the same k at the same time, which helps the L2. Aligned shares are used if they are longer
// than even ones by at most this factor.
constexpr double kMaxAlignedExcess = 1.3;

// Each tile of a divided unit has a counter (counter_bytes()), in which 12 bits say which of the
// CTAs that multiply parts of the tile are waiting (stream_slices.cuh). A unit, and so each of its
// tiles, has at most one part more than the stream-K factor (max_parts()). The largest stream-K
// factor is kMaxCluster (GemmRanking).
static_assert(kMaxCluster + 1 <= 12);

// An even share can end one unit and begin the next, so a worker stores up to two parts.
constexpr int64_t kPartsPerWorker = 2;

// Rounding a number of columns up to a multiple of this step never gives less than the width that
// widest_index() chooses for them. In kernels for narrow types without swap-AB, tiles must consist
// of pieces of 64 columns: the TMA stores one piece at a time, and the kernel reads one scale of B
// (TW_SCALE_128X128) for all columns of a piece.
int64_t width_step(const GemmChoice& choice) {
  return choice.is_scaled_rowstream() ? 64 : 32;
}

// Whether tiles may have this width. The CTAs of a cluster along m each load an equal part of a
// tile's columns, which must be a multiple of 8, the lines of a swizzle pattern.
bool suits_cluster(const GemmChoice& choice, int32_t width) {
  return width % (8 * choice.cluster_m()) == 0;
}

// The width of the widest tiles that a run uses, as an index in kGemmWidths: the narrowest width
// with which n columns need no more tiles than with the largest width that the kernel supports.
uint32_t widest_index(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t n) {
  const int64_t columns = std::max<int64_t>(n, 1), cluster = choice.cluster_n();
  // If the elements of a tile are held until the next one is multiplied, they take shared memory,
  // which limits the width.
  const int32_t max_width = gemm_consecutive_tiles(choice, kernel_desc) > 1
                                ? std::min(choice.entry->tile[1], kGemmMaxHeldColumns)
                                : choice.entry->tile[1];
  const int64_t tiles = ceil_div(columns, max_width * cluster);
  int64_t wanted = ceil_div(columns, tiles * cluster);
  if (choice.is_scaled_rowstream()) wanted = round_up(wanted, width_step(choice));
  auto index = static_cast<uint32_t>(
      std::lower_bound(std::begin(kGemmWidths), std::end(kGemmWidths), wanted) -
      std::begin(kGemmWidths));
  while (!suits_cluster(choice, kGemmWidths[index])) ++index;  // the widest one does
  return index;
}

// Divides the units that remain after complete waves into even or aligned shares.
void share_rest(const GemmChoice& choice, int64_t resident_clusters, GemmShares* s) {
  const int64_t rest = s->units() % resident_clusters;
  // choice.split is the stream-K factor. A share has at least k_blocks / choice.split k blocks,
  // which limits the number of parts of a unit.
  const int64_t even = std::max<int64_t>(ceil_div(rest * s->k_blocks, resident_clusters),
                                         ceil_div(s->k_blocks, int64_t{choice.split}));
  // A unit gets as many aligned shares as whole even shares fit into it.
  const int64_t aligned = ceil_div(s->k_blocks, s->k_blocks / even);
  if (rest == 0 || aligned == s->k_blocks) return s->divide_no_unit(resident_clusters);
  s->whole_units = s->units() - rest;
  s->share = even;
  if (static_cast<double>(aligned) <= static_cast<double>(even) * kMaxAlignedExcess) {
    s->share = aligned;
    // A unit must begin with a share, so the last share of the previous unit is filled up with k
    // blocks that are empty.
    s->padded_k_blocks = round_up(s->k_blocks, aligned);
  }
  s->workers =
      s->whole_units > 0 ? resident_clusters : ceil_div(rest * s->padded_k_blocks, s->share);
}

// The most shared memory of a joined CTA that may be used to add up the parts of a unit. The rest
// holds three stages of the widest tile.
constexpr int64_t kMaxJoinedBytes = 80 << 10;

// Joins the CTAs that multiply a unit into a cluster. Returns false if the kernel cannot do that,
// or if no number of CTAs per unit meets three conditions: all clusters run at the same time, the
// parts fit into kMaxJoinedBytes of shared memory, and a share is no longer than one accumulation
// chain if the kernel adds chains in the workspace. `clusters` is the argument of gemm_shares().
bool join_ctas(const GemmChoice& choice, int64_t resident_clusters, const uint32_t* clusters,
               GemmShares* s) {
  // A joined CTA multiplies only one tile. The other conditions are those of stream_is_joined() in
  // stream_join.cuh.
  const bool can_join = choice.cluster() == 1 && s->consecutive_tiles == 1 &&
                        choice.has(kGemmSwapAB) && choice.shares_last_addition();
  if (!can_join) return false;
  const int64_t max_parts = std::min(
      {int64_t{choice.split}, s->k_blocks, resident_clusters / std::max<int64_t>(s->units(), 1)});
  for (int64_t parts = max_parts; parts > 1; --parts) {
    s->share = ceil_div(s->k_blocks, parts);
    s->joined = ceil_div(s->k_blocks, s->share);
    // Joined CTAs have no workspace, so a kernel that adds chains in the workspace cannot multiply
    // shares of several chains. Fewer parts would only make shares longer.
    if (s->share > s->chain_blocks && !choice.stream_parks_chains()) break;
    if (s->units() <= clusters[s->joined] && s->joined_bytes(choice) <= kMaxJoinedBytes) {
      s->padded_k_blocks = s->joined * s->share;
      s->whole_units = 0;
      s->workers = s->units() * s->joined;
      return true;
    }
  }
  s->share = 1;
  s->joined = 0;
  return false;
}

// Sets the members of *s that depend on the width of tiles.
void divide(const GemmChoice& choice, int64_t n, uint32_t width_index, int64_t resident_clusters,
            const uint32_t* clusters, GemmShares* s) {
  s->width_index = width_index;
  s->width = kGemmWidths[width_index];
  s->units_n = ceil_div(n, s->width * choice.cluster_n());
  s->padded_k_blocks = s->k_blocks;
  s->share = 1;
  s->joined = 0;
  if (!join_ctas(choice, resident_clusters, clusters, s)) share_rest(choice, resident_clusters, s);
}

// Narrower tiles than the widest are considered up to this number of units for each worker. With
// more units, the last wave matters less than the loads that wide tiles save.
constexpr double kMaxWaves = 16;
// Narrower tiles are considered only if a CTA then multiplies at most this fraction of the columns.
constexpr double kFewerColumns = 0.98;
// No tile of fewer columns was ever the fastest where wider ones were possible.
constexpr int32_t kMinWidth = 64;

// Whether tiles may be narrower than the widest. Narrower tiles were never faster in kernels that
// add the accumulators of each k block outside the tensor cores.
bool takes_narrower(const GemmChoice& choice) {
  const bool promotes = choice.has(kGemmNarrow) && !choice.has(kGemmNoPromotion);
  return choice.has(kGemmStreamK) && !promotes && !choice.is_scaled_rowstream();
}

// The width of a run's tiles, as an index in kGemmWidths.
uint32_t width_index(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t n) {
  const uint32_t widest = widest_index(choice, kernel_desc, n);
  if (choice.width == 0) return widest;
  auto index = std::min(widest, static_cast<uint32_t>(gemm_width_index(choice.width)));
  while (!suits_cluster(choice, kGemmWidths[index])) ++index;
  return index;
}

}  // namespace

int32_t gemm_required_chains(const GemmDesc& desc) {
  // The largest k for which a single chain suffices, because its error does not show in a D of this
  // type. With c chains the error is c times smaller, so each of several chains may be longer.
  constexpr int32_t kMaxSingleChainF16 = 16384, kMaxSingleChainBF16 = 8 * kMaxSingleChainF16;
  // For 8-bit floats the caller chooses the length of chains (TW_GEMM_FAST_ACCUMULATE); integer
  // accumulators are exact.
  if (desc.is_narrow() && desc.a_dtype != DType::TF32) return 1;
  if (desc.d_dtype == DType::F32) return gemm_chain_count(desc.k);
  return gemm_chain_count(desc.k,
                          desc.d_dtype == DType::BF16 ? kMaxSingleChainBF16 : kMaxSingleChainF16);
}

int64_t gemm_chain_length(const GemmDesc& desc) {
  return ceil_div(std::max<int64_t>(desc.k, 1), gemm_required_chains(desc));
}

bool gemm_needs_no_workspace(const GemmChoice& choice, const GemmDesc& desc) {
  return !choice.has(kGemmStreamK) ||
         (choice.split == 1 && (choice.stream_parks_chains() || gemm_required_chains(desc) == 1));
}

int64_t gemm_consecutive_tiles(const GemmChoice& choice, const GemmDesc& kernel_desc) {
  const bool quantizes_d =
      choice.has(kGemmNarrow) && choice.has(kGemmStreamK) && kernel_desc.d_quantize.any();
  // With a gate, the 128 columns of D that have a scale in common come from two tiles.
  return quantizes_d && kernel_desc.epilogue.gate != Gate::none ? 2 : 1;
}

int64_t gemm_units_m(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m) {
  const KernelEntry& entry = *choice.entry;
  return round_up(ceil_div(m, entry.tile[0] * choice.cluster_m()),
                  gemm_consecutive_tiles(choice, kernel_desc));
}

int64_t gemm_pipeline_bytes(const GemmChoice& choice, const GemmDesc& kernel_desc,
                            const GemmTile& tile, int64_t width) {
  // The stages of the pipeline come first, then elements of a gated D that are held until the next
  // tile is multiplied, then the slabs of D.
  const int64_t held_bytes =
      gemm_consecutive_tiles(choice, kernel_desc) > 1 ? kGemmHeldColumnBytes * width : 0;
  return gemm_shared(tile).d_offset - held_bytes;
}

int64_t gemm_tile_width(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t n) {
  return choice.has(kGemmStreamK) ? kGemmWidths[width_index(choice, kernel_desc, n)]
                                  : choice.entry->tile[1];
}

bool gemm_width_is_possible(const GemmChoice& choice) {
  return choice.width == 0 || (takes_narrower(choice) && choice.width <= choice.entry->tile[1] &&
                               suits_cluster(choice, choice.width));
}

GemmNarrower gemm_next_width(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m,
                             int64_t n, int64_t resident_clusters, double most) {
  if (!takes_narrower(choice) || gemm_consecutive_tiles(choice, kernel_desc) > 1) return {};
  const double all_columns = static_cast<double>(n) / choice.cluster_n();
  const double units_per_column_tile = static_cast<double>(gemm_units_m(choice, kernel_desc, m)) *
                                       std::max(1.0, static_cast<double>(kernel_desc.batch)) /
                                       static_cast<double>(resident_clusters);
  const double factor = choice.split;
  // The columns that a CTA multiplies all of k of. With a stream-K factor above 1, the last units
  // are divided among all workers, but into no more parts than the factor.
  const auto columns = [&](uint32_t index) {
    const double width = kGemmWidths[index];
    const double waves = units_per_column_tile * std::ceil(all_columns / width);
    return width * (factor == 1 ? std::ceil(waves) : std::max(waves, 1 / factor));
  };
  uint32_t index = width_index(choice, kernel_desc, n);
  const double now = columns(index), limit = now * std::min(most, kFewerColumns);
  const bool is_empty = m == 0 || n == 0;
  if (is_empty || units_per_column_tile * all_columns > limit ||
      now > kMaxWaves * kGemmWidths[index])
    return {};
  const auto narrower = [&](uint32_t from) {
    do --from;
    while (from > 0 && !suits_cluster(choice, kGemmWidths[from]));
    return from;
  };
  while (kGemmWidths[index] > kMinWidth) {
    index = narrower(index);
    const double fewer = columns(index);
    if (fewer > limit) continue;
    if (kGemmWidths[index] == kMinWidth || columns(narrower(index)) >= fewer)
      return {.width = kGemmWidths[index], .columns = fewer / now};
  }
  return {};
}

GemmShares gemm_shares(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m, int64_t n,
                       int64_t resident_clusters, const uint32_t* clusters) {
  GemmShares s;
  const KernelEntry& entry = *choice.entry;
  s.consecutive_tiles = gemm_consecutive_tiles(choice, kernel_desc);
  s.units_m = gemm_units_m(choice, kernel_desc, m);
  s.batch = std::max<int64_t>(kernel_desc.batch, 1);
  s.k_blocks = std::max<int64_t>(ceil_div(kernel_desc.k, entry.tile[2]), 1);
  s.chain_blocks = ceil_div(gemm_chain_length(kernel_desc), entry.tile[2]);
  divide(choice, n, width_index(choice, kernel_desc, n), resident_clusters, clusters, &s);
  return s;
}

int64_t gemm_max_workspace_bytes(const GemmChoice& choice, int64_t columns,
                                 int64_t resident_clusters) {
  const KernelEntry& entry = *choice.entry;
  const int64_t width = std::min<int64_t>(
      entry.tile[1], round_up(ceil_div(columns, choice.cluster_n()), width_step(choice)));
  return gemm_stream_counter_bytes(static_cast<u32>(resident_clusters), choice.cluster()) +
         resident_clusters * kPartsPerWorker * choice.cluster() *
             gemm_stream_tile_bytes(static_cast<u32>(entry.tile[0]), static_cast<u32>(width));
}

void GemmShares::divide_no_unit(int64_t resident_clusters) {
  whole_units = units();
  workers = std::clamp<int64_t>(units() / consecutive_tiles, 1, resident_clusters);
  joined = 0;
}

int64_t GemmShares::joined_bytes(const GemmChoice& choice) const {
  if (joined == 0) return 0;
  return gemm_joined_bytes(static_cast<u32>(choice.entry->tile[0]), static_cast<i32>(width),
                           static_cast<i32>(joined));
}

int64_t GemmShares::max_parts() const {
  if (divided_units() == 0) return 1;
  // In the worst case, the first and the last of the even shares in a unit have only one of its k
  // blocks each.
  return padded_k_blocks % share == 0 ? padded_k_blocks / share : (padded_k_blocks - 2) / share + 2;
}

int64_t GemmShares::counter_bytes(uint32_t cluster) const {
  return gemm_stream_counter_bytes(static_cast<u32>(divided_units()), cluster);
}

int64_t GemmShares::workspace_bytes(const GemmChoice& choice) const {
  const bool adds_chains = k_blocks > chain_blocks && !choice.stream_parks_chains();
  if (joined > 0 || (divided_units() == 0 && !adds_chains)) return 0;
  return counter_bytes(choice.cluster()) +
         workers * kPartsPerWorker * choice.cluster() *
             gemm_stream_tile_bytes(static_cast<u32>(choice.entry->tile[0]),
                                    static_cast<u32>(width));
}

}  // namespace tw
