// SPDX-License-Identifier: Apache-2.0
// Sequences of GEMMs: dependent launches (PDL) that reuse memory, also captured, with the plan's
// choice and with each kernel forced; invariant plans, whose bits do not depend on m; a decode step
// in a graph.
#include <algorithm>
#include <array>
#include <set>

#include "ops/rows/rows.hpp"
#include "tests/device/common/replay.hpp"
#include "tests/device/gemm/gemm_batch.hpp"
#include "tests/device/gemm/gemm_choices.hpp"

using namespace tw;
using namespace tw::test;

namespace {

const GemmPlan& gemm(const std::unique_ptr<Plan>& plan) {
  return static_cast<const GemmPlan&>(*plan);
}

using Numbers = std::vector<int>;

// bf16 numbers in device memory.
struct Values {
  Guarded memory;
  Values(const std::shared_ptr<Device>& device, Stream& stream, int64_t count)
      : memory(device, stream, static_cast<uint64_t>(count) * 2) {}
  void set(const Numbers& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i)
      encode_element(memory.data() + 2 * i, DType::BF16, static_cast<float>(numbers[i]));
    memory.upload();
  }
  Numbers get() {
    memory.read();
    Numbers out(memory.bytes() / 2);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<int>(decode_element(memory.data() + 2 * i, DType::BF16));
    return out;
  }
  uint64_t address() const { return memory.address(); }
};

// A signed permutation matrix, so that the numbers never grow in a chain of products.
struct Shuffle {
  std::vector<size_t> to;
  Numbers sign;
  Shuffle(std::mt19937_64& random, size_t size) : to(size), sign(size) {
    for (size_t i = 0; i < size; ++i) to[i] = i;
    std::shuffle(to.begin(), to.end(), random);
    for (int& s : sign) s = pick(random, 0, 1) ? 1 : -1;
  }
  Numbers matrix(Order order = Order::row) const {
    const size_t size = to.size();
    Numbers out(size * size);
    for (size_t i = 0; i < size; ++i)
      out[order == Order::row ? i * size + to[i] : to[i] * size + i] = sign[i];
    return out;
  }
  // y = factor * x * matrix for the first `rows` rows.
  void apply(const Numbers& x, size_t rows, int factor, Numbers* y) const {
    const size_t size = to.size();
    for (size_t r = 0; r < rows; ++r)
      for (size_t i = 0; i < size; ++i) (*y)[r * size + to[i]] = x[r * size + i] * sign[i] * factor;
  }
};

GemmDesc square_desc(int64_t m, int64_t size, uint32_t flags) {
  GemmDesc desc;
  desc.m = m;
  desc.n = desc.k = size;
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  desc.flags = flags;
  return desc;
}

// Reference of three products X0 -> X1 -> X2 -> X0, repeated. The second product has `middle` rows;
// if that is 0, the third one reads X1, and the second only keeps its place in the chain.
struct Chain {
  static constexpr size_t kSize = 512;
  size_t m;
  std::vector<Shuffle> shuffles;
  std::array<Numbers, 3> x;

  Chain(std::mt19937_64& random, size_t rows) : m(rows) {
    for (int i = 0; i < 3; ++i) shuffles.emplace_back(random, kSize);
    for (Numbers& one : x) one.assign(m * kSize, 0);
    for (int& value : x[0]) value = static_cast<int>(pick(random, -100, 100));
  }
  void step(size_t middle) {
    shuffles[0].apply(x[0], m, 1, &x[1]);
    shuffles[1].apply(x[1], middle, 1, &x[2]);
    shuffles[2].apply(middle == 0 ? x[1] : x[2], m, 1, &x[0]);
  }
};

}  // namespace

