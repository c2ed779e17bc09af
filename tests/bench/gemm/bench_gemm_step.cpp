// SPDX-License-Identifier: Apache-2.0
// A whole decode step in a graph: the tokens' rows are gathered, pass through six products with
// epilogues, and are scattered to their places.
//   bench_gemm_step [--rounds=15] [--explain]
// Prints a JSON line per step and m, in microseconds: "plain" without dependent launch (PDL);
// "programmatic" with PDL and constant weights; "device" in addition reads the number of tokens,
// alpha and beta from device memory; "products" is the six products only, with PDL. peers_step.py
// runs this beside torch. The weights exceed the L2; small steps rotate over copies of theirs.
// Before timing, sampled columns of every product are compared with loops on the CPU.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/float_formats.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/rows/rows.hpp"
#include "tests/bench/common/gpu_bench.hpp"
#include "tests/device/gemm/gemm_check.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

struct Step {
  const char* name;
  int64_t hidden, first, gated, inner;  // columns of products 1, 3 and 5; of 0; of 2; of 4
  int copies;                           // copies of the weights, one per consecutive step
};

// The same as in peers_step.py.
const Step kSteps[] = {{"4096 wide", 4096, 6144, 14336, 14336, 1},
                       {"2048 wide", 2048, 3072, 5632, 8192, 1},
                       {"1024 wide", 1024, 1536, 2816, 4096, 4}};
constexpr int64_t kWords = 32000, kPlaces = 1024;
constexpr int kProducts = 6;

// One of the six products: D = act(alpha * A B + C + bias), with a column-major B.
struct Product {
  int64_t n, k, lda;
  int input, output, residual;  // indices of buffers; residual -1: none
  bool bias;
  Activation activation;
  bool gated;  // columns j and n / 2 + j make one column of D
  int64_t d_columns() const { return gated ? n / 2 : n; }
};

std::vector<Product> products_of(const Step& s) {
  constexpr Activation kNone = Activation::identity;
  return {{s.first, s.hidden, s.hidden, 0, 1, -1, true, kNone, false},
          {s.hidden, s.hidden, s.first, 1, 2, 0, false, kNone, false},
          {2 * s.gated, s.hidden, s.hidden, 2, 3, -1, false, Activation::silu, true},
          {s.hidden, s.gated, s.gated, 3, 4, 2, false, kNone, false},
          {s.inner, s.hidden, s.hidden, 4, 5, -1, true, Activation::gelu_tanh, false},
          {s.hidden, s.inner, s.inner, 5, 6, 4, true, kNone, false}};
}

struct Way {
  const char* name;
  uint32_t flags;
  bool rows;  // with gather and scatter
};
constexpr uint32_t kAhead = kGemmProgrammatic | kGemmConstantB;
constexpr uint32_t kKnown = kGemmDeviceM | kGemmDeviceScalars;  // known to the device only
const Way kWays[] = {{"plain", 0, true},
                     {"programmatic", kAhead, true},
                     {"device", kAhead | kKnown, true},
                     {"products", kAhead, false}};

class Bench {
 public:
  explicit Bench(int rounds) : rounds_(rounds) {
    require(check_.open(bench_.device(), bench_.stream()));
    table_ = bench_.allocate(kWords * 4096 * 2);
    places_ = bench_.allocate(kPlaces * 4096 * 2);
    weights_ = bench_.allocate(kWeightBytes);
    bias_ = bench_.allocate(kBuffer);
    for (uint64_t& buffer : x_) buffer = bench_.allocate(kBuffer);
    require(check_.fill(table_, 1, kWords * 4096, 0, DType::BF16, 1, 0));
    require(check_.fill(weights_, 1, kWeightBytes / 2, 0, DType::BF16, 2, 0));
    require(check_.fill(bias_, 1, kBuffer / 2, 0, DType::BF16, 3, 0));
    for (int64_t i = 0; i < kMost; ++i) {
      tokens_[i] = i * 487 % kWords;
      rows_[i] = i * 13 % kPlaces;
    }
    token_ = bench_.allocate(sizeof tokens_);
    place_ = bench_.allocate(sizeof rows_);
    known_ = bench_.allocate(64 + 4 * 2 * kProducts);
    bench_.upload(token_, tokens_, sizeof tokens_);
    bench_.upload(place_, rows_, sizeof rows_);
  }

