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

int64_t gemm_step_end(int64_t m) {
  if (m <= 512) return round_up(m, 8);
  if (m <= 8192) return round_up(m, 64);
  if (m <= 65536) return round_up(m, 256);
  int64_t width = 4096;
  while (width * 32 < m) width *= 2;
  return round_up(m, width);
}

bool gemm_types_fit(const KernelEntry& entry, const GemmDesc& desc) {
  if (((entry.variant & kGemmNarrow) != 0) != desc.is_narrow()) return false;
  if (entry.feature == feature::host) return true;
  const auto is_for = [](DType own, DType wanted) { return own == DType{} || own == wanted; };
  if (!is_for(entry.dtypes[1], desc.d_dtype)) return false;
  // Kernels without maps convert each 8-bit float by itself, so they accept any mix of formats.
  if (is_f8(desc.a_dtype) && (entry.variant & kGemmNoMaps) != 0) return is_f8(entry.dtypes[0]);
  const DType b = entry.dtypes[2] == DType{} ? entry.dtypes[0] : entry.dtypes[2];
  return entry.dtypes[0] == desc.a_dtype && b == desc.b_type();
}

bool gemm_serves_every_run(const GemmChoice& choice, const GemmDesc& desc) {
  if (choice.has(kGemmStreamK) && !choice.has(kGemmEpilogue)) return false;
  return !choice.has(kGemmBatched) && gemm_needs_no_workspace(choice, desc);
}

namespace {

// A stream-K choice is considered with narrower tiles if it would take at most this many times the
// least time of all choices with the widest tiles, assuming that its time is proportional to the
// columns that a CTA multiplies.
constexpr double kMaxExpectedExcess = 1.02;

bool orders_fit(const KernelEntry& entry, const GemmDesc& desc) {
  // Kernels without maps accept any orders, except those with split-K and those for a short k.
  constexpr uint32_t kFixedOrders = kGemmSplit | kGemmShort;
  if (entry.feature == feature::host ||
      (entry.variant & (kGemmNoMaps | kFixedOrders)) == kGemmNoMaps)
    return true;
  const uint32_t orders = (desc.a_order == Order::column ? kGemmColumnA : 0u) |
                          (desc.b_order == Order::column ? kGemmColumnB : 0u);
  return (entry.variant & (kGemmColumnA | kGemmColumnB)) == orders;
}

bool epilogue_fits(const GemmChoice& choice, const GemmProblem& kernel_problem) {
  if (choice.has(kGemmBatched))
    return !kernel_problem.desc.epilogue.any() && !kernel_problem.desc.has(kGemmPointers);
  if (!kernel_problem.wants_epilogue_kernel()) return true;
  if (!choice.has(kGemmEpilogue)) return false;
  // One CTA multiplies all tiles that have scales of D in common, so their k is not divided.
  if (gemm_consecutive_tiles(choice, kernel_problem.desc) > 1 && choice.split > 1) return false;
  if (choice.is_scaled_rowstream()) return !kernel_problem.gated();
  if (choice.is_narrow_split()) return !kernel_problem.gated() && !kernel_problem.wants_batch();
  if (!kernel_problem.gated() || !choice.uses_maps()) return true;
  if (!kernel_problem.gates_along_lines()) return false;
  // With a gate, a tile has half as many columns of D as of A B. Kernels without split-K and
  // swap-AB store D by TMA, from slabs whose rows have 128 bytes. If half a tile is not a whole
  // number of slabs wide, they would have to use ordinary stores, as kernels with split-K or
  // swap-AB do. A split-K kernel with a factor of 1 is then faster, so these kernels do not serve
  // the problem.
  if (!choice.has(kGemmSplit | kGemmSwapAB) &&
      choice.entry->tile[1] / 2 * kernel_problem.out_bytes % 128 != 0)
    return false;
  if (kernel_problem.desc.epilogue.gate != Gate::halves) return true;
  const bool gates_m = kernel_problem.swapped;  // the gate halves the kernel's m
  const bool along_k = gates_m ? kernel_problem.desc.a_order == Order::row
                               : kernel_problem.desc.b_order == Order::column;
  const int64_t half = (gates_m ? kernel_problem.desc.m : kernel_problem.desc.n) / 2;
  // With Gate::halves a tile loads half of its rows or columns from each half of the operand. If
  // the operand is not contiguous along k, a box has 64 of them. In a stream-K kernel each consumer
  // warpgroup multiplies 32 from each half, which is less than such a box.
  if (choice.has(kGemmStreamK)) return along_k;
  // In other kernels half a tile must be whole boxes, and the second half of the operand must begin
  // at a multiple of 16 bytes.
  return along_k || (choice.entry->tile[gates_m ? 0 : 1] % 128 == 0 &&
                     half * kernel_problem.in_bytes % kMapAlignment == 0);
}

// Whether the TMA can write all of D in every run. D's pitch must suit maps, and either the length
// of D's lines is a multiple of 16 bytes in every run, or the padding after a line may be
// overwritten. If lines run along the caller's m (along_m), a run with fewer rows has shorter ones.
bool tma_can_write_d(const GemmProblem& kernel_problem) {
  const GemmDesc& d = kernel_problem.desc;
  const bool along_m = kernel_problem.swapped == (d.d_order == Order::row);
  return kernel_problem.d_pitch_suits_maps() &&
         (d.d_padding_writable ||
          (kernel_problem.d_contiguous() * kernel_problem.out_bytes % kMapAlignment == 0 &&
           (!along_m || d.min_m == kernel_problem.rows())));
}

// Stream-K kernels for narrow types without swap-AB support scales that change along k only if
// those of A are 1x128 and those of B are 128x128. Neither they nor split-K kernels for narrow
// types can compute scales of D.
bool scales_fit(const GemmChoice& choice, const GemmDesc& kernel_desc) {
  const bool is_split = choice.is_narrow_split();
  if (!choice.is_scaled_rowstream() && !is_split) return true;
  if (kernel_desc.d_quantize.any()) return false;
  if (is_split || kernel_desc.a_scaling.kind < ScaleKind::row128) return true;
  return kernel_desc.a_scaling.kind == ScaleKind::row128 &&
         kernel_desc.b_scaling.kind == ScaleKind::block128;
}

}  // namespace

