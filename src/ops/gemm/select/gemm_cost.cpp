// SPDX-License-Identifier: Apache-2.0
// The cost model. A unit is the tiles that one cluster computes at the same time. Clusters compute
// units in waves: complete waves, then a last one. Within a wave the work of the tensor cores, the
// L2 loads of an SM and the memory traffic overlap. The times of the launch, of the first k block's
// loads, of the last epilogue and of the reduction of split-K or stream-K parts are added.
// Parameters are those of gemm_model.inc.
//
// mma.sync kernels use no tensor maps (kGemmNoMaps), TMA kernels do.
#include "ops/gemm/select/gemm_cost.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/gemm/gemm_entry.hpp"
#include "ops/gemm/select/gemm_shares.hpp"

namespace tw {
namespace {

constexpr int64_t kL2Line = 128, kL2Sector = 32;  // bytes

double at_least_one(int64_t value) {
  return static_cast<double>(std::max<int64_t>(value, 1));
}

double squared(double x) {
  return x * x;
}

// These two are softened maxima, since overlapping work takes a little longer than its longest
// part. The 8-norm suits the parts of a wave. The power limit gets the softer 4-norm, because a
// chip slows down before it reaches the limit.
double soft_max(std::initializer_list<double> terms) {
  double sum = 0;
  for (const double t : terms) sum += squared(squared(squared(t)));
  return std::sqrt(std::sqrt(std::sqrt(sum)));
}
double with_power_limit(double unlimited, double power) {
  return std::sqrt(std::sqrt(squared(squared(unlimited)) + squared(squared(power))));
}

class Cost {
 public:
  Cost(const GemmChoice& choice, const GemmProblem& kernel_problem, const GemmChip& chip,
       const GemmModel& model);
  GemmTerms terms() const;

 private:
  struct Segments {
    double all;
    double outside;  // the segments among `all` that lie outside the operand
  };
  struct Wave {
    double tensor, load, memory;
    // Time from the last product of this wave on an SM to the first one of the next wave. Other SMs
    // use the memory meanwhile.
    double restart = 0;
    double all() const { return soft_max({soft_max({tensor, load}) + restart, memory}); }
  };
  double ns(double clocks) const { return clocks / chip_.rates.clock; }
  double accumulator_bytes() const { return tile_m_ * tile_n_ * 4; }
  bool shares_loads() const { return cluster_m_ * cluster_n_ > 1; }
  void count_tiles();
  void count_waves();
  void count_stream_k();
  double k_block_ns() const;
  double mma_k_block_ns() const;
  Segments segments_of(bool along_k, double extent, double tile, double ctas, double multicast_ctas,
                       double units) const;
  double straddle_fraction(int64_t alignment) const;
  int64_t segment_alignment(bool along_k, int64_t pitch, double tile, double units) const;
  void count_segments();
  double memory_ns() const;
  double missed_fraction(double bytes) const;
  double bytes_per_ns() const { return chip_.rates.dram_bytes_per_ns * model_.dram; }
  double launch_ns() const;
  double epilogue_ns(double fixed, double element, double ctas = 1) const;
  // The launch times of kernels without maps contain the fixed part of their epilogue.
  double fixed_epilogue_clocks() const { return choice_.uses_maps() ? model_.epilogue_clocks : 0; }
  double element_clocks() const;
  double chains_ns(double k_blocks) const;
  double reduce_ns() const;
  double between_ns(double end) const;
  double paired_fraction(double ctas) const;
  double power_ns() const;
  Wave wave(double clusters, double k_blocks, double between,
            bool shares_cross_units = false) const;

