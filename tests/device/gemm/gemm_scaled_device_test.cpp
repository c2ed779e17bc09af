// SPDX-License-Identifier: Apache-2.0
// Compares scaled GEMMs of narrow types with float64: every pair of types, type of D, kind and
// order of scales, odd sizes and pitches, guard bytes, epilogues, batches, values in device memory,
// and an 8-bit D with scales. Each case runs with the plan's choice and with every candidate
// forced.
#include "tests/device/common/counts.hpp"
#include "tests/device/gemm/gemm_scaled_operands.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr std::pair<DType, DType> kPairs[] = {{DType::F8E4M3, DType::F8E4M3},
                                              {DType::F8E4M3, DType::F8E5M2},
                                              {DType::F8E5M2, DType::F8E4M3},
                                              {DType::I8, DType::I8},
                                              {DType::TF32, DType::TF32}};
constexpr std::pair<ScaleKind, ScaleKind> kScales[] = {{ScaleKind::none, ScaleKind::none},
                                                       {ScaleKind::tensor, ScaleKind::tensor},
                                                       {ScaleKind::row, ScaleKind::row},
                                                       {ScaleKind::row128, ScaleKind::block128},
                                                       {ScaleKind::row128, ScaleKind::row128}};

// Types of D for a pair, except i32, which allows no options.
DType d_type(DType in, int number) {
  constexpr DType kFloats[] = {DType::BF16, DType::F32, DType::F16, DType::F8E4M3, DType::F8E5M2};
  constexpr DType kIntegers[] = {DType::BF16, DType::F32, DType::F16, DType::I8};
  return in == DType::I8 ? kIntegers[number % 4] : kFloats[number % 5];
}

ScaledCase case_of(const std::pair<DType, DType>& pair, int number) {
  ScaledCase c;
  c.desc.a_dtype = pair.first;
  c.desc.b_dtype = pair.second;
  c.desc.d_dtype = d_type(pair.first, number);
  return c;
}

class Lab {
 public:
  Lab() : device_(open_test_device()) {
    if (device_) stream_ = new_stream(device_);
  }
  explicit operator bool() const { return device_ != nullptr; }

  void check(std::mt19937_64& random, const ScaledCase& c) {
    if (cases_++ % case_step() != 0) return;
    INFO(describe(c));
    ScaledOperands operands(device_, *stream_, c);
    operands.fill(random);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create(device_, c.desc, &plan));
    const std::string own = plan->info().kernel;
    if (is_chosen_kernel(own)) run(operands, *plan);
    std::vector<GemmRange> candidates;
    TW_REQUIRE_OK(gemm_candidates(*device_, c.desc, &candidates));
    for (const GemmRange& range : candidates) {
      const GemmChoice& choice = range.candidate.choice;
      if (own == choice.entry->symbol && !choice.divides_k_among_ctas()) continue;
      if (!is_chosen_kernel(choice.entry->symbol)) continue;
      INFO(gemm_choice_text(choice));
      std::unique_ptr<Plan> forced;
      TW_REQUIRE_OK(GemmPlan::create_forced(device_, c.desc, choice, &forced));
      run(operands, *forced);
    }
  }
  // Runs every candidate repeatedly: the first result is within the bound, the others are equal.
  void repeat(std::mt19937_64& random, const ScaledCase& c, int runs) {
    INFO(describe(c));
    ScaledOperands operands(device_, *stream_, c);
    operands.fill(random);
    std::vector<GemmRange> candidates;
    TW_REQUIRE_OK(gemm_candidates(*device_, c.desc, &candidates));
    for (const GemmRange& range : candidates) {
      INFO(gemm_choice_text(range.candidate.choice));
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(GemmPlan::create_forced(device_, c.desc, range.candidate.choice, &plan));
      Guarded workspace(device_, *stream_, plan->info().workspace_bytes);
      start(operands, *plan, workspace);
      operands.check_result();
      const std::vector<uint8_t> first = operands.result();
      int different = 0;
      for (int i = 1; i < runs && different == 0; ++i) {
        start(operands, *plan, workspace);
        different += operands.result() != first;
      }
      CHECK(different == 0);
    }
  }

 private:
  void run(ScaledOperands& operands, const Plan& plan) {
    Guarded workspace(device_, *stream_, plan.info().workspace_bytes);
    start(operands, plan, workspace);
    operands.check_result();
    workspace.read();
    CHECK(workspace.guards_intact());
  }
  void start(ScaledOperands& operands, const Plan& plan, const Guarded& workspace) {
    operands.clear();
    GemmRun run = operands.run();
    if (workspace.bytes() != 0) {
      run.workspace = workspace.address();
      run.workspace_bytes = workspace.bytes();
    }
    Predecessor before(device_, *stream_);
    if (operands.c.behind) {
      operands.add_memory(&before);
      before.add(workspace.address(), workspace.bytes());
      before.launch();
    }
    TW_REQUIRE_OK(static_cast<const GemmPlan&>(plan).run(*stream_, run));
    TW_REQUIRE_OK(stream_->synchronize());
  }
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  int cases_ = 0;
};

