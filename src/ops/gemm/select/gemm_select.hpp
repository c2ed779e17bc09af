// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernel selection for GEMM: pure host code that needs no GPU.
//
// A choice is a kernel entry, a split-K factor and, for most stream-K kernels, the shape of a
// cluster and the width of tiles. Its text is the kernel's symbol, followed by "/<factor>" for
// split-K and stream-K kernels, by "/<m>x<n>" for clusters of several CTAs that the kernel's name
// does not give, and by "/w<columns>" for tiles that are narrower than the widest. A candidate is a
// choice that can serve a problem, with its predicted or measured time. GemmRanking holds all
// choices for a problem and ranks them for any m. `kernel_problem` and `kernel_desc` are always the
// problem and description as the kernel sees them: for swap-AB kernels the operands are exchanged,
// see gemm_kernel_view(). Kernels without tensor maps (kGemmNoMaps) are also called mma.sync
// kernels, although the short-k kernels among them (kGemmShort) use no tensor cores.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/table/kernel_table.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/gemm/select/gemm_chip.hpp"
#include "runtime/device.hpp"

namespace tw {

class GemmTuning;
struct GemmTuningKey;

/// Blocks per SM of kernels without tensor maps: of those without split-K, and of those with it.
inline constexpr uint32_t kGemmNoMapsBlocksPerSm = 4, kGemmNoMapsSplitBlocksPerSm = 2;

/// A kernel entry and its split-K factor: how many blocks share each tile along k (1 without
/// split-K). A stream-K kernel has a stream-K factor instead: 1, 2, 4 or 8. In a cluster it is 1 or
/// 8: with the others the fastest kernel of 260 products was at most 1 % faster (H200, 2026-11-27).
/// With a factor of 1 no tile is divided along k. Otherwise a share of k blocks has at least the k
/// blocks of a tile divided by the factor, so a tile has at most factor + 1 parts
/// (GemmShares::max_parts()).
///
/// Stream-K kernels, except those for narrow types, run in clusters of any shape: `cluster_shape`
/// has the CTAs of a cluster along m and n. Of other kernels the entry gives the shape, and
/// cluster_shape is 1 x 1.
///
/// `width` limits the columns of a stream-K kernel's tiles. If it is 0, the tiles of a run are as
/// wide as possible.
struct GemmChoice {
  const KernelEntry* entry = nullptr;
  uint32_t split = 1;
  uint8_t cluster_shape[2] = {1, 1};
  uint16_t width = 0;  // one of kGemmWidths, or 0

