// SPDX-License-Identifier: Apache-2.0
// All choices that can serve a problem, and their order.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "ops/gemm/select/gemm_cost.hpp"
#include "ops/gemm/select/gemm_shares.hpp"
#include "ops/gemm/select/gemm_tuning.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

int64_t gemm_rung(int64_t m) {
  if (m <= 512) return round_up(m, 8);
  if (m <= 8192) return round_up(m, 64);
  if (m <= 65536) return round_up(m, 256);
  int64_t step = 4096;
  while (step * 32 < m) step *= 2;
  return round_up(m, step);
}

bool gemm_types_fit(const KernelRow& row, const GemmDesc& desc) {
  if (((row.variant & kGemmScaled) != 0) != desc.is_narrow()) return false;
  if (row.feature == feature::host) return true;
  const auto takes = [](DType own, DType wanted) { return own == DType{} || own == wanted; };
  if (!takes(row.dtypes[1], desc.d_dtype)) return false;
  // Those without maps take 8-bit floats one by one, whichever they are.
  if (is_f8(desc.a_dtype) && (row.variant & kGemmPlain) != 0) return is_f8(row.dtypes[0]);
  const DType b = row.dtypes[2] == DType{} ? row.dtypes[0] : row.dtypes[2];
  return row.dtypes[0] == desc.a_dtype && b == desc.b_type();
}

bool gemm_does_all(const GemmChoice& choice, const GemmDesc& desc) {
  if (choice.has(kGemmStreamK) && !choice.has(kGemmFull)) return false;
  return !choice.has(kGemmAlone) && gemm_adds_up_nothing(choice, desc);
}

namespace {

bool orders_fit(const KernelRow& row, const GemmDesc& desc) {
  constexpr uint32_t kAlongK = kGemmSplit | kGemmShort;
  if (row.feature == feature::host || (row.variant & (kGemmPlain | kAlongK)) == kGemmPlain)
    return true;
  const uint32_t orders = (desc.a_order == Order::column ? kGemmColumnA : 0u) |
                          (desc.b_order == Order::column ? kGemmColumnB : 0u);
  return (row.variant & (kGemmColumnA | kGemmColumnB)) == orders;
}

// Of a gate whose columns lie apart, a tile loads half from each: boxes across k are 64 wide, and
// begin at multiples of 16 bytes.
bool epilogue_fits(const GemmChoice& choice, const GemmProblem& seen) {
  if (choice.has(kGemmAlone)) return !seen.desc.epilogue.any() && !seen.desc.has(kGemmPointers);
  if (!seen.wants_full()) return true;
  if (!choice.has(kGemmFull)) return false;
  // Nobody else shares the k of tiles that one block multiplies together.
  if (gemm_tiles_together(choice, seen.desc) > 1 && choice.split > 1) return false;
  if (!seen.gated() || !choice.through_maps()) return true;
  if (!seen.gate_along()) return false;
  // D of a gated tile that is no whole slab is not staged. A split's one part does it faster.
  if (!choice.has(kGemmSplit | kGemmTransposed) &&
      choice.row->tile[1] / 2 * seen.out_bytes % 128 != 0)
    return false;
  if (seen.desc.epilogue.gate != Gate::halves) return true;
  const bool by_m = seen.swapped;  // what is gated is the row's m
  const bool along_k = by_m ? seen.desc.a_order == Order::row : seen.desc.b_order == Order::column;
  const int64_t half = (by_m ? seen.desc.m : seen.desc.n) / 2;
  // A warpgroup has half of its rows from each, in boxes of 64 across k.
  if (choice.has(kGemmStreamK)) return along_k;
  return along_k ||
         (choice.row->tile[by_m ? 0 : 1] % 128 == 0 && half * seen.in_bytes % kMapAlignment == 0);
}

// Whether lines of D are whole pieces of 16 bytes for all runs, of which those along m may have
// fewer elements.
bool stores_whole_pieces(const GemmProblem& seen) {
  const GemmDesc& d = seen.desc;
  const bool along_rows = seen.swapped == (d.d_order == Order::row);
  return seen.d_pitch_suits_maps() &&
         (d.d_padding_free || (seen.d_contiguous() * seen.out_bytes % kMapAlignment == 0 &&
                               (!along_rows || d.min_m == seen.rows())));
}

}  // namespace

