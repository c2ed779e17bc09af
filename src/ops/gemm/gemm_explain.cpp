// SPDX-License-Identifier: Apache-2.0
// tw_plan_explain() of a GEMM plan: which kernel runs, why, and the runner-up.
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "base/decimal.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/gemm/gemm_scales.hpp"

namespace tw {
namespace {

[[gnu::format(printf, 2, 3)]] void add(std::string* text, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  *text += line;
}

const char* text_of(Order order) {
  return order == Order::row ? "row" : "column";
}

const char* text_of(Per per) {
  return per == Per::row ? "per row" : per == Per::column ? "per column" : "one";
}

// The epilogue's steps, in the order in which the kernel applies them.
std::string epilogue_text(const GemmEpilogue& e) {
  std::string text;
  const auto append = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (e.bias != Per::none)
    append(std::string("bias ") + text_of(e.bias) + " in " + dtype_name(e.bias_dtype));
  if (e.activation != Activation::identity) append(activation_name(e.activation));
  if (e.gate == Gate::halves) append("gating the other half of the columns");
  if (e.gate == Gate::interleaved) append("gating every other column");
  if (e.d_factor != Per::none) append(std::string("d_factor ") + text_of(e.d_factor));
  if (e.amax) append("largest |D|");
  return text;
}

// Where a candidate's time comes from.
const char* time_source(const GemmCandidate& candidate) {
  return candidate.measured ? "measured" : "predicted";
}

std::string terms_text(const GemmTerms& terms) {
  std::string text;
  const std::pair<const char*, double> all[] = {
      {"launch", terms.launch}, {"tensor cores", terms.tensor},    {"memory", terms.memory},
      {"L2", terms.l2},         {"last epilogue", terms.epilogue}, {"copies", terms.copies}};
  for (const auto& [name, nanoseconds] : all)
    if (nanoseconds > 0)
      text += std::string(text.empty() ? "  " : ", ") + name + " " +
              Decimal(nanoseconds / 1e3, 2).text();
  return text + " us by the model\n";
}

template <class Shown>
void add_ranges(std::string* out, const char* lead, const std::vector<GemmRange>& ranges,
                Shown is_shown) {
  size_t count = 0;
  for (const GemmRange& range : ranges)
    if (is_shown(range) && ++count <= kMaxRangesShown)
      add(out, "%sm %" PRId64 " to %" PRId64 ": %s\n", lead, range.first, range.last,
          gemm_choice_text(range.candidate.choice).c_str());
  if (count > kMaxRangesShown) add(out, "%sand %zu ranges more\n", lead, count - kMaxRangesShown);
}

}  // namespace

std::string GemmPlan::explain_choice() const {
  std::string out;
  const GemmKernel& kernel = *table_.kernels.back();
  const GemmCandidate& chosen = table_.ranges.back().candidate;
  const uint64_t units = kernel.units(problem_.rows());
  const uint32_t resident = kernel.resident_clusters();
  add(&out, "chosen %s, %s: %s %s us, %" PRIu64 " units of work in %s waves of %u\n",
      gemm_choice_text(chosen.choice).c_str(),
      forced_           ? "forced by the caller"
      : chosen.measured ? "the fastest when it was measured"
                        : "the cheapest by the cost model",
      time_source(chosen), Decimal(chosen.nanoseconds / 1e3, 2).text(), units,
      Decimal(static_cast<double>(units) / resident, 2).text(), resident);
  out += terms_text(chosen.terms);
  for (const GemmCandidate& other : best_) {
    if (other.choice == chosen.choice) continue;
    const bool forced_other = forced_ && !(best_.front().choice == chosen.choice);
    add(&out, "%s %s: %s %s us\n", forced_other ? "without forcing" : "runner-up",
        gemm_choice_text(other.choice).c_str(), time_source(other),
        Decimal(other.nanoseconds / 1e3, 2).text());
    out += terms_text(other.terms);
    break;
  }
  if (table_.ranges.size() > 1)
    add_ranges(&out, "", table_.ranges, [](const GemmRange&) { return true; });
  return out;
}

// If runs that read C have other kernels, names the kernel for the plan's m if it differs, and then
// the ranges of m for which it differs.
std::string GemmPlan::explain_with_c() const {
  std::string out;
  if (with_c_.kernels.empty()) return out;
  const GemmChoice& last = with_c_.kernels.back()->choice();
  const bool for_all = with_c_.ranges.size() == 1;
  if (for_all || !(last == table_.kernels.back()->choice()))
    add(&out, "with C %s\n", gemm_choice_text(last).c_str());
  if (for_all) return out;
  add_ranges(&out, "with C, ", with_c_.ranges, [&](const GemmRange& range) {
    for (size_t i = table_.index(range.first); i <= table_.index(range.last); ++i)
      if (!(table_.ranges[i].candidate.choice == range.candidate.choice)) return true;
    return false;
  });
  return out;
}

// Text on batches, flags and dependent launch. `d` is the caller's description.
std::string GemmPlan::explain_options(const GemmDesc& d) const {
  std::string out;
  if (d.has(kGemmPointers))
    add(&out,
        "%" PRId64
        " products by arrays of addresses: a preceding kernel writes the addresses%s into a "
        "workspace of %" PRIu64 " bytes, and leaves out products with an invalid address\n",
        d.batch, table_.kernels.back()->choice().uses_maps() ? " and tensor maps made of them" : "",
        workspace_bytes());
  else if (d.batch != 1)
    add(&out,
        "%" PRId64 " products, %" PRId64 ", %" PRId64 " and %" PRId64
        " elements between matrices of A, B and D\n",
        d.batch, d.a_batch_stride, d.b_batch_stride, d.d_batch_stride);
  if (d.has(kGemmInvariant))
    out += "a row's bits do not depend on m: all kernels for this n and k add in the same order\n";
  if (d.has(kGemmDeviceM | kGemmDeviceScalars))
    add(&out, "a run may leave %s%s%s to the device\n", d.has(kGemmDeviceM) ? "m" : "",
        d.has(kGemmDeviceM) && d.has(kGemmDeviceScalars) ? ", " : "",
        d.has(kGemmDeviceScalars) ? "alpha and beta" : "");
  if (!d.has(kGemmProgrammatic)) return out;
  // Staged operands, and operands whose addresses only the device knows, are not loaded early.
  const bool early = !staging_copies_ && !d.has(kGemmPointers);
  const bool a = early && d.has(kGemmConstantA), b = early && d.has(kGemmConstantB);
  add(&out,
      "dependent launch: begins before the predecessor grid has ended, and waits for it before it "
      "reads %s\n",
      a && b ? "C"
      : a    ? "B or C"
      : b    ? "A or C"
             : "an operand");
  return out;
}

std::string GemmPlan::explain() const {
  // The caller's A, B and m; for a column-major D problem_ has them swapped.
  const GemmProblem caller_problem = problem_.swapped ? swap_ab(problem_) : problem_;
  const GemmDesc& d = caller_problem.desc;
  const PlanInfo i = info();
  std::string out;
  add(&out,
      "gemm %" PRId64 " x %" PRId64 " x %" PRId64
      ", %s, A %s-major, B %s-major, D %s-"
      "major\n",
      d.m, d.n, d.k, types_text(d.a_dtype, d.b_type(), d.d_dtype).c_str(), text_of(d.a_order),
      text_of(d.b_order), text_of(d.d_order));
  out += scales_text(d.a_dtype, d.a_scaling, d.b_scaling, d.fast_accumulate);
  if (d.d_quantize.any())
    out += "D is divided by scales of its own, one for each row and 128 columns\n";
  if (d.epilogue.any()) out += "epilogue: " + epilogue_text(d.epilogue) + "\n";
  add(&out,
      "kernel %s: tile %ux%ux%u, %u stages, cluster of %u, %u blocks of %u threads, %u bytes "
      "of shared memory\n",
      i.kernel, i.tile[0], i.tile[1], i.tile[2], i.stages, i.cluster[0], i.grid[0], i.block[0],
      i.dynamic_smem_bytes);
  add(&out, "%" PRIu64 " boxes loaded, %" PRIu64 " stored\n", i.boxes_loaded, i.boxes_stored);
  if (table_.kernels.back()->choice().divides_k_into_chains() && gemm_chain_count(d.k) > 1)
    add(&out, "k in %d accumulation chains, added up in %s\n", gemm_chain_count(d.k),
        table_.kernels.back()->adds_chains_in_d(d.m) ? "D" : "registers");
  out += explain_choice();
  out += explain_with_c();
  out += explain_options(d);
  if (staging_copies_)
    add(&out,
        "operands that tensor maps cannot read are copied into a workspace of %" PRIu64
        " bytes before each run\n",
        staging_copies_->workspace_bytes());
  const GemmChoice& chosen = table_.kernels.back()->choice();
  const char* const others =
      !chosen.has(kGemmStreamK)   ? "runs that add C, or whose D does not suit a tensor map,"
      : chosen.has(kGemmEpilogue) ? "runs without a workspace"
                                  : "runs without a workspace, with alpha 0, that add C, or whose "
                                    "D does not suit a tensor map,";
  if (forced_ && !gemm_serves_every_run(chosen, staged_problem_.desc))
    add(&out, "%s are refused\n", others);
  else if (!forced_ && for_every_run_.back() != table_.kernels.back())
    add(&out, "%s take %s\n", others, gemm_choice_text(for_every_run_.back()->choice()).c_str());
  if (optional_bytes_ > 0)
    add(&out, "partial accumulators are added up in a workspace of %" PRIu64 " bytes\n",
        workspace_bytes());
  if (!chosen.uses_maps() && !forced_ && d.staging_copy && chosen.has(kGemmSplit | kGemmShort))
    out += "kernel without tensor maps: staging copies would take longer\n";
  else if (!chosen.uses_maps() && !forced_ && d.is_narrow())
    out +=
        "kernel without tensor maps: A is not row-major or B not column-major, a pitch is not a "
        "multiple of 16 bytes below 2^40, which a tensor map needs, or the device has no faster "
        "kernel for these types and scales\n";
  else if (!chosen.uses_maps() && !forced_)
    out +=
        "kernel without tensor maps: a pitch of A or B is not a multiple of 16 bytes below 2^40, "
        "which a tensor map needs, or k is too long for one accumulation chain and max_sms too "
        "small for split-K, or the device has no faster kernel\n";
  else if (fallback_)
    add(&out,
        "runs whose A or B is not 16-byte aligned use %s; promise a_alignment and b_alignment 16 "
        "to avoid it\n",
        fallback_->choice().entry->symbol);
  return out;
}

}  // namespace tw