void scales(int number, int orders, ScaledCase* c) {
  c->desc.a_scaling = {.kind = kScales[number].first};
  c->desc.b_scaling = {.kind = kScales[number].second};
  if (number < 3) return;
  GemmDesc& d = c->desc;
  d.a_scaling.order = static_cast<Order>(orders & 1);
  d.b_scaling.order = static_cast<Order>(orders >> 1 & 1);
}

// Sets leading dimensions of the scales with `more` unused scales per line.
void scale_pitches(int64_t more, ScaledCase* c) {
  GemmDesc& d = c->desc;
  if (d.a_scaling.kind < ScaleKind::row128 || more == 0) return;
  const GemmScaleExtent a = gemm_a_scales(d, d.m), b = gemm_b_scales(d);
  d.a_scaling.leading = (d.a_scaling.order == Order::row ? a.columns : a.rows) + more;
  d.b_scaling.leading = (d.b_scaling.order == Order::row ? b.columns : b.rows) + more;
}

void orders(int number, ScaledCase* c) {
  c->desc.a_order = static_cast<Order>(number & 1);
  c->desc.b_order = static_cast<Order>(number >> 1 & 1);
  c->desc.d_order = static_cast<Order>(number >> 2 & 1);
}

// Operands that fast kernels need: K-major, with 16-byte alignment.
void k_major(ScaledCase* c) {
  c->desc.a_order = Order::row;
  c->desc.b_order = Order::column;
  c->desc.a_alignment = c->desc.b_alignment = 16;
}

// Sets leading dimensions that are multiples of `step`, `more` steps above the packed ones.
void pitches(int64_t step, int64_t more, ScaledCase* c) {
  GemmDesc& d = c->desc;
  const auto pitch = [&](int64_t least) { return (least + step - 1) / step * step + more * step; };
  const int64_t d_columns = d.epilogue.gate == Gate::none ? d.n : d.n / 2;
  d.lda = pitch(d.a_order == Order::row ? d.k : d.m);
  d.ldb = pitch(d.b_order == Order::row ? d.n : d.k);
  d.ldc = pitch(d.d_order == Order::row ? d.n : d.m);
  d.ldd = pitch(d.d_order == Order::row ? d_columns : d.m);
}

// Varies each option with its own period, so that the options meet in many combinations.
void options(int number, ScaledCase* c) {
  GemmEpilogue& e = c->desc.epilogue;
  constexpr Per kBias[] = {Per::column, Per::none, Per::row};
  constexpr Per kDFactor[] = {Per::none, Per::tensor, Per::row, Per::column};
  constexpr DType kBiasTypes[] = {DType{}, DType::BF16, DType::F16, DType::F32};
  e.bias = kBias[number % 3];
  if (e.bias != Per::none) e.bias_dtype = kBiasTypes[number / 3 % 4];
  e.activation = static_cast<Activation>(number % 5);
  e.gate = static_cast<Gate>(number / 5 % 3);
  e.d_factor = kDFactor[number % 4];
  e.amax = number % 7 < 4;
  c->d_factor_value = e.d_factor == Per::tensor && number % 8 == 1 ? 0.375f : 1.0f;
  c->alpha = number % 6 == 5 ? -1.5f : 1.0f;
  c->beta = number % 4 == 2 ? 0.75f : 0.0f;
  if (e.gate != Gate::none) c->desc.n += c->desc.n % 2;
}

