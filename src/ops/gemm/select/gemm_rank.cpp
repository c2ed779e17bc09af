// SPDX-License-Identifier: Apache-2.0
// Collects the choices that can serve a problem, drops those that accuracy or batch invariance
// exclude, and ranks the rest: a tuning entry first, then by the cost model.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "ops/gemm/select/gemm_cost.hpp"
#include "ops/gemm/select/gemm_shares.hpp"
#include "ops/gemm/select/gemm_tuning.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

int64_t gemm_bucket_end(int64_t m) {
  if (m <= 512) return round_up(m, 8);
  if (m <= 8192) return round_up(m, 64);
  if (m <= 65536) return round_up(m, 256);
  int64_t step = 4096;
  while (step * 32 < m) step *= 2;
  return round_up(m, step);
}

bool gemm_types_fit(const KernelEntry& entry, const GemmDesc& desc) {
  if (((entry.variant & kGemmScaled) != 0) != desc.is_narrow()) return false;
  if (entry.feature == feature::host) return true;
  const auto takes = [](DType own, DType wanted) { return own == DType{} || own == wanted; };
  if (!takes(entry.dtypes[1], desc.d_dtype)) return false;
  // Kernels without maps convert each 8-bit float on its own, so they take any mix of formats.
  if (is_f8(desc.a_dtype) && (entry.variant & kGemmNoMaps) != 0) return is_f8(entry.dtypes[0]);
  const DType b = entry.dtypes[2] == DType{} ? entry.dtypes[0] : entry.dtypes[2];
  return entry.dtypes[0] == desc.a_dtype && b == desc.b_type();
}

bool gemm_serves_every_run(const GemmChoice& choice, const GemmDesc& desc) {
  if (choice.has(kGemmStreamK) && !choice.has(kGemmEpilogue)) return false;
  return !choice.has(kGemmBatched) && gemm_needs_no_workspace(choice, desc);
}

namespace {

bool orders_fit(const KernelEntry& entry, const GemmDesc& desc) {
  // Kernels without maps take any orders, except those that split k or are for a short k.
  constexpr uint32_t kAlongK = kGemmSplit | kGemmShort;
  if (entry.feature == feature::host || (entry.variant & (kGemmNoMaps | kAlongK)) == kGemmNoMaps)
    return true;
  const uint32_t orders = (desc.a_order == Order::column ? kGemmColumnA : 0u) |
                          (desc.b_order == Order::column ? kGemmColumnB : 0u);
  return (entry.variant & (kGemmColumnA | kGemmColumnB)) == orders;
}

bool epilogue_fits(const GemmChoice& choice, const GemmProblem& seen) {
  if (choice.has(kGemmBatched)) return !seen.desc.epilogue.any() && !seen.desc.has(kGemmPointers);
  if (!seen.wants_epilogue_kernel()) return true;
  if (!choice.has(kGemmEpilogue)) return false;
  // One CTA multiplies tiles that belong together, so their k is not divided.
  if (gemm_tiles_together(choice, seen.desc) > 1 && choice.split > 1) return false;
  if (!seen.gated() || !choice.uses_maps()) return true;
  if (!seen.gate_along()) return false;
  // If half of a tile's width is no multiple of a 128-byte line, a gated kernel cannot stage D in
  // shared memory. A split-K kernel with a factor of 1 is then faster.
  if (!choice.has(kGemmSplit | kGemmSwapAB) &&
      choice.entry->tile[1] / 2 * seen.out_bytes % 128 != 0)
    return false;
  if (seen.desc.epilogue.gate != Gate::halves) return true;
  const bool by_m = seen.swapped;  // the gate halves the kernel's m
  const bool along_k = by_m ? seen.desc.a_order == Order::row : seen.desc.b_order == Order::column;
  const int64_t half = (by_m ? seen.desc.m : seen.desc.n) / 2;
  // With Gate::halves a tile loads half of its lines from each half of the operand. Boxes of an
  // operand that is not contiguous along k have 64 lines. In a stream-K kernel each consumer
  // warpgroup takes 32 lines from each half, which is less than such a box.
  if (choice.has(kGemmStreamK)) return along_k;
  // In other kernels half a tile must be whole boxes, and the second half of the operand must begin
  // at a multiple of 16 bytes.
  return along_k ||
         (choice.entry->tile[by_m ? 0 : 1] % 128 == 0 && half * seen.in_bytes % kMapAlignment == 0);
}

// Whether lines of D are whole 16-byte pieces in every run. A line is what D stores contiguously.
// If it runs along the caller's m (along_rows), runs with fewer rows have shorter lines.
bool stores_whole_pieces(const GemmProblem& seen) {
  const GemmDesc& d = seen.desc;
  const bool along_rows = seen.swapped == (d.d_order == Order::row);
  return seen.d_pitch_suits_maps() &&
         (d.d_padding_free || (seen.d_contiguous() * seen.out_bytes % kMapAlignment == 0 &&
                               (!along_rows || d.min_m == seen.rows())));
}

}  // namespace