GemmMisfit gemm_misfit(const Device& device, const GemmProblem& kernel_problem,
                       const GemmChoice& choice) {
  const KernelEntry& entry = *choice.entry;
  if (!(entry.feature & device.info().kernel_features) || choice.has(kGemmPrologue))
    return GemmMisfit::feature;
  if (!gemm_types_fit(entry, kernel_problem.desc)) return GemmMisfit::types;
  if (choice.has(kGemmNoPromotion) && is_f8(kernel_problem.desc.a_dtype) &&
      !kernel_problem.desc.fast_accumulate)
    return GemmMisfit::accumulators;
  // Kernels without promotion sum all of k in wgmma's accumulators. They do not add these to other
  // registers after every k block, so they cannot apply scales that change along k.
  if (choice.has(kGemmNoPromotion) && kernel_problem.desc.a_scaling.kind >= ScaleKind::row128)
    return GemmMisfit::accumulators;
  if (choice.has(kGemmF16Accumulators) && kernel_problem.desc.accumulator != DType::F16)
    return GemmMisfit::accumulators;
  if (!orders_fit(entry, kernel_problem.desc)) return GemmMisfit::orders;
  // With TW_GEMM_BATCH_POINTERS the host sees no addresses, so a map needs promised alignments.
  if (choice.uses_maps() && kernel_problem.desc.has(kGemmPointers) &&
      (kernel_problem.desc.a_alignment < kMapAlignment ||
       kernel_problem.desc.b_alignment < kMapAlignment))
    return GemmMisfit::promises;
  if (choice.uses_maps() && !kernel_problem.pitches_suit_maps()) return GemmMisfit::pitches;
  if (!choice.uses_maps() && choice.has(kGemmSplit) &&
      gemm_pitch_without_copy(kernel_problem.desc) < kGemmNoMapsSplitMinPitch)
    return GemmMisfit::pitches;
  if (choice.cluster() > usable_sms(device, kernel_problem.desc.max_sms) ||
      device.max_active_clusters(choice.min_sms()) == kNoClusters)
    return GemmMisfit::cluster;
  if (choice.split > 1 && choice.split > ceil_div(kernel_problem.desc.k, entry.tile[2]))
    return GemmMisfit::k;
  if (choice.has(kGemmStreamK) && kernel_problem.desc.k > kGemmMaxStreamK) return GemmMisfit::k;
  if (choice.has(kGemmShort) && kernel_problem.desc.k > entry.tile[2]) return GemmMisfit::k;
  if (!scales_fit(choice, kernel_problem.desc)) return GemmMisfit::scales;
  if (!epilogue_fits(choice, kernel_problem)) return GemmMisfit::epilogue;
  if (choice.has(kGemmBatched) && !kernel_problem.d_suits_map()) return GemmMisfit::d_map;
  if (choice.has(kGemmStreamK) && !choice.has(kGemmEpilogue) && !tma_can_write_d(kernel_problem))
    return GemmMisfit::d_map;
  if (choice.has(kGemmStreamK) && !choice.has_stream_k_factor()) return GemmMisfit::split_factor;
  return GemmMisfit::none;
}

