// SPDX-License-Identifier: Apache-2.0
// Epilogues without a GPU: errors of the activation functions, which kernels serve what, kernel
// arguments, and refusals.
#include <cmath>
#include <string>

#include "kernels/gemm/gemm_entry.hpp"
#include "ops/gemm/select/gemm_shares.hpp"
#include "ops/gemm/select/gemm_tuning.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

GemmDesc with(const GemmEpilogue& epilogue, int64_t m = 256, int64_t n = 512, int64_t k = 256) {
  GemmDesc desc = gemm_desc(m, n, k);
  desc.epilogue = epilogue;
  return desc;
}

// The largest |got - wanted| / allowed over floats of every magnitude and both signs.
template <class Function, class Exact, class Allowed>
double worst(Function function, Exact exact, Allowed allowed) {
  double out = 0;
  for (u32 sign = 0; sign < 2; ++sign)
    for (u32 magnitude = 0; magnitude < 0x7f800000u; magnitude += 9973) {
      const float x = act::from_bits(magnitude | sign << 31);
      const double wanted = exact(double{x});
      const double ratio =
          std::fabs(double{function(x)} - wanted) / allowed(double{x}, std::fabs(wanted));
      if (!(ratio <= out)) out = ratio;
    }
  return out;
}

}  // namespace

TEST_CASE("functions are within their stated errors of float64") {
  CHECK(worst(
            act::silu, [](double x) { return x / (1 + std::exp(-x)); },
            [](double, double y) { return y * 0x1p-21 + 0x1p-110; }) <= 1.0);
  const auto twice_u = [](double x) {
    return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  };
  CHECK(worst(
            act::gelu_tanh, [&](double x) { return x / (1 + std::exp(-twice_u(x))); },
            [&](double x, double y) {
              return y * 0x1p-21 * (1 + std::fabs(twice_u(x)) / 2) + 0x1p-110;
            }) <= 1.0);
  CHECK(worst(
            act::gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); },
            [](double x, double) {
              return x < -5.6 ? 0x1p-23 : std::fabs(x) * 0x1p-22 + 0x1p-149;
            }) <= 1.0);
}

TEST_CASE("functions of what is no number, and of infinities") {
  for (const u32 which : {kActIdentity, kActRelu, kActGelu, kActGeluTanh, kActSilu}) {
    INFO(which);
    CHECK(std::isnan(activate(which, NAN)));
    CHECK(activate(which, INFINITY) == INFINITY);
    if (which != kActIdentity) CHECK(activate(which, -INFINITY) == 0.0f);
    CHECK(activate(which, 0.0f) == 0.0f);
  }
}

TEST_CASE("an epilogue takes full rows, nothing else does") {
  const auto device = hopper();
  const GemmProblem plain = gemm_problem_of(with({}));
  for (const GemmCandidate& c : GemmRanking(*device, plain).candidates(256))
    CHECK_FALSE(c.choice.has(kGemmEpilogue));
  const GemmEpilogue epilogues[] = {{.bias = Per::row},        {.activation = Activation::gelu},
                                    {.gate = Gate::halves},    {.gate = Gate::interleaved},
                                    {.d_factor = Per::tensor}, {.amax = true}};
  for (const GemmEpilogue& epilogue : epilogues)
    for (const DType out : {DType::BF16, DType::F32})
      for (int orders = 0; orders < 8; ++orders)
        for (const int64_t m : {1, 16, 256, 4096}) {
          GemmDesc desc = with(epilogue, m);
          desc.d_dtype = out;
          desc.a_order = static_cast<Order>(orders & 1);
          desc.b_order = static_cast<Order>(orders >> 1 & 1);
          desc.d_order = static_cast<Order>(orders >> 2);
          desc.lda = 4096;
          const auto all = GemmRanking(*device, gemm_problem_of(desc)).candidates(m);
          REQUIRE_FALSE(all.empty());
          for (const GemmCandidate& c : all) CHECK(c.choice.has(kGemmEpilogue));
          INFO("gate " << static_cast<int>(epilogue.gate) << ", orders " << orders << ", m " << m
                       << ": " << gemm_choice_text(all[0].choice));
          // Columns gated along D's lines are loaded by tensor maps, others element by element.
          const bool maps = epilogue.gate == Gate::none || desc.d_order == Order::row;
          CHECK(all[0].choice.uses_maps() == maps);
        }
}