  bool has(uint32_t variant_bit) const { return (entry->variant & variant_bit) != 0; }
  bool uses_maps() const { return !has(kGemmNoMaps); }
  /// Whether the kernel is a stream-K kernel for narrow types without swap-AB. These serve a large
  /// m. They write D in pieces of 64 columns, and lack gates and scales of D.
  bool is_scaled_rowstream() const {
    return has(kGemmStreamK) && has(kGemmNarrow) && !has(kGemmSwapAB);
  }
  /// Whether the kernel is a split-K kernel for narrow types. These serve few rows. They lack
  /// gates, batches and scales of D.
  bool is_narrow_split() const { return gemm_is_narrow_split(entry->variant); }
  /// Whether a cluster computes several units, one after the other. Most split-K kernels launch a
  /// cluster for each unit instead.
  bool is_persistent() const { return !has(kGemmSplit) || (is_narrow_split() && split == 1); }
  /// Whether `split` is a factor that a stream-K kernel may have.
  bool has_stream_k_factor() const {
    const bool shares_loads = cluster_shape[0] * cluster_shape[1] > 1;
    return split == 1 || split == 8 || (!shares_loads && (split == 2 || split == 4));
  }
  bool divides_k_among_ctas() const { return has(kGemmSplit | kGemmStreamK); }
  /// Smallest valid split-K factor. Split-K kernels with an epilogue or without maps also run with
  /// a factor of 1.
  uint32_t min_split() const {
    return has(kGemmSplit) && !has(kGemmEpilogue | kGemmNoMaps) ? 2 : 1;
  }
  /// Whether each CTA divides a long k into accumulation chains. A chain is a stretch of k that is
  /// summed in one set of accumulators; see gemm_chain_count for why its length is bounded.
  bool divides_k_into_chains() const {
    return uses_maps() && entry->feature != feature::host && !divides_k_among_ctas() &&
           !has(kGemmEpilogue) && entry->dtypes[1] == DType::F32;
  }
  /// A kernel that divides k into chains adds them in one of three ways. The first way keeps the
  /// accumulators of a second chain in registers.
  bool keeps_whole_chains() const {
    return divides_k_into_chains() &&
           gemm_keeps_chains(static_cast<u32>(entry->tile[0]), static_cast<u32>(entry->tile[1]),
                             entry->variant);
  }
  /// The second way parks the upper 16 bits of each accumulator: it keeps them in registers until
  /// the next chain is added. It requires that the TMA writes all of D.
  bool parks_upper_16_bits() const {
    return divides_k_into_chains() &&
           gemm_parks_chains(static_cast<u32>(entry->tile[0]), static_cast<u32>(entry->tile[1]),
                             entry->variant);
  }
  /// The third way writes D once per chain, and adds all chains but the first to what D holds.
  bool adds_chains_in_d() const {
    return divides_k_into_chains() && !keeps_whole_chains() && !parks_upper_16_bits();
  }
  /// Whether a stream-K kernel adds the chains of a CTA in the second way. Other stream-K kernels
  /// add them in the workspace (Config::kStreamParksChains).
  bool stream_parks_chains() const {
    return has(kGemmStreamK) && !has(kGemmEpilogue) && entry->dtypes[1] != DType::BF16;
  }
  /// Whether several CTAs can add up and write a tile together. Kernels for integers lack the
  /// registers for that.
  bool shares_last_addition() const { return entry->dtypes[0] != DType::I8; }
  /// Whether cluster_shape may differ from 1 x 1.
  bool takes_any_cluster() const { return has(kGemmStreamK) && !has(kGemmNarrow); }
  /// CTAs along m, and along n, that share their loads. CTAs along n have the same rows of A.
  int32_t cluster_m() const { return cluster_along(0); }
  int32_t cluster_n() const { return cluster_along(1); }
  int32_t cluster_along(int dimension) const {  // 0: m, 1: n
    return entry->cluster[dimension] * cluster_shape[dimension];
  }
  uint32_t cluster() const {
    return static_cast<uint32_t>(cluster_m() * cluster_n()) * (has(kGemmSplit) ? split : 1);
  }
  /// Fewest SMs that can hold one cluster.
  uint32_t min_sms() const {
    const uint32_t blocks = uses_maps() ? 1 : kGemmNoMapsSplitBlocksPerSm;
    return (cluster() + blocks - 1) / blocks;
  }
  bool operator==(const GemmChoice& other) const {
    return entry == other.entry && split == other.split && width == other.width &&
           std::equal(cluster_shape, cluster_shape + 2, other.cluster_shape);
  }
};

/// The shapes of clusters that cluster_shape may have.
inline constexpr uint8_t kGemmClusterShapes[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2},
                                                    {4, 1}, {1, 4}, {4, 2}, {2, 4}};

/// Smallest pitch of A, in elements, for split-K kernels without maps. They load aligned 16 bytes
/// at a time, which can reach outside A if the pitch is smaller.
inline constexpr int64_t kGemmNoMapsSplitMinPitch = 7;

/// The pitch to compare with kGemmNoMapsSplitMinPitch. With staging copies lda may be the pitch of
/// a copy, but these kernels read the caller's A, whose pitch is only known to be at least k.
inline int64_t gemm_pitch_without_copy(const GemmDesc& kernel_desc) {
  return kernel_desc.staging_copy ? std::min(kernel_desc.lda, kernel_desc.k) : kernel_desc.lda;
}

/// The part of a chip that a plan may use.
struct GemmChip {
  uint32_t sms = 1;
  uint32_t clusters[kMaxCluster + 1] = {};  // clusters that run at once, by their size in blocks
  uint32_t no_maps_blocks = 1;              // blocks that run at once, of kernels without maps
  uint32_t no_maps_split_blocks = 1;        // blocks that run at once, of those with split-K
  GemmRates rates;

