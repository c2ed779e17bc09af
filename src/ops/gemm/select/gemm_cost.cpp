// SPDX-License-Identifier: Apache-2.0
// The cost model. A unit is the tiles that one cluster computes at the same time. Clusters compute
// units in waves: full waves, then a last one. Within a wave the tensor cores, the L2 loads of an
// SM and memory overlap. The launch, the last epilogue and the reduction of split-K or stream-K
// parts are added. Parameters are those of gemm_model.inc.
#include "ops/gemm/select/gemm_cost.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/gemm/gemm_entry.hpp"
#include "ops/gemm/select/gemm_shares.hpp"

namespace tw {
namespace {

constexpr double kLine = 128;  // bytes

double number(int64_t value) {
  return static_cast<double>(std::max<int64_t>(value, 1));
}

double squared(double x) {
  return x * x;
}

// Softened maxima, since overlapping work takes a little longer than the longest of its parts. The
// 8-norm suits the parts of a wave. The power limit gets the softer 4-norm, because a chip slows
// down before it reaches the limit.
double most_of(std::initializer_list<double> terms) {
  double sum = 0;
  for (const double t : terms) sum += squared(squared(squared(t)));
  return std::sqrt(std::sqrt(std::sqrt(sum)));
}
double limited(double alone, double power) {
  return std::sqrt(std::sqrt(squared(squared(alone)) + squared(squared(power))));
}

class Cost {
 public:
  Cost(const GemmChoice& choice, const GemmProblem& seen, const GemmChip& chip,
       const GemmModel& model);
  GemmTerms terms() const;

 private:
  struct Lines {
    double all, outside;
  };
  struct Wave {
    double tensor, load, memory;
    double all() const { return most_of({tensor, load, memory}); }
  };
  double ns(double clocks) const { return clocks / chip_.rates.clock; }
  bool shares_loads() const { return cm_ * cn_ > 1; }
  void count_tiles();
  void count_waves();
  void count_shares();
  double step_ns() const;
  double plain_step_ns() const;
  Lines lines_of(bool along_k, double extent, double tile, double blocks, double sharers,
                 double units) const;
  double straddles(int64_t pitch) const;
  void count_lines();
  double memory_ns() const;
  double launch_ns() const;
  double epilogue_ns(double fixed, double element) const;
  double element_clocks() const;
  double chains_ns() const;
  double reduce_ns() const;
  double between_ns(double end) const;
  double power_ns() const;
  Wave wave(double clusters, double steps, double between, bool apart = false) const;