GemmMisfit gemm_misfit(const Device& device, const GemmProblem& seen, const GemmChoice& choice) {
  const KernelEntry& entry = *choice.entry;
  if (!(entry.feature & device.info().kernel_features) || choice.has(kGemmPrologue))
    return GemmMisfit::feature;
  if (!gemm_types_fit(entry, seen.desc)) return GemmMisfit::types;
  if (choice.has(kGemmNoPromotion) && is_f8(seen.desc.a_dtype) && !seen.desc.fast_accumulate)
    return GemmMisfit::sums;
  // Kernels without promotion keep their accumulators in the tensor cores for all of k, so they
  // cannot apply scales that vary along k.
  if (choice.has(kGemmNoPromotion) && seen.desc.a_scaling.kind >= ScaleKind::k128)
    return GemmMisfit::sums;
  if (choice.has(kGemmF16Accumulators) && seen.desc.accumulator != DType::F16)
    return GemmMisfit::sums;
  if (!orders_fit(entry, seen.desc)) return GemmMisfit::orders;
  // With TW_GEMM_BATCH_POINTERS the host sees no addresses, so a map needs promised alignments.
  if (choice.uses_maps() && seen.desc.has(kGemmPointers) &&
      (seen.desc.a_alignment < kMapAlignment || seen.desc.b_alignment < kMapAlignment))
    return GemmMisfit::promises;
  if (choice.uses_maps() && !seen.pitches_suit_maps()) return GemmMisfit::pitches;
  if (!choice.uses_maps() && choice.has(kGemmSplit) &&
      gemm_pitch_without_copy(seen.desc) < kGemmNoMapsSplitMinPitch)
    return GemmMisfit::pitches;
  if (choice.cluster() > usable_sms(device, seen.desc.max_sms) ||
      device.max_active_clusters(choice.min_sms()) == kNoClusters)
    return GemmMisfit::blocks;
  if (choice.split > 1 && choice.split > ceil_div(seen.desc.k, entry.tile[2]))
    return GemmMisfit::depth;
  if (choice.has(kGemmStreamK) && seen.desc.k > kGemmMaxStreamK) return GemmMisfit::depth;
  if (choice.has(kGemmShort) && seen.desc.k > entry.tile[2]) return GemmMisfit::depth;
  if (!epilogue_fits(choice, seen)) return GemmMisfit::epilogue;
  if (choice.has(kGemmBatched) && !seen.d_suits_map()) return GemmMisfit::stores;
  if (choice.has(kGemmStreamK) && !choice.has(kGemmEpilogue) && !stores_whole_pieces(seen))
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

GemmProblem gemm_kernel_view(const GemmChoice& choice, const GemmProblem& problem) {
  return choice.has(kGemmSwapAB) ? turned(problem) : problem;
}

GemmRanking::GemmRanking(const Device& device, const GemmProblem& problem, const GemmTuning* tuning)
    : problem_(problem), chip_(GemmChip::of(device, problem.desc.max_sms)) {
  const GemmProblem other = turned(problem);
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    GemmChoice choice{&entry, 1};
    // kGemmEpilogue marks the kernels for epilogues, batches, C and narrow types, batched kernels
    // among them. A problem uses either these kernels or the others.
    if (choice.has(kGemmEpilogue) != problem.wants_epilogue_kernel()) continue;
    if (choice.has(kGemmBatched) && !problem.is_alone()) continue;
    const bool splits = choice.shares_k();
    choice.split = choice.min_split();
    const GemmProblem& seen = choice.has(kGemmSwapAB) ? other : problem;
    while (choice.split <= (splits ? kMaxCluster : 1) && choice.cluster() <= kMaxCluster &&
           gemm_misfit(device, seen, choice) == GemmMisfit::none) {
      choices_.push_back(choice);
      choice.split += choice.has(kGemmStreamK) ? choice.split : 1;
    }
  }
  // Where TMA kernels need no staging copies, split-K and short-k kernels without maps cannot win.
  const auto maps = [](const GemmChoice& c) { return c.uses_maps(); };
  if (problem.copies == 0 && std::any_of(choices_.begin(), choices_.end(), maps))
    choices_.erase(std::remove_if(choices_.begin(), choices_.end(),
                                  [&](const GemmChoice& c) {
                                    return !maps(c) && c.has(kGemmSplit | kGemmShort);
                                  }),
                   choices_.end());
  // If a kernel has the f16 accumulators that the caller asks for, drop the TMA kernels with f32
  // ones. Kernels without maps, which have f32 ones, stay: they serve runs with unaligned operands.
  const auto half = [](const GemmChoice& c) { return c.has(kGemmF16Accumulators); };
  if (std::any_of(choices_.begin(), choices_.end(), half))
    choices_.erase(std::remove_if(choices_.begin(), choices_.end(),
                                  [&](const GemmChoice& c) { return c.uses_maps() && !half(c); }),
                   choices_.end());
  drop_long_chains();
  if (problem.desc.has(kGemmInvariant)) keep_batch_invariant();
  if (tuning) add_tuned(*tuning, gemm_tuning_key(device, problem));
}