TEST_CASE("a full row has about the cost of the plain row of its tile, more where it sums parts") {
  const auto device = hopper();
  const GemmChip chip = GemmChip::of(*device, 0);
  const GemmProblem p = gemm_problem_of(with({.amax = true}, 4096, 4096, 4096));
  int compared = 0;
  for (const KernelEntry& full : kernel_entries(Family::gemm)) {
    if (!(full.variant & kGemmEpilogue) || full.feature != feature::wgmma) continue;
    for (const KernelEntry& entry : kernel_entries(Family::gemm))
      if (entry.feature == feature::wgmma && entry.variant == (full.variant & ~kGemmEpilogue) &&
          std::equal(entry.tile, entry.tile + 3, full.tile) &&
          std::equal(entry.cluster, entry.cluster + 2, full.cluster) &&
          entry.dtypes[0] == full.dtypes[0] && entry.dtypes[1] == full.dtypes[1]) {
        const double own = gemm_candidate({&full, 1}, p, chip).nanoseconds;
        const double plain = gemm_candidate({&entry, 1}, p, chip).nanoseconds;
        CHECK(own > (full.variant & kGemmSplit ? 1.0 : 0.8) * plain);
        // Kernels with narrow tiles reload the other operand often: their cost is not bounded.
        CHECK((full.variant & kGemmSplit || full.tile[1] < 64 || own < 1.25 * plain));
        ++compared;
      }
  }
  CHECK(compared > 40);
}

TEST_CASE("runs that read C have a kernel of their own where the model has one for them") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  int others = 0;
  for (const Per bias : {Per::none, Per::column})
    for (const int64_t k : {256, 512, 1024, 4096})
      for (const int64_t m : {64, 512, 4096}) {
        GemmDesc desc = with({.bias = bias}, m, 7168, k);
        desc.c_alignment = desc.d_alignment = 16;
        const auto plan = plan_of(device, desc);
        const auto launched = [&](float beta) {
          const GemmRun run{.beta = beta,
                            .a = 0x10000,
                            .b = 0x20000000,
                            .c = 0x40000000,
                            .d = 0x80000000,
                            .bias = bias == Per::none ? 0u : 0x90000000};
          REQUIRE(plan->run(*stream, run).ok());
          return device->launches.back().kernel;
        };
        GemmProblem with_c = gemm_problem_of(desc);
        const std::string usual = GemmRanking(*device, with_c).best(m).choice.entry->symbol;
        with_c.reads_c = true;
        const std::string other = GemmRanking(*device, with_c).best(m).choice.entry->symbol;
        CHECK(launched(0.0f) == usual);
        CHECK(launched(1.0f) == other);
        others += usual != other;
      }
  CHECK(others > 0);
}

TEST_CASE("few tokens take no large tile, many tokens no kernel for few") {
  const auto device = hopper();
  const GemmEpilogue epilogues[] = {{.bias = Per::column},
                                    {.activation = Activation::gelu_tanh},
                                    {.activation = Activation::silu, .gate = Gate::halves},
                                    {.d_factor = Per::row}};
  for (const GemmEpilogue& epilogue : epilogues)
    for (const int64_t m : {1, 1024}) {
      const GemmProblem problem = gemm_problem_of(with(epilogue, m, 28672, 4096));
      INFO("m " << m << ", activation " << static_cast<int>(epilogue.activation));
      const GemmChoice best = GemmRanking(*device, problem).best(m).choice;
      if (m == 1)
        CHECK(best.entry->tile[0] * gemm_tile_width(best, problem.desc, 1) <= 64 * 64);
      else
        CHECK((!best.has(kGemmSwapAB) || best.has(kGemmStreamK)));
    }
}

