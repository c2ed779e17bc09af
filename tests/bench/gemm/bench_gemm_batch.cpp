// SPDX-License-Identifier: Apache-2.0
// Strided batches and batches by arrays of addresses, against cuBLASLt's strided batch.
//   bench_gemm_batch [--rounds=15] [--cublaslt=/path/to/libcublasLt.so.13] [--candidates]
//   bench_gemm_batch --random=SEED --class=decode,prefill [--count=20] [--list]
//                    [the options of bench_gemm]
// Prints a line per batch: our times by strides and by addresses (with the kernel that reads them),
// the time of the peer's best algorithm, and whether the results agree. The L2 is flushed, variants
// alternate, times are medians. --candidates races all TMA candidates too, and prints a line each.
// --random draws strided batches (gemm_draw.hpp) and measures them like bench_gemm. --list prints
// the drawn shapes as JSON lines and measures nothing.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ops/gemm/gemm.hpp"
#include "tests/bench/common/gpu_bench.hpp"
#include "tests/bench/gemm/gemm_peer.hpp"
#include "tests/bench/gemm/gemm_program.hpp"
#include "tests/device/gemm/gemm_check.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

struct Batch {
  int32_t count;
  int64_t m, n, k;
  Order b_order;
};

// B row-major, as in torch.bmm, and column-major, as weights are.
constexpr Batch kBatches[] = {
    {16, 1024, 1024, 1024, Order::row},    {64, 512, 512, 512, Order::row},
    {128, 128, 128, 512, Order::row},      {8, 4096, 128, 4096, Order::row},
    {16, 1024, 1024, 1024, Order::column}, {64, 512, 512, 512, Order::column},
    {128, 128, 128, 512, Order::column},   {8, 4096, 128, 4096, Order::column}};

class Bench {
 public:
  Bench(int rounds, const std::string& path) : rounds_(rounds) {
    require(check_.open(bench_.device(), bench_.stream()));
    std::string why;
    peer_ = GemmPeer::open(path, bench_.allocate(GemmPeer::kWorkspaceBytes), &why);
    if (!peer_) std::printf("# no cuBLASLt: %s\n", why.c_str());
    for (uint64_t* matrix : {&a_, &b_, &d_, &peer_d_}) {
      *matrix = bench_.allocate(kBytes);
      require(check_.fill(*matrix, 1, kBytes / 2, 0, DType::BF16, *matrix, 0));
    }
    arrays_ = bench_.allocate(3 * 8 * kMost);
    workspace_ = bench_.allocate(kWorkspaceBytes);
    std::printf("# %s, cuBLASLt %zu, medians of %d rounds\n%-24s %9s %9s %9s %6s  %s\n",
                bench_.device()->info().name.c_str(), peer_ ? peer_->version() : 0, rounds,
                "batch x (m,n,k)", "strided", "by array", "cuBLASLt", "ratio", "kernel");
  }

  bool measure(const Batch& batch, bool candidates) {
    const GemmDesc desc = describe(batch, 0);
    std::unique_ptr<Plan> strided, by_array;
    require(GemmPlan::create(bench_.device(), desc, &strided));
    require(GemmPlan::create(bench_.device(), describe(batch, kGemmPointers), &by_array));
    const GemmRun run = {.a = a_, .b = b_, .d = d_};
    std::vector<Variant> variants = {{"strided", launches(*strided, run)},
                                     {"by array", launches(*by_array, addresses(batch))}};
    const int algorithm = peer_ ? best_of_peer(batch) : -1;
    if (algorithm >= 0) variants.push_back(peer(algorithm));
    const std::vector<double> us = bench_.race(variants, rounds_);
    const double theirs = us.size() > 2 ? us[2] : 0.0;
    const bool right = algorithm < 0 || same(batch, *strided, run, algorithm);
    std::printf("%-24s %9.2f %9.2f %9.2f %6.3f  %s, %u%s\n", name(batch).c_str(), us[0], us[1],
                theirs, theirs / us[0], strided->info().kernel, strided->info().cluster[0],
                right ? "" : "  WRONG RESULT");
    if (candidates) measure_candidates(batch, desc, run, algorithm);
    std::fflush(stdout);
    return right;
  }

 private:
  static constexpr uint64_t kBytes = 512u << 20;
  static constexpr uint64_t kMost = 128;
  static constexpr uint64_t kWorkspaceBytes = 256u << 20;