  /// For the device's context and at most max_sms SMs (0: all). Until query_cluster_occupancy() has
  /// asked the driver, assumes that clusters of every size can fill the SMs.
  static GemmChip of(const Device& device, uint32_t max_sms);
  /// How many clusters of a choice run at the same time; 0 if it cannot run.
  uint32_t resident_clusters(const GemmChoice& choice) const {
    const uint32_t by_sms = clusters[choice.min_sms()];
    if (choice.uses_maps()) return by_sms;
    if (!choice.has(kGemmSplit)) return no_maps_blocks;
    return std::min(std::max(1u, no_maps_split_blocks / choice.cluster()), by_sms);
  }
};

/// Asks the driver, once per device, how many clusters of each size run concurrently. Does nothing
/// on a device that runs no kernel with clusters.
Status query_cluster_occupancy(Device& device);

/// The parts of the modeled time, in nanoseconds. Tensor cores, memory and L2 loads overlap, so
/// `total` adds a softened maximum of these three to the other parts. `launch` includes the loads
/// of the first k block.
struct GemmTerms {
  double units = 0;  // work units: the tile or tiles that one cluster computes together
  double launch = 0, tensor = 0, memory = 0, l2 = 0, epilogue = 0, copies = 0, total = 0;
};

struct GemmCandidate {
  GemmChoice choice;
  double nanoseconds = 0;
  double waves = 0;  // work units divided by the number of clusters that run at once
  GemmTerms terms;
  bool measured = false;  // whether `nanoseconds` was measured; `terms` are always the model's
};

std::string gemm_choice_text(const GemmChoice& choice);
/// Inverse of gemm_choice_text(). Fails, naming `argument`, if the table has no such kernel.
Status parse_gemm_choice(const char* argument, const char* text, GemmChoice* out);

/// The work units into which the kernel divides a problem; 0 if the problem is empty.
int64_t gemm_count_units(const GemmChoice& choice, const GemmProblem& kernel_problem);
/// Most work units of one launch. Two numbers must fit 31 bits: the blocks of the grid, and the
/// unit index at which a block finds that no unit is left for it. That index exceeds the block's
/// last unit by the number of units with split-K, and in persistent kernels by the number of
/// clusters that run at once, doubled for ping-pong; 2^16 exceeds that on any chip.
inline int64_t gemm_max_units(const GemmChoice& choice) {
  if (choice.has(kGemmSplit)) return INT32_MAX / std::max(2u, choice.cluster());
  return INT32_MAX - (1 << 16);
}

GemmCandidate gemm_candidate(const GemmChoice& choice, const GemmProblem& kernel_problem,
                             const GemmChip& chip);

/// The problem as the kernel of a choice sees it: with operands swapped for swap-AB kernels.
GemmProblem gemm_kernel_view(const GemmChoice& choice, const GemmProblem& problem);

/// Whether a kernel is for the description's types. Host kernels take every type.
bool gemm_types_fit(const KernelEntry& entry, const GemmDesc& desc);

/// Why a choice cannot serve a problem; check_gemm_choice() turns each into an error.
enum class GemmMisfit {
  none,
  feature,
  types,
  accumulators,
  orders,
  pitches,
  cluster,       // too few SMs for one cluster
  k,             // k is too small for the split-K factor, or too large for the kernel
  promises,      // a map needs promised alignments of addresses that only the device knows
  epilogue,      // the kernel has no epilogue, or does not support this gate
  scales,        // the kernel does not support these scales of A and B or of D
  d_map,         // the kernel writes D through a map only, and D does not suit one
  split_factor,  // the factor of a stream-K kernel must be 1, 2, 4 or 8, in a cluster 1 or 8
};

/// Whether a choice serves every run of a description, also runs that read C or give no workspace.
bool gemm_serves_every_run(const GemmChoice& choice, const GemmDesc& desc);

/// Why a choice cannot serve a problem, or none. The answer does not depend on m.
GemmMisfit gemm_misfit(const Device& device, const GemmProblem& kernel_problem,
                       const GemmChoice& choice);

/// Whether one launch can cover all work units. With split-K the grid has a cluster per unit,
/// except in kernels for narrow types with a factor of 1, so max_sms limits the units too.
bool gemm_fits_launch(const GemmChoice& choice, const GemmProblem& kernel_problem);