TEST_CASE("gemm chain: three dependent launches reuse each other's memory") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(21);
  const bool host = device->info().kind == DeviceKind::host;
  constexpr auto kSize = static_cast<int64_t>(Chain::kSize);
  for (const int64_t m : {16, 200})
    for (const bool captured : {false, true})
      for (const bool empty : {false, true}) {
        INFO("m " << m << (captured ? ", captured" : "") << (empty ? ", an empty middle" : ""));
        Chain chain(random, static_cast<size_t>(m));
        std::vector<std::unique_ptr<Values>> x, w;
        for (int i = 0; i < 3; ++i) {
          x.push_back(std::make_unique<Values>(device, *stream, m * kSize));
          w.push_back(std::make_unique<Values>(device, *stream, kSize * kSize));
          x.back()->set(chain.x[static_cast<size_t>(i)]);
          w.back()->set(chain.shuffles[static_cast<size_t>(i)].matrix());
        }
        Guarded rows(device, *stream, 8);
        const int64_t middle = empty ? 0 : m;
        std::memcpy(rows.data(), &middle, 8);
        rows.upload();
        std::unique_ptr<Plan> plan, second;
        TW_REQUIRE_OK(GemmPlan::create(
            device, square_desc(m, kSize, kGemmProgrammatic | kGemmConstantB), &plan));
        TW_REQUIRE_OK(GemmPlan::create(
            device, square_desc(m, kSize, kGemmProgrammatic | kGemmConstantB | kGemmDeviceM),
            &second));
        const auto enqueue = [&](Stream& on) {
          for (int i = 0; i < 3; ++i) {
            const int from = i == 2 && empty ? 1 : i;
            GemmRun run{.a = x[static_cast<size_t>(from)]->address(),
                        .b = w[static_cast<size_t>(i)]->address(),
                        .d = x[static_cast<size_t>((i + 1) % 3)]->address()};
            if (i == 1) run.device_m = rows.address();
            TW_REQUIRE_OK(gemm(i == 1 ? second : plan).run(on, run));
          }
        };
        const int rounds = host ? 2 : 40;
        if (captured) {
          Replay replay(device, [&](Stream& on) {
            for (int i = 0; i < rounds; ++i) enqueue(on);
          });
          replay();
        } else {
          for (int i = 0; i < rounds; ++i) enqueue(*stream);
        }
        for (int i = 0; i < rounds; ++i) chain.step(static_cast<size_t>(middle));
        CHECK(x[0]->get() == chain.x[0]);
        CHECK(x[1]->get() == chain.x[1]);
        if (!empty) CHECK(x[2]->get() == chain.x[2]);
        for (const auto& one : x) CHECK(one->memory.guards_intact());
      }
}

namespace {

// Every choice that supports the description; split-K kernels with split factors 2, 3 and 8.
std::vector<GemmChoice> choices_for(const Device& device, const GemmDesc& desc) {
  GemmProblem problem;
  TW_REQUIRE_OK(gemm_problem(desc, &problem));
  std::vector<GemmChoice> choices;
  for (const KernelEntry& entry : kernel_entries(Family::gemm))
    for (const uint32_t split : {1u, 2u, 3u, 8u}) {
      const GemmChoice choice{&entry, split};
      if ((split > 1) != choice.has(kGemmSplit) || choice.cluster() > kMaxCluster) continue;
      const GemmProblem seen = gemm_kernel_view(choice, problem);
      if (gemm_misfit(device, seen, choice) == GemmMisfit::none && gemm_fits_launch(choice, seen))
        choices.push_back(choice);
    }
  return choices;
}

}  // namespace