// Accuracy: the drift of one accumulation chain grows with its length (gemm_chains_of). It does not
// show in a bf16 D. For other types, drops kernels without chains whose split-K factor is below the
// wanted number of chains, or below the largest factor available if that is smaller.
void GemmRanking::drop_long_chains() {
  const GemmDesc& d = problem_.desc;
  if (d.d_dtype == DType::BF16) return;
  const auto wanted = static_cast<uint32_t>(gemm_chains_of(d));
  uint32_t most = 1;
  for (const GemmChoice& c : choices_)
    if (c.uses_maps() && !c.has(kGemmStreamK)) most = std::max(most, c.split);
  const auto too_few = [&](const GemmChoice& c) {
    // Stream-K kernels bound the length of their chains at run time.
    return c.uses_maps() && !c.makes_chains() && !c.has(kGemmStreamK) &&
           c.split < std::min(wanted, most);
  };
  choices_.erase(std::remove_if(choices_.begin(), choices_.end(), too_few), choices_.end());
}

// Batch invariance: keeps only kernels that give each row of D the same bits for every m. The bits
// depend on the split-K factor, on how chains are joined, on swap-AB, and on whether the kernel
// uses maps. A split-K kernel with a factor of 1 adds in the order of one without split-K, but its
// epilogue rounds gelu_tanh differently (FullChunks::kFactor). The choice among these classes
// follows from n, k, types, pitches and promises only.
void GemmRanking::keep_batch_invariant() {
  const GemmDesc& d = problem_.desc;
  const bool suits =
      d.realign || (d.a_alignment >= kMapAlignment && d.b_alignment >= kMapAlignment);
  const auto usual = [&](const GemmChoice& c) {
    return suits && c.uses_maps() && !c.has(kGemmSwapAB) &&
           !(c.makes_chains() && !c.keeps_chains() && gemm_chains(d.k) > 1);
  };
  // If no such kernel has these types and orders, use stream-K kernels that share nothing.
  const bool streams = std::none_of(choices_.begin(), choices_.end(), usual);
  const auto possible = [&](const GemmChoice& c) {
    return streams ? suits && c.has(kGemmStreamK) && gemm_serves_every_run(c, d) : usual(c);
  };
  // Smallest split-K factor among TMA kernels; on ties prefer a kernel without split-K. parts() is
  // the sort key: twice the factor, plus 1 for a split-K kernel. `least` is 0 if there are no TMA
  // kernels.
  const auto parts = [](const GemmChoice& c) { return c.split * 2 + c.has(kGemmSplit); };
  uint32_t least = 0;
  for (const GemmChoice& c : choices_)
    if (possible(c) && (least == 0 || parts(c) < least)) least = parts(c);
  const auto other = [&](const GemmChoice& c) {
    return least == 0 ? c.uses_maps() || c.has(kGemmSplit | kGemmShort)
                      : !possible(c) || parts(c) != least;
  };
  choices_.erase(std::remove_if(choices_.begin(), choices_.end(), other), choices_.end());
}

