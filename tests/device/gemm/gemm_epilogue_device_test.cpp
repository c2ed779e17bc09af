// SPDX-License-Identifier: Apache-2.0
// Compares every epilogue with float64: bias, C, activations, gates, scales and amax, for all types
// and orders, odd sizes and pitches, with guard bytes around D; and forces each epilogue kernel.
//
// The reference computes in float64 and carries an error bound for each element: that of f32 sums,
// amplified by the activation, plus half an ulp of D. The distance over all results of a type and
// activation has the same bound as for a GEMM without an epilogue.
#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/gemm/gemm_entry.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"
#include "tests/device/gemm/gemm_near.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Case {
  GemmDesc desc;
  float alpha = 1.0f, beta = 0.0f, d_factor_value = 1.0f;
  uint64_t offset = 0;         // of A, B, C and D past a multiple of 16 bytes, in elements
  uint64_t vector_offset = 0;  // the same for bias and d_factor
  int64_t run_m = -1;
};

std::string describe(const Case& c) {
  const GemmDesc& d = c.desc;
  const GemmEpilogue& e = d.epilogue;
  char text[320];
  std::snprintf(text, sizeof text,
                "m %d n %d k %d, %s to %s, orders %d%d%d, ld %d %d %d %d, bias %d %s, act %d, gate "
                "%d, d_factor %d (%g), amax %d, alpha %g beta %g, offsets %d %d, run m %d",
                int(d.m), int(d.n), int(d.k), dtype_name(d.a_dtype), dtype_name(d.d_dtype),
                int(d.a_order), int(d.b_order), int(d.d_order), int(d.lda), int(d.ldb), int(d.ldc),
                int(d.ldd), int(e.bias), dtype_name(e.bias_dtype), int(e.activation), int(e.gate),
                int(e.d_factor), double(c.d_factor_value), int(e.amax), double(c.alpha),
                double(c.beta), int(c.offset), int(c.vector_offset), int(c.run_m));
  return text;
}

// Distances 1 - 2 <x, y> / (<x, x> + <y, y>) of groups of results.
class Distances {
 public:
  struct Sums {
    double xy = 0, squares = 0, limit = 0;
    void add(double got, double wanted) {
      xy += got * wanted;
      squares += got * got + wanted * wanted;
    }
  };
  Sums& of(const std::string& which, DType type) {
    Sums& sums = sums_[std::string(dtype_name(type)) + " of " + which];
    sums.limit = type == DType::BF16 ? 2e-6 : type == DType::F16 ? 4e-8 : 1e-9;
    return sums;
  }
  void check() const {
    CHECK(!sums_.empty());
    for (const auto& one : sums_) {
      INFO(one.first << ": " << 1 - 2 * one.second.xy / one.second.squares);
      CHECK(one.second.squares - 2 * one.second.xy <= one.second.limit * one.second.squares);
    }
  }

 private:
  std::map<std::string, Sums> sums_;
};

// The operands and the result of a case.
struct Bench {
  Case c;
  int64_t m;
  Matrix a, b, cc, d, bias, d_factor, amax;
  std::vector<double> rows_of_a, columns_of_b;

  static Matrix vector(const std::shared_ptr<Device>& device, Stream& stream, Per per, int64_t rows,
                       int64_t columns, DType type, uint64_t offset) {
    const int64_t count = per == Per::row ? rows : per == Per::column ? columns : 1;
    return {device,     stream, 1,     count,
            Order::row, type,   count, offset * static_cast<uint64_t>(dtype_bytes(type))};
  }
  Bench(const std::shared_ptr<Device>& device, Stream& stream, const Case& of)
      : c(of),
        m(of.run_m < 0 ? of.desc.m : of.run_m),
        a(device, stream, c.desc.m, c.desc.k, c.desc.a_order, c.desc.a_dtype, c.desc.lda,
          c.offset * 2),
        b(device, stream, c.desc.k, c.desc.n, c.desc.b_order, c.desc.a_dtype, c.desc.ldb,
          c.offset * 2),
        cc(device, stream, c.desc.m, c.desc.n, c.desc.d_order, c.desc.d_dtype, c.desc.ldc,
           c.offset * 4),
        d(device, stream, c.desc.m, d_columns(), c.desc.d_order, c.desc.d_dtype, c.desc.ldd,
          c.offset * 4),
        bias(vector(device, stream, c.desc.epilogue.bias, c.desc.m, c.desc.n, bias_type(),
                    c.vector_offset)),
        d_factor(vector(device, stream, c.desc.epilogue.d_factor, c.desc.m, d_columns(), DType::F32,
                        c.vector_offset)),
        amax(device, stream, 1, 1, Order::row, DType::F32, 1, 0) {}