GemmMisfit gemm_misfit(const Device& device, const GemmProblem& seen, const GemmChoice& choice) {
  const KernelRow& row = *choice.row;
  if (!(row.feature & device.info().kernel_features) || choice.has(kGemmPrologue))
    return GemmMisfit::feature;
  if (!gemm_types_fit(row, seen.desc)) return GemmMisfit::types;
  if (choice.has(kGemmFast) && is_f8(seen.desc.a_dtype) && !seen.desc.fast_accumulate)
    return GemmMisfit::sums;
  // Scales that change along k are those of a block's sum outside of the tensor cores.
  if (choice.has(kGemmFast) && seen.desc.a_scaling.kind >= ScaleKind::k128) return GemmMisfit::sums;
  if (choice.has(kGemmHalfSum) && seen.desc.accumulator != DType::F16) return GemmMisfit::sums;
  if (!orders_fit(row, seen.desc)) return GemmMisfit::orders;
  // Addresses that only the device sees can be promised, and not looked at.
  if (choice.through_maps() && seen.desc.has(kGemmPointers) &&
      (seen.desc.a_alignment < kMapAlignment || seen.desc.b_alignment < kMapAlignment))
    return GemmMisfit::promises;
  if (choice.through_maps() && !seen.pitches_suit_maps()) return GemmMisfit::pitches;
  if (!choice.through_maps() && choice.has(kGemmSplit) &&
      gemm_least_pitch(seen.desc) < kGemmPlainSplitPitch)
    return GemmMisfit::pitches;
  if (choice.cluster() > usable_sms(device, seen.desc.max_sms) ||
      device.clusters_at_once(choice.least_sms()) == kNoClusters)
    return GemmMisfit::blocks;
  if (choice.split > 1 && choice.split > ceil_div(seen.desc.k, row.tile[2]))
    return GemmMisfit::depth;
  if (choice.has(kGemmStreamK) && seen.desc.k > kGemmMostStreamK) return GemmMisfit::depth;
  if (choice.has(kGemmShort) && seen.desc.k > row.tile[2]) return GemmMisfit::depth;
  if (!epilogue_fits(choice, seen)) return GemmMisfit::epilogue;
  if (choice.has(kGemmAlone) && !seen.d_suits_map()) return GemmMisfit::stores;
  if (choice.has(kGemmStreamK) && !choice.has(kGemmFull) && !stores_whole_pieces(seen))
    return GemmMisfit::stores;
  if (choice.has(kGemmStreamK) && (choice.split & (choice.split - 1)) != 0)
    return GemmMisfit::parts;
  return GemmMisfit::none;
}

GemmCandidate gemm_candidate(const GemmChoice& choice, const GemmProblem& seen,
                             const GemmChip& chip) {
  const GemmTerms terms = gemm_terms(choice, seen, chip);
  const auto units = static_cast<double>(gemm_units(choice, seen));
  return {choice, terms.total, units / std::max(1u, chip.at_once(choice)), terms};
}

GemmProblem gemm_seen_by(const GemmChoice& choice, const GemmProblem& problem) {
  return choice.has(kGemmTransposed) ? turned(problem) : problem;
}

