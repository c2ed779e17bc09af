// SPDX-License-Identifier: Apache-2.0
// Gemm with epilogues against cuBLASLt: with the same epilogue if it has one, otherwise its product
// followed by a copy of D, which is the least that a pass over D costs.
//   bench_gemm_epilogue [--rounds=15] [--filter=TEXT] [--shape=MxNxK] [--all=TEXT[,TEXT...]]
//                       [--cublaslt=/path/to/libcublasLt.so.13]
//   bench_gemm_epilogue --random=SEED --class=decode,prefill [--epilogues=others] [--count=20]
//                       [--list] [the options of bench_gemm]
// Prints a line per case: our time, the peer's, and our time without epilogue. The L2 is flushed,
// variants alternate, times are medians. --all also checks and times the candidates whose names
// contain one of these texts.
// --random draws shapes with epilogues that cuBLASLt has, or others (gemm_draw.hpp), and measures
// them like bench_gemm. For others a copy stands for the peer's second kernel, and results are not
// compared: peers_epilogue.py does both.
// --list prints the drawn shapes as JSON lines and measures nothing.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/bench/common/gpu_bench.hpp"
#include "tests/bench/gemm/gemm_peer.hpp"
#include "tests/bench/gemm/gemm_program.hpp"
#include "tests/device/gemm/gemm_check.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

struct Case {
  const char* name;
  GemmEpilogue epilogue;
  bool c = false;
  bool fused = false;  // the peer has this epilogue
  cublasLtEpilogue_t peer = CUBLASLT_EPILOGUE_DEFAULT;
};

const Case kCases[] = {
    {"none", {}, false, true},
    {"bias", {.bias = Per::column}, false, true, CUBLASLT_EPILOGUE_BIAS},
    {"+C", {}, true, true},
    {"bias +C", {.bias = Per::column}, true, true, CUBLASLT_EPILOGUE_BIAS},
    {"relu", {.activation = Activation::relu}, false, true, CUBLASLT_EPILOGUE_RELU},
    {"bias relu",
     {.bias = Per::column, .activation = Activation::relu},
     false,
     true,
     CUBLASLT_EPILOGUE_RELU_BIAS},
    {"bias gelu_tanh",
     {.bias = Per::column, .activation = Activation::gelu_tanh},
     false,
     true,
     CUBLASLT_EPILOGUE_GELU_BIAS},
    {"gelu", {.activation = Activation::gelu}},
    {"silu", {.activation = Activation::silu}},
    {"SwiGLU apart", {.activation = Activation::silu, .gate = Gate::halves}},
    {"SwiGLU beside", {.activation = Activation::silu, .gate = Gate::interleaved}},
    {"scale by row", {.d_factor = Per::row}},
    {"scale by column", {.d_factor = Per::column}},
    {"amax", {.amax = true}},
};

// Three prefill and two decode shapes.
const GemmShape kShapes[] = {{"EPI", 4096, 7168, 512},
                             {"EPI", 4096, 7168, 2048},
                             {"EPI", 4096, 7168, 7168},
                             {"EPI", 16, 28672, 4096},
                             {"EPI", 64, 7168, 2048}};