  int64_t d_columns() const { return c.desc.epilogue.gate == Gate::none ? c.desc.n : c.desc.n / 2; }
  DType bias_type() const {
    return c.desc.epilogue.bias_dtype == DType{} ? c.desc.d_dtype : c.desc.epilogue.bias_dtype;
  }
  void fill(std::mt19937_64& random) {
    a.fill_normal(random);
    b.fill_normal(random, 1.0f / std::sqrt(static_cast<float>(std::max<int64_t>(c.desc.k, 1))));
    cc.fill_normal(random);
    bias.fill_normal(random);
    d_factor.fill_normal(random);
    encode_element(amax.at(0, 0), DType::F32, 0.0f);
    amax.memory.upload();
  }
  GemmRun run() const {
    return {.alpha = c.alpha,
            .beta = c.beta,
            .a = a.memory.address(),
            .b = b.memory.address(),
            .c = c.beta == 0.0f ? 0 : cc.memory.address(),
            .d = d.memory.address(),
            .m = c.run_m,
            .bias = c.desc.epilogue.bias == Per::none ? 0 : bias.memory.address(),
            .d_factor = c.desc.epilogue.d_factor != Per::none && c.d_factor_value == 1.0f
                            ? d_factor.memory.address()
                            : 0,
            .amax = c.desc.epilogue.amax ? amax.memory.address() : 0,
            .d_factor_value = c.d_factor_value};
  }
  // Decodes A and B to numbers: rows of A and columns of B, each contiguous.
  void decode() {
    rows_of_a.clear();
    columns_of_b.clear();
    for (int64_t i = 0; i < c.desc.m; ++i)
      for (int64_t k = 0; k < c.desc.k; ++k) rows_of_a.push_back(a.value(i, k));
    for (int64_t j = 0; j < c.desc.n; ++j)
      for (int64_t k = 0; k < c.desc.k; ++k) columns_of_b.push_back(b.value(k, j));
  }
  Near before(int64_t i, int64_t j) {
    double sum = 0, magnitude = 0;
    const double* row = rows_of_a.data() + i * c.desc.k;
    const double* column = columns_of_b.data() + j * c.desc.k;
    for (int64_t k = 0; k < c.desc.k; ++k) {
      const double one = row[k] * column[k];
      sum += one;
      magnitude += std::fabs(one);
    }
    if (c.alpha == 0.0f) sum = magnitude = 0;
    double value = double(c.alpha) * sum;
    double size = std::fabs(double(c.alpha)) * magnitude;
    const auto add = [&](double term) {
      value += term;
      size += std::fabs(term);
    };
    if (c.beta != 0.0f) add(double(c.beta) * cc.value(i, j));
    if (c.desc.epilogue.bias == Per::row) add(bias.value(0, i));
    if (c.desc.epilogue.bias == Per::column) add(bias.value(0, j));
    return {value, size * 0x1p-20};
  }
  Near wanted(int64_t i, int64_t j) {
    const GemmEpilogue& e = c.desc.epilogue;
    const int64_t first = e.gate == Gate::interleaved ? 2 * j : j;
    const int64_t second = e.gate == Gate::interleaved ? 2 * j + 1 : j + c.desc.n / 2;
    Near out = activated(e.activation, before(i, first));
    if (e.gate != Gate::none) out = product(out, before(i, second));
    if (e.d_factor == Per::none) return out;
    const double factor = e.d_factor == Per::row      ? d_factor.value(0, i)
                          : e.d_factor == Per::column ? d_factor.value(0, j)
                          : c.d_factor_value != 1.0f  ? double(c.d_factor_value)
                                                      : d_factor.value(0, 0);
    return product(out, {factor, 0});
  }
  // Checks D's errors, the memory around it, and that amax is exactly the largest |D|.
  void look(Distances::Sums* sums) {
    decode();
    d.memory.read();
    amax.memory.read();
    CHECK(d.memory.guards_intact());
    CHECK(d.padding_intact());
    const double unit = half_unit(c.desc.d_dtype), least = least_half_unit(c.desc.d_dtype);
    int64_t wrong = 0;
    double largest = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < d_columns(); ++j) {
        const Near near = wanted(i, j);
        const double got = d.value(i, j);
        largest = std::max(largest, std::fabs(got));
        sums->add(got, near.value);
        const double bound = near.error + (std::fabs(near.value) + near.error) * unit + least;
        if (!(std::fabs(got - near.value) <= bound) && wrong++ == 0) {
          INFO("first wrong element " << i << ", " << j << ": " << got << ", wanted " << near.value
                                      << " within " << bound);
          CHECK(std::fabs(got - near.value) <= bound);
        }
      }
    CHECK(wrong == 0);
    CHECK(d.changed_from(m) == 0);
    if (c.desc.epilogue.amax) CHECK(amax.value(0, 0) == largest);
  }
};