GemmRanking::GemmRanking(const Device& device, const GemmProblem& problem, const GemmTuning* tuning)
    : problem_(problem), chip_(GemmChip::of(device, problem.desc.max_sms)) {
  const GemmProblem other = turned(problem);
  for (const KernelRow& row : kernel_rows(Family::gemm)) {
    GemmChoice choice{&row, 1};
    // Plain rows do all that is plain.
    if (choice.has(kGemmFull) != problem.wants_full()) continue;
    if (choice.has(kGemmAlone) && !problem.is_alone()) continue;
    const bool splits = choice.shares_k();
    choice.split = choice.least_split();
    const GemmProblem& seen = choice.has(kGemmTransposed) ? other : problem;
    while (choice.split <= (splits ? kMaxCluster : 1) && choice.cluster() <= kMaxCluster &&
           gemm_misfit(device, seen, choice) == GemmMisfit::none) {
      choices_.push_back(choice);
      choice.split += choice.has(kGemmStreamK) ? choice.split : 1;
    }
  }
  // Where rows can go through maps at no cost, those that read along k without are for nothing.
  const auto maps = [](const GemmChoice& c) { return c.through_maps(); };
  if (problem.copies == 0 && std::any_of(choices_.begin(), choices_.end(), maps))
    choices_.erase(std::remove_if(choices_.begin(), choices_.end(),
                                  [&](const GemmChoice& c) {
                                    return !maps(c) && c.has(kGemmSplit | kGemmShort);
                                  }),
                   choices_.end());
  // Who asks for sums in f16 gets them where there is such a kernel; f32 is the next best thing.
  const auto half = [](const GemmChoice& c) { return c.has(kGemmHalfSum); };
  if (std::any_of(choices_.begin(), choices_.end(), half))
    choices_.erase(
        std::remove_if(choices_.begin(), choices_.end(),
                       [&](const GemmChoice& c) { return c.through_maps() && !half(c); }),
        choices_.end());
  leave_long_sums();
  if (problem.desc.has(kGemmInvariant)) leave_other_orders();
  if (tuning) add_tuned(*tuning, gemm_tuning_key(device, problem));
}

// Sums of one chain drift with their length (gemm_chains_of). Against half a unit of bf16 that does
// not show. Rows that make no chains share k among as many blocks or are left out, as far as there
// are others.
void GemmRanking::leave_long_sums() {
  const GemmDesc& d = problem_.desc;
  if (d.d_dtype == DType::BF16) return;
  const auto wanted = static_cast<uint32_t>(gemm_chains_of(d));
  uint32_t most = 1;
  for (const GemmChoice& c : choices_)
    if (c.through_maps() && !c.has(kGemmStreamK)) most = std::max(most, c.split);
  const auto too_few = [&](const GemmChoice& c) {
    // Stream-K kernels make chains by themselves.
    return c.through_maps() && !c.makes_chains() && !c.has(kGemmStreamK) &&
           c.split < std::min(wanted, most);
  };
  choices_.erase(std::remove_if(choices_.begin(), choices_.end(), too_few), choices_.end());
}

// What adds the products of a row in another order than others do: how many blocks share k, whether
// chains of it are added up in other ways than as whole sums, and whether D is made the other way
// round. A split of one part adds in the order of rows that have none, but writes D by code of its
// own, where gelu_tanh has other bits (FullChunks::kFactor).
// None may depend on m, nor may the step from rows that go through maps to those that do not, so
// that one kind of row is left. It is made of (n, k), types, pitches and promises alone.
void GemmRanking::leave_other_orders() {
  const GemmDesc& d = problem_.desc;
  const bool suits =
      d.realign || (d.a_alignment >= kMapAlignment && d.b_alignment >= kMapAlignment);
  const auto usual = [&](const GemmChoice& c) {
    return suits && c.through_maps() && !c.has(kGemmTransposed) &&
           !(c.makes_chains() && !c.keeps_chains() && gemm_chains(d.k) > 1);
  };
  // Where types and orders have none of those, a stream-K kernel that shares nothing.
  const bool streams = std::none_of(choices_.begin(), choices_.end(), usual);
  const auto possible = [&](const GemmChoice& c) {
    return streams ? suits && c.has(kGemmStreamK) && gemm_does_all(c, d) : usual(c);
  };
  // The fewest parts of rows that go through maps, of one part those that are no split first; 0:
  // there are none.
  const auto parts = [](const GemmChoice& c) { return c.split * 2 + c.has(kGemmSplit); };
  uint32_t least = 0;
  for (const GemmChoice& c : choices_)
    if (possible(c) && (least == 0 || parts(c) < least)) least = parts(c);
  const auto other = [&](const GemmChoice& c) {
    return least == 0 ? c.through_maps() || c.has(kGemmSplit | kGemmShort)
                      : !possible(c) || parts(c) != least;
  };
  choices_.erase(std::remove_if(choices_.begin(), choices_.end(), other), choices_.end());
}