// A round of four launches with forced kernels. Each writes what its predecessor reads or writes:
//   X1 = X0 W0       reads the result of the last round's third launch
//   X2 = X1 W1
//   X0 = -X2         alpha = 0, so that no load delays reads and writes; another kernel computes it
//                    if this one cannot add C
//   X2 = Q W2        A and B are constant, so that all loads may precede the reads of X2
TEST_CASE("gemm chain: each kernel, as a dependent launch, waits for its predecessor") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(24);
  const bool host = device->info().kind == DeviceKind::host;
  const int rounds = host ? 1 : 10;
  const char* every = std::getenv("TW_EVERY");
  const size_t step = every ? static_cast<size_t>(std::max(1, std::atoi(every))) : 1;
  // With B column-major, test only schedules that do not exist for B row-major.
  std::set<uint32_t> schedules;
  std::set<uint32_t> before;
  bool few = true;
  // Kernels for a short k get a k of 64.
  constexpr std::pair<Order, size_t> kProducts[] = {
      {Order::row, Chain::kSize},    {Order::row, Chain::kSize}, {Order::column, Chain::kSize},
      {Order::column, Chain::kSize}, {Order::column, 64},        {Order::column, 64}};
  for (const auto& product : kProducts) {
    const Order b_order = product.first;
    const size_t size = product.second;
    const auto kSize = static_cast<int64_t>(size);
    const int64_t m = few ? 16 : 200;
    const auto rows = static_cast<size_t>(m);
    if (few) before = schedules;
    few = !few;
    std::vector<Shuffle> shuffles;
    std::vector<std::unique_ptr<Values>> x, w;
    for (int i = 0; i < 4; ++i) {  // the last x is Q
      x.push_back(std::make_unique<Values>(device, *stream, m * kSize));
      if (i == 3) break;
      shuffles.emplace_back(random, size);
      w.push_back(std::make_unique<Values>(device, *stream, kSize * kSize));
      w.back()->set(shuffles.back().matrix(b_order));
    }
    GemmDesc one = square_desc(m, kSize, kGemmProgrammatic | kGemmConstantB);
    one.b_order = b_order;
    GemmDesc both = one;
    both.flags |= kGemmConstantA;
    const std::vector<GemmChoice> choices = choices_for(*device, one);
    for (size_t at = 0; at < choices.size(); at += step) {
      // A random other kernel before and after it combines different grids and clusters.
      if (size != Chain::kSize && !choices[at].has(kGemmShort)) continue;
      GemmChoice other;
      do other = choices[static_cast<size_t>(pick(random, 0, int64_t(choices.size()) - 1))];
      while (does_product_alone(other));
      INFO("m " << m << ": " << gemm_choice_text(choices[at]) << " and "
                << gemm_choice_text(other));
      const uint32_t schedule = choices[at].entry->variant & ~(kGemmColumnA | kGemmColumnB);
      if (b_order == Order::column && before.count(schedule) == 1) continue;
      schedules.insert(schedule);
      std::unique_ptr<Plan> mine, second, constant;
      TW_REQUIRE_OK(GemmPlan::create_forced(device, one, choices[at], &mine));
      TW_REQUIRE_OK(GemmPlan::create_forced(device, one, other, &second));
      TW_REQUIRE_OK(GemmPlan::create_forced(device, both, choices[at], &constant));
      const auto& negating = does_product_alone(choices[at]) ? second : mine;
      const auto enqueue = [&](Stream& on) {
        for (int i = 0; i < rounds; ++i) {
          TW_REQUIRE_OK(gemm(mine).run(
              on, {.a = x[0]->address(), .b = w[0]->address(), .d = x[1]->address()}));
          TW_REQUIRE_OK(gemm(second).run(
              on, {.a = x[1]->address(), .b = w[1]->address(), .d = x[2]->address()}));
          GemmRun negate{.alpha = 0.0f, .beta = -1.0f, .a = x[0]->address(), .b = w[0]->address()};
          negate.c = x[2]->address();
          negate.d = x[0]->address();
          TW_REQUIRE_OK(gemm(negating).run(on, negate));
          TW_REQUIRE_OK(gemm(constant).run(
              on, {.a = x[3]->address(), .b = w[2]->address(), .d = x[2]->address()}));
        }
      };
      for (const bool captured : {false, true}) {
        if (host && captured) continue;
        INFO((captured ? "captured" : "in a stream"));
        std::array<Numbers, 4> expected;
        for (Numbers& numbers : expected) {
          numbers.resize(rows * size);
          for (int& value : numbers) value = static_cast<int>(pick(random, -100, 100));
        }
        for (size_t i = 0; i < 4; ++i) x[i]->set(expected[i]);
        if (captured)
          Replay(device, enqueue)();
        else
          enqueue(*stream);
        for (int i = 0; i < rounds; ++i) {
          shuffles[0].apply(expected[0], rows, 1, &expected[1]);
          shuffles[1].apply(expected[1], rows, 1, &expected[2]);
          for (size_t e = 0; e < expected[0].size(); ++e) expected[0][e] = -expected[2][e];
          shuffles[2].apply(expected[3], rows, 1, &expected[2]);
        }
        for (size_t i = 0; i < 4; ++i) {
          CHECK(x[i]->get() == expected[i]);
          CHECK(x[i]->memory.guards_intact());
        }
      }
    }
  }
  if (!host && step == 1)
    for (const uint32_t schedule :
         {kSchedule_coop, kSchedule_ping, kSchedule_split, kSchedule_swap, kSchedule_swapsplit,
          u32{kGemmNoMaps}, kGemmNoMaps | kGemmShort, kSchedule_plainsplit, kSchedule_full,
          kSchedule_fullping, kSchedule_fullsplit, kSchedule_fullswapsplit, kSchedule_fullstream,
          kSchedule_batch, kSchedule_batchping, kGemmNoMaps | kGemmEpilogue}) {
      INFO("schedule " << schedule);
      CHECK(((device->info().kernel_features & feature::wgmma) == 0 ||
             schedules.count(schedule) == 1));
    }
}