void check_case(const std::shared_ptr<Device>& device, Stream& stream, std::mt19937_64& random,
                const Case& c, Distances* distances, const GemmChoice* forced = nullptr) {
  INFO(describe(c));
  Bench bench(device, stream, c);
  bench.fill(random);
  std::unique_ptr<Plan> plan;
  if (forced)
    TW_REQUIRE_OK(GemmPlan::create_forced(device, c.desc, *forced, &plan));
  else
    TW_REQUIRE_OK(GemmPlan::create(device, c.desc, &plan));
  TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, bench.run()));
  TW_REQUIRE_OK(stream.synchronize());
  const GemmEpilogue& e = c.desc.epilogue;
  const std::string which = forced ? gemm_choice_text(*forced)
                                   : "function " + std::to_string(int(e.activation)) + ", gate " +
                                         std::to_string(int(e.gate));
  bench.look(&distances->of(which, c.desc.d_dtype));
}

// Varies each option with its own period, so that the options meet in many combinations.
void options(int number, Case* c) {
  GemmEpilogue& e = c->desc.epilogue;
  constexpr Per kBias[] = {Per::column, Per::none, Per::row};
  constexpr Per kDFactor[] = {Per::none, Per::tensor, Per::row, Per::column};
  e.bias = kBias[number % 3];
  if (e.bias != Per::none && number % 2) e.bias_dtype = DType::F32;
  e.activation = static_cast<Activation>(number % 5);
  e.gate = static_cast<Gate>(number / 5 % 3);
  e.d_factor = kDFactor[number % 4];
  e.amax = number % 7 < 4;
  c->d_factor_value = e.d_factor == Per::tensor && number % 8 == 1 ? 0.375f : 1.0f;
  c->alpha = number % 6 == 5 ? -1.5f : 1.0f;
  c->beta = number % 4 == 2 ? 0.75f : 0.0f;
  if (!e.any()) e.amax = true;
  if (e.gate != Gate::none) c->desc.n += c->desc.n % 2;
}

void orders(int number, Case* c) {
  c->desc.a_order = static_cast<Order>(number & 1);
  c->desc.b_order = static_cast<Order>(number >> 1 & 1);
  c->desc.d_order = static_cast<Order>(number >> 2 & 1);
}

// Sets leading dimensions that are multiples of `step`, `more` steps above the packed ones.
void pitches(int64_t step, int more, Case* c) {
  GemmDesc& d = c->desc;
  const auto pitch = [&](int64_t least) { return (least + step - 1) / step * step + more * step; };
  const int64_t d_columns = d.epilogue.gate == Gate::none ? d.n : d.n / 2;
  d.lda = pitch(d.a_order == Order::row ? d.k : d.m);
  d.ldb = pitch(d.b_order == Order::row ? d.n : d.k);
  d.ldc = pitch(d.d_order == Order::row ? d.n : d.m);
  d.ldd = pitch(d.d_order == Order::row ? d_columns : d.m);
}

}  // namespace

TEST_CASE("gemm epilogue: every option, type and order") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(11);
  Distances distances;
  int number = 0;
  for (const auto& [in, out] : kGemmTypes)
    for (int order = 0; order < 8; ++order)
      for (int i = 0; i < 15; ++i, ++number) {
        Case c;
        c.desc.a_dtype = in;
        c.desc.d_dtype = out;
        orders(order, &c);
        c.desc.m = 1 + number * 7 % 45;
        c.desc.n = 2 + number * 29 % 151;
        c.desc.k = number % 9 * 16;
        options(number, &c);
        pitches(number % 4 == 3 ? 1 : 8, number % 3, &c);
        check_case(device, *stream, random, c, &distances);
      }
  distances.check();
}