std::string text_of(const GemmShape& shape) {
  return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

struct Memory {
  uint64_t a, b, c, d, peer_d, workspace, bias, scale, amax;
};

class Bench {
 public:
  Bench(int rounds, const std::string& all, const std::string& path) : rounds_(rounds), all_(all) {
    require(check_.open(bench_.device(), bench_.stream()));
    std::string why;
    peer_ = GemmPeer::open(path, bench_.allocate(GemmPeer::kWorkspaceBytes), &why);
    if (!peer_) std::printf("# no cuBLASLt: %s\n", why.c_str());
    at_.workspace = bench_.allocate(kBytes);
    for (uint64_t* matrix : {&at_.a, &at_.b, &at_.c, &at_.d, &at_.peer_d}) {
      *matrix = bench_.allocate(kBytes);
      require(check_.fill(*matrix, 1, kBytes / 2, 0, DType::BF16, *matrix, 0));
    }
    for (uint64_t* vector : {&at_.bias, &at_.scale, &at_.amax}) {
      *vector = bench_.allocate(kVectorBytes);
      require(bench_.stream().fill(*vector, 0, kVectorBytes));
    }
    require(check_.fill(at_.bias, 1, kVectorBytes / 2, 0, DType::BF16, 1, 0));
    require(check_.fill(at_.scale, 1, kVectorBytes / 4, 0, DType::F32, 2, 0));
    std::printf("# %s, cuBLASLt %zu, medians of %d rounds\n%-18s %-16s %9s %9s %6s %9s  %s\n",
                bench_.device()->info().name.c_str(), peer_ ? peer_->version() : 0, rounds,
                "m x n x k", "epilogue", "us", "cuBLASLt", "ratio", "plain us", "kernel");
  }

  bool measure(const GemmShape& shape, const Case& c) {
    std::unique_ptr<Plan> ours, plain;
    require(GemmPlan::create(bench_.device(), describe(shape, c.epilogue), &ours));
    require(GemmPlan::create(bench_.device(), describe(shape, {}), &plain));
    const GemmRun run = {.beta = c.c ? 1.0f : 0.0f,
                         .a = at_.a,
                         .b = at_.b,
                         .c = at_.c,
                         .d = at_.d,
                         .workspace = at_.workspace,
                         .workspace_bytes = kBytes,
                         .bias = c.epilogue.bias == Per::none ? 0 : at_.bias,
                         .d_factor = c.epilogue.d_factor == Per::none ? 0 : at_.scale,
                         .amax = c.epilogue.amax ? at_.amax : 0};
    const auto launches = [this](const Plan& plan, const GemmRun& with) {
      return [this, &plan, with] {
        require(static_cast<const GemmPlan&>(plan).run(bench_.stream(), with));
      };
    };
    std::vector<Variant> variants = {{"ours", launches(*ours, run)},
                                     {"plain", launches(*plain, {.a = at_.a,
                                                                 .b = at_.b,
                                                                 .d = at_.d,
                                                                 .workspace = at_.workspace,
                                                                 .workspace_bytes = kBytes})}};
    const int algorithm = peer_ ? best_of_peer(shape, c) : -1;
    if (algorithm >= 0) variants.push_back(peer(shape, c, algorithm));
    const std::vector<double> us = bench_.race(variants, rounds_);
    const bool right = algorithm < 0 || !c.fused || same(shape, c, *ours, run, algorithm);
    std::printf("%-18s %-16s %9.2f %9.2f %6.3f %9.2f  %s, %u%s%s\n", text_of(shape).c_str(), c.name,
                us[0], us.size() > 2 ? us[2] : 0.0, us.size() > 2 ? us[2] / us[0] : 0.0, us[1],
                ours->info().kernel, ours->info().cluster[0], c.fused ? "" : ", unfused peer",
                right ? "" : "  WRONG RESULT");
    const bool all_right = all_.empty() || measure_all(shape, c, run, algorithm);
    std::fflush(stdout);
    return right && all_right;
  }

 private:
  static constexpr uint64_t kBytes = 256u << 20;
  static constexpr uint64_t kVectorBytes = 128 << 10;

  static GemmDesc describe(const GemmShape& shape, const GemmEpilogue& epilogue) {
    GemmDesc desc;
    desc.b_order = shape.b_order;
    desc.m = desc.min_m = shape.m;
    desc.n = shape.n;
    desc.k = shape.k;
    desc.a_alignment = desc.b_alignment = desc.c_alignment = desc.d_alignment = 16;
    desc.epilogue = epilogue;
    return desc;
  }
  bool measure_all(const GemmShape& shape, const Case& c, const GemmRun& run, int algorithm) {
    const GemmDesc desc = describe(shape, c.epilogue);
    std::vector<GemmRange> candidates;
    require(gemm_candidates(*bench_.device(), desc, &candidates));
    std::vector<std::unique_ptr<Plan>> plans(candidates.size());
    std::vector<std::string> names(candidates.size());
    std::vector<Variant> variants;
    bool right = true;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const GemmChoice& choice = candidates[i].candidate.choice;
      if (!listed(gemm_choice_text(choice))) continue;
      require(GemmPlan::create_forced(bench_.device(), desc, choice, &plans[i]));
      names[i] = gemm_choice_text(choice);
      const auto& plan = static_cast<const GemmPlan&>(*plans[i]);
      if (algorithm >= 0 && c.fused && !same(shape, c, plan, run, algorithm)) {
        std::printf("    %s: WRONG RESULT\n", names[i].c_str());
        right = false;
      }
      variants.push_back(
          {names[i], [this, &plan, run] { require(plan.run(bench_.stream(), run)); }});
    }
    const std::vector<double> us = bench_.race(variants, rounds_);
    for (size_t i = 0; i < us.size(); ++i)
      std::printf("    %9.2f  %s\n", us[i], variants[i].name.c_str());
    return right;
  }
  bool listed(const std::string& name) const {
    for (size_t from = 0; from < all_.size();) {
      const size_t comma = std::min(all_.find(',', from), all_.size());
      if (name.find(all_.substr(from, comma - from)) != std::string::npos) return true;
      from = comma + 1;
    }
    return false;
  }
  uint64_t d_bytes(const GemmShape& shape) const {
    return static_cast<uint64_t>(shape.m * shape.n * shape.out_bytes());
  }
  Variant peer(const GemmShape& shape, const Case& c, int algorithm) {
    return {"cuBLASLt", [this, &c, algorithm, bytes = d_bytes(shape)] {
              require(peer_->enqueue(algorithm, bench_.cuda_stream(), at_.a, at_.b, at_.peer_d),
                      "cublasLtMatmul");
              if (!c.fused) require(bench_.stream().copy_on_device(at_.d, at_.peer_d, bytes));
            }};
  }
  int best_of_peer(const GemmShape& shape, const Case& c) {
    PeerEpilogue epilogue;
    epilogue.kind = c.peer;
    epilogue.bias = c.fused && c.epilogue.bias != Per::none ? at_.bias : 0;
    epilogue.c = c.c ? at_.c : 0;
    const int offered = peer_->prepare(shape, DType::BF16, 256, epilogue);
    std::vector<int> usable;
    std::vector<Variant> variants;
    for (int i = 0; i < offered; ++i) {
      if (!peer_->enqueue(i, bench_.cuda_stream(), at_.a, at_.b, at_.peer_d)) continue;
      usable.push_back(i);
      variants.push_back(peer(shape, c, i));
    }
    if (usable.empty()) return -1;
    const std::vector<double> us = bench_.race(variants, 3);
    return usable[static_cast<size_t>(std::min_element(us.begin(), us.end()) - us.begin())];
  }
  bool same(const GemmShape& shape, const Case& c, const Plan& plan, const GemmRun& run,
            int algorithm) {
    require(static_cast<const GemmPlan&>(plan).run(bench_.stream(), run));
    peer(shape, c, algorithm).enqueue();
    test::Verdict verdict;
    require(check_.difference(at_.d, at_.peer_d, shape.m * shape.n, DType::BF16, &verdict));
    return verdict.not_finite == 0 && verdict.xx > 0 && verdict.distance() < 1e-5;
  }

  int rounds_;
  std::string all_;  // parts of names of candidates to measure
  GpuBench bench_;
  test::GemmCheck check_;
  std::unique_ptr<GemmPeer> peer_;
  Memory at_{};
};

}  // namespace