/// Smallest extent of a tile, in rows or columns, of any kernel.
inline constexpr int64_t kGemmMinTile = 8;

/// A cheap sufficient test: if true, GemmRanking::check_fits_launch() would succeed on a device
/// that has all kernels.
bool gemm_surely_fits_launch(const Device& device, const GemmProblem& problem);

/// The error for a problem with more work units than one launch of the choice can have.
Status too_many_gemm_units(const GemmChoice& choice, const GemmProblem& kernel_problem);

/// Fails with the reason, naming `candidate`, if a choice cannot serve a problem.
Status check_gemm_choice(const Device& device, const GemmProblem& problem,
                         const GemmChoice& choice);

/// The largest value in the step of m that contains m. Choices are ranked once per step, at its
/// end. Steps are 8 wide up to m = 512, 64 up to 8192, 256 up to 65536, then m / 32 to m / 16.
int64_t gemm_step_end(int64_t m);

/// How many blocks of a kernel without maps (`splits`: with split-K) run at the same time. With
/// max_sms it is max_sms at most, because the hardware fills idle SMs before any gets a second
/// block.
uint32_t gemm_no_maps_blocks(const Device& device, uint32_t max_sms, bool splits);

/// Whether a choice measured at `measured` rows serves runs of m rows. It serves the step of m
/// that contains `measured`. If that step ends at t, it also serves lower steps that end above
/// t - t / 8. Examples: 8 serves 1 to 8 rows, 4097 serves 3585 to 4160.
bool gemm_tuning_serves(int64_t measured, int64_t m);

/// All choices that can serve a problem, ranked for any m. m is the caller's number of rows.
class GemmRanking {
 public:
  /// `problem` comes from gemm_with_staging() or gemm_problem(). Entries of `tuning` overrule the
  /// cost model.
  GemmRanking(const Device& device, const GemmProblem& problem, const GemmTuning* tuning = nullptr);

  /// Candidates for m rows, best first; equal ones in table order. A measured choice comes first.
  std::vector<GemmCandidate> candidates(int64_t m) const;
  /// The first of candidates(m). If there is none, the choice has no kernel.
  GemmCandidate best(int64_t m) const;
  /// The best by the model among kernels without maps, which accept any address.
  GemmCandidate best_without_maps(int64_t m) const;
  /// The best by the model that serves every run of the description, see gemm_serves_every_run().
  GemmCandidate best_for_every_run(int64_t m) const;
  /// Fails if no choice can cover `rows` in one launch, or none of the choices on which a plan must
  /// be able to fall back.
  Status check_fits_launch(int64_t rows) const;
  /// The most rows in [m, last] that one launch of the choice can cover; it can cover m.
  int64_t last_that_fits(const GemmChoice& choice, int64_t m, int64_t last) const;
  /// Whether the choice can serve the problem for some m.
  bool has(const GemmChoice& choice) const;
  /// Whether a tuning entry serves the problem for some m.
  bool is_tuned() const { return !tuned_.empty(); }

 private:
  template <class Accepts>
  GemmCandidate best_accepted(int64_t m, Accepts accepts) const;
  bool fits_launch(const GemmChoice& choice, int64_t m) const;
  template <class Visit>
  void visit_fitting(int64_t m, Visit visit) const;
  // A tuning entry for the step of m that ends at `end`.
  struct Measured {
    int64_t end;
    GemmChoice choice;
    double nanoseconds;
  };
  template <class Accepts>
  Status check_any_fits(int64_t rows, Accepts accepts) const;
  Status invariant_does_not_fit(int64_t rows, const GemmChoice& least) const;
  void add_factors(const Device& device, const GemmProblem& kernel_problem, GemmChoice choice);
  void drop_long_chains();
  void keep_batch_invariant();
  void add_tuned(const GemmTuning& tuning, GemmTuningKey key);
  bool measured(int64_t m, GemmCandidate* out) const;

  GemmProblem problem_;
  GemmChip chip_;
  std::vector<GemmChoice> choices_;
  std::vector<Measured> tuned_;
};

}  // namespace tw