TEST_CASE("gemm: an invariant plan's rows have the same bits for every m") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(22);
  std::normal_distribution<float> normal;
  const bool host = device->info().kind == DeviceKind::host;
  constexpr int64_t kMost = 300, kPitch = 304;  // kPitch: of a column-major D
  struct Options {
    uint32_t flags;
    Order b_order, d_order;
    Activation activation;
  };
  for (const auto& size : {std::pair{576, 1536}, {264, 520}, {72, 4168}})
    for (const Options& options :
         {Options{kGemmInvariant, Order::column, Order::row, Activation::identity},
          {kGemmInvariant | kGemmProgrammatic, Order::column, Order::row, Activation::identity},
          {kGemmInvariant, Order::row, Order::row, Activation::gelu_tanh},
          {kGemmInvariant, Order::column, Order::column, Activation::gelu_tanh},
          {kGemmInvariant, Order::column, Order::row, Activation::silu}})
      for (const DType out : {DType::BF16, DType::F32}) {
        const int n = size.first, k = size.second;
        const bool whole = options.activation == Activation::identity;  // no epilogue
        const bool across = options.d_order == Order::column;
        GemmDesc desc = square_desc(kMost, 8, options.flags);
        desc.n = n, desc.k = k;
        desc.d_dtype = out;
        desc.b_order = options.b_order;
        desc.d_order = options.d_order, desc.ldd = across ? kPitch : 0;
        desc.epilogue.activation = options.activation;
        if (!whole && !across) {
          desc.epilogue.bias = Per::column;
          desc.epilogue.bias_dtype = DType::F32;
        }
        Guarded a(device, *stream, static_cast<uint64_t>(kMost * k) * 2);
        Guarded b(device, *stream, static_cast<uint64_t>(n * k) * 2);
        Guarded d(device, *stream, static_cast<uint64_t>(kPitch * n) * 4);
        Guarded bias(device, *stream, static_cast<uint64_t>(n) * 4);
        for (Guarded* operand : {&a, &b, &bias}) {
          const DType type = operand == &bias ? DType::F32 : DType::BF16;
          for (uint64_t i = 0; i < operand->bytes(); i += static_cast<uint64_t>(dtype_bytes(type)))
            encode_element(operand->data() + i, type, normal(random));
          operand->upload();
        }
        std::vector<uint8_t> all;
        const auto bytes = static_cast<uint64_t>(dtype_bytes(out));
        const uint64_t line = bytes * static_cast<uint64_t>(across ? kPitch : n);
        for (int64_t m :
             {kMost, int64_t{1}, int64_t{5}, int64_t{64}, int64_t{65}, int64_t{136}, int64_t{257}})
          for (const bool own_plan : {true, false}) {
            if (host && m > 5 && !own_plan) continue;
            INFO("n " << n << " k " << k << " m " << m << (own_plan ? ", a plan of its own" : ""));
            GemmDesc own = desc;
            own.m = own_plan ? m : kMost;
            std::unique_ptr<Plan> plan;
            TW_REQUIRE_OK(GemmPlan::create(device, own, &plan));
            const GemmRun run{.alpha = 0.07f,
                              .a = a.address(),
                              .b = b.address(),
                              .d = d.address(),
                              .m = m,
                              .bias = desc.epilogue.bias == Per::none ? 0 : bias.address()};
            TW_REQUIRE_OK(gemm(plan).run(*stream, run));
            d.read();
            if (all.empty()) all.assign(d.data(), d.data() + d.bytes());
            const uint64_t lines = static_cast<uint64_t>(across ? n : m);
            const uint64_t of_line = across ? bytes * static_cast<uint64_t>(m) : line;
            uint64_t equal = 0;
            while (equal < lines &&
                   !std::memcmp(&all[equal * line], d.data() + equal * line, of_line))
              ++equal;
            CHECK(equal == lines);
          }
      }
}