GemmCandidate gemm_candidate(const GemmChoice& choice, const GemmProblem& kernel_problem,
                             const GemmChip& chip) {
  const GemmTerms terms = gemm_terms(choice, kernel_problem, chip);
  return {choice, terms.total, terms.units / std::max(1u, chip.resident_clusters(choice)), terms};
}

GemmProblem gemm_kernel_view(const GemmChoice& choice, const GemmProblem& problem) {
  return choice.has(kGemmSwapAB) ? swap_ab(problem) : problem;
}

// Adds the choice with each factor of split-K or stream-K with which it can serve the problem.
void GemmRanking::add_factors(const Device& device, const GemmProblem& kernel_problem,
                              GemmChoice choice) {
  const uint32_t last = choice.divides_k_among_ctas() ? kMaxCluster : 1;
  for (choice.split = choice.min_split(); choice.split <= last; ++choice.split) {
    if (choice.cluster() > kMaxCluster) return;
    if (choice.has(kGemmStreamK) && !choice.has_stream_k_factor()) continue;
    // A choice that cannot serve the problem with this factor cannot do so with a larger one.
    if (gemm_misfit(device, kernel_problem, choice) != GemmMisfit::none) return;
    choices_.push_back(choice);
  }
}

GemmRanking::GemmRanking(const Device& device, const GemmProblem& problem, const GemmTuning* tuning)
    : problem_(problem), chip_(GemmChip::of(device, problem.desc.max_sms)) {
  if (tuning) tuning->apply_rates(device.info().name, &chip_.rates);
  const GemmProblem swapped = swap_ab(problem);
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    GemmChoice choice{&entry, 1};
    // Batched kernels and kernels for narrow types have kGemmEpilogue too. A problem uses either
    // kernels with this bit or basic kernels.
    if (choice.has(kGemmEpilogue) != problem.wants_epilogue_kernel()) continue;
    if (choice.has(kGemmBatched) && !problem.suits_batched_kernels()) continue;
    const GemmProblem& kernel_problem = choice.has(kGemmSwapAB) ? swapped : problem;
    // Most entries misfit already here, whatever their cluster and factor.
    if (!gemm_types_fit(entry, kernel_problem.desc) || !orders_fit(entry, kernel_problem.desc))
      continue;
    for (const auto& shape : kGemmClusterShapes) {
      if (shape[0] * shape[1] > 1 && !choice.takes_any_cluster()) break;
      std::copy_n(shape, 2, choice.cluster_shape);
      add_factors(device, kernel_problem, choice);
    }
  }
  // Where TMA kernels need no staging copies, split-K and short-k kernels without maps cannot win.
  const auto uses_maps = [](const GemmChoice& c) { return c.uses_maps(); };
  if (problem.staging_copies == 0 && std::any_of(choices_.begin(), choices_.end(), uses_maps))
    choices_.erase(std::remove_if(choices_.begin(), choices_.end(),
                                  [&](const GemmChoice& c) {
                                    return !uses_maps(c) && c.has(kGemmSplit | kGemmShort);
                                  }),
                   choices_.end());
  // If a kernel has the f16 accumulators that the caller asks for, drop the TMA kernels with f32
  // accumulators. Kernels without maps stay, although they have f32 accumulators, because they
  // serve runs with unaligned operands.
  const auto has_f16_accumulators = [](const GemmChoice& c) { return c.has(kGemmF16Accumulators); };
  if (std::any_of(choices_.begin(), choices_.end(), has_f16_accumulators))
    choices_.erase(std::remove_if(choices_.begin(), choices_.end(),
                                  [&](const GemmChoice& c) {
                                    return c.uses_maps() && !has_f16_accumulators(c);
                                  }),
                   choices_.end());
  drop_long_chains();
  if (problem.desc.has(kGemmInvariant)) keep_batch_invariant();
  if (tuning) add_tuned(*tuning, gemm_tuning_key(device, problem));
}

