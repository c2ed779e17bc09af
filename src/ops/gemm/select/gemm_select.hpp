// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which row multiplies: pure host code, no GPU needed.
//
// A choice is a row of the table and how many blocks share each of its tiles along k; its text is
// the row's symbol, of a split row with "/<blocks>" behind it. A candidate is a choice that can
// serve a problem, with the time that the cost model gives it.

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

/// Plain rows are small: blocks that share an SM.
inline constexpr uint32_t kGemmPlainBlocks = 4, kGemmPlainSplitBlocks = 2;

/// A row, and how many blocks share each of its tiles along k (1 unless the row splits); of a
/// stream-K row, into how many parts a tile's k is cut at most.
struct GemmChoice {
  const KernelRow* row = nullptr;
  uint32_t split = 1;

  bool has(uint32_t variant_bit) const { return (row->variant & variant_bit) != 0; }
  bool through_maps() const { return !has(kGemmPlain); }
  bool shares_k() const { return has(kGemmSplit | kGemmStreamK); }
  /// The fewest blocks that share a tile along k: a full row's split may be of one part, and so may
  /// one without maps.
  uint32_t least_split() const { return has(kGemmSplit) && !has(kGemmFull | kGemmPlain) ? 2 : 1; }
  /// Whether it multiplies a long k in several chains (gemm_chains) without sharing it.
  bool makes_chains() const {
    return through_maps() && row->feature != feature::host && !shares_k() && !has(kGemmFull) &&
           row->dtypes[1] == DType::F32;
  }
  /// Of such a row, whether it adds up whole sums of chains in registers; whether it puts halves of
  /// them aside there, where the copy engine writes all of D; and whether it does neither, but
  /// writes D once for each chain.
  bool keeps_chains() const {
    return makes_chains() && gemm_keeps_chains(static_cast<u32>(row->tile[0]),
                                               static_cast<u32>(row->tile[1]), row->variant);
  }
  bool parks_chains() const {
    return makes_chains() && gemm_parks_chains(static_cast<u32>(row->tile[0]),
                                               static_cast<u32>(row->tile[1]), row->variant);
  }
  bool writes_chains() const { return makes_chains() && !keeps_chains() && !parks_chains(); }
  /// Blocks of a cluster.
  uint32_t cluster() const {
    return static_cast<uint32_t>(row->cluster[0] * row->cluster[1]) * (has(kGemmSplit) ? split : 1);
  }
  /// SMs that hold one cluster at least.
  uint32_t least_sms() const {
    const uint32_t blocks = through_maps() ? 1 : kGemmPlainSplitBlocks;
    return (cluster() + blocks - 1) / blocks;
  }
  bool operator==(const GemmChoice& other) const {
    return row == other.row && split == other.split;
  }
};

/// Of the rows that share k without maps, the least pitch of A: of a shorter one, 16 aligned bytes
/// may leave A in the middle of it.
inline constexpr int64_t kGemmPlainSplitPitch = 7;

/// What that is compared with. Where operands are realigned lda may be a copy's, and A, which such
/// a row reads where it lies, is then known to have lines of k at least.
inline int64_t gemm_least_pitch(const GemmDesc& seen) {
  return seen.realign ? std::min(seen.lda, seen.k) : seen.lda;
}

/// What a plan may fill of a chip.
struct GemmChip {
  uint32_t sms = 1;
  uint32_t clusters[kMaxCluster + 1] = {};  // by their blocks, that run at once; 0: none does
  uint32_t plain_blocks = 1;                // of rows without maps, at once
  uint32_t plain_split_blocks = 1;          // of those that share tiles along k
  GemmRates rates;

  /// Of the context, at most max_sms SMs (0: all); clusters as far as ask_for_clusters() asked.
  static GemmChip of(const Device& device, uint32_t max_sms);
  /// Clusters of a choice that run at once; 0: it cannot run. Of rows without maps several blocks
  /// share an SM.
  uint32_t at_once(const GemmChoice& choice) const {
    const uint32_t sms_have_room = clusters[choice.least_sms()];
    if (choice.through_maps()) return sms_have_room;
    if (!choice.has(kGemmSplit)) return plain_blocks;
    return std::min(std::max(1u, plain_split_blocks / choice.cluster()), sms_have_room);
  }
};

/// Asks the driver once a device how many clusters of each size run at once, with a kernel of the
/// table; where the device runs no row with clusters there is nothing to ask.
Status ask_for_clusters(Device& device);

/// What the cost model's time is made of, in nanoseconds. Tensor cores, memory and loads from the
/// L2 work side by side: `total` has the softened maximum of those, and the sum of all else.
struct GemmTerms {
  double launch = 0, tensor = 0, memory = 0, l2 = 0, epilogue = 0, copies = 0, total = 0;
};

struct GemmCandidate {
  GemmChoice choice;
  double nanoseconds = 0;
  double waves = 0;       // units of work for each that can run at once
  GemmTerms terms;        // of the model's time
  bool measured = false;  // nanoseconds are a clock's, not the model's
};

std::string gemm_choice_text(const GemmChoice& choice);
/// The other way; refused as argument `argument` where no such kernel is in the table.
Status parse_gemm_choice(const char* argument, const char* text, GemmChoice* out);