// Gathers embeddings of tokens, runs six GEMMs with epilogues, and scatters the result. Between
// replays of one graph these change: the number of tokens, the tokens, the address of a GEMM's
// weights, alpha, beta and a scale.
TEST_CASE("gemm chain: a decode step, captured once") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(23);
  const bool host = device->info().kind == DeviceKind::host;
  constexpr int64_t kSize = 256, kWords = 1000, kMost = 16, kPlaces = 64;
  constexpr int kProducts = 6, kFactor = 1, kByAddress = 3, kResidual = 5, kWeights = 3;
  constexpr bool kRelu[] = {true, false, true, true, false, false};
  constexpr bool kBiased[] = {true, false, false, false, true, false};
  constexpr auto kWidth = static_cast<size_t>(kSize);

  Numbers words(kWords * kSize);
  for (int& value : words) value = static_cast<int>(pick(random, -3, 3));
  Values table(device, *stream, kWords * kSize), places(device, *stream, kPlaces * kSize);
  table.set(words);
  std::vector<std::unique_ptr<Values>> x, w;
  std::vector<Shuffle> shuffles;
  for (int i = 0; i <= kProducts; ++i)
    x.push_back(std::make_unique<Values>(device, *stream, kMost * kSize));
  for (int i = 0; i < kProducts + kWeights;
       ++i) {  // the last kWeights are alternatives for product kByAddress
    shuffles.emplace_back(random, kWidth);
    w.push_back(std::make_unique<Values>(device, *stream, kSize * kSize));
    w.back()->set(shuffles.back().matrix());
  }
  Guarded token(device, *stream, kMost * 8), place(device, *stream, kMost * 8);
  Guarded rows(device, *stream, 8), pointers(device, *stream, 3 * 8);
  Guarded factors(device, *stream, 3 * 4);  // alpha, scale and beta

  RowsDesc lookup;
  lookup.dtype = DType::BF16;
  lookup.index_dtype = DType::I64;
  lookup.table_rows = kWords;
  lookup.columns = kSize;
  lookup.count = kMost;
  RowsDesc spread = lookup;
  spread.table_rows = kPlaces;
  std::unique_ptr<Plan> gather, scatter;
  TW_REQUIRE_OK(RowsPlan::create(device, Op::gather, lookup, &gather));
  TW_REQUIRE_OK(RowsPlan::create(device, Op::scatter, spread, &scatter));
  REQUIRE(scatter->info().workspace_bytes == 0);
  const uint32_t common = kGemmProgrammatic | kGemmDeviceM | kGemmDeviceScalars;
  std::vector<std::unique_ptr<Plan>> plans(kProducts);
  for (int i = 0; i < kProducts; ++i) {
    GemmDesc desc = square_desc(
        kMost, kSize, common | (i == kByAddress ? uint32_t{kGemmPointers} : kGemmConstantB));
    if (kRelu[i]) desc.epilogue.activation = Activation::relu;
    if (kBiased[i]) desc.epilogue.bias = Per::column;
    if (i == kFactor) desc.epilogue.d_factor = Per::tensor;
    TW_REQUIRE_OK(GemmPlan::create(device, desc, &plans[static_cast<size_t>(i)]));
  }
  Guarded workspace(device, *stream, plans[kByAddress]->info().workspace_bytes);
  Numbers bias(kWidth);
  for (int& value : bias) value = static_cast<int>(pick(random, -4, 4));
  Values bias_row(device, *stream, kSize);
  bias_row.set(bias);

  Replay replay(device, [&](Stream& on) {
    RowsRun in{.table = table.address(), .index = token.address(), .packed = x[0]->address()};
    in.device_count = rows.address();
    TW_REQUIRE_OK(static_cast<const RowsPlan&>(*gather).run(on, in));
    for (int i = 0; i < kProducts; ++i) {
      GemmRun run{.a = x[static_cast<size_t>(i)]->address(),
                  .b = w[static_cast<size_t>(i)]->address(),
                  .d = x[static_cast<size_t>(i) + 1]->address(),
                  .device_m = rows.address()};
      if (i == kFactor) {
        run.device_alpha = factors.address();
        run.d_factor = factors.address() + 4;
      }
      if (i == kResidual) {
        run.c = x[0]->address();
        run.device_beta = factors.address() + 8;
      }
      if (kBiased[i]) run.bias = bias_row.address();
      if (i == kByAddress) {
        run.a = pointers.address();
        run.b = pointers.address() + 8;
        run.d = pointers.address() + 16;
        run.workspace = workspace.address();
        run.workspace_bytes = workspace.bytes();
      }
      TW_REQUIRE_OK(gemm(plans[static_cast<size_t>(i)]).run(on, run));
    }
    RowsRun out{
        .table = places.address(), .index = place.address(), .packed = x[kProducts]->address()};
    out.device_count = rows.address();
    TW_REQUIRE_OK(static_cast<const RowsPlan&>(*scatter).run(on, out));
  });

  Numbers expected(kPlaces * kSize);
  places.set(expected);
  for (int step = 0; step < (host ? 6 : 1000); ++step) {
    const int64_t m = step == 0 ? kMost : step == 1 ? 0 : pick(random, 0, kMost);
    const int alpha = pick(random, 0, 1) ? 2 : -1, scale = static_cast<int>(pick(random, -2, 2));
    const int beta = static_cast<int>(pick(random, -1, 1));
    const float now_known[] = {float(alpha), float(scale), float(beta)};
    const auto chosen = static_cast<size_t>(kProducts + pick(random, 0, kWeights - 1));
    std::vector<int64_t> tokens(kMost), where(kPlaces);
    for (int64_t& one : tokens) one = pick(random, 0, kWords - 1);
    for (size_t i = 0; i < where.size(); ++i) where[i] = static_cast<int64_t>(i);
    std::shuffle(where.begin(), where.end(), random);
    const uint64_t named[] = {x[kByAddress]->address(), w[chosen]->address(),
                              x[kByAddress + 1]->address()};
    std::memcpy(token.data(), tokens.data(), kMost * 8);
    std::memcpy(place.data(), where.data(), kMost * 8);
    std::memcpy(rows.data(), &m, 8);
    std::memcpy(factors.data(), now_known, sizeof now_known);
    std::memcpy(pointers.data(), named, sizeof named);
    for (Guarded* one : {&token, &place, &rows, &factors, &pointers}) one->upload();
    replay();

    const auto count = static_cast<size_t>(m);
    Numbers now(kMost * kSize), next(kMost * kSize);
    for (size_t i = 0; i < count; ++i)
      std::copy_n(&words[static_cast<size_t>(tokens[i]) * kWidth], kWidth, &now[i * kWidth]);
    const Numbers gathered = now;
    for (size_t i = 0; i < kProducts; ++i) {
      shuffles[i == kByAddress ? chosen : i].apply(now, count, i == kFactor ? alpha * scale : 1,
                                                   &next);
      for (size_t at = 0; at < count * kWidth; ++at) {
        if (i == kResidual) next[at] += beta * gathered[at];
        if (kBiased[i]) next[at] += bias[at % kWidth];
        if (kRelu[i]) next[at] = std::max(next[at], 0);
      }
      std::swap(now, next);
    }
    for (size_t i = 0; i < count; ++i)
      std::copy_n(&now[i * kWidth], kWidth, &expected[static_cast<size_t>(where[i]) * kWidth]);
    REQUIRE(places.get() == expected);
  }
}