bool GemmRanking::has(const GemmChoice& choice) const {
  return std::find(choices_.begin(), choices_.end(), choice) != choices_.end();
}

// A programmatic plan takes what was measured otherwise too; of one step, what was measured as it
// is launched comes last and counts.
void GemmRanking::add_tuned(const GemmTuning& tuning, GemmTuningKey key) {
  const bool programmatic = std::exchange(key.programmatic, false);
  for (const bool own : {false, true}) {
    if (own && !programmatic) break;
    key.programmatic = own;
    for (const GemmTuned& entry : tuning.find(key))
      if (has(entry.candidate.choice))
        tuned_.push_back({gemm_rung(entry.m), entry.candidate.choice, entry.candidate.nanoseconds});
  }
}

// The choice that was measured closest above m rows; of several in one step the last.
bool GemmRanking::measured(int64_t m, GemmCandidate* out) const {
  if (tuned_.empty()) return false;
  GemmProblem at = problem_;
  at.set_rows(gemm_rung(m));
  int64_t found = 0;  // the step of the choice in *out
  for (const Measured& one : tuned_) {
    if (!gemm_tuning_serves(one.rung, m) || (found != 0 && one.rung > found)) continue;
    if (!has_room(one.choice, m)) continue;
    found = one.rung;
    *out = gemm_candidate(one.choice, gemm_seen_by(one.choice, at), chip_);
    out->nanoseconds = one.nanoseconds;
    out->measured = true;
  }
  return found != 0;
}

// Calls take(choice, problem as it sees it, nanoseconds) for every choice that has room for m rows.
// Times are those of m's step, for all of it; room is that of m alone, or of a plan for it some
// choices would be left out that its launches have the blocks for.
template <class Take>
void GemmRanking::each(int64_t m, Take take) const {
  GemmProblem exact = problem_, step = problem_;
  exact.set_rows(m);
  step.set_rows(gemm_rung(m));
  const GemmProblem exact_turned = turned(exact), step_turned = turned(step);
  for (const GemmChoice& choice : choices_) {
    const bool turns = choice.has(kGemmTransposed);
    if (!gemm_has_room(choice, turns ? exact_turned : exact)) continue;
    const GemmProblem& seen = turns ? step_turned : step;
    take(choice, seen, gemm_terms(choice, seen, chip_).total);
  }
}

std::vector<GemmCandidate> GemmRanking::at(int64_t m) const {
  std::vector<GemmCandidate> out;
  each(m, [&](const GemmChoice& choice, const GemmProblem& seen, double) {
    out.push_back(gemm_candidate(choice, seen, chip_));
  });
  std::stable_sort(out.begin(), out.end(), [](const GemmCandidate& a, const GemmCandidate& b) {
    return a.nanoseconds < b.nanoseconds;
  });
  GemmCandidate first;
  if (measured(m, &first)) {
    out.erase(std::remove_if(out.begin(), out.end(),
                             [&](const GemmCandidate& c) { return c.choice == first.choice; }),
              out.end());
    out.insert(out.begin(), first);
  }
  return out;
}

template <class Takes>
GemmCandidate GemmRanking::best_of(int64_t m, Takes takes) const {
  GemmChoice choice;
  double least = std::numeric_limits<double>::infinity();
  each(m, [&](const GemmChoice& next, const GemmProblem&, double nanoseconds) {
    if (!takes(next) || nanoseconds >= least) return;
    choice = next;
    least = nanoseconds;
  });
  if (!choice.row) return {};
  GemmProblem at = problem_;
  at.set_rows(gemm_rung(m));
  return gemm_candidate(choice, gemm_seen_by(choice, at), chip_);
}

GemmCandidate GemmRanking::best(int64_t m) const {
  GemmCandidate first;
  if (measured(m, &first)) return first;
  return best_of(m, [](const GemmChoice&) { return true; });
}

GemmCandidate GemmRanking::best_plain(int64_t m) const {
  return best_of(m, [](const GemmChoice& c) { return !c.through_maps(); });
}

GemmCandidate GemmRanking::best_whole(int64_t m) const {
  return best_of(m, [&](const GemmChoice& c) { return gemm_does_all(c, problem_.desc); });
}

}  // namespace tw