/// Work units of a choice, each done by one cluster at once; the problem as the row sees it. None
/// where it is empty.
int64_t gemm_units(const GemmChoice& choice, const GemmProblem& problem);
/// As many as a launch can have. Two things are counted in 31 bits: the blocks of a grid, of which
/// each unit of a split has as many as share it; and the unit that a block looks for behind its
/// last, a step further. The step is all units where a split has a cluster for each, and elsewhere
/// the clusters that run at once, twice over where they take turns: 2^16 is more than any chip has.
inline int64_t gemm_most_units(const GemmChoice& choice) {
  if (choice.has(kGemmSplit)) return INT32_MAX / std::max(2u, choice.cluster());
  return INT32_MAX - (1 << 16);
}

/// A choice with the model's numbers; the problem as the row sees it.
GemmCandidate gemm_candidate(const GemmChoice& choice, const GemmProblem& seen,
                             const GemmChip& chip);

/// The problem as the row of a choice sees it.
GemmProblem gemm_seen_by(const GemmChoice& choice, const GemmProblem& problem);

/// Whether a row is for the types of A and D. Host rows are for all.
bool gemm_types_fit(const KernelRow& row, const GemmDesc& desc);

/// Why a choice cannot serve a problem.
enum class GemmMisfit {
  none,
  feature,
  types,
  sums,
  orders,
  pitches,
  blocks,
  depth,
  promises,  // of addresses that a map needs
  epilogue,  // the row has none, or not this gate
  stores,    // of D, which the row writes through a map alone
  parts,     // of a stream-K kernel, of which there are 1, 2, 4 or 8
};

/// Whether it serves every run of a description: any C, and without a workspace.
bool gemm_does_all(const GemmChoice& choice, const GemmDesc& desc);

/// The same answer for every m; `seen` is the problem as the row sees it.
GemmMisfit gemm_misfit(const Device& device, const GemmProblem& seen, const GemmChoice& choice);

/// Whether its tiles can be counted. The clusters of a split have one tile each, so that a bound on
/// SMs bounds the grid.
bool gemm_has_room(const GemmChoice& choice, const GemmProblem& seen);

/// The least extent of a tile of any row.
inline constexpr int64_t kGemmLeastTile = 8;

/// Whether it is plain, without ranking any choices, that GemmRanking::check_room() has nothing to
/// refuse on a device that has all kernels.
bool gemm_has_room_for_all(const Device& device, const GemmProblem& problem);

/// Refuses a problem, as the row sees it, of more tiles than a launch of the choice can have.
Status no_gemm_tiles(const GemmChoice& choice, const GemmProblem& seen);

/// Fails with the reason, naming `candidate`, where a choice cannot serve a problem.
Status check_gemm_choice(const Device& device, const GemmProblem& problem,
                         const GemmChoice& choice);

/// Rows m are ranked in steps, so that the choice for any m can be known without trying each: the m
/// that stands for all up to it. Steps are finer than tiles: 8 up to 512, 64 up to 8192, 256 up to
/// 65536, then a sixteenth.
int64_t gemm_rung(int64_t m);

/// Blocks of a plain row at once. The hardware gives each an SM of its own as long as there are
/// any, so that a bound on SMs bounds them.
uint32_t gemm_plain_room(const Device& device, uint32_t max_sms, bool splits);

/// Whether a choice measured at `measured` rows serves runs of `m` rows: those of its step of m,
/// whose end is t, and of the steps before that end above t - t / 8: at 8 it serves 1 to 8 rows, at
/// 4097 3585 to 4160.
bool gemm_tuning_serves(int64_t measured, int64_t m);

/// All choices that can serve a problem, to be ranked for any number of rows m.
class GemmRanking {
 public:
  /// `problem` as gemm_problem() makes it. What the caller measured goes before the model.
  GemmRanking(const Device& device, const GemmProblem& problem, const GemmTuning* tuning = nullptr);

  /// For m rows, the best first; equal ones in the table's order. A measured choice is the first.
  std::vector<GemmCandidate> at(int64_t m) const;
  /// The first of them; row is nullptr if there is none.
  GemmCandidate best(int64_t m) const;
  /// The best that takes any address and pitch.
  GemmCandidate best_plain(int64_t m) const;
  /// The best by the model that does whatever a run of the description may ask for.
  GemmCandidate best_whole(int64_t m) const;
  /// Refuses rows that no choice has room for, or none of those that a plan cannot do without.
  Status check_room(int64_t rows) const;
  /// Of the rows from m, for which the choice has room, to `last` the most for which it has.
  int64_t last_with_room(const GemmChoice& choice, int64_t m, int64_t last) const;
  /// Whether it is among those for some m.
  bool has(const GemmChoice& choice) const;
  /// Whether the caller measured any that serves the problem, for some m.
  bool is_tuned() const { return !tuned_.empty(); }

 private:
  template <class Takes>
  GemmCandidate best_of(int64_t m, Takes takes) const;
  bool has_room(const GemmChoice& choice, int64_t m) const;
  template <class Take>
  void each(int64_t m, Take take) const;
  // A choice that the caller measured for the step of m that ends at `rung`.
  struct Measured {
    int64_t rung;
    GemmChoice choice;
    double nanoseconds;
  };
  template <class Takes>
  Status check_room_of(int64_t rows, Takes takes) const;
  Status no_invariant_room(int64_t rows, const GemmChoice& least) const;
  void leave_long_sums();
  void leave_other_orders();
  void add_tuned(const GemmTuning& tuning, GemmTuningKey key);
  bool measured(int64_t m, GemmCandidate* out) const;

  GemmProblem problem_;
  GemmChip chip_;
  std::vector<GemmChoice> choices_;
  std::vector<Measured> tuned_;
};

}  // namespace tw
