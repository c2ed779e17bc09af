// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/gemm/gemm_race.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "ops/gemm/gemm_staging.hpp"

namespace tw::bench {
namespace {

constexpr uint64_t kInputBytes = 10ull << 30;     // A, B and C of the largest shape
constexpr uint64_t kOutputBytes = 24ull << 30;    // two results of the largest shape
constexpr uint64_t kWorkspaceBytes = 4ull << 30;  // staging copies of the largest shape
constexpr uint64_t kVectorBytes = 1 << 20;        // an f32 for each column of the widest shape
// After this many other bytes, an operand is no longer in the L2.
constexpr double kColdBytes = 384e6;
constexpr double kGraphUs = 100;       // shorter shapes are timed in graphs
constexpr double kGraphTotalUs = 400;  // length of a replay, so that its start matters little
constexpr double kHotTotalUs = 1000;   // length of a replay in hot mode
constexpr uint64_t kAlign = 256;

uint64_t align(uint64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// A guess that only decides how a shape is timed.
double guess_us(const GemmShape& shape) {
  return std::max({shape.flops() / 700e6, shape.bytes() / 4e6, 3.0});
}

int graph_nodes(const GemmShape& shape) {
  return static_cast<int>(std::clamp(std::ceil(kGraphTotalUs / guess_us(shape)), 20.0, 200.0));
}

int hot_nodes(const GemmShape& shape) {
  return static_cast<int>(std::clamp(kHotTotalUs / guess_us(shape), 2.0, 50.0));
}

// Largest distance of a correct result from the exact one. Activations are approximations.
double distance_limit(const GemmShape& shape, DType dtype) {
  const double rounding = shape.f32_out ? 1e-9 : dtype == DType::BF16 ? 2e-6 : 4e-8;
  return shape.fusion.epilogue.any() ? 2.5 * rounding : rounding;
}

}  // namespace

GemmRacer::GemmRacer(GpuBench& bench, GemmPeer* peer, const GemmRaceOptions& options)
    : bench_(bench), peer_(peer), options_(options) {
  require(check_.open(bench.device(), bench.stream()));
  require(bench.device()->allocate(kInputBytes, &inputs_));
  require(bench.device()->allocate(kOutputBytes, &outputs_));
  require(bench.device()->allocate(kWorkspaceBytes, &workspace_));
  require(bench.device()->allocate(kVectorBytes, &bias_));
  require(bench.device()->allocate(kVectorBytes, &scale_));
  require(check_.fill(inputs_, 1, kInputBytes / 2, 0, options.dtype, 1, 0));
  // As f32, two neighbors are a finite number too.
  require(check_.fill(bias_, 1, kVectorBytes / 2, 0, options.dtype, 2, 0));
  require(check_.fill(scale_, 1, kVectorBytes / 4, 0, DType::F32, 3, 0));
  require(bench.stream().fill(outputs_, 0, kOutputBytes));
  require(bench.stream().synchronize());
}

GemmDesc GemmRacer::describe(const GemmShape& shape) const {
  GemmDesc desc;
  desc.a_dtype = options_.dtype;
  desc.d_dtype = shape.f32_out ? DType::F32 : options_.dtype;
  desc.a_order = shape.a_order;
  desc.b_order = shape.b_order;
  desc.m = desc.min_m = shape.m;
  desc.n = shape.n;
  desc.k = shape.k;
  desc.batch = shape.batch;
  desc.epilogue = shape.fusion.epilogue;
  desc.a_alignment = desc.b_alignment = desc.c_alignment = desc.d_alignment = 16;
  // Use staging copies if no map can read an operand, because the peer handles such operands fast
  // too.
  const int64_t lda = desc.a_order == Order::row ? shape.k : shape.m;
  const int64_t ldb = desc.b_order == Order::row ? shape.n : shape.k;
  desc.staging_copy = !pitch_suits_maps(2 * lda) || !pitch_suits_maps(2 * ldb);
  if (options_.programmatic) desc.flags = kGemmProgrammatic | kGemmConstantB;
  return desc;
}

// Shorter shapes are timed in graphs; if long shapes are timed alone, all others are.
double GemmRacer::graph_limit_us() const {
  return options_.alone_us > 0 ? options_.alone_us : kGraphUs;
}

bool GemmRacer::is_alone(const GemmShape& shape) const {
  return options_.alone_us > 0 && guess_us(shape) >= options_.alone_us;
}

GemmRacer::Copies GemmRacer::arrange(const GemmShape& shape) const {
  Copies copies;
  const int64_t batch = shape.batch;
  const auto result = align(static_cast<uint64_t>(shape.result_bytes()));
  copies.b_offset = align(static_cast<uint64_t>(2 * shape.m * shape.k * batch));
  copies.c_offset = copies.b_offset + align(static_cast<uint64_t>(2 * shape.k * shape.n * batch));
  copies.input_step = copies.c_offset + (shape.fusion.reads_c() ? result : 0);
  copies.output_step = copies.pass_offset = result;
  if (!shape.fusion.in_cublaslt()) {
    // A gate's pass writes half of what it reads.
    copies.pass_bytes = align(shape.fusion.gates() ? result * 3 / 4 : result);
    copies.output_step += copies.pass_bytes;
  }
  if (options_.hot || guess_us(shape) >= graph_limit_us()) return copies;
  copies.count =
      std::min(graph_nodes(shape),
               1 + static_cast<int>(std::ceil(kColdBytes / std::max(1.0, shape.bytes()))));
  return copies;
}

GemmRacer::Operands GemmRacer::operands(const Copies& copies, int index) const {
  const auto copy = static_cast<uint64_t>(index % copies.count);
  const uint64_t a = inputs_ + copy * copies.input_step;
  const bool has_c = copies.c_offset != copies.input_step;
  return {a, a + copies.b_offset, has_c ? a + copies.c_offset : 0,
          outputs_ + copy * copies.output_step};
}

GemmRun GemmRacer::run_of(const GemmShape& shape, const Operands& at) const {
  const GemmEpilogue& epilogue = shape.fusion.epilogue;
  return {.alpha = shape.fusion.alpha,
          .beta = shape.accumulate ? 1.0f : shape.fusion.beta,
          .a = at.a,
          .b = at.b,
          .c = at.c ? at.c : at.d,
          .d = at.d,
          .workspace = workspace_,
          .workspace_bytes = kWorkspaceBytes,
          .bias = epilogue.bias == Per::none ? 0 : bias_,
          .d_factor = epilogue.d_factor == Per::none ? 0 : scale_};
}

Variant GemmRacer::variant(const GemmPlan& plan, const GemmShape& shape, const Copies& copies) {
  return {"tilewright", [this, &plan, &shape, copies, index = 0]() mutable {
            require(plan.run(bench_.stream(), run_of(shape, operands(copies, index++))));
          }};
}

Variant GemmRacer::peer_variant(int algorithm, const Copies& copies) {
  return {"cuBLASLt", [this, algorithm, copies, index = 0]() mutable {
            const Operands at = operands(copies, index++);
            require(peer_->enqueue(algorithm, bench_.cuda_stream(), at.a, at.b, at.d, at.c),
                    "cublasLtMatmul");
            if (copies.pass_bytes > 0)
              require(bench_.stream().copy_on_device(at.d + copies.pass_offset, at.d,
                                                     copies.pass_bytes));
          }};
}

std::vector<double> GemmRacer::time(const GemmShape& shape, const std::vector<Variant>& variants,
                                    int rounds) {
  bench_.flush_before_each(!options_.hot);
  std::vector<double> us;
  if (options_.hot)
    us = bench_.race_graphs(variants, hot_nodes(shape), rounds);
  else if (guess_us(shape) < graph_limit_us())
    us = bench_.race_graphs(variants, graph_nodes(shape), rounds);
  else
    us = bench_.race(variants, rounds);
  bench_.flush_before_each(true);
  return us;
}

// A bias is always part of the peer's product, an activation only if no second pass is needed.
int GemmRacer::prepare_peer(const GemmShape& shape, const Copies& copies) {
  if (!peer_) return 0;
  const GemmFusion& fusion = shape.fusion;
  const bool bias = fusion.epilogue.bias != Per::none;
  PeerEpilogue epilogue;
  epilogue.kind = peer_epilogue_kind(
      bias, fusion.in_cublaslt() ? fusion.epilogue.activation : Activation::identity);
  epilogue.bias = bias ? bias_ : 0;
  epilogue.c = operands(copies, 0).c;
  epilogue.alpha = fusion.alpha;
  if (epilogue.c) epilogue.beta = fusion.beta;
  return peer_->prepare(shape, options_.dtype, kAlign, epilogue);
}

int GemmRacer::best_of_peer(const GemmShape& shape, const Copies& copies) {
  const int offered = prepare_peer(shape, copies);
  const Operands at = operands(copies, 0);
  std::vector<int> usable;
  std::vector<Variant> variants;
  for (int i = 0; i < offered; ++i) {
    if (!peer_->enqueue(i, bench_.cuda_stream(), at.a, at.b, at.d, at.c)) continue;
    usable.push_back(i);
    variants.push_back(peer_variant(i, copies));
  }
  if (usable.empty()) return -1;
  if (usable.size() == 1) return usable[0];
  const std::vector<double> us = time(shape, variants, options_.peer_rounds);
  return usable[static_cast<size_t>(std::min_element(us.begin(), us.end()) - us.begin())];
}

// The largest of the batch's.
double GemmRacer::reference_distance(const GemmShape& shape, Operands at, bool* right) {
  double most = 0;
  *right = true;
  for (int32_t i = 0; i < shape.batch; ++i) {
    bool one = false;
    most = std::max(most, one_reference_distance(shape, at, &one));
    *right = *right && one;
    at.a += static_cast<uint64_t>(2 * shape.m * shape.k);
    at.b += static_cast<uint64_t>(2 * shape.k * shape.n);
    at.d += static_cast<uint64_t>(shape.m * shape.n * shape.out_bytes());
  }
  return most;
}

double GemmRacer::one_reference_distance(const GemmShape& shape, const Operands& at, bool* right) {
  test::ReferenceProblem problem;
  problem.m = shape.m;
  problem.n = shape.n;
  problem.k = shape.k;
  problem.in = options_.dtype;
  problem.out = shape.f32_out ? DType::F32 : options_.dtype;
  problem.alpha = static_cast<double>(shape.fusion.alpha);
  problem.beta = static_cast<double>(shape.fusion.beta);
  problem.a = at.a;
  problem.b = at.b;
  problem.c = at.c;
  problem.c_stride_m = shape.n;
  problem.c_stride_n = 1;
  const bool a_row = shape.a_order == Order::row;
  const bool b_row = shape.b_order == Order::row;
  problem.a_stride_m = a_row ? shape.k : 1;
  problem.a_stride_k = a_row ? 1 : shape.m;
  problem.b_stride_k = b_row ? shape.n : 1;
  problem.b_stride_n = b_row ? 1 : shape.k;
  const auto elements = static_cast<uint64_t>(shape.m * shape.n);
  const uint64_t value = outputs_ + kOutputBytes / 2;
  test::Verdict verdict;
  require(check_.reference(problem, value, value + 8 * elements));
  require(
      check_.against(problem, value, value + 8 * elements, at.d, shape.n, 1, 0x1p-20, &verdict));
  *right = verdict.wrong == 0;
  return verdict.distance();
}

// Compares small shapes with float64, and others with the peer's result first. Epilogues are only
// compared with the peer's.
void GemmRacer::check(const GemmShape& shape, const GemmPlan& plan, const Copies& copies,
                      GemmResult* result) {
  Operands at = operands(copies, 0);
  const auto elements = static_cast<uint64_t>(shape.m * shape.n * shape.batch);
  const uint64_t bytes = elements * static_cast<uint64_t>(shape.out_bytes());
  const DType type = shape.f32_out ? DType::F32 : options_.dtype;
  const bool has_reference = !shape.fusion.epilogue.any();
  test::Verdict verdict;
  if (shape.accumulate) require(bench_.stream().fill(at.d, 0, bytes));
  require(plan.run(bench_.stream(), run_of(shape, at)));
  const bool small = shape.flops() <= 0x1p33 && elements <= (64u << 20);
  if (has_reference && (small || result->peer_algorithm < 0)) {
    result->distance = reference_distance(shape, at, &result->right);
  } else if (!shape.fusion.in_cublaslt() || result->peer_algorithm < 0) {
    const uint64_t written = shape.fusion.gates() ? elements / 2 : elements;
    require(check_.difference(at.d, at.d, static_cast<int64_t>(written), type, &verdict));
    result->right = verdict.not_finite == 0 && verdict.xx > 0;
  } else {
    const uint64_t ours = at.d;
    at.d = outputs_ + kOutputBytes / 2;
    if (shape.accumulate) require(bench_.stream().fill(at.d, 0, bytes));
    require(peer_->enqueue(result->peer_algorithm, bench_.cuda_stream(), at.a, at.b, at.d, at.c),
            "cublasLtMatmul");
    require(check_.difference(ours, at.d, static_cast<int64_t>(elements), type, &verdict));
    result->distance = verdict.distance();
    result->right = verdict.not_finite == 0 && verdict.xx > 0;
    // The peer may add parts of k in a narrower type. Then compare with float64, by the distance
    // only: single elements of such long sums may exceed the per-element bound.
    if (has_reference && result->distance > 2 * distance_limit(shape, options_.dtype)) {
      bool each = true;
      at.d = ours;
      result->distance = reference_distance(shape, at, &each);
    }
  }
  // Both results may be off by the limit, hence the factor 2.
  result->right = result->right && result->distance <= 2 * distance_limit(shape, options_.dtype);
}

std::vector<std::unique_ptr<Plan>> GemmRacer::force_all(const GemmShape& shape,
                                                        std::vector<GemmTime>* candidates) {
  const GemmDesc desc = describe(shape);
  GemmProblem problem;
  require(gemm_problem(desc, &problem));
  problem.reads_c = shape.fusion.reads_c();  // runs that read C have other candidates
  auto ranked =
      GemmRanking(*bench_.device(), gemm_with_staging(problem)).candidates(problem.rows());
  const bool alone = is_alone(shape);
  const double us = alone ? 2e6 * options_.alone_seconds
                          : std::max(guess_us(shape), kGraphTotalUs) * (options_.rounds + 1);
  const auto most = static_cast<size_t>(std::max(6.0, options_.candidate_seconds * 1e6 / us));
  const double slowest = options_.within * ranked[0].nanoseconds;
  // The model must not decide which candidates are measured, nor their places in a round.
  if (options_.regret)
    std::shuffle(ranked.begin(), ranked.end(), std::mt19937_64(options_.order_seed));
  std::vector<std::unique_ptr<Plan>> plans;
  std::set<const KernelEntry*> seen;
  for (const GemmCandidate& candidate : ranked) {
    if (!options_.regret && (candidate.nanoseconds > slowest || plans.size() == most)) break;
    // For large shapes, variants of one kernel differ only in the last wave: try one of each.
    if (alone && !seen.insert(candidate.choice.entry).second) continue;
    plans.emplace_back();
    require(GemmPlan::create_forced(bench_.device(), desc, candidate.choice, &plans.back()));
    const PlanInfo info = plans.back()->info();
    candidates->push_back({gemm_choice_text(candidate.choice), info.grid[0], info.cluster[0], 0,
                           candidate.nanoseconds * 1e-3});
  }
  return plans;
}

std::vector<Alone> GemmRacer::times(const GemmShape& shape, const std::vector<Variant>& variants) {
  if (is_alone(shape) && variants.size() > 1) {
    bench_.flush_before_each(false);
    std::vector<Alone> alone =
        bench_.race_back_to_back(variants, options_.alone_seconds, guess_us(shape));
    bench_.flush_before_each(true);
    return alone;
  }
  std::vector<Alone> timed;
  for (const double us : time(shape, variants, options_.rounds)) timed.push_back({us, 0});
  return timed;
}

// Of many candidates the fastest was lucky too, so the pair is raced once more by itself.
void GemmRacer::find_regret(const GemmShape& shape, const Variant& choice,
                            const std::vector<Variant>& forced, GemmResult* result) {
  if (forced.empty()) return;
  size_t fastest = 0;
  for (size_t i = 1; i < result->candidates.size(); ++i)
    if (result->candidates[i].us < result->candidates[fastest].us) fastest = i;
  result->fastest = result->candidates[fastest].kernel;
  const std::vector<Alone> pair = times(shape, {choice, forced[fastest]});
  result->regret = std::max(0.0, pair[0].us / pair[1].us - 1);
}

GemmResult GemmRacer::race(const GemmShape& shape) {
  GemmResult result;
  std::unique_ptr<Plan> plan;
  if (!GemmPlan::create(bench_.device(), describe(shape), &plan).ok()) {
    result.error = last_failure().message;
    return result;
  }
  const auto& gemm = static_cast<const GemmPlan&>(*plan);
  const PlanInfo info = plan->info();
  result.ours = {info.kernel, info.grid[0], info.cluster[0]};
  if (shape.m == 0 || shape.n == 0) {
    result.error = "empty: nothing is launched";
    return result;
  }
  const Copies copies = arrange(shape);
  result.peer_algorithm = best_of_peer(shape, copies);
  check(shape, gemm, copies, &result);

  const Variant choice = variant(gemm, shape, copies);
  std::vector<std::unique_ptr<Plan>> plans;
  if (options_.all_candidates || options_.regret) plans = force_all(shape, &result.candidates);
  std::vector<Variant> forced;
  for (const auto& candidate : plans)
    forced.push_back(variant(static_cast<const GemmPlan&>(*candidate), shape, copies));
  std::vector<Variant> variants = {choice};
  variants.insert(variants.end(), forced.begin(), forced.end());
  const bool has_peer = options_.self || result.peer_algorithm >= 0;
  if (has_peer)
    variants.push_back(options_.self ? choice : peer_variant(result.peer_algorithm, copies));
  if (shape.fusion.reads_c()) result.ours.kernel = bench_.kernel_names(choice);
  if (has_peer) result.peer_kernel = bench_.kernel_names(variants.back());
  if (has_peer && !options_.self && copies.pass_bytes > 0) result.peer_kernel += ",copy";
  bench_.read_clocks(options_.clocks && !is_alone(shape));
  const std::vector<Alone> timed = times(shape, variants);
  const bool has_clocks = options_.clocks && !is_alone(shape);
  const std::vector<double> megahertz =
      has_clocks ? bench_.megahertz() : std::vector<double>(timed.size());
  bench_.read_clocks(false);
  const auto take = [&](size_t i, GemmTime* out) {
    out->us = timed[i].us;
    out->joules = timed[i].joules;
    out->megahertz = megahertz[i];
  };
  take(0, &result.ours);
  for (size_t i = 0; i < forced.size(); ++i) take(1 + i, &result.candidates[i]);
  if (has_peer) {
    result.peer_us = timed.back().us;
    result.peer_joules = timed.back().joules;
    result.peer_megahertz = megahertz.back();
  }
  if (options_.regret) find_regret(shape, choice, forced, &result);
  return result;
}

std::string GemmRacer::launch_once(const GemmShape& shape) {
  std::unique_ptr<Plan> plan;
  if (!GemmPlan::create(bench_.device(), describe(shape), &plan).ok())
    return last_failure().message;
  if (shape.m == 0 || shape.n == 0) return "empty: nothing is launched";
  const Copies copies = arrange(shape);
  bench_.flush();
  variant(static_cast<const GemmPlan&>(*plan), shape, copies).enqueue();
  if (prepare_peer(shape, copies) > 0) {
    bench_.flush();
    peer_variant(0, copies).enqueue();
  }
  require(bench_.stream().synchronize());
  return "";
}

double GemmRacer::measured_peak() {
  const GemmShape shape{"", 8192, 8192, 8192};
  const GemmRaceOptions own = options_;
  options_.rounds = 5;
  options_.peer_rounds = 1;
  options_.all_candidates = options_.self = options_.regret = false;
  options_.alone_us = 0;
  const GemmResult result = race(shape);
  options_ = own;
  require(result.error.empty(), "8192^3");
  return shape.flops() / (result.peer_us > 0 ? result.peer_us : result.ours.us) * 1e6;
}

}  // namespace tw::bench