TEST_CASE("gemm epilogue: sizes past a tile, addresses of any alignment, runs of fewer rows") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(12);
  Distances distances;
  for (int i = 0; i < 48; ++i) {
    Case c;
    const auto& types = kGemmTypes[pick(random, 0, 3)];
    c.desc.a_dtype = types.first;
    c.desc.d_dtype = types.second;
    orders(static_cast<int>(pick(random, 0, 7)), &c);
    c.desc.m = pick(random, 1, 200);
    c.desc.n = pick(random, 2, 300);
    c.desc.k = pick(random, 1, 130);
    options(static_cast<int>(pick(random, 0, 419)), &c);
    pitches(pick(random, 0, 2) ? 8 : 1, static_cast<int>(pick(random, 0, 2)), &c);
    c.offset = pick(random, 0, 2) ? 0 : 1;
    c.vector_offset = pick(random, 0, 1) ? 0 : 1;
    if (pick(random, 0, 3) == 0) c.run_m = pick(random, 0, c.desc.m);
    check_case(device, *stream, random, c, &distances);
  }
  distances.check();
}

TEST_CASE("gemm epilogue: the plan's own choices around large tiles") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(13);
  Distances distances;
  for (int gate = 0; gate < 3; ++gate) {
    Case c;
    c.desc.m = 264;
    c.desc.n = 520;
    c.desc.k = 72;
    c.desc.b_order = Order::column;
    c.desc.epilogue.activation = Activation::silu;
    c.desc.epilogue.gate = static_cast<Gate>(gate);
    c.desc.epilogue.bias = Per::column;
    c.desc.epilogue.amax = true;
    check_case(device, *stream, random, c, &distances);
  }
  distances.check();
}

// Forces each epilogue kernel, or each one that takes clusters in every shape of them and with
// tiles of several widths.
static void check_forced(const std::shared_ptr<Device>& device, bool in_clusters, uint64_t seed) {
  const auto stream = new_stream(device);
  std::mt19937_64 random(seed);
  Distances distances;
  int number = 0, served = 0;
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if (!(entry.variant & kGemmEpilogue) || !(entry.feature & device->info().kernel_features))
      continue;
    if (entry.variant & (kGemmBatched | kGemmNarrow)) continue;  // no epilogue, or other types
    if (in_clusters && !GemmChoice{&entry, 1}.takes_any_cluster()) continue;
    for (uint32_t split = 1; split <= ((entry.variant & kGemmSplit) ? 8u : 1u);
         split += split == 1 ? 2 : 5) {
      const bool host = entry.feature == feature::host;
      for (int i = 0; i < (host ? 60 : 8); ++i, ++number) {
        GemmChoice choice{&entry, split};
        if (in_clusters) {
          std::copy_n(kGemmClusterShapes[i % std::size(kGemmClusterShapes)], 2,
                      choice.cluster_shape);
          choice.width = number % 3 == 0 ? 96 : 0;
        }
        INFO(gemm_choice_text(choice));
        Case c;
        const auto& types = kGemmTypes[number % 4];
        c.desc.a_dtype = host ? types.first : entry.dtypes[0];
        c.desc.d_dtype = host ? types.second : entry.dtypes[1];
        const bool turned = (entry.variant & kGemmSwapAB) != 0;
        bool a_column = (entry.variant & kGemmColumnA) != 0;
        bool b_column = (entry.variant & kGemmColumnB) != 0;
        if (turned) {
          std::swap(a_column, b_column);
          a_column = !a_column;
          b_column = !b_column;
        }
        orders(host || (entry.variant & kGemmNoMaps) ? number : a_column + 2 * b_column, &c);
        // Extents around the tile of a block or of a cluster.
        const int64_t rows = int64_t{entry.tile[0]} * choice.cluster_m();
        const int64_t columns = int64_t{entry.tile[1]} * choice.cluster_n();
        c.desc.m = 1 + number * 37 % ((turned ? columns : rows) * 5 / 4);
        c.desc.n = 2 + number * 59 % ((turned ? rows : columns) * 5 / 4);
        c.desc.k = 64 * static_cast<int64_t>(split) + 8 * (number % 17);
        // In every second case the TMA can store D, even with a gate.
        const bool whole = number % 2 == 1;
        if (whole) c.desc.n = (c.desc.n + 15) / 16 * 16;
        options(number * 11 + i, &c);
        pitches(entry.variant & kGemmNoMaps ? 1 : 8, number % 3, &c);
        if (number % 3 == 0) (whole ? c.desc.ldc : c.desc.ldd) += 1;
        c.vector_offset = number % 2;
        GemmProblem problem;
        TW_REQUIRE_OK(gemm_problem(c.desc, &problem));
        if (!check_gemm_choice(*device, problem, choice).ok()) {
          CHECK(c.desc.epilogue.gate != Gate::none);  // only gates are not in all of these kernels
          continue;
        }
        check_case(device, *stream, random, c, &distances, &choice);
        ++served;
      }
    }
  }
  MESSAGE(served << " of " << number << " cases");
  if (number == 0 && in_clusters) return;  // the host device has no clusters
  CHECK(served > number / 2);
  distances.check();
}