ScaledCase random_case(std::mt19937_64& random, const std::pair<DType, DType>& pair) {
  ScaledCase c;
  c.desc.a_dtype = pair.first;
  c.desc.b_dtype = pair.second;
  c.desc.d_dtype = d_type(pair.first, static_cast<int>(pick(random, 0, 99)));
  orders(static_cast<int>(pick(random, 0, 7)), &c);
  const bool fast_layout = pick(random, 0, 1) == 0;
  if (fast_layout) k_major(&c);
  c.desc.m = pick(random, 1, 140);
  c.desc.n = pick(random, 1, 280);
  c.desc.k = pick(random, 0, 400);
  scales(static_cast<int>(pick(random, 0, 4)), static_cast<int>(pick(random, 0, 3)), &c);
  if (pick(random, 0, 1)) options(static_cast<int>(pick(random, 0, 419)), &c);
  scale_pitches(pick(random, 0, 2), &c);
  pitches(fast_layout ? 16 : 1, pick(random, 0, 2), &c);
  c.offset = fast_layout ? 0 : static_cast<uint64_t>(pick(random, 0, 2));
  if (is_f8(pair.first) && c.desc.a_scaling.kind < ScaleKind::row128)
    c.desc.fast_accumulate = pick(random, 0, 3) == 0;
  if (pick(random, 0, 3) == 0) c.run_m = pick(random, 0, c.desc.m);
  return c;
}

}  // namespace

TEST_CASE("gemm scaled: a few of each type and form of scales") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(1);
  int number = 0;
  for (const auto& pair : kPairs)
    for (int form = 0; form < 5; ++form, ++number) {
      ScaledCase c = case_of(pair, number);
      if (number % 2) k_major(&c);
      c.desc.m = 5 + number;
      c.desc.n = 20 + number * 5;
      c.desc.k = 144 + number * 2;
      scales(form, number % 4, &c);
      scale_pitches(number % 3, &c);
      pitches(number % 2 ? 16 : 1, 1, &c);
      lab.check(random, c);
    }
}

TEST_CASE("gemm scaled: every form and order of scales, around blocks of 128") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(2);
  int number = 0;
  for (const auto& pair : kPairs)
    for (int form = 0; form < 5; ++form)
      for (int order = 0; order < 8; ++order, ++number) {
        ScaledCase c = case_of(pair, number);
        orders(order, &c);
        constexpr int64_t kSizes[] = {1, 127, 128, 129, 200};
        c.desc.m = kSizes[number % 5];
        c.desc.n = kSizes[number / 2 % 5];
        c.desc.k = kSizes[number / 3 % 5] + number % 3 * 128;
        scales(form, number / 5 % 4, &c);
        scale_pitches(number % 2, &c);
        pitches(1, number % 3, &c);
        lab.check(random, c);
      }
}

TEST_CASE("gemm scaled: tiles of every width") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(13);
  int number = 0;
  for (const auto& pair : kPairs)
    for (const int64_t m : {20, 50, 90, 120, 140, 155, 170, 180, 200, 215, 230, 250}) {
      ScaledCase c = case_of(pair, number);
      k_major(&c);
      c.desc.m = m;
      c.desc.n = 136;
      c.desc.k = 128 + number % 7 * 100;
      scales(number % 5, number % 4, &c);
      scale_pitches(number % 3, &c);
      pitches(16, number % 2, &c);
      if (is_f8(pair.first) && c.desc.a_scaling.kind < ScaleKind::row128)
        c.desc.fast_accumulate = number % 2 == 0;
      ++number;
      lab.check(random, c);
    }
}