bool GemmRanking::has(const GemmChoice& choice) const {
  return std::find(choices_.begin(), choices_.end(), choice) != choices_.end();
}

// A plan with dependent launch (PDL) also uses entries measured without it. Its own entries are
// added last, because within an m bucket the last entry wins. find() sorts by m, so among
// entries of one kind the one with the most rows wins.
void GemmRanking::add_tuned(const GemmTuning& tuning, GemmTuningKey key) {
  const bool programmatic = std::exchange(key.programmatic, false);
  for (const bool own : {false, true}) {
    if (own && !programmatic) break;
    key.programmatic = own;
    for (const GemmTuningEntry& entry : tuning.find(key))
      if (has(entry.candidate.choice))
        tuned_.push_back(
            {gemm_bucket_end(entry.m), entry.candidate.choice, entry.candidate.nanoseconds});
  }
}

// The entry whose bucket is the lowest of those that serve m; of several in one bucket the last.
bool GemmRanking::measured(int64_t m, GemmCandidate* out) const {
  if (tuned_.empty()) return false;
  GemmProblem at = problem_;
  at.set_rows(gemm_bucket_end(m));
  int64_t found = 0;  // upper end of the bucket of *out
  for (const Measured& one : tuned_) {
    if (!gemm_tuning_serves(one.end, m) || (found != 0 && one.end > found)) continue;
    if (!has_room(one.choice, m)) continue;
    found = one.end;
    *out = gemm_candidate(one.choice, gemm_kernel_view(one.choice, at), chip_);
    out->nanoseconds = one.nanoseconds;
    out->measured = true;
  }
  return found != 0;
}

// Calls take(choice, problem as the kernel sees it, nanoseconds) for every choice with room for m
// rows. The time is that of the upper end of m's bucket, so that all m of a bucket choose alike.
// Whether the launch fits is checked for m itself: m rows may fit in the largest grid and in
// max_sms where the bucket's upper end would not.
template <class Take>
void GemmRanking::each(int64_t m, Take take) const {
  GemmProblem exact = problem_, step = problem_;
  exact.set_rows(m);
  step.set_rows(gemm_bucket_end(m));
  const GemmProblem exact_turned = turned(exact), step_turned = turned(step);
  for (const GemmChoice& choice : choices_) {
    const bool turns = choice.has(kGemmSwapAB);
    if (!gemm_fits_launch(choice, turns ? exact_turned : exact)) continue;
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
  if (!choice.entry) return {};
  GemmProblem at = problem_;
  at.set_rows(gemm_bucket_end(m));
  return gemm_candidate(choice, gemm_kernel_view(choice, at), chip_);
}

GemmCandidate GemmRanking::best(int64_t m) const {
  GemmCandidate first;
  if (measured(m, &first)) return first;
  return best_of(m, [](const GemmChoice&) { return true; });
}

GemmCandidate GemmRanking::best_without_maps(int64_t m) const {
  return best_of(m, [](const GemmChoice& c) { return !c.uses_maps(); });
}

GemmCandidate GemmRanking::best_for_every_run(int64_t m) const {
  return best_of(m, [&](const GemmChoice& c) { return gemm_serves_every_run(c, problem_.desc); });
}

}  // namespace tw