// The error of an accumulation chain grows with its length (gemm_required_chains). Drops TMA
// kernels that do not divide k into chains and whose split-K factor is below the required number of
// chains, or below the largest factor available if that is smaller. Drops none if D is bf16: for
// k of at most 131072 the error is hidden by the rounding of D, and a larger k is not restricted.
void GemmRanking::drop_long_chains() {
  const GemmDesc& d = problem_.desc;
  if (d.d_dtype == DType::BF16) return;
  const auto required = static_cast<uint32_t>(gemm_required_chains(d));
  uint32_t max_factor = 1;
  for (const GemmChoice& c : choices_)
    if (c.uses_maps() && !c.has(kGemmStreamK)) max_factor = std::max(max_factor, c.split);
  const auto has_long_chains = [&](const GemmChoice& c) {
    // Stream-K kernels bound the length of their chains at run time.
    return c.uses_maps() && !c.divides_k_into_chains() && !c.has(kGemmStreamK) &&
           c.split < std::min(required, max_factor);
  };
  choices_.erase(std::remove_if(choices_.begin(), choices_.end(), has_long_chains), choices_.end());
}

// Batch invariance: keeps only kernels that give each row of D the same bits for every m. The bits
// depend on the split-K factor, on how chains are added, on swap-AB, and on whether the kernel
// uses maps. A split-K kernel with a factor of 1 adds in the order of a kernel without it, but its
// epilogue rounds gelu_tanh differently (FullChunks::kFactor). Which kernels are kept
// follows from n, k, types, pitches and promises only.
void GemmRanking::keep_batch_invariant() {
  const GemmDesc& d = problem_.desc;
  const bool addresses_suit =
      d.staging_copy || (d.a_alignment >= kMapAlignment && d.b_alignment >= kMapAlignment);
  const auto keeps_bits = [&](const GemmChoice& c) {
    return addresses_suit && c.uses_maps() && !c.has(kGemmSwapAB | kGemmStreamK) &&
           !(c.divides_k_into_chains() && !c.keeps_whole_chains() && gemm_chain_count(d.k) > 1);
  };
  // If there is no such kernel, use stream-K kernels with swap-AB and a factor of 1, which divide
  // no tile. gemm_serves_every_run() accepts no other factor. Kernels without swap-AB may give
  // other bits, so both kinds cannot be kept.
  const bool use_stream_k = std::none_of(choices_.begin(), choices_.end(), keeps_bits);
  const auto possible = [&](const GemmChoice& c) {
    return use_stream_k ? addresses_suit && c.has(kGemmStreamK) && c.has(kGemmSwapAB) &&
                              gemm_serves_every_run(c, d)
                        : keeps_bits(c);
  };
  // Keep the TMA kernels with the smallest split-K factor; of equal factors, kernels without
  // split-K. `least` is the smallest sort key, or 0 if no TMA kernel is possible. In that case only
  // kernels without maps are kept, and of these neither split-K kernels nor those for a short k.
  const auto sort_key = [](const GemmChoice& c) { return c.split * 2 + c.has(kGemmSplit); };
  uint32_t least = 0;
  for (const GemmChoice& c : choices_)
    if (possible(c) && (least == 0 || sort_key(c) < least)) least = sort_key(c);
  const auto is_dropped = [&](const GemmChoice& c) {
    return least == 0 ? c.uses_maps() || c.has(kGemmSplit | kGemmShort)
                      : !possible(c) || sort_key(c) != least;
  };
  choices_.erase(std::remove_if(choices_.begin(), choices_.end(), is_dropped), choices_.end());
}

bool GemmRanking::has(const GemmChoice& choice) const {
  GemmChoice widest = choice;  // choices_ has no others
  widest.width = 0;
  return std::find(choices_.begin(), choices_.end(), widest) != choices_.end();
}

// A plan with dependent launch (PDL) also uses entries measured without PDL. PDL entries are added
// last, because within a step of m the last entry wins. find() sorts by m, so of several PDL (or
// non-PDL) entries in a step the one with the most rows wins.
void GemmRanking::add_tuned(const GemmTuning& tuning, GemmTuningKey key) {
  const bool programmatic = std::exchange(key.programmatic, false);
  for (const bool pdl_entries : {false, true}) {
    if (pdl_entries && !programmatic) break;
    key.programmatic = pdl_entries;
    for (const GemmTuningEntry& entry : tuning.find(key))
      if (has(entry.candidate.choice))
        tuned_.push_back(
            {gemm_step_end(entry.m), entry.candidate.choice, entry.candidate.nanoseconds});
  }
}