  static std::string name(const Batch& b) {
    return std::to_string(b.count) + "x(" + std::to_string(b.m) + "," + std::to_string(b.n) + "," +
           std::to_string(b.k) + (b.b_order == Order::row ? ") rr" : ") rc");
  }
  static GemmDesc describe(const Batch& batch, uint32_t flags) {
    GemmDesc desc;
    desc.b_order = batch.b_order;
    desc.m = desc.min_m = batch.m;
    desc.n = batch.n;
    desc.k = batch.k;
    desc.batch = batch.count;
    desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
    desc.flags = flags;
    return desc;
  }
  std::function<void()> launches(const Plan& plan, const GemmRun& run) {
    return [this, &plan, run] {
      require(static_cast<const GemmPlan&>(plan).run(bench_.stream(), run));
    };
  }
  GemmRun addresses(const Batch& batch) {
    std::vector<uint64_t> all(3 * kMost);
    for (uint64_t i = 0; i < static_cast<uint64_t>(batch.count); ++i) {
      all[i] = a_ + i * static_cast<uint64_t>(batch.m * batch.k * 2);
      all[kMost + i] = b_ + i * static_cast<uint64_t>(batch.k * batch.n * 2);
      all[2 * kMost + i] = d_ + i * static_cast<uint64_t>(batch.m * batch.n * 2);
    }
    bench_.upload(arrays_, all.data(), all.size() * 8);
    return {.a = arrays_,
            .b = arrays_ + 8 * kMost,
            .d = arrays_ + 16 * kMost,
            .workspace = workspace_,
            .workspace_bytes = kWorkspaceBytes};
  }
  Variant peer(int algorithm) {
    return {"cuBLASLt", [this, algorithm] {
              require(peer_->enqueue(algorithm, bench_.cuda_stream(), a_, b_, peer_d_),
                      "cublasLtMatmul");
            }};
  }
  int best_of_peer(const Batch& batch) {
    GemmShape shape;
    shape.m = batch.m;
    shape.n = batch.n;
    shape.k = batch.k;
    shape.b_order = batch.b_order;
    shape.batch = batch.count;
    const int offered = peer_->prepare(shape, DType::BF16, 256);
    std::vector<int> usable;
    std::vector<Variant> variants;
    for (int i = 0; i < offered; ++i) {
      if (!peer_->enqueue(i, bench_.cuda_stream(), a_, b_, peer_d_)) continue;
      usable.push_back(i);
      variants.push_back(peer(i));
    }
    if (usable.empty()) return -1;
    const std::vector<double> us = bench_.race(variants, 3);
    return usable[static_cast<size_t>(std::min_element(us.begin(), us.end()) - us.begin())];
  }
  bool same(const Batch& batch, const Plan& plan, const GemmRun& run, int algorithm) {
    require(check_.fill(d_, 1, batch.count * batch.m * batch.n, 0, DType::BF16, 7, 0));
    launches(plan, run)();
    peer(algorithm).enqueue();
    test::Verdict verdict;
    require(check_.difference(d_, peer_d_, batch.count * batch.m * batch.n, DType::BF16, &verdict));
    return verdict.not_finite == 0 && verdict.xx > 0 && verdict.distance() < 1e-5;
  }
  // All in one race with the peer, so that ratios compare times of the same rounds.
  void measure_candidates(const Batch& batch, const GemmDesc& desc, const GemmRun& run,
                          int algorithm) {
    std::vector<GemmRange> ranges;
    require(gemm_candidates(*bench_.device(), desc, &ranges));
    std::vector<std::unique_ptr<Plan>> plans;
    std::vector<GemmCandidate> candidates;
    std::vector<Variant> variants;
    for (const GemmRange& range : ranges) {
      if (!range.candidate.choice.uses_maps()) continue;
      candidates.push_back(range.candidate);
      plans.emplace_back();
      require(
          GemmPlan::create_forced(bench_.device(), desc, range.candidate.choice, &plans.back()));
      variants.push_back({"forced", launches(*plans.back(), run)});
    }
    if (algorithm >= 0) variants.push_back(peer(algorithm));
    const std::vector<double> us = bench_.race(variants, rounds_);
    for (size_t i = 0; i < plans.size(); ++i)
      std::printf("    %-52s %9.2f %6.3f, predicted %.2f%s\n",
                  gemm_choice_text(candidates[i].choice).c_str(), us[i],
                  algorithm < 0 ? 0.0 : us.back() / us[i], candidates[i].nanoseconds / 1e3,
                  algorithm < 0 || same(batch, *plans[i], run, algorithm) ? "" : "  WRONG RESULT");
  }

  int rounds_;
  GpuBench bench_;
  test::GemmCheck check_;
  std::unique_ptr<GemmPeer> peer_;
  uint64_t a_ = 0, b_ = 0, d_ = 0, peer_d_ = 0, arrays_ = 0, workspace_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (wants_drawn_shapes(argc, argv)) return run_gemm_program(argc, argv, "bat");
  int rounds = 15;
  bool candidates = false;
  std::string path;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--rounds=", 9) == 0) rounds = std::atoi(argv[i] + 9);
    if (std::strncmp(argv[i], "--cublaslt=", 11) == 0) path = argv[i] + 11;
    if (std::strcmp(argv[i], "--candidates") == 0) candidates = true;
  }
  Bench bench(rounds, path);
  bool right = true;
  for (const Batch& batch : kBatches) right = bench.measure(batch, candidates) && right;
  return right ? 0 : 1;
}