int main(int argc, char** argv) {
  if (wants_drawn_shapes(argc, argv)) return run_gemm_program(argc, argv, "epi");
  int rounds = 15;
  std::string filter, path, only, all;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--rounds=", 9) == 0) rounds = std::atoi(argv[i] + 9);
    if (std::strncmp(argv[i], "--filter=", 9) == 0) filter = argv[i] + 9;
    if (std::strncmp(argv[i], "--shape=", 8) == 0) only = argv[i] + 8;
    if (std::strncmp(argv[i], "--cublaslt=", 11) == 0) path = argv[i] + 11;
    if (std::strncmp(argv[i], "--all=", 6) == 0) all = argv[i] + 6;
  }
  Bench bench(rounds, all, path);
  std::vector<GemmShape> shapes(std::begin(kShapes), std::end(kShapes));
  if (!only.empty()) {
    GemmShape one = {"EPI", 0, 0, 0};
    require(
        std::sscanf(only.c_str(), "%" SCNd64 "x%" SCNd64 "x%" SCNd64, &one.m, &one.n, &one.k) == 3,
        "--shape=MxNxK");
    shapes = {one};
  }
  bool right = true;
  for (const GemmShape& shape : shapes)
    for (const Case& c : kCases)
      if (std::string(c.name).find(filter) != std::string::npos)
        right = bench.measure(shape, c) && right;
  return right ? 0 : 1;
}