// A few rows, for which the clusters of split-K kernels divide k, with D's lines of any length.
TEST_CASE("gemm scaled: few rows of 8-bit floats, with every option but gates") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(15);
  int number = 0;
  for (const int64_t m : {1, 23, 64, 71, 130, 8}) {
    const bool simple = number % 2 == 0;
    ScaledCase c = case_of({DType::F8E4M3, DType::F8E4M3}, number);
    k_major(&c);
    c.desc.m = m;
    c.desc.n = simple ? 72 + number * 8 : 61 + number * 3;
    c.desc.k = 300 + number * 97;
    scales(number % 5, number % 4, &c);
    scale_pitches(number % 3, &c);
    if (!simple) options(number * 7, &c);
    c.desc.epilogue.gate = Gate::none;
    pitches(16, number / 2 % 2, &c);
    c.desc.fast_accumulate = number % 5 < 3 && number / 2 % 2 == 1;
    c.behind = number % 3 == 0;
    if (c.behind) c.desc.flags |= kGemmProgrammatic | kGemmConstantB;
    ++number;
    lab.check(random, c);
  }
}

TEST_CASE("gemm scaled: tiles of every width without swap-AB") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(14);
  int number = 0;
  for (const auto& pair : kPairs) {
    if (!is_f8(pair.first)) continue;
    for (const int64_t n : {24, 56, 96, 120, 152, 192, 320, 456, 580})
      for (const int form : {0, 3}) {
        ScaledCase c = case_of(pair, number);
        k_major(&c);
        c.desc.m = 70 + number % 3 * 64;
        c.desc.n = n;
        c.desc.k = 128 + number % 3 * 100;
        scales(form, number % 4, &c);
        scale_pitches(number % 3, &c);
        pitches(16, 0, &c);
        ++number;
        lab.check(random, c);
      }
  }
}

TEST_CASE("gemm scaled: random shapes, options and pitches") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(3);
  const char* many = std::getenv("TW_SCALED_CASES");
  for (const auto& pair : kPairs)
    for (int i = many ? std::atoi(many) : 24; i > 0; --i)
      lab.check(random, random_case(random, pair));
}

TEST_CASE("gemm scaled: NaN, infinity, zero and subnormal numbers") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(4);
  for (const auto& pair : kPairs)
    for (int form = 0; form < 5; ++form) {
      ScaledCase c = case_of(pair, form);
      k_major(&c);
      c.desc.m = 40;
      c.desc.n = 72;
      c.desc.k = 272;
      scales(form, form, &c);
      pitches(16, 0, &c);
      c.specials = true;
      lab.check(random, c);
      c.specials = false;
      c.scale_size = 0x1p-30f;
      c.desc.d_dtype = DType::F32;
      lab.check(random, c);
    }
}

TEST_CASE("gemm scaled: batches, and sizes and scalars that the device holds") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(5);
  int number = 0;
  for (const auto& pair : kPairs)
    for (int form = 0; form < 5; ++form, ++number) {
      ScaledCase c = random_case(random, pair);
      c.desc.m = pick(random, 1, 40);
      c.desc.n = pick(random, 1, 40) * 2;
      c.desc.k = pick(random, 1, 300);
      c.run_m = -1;
      c.desc.fast_accumulate = false;
      scales(form, number % 4, &c);
      scale_pitches(number % 2, &c);
      pitches(c.desc.a_alignment == 16 ? 16 : 1, number % 2, &c);
      c.desc.batch = 1 + number % 3;
      if (number % 2) c.desc.b_batch_stride = 0;
      if (number % 3 == 0 && form != 0) c.desc.a_scaling.batch_stride = 0;
      if (number % 3 == 1 && form != 0) c.desc.b_scaling.batch_stride = 0;
      if (number % 4 < 2) {
        c.desc.flags |= kGemmDeviceM;
        c.device_m = pick(random, 0, c.desc.m);
      }
      if (number % 5 < 2) {
        c.desc.flags |= kGemmDeviceScalars;
        c.device_scalars = true;
      }
      if (number % 7 < 3) c.desc.flags |= kGemmPointers;
      lab.check(random, c);
    }
}