  bool measure(const Step& step, int64_t m) {
    step_ = step;
    m_ = m;
    products_ = products_of(step);
    upload_known();
    make_rows();
    std::vector<Variant> variants;
    bool right = true;
    for (size_t way = 0; way < std::size(kWays); ++way) {
      make_plans(kWays[way].flags, &plans_[way]);
      variants.push_back({kWays[way].name, [this, way] { enqueue(way); }});
      if (kWays[way].rows) right = check(way) && right;
    }
    const std::vector<double> us = bench_.race_graphs(variants, 2, rounds_);
    std::printf("{\"step\": \"%s\", \"m\": %d, \"right\": %s", step.name, static_cast<int>(m),
                right ? "true" : "false");
    for (size_t way = 0; way < std::size(kWays); ++way)
      std::printf(", \"%s\": %.2f", kWays[way].name, us[way] / step.copies);
    std::printf("}\n");
    std::fflush(stdout);
    return right;
  }

  void explain() const {
    for (size_t way = 0; way < std::size(kWays); ++way) {
      std::printf("# %-13s", kWays[way].name);
      for (const std::unique_ptr<Plan>& plan : plans_[way])
        std::printf(" %s/%u", plan->info().kernel, plan->info().cluster[0]);
      std::printf("\n");
    }
  }

 private:
  static constexpr int64_t kMost = 64;
  static constexpr uint64_t kBuffer = kMost * 28672 * 2;
  static constexpr uint64_t kWeightBytes = 768u << 20;
  using Plans = std::vector<std::unique_ptr<Plan>>;

  // Uploads m, then each product's alpha and beta.
  void upload_known() {
    uint8_t bytes[64 + 4 * 2 * kProducts] = {};
    std::memcpy(bytes, &m_, 8);
    for (int i = 0; i < kProducts; ++i) {
      const float scalars[2] = {alpha(i), beta(i)};
      std::memcpy(bytes + 64 + 8 * i, scalars, 8);
    }
    bench_.upload(known_, bytes, sizeof bytes);
  }
  float alpha(int i) const {
    return 1.0f / std::sqrt(static_cast<float>(products_[static_cast<size_t>(i)].k));
  }
  float beta(int i) const { return products_[static_cast<size_t>(i)].residual >= 0 ? 1.0f : 0.0f; }

  void make_rows() {
    RowsDesc desc;
    desc.index_dtype = DType::I64;
    desc.table_rows = kWords;
    desc.columns = step_.hidden;
    desc.count = m_;
    desc.table_alignment = desc.packed_alignment = 16;
    require(RowsPlan::create(bench_.device(), Op::gather, desc, &gather_));
    desc.table_rows = kPlaces;
    require(RowsPlan::create(bench_.device(), Op::scatter, desc, &scatter_));
  }
  void make_plans(uint32_t flags, Plans* plans) {
    plans->clear();
    for (const Product& p : products_) {
      GemmDesc desc;
      desc.b_order = Order::column;
      desc.m = desc.min_m = m_;
      desc.n = p.n;
      desc.k = p.k;
      desc.lda = p.lda;
      desc.a_alignment = desc.b_alignment = desc.c_alignment = desc.d_alignment = 16;
      desc.flags = flags;
      desc.epilogue.activation = p.activation;
      if (p.bias) desc.epilogue.bias = Per::column;
      if (p.gated) desc.epilogue.gate = Gate::halves;
      plans->emplace_back();
      require(GemmPlan::create(bench_.device(), desc, &plans->back()));
    }
  }

  void enqueue(size_t way) {
    uint64_t weights = weights_;
    for (int copy = 0; copy < step_.copies; ++copy) {
      RowsRun in{.table = table_, .index = token_, .packed = x_[0]};
      RowsRun out{.table = places_, .index = place_, .packed = x_[kProducts]};
      if (kWays[way].flags & kKnown) in.device_count = out.device_count = known_;
      if (kWays[way].rows) require(static_cast<const RowsPlan&>(*gather_).run(bench_.stream(), in));
      for (int i = 0; i < kProducts; ++i) {
        const Product& p = products_[static_cast<size_t>(i)];
        GemmRun run{.alpha = alpha(i), .beta = beta(i), .a = x_[p.input], .b = weights};
        run.c = p.residual < 0 ? 0 : x_[p.residual];
        run.d = x_[p.output];
        run.bias = p.bias ? bias_ : 0;
        if (kWays[way].flags & kKnown) {
          run.device_m = known_;
          run.device_alpha = known_ + 64 + 8 * static_cast<uint64_t>(i);
          if (p.residual >= 0) run.device_beta = run.device_alpha + 4;
        }
        const Plan& plan = *plans_[way][static_cast<size_t>(i)];
        require(static_cast<const GemmPlan&>(plan).run(bench_.stream(), run));
        weights += static_cast<uint64_t>(p.n * p.k * 2);
      }
      if (kWays[way].rows)
        require(static_cast<const RowsPlan&>(*scatter_).run(bench_.stream(), out));
    }
    require(weights <= weights_ + kWeightBytes, "room for the weights");
  }