  const GemmChoice& choice_;
  const GemmProblem& problem_;  // as the kernel sees it: after staging copies and swap-AB
  const GemmChip& chip_;
  const GemmModel& model_;
  const KernelEntry& entry_;
  const GemmDesc& d_;
  double m_, n_, k_, batch_;
  double tile_m_, tile_n_;        // the tile of a CTA
  double cluster_m_, cluster_n_;  // CTAs of a cluster, which share loads, along m and n
  double units_m_ = 1, units_n_ = 1, units_ = 1;  // units along m, along n, and of the whole batch
  double resident_;                               // clusters that run at the same time
  GemmShares shares_;                             // stream-K: how units are divided along k
  double band_ = 1;                               // units along m in a band of the tile scheduler
  double k_blocks_ = 1;                           // k blocks that one CTA multiplies for a tile
  double complete_waves_ = 0;                     // waves before the last one
  double last_clusters_ = 1;                      // clusters that have work in the last wave
  double last_k_blocks_ = 1;  // k blocks that each of these multiplies in the last wave
  double chain_blocks_ = 1;   // stream-K: most k blocks of an accumulation chain
  double parts_ = 1;          // stream-K: most parts of a tile of the last wave
  bool joined_ = false;       // stream-K: the CTAs that multiply these parts form a cluster
  double slices_ = 1;         // CTAs that add up and write a tile of the last wave together
  double stages_ = 1;
  // segments_: the segments (see segments_of()) that a CTA loads for a k block. Two SMs share a
  // path to the L2. While both load, a CTA takes as long for segments_ as it would take for
  // crowded_segments_ if the other SM were idle.
  double segments_ = 0, crowded_segments_ = 0;
  // Segments outside the operand are loaded too, which slows down all CTAs: each CTA that runs adds
  // this time to every k block of every CTA.
  double outside_ns_ = 0;
  // Whether shares of a stream-K kernel may end one unit and begin the next. That is so with even
  // shares, except if a unit happens to be a whole number of them, and never with aligned shares.
  // Neighboring CTAs of the last wave are then at different k and have no segment in common, so
  // that more segments are transferred: crossing_segments_ instead of crowded_segments_.
  bool shares_cross_units_ = false;
  double crossing_segments_ = 0;
  // They also have no use of each other's loads in the L2, so that they read from memory what the
  // L2 cannot keep from beginning to end. Time of these reads, for each CTA and k block.
  double crossing_memory_ns_ = 0;
  double k_block_ns_ = 0;  // time of the tensor cores for a k block
  double memory_ns_ = 0;   // time of the memory traffic of the whole product
};

Cost::Cost(const GemmChoice& choice, const GemmProblem& kernel_problem, const GemmChip& chip,
           const GemmModel& model)
    : choice_(choice),
      problem_(kernel_problem),
      chip_(chip),
      model_(model),
      entry_(*choice.entry),
      d_(kernel_problem.desc),
      m_(at_least_one(d_.m)),
      n_(at_least_one(d_.n)),
      k_(at_least_one(d_.k)),
      batch_(at_least_one(d_.batch)),
      tile_m_(entry_.tile[0]),
      tile_n_(at_least_one(entry_.tile[1])),
      cluster_m_(choice.cluster_m()),
      cluster_n_(choice.cluster_n()),
      resident_(at_least_one(chip_.resident_clusters(choice_))),
      stages_(entry_.stages) {
  if (choice_.has(kGemmStreamK)) {
    shares_ = gemm_shares(choice_, d_, d_.m, d_.n, static_cast<int64_t>(resident_), chip_.clusters);
    tile_n_ = static_cast<double>(shares_.width);
  }
  count_tiles();
  count_waves();
  count_segments();
  k_block_ns_ = k_block_ns();
  memory_ns_ = memory_ns();
}

void Cost::count_tiles() {
  units_m_ = at_least_one(gemm_units_m(choice_, d_, d_.m));
  units_n_ = std::ceil(n_ / (tile_n_ * cluster_n_));
  units_ = units_m_ * units_n_ * batch_;
  const auto as_i32 = [](double count) { return static_cast<i32>(std::min(count, 1e9)); };
  // If a band has this many units along m, the units that run at the same time cover a square of D.
  const auto square_band =
      std::lround(std::sqrt(resident_ * tile_n_ * cluster_n_ / (tile_m_ * cluster_m_)));
  band_ = gemm_band(as_i32(at_least_one(square_band)), as_i32(units_m_), as_i32(units_n_),
                    as_i32(resident_), choice_.cluster() > 1);
}

void Cost::count_waves() {
  k_blocks_ = std::ceil(k_ / entry_.tile[2]);
  if (choice_.has(kGemmStreamK)) return count_stream_k();
  k_blocks_ = std::ceil(k_blocks_ / choice_.split);
  complete_waves_ = std::ceil(units_ / resident_) - 1;
  last_clusters_ = units_ - complete_waves_ * resident_;
  last_k_blocks_ = k_blocks_;
  if (choice_.has(kGemmSplit)) slices_ = choice_.split;
}

void Cost::count_stream_k() {
  const GemmShares& s = shares_;
  parts_ = static_cast<double>(s.max_parts());
  shares_cross_units_ = s.divided_units() > 0 && s.padded_k_blocks % s.share != 0;
  last_k_blocks_ = s.divided_units() > 0 ? static_cast<double>(s.share) : k_blocks_;
  // If units are divided, the last wave consists of their parts. Otherwise it consists of the whole
  // units that remain after complete waves; units that one worker multiplies together count as one.
  last_clusters_ =
      s.divided_units() > 0
          ? std::ceil(static_cast<double>(s.divided_units() * s.padded_k_blocks) / last_k_blocks_)
          : static_cast<double>((s.whole_units / s.consecutive_tiles - 1) % s.workers + 1);
  const auto consecutive_tiles = static_cast<double>(s.consecutive_tiles);
  complete_waves_ = consecutive_tiles * std::ceil(static_cast<double>(s.whole_units) /
                                                  (consecutive_tiles * resident_)) -
                    (s.divided_units() > 0 ? 0 : 1);
  const GemmTile tile = gemm_tile(entry_, problem_.in_bytes, problem_.out_bytes);
  stages_ = static_cast<double>(
      (gemm_pipeline_bytes(choice_, d_, tile, s.width) - s.joined_bytes(choice_)) /
      gemm_stream_stage(tile, static_cast<u32>(s.width)));
  joined_ = s.joined > 0;
  // The workers of a unit divide its columns into slices. If shares cross from unit to unit, one of
  // the workers usually continues in the next unit and gets no slice (stream_slices.cuh).
  const double slice_step = choice_.is_scaled_rowstream() ? 64 : 16;
  if (joined_ || choice_.shares_last_addition())
    slices_ =
        std::clamp(shares_cross_units_ ? parts_ - 1 : parts_, 1.0, std::ceil(tile_n_ / slice_step));
  chain_blocks_ = static_cast<double>(s.chain_blocks);
}

// A wgmma of 64 rows and 32 bytes of k takes N / 2 clocks. Reading its A and B from shared memory
// at 128 bytes per clock takes 16 + N / 4 clocks; the longer time counts. Kernels that add the
// accumulators of each k block outside the tensor cores take longer.
double Cost::k_block_ns() const {
  if (!choice_.uses_maps()) return mma_k_block_ns();
  const double products = tile_m_ / 64 * (entry_.tile[2] * problem_.in_bytes / 32.0);
  const double slower_by = GemmRates::kFlops / chip_.rates.flops_per_clock;
  const double least_clocks = products * std::max(tile_n_ / 2 * slower_by, 16 + tile_n_ / 4);
  const double clocks = model_.tensor * least_clocks;
  if (!choice_.has(kGemmNarrow) || choice_.has(kGemmNoPromotion)) return ns(clocks);
  const bool scales_along_k = d_.a_scaling.kind >= ScaleKind::row128;  // scales change along k
  if (choice_.is_scaled_rowstream())
    return ns(clocks + tile_n_ * (scales_along_k ? model_.promote_rows_scaled_clocks
                                                 : model_.promote_rows_clocks));
  if (!scales_along_k) return ns(clocks + model_.promote_clocks * tile_n_);
  return ns(std::max(clocks + model_.promote_scaled_clocks * tile_n_, model_.promote_step_clocks));
}

// Several CTAs of an mma.sync kernel share an SM. Returns the time in which each of them multiplies
// one k block. In kernels for a short k all of k is one k block, so that its time depends on k.
double Cost::mma_k_block_ns() const {
  if (choice_.has(kGemmShort)) return model_.mma_short_tile_ns + model_.mma_short_step_ns * k_;
  const double ctas_per_sm =
      std::max(1.0, std::min(units_, resident_) * choice_.cluster() / chip_.sms);
  if (!choice_.has(kGemmSplit))
    return ns(std::max(model_.mma_alone_clocks, model_.mma_step_clocks * ctas_per_sm));
  const double groups = std::ceil(std::min(n_, tile_n_) / 8);
  return (model_.mma_split_step_ns + model_.mma_split_group_ns * groups) *
         (ctas_per_sm > 1 ? model_.mma_split_shared : 1);
}

// Segments of an operand that a CTA loads for a k block, and how many of them lie outside the
// operand on average. A segment is the 128 contiguous bytes that a TMA kernel loads as one line of
// a box. An operand that is contiguous along k has one segment for each row of A or column of B;
// otherwise there is one for each k and each 64 rows or columns. `ctas`: CTAs of a cluster that
// load different rows or columns. `multicast_ctas`: CTAs that load the same ones together. `units`:
// units along the operand's extent. A box that is not multicast is clipped if the operand has fewer
// rows or columns than the tile.
Cost::Segments Cost::segments_of(bool along_k, double extent, double tile, double ctas,
                                 double multicast_ctas, double units) const {
  if (!along_k) return {std::ceil(tile / 64) * entry_.tile[2], 0};
  const double all = multicast_ctas == 1 ? std::min(tile, std::ceil(extent / 8) * 8) : tile;
  // If the box is clipped, the whole operand lies in the tile of the cluster's first CTA, and the
  // boxes of the other CTAs lie outside the operand.
  if (all < tile) return {all, all * (1 - 1 / ctas)};
  return {all, tile - extent / (units * ctas)};
}

// The alignment, in bytes, that all segments of an operand have in common; at most an L2 line. If
// the operand is contiguous along k, it depends only on the pitch. If not, segments begin at the
// first row or column of a tile, so it also depends on the tile's extent.
int64_t Cost::segment_alignment(bool along_k, int64_t pitch, double tile, double units) const {
  const int64_t first = along_k || units == 1 ? 0 : static_cast<int64_t>(tile);
  return std::gcd(std::gcd(pitch, first) * problem_.in_bytes, kL2Line);
}

// The fraction by which loads take longer because segments straddle lines or sectors of the L2.
double Cost::straddle_fraction(int64_t alignment) const {
  const double lines = 1 - static_cast<double>(alignment) / static_cast<double>(kL2Line);
  return model_.straddle_line * lines + (alignment < kL2Sector ? model_.straddle_sector : 0);
}

// Two SMs share a path to the L2. A CTA whose neighbor SM is idle has all of it. If neighboring
// CTAs without a cluster load the same segments of an operand, these are transferred once. Joined
// CTAs have no segment in common, since they are at different k. A CTA of a cluster that shares
// loads takes less time for a segment that another CTA loads for it than for its own.
void Cost::count_segments() {
  const bool ak = d_.a_order == Order::row, bk = d_.b_order == Order::column;
  const Segments a = segments_of(ak, m_, tile_m_, cluster_m_, cluster_n_, units_m_);
  const Segments b = segments_of(bk, n_, tile_n_, cluster_n_, cluster_m_, units_n_);
  const int64_t a_alignment = segment_alignment(ak, d_.lda, tile_m_, units_m_);
  // If B is not contiguous along k, a tile whose width is no multiple of 64 columns loads as slowly
  // as an unaligned one.
  const bool odd_tile = !bk && units_n_ > 1 && std::fmod(tile_n_, 64) != 0;
  const int64_t b_alignment =
      odd_tile ? kL2Sector / 2 : segment_alignment(bk, d_.ldb, tile_n_, units_n_);
  const double a_straddle = straddle_fraction(a_alignment);
  const double b_straddle = straddle_fraction(b_alignment);
  const bool neighbors_share =
      choice_.cluster() == 1 && !joined_ && std::min(a_alignment, b_alignment) >= kL2Sector;
  const double common = neighbors_share ? std::max(a.all, b.all) : 0;
  // What a CTA of a cluster does not load itself reaches it at less cost.
  const double own = a.all / cluster_n_ + b.all / cluster_m_;
  const double all = own + model_.multicast * (a.all + b.all - own);
  const double extra = a.all * a_straddle / cluster_n_ + b.all * b_straddle / cluster_m_;
  segments_ = all + extra;
  crowded_segments_ = (all - common * model_.neighbour) * (1 + model_.crowd) + extra;
  crossing_segments_ = all * (1 + model_.crowd) + extra;
  outside_ns_ = ns(model_.outside_clocks) * (a.outside / cluster_n_ + b.outside / cluster_m_);
  const double bytes = (a.all / cluster_n_ + b.all / cluster_m_) * static_cast<double>(kL2Line);
  const double operand_bytes = (m_ + n_) * k_ * batch_ * problem_.in_bytes;
  crossing_memory_ns_ = bytes * missed_fraction(operand_bytes) / bytes_per_ns();
}

// The fraction of `bytes` that are no longer in the L2 when they are read again. Each half of the
// L2 holds a copy of data that SMs of both halves read.
double Cost::missed_fraction(double bytes) const {
  return std::max(0.0, 1 - chip_.rates.l2_size / 2 / bytes);
}

// Time of all memory traffic. Data that does not stay in the L2 is read again: each wave within a
// band of tiles reads the band's rows of A, and each band reads all of B. A matrix that all
// products of a batch share is read once.
double Cost::memory_ns() const {
  const auto matrices = [&](int64_t stride) { return stride == 0 ? 1 : batch_; };
  const double a = m_ * k_ * problem_.in_bytes, b = n_ * k_ * problem_.in_bytes;
  const double band_fraction = std::min(1.0, band_ / units_m_);
  const double reads_a = std::max(1.0, std::ceil(band_ * units_n_ / resident_));
  const double reads_b = std::ceil(units_m_ / band_);
  const double d = m_ * n_ * problem_.out_bytes * matrices(d_.d_batch_stride);
  const double writes = choice_.adds_chains_in_d() ? gemm_chain_count(d_.k) : 1;
  const double bytes =
      a * matrices(d_.a_batch_stride) * (1 + missed_fraction(a * band_fraction) * (reads_a - 1)) +
      b * matrices(d_.b_batch_stride) * (1 + missed_fraction(b) * (reads_b - 1)) +
      d * (model_.stores * writes + (problem_.reads_c ? 1 : 0));
  return bytes / bytes_per_ns();
}

double Cost::launch_ns() const {
  const bool split = choice_.has(kGemmSplit), mma_sync = !choice_.uses_maps();
  const double hidden = d_.has(kGemmProgrammatic) ? model_.programmatic_ns : 0;
  if (mma_sync && choice_.has(kGemmShort)) return model_.mma_short_launch_ns - hidden;
  if (mma_sync && split)
    return model_.mma_split_launch_ns + (choice_.split > 1 ? model_.mma_cluster_ns : 0) - hidden;
  // stream_option_ns: what the code for all epilogues adds to the launch of a stream-K kernel.
  const bool has_clusters = split && !choice_.is_persistent();
  return (mma_sync ? model_.mma_launch_ns : model_.launch_ns) +
         (has_clusters ? model_.split_ns : 0) +
         (choice_.has(kGemmStreamK) ? model_.stream_launch_ns : 0) +
         (choice_.has(kGemmStreamK) && choice_.has(kGemmEpilogue) ? model_.stream_option_ns : 0) +
         (shares_loads() || joined_ ? model_.cluster_ns : 0) - hidden;
}

// Time in which `ctas` CTAs together write one tile's accumulators to D: `fixed` clocks, and
// `element` clocks for each accumulator of a thread.
double Cost::epilogue_ns(double fixed, double element, double ctas) const {
  const double threads =
      128 * (choice_.has(kGemmPingpong) ? 1 : gemm_consumers(static_cast<u32>(entry_.tile[0])));
  return ns(fixed + element * tile_m_ * tile_n_ / (threads * ctas));
}

double Cost::element_clocks() const {
  const GemmEpilogue& e = d_.epilogue;
  const double store = choice_.has(kGemmSwapAB | kGemmStreamK) ? model_.swap_element
                       : choice_.has(kGemmPingpong)            ? model_.ping_element
                                                               : model_.element_clocks;
  double clocks = store * problem_.out_bytes / 2;
  const double work = choice_.has(kGemmStreamK) ? model_.stream_work_clocks : model_.work_clocks;
  if (e.activation > Activation::relu || e.d_factor != Per::none || e.amax) clocks += work;
  if (problem_.reads_c) clocks += work;
  // The code for all epilogues takes time even if the run has only a simple epilogue.
  if (choice_.has(kGemmEpilogue) && !choice_.has(kGemmBatched))
    clocks += choice_.has(kGemmSplit | kGemmSwapAB) && !choice_.has(kGemmStreamK | kGemmNarrow)
                  ? model_.split_option_clocks
                  : model_.option_clocks;
  return clocks;
}

// Time to add up the accumulation chains of a tile, if a CTA multiplies `k_blocks` of its k blocks.
// Stream-K kernels either park the upper 16 bits of accumulators (see the glossary), or keep the
// sum in the L2, where each chain but the first reads it and each but the last writes it. Other
// kernels add the chains in D, park the upper 16 bits, or keep all accumulators of earlier chains
// in registers, which takes no time.
double Cost::chains_ns(double k_blocks) const {
  if (choice_.has(kGemmStreamK)) {
    const double more_chains = std::max(1.0, std::ceil(k_blocks / chain_blocks_)) - 1;
    if (choice_.stream_parks_chains())
      return more_chains * epilogue_ns(0, model_.stream_park_element);
    return more_chains * 2 * accumulator_bytes() / model_.stream_chain_bytes;
  }
  const double element = choice_.adds_chains_in_d()      ? element_clocks()
                         : choice_.parks_upper_16_bits() ? model_.park_element
                                                         : 0;
  return element > 0 ? (gemm_chain_count(d_.k) - 1) * epilogue_ns(0, element) : 0;
}

// Time to add partial accumulators: within the cluster (split-K, and stream-K whose CTAs form a
// cluster), or through the L2 (other stream-K).
double Cost::reduce_ns() const {
  const double bytes = accumulator_bytes();
  if (joined_)
    return model_.join_ns + model_.part_ns * parts_ +
           ns(bytes * (1 - 1 / parts_) * model_.exchange_clocks);
  if (choice_.has(kGemmStreamK)) {
    // A CTA writes its own part, and reads its slice of all parts.
    return parts_ == 1 ? 0
                       : model_.stream_ns + bytes * (1 + parts_ / slices_) / model_.stream_bytes;
  }
  if (choice_.has(kGemmNoMaps) && choice_.has(kGemmSplit))
    return model_.mma_split_tile_ns +
           model_.mma_split_column_ns * std::min(n_, tile_n_) / choice_.split;
  if (choice_.split == 1) return 0;
  return model_.part_ns * choice_.split +
         ns(bytes * (1 - 1.0 / choice_.split) * model_.exchange_clocks);
}

// The fraction of CTAs whose SM shares its path with a busy one. CTAs first occupy one SM of each
// pair, but joined ones are neighbors.
double Cost::paired_fraction(double ctas) const {
  const double in_pairs = joined_ ? std::floor(parts_ / 2) * 2 / parts_ : 0;
  return std::clamp(2 * ctas / chip_.sms - 1, in_pairs, 1.0);
}

// A wave in which each of `clusters` multiplies `k_blocks`. `between` ns are added to the time of
// the tensor cores.
Cost::Wave Cost::wave(double clusters, double k_blocks, double between,
                      bool shares_cross_units) const {
  const double ctas = clusters * choice_.cluster();
  const double paired = paired_fraction(ctas);
  const double segments = segments_ * (1 - paired) +
                          (shares_cross_units ? crossing_segments_ : crowded_segments_) * paired;
  // Always 1 today: k blocks of TMA kernels have 128 bytes of k.
  const double l2_lines_per_segment =
      entry_.tile[2] * problem_.in_bytes / static_cast<double>(kL2Line);
  const double stages = std::min(stages_, k_blocks_);
  const double load = std::max(ns(model_.line_clocks) * segments * l2_lines_per_segment,
                               model_.latency_ns / stages);
  const double shared = memory_ns_ * clusters * k_blocks / (units_ * k_blocks_);
  const double crossing = shares_cross_units ? crossing_memory_ns_ * ctas * k_blocks : 0;
  return {.tensor = k_blocks * k_block_ns_ + between,
          .load = choice_.uses_maps()
                      ? k_blocks * (load + outside_ns_ * ctas * l2_lines_per_segment)
                      : 0,
          .memory = std::max(shared, crossing)};
}

// Delay between two tiles of a CTA. The epilogue of a tile takes `end` ns. Basic cooperative
// kernels overlap most of the epilogue with the next tile, epilogue kernels none of it. In
// ping-pong kernels an epilogue causes a delay only if it takes longer than the other warpgroup's
// main loop. Stream-K kernels, and split-K kernels for narrow types, wait for their stores while
// all SMs write at the same time. This is not true of stream-K kernels that store by TMA, but the
// model makes no difference.
double Cost::between_ns(double end) const {
  // Two warpgroups alternate, so a CTA finishes two tiles in the time of a main loop and an
  // epilogue. Compared with two main loops, half of the difference delays each tile.
  if (choice_.has(kGemmPingpong)) return std::max(0.0, (end - k_blocks_ * k_block_ns_) / 2);
  const double relative_size = problem_.out_bytes / 2.0;  // of D's elements: 1 for 16 bits
  if (choice_.has(kGemmStreamK) || choice_.is_narrow_split())
    return epilogue_ns(model_.epilogue_clocks,
                       element_clocks() + model_.stream_store * relative_size);
  // The fixed part of an epilogue counts once, at the end of the kernel.
  if (choice_.has(kGemmEpilogue)) return end - ns(fixed_epilogue_clocks());
  const double wide = choice_.uses_maps() ? model_.between_wide : 0;
  return epilogue_ns(model_.between_clocks, wide * (relative_size - 1));
}

// Time at the power limit, which power_limit_flop_per_ns states for 16-bit operands. A product has
// 2 m n k FLOP; for other types the 2 is replaced by the bytes of an element, since their power is
// assumed to be proportional to their bytes. All kernels are assumed to take the same power.
double Cost::power_ns() const {
  return m_ * n_ * k_ * batch_ * problem_.in_bytes / chip_.rates.power_limit_flop_per_ns;
}

GemmTerms Cost::terms() const {
  const bool persistent = choice_.is_persistent();
  // Host bodies, and kernels without maps, read the caller's operands at any address.
  const bool needs_copies = choice_.uses_maps() && entry_.feature != feature::host;
  const double end = epilogue_ns(fixed_epilogue_clocks(), element_clocks(), slices_) + reduce_ns();
  Wave complete =
      wave(resident_, k_blocks_, chains_ns(k_blocks_) + (persistent ? between_ns(end) : 0));
  const Wave last =
      wave(last_clusters_, last_k_blocks_, chains_ns(last_k_blocks_), shares_cross_units_);
  // A split-K cluster computes one unit and exits. Then the next cluster starts.
  if (!persistent) complete.restart = end;
  GemmTerms t;
  t.units = d_.m == 0 || d_.n == 0 ? 0 : units_;
  // Nothing overlaps the loads of the first k block.
  t.launch = launch_ns() + model_.fill * last.load / last_k_blocks_;
  t.epilogue = end + complete_waves_ * complete.restart;
  t.tensor = complete_waves_ * complete.tensor + last.tensor;
  t.memory = complete_waves_ * complete.memory + last.memory;
  t.l2 = complete_waves_ * complete.load + last.load;
  if (needs_copies)
    t.copies = model_.copy_ns * problem_.staging_copies +
               problem_.staging_copy_bytes / (model_.copy_reached * chip_.rates.dram_bytes_per_ns);
  const double unlimited = t.launch + complete_waves_ * complete.all() + last.all() + end;
  t.total = t.copies + with_power_limit(unlimited, power_ns());
  return t;
}

}  // namespace

GemmTerms gemm_terms(const GemmChoice& choice, const GemmProblem& kernel_problem,
                     const GemmChip& chip, const GemmModel& model) {
  return Cost(choice, kernel_problem, chip, model).terms();
}

int64_t gemm_count_units(const GemmChoice& choice, const GemmProblem& kernel_problem) {
  const GemmDesc& d = kernel_problem.desc;
  return gemm_units_m(choice, d, d.m) *
         ceil_div(d.n, gemm_tile_width(choice, d, d.n) * choice.cluster_n()) * d.batch;
}

}  // namespace tw
