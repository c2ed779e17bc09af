// SPDX-License-Identifier: Apache-2.0
// The products of a decode step, one after the other in a graph: without dependent launch (PDL),
// with PDL and constant weights, and by cuBLASLt's best algorithms.
//   bench_gemm_chain [--rounds=15] [--cublaslt=/path/to/libcublasLt.so.13]
// The weights are a layer of Llama 3 8B, several times the size of the L2, or the small ones of
// DeepSeek V3 in copies that exceed it. All products read the same rows and write to one other
// buffer, so that values stay finite; the launches wait for each other as in a real step.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ops/gemm/gemm.hpp"
#include "tests/bench/common/gpu_bench.hpp"
#include "tests/bench/gemm/gemm_peer.hpp"
#include "tests/device/gemm/gemm_check.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

struct Weights {
  int64_t n, k;
};

struct Step {
  const char* name;
  std::vector<Weights> weights;
  int copies;  // consecutive copies of all weights, so that none is in the L2 when it is read
};

const Step kSteps[] = {
    {"Llama 3 8B", {{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}}, 1},
    {"DeepSeek V3, small", {{2112, 7168}, {576, 7168}, {7168, 2048}}, 4}};

struct Product {
  Weights shape;
  uint64_t weights;
  std::unique_ptr<Plan> plain, programmatic;
  std::unique_ptr<GemmPeer> peer;
  int algorithm = -1;
};

class Bench {
 public:
  Bench(int rounds, std::string path) : rounds_(rounds), path_(std::move(path)) {
    require(check_.open(bench_.device(), bench_.stream()));
    workspace_ = bench_.allocate(GemmPeer::kWorkspaceBytes);
    for (uint64_t* buffer : {&x_[0], &x_[1]}) *buffer = bench_.allocate(kBuffer);
    weights_ = bench_.allocate(kWeights);
    require(check_.fill(weights_, 1, kWeights / 2, 0, DType::BF16, 1, 0));
    for (const uint64_t buffer : x_)
      require(check_.fill(buffer, 1, kBuffer / 2, 0, DType::BF16, buffer, 0));
    std::printf("# %s, medians of %d rounds, microseconds a step\n%-22s %4s %9s %13s %9s %8s %8s\n",
                bench_.device()->info().name.c_str(), rounds, "step", "m", "plain", "programmatic",
                "cuBLASLt", "ratio", "prog.");
  }

  void measure(const Step& step, int64_t m) {
    products_.clear();
    uint64_t at = weights_;
    for (int copy = 0; copy < step.copies; ++copy)
      for (const Weights& shape : step.weights) {
        add(shape, m, at);
        at += static_cast<uint64_t>(shape.n * shape.k * 2);
      }
    require(at <= weights_ + kWeights, "room for the weights");
    std::vector<Variant> variants = {{"plain", ours(false)}, {"programmatic", ours(true)}};
    const bool peer = std::all_of(products_.begin(), products_.end(),
                                  [](const Product& p) { return p.algorithm >= 0; });
    if (peer) variants.push_back({"cuBLASLt", [this] { enqueue_peers(); }});
    const std::vector<double> us = bench_.race_graphs(variants, 2, rounds_);
    const double theirs = peer ? us[2] : 0.0;
    std::printf("%-22s %4d %9.2f %13.2f %9.2f %8.3f %8.3f\n", step.name, static_cast<int>(m),
                us[0] / step.copies, us[1] / step.copies, theirs / step.copies, theirs / us[0],
                theirs / us[1]);
    std::fflush(stdout);
  }

 private:
  static constexpr uint64_t kBuffer = 64 * 28672 * 2;
  static constexpr uint64_t kWeights = 448u << 20;

  void add(const Weights& shape, int64_t m, uint64_t weights) {
    Product product{.shape = shape, .weights = weights};
    GemmDesc desc;
    desc.b_order = Order::column;
    desc.m = desc.min_m = m;
    desc.n = shape.n;
    desc.k = shape.k;
    desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
    require(GemmPlan::create(bench_.device(), desc, &product.plain));
    desc.flags = kGemmProgrammatic | kGemmConstantB;
    require(GemmPlan::create(bench_.device(), desc, &product.programmatic));
    std::string why;
    product.peer = GemmPeer::open(path_, workspace_, &why);
    if (product.peer) product.algorithm = best_of(product, m);
    products_.push_back(std::move(product));
  }
  int best_of(const Product& product, int64_t m) {
    GemmShape shape;
    shape.m = m;
    shape.n = product.shape.n;
    shape.k = product.shape.k;
    const int offered = product.peer->prepare(shape, DType::BF16, 256);
    std::vector<int> usable;
    std::vector<Variant> variants;
    for (int i = 0; i < offered; ++i) {
      const auto enqueue = [this, &product, i] {
        return product.peer->enqueue(i, bench_.cuda_stream(), x_[0], product.weights, x_[1]);
      };
      if (!enqueue()) continue;
      usable.push_back(i);
      variants.push_back({"", [enqueue] { require(enqueue(), "cublasLtMatmul"); }});
    }
    if (usable.empty()) return -1;
    const std::vector<double> us = bench_.race(variants, 3);
    return usable[static_cast<size_t>(std::min_element(us.begin(), us.end()) - us.begin())];
  }
  std::function<void()> ours(bool programmatic) {
    return [this, programmatic] {
      for (const Product& product : products_) {
        const Plan& plan = programmatic ? *product.programmatic : *product.plain;
        require(static_cast<const GemmPlan&>(plan).run(
            bench_.stream(), {.a = x_[0], .b = product.weights, .d = x_[1]}));
      }
    };
  }
  void enqueue_peers() {
    for (const Product& product : products_)
      require(product.peer->enqueue(product.algorithm, bench_.cuda_stream(), x_[0], product.weights,
                                    x_[1]),
              "cublasLtMatmul");
  }

  int rounds_;
  std::string path_;
  GpuBench bench_;
  test::GemmCheck check_;
  uint64_t workspace_ = 0, weights_ = 0;
  uint64_t x_[2] = {};
  std::vector<Product> products_;
};

}  // namespace

int main(int argc, char** argv) {
  int rounds = 15;
  std::string path;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--rounds=", 9) == 0) rounds = std::atoi(argv[i] + 9);
    if (std::strncmp(argv[i], "--cublaslt=", 11) == 0) path = argv[i] + 11;
  }
  Bench bench(rounds, path);
  for (const Step& step : kSteps)
    for (const int64_t m : {1, 16, 64}) bench.measure(step, m);
}