TEST_CASE("gemm epilogue: every full row, forced") {
  const auto device = open_test_device();
  if (device) check_forced(device, false, 14);
}

TEST_CASE("gemm epilogue: every full row in clusters, forced") {
  const auto device = open_test_device();
  if (device) check_forced(device, true, 15);
}

TEST_CASE("gemm epilogue: amax accumulates over runs, and NaN is the largest") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(15);
  Case c;
  c.desc.m = 20;
  c.desc.n = 24;
  c.desc.k = 16;
  c.desc.epilogue.amax = true;
  Bench bench(device, *stream, c);
  bench.fill(random);
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create(device, c.desc, &plan));
  const auto after_run = [&] {
    TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(*stream, bench.run()));
    TW_REQUIRE_OK(stream->synchronize());
    bench.amax.memory.read();
    return bench.amax.value(0, 0);
  };
  encode_element(bench.amax.at(0, 0), DType::F32, 1000.0f);
  bench.amax.memory.upload();
  CHECK(after_run() == 1000.0);
  encode_element(bench.amax.at(0, 0), DType::F32, 0.0f);
  bench.amax.memory.upload();
  const double largest = after_run();
  CHECK(largest > 0);
  CHECK(largest < 100);
  encode_element(bench.a.at(3, 5), DType::BF16, NAN);
  bench.a.memory.upload();
  CHECK(std::isnan(after_run()));
}

// Whether D is what an infinite or NaN bias implies, whatever the accumulators.
bool passes(double bias, Activation which, double got) {
  if (std::isnan(bias)) return std::isnan(got);
  return got == (bias > 0 || which == Activation::identity ? bias : 0);
}

TEST_CASE("gemm epilogue: infinities and NaN through each activation, with each kernel") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(16);
  const double said[] = {-INFINITY, INFINITY, NAN};
  int served = 0;
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if ((entry.variant & (kGemmEpilogue | kGemmBatched | kGemmNarrow)) != kGemmEpilogue) continue;
    if (!(entry.feature & device->info().kernel_features)) continue;
    for (const Activation which : {Activation::identity, Activation::relu, Activation::gelu,
                                   Activation::gelu_tanh, Activation::silu}) {
      Case c;
      const bool host = entry.feature == feature::host;
      c.desc.a_dtype = host ? DType::BF16 : entry.dtypes[0];
      c.desc.d_dtype = host ? DType::F32 : entry.dtypes[1];
      c.desc.b_order = Order::column;
      c.desc.m = 130, c.desc.n = 336, c.desc.k = 64;
      c.desc.epilogue = {.bias = Per::column, .activation = which};
      c.alpha = -1.5f;
      const GemmChoice choice{&entry, 1};
      GemmProblem problem;
      TW_REQUIRE_OK(gemm_problem(c.desc, &problem));
      if (!check_gemm_choice(*device, problem, choice).ok()) continue;
      INFO(gemm_choice_text(choice) << ", function " << int(which));
      Bench bench(device, *stream, c);
      bench.fill(random);
      for (int64_t j = 0; j < c.desc.n; ++j)
        encode_element(bench.bias.at(0, j), bench.bias_type(), static_cast<float>(said[j % 3]));
      bench.bias.memory.upload();
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(GemmPlan::create_forced(device, c.desc, choice, &plan));
      TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(*stream, bench.run()));
      TW_REQUIRE_OK(stream->synchronize());
      bench.d.memory.read();
      int64_t wrong = 0;
      for (int64_t i = 0; i < c.desc.m * c.desc.n; ++i)
        wrong += !passes(said[i % 3], which, bench.d.value(i / c.desc.n, i % c.desc.n));
      CHECK(wrong == 0);
      ++served;
    }
  }
  CHECK(served >= 5);
}