// Among the tuning entries that serve m, sets *out to the one whose step is the lowest. If several
// entries have this step, it is the last of them. Returns false if no entry serves m.
bool GemmRanking::measured(int64_t m, GemmCandidate* out) const {
  if (tuned_.empty()) return false;
  GemmProblem at_step_end = problem_;
  at_step_end.set_rows(gemm_step_end(m));
  int64_t found = 0;  // end of the step of *out
  for (const Measured& one : tuned_) {
    if (!gemm_tuning_serves(one.end, m) || (found != 0 && one.end > found)) continue;
    if (!fits_launch(one.choice, m)) continue;
    found = one.end;
    GemmChoice choice = one.choice;
    const GemmProblem seen = gemm_kernel_view(choice, at_step_end);
    // At these rows, the entry's limit may be as wide as the widest tile, or wider.
    choice.width = 0;
    if (one.choice.width < gemm_tile_width(choice, seen.desc, seen.desc.n))
      choice.width = one.choice.width;
    *out = gemm_candidate(choice, seen, chip_);
    out->nanoseconds = one.nanoseconds;
    out->measured = true;
  }
  return found != 0;
}

// Calls visit(choice, problem as the kernel sees it) for every choice of which one launch can cover
// m rows. visit() returns the predicted time, or infinity if it does not accept the choice. First
// come the choices with the widest tiles, then those of stream-K that narrower tiles might make the
// fastest. The problem is that of the end of m's step, so that all m of a step choose alike.
// Whether the launch fits is checked for m itself, because m rows may fit in the largest grid and
// in max_sms where as many rows as the end of the step would not.
template <class Visit>
void GemmRanking::visit_fitting(int64_t m, Visit visit) const {
  GemmProblem exact = problem_, at_step_end = problem_;
  exact.set_rows(m);
  at_step_end.set_rows(gemm_step_end(m));
  const GemmProblem exact_swapped = swap_ab(exact), end_swapped = swap_ab(at_step_end);
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, const GemmChoice*>> stream;
  for (const GemmChoice& choice : choices_) {
    const bool swaps = choice.has(kGemmSwapAB);
    if (!gemm_fits_launch(choice, swaps ? exact_swapped : exact)) continue;
    const double nanoseconds = visit(choice, swaps ? end_swapped : at_step_end);
    least = std::min(least, nanoseconds);
    if (choice.has(kGemmStreamK) && nanoseconds < std::numeric_limits<double>::infinity())
      stream.emplace_back(nanoseconds, &choice);
  }
  for (const auto& [nanoseconds, widest] : stream) {
    GemmChoice choice = *widest;
    const GemmProblem& seen = choice.has(kGemmSwapAB) ? end_swapped : at_step_end;
    double expected = nanoseconds;
    for (;;) {
      const GemmNarrower next =
          gemm_next_width(choice, seen.desc, seen.desc.m, seen.desc.n,
                          static_cast<int64_t>(chip_.resident_clusters(choice)),
                          kMaxExpectedExcess * least / expected);
      if (next.width == 0) break;
      choice.width = static_cast<uint16_t>(next.width);
      expected *= next.columns;
      visit(choice, seen);
    }
  }
}

std::vector<GemmCandidate> GemmRanking::candidates(int64_t m) const {
  std::vector<GemmCandidate> out;
  visit_fitting(m, [&](const GemmChoice& choice, const GemmProblem& kernel_problem) {
    out.push_back(gemm_candidate(choice, kernel_problem, chip_));
    return out.back().nanoseconds;
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

template <class Accepts>
GemmCandidate GemmRanking::best_accepted(int64_t m, Accepts accepts) const {
  GemmChoice choice;
  double least = std::numeric_limits<double>::infinity();
  visit_fitting(m, [&](const GemmChoice& next, const GemmProblem& kernel_problem) {
    if (!accepts(next)) return std::numeric_limits<double>::infinity();
    const double nanoseconds = gemm_terms(next, kernel_problem, chip_).total;
    if (nanoseconds < least) choice = next, least = nanoseconds;
    return nanoseconds;
  });
  if (!choice.entry) return {};
  GemmProblem at_step_end = problem_;
  at_step_end.set_rows(gemm_step_end(m));
  return gemm_candidate(choice, gemm_kernel_view(choice, at_step_end), chip_);
}

GemmCandidate GemmRanking::best(int64_t m) const {
  GemmCandidate first;
  if (measured(m, &first)) return first;
  return best_accepted(m, [](const GemmChoice&) { return true; });
}

GemmCandidate GemmRanking::best_without_maps(int64_t m) const {
  return best_accepted(m, [](const GemmChoice& c) { return !c.uses_maps(); });
}

GemmCandidate GemmRanking::best_for_every_run(int64_t m) const {
  return best_accepted(
      m, [&](const GemmChoice& c) { return gemm_serves_every_run(c, problem_.desc); });
}

}  // namespace tw