// One block computes all tiles, so that it uses its stages and slabs many times. A kernel that may
// still run writes all of the product's memory.
TEST_CASE("gemm scaled: stages and slabs that are taken again, behind another kernel") {
  Lab lab;
  if (!lab) return;
  enum Kind {
    any,             // lines of D end between multiples of 16 bytes
    pieces,          // lines of D are whole pieces of 16 bytes
    scaled_once,     // scales do not change along k
    blocks,          // D in blocks of 128 elements with scales
    gated_blocks,    // the same with a gate
    pointers,        // arrays of addresses
    constant,        // a constant B, which may be read before the other kernel has ended
    long_k,          // CTAs divide k
    rows,            // many rows: kernels without swap-AB store D by TMA
    rows_with_rest,  // the TMA stores D except the last columns
    device_rows,     // the TMA stores D up to an m in device memory
    any_0,           // the kinds with _0 have a k of 0: nothing is multiplied between tiles
    pieces_0,
    blocks_0
  };
  std::mt19937_64 random(9);
  for (const bool fast : {false, true})
    for (const DType type : {DType::F8E4M3, DType::I8, DType::TF32})
      for (int kind = any; kind <= blocks_0; ++kind) {
        const bool in_blocks = kind == blocks || kind == gated_blocks || kind == blocks_0;
        if ((in_blocks && type == DType::I8) || (fast && !is_f8(type))) continue;
        ScaledCase c = case_of({type, type}, kind % 3);
        GemmDesc& d = c.desc;
        c.behind = true;
        d.flags |= kGemmProgrammatic;
        d.max_sms = kind == long_k ? 0 : 1;
        k_major(&c);
        d.m = kind == long_k ? 9 : 66;
        d.n = kind == pieces || kind == pieces_0 ? 144 : 140;
        d.k = kind == long_k ? 1500 : kind >= any_0 ? 0 : type == DType::TF32 ? 330 : 650;
        d.fast_accumulate = fast;
        scales(!is_f8(type) || fast || kind == scaled_once ? 2 : 3 + kind % 2, kind % 4, &c);
        if (in_blocks) d.d_dtype = DType::F8E4M3, d.d_quantize = {.kind = ScaleKind::row128};
        if (kind == gated_blocks) d.n = 272, d.epilogue.gate = Gate::halves;
        if (kind == pointers) d.flags |= kGemmPointers, d.batch = 2, d.m = 33;
        if (kind == constant) d.flags |= kGemmConstantB;
        if (kind == rows || kind == rows_with_rest || kind == device_rows) {
          if (!is_f8(type)) continue;
          d.d_dtype = DType::BF16;
          d.m = 200;
          d.n = kind == rows_with_rest ? 396 : 392;
          d.d_padding_writable = kind == rows_with_rest;
        }
        if (kind == device_rows) {
          d.flags |= kGemmDeviceM;
          c.device_m = 131;
        }
        pitches(16, 0, &c);
        lab.check(random, c);
      }
}