  const GemmChoice& choice_;
  const GemmProblem& seen_;
  const GemmChip& chip_;
  const GemmModel& model_;
  const KernelEntry& entry_;
  const GemmDesc& d_;
  double m_, n_, k_, batch_;
  double tm_, tn_, cm_, cn_;  // tile of a CTA; CTAs of a cluster that share loads
  // Units along m and n, and of the whole batch; clusters that run at once; units along m in a band
  // of the tile scheduler.
  double units_m_ = 1, units_n_ = 1, units_ = 1, at_once_ = 1, band_ = 1;
  double steps_ = 1;                              // k blocks that one CTA multiplies for a tile
  double whole_ = 0, last_ = 1, last_steps_ = 1;  // full waves; the last wave's clusters, k blocks
  double parts_ = 1;                              // clusters that share a tile of the last wave
  bool joined_ = false;                           // those blocks form a cluster
  double stages_ = 1;
  // For each k block of a CTA (see lines_of() for lines). lines_: lines that the CTA loads if the
  // other SM of the pair is idle. crowded_lines_: the same if the other SM is busy; the delay
  // counts as more lines. outside_ns_: time lost on lines outside the operands.
  double lines_ = 0, crowded_lines_ = 0, outside_ns_ = 0;
  double apart_lines_ = 0;              // as crowded_lines_, if neighboring CTAs are at different k
  bool apart_ = false;                  // in the last wave, neighboring CTAs are at different k
  double step_ns_ = 0, memory_ns_ = 0;  // tensor cores, per k block; memory, of the whole product
};

Cost::Cost(const GemmChoice& choice, const GemmProblem& seen, const GemmChip& chip,
           const GemmModel& model)
    : choice_(choice),
      seen_(seen),
      chip_(chip),
      model_(model),
      entry_(*choice.entry),
      d_(seen.desc),
      m_(number(d_.m)),
      n_(number(d_.n)),
      k_(number(d_.k)),
      batch_(number(d_.batch)),
      tm_(entry_.tile[0]),
      tn_(number(gemm_tile_columns(choice, d_, d_.n))),
      cm_(entry_.cluster[0]),
      cn_(entry_.cluster[1]),
      stages_(entry_.stages) {
  count_tiles();
  count_waves();
  count_lines();
  step_ns_ = step_ns();
  memory_ns_ = memory_ns();
}

void Cost::count_tiles() {
  units_m_ = number(gemm_units_m(choice_, d_, d_.m));
  units_n_ = std::ceil(n_ / (tn_ * cn_));
  units_ = units_m_ * units_n_ * batch_;
  at_once_ = number(chip_.at_once(choice_));
  const auto units = [](double of) { return static_cast<i32>(std::min(of, 1e9)); };
  // The band, in units along m, with which the concurrent units cover a square of D.
  const auto square = std::lround(std::sqrt(at_once_ * tn_ * cn_ / (tm_ * cm_)));
  band_ = gemm_band(units(number(square)), units(units_m_), units(units_n_), units(at_once_),
                    choice_.cluster() > 1);
}

void Cost::count_waves() {
  steps_ = std::ceil(k_ / entry_.tile[2]);
  if (choice_.has(kGemmStreamK)) return count_shares();
  steps_ = std::ceil(steps_ / choice_.split);
  whole_ = std::ceil(units_ / at_once_) - 1;
  last_ = units_ - whole_ * at_once_;
  last_steps_ = steps_;
}

void Cost::count_shares() {
  const GemmShares s =
      gemm_shares(choice_, d_, d_.m, d_.n, static_cast<int64_t>(at_once_), chip_.clusters);
  parts_ = static_cast<double>(s.parts());
  apart_ = s.shared() > 0 && s.depth % s.share != 0;
  last_steps_ = s.shared() > 0 ? static_cast<double>(s.share) : steps_;
  // If units are shared, the last wave is that of the clusters that share them. Otherwise it is the
  // last round of whole units, and it has the clusters that remain for it.
  last_ = s.shared() > 0 ? std::ceil(static_cast<double>(s.shared() * s.depth) / last_steps_)
                         : static_cast<double>((s.whole / s.together - 1) % s.clusters + 1);
  const auto together = static_cast<double>(s.together);
  whole_ = together * std::ceil(static_cast<double>(s.whole) / (together * at_once_)) -
           (s.shared() > 0 ? 0 : 1);
  const GemmTile tile = gemm_tile(entry_, seen_.in_bytes, seen_.out_bytes);
  stages_ =
      static_cast<double>((gemm_ring_bytes(choice_, d_, tile, s.width) - s.joined_bytes(choice_)) /
                          gemm_stream_stage(tile, static_cast<u32>(s.width)));
  joined_ = s.joined > 0;
}

// For 64 rows and 32 bytes of k wgmma takes N / 2 clocks, or longer if it waits for shared memory,
// which delivers A and B at 128 bytes per clock: 16 + N / 4 clocks. Kernels that add the
// accumulators of each k block outside the tensor cores take longer.
double Cost::step_ns() const {
  if (!choice_.uses_maps()) return plain_step_ns();
  const double products = tm_ / 64 * (entry_.tile[2] * seen_.in_bytes / 32.0);
  const double slower = GemmRates::kFlops / chip_.rates.flops_per_clock;
  const double floor = products * std::max(tn_ / 2 * slower, 16 + tn_ / 4);
  const double clocks = model_.tensor * floor;
  if (!choice_.has(kGemmScaled) || choice_.has(kGemmNoPromotion)) return ns(clocks);
  if (d_.a_scaling.kind < ScaleKind::k128) return ns(clocks + model_.promote_clocks * tn_);
  return ns(std::max(clocks + model_.promote_scaled_clocks * tn_, model_.promote_step_clocks));
}

// Several CTAs of these kernels share an SM. Returns the time in which each of them does one k
// block. Kernels for a short k do all of k in one step, so the step's time depends on k.
double Cost::plain_step_ns() const {
  if (choice_.has(kGemmShort)) return model_.plain_short_tile_ns + model_.plain_short_step_ns * k_;
  const double on_sm = std::max(1.0, std::min(units_, at_once_) * choice_.cluster() / chip_.sms);
  if (!choice_.has(kGemmSplit))
    return ns(std::max(model_.plain_alone_clocks, model_.plain_step_clocks * on_sm));
  const double groups = std::ceil(std::min(n_, tn_) / 8);
  return (model_.plain_split_step_ns + model_.plain_split_group_ns * groups) *
         (on_sm > 1 ? model_.plain_split_shared : 1);
}

// Lines that a CTA loads of an operand per k block, and how many of them lie outside the operand on
// average. A line is what the TMA writes to one line of a stage: 128 bytes in TMA kernels. If the
// operand is contiguous along k, there is one line per row of A or column of B, and a box that the
// cluster does not share is clipped to the operand. If it is not, there is one line for each k and
// each 64 rows or columns.
Cost::Lines Cost::lines_of(bool along_k, double extent, double tile, double blocks, double sharers,
                           double units) const {
  if (!along_k) return {std::ceil(tile / 64) * entry_.tile[2], 0};
  const double all = sharers == 1 ? std::min(tile, std::ceil(extent / 8) * 8) : tile;
  if (all < tile) return {all, all * (1 - 1 / blocks)};
  return {all, tile - extent / (units * blocks)};
}

// Extra fraction for lines that do not begin at a sector of the L2 (32 bytes).
double Cost::straddles(int64_t pitch) const {
  const int64_t bytes = pitch * seen_.in_bytes;
  return bytes % 32 == 0 ? 0 : model_.straddle;
}

// Two SMs share a path to the L2. A CTA whose neighbor SM is idle has all of it; a line that both
// SMs want is transferred once. Such lines are those that a cluster shares, or the operand that
// neighboring CTAs have in common.
void Cost::count_lines() {
  const bool ak = d_.a_order == Order::row, bk = d_.b_order == Order::column;
  const Lines a = lines_of(ak, m_, tm_, cm_, cn_, units_m_);
  const Lines b = lines_of(bk, n_, tn_, cn_, cm_, units_n_);
  // a_again, b_again: extra fractions for lines that straddle sectors. again: extra lines.
  const double a_again = straddles(d_.lda);
  // If B is not contiguous along k, a tile's lines begin at the tile's first column, which may lie
  // inside a sector.
  const bool between = !bk && units_n_ > 1 && entry_.tile[1] % 64 != 0;
  const double b_again = between ? model_.straddle : straddles(d_.ldb);
  const bool meet = choice_.cluster() == 1 && a_again == 0 && b_again == 0;
  const double shared = cm_ > 1 ? b.all : cn_ > 1 ? a.all : meet ? std::max(a.all, b.all) : 0;
  const double again = a.all * a_again / cn_ + b.all * b_again / cm_;
  lines_ = a.all + b.all + again;
  const auto crowded = [&](double saved) {
    return (a.all + b.all - saved * model_.neighbour) * (1 + model_.crowd) + again;
  };
  crowded_lines_ = crowded(shared);
  apart_lines_ = crowded(shares_loads() ? shared : 0);
  outside_ns_ = ns(model_.outside_clocks) * (a.outside / cn_ + b.outside / cm_);
}

// Time of all memory traffic. Data that does not stay in the L2 is read again: A by each wave of a
// band of tiles, B by each band. A matrix that all products of a batch share is read once.
double Cost::memory_ns() const {
  const auto matrices = [&](int64_t stride) { return stride == 0 ? 1 : batch_; };
  const double a = m_ * k_ * seen_.in_bytes, b = n_ * k_ * seen_.in_bytes;
  const double kept = chip_.rates.l2_size / 2;  // both L2 halves hold copies of shared data
  const auto missed = [&](double bytes) { return std::max(0.0, 1 - kept / bytes); };
  const double of_band = std::min(1.0, band_ / units_m_);
  const double reads_a = std::max(1.0, std::ceil(band_ * units_n_ / at_once_));
  const double reads_b = std::ceil(units_m_ / band_);
  const double d = m_ * n_ * seen_.out_bytes * matrices(d_.d_batch);
  const double writes = choice_.writes_chains() ? gemm_chains(d_.k) : 1;
  const double bytes = a * matrices(d_.a_batch) * (1 + missed(a * of_band) * (reads_a - 1)) +
                       b * matrices(d_.b_batch) * (1 + missed(b) * (reads_b - 1)) +
                       d * (model_.stores * writes + (seen_.reads_c ? 1 : 0));
  return bytes / (chip_.rates.dram_bytes * model_.dram);
}

double Cost::launch_ns() const {
  const bool split = choice_.has(kGemmSplit), plain = !choice_.uses_maps();
  const double hidden = d_.has(kGemmProgrammatic) ? model_.programmatic_ns : 0;
  if (plain && choice_.has(kGemmShort)) return model_.plain_short_ns - hidden;
  if (plain && split)
    return model_.plain_split_ns + (choice_.split > 1 ? model_.plain_cluster_ns : 0) - hidden;
  return (plain ? model_.plain_ns : model_.launch_ns) + (split ? model_.split_ns : 0) +
         (choice_.has(kGemmStreamK) ? model_.stream_launch_ns : 0) +
         (choice_.has(kGemmStreamK) && choice_.has(kGemmEpilogue) ? model_.stream_option_ns : 0) +
         (shares_loads() || joined_ ? model_.cluster_ns : 0) - hidden;
}

// Writing one tile's accumulators to D. With split-K each CTA of the cluster writes a part.
double Cost::epilogue_ns(double fixed, double element) const {
  const double threads =
      128 * (choice_.has(kGemmPingpong) ? 1 : gemm_consumers(static_cast<u32>(entry_.tile[0])));
  const double parts = choice_.has(kGemmSplit) ? choice_.split : 1;
  return ns(fixed + element * tm_ * tn_ / (threads * parts));
}

double Cost::element_clocks() const {
  const GemmEpilogue& e = d_.epilogue;
  const double store = choice_.has(kGemmSwapAB)     ? model_.swap_element
                       : choice_.has(kGemmPingpong) ? model_.ping_element
                                                    : model_.element_clocks;
  double clocks = store * seen_.out_bytes / 2;
  const double work = choice_.has(kGemmStreamK) ? model_.stream_work_clocks : model_.work_clocks;
  if (e.activation > Activation::relu || e.scale != Per::none || e.amax) clocks += work;
  if (seen_.reads_c) clocks += work;
  if (choice_.has(kGemmEpilogue) && !choice_.has(kGemmBatched))
    clocks += choice_.has(kGemmSplit | kGemmSwapAB) && !choice_.has(kGemmStreamK)
                  ? model_.split_option_clocks
                  : model_.option_clocks;
  return clocks;
}

double Cost::chains_ns() const {
  if (!choice_.makes_chains()) return 0;
  const double element = choice_.writes_chains() ? element_clocks() : model_.chain_element;
  return (gemm_chains(d_.k) - 1) * epilogue_ns(0, element);
}

// Reduction of partial accumulators: within the cluster (split-K and joined blocks of stream-K), or
// through the L2 (stream-K).
double Cost::reduce_ns() const {
  const double sums = tm_ * tn_ * 4;
  if (joined_)
    return model_.part_ns * parts_ + ns(sums * (1 - 1 / parts_) * model_.exchange_clocks);
  if (choice_.has(kGemmStreamK)) {
    return parts_ == 1 ? 0 : model_.stream_ns + sums * parts_ / model_.stream_bytes;
  }
  if (choice_.has(kGemmNoMaps) && choice_.has(kGemmSplit))
    return model_.plain_split_tile_ns +
           model_.plain_split_column_ns * std::min(n_, tn_) / choice_.split;
  if (choice_.split == 1) return 0;
  return model_.part_ns * choice_.split +
         ns(sums * (1 - 1.0 / choice_.split) * model_.exchange_clocks);
}

Cost::Wave Cost::wave(double clusters, double steps, double between, bool apart) const {
  const double blocks = clusters * choice_.cluster();
  const double paired = std::clamp(2 * blocks / chip_.sms - 1, 0.0, 1.0);
  const double lines = lines_ * (1 - paired) + (apart ? apart_lines_ : crowded_lines_) * paired;
  // L2 lines (128 bytes) for each line of lines_of(): 1 in all TMA kernels, whose k blocks have 128
  // bytes of k.
  const double bytes = entry_.tile[2] * seen_.in_bytes / kLine;
  const double stages = std::min(stages_, steps_);
  const double load = std::max(ns(model_.line_clocks) * lines * bytes, model_.latency_ns / stages);
  return {.tensor = steps * step_ns_ + between,
          .load = choice_.uses_maps() ? steps * (load + outside_ns_ * blocks * bytes) : 0,
          .memory = memory_ns_ * clusters * steps / (units_ * steps_)};
}

// Delay between two tiles of a CTA. Basic cooperative kernels overlap most of the epilogue with
// the next tile, epilogue kernels none of it. In ping-pong kernels only the excess over the other
// warpgroup's main loop shows. Stream-K kernels wait for their stores while all SMs write at once.
double Cost::between_ns(double end) const {
  if (choice_.has(kGemmPingpong)) return std::max(0.0, (end - steps_ * step_ns_) / 2);
  const double bytes = seen_.out_bytes / 2.0;  // relative to 16-bit elements
  if (choice_.has(kGemmStreamK))
    return epilogue_ns(model_.epilogue_clocks, element_clocks() + model_.stream_store * bytes);
  if (choice_.has(kGemmEpilogue)) return end;
  return epilogue_ns(model_.between_clocks, model_.between_element * bytes);
}

// Time at the power limit, which limit_flops states for 16-bit operands and 128 x 256 tiles.
// Smaller tiles load more bytes per FLOP and take more power. A product has 2 m n k FLOP; in_bytes
// replaces the 2, since the power of other types is assumed to be proportional to their bytes.
double Cost::power_ns() const {
  const double bytes = (1 / tm_ + 1 / tn_) / (1.0 / 128 + 1.0 / 256);
  return m_ * n_ * k_ * batch_ * seen_.in_bytes / chip_.rates.limit_flops *
         (1 + model_.power_bytes * (bytes - 1));
}

GemmTerms Cost::terms() const {
  const bool split = choice_.has(kGemmSplit);
  // Only TMA kernels need staging copies: the others read operands of any address.
  const bool waits = choice_.uses_maps() && entry_.feature != feature::host;
  const double end = epilogue_ns(model_.epilogue_clocks, element_clocks()) + reduce_ns();
  const double chains = chains_ns();
  // A split-K cluster computes one unit and exits. Starting the next wave's clusters costs
  // again_ns, which is added to t.epilogue.
  const Wave whole = wave(at_once_, steps_, chains + (split ? 0 : between_ns(end)));
  const Wave last = wave(last_, last_steps_, chains, apart_);
  GemmTerms t;
  t.launch = launch_ns();
  t.epilogue = end + (split ? whole_ * (end + model_.again_ns) : 0);
  t.tensor = whole_ * whole.tensor + last.tensor;
  t.memory = whole_ * whole.memory + last.memory;
  t.l2 = whole_ * whole.load + last.load;
  if (waits)
    t.copies = model_.copy_ns * seen_.copies +
               seen_.copied_bytes / (model_.copy_reached * chip_.rates.dram_bytes);
  const double alone = t.launch + whole_ * whole.all() + last.all() + t.epilogue;
  t.total = t.copies + limited(alone, power_ns());
  return t;
}

}  // namespace

GemmTerms gemm_terms(const GemmChoice& choice, const GemmProblem& seen, const GemmChip& chip,
                     const GemmModel& model) {
  return Cost(choice, seen, chip, model).terms();
}

int64_t gemm_units(const GemmChoice& choice, const GemmProblem& problem) {
  const KernelEntry& entry = *choice.entry;
  const GemmDesc& d = problem.desc;
  return gemm_units_m(choice, d, d.m) *
         ceil_div(d.n, gemm_tile_columns(choice, d, d.n) * entry.cluster[1]) * problem.desc.batch;
}

}  // namespace tw