  std::vector<float> read(uint64_t address, int64_t count) {
    std::vector<uint16_t> bits(static_cast<size_t>(count));
    require(bench_.stream().copy_to_host(bits.data(), address, bits.size() * 2));
    require(bench_.stream().synchronize());
    std::vector<float> values(bits.size());
    std::transform(bits.begin(), bits.end(), values.begin(), bf16_to_float);
    return values;
  }

  // Checks a few columns of each product, given the input it read, and all gathered and scattered
  // rows.
  bool check(size_t way) {
    for (const uint64_t buffer : x_) require(bench_.stream().fill(buffer, 0xff, kBuffer));
    require(bench_.stream().fill(places_, 0xff, kPlaces * 4096 * 2));
    enqueue(way);
    std::vector<std::vector<float>> x;
    for (const uint64_t buffer : x_) x.push_back(read(buffer, kBuffer / 2));
    const int64_t hidden = step_.hidden;
    bool right = true;
    for (int64_t r = 0; r < m_; ++r) {
      const auto at = static_cast<uint64_t>(hidden * 2);
      const auto word = read(table_ + static_cast<uint64_t>(tokens_[r]) * at, hidden);
      const auto put = read(places_ + static_cast<uint64_t>(rows_[r]) * at, hidden);
      right = right && std::equal(word.begin(), word.end(), x[0].begin() + r * hidden) &&
              std::equal(put.begin(), put.end(), x[kProducts].begin() + r * hidden);
    }
    // The weights that the last copy read.
    uint64_t weights = weights_;
    for (const Product& p : products_)
      weights += static_cast<uint64_t>(p.n * p.k * 2 * (step_.copies - 1));
    for (const Product& p : products_) {
      right = check_product(p, weights, x) && right;
      weights += static_cast<uint64_t>(p.n * p.k * 2);
    }
    if (!right) std::printf("# %s, m %d, %s: WRONG RESULT\n", step_.name, int(m_), kWays[way].name);
    return right;
  }
  bool check_product(const Product& p, uint64_t weights, const std::vector<std::vector<float>>& x) {
    constexpr int kSamples = 9;
    const std::vector<float> bias = read(bias_, p.n);
    const double alpha = 1 / std::sqrt(static_cast<double>(p.k));
    const auto row = static_cast<uint64_t>(p.k * 2);
    bool right = true;
    for (int64_t sample = 0; sample < kSamples; ++sample) {
      const int64_t column = sample * (p.d_columns() - 1) / (kSamples - 1);
      const auto w = read(weights + static_cast<uint64_t>(column) * row, p.k);
      const auto w2 = p.gated ? read(weights + static_cast<uint64_t>(column + p.n / 2) * row, p.k)
                              : std::vector<float>();
      for (int64_t r = 0; r < m_; ++r) {
        const float* a = &x[static_cast<size_t>(p.input)][static_cast<size_t>(r * p.lda)];
        double sum = 0, gate = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          sum += double(a[k]) * w[static_cast<size_t>(k)];
          if (p.gated) gate += double(a[k]) * w2[static_cast<size_t>(k)];
        }
        const auto at = static_cast<size_t>(r * p.d_columns() + column);
        double wanted = alpha * sum;
        if (p.residual >= 0) wanted += x[static_cast<size_t>(p.residual)][at];
        if (p.bias) wanted += bias[static_cast<size_t>(column)];
        if (p.activation == Activation::silu) wanted /= 1 + std::exp(-wanted);
        if (p.activation == Activation::gelu_tanh)
          wanted /=
              1 + std::exp(-2 * 0.7978845608028654 * (wanted + 0.044715 * std::pow(wanted, 3)));
        if (p.gated) wanted *= alpha * gate;
        const double got = x[static_cast<size_t>(p.output)][at];
        right = right && std::fabs(got - wanted) <= 0x1p-8 * std::fabs(wanted) + 1e-4;
      }
    }
    return right;
  }

  int rounds_;
  GpuBench bench_;
  test::GemmCheck check_;
  Step step_{};
  int64_t m_ = 0;
  std::vector<Product> products_;
  std::unique_ptr<Plan> gather_, scatter_;
  Plans plans_[std::size(kWays)];
  uint64_t table_ = 0, places_ = 0, weights_ = 0, bias_ = 0, token_ = 0, place_ = 0, known_ = 0;
  uint64_t x_[kProducts + 1] = {};
  int64_t tokens_[kMost] = {}, rows_[kMost] = {};
};

}  // namespace

int main(int argc, char** argv) {
  int rounds = 15;
  bool explain = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--rounds=", 9) == 0) rounds = std::atoi(argv[i] + 9);
    if (std::strcmp(argv[i], "--explain") == 0) explain = true;
  }
  Bench bench(rounds);
  bool right = true;
  for (const Step& step : kSteps)
    for (const int64_t m : {1, 16, 64}) {
      right = bench.measure(step, m) && right;
      if (explain) bench.explain();
    }
  return right ? 0 : 1;
}