TEST_CASE("gemm scaled: D in blocks of 128 with scales of its own") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(6);
  int number = 0;
  for (const auto& pair : kPairs) {
    if (pair.first == DType::I8) continue;
    for (int i = 0; i < 12; ++i, ++number) {
      ScaledCase c = random_case(random, pair);
      if (i % 2) {
        k_major(&c);
        c.offset = 0;
      }
      c.desc.d_dtype = number % 2 ? DType::F8E4M3 : DType::F8E5M2;
      c.desc.d_order = Order::row;
      c.desc.epilogue.gate = static_cast<Gate>(i % 3);
      c.desc.m = pick(random, 1, i % 4 == 1 ? 200 : 70);
      c.run_m = i % 5 == 0 ? pick(random, 0, c.desc.m) : -1;
      c.desc.n = pick(random, 1, 300) * 2;
      c.desc.d_quantize = {.kind = ScaleKind::row128, .order = static_cast<Order>(i / 2 % 2)};
      if (i % 4 == 3) c.alpha = c.beta = 0.0f;
      if (i % 6 == 1) c.desc.batch = 2;
      if (i % 4 == 1) c.desc.max_sms = 2;  // a block multiplies several tiles
      if (i % 6 == 5) {
        c.desc.flags |= kGemmDeviceM;
        c.run_m = -1;
        c.device_m = pick(random, 0, c.desc.m);
      }
      c.desc.a_scaling.leading = c.desc.b_scaling.leading = 0;
      pitches(c.desc.a_alignment == 16 ? 16 : 1, i % 2, &c);
      if (i % 3 == 0) {
        const GemmScaleExtent extent = gemm_d_scales(c.desc, c.desc.m);
        c.desc.d_quantize.leading =
            2 + (c.desc.d_quantize.order == Order::row ? extent.columns : extent.rows);
      }
      lab.check(random, c);
    }
  }
}

TEST_CASE("gemm scaled: exact sums of i8") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(7);
  for (int i = 0; i < 24; ++i) {
    ScaledCase c;
    c.desc.a_dtype = DType::I8;
    c.desc.d_dtype = DType::I32;
    orders(i, &c);
    if (i >= 8) k_major(&c);
    c.desc.m = pick(random, 1, 130);
    c.desc.n = pick(random, 1, 130);
    c.desc.k = pick(random, 0, 1200);
    // Lines of multiples of 16 bytes, and sums that f32 cannot hold exactly.
    if (i >= 16) {
      c.desc.n = pick(random, 1, 40) * 4;
      c.desc.m = (c.desc.m + 3) / 4 * 4;
      c.desc.k = pick(random, 1000, 3000);
      c.specials = true;
    }
    pitches(i >= 8 ? 16 : 1, i % 3, &c);
    lab.check(random, c);
  }
}

// A k of some thousand, for which kernels use split-K and errors accumulate most.
TEST_CASE("gemm scaled: long sums of each type") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(8);
  int number = 0;
  for (const auto& pair : kPairs)
    for (int i = 0; i < 6; ++i, ++number) {
      ScaledCase c;
      c.desc.a_dtype = pair.first;
      c.desc.b_dtype = pair.second;
      c.desc.d_dtype = i == 5 && pair.first == DType::I8 ? DType::I32 : d_type(pair.first, number);
      k_major(&c);
      constexpr int64_t kDepths[] = {2048, 4100, 7168, 2999, 8192, 5000};
      c.desc.m = pick(random, 1, 24);
      c.desc.n = pick(random, 1, 48);
      c.desc.k = kDepths[i];
      const bool fast = is_f8(pair.first) && i % 2 == 1;
      c.desc.fast_accumulate = fast;
      scales(c.desc.d_dtype == DType::I32 ? 0 : fast ? i % 3 : i % 5, number % 4, &c);
      pitches(16, i % 2, &c);
      lab.check(random, c);
    }
}

// Equal inputs give equal bits, whichever block adds its part of k last.
TEST_CASE("gemm scaled: a thousand equal runs of each type on a GPU") {
  if (std::string(test_device()) != "cuda") return skip("a thousand runs are for a GPU");
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(9);
  int number = 0;
  for (const auto& pair : kPairs)
    for (int form = 0; form < 5; ++form, ++number) {
      ScaledCase c = case_of(pair, number);
      k_major(&c);
      c.desc.m = 100 + number;
      c.desc.n = 700;
      c.desc.k = 3000;
      scales(form, number % 4, &c);
      pitches(16, number % 2, &c);
      lab.repeat(random, c, repeat_runs());
    }
}