TEST_CASE("what a full row is told") {
  const auto device = hopper();
  const auto stream = [&] {
    std::unique_ptr<Stream> made;
    REQUIRE(device->create_stream(&made).ok());
    return made;
  }();
  const auto launched = [&](const GemmDesc& desc, const std::string& kernel) {
    std::unique_ptr<Plan> plan;
    GemmChoice choice;
    REQUIRE(parse_gemm_choice("candidate", kernel.c_str(), &choice).ok());
    REQUIRE(GemmPlan::create_forced(device, desc, choice, &plan).ok());
    const GemmRun run{.a = 0x10000,
                      .b = 0x20000000,
                      .d = 0x40000000,
                      .bias = desc.epilogue.bias == Per::none ? 0u : 0x80000000,
                      .d_factor = desc.epilogue.d_factor == Per::none ? 0u : 0x90000000,
                      .amax = desc.epilogue.amax ? 0xa0000000 : 0u};
    REQUIRE(static_cast<GemmPlan&>(*plan).run(*stream, run).ok());
    return device->launches.back();
  };
  const std::string coop = "gemm_bf16_bf16_rc_128x128_1x1_full";
  const std::string swapped = "gemm_bf16_bf16_rc_64x16_1x1_fullswapsplit/2";
  const GemmEpilogue both = {.bias = Per::column, .bias_dtype = DType::F32, .d_factor = Per::row};
  // bias_by and d_factor_by refer to D's lines, with swap-AB or without.
  for (const std::string& kernel : {coop, swapped}) {
    const PaperLaunch launch = launched(with(both), kernel);
    CHECK(launch.kernel == kernel.substr(0, kernel.find('/')));
    CHECK(launch.full.bias_by == kFullPerElement);
    CHECK(launch.full.d_factor_by == kFullPerLine);
    CHECK(launch.full.bias_type == kBiasF32);
    CHECK(launch.full.bias == 0x80000000);
    CHECK(launch.full.amax == 0);  // not requested
    CHECK(launch.full.batch == 1);
  }
  GemmDesc column = with(both);
  column.d_order = Order::column;
  const PaperLaunch turned = launched(column, coop);
  CHECK(turned.full.bias_by == kFullPerLine);
  CHECK(turned.full.d_factor_by == kFullPerElement);
  // With gated halves, each half of B provides half of a tile's columns. D has n / 2 columns.
  for (const Gate gate : {Gate::halves, Gate::interleaved}) {
    const PaperLaunch launch = launched(with({.gate = gate, .amax = true}), coop);
    CHECK(launch.full.gate == static_cast<unsigned char>(gate));
    CHECK(launch.full.half == 256);
    CHECK(launch.full.gate_across == 0);
    CHECK(launch.full.amax == 0xa0000000);
    CHECK(launch.args.units_n == 4);
    CHECK(launch.args.stage_bytes == (128 + 128) * 128);
  }
  GemmEpilogueArgs args{};
  args.gate = kGateHalves;
  args.half = 256;
  CHECK(full_line(args, 256, 0, 256) == 128);
  CHECK(full_line(args, 256, 127, 256) == 255);
  CHECK(full_line(args, 256, 128, 256) == 256 + 128);
}

TEST_CASE("epilogues that cannot be are refused by name") {
  const auto refusal = [](const GemmDesc& desc, Code code = Code::ERROR_INVALID_ARGUMENT) {
    GemmProblem out;
    const Status status = gemm_problem(desc, &out);
    CHECK(status.code() == code);
    return std::string(last_failure().fault.argument);
  };
  constexpr Code kUnsupported = Code::ERROR_UNSUPPORTED;
  CHECK(refusal(with({.bias = Per::tensor}), kUnsupported) == "bias");
  CHECK(refusal(with({.bias = static_cast<Per>(4)})) == "bias");
  CHECK(refusal(with({.bias = Per::row, .bias_dtype = DType::F16}), kUnsupported) == "bias_dtype");
  CHECK(refusal(with({.bias_dtype = DType::F32})) == "bias_dtype");
  CHECK(refusal(with({.activation = static_cast<Activation>(5)})) == "activation");
  CHECK(refusal(with({.activation = static_cast<Activation>(-1)})) == "activation");
  CHECK(refusal(with({.gate = static_cast<Gate>(3)})) == "gate");
  CHECK(refusal(with({.d_factor = static_cast<Per>(-1)})) == "d_factor");
  CHECK(refusal(with({.gate = Gate::halves}, 16, 17)) == "n");
  GemmDesc narrow = with({.gate = Gate::halves});
  narrow.ldd = 255;
  CHECK(refusal(narrow) == "ldd");
  narrow.ldd = 256;
  GemmProblem fine;
  CHECK(gemm_problem(narrow, &fine).ok());
  narrow.ldc = 511;  // C has all columns
  CHECK(refusal(narrow) == "ldc");
}

TEST_CASE("a gated plan writes half the columns that it multiplies") {
  const auto device = hopper();
  for (const Order order : {Order::row, Order::column})
    for (const Gate gate : {Gate::none, Gate::halves, Gate::interleaved}) {
      GemmDesc desc = with({.gate = gate}, 96, 512);
      desc.d_order = order;
      desc.batch = 3;
      const PlanInfo info = plan_of(device, desc)->info();
      CHECK(info.bytes_written == (gate == Gate::none ? 96u * 512 * 2 * 3 : 96u * 256 * 2 * 3));
      CHECK(info.flops == 2u * 96 * 512 * 3 * static_cast<uint64_t>(desc.k));
    }
}

TEST_CASE("numbers of a plan that leave 64 bits end there") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(int64_t{1} << 30, 1 << 15, int64_t{1} << 30);
  desc.a_alignment = desc.b_alignment = 16;
  CHECK(plan_of(device, desc)->info().flops == UINT64_MAX);
  CHECK(plan_of(device, desc)->info().bytes_read == (1ull << 61) + (1ull << 46));
  desc.batch = 64;
  desc.a_batch_stride = desc.b_batch_stride = 8;  // overlapping matrices count in full
  desc.n = 8;
  const PlanInfo info = plan_of(device, desc)->info();
  CHECK(info.bytes_read == UINT64_MAX);
  CHECK(info.bytes_written == 1ull << 40);
}

TEST_CASE("runs without their vectors are refused by name") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  std::unique_ptr<Plan> plan;
  const GemmDesc desc =
      with({.bias = Per::column, .gate = Gate::halves, .d_factor = Per::row, .amax = true});
  REQUIRE(GemmPlan::create(device, desc, &plan).ok());
  const GemmRun good{.a = 0x10000,
                     .b = 0x20000000,
                     .d = 0x40000000,
                     .bias = 0x80000000,
                     .d_factor = 0x90000000,
                     .amax = 0xa0000000};
  const auto refusal = [&](const GemmRun& run) {
    const Status status = static_cast<GemmPlan&>(*plan).run(*stream, run);
    CHECK_FALSE(status.ok());
    return std::string(last_failure().fault.argument);
  };
  CHECK(static_cast<GemmPlan&>(*plan).run(*stream, good).ok());
  GemmRun run = good;
  run.bias = 0;
  CHECK(refusal(run) == "bias");
  run.bias = good.bias + 1;
  CHECK(refusal(run) == "bias");
  run = good;
  run.d_factor = 0;
  CHECK(refusal(run) == "d_factor");
  run.d_factor = good.d + 128;
  CHECK(refusal(run) == "d");
  run = good;
  run.amax = 0;
  CHECK(refusal(run) == "amax");
  run.amax = good.amax + 2;
  CHECK(refusal(run) == "amax");
  run = good;
  run.beta = 1.0f;
  run.c = run.d;  // a gated D is narrower than C
  CHECK(refusal(run) == "c");
}

TEST_CASE("a candidate without the epilogue says so") {
  const auto device = hopper();
  std::unique_ptr<Plan> plan;
  GemmChoice choice;
  REQUIRE(parse_gemm_choice("candidate", gemm_symbol(128, 128, 1, 0).c_str(), &choice).ok());
  CHECK(GemmPlan::create_forced(device, with({.bias = Per::row}), choice, &plan).code() ==
        Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.rule) == "candidate_epilogue");
  // A tile of 64 rows cannot load separate halves if B is contiguous along n.
  const char* narrow = "gemm_bf16_bf16_cc_64x256_1x1_fullstream/1";
  REQUIRE(parse_gemm_choice("candidate", narrow, &choice).ok());
  GemmDesc desc = with({.gate = Gate::halves});
  desc.b_order = Order::row;
  CHECK(GemmPlan::create_forced(device, desc, choice, &plan).code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.rule) == "candidate_gate");
  desc.epilogue.gate = Gate::interleaved;
  CHECK(GemmPlan::create_forced(device, desc, choice, &plan).ok());
  CHECK(plan->explain().find("gating every other column") != std::string::npos);
}

TEST_CASE("measured choices with an epilogue are kept apart from those without") {
  const auto device = hopper();
  GemmTuning tuning;
  const auto add = [&](const GemmDesc& desc, const std::string& text) {
    const GemmProblem p = gemm_problem_of(desc);
    GemmTuningEntry entry{.key = gemm_tuning_key(*device, p), .m = desc.m};
    REQUIRE(parse_gemm_choice("candidate", text.c_str(), &entry.candidate.choice).ok());
    entry.candidate.nanoseconds = 1000;
    tuning.add(entry);
  };
  const std::string full = "gemm_bf16_bf16_rc_64x64_1x1_fullsplit/1";
  add(with({}), gemm_symbol(128, 128, 1, 0));
  add(with({.amax = true}), full);
  GemmTuning read;
  REQUIRE(read.load(tuning.format()).ok());
  CHECK(read.format() == tuning.format());
  const auto best = [&](const GemmDesc& desc) {
    return gemm_choice_text(GemmRanking(*device, gemm_problem_of(desc), &read).best(256).choice);
  };
  CHECK(best(with({})) == gemm_symbol(128, 128, 1, 0));
  CHECK(best(with({.bias = Per::row})) == full);
}
