// SPDX-License-Identifier: Apache-2.0
// Batches and options of a matrix product, without a GPU.
#include <set>
#include <vector>

#include "ops/gemm/gemm_tune.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Whether matrices of D share elements; marks every element.
bool shares_elements(const GemmDesc& d, int64_t leading, int64_t stride) {
  const bool row = d.d_order == Order::row;
  const int64_t lines = row ? d.m : d.n, contiguous = row ? d.n : d.m;
  std::set<int64_t> seen;
  for (int64_t i = 0; i < d.batch; ++i)
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t at = 0; at < (d.d_padding_writable ? leading : contiguous); ++at)
        if (!seen.insert(i * stride + line * leading + at).second) return true;
  return false;
}

}  // namespace

TEST_CASE("matrices of D are refused exactly where they share elements") {
  int refused = 0, taken = 0;
  for (const Order order : {Order::row, Order::column})
    for (const bool padding : {false, true})
      for (int64_t m = 0; m <= 4; ++m)
        for (int64_t n = 1; n <= 4; ++n)
          for (int64_t leading = 4; leading <= 9; ++leading)
            for (int64_t stride = 0; stride <= 40; ++stride) {
              GemmDesc desc;
              desc.m = m;
              desc.n = n;
              desc.k = 8;
              desc.d_order = order;
              desc.ldd = leading;
              desc.batch = 5;
              desc.d_batch_stride = stride;
              desc.d_padding_writable = padding;
              GemmProblem problem;
              const Status status = gemm_problem(desc, &problem);
              const bool shares = shares_elements(desc, leading, stride);
              if (status.ok() == shares)
                FAIL_CHECK("m " << m << " n " << n << " ldd " << leading << " stride " << stride);
              if (shares) CHECK(status.code() == Code::ERROR_OVERLAP);
              ++(shares ? refused : taken);
            }
  CHECK(refused > 1000);
  CHECK(taken > 1000);
}

TEST_CASE(
    "packed strides follow from leading dimensions, and turning swaps what belongs together") {
  GemmDesc desc;
  desc.m = 10;
  desc.n = 24;
  desc.k = 40;
  desc.lda = 48;
  desc.b_order = Order::column;
  desc.d_order = Order::column;
  desc.batch = 3;
  desc.b_batch_stride = 0;
  desc.flags = kGemmConstantA | kGemmProgrammatic;
  const GemmProblem seen = gemm_problem_of(desc);
  REQUIRE(seen.swapped);
  CHECK(seen.desc.b_batch_stride == 480);
  CHECK(seen.desc.a_batch_stride == 0);
  CHECK(seen.desc.d_batch_stride == 240);
  CHECK(seen.desc.flags == (kGemmConstantB | kGemmProgrammatic));
  CHECK(swap_ab(seen).desc.flags == desc.flags);
  CHECK(swap_ab(seen).desc.a_batch_stride == 480);
  desc.flags = kGemmConstantA | kGemmConstantB;
  CHECK(gemm_problem_of(desc).desc.flags == desc.flags);
}

TEST_CASE("what shares k among blocks has no more of them than a launch can") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(1, 32832, 512);  // 513 tiles of 64 columns
  desc.a_alignment = desc.b_alignment = 16;
  desc.b_batch_stride = 0;
  GemmChoice choice;
  REQUIRE(
      parse_gemm_choice("candidate", "gemm_bf16_bf16_rc_64x16_1x1_fullswapsplit/8", &choice).ok());
  desc.batch = int64_t{1} << 18;  // more than 2^30 blocks
  CHECK(check_gemm_choice(*device, gemm_problem_of(desc), choice).ok());
  desc.batch = int64_t{1} << 20;  // more than 32 bits count
  CHECK(!check_gemm_choice(*device, gemm_problem_of(desc), choice).ok());
  CHECK(std::string(last_failure().fault.rule) == "candidate_tiles");
  const GemmRanking ranking(*device, gemm_problem_of(desc));
  const GemmProblem problem = gemm_problem_of(desc);
  for (const GemmCandidate& one : ranking.candidates(1))
    CHECK(gemm_count_units(one.choice, gemm_kernel_view(one.choice, problem)) <=
          gemm_max_units(one.choice));
}

TEST_CASE("an invariant plan adds in one order, whatever m is") {
  const auto device = hopper();
  int varied = 0;
  for (const DType out : {DType::BF16, DType::F32, DType::F16})
    for (const auto& [n, k] : {std::pair{576, 7168}, {7168, 2048}, {4096, 4096}, {64, 40000}}) {
      GemmDesc desc = gemm_desc(8192, n, k);
      if (out == DType::F16) desc.a_dtype = out;
      desc.d_dtype = out;
      const bool free_choice_varies = [&] {
        std::set<uint32_t> orders;
        const GemmRanking ranking(*device, gemm_problem_of(desc));
        for (const int64_t m : {1, 16, 64, 128, 1024, 8192})
          orders.insert(ranking.best(m).choice.split * 2 + ranking.best(m).choice.has(kGemmSwapAB));
        return orders.size() > 1;
      }();
      varied += free_choice_varies;
      desc.flags = kGemmInvariant;
      for (const bool promised : {false, true}) {
        desc.a_alignment = desc.b_alignment = promised ? 16 : 0;
        std::set<std::pair<uint32_t, uint32_t>> orders;
        for (int64_t largest : {1, 16, 8192}) {  // nor may it depend on the plan's m
          desc.m = largest;
          const GemmRanking ranking(*device, gemm_problem_of(desc));
          for (int64_t m = 1; m <= largest; m += m < 64 ? 1 : m / 7)
            for (const GemmCandidate& one : ranking.candidates(m)) {
              orders.insert(
                  {one.choice.split, one.choice.entry->variant & (kGemmNoMaps | kGemmSwapAB)});
              CHECK(one.choice.uses_maps() == promised);
            }
        }
        CHECK(orders.size() == 1);
        // Only f16 with a large k needs split-K: there a block forms a single accumulation chain.
        if (promised) CHECK(orders.begin()->first == (out == DType::F16 && k > 16384 ? 2 : 1));
      }
    }
  CHECK(varied >= 6);  // otherwise the test would prove nothing
}

TEST_CASE("an invariant plan with an epilogue has no row that writes D by other code for some m") {
  const auto device = hopper();
  int splits = 0;
  for (const Order b_order : {Order::row, Order::column})
    for (const Activation which : {Activation::gelu_tanh, Activation::silu}) {
      GemmDesc desc = gemm_desc(512, 1024, 512);
      desc.b_order = b_order;
      desc.a_alignment = desc.b_alignment = 16;
      desc.epilogue = {.bias = Per::column, .activation = which};
      for (const uint32_t flags : {0u, kGemmInvariant}) {
        desc.flags = flags;
        const GemmRanking ranking(*device, gemm_problem_of(desc));
        std::set<bool> shares;
        for (int64_t m = 1; m <= desc.m; m += m < 64 ? 1 : m / 7)
          for (const GemmCandidate& one : ranking.candidates(m)) {
            shares.insert(one.choice.has(kGemmSplit));
            splits += flags == 0 && one.choice.has(kGemmSplit) && one.choice.split == 1;
          }
        if (flags != 0) CHECK(shares.size() == 1);
      }
    }
  CHECK(splits > 0);  // otherwise the test would prove nothing
}

TEST_CASE(
    "an invariant plan has no second kernel for other addresses, and takes no other candidate") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(4096, 576, 7168);
  desc.flags = kGemmInvariant;
  desc.a_alignment = desc.b_alignment = 16;
  std::unique_ptr<Plan> plan;
  REQUIRE(GemmPlan::create(device, desc, &plan).ok());
  for (const GemmRange& range : static_cast<GemmPlan&>(*plan).ranges())
    CHECK(range.candidate.choice.split == 1);
  CHECK(plan->explain().find("do not depend on m") != std::string::npos);
  GemmChoice choice;  // a split-K choice
  GemmDesc free_desc = desc;
  free_desc.flags = 0;
  for (const GemmCandidate& one : GemmRanking(*device, gemm_problem_of(free_desc)).candidates(64))
    if (one.choice.split > 1) choice = one.choice;
  REQUIRE(choice.entry);
  CHECK(GemmPlan::create_forced(device, desc, choice, &plan).code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().message).find("TW_GEMM_BATCH_INVARIANT") != std::string::npos);
  desc.flags = 0;
  CHECK(GemmPlan::create_forced(device, desc, choice, &plan).ok());
}

TEST_CASE("an invariant plan's kind of row does not follow from m by a packed column-major A") {
  const auto device = hopper();
  for (const Order d_order : {Order::row, Order::column})
    for (const uint32_t flags : {kGemmInvariant, kGemmInvariant | kGemmPointers}) {
      GemmDesc desc = gemm_desc(8, 512, 512);
      desc.a_order = Order::column;
      desc.d_order = d_order;
      desc.a_alignment = desc.b_alignment = 16;
      desc.flags = flags;
      std::unique_ptr<Plan> plan;
      std::vector<GemmRange> candidates;
      for (const int64_t m : {8, 9}) {  // lines of 16 and of 18 bytes
        desc.m = m;
        CHECK(GemmPlan::create(device, desc, &plan).code() == Code::ERROR_INVALID_ARGUMENT);
        CHECK(std::string(last_failure().fault.argument) == "lda");
        CHECK(std::string(last_failure().message).find("TW_GEMM_BATCH_INVARIANT") !=
              std::string::npos);
        CHECK_FALSE(gemm_candidates(*device, desc, &candidates).ok());
      }
      // Allowed: an explicit lda, a staging copy, a row-major A, or no such flag.
      const auto uses_maps = [&](GemmDesc of, int64_t m) {
        of.m = of.min_m = m;
        return plan_of(device, of)->kernel_for(m).choice().uses_maps();
      };
      GemmDesc other = desc;
      for (const int64_t lda : {16, 17}) {
        other.lda = lda;
        CHECK(uses_maps(other, 8) == (lda == 16));
        CHECK(uses_maps(other, 9) == (lda == 16));
      }
      other = desc;
      other.a_order = Order::row;
      CHECK(uses_maps(other, 9));
      if (flags == kGemmInvariant) {
        other = desc;
        other.staging_copy = true;
        CHECK(uses_maps(other, 8));
        CHECK(uses_maps(other, 9));
      }
      other = desc;
      other.flags &= ~kGemmInvariant;
      CHECK(uses_maps(other, 8));
      CHECK_FALSE(uses_maps(other, 9));
    }
}

TEST_CASE("an invariant plan that max_sms leaves no kernel says up to which m there is one") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(8192, 512, 20000, 100);  // k is too long for one accumulation chain
  desc.a_dtype = desc.d_dtype = DType::F16;
  desc.a_alignment = desc.b_alignment = 16;
  desc.flags = kGemmInvariant;
  std::unique_ptr<Plan> plan;
  CHECK(GemmPlan::create(device, desc, &plan).code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.argument) == "m");
  CHECK(std::string(last_failure().fault.rule) == "gemm_invariant_room");
  CHECK(last_failure().fault.limit == 100);
  CHECK(last_failure().fault.got ==
        8192 / 128 * 512 / 128 * 2);  // the largest tiles, two blocks each
  const std::string message = last_failure().message;
  INFO(message);
  for (const char* words : {"m is 8192", "k 20000", "2 blocks", "512 blocks", "max_sms is 100"})
    CHECK(message.find(words) != std::string::npos);
  const size_t at = message.find("up to ");
  REQUIRE(at != message.npos);
  const int64_t most = std::stoll(message.substr(at + 6));
  REQUIRE(most == 1536);  // 12 x 4 tiles, 96 blocks
  std::vector<GemmRange> candidates;
  CHECK(gemm_candidates(*device, desc, &candidates).code() == Code::ERROR_UNSUPPORTED);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmTuning tuning;
  GemmTuningEntry tuned;
  CHECK_FALSE(
      tune_gemm(device, *stream, desc, {.a = kA, .b = kB, .d = kD}, {}, tuning, &tuned).ok());
  CHECK(std::string(last_failure().fault.rule) == "gemm_invariant_room");
  GemmDesc other = desc;
  other.m = most;
  CHECK(GemmPlan::create(device, other, &plan).ok());
  other.m = most + 1;
  CHECK_FALSE(GemmPlan::create(device, other, &plan).ok());
  other.n = 1 << 20;  // here no m fits
  CHECK_FALSE(GemmPlan::create(device, other, &plan).ok());
  CHECK(std::string(last_failure().message).find("room for no m") != std::string::npos);
  // Each remedy that the message names.
  other = desc;
  other.max_sms = 0;
  CHECK(GemmPlan::create(device, other, &plan).ok());
  other = desc;
  other.flags = 0;
  CHECK(GemmPlan::create(device, other, &plan).ok());
  other = desc;
  other.a_dtype = DType::BF16;
  other.d_dtype = DType::F32;
  CHECK(GemmPlan::create(device, other, &plan).ok());  // a block forms the chains alone
  other.epilogue.bias = Per::column;
  CHECK_FALSE(GemmPlan::create(device, other, &plan).ok());
  CHECK(std::string(last_failure().message).find("with D in bf16") != std::string::npos);
  other.d_dtype = DType::BF16;
  CHECK(GemmPlan::create(device, other, &plan).ok());
  other = desc;
  other.max_sms = static_cast<uint32_t>(8192 / 128 * 512 / 128 * 2);
  CHECK(GemmPlan::create(device, other, &plan).ok());
}

TEST_CASE(
    "an invariant plan is refused where its m takes more blocks than there are, and not before") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(0, 128, 8192);
  desc.d_dtype = DType::F32;
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  desc.flags = kGemmInvariant | kGemmDeviceM;  // two blocks for every 128 rows
  std::unique_ptr<Plan> plan;
  for (const uint32_t max_sms : {128u, 130u, 132u}) {
    const int64_t most = max_sms / 2 * 128;
    desc.max_sms = max_sms;
    for (const int64_t m : {most - 127, most - 64, most}) {
      INFO("m " << m << ", max_sms " << max_sms);
      desc.m = m;
      const auto widest = plan_of(device, desc);
      CHECK(widest->ranges().back().last == m);
      CHECK(widest->kernel_for(m).config(m).grid[0] <= max_sms);
      std::vector<GemmRange> candidates;
      CHECK(gemm_candidates(*device, desc, &candidates).ok());
      CHECK_FALSE(candidates.empty());
      // The kernel for an m does not depend on the plan's m.
      for (const int64_t less : {m, m - 1, m - 63, m - 64, m / 2}) {
        desc.m = less;
        CHECK(widest->kernel_for(less).choice() ==
              plan_of(device, desc)->kernel_for(less).choice());
      }
    }
    desc.m = most + 1;
    CHECK_FALSE(GemmPlan::create(device, desc, &plan).ok());
    CHECK(last_failure().fault.got > max_sms);
    CHECK(last_failure().fault.limit == max_sms);
    const std::string message = last_failure().message;
    CHECK(message.find("room for m up to " + std::to_string(most) + ",") != message.npos);
  }
}

TEST_CASE("a step of m amid which a choice runs out of blocks is two ranges") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(8448, 128, 8192, 130);
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  GemmTuningEntry entry{gemm_tuning_key(*device, gemm_problem_of(desc)), 8193, {}};
  REQUIRE(parse_gemm_choice("candidate", "gemm_bf16_bf16_rc_128x128_1x1_split/2",
                            &entry.candidate.choice)
              .ok());
  entry.candidate.nanoseconds = 1;
  GemmTuning tuning;
  tuning.add(entry);
  std::unique_ptr<Plan> plan;
  REQUIRE(GemmPlan::create(device, desc, &tuning, &plan).ok());
  const auto& gemm = static_cast<const GemmPlan&>(*plan);
  // 65 tiles of two blocks. The tuning entry's step of m ends at 8448.
  for (const int64_t m : {8193, 8320, 8321, 8448}) {
    INFO("m " << m);
    CHECK((gemm.kernel_for(m).choice() == entry.candidate.choice) == (m <= 8320));
    CHECK(launched(device, gemm, m).config.grid[0] <= 130);
  }
}

TEST_CASE("a plan for one row that has no room for it says so, and one for no rows needs none") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(1, 12800, 8192, 132);
  desc.d_dtype = DType::F32;
  desc.a_alignment = desc.b_alignment = 16;
  desc.flags = kGemmInvariant | kGemmDeviceM;
  std::unique_ptr<Plan> plan;
  CHECK(GemmPlan::create(device, desc, &plan).code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.rule) == "gemm_invariant_room");
  CHECK(last_failure().fault.got == 200);
  const std::string message = last_failure().message;
  CHECK(message.find("m is 1:") == 0);
  CHECK(message.find("room for no m") != message.npos);
  desc.m = 0;
  CHECK(GemmPlan::create(device, desc, &plan).ok());
  desc.m = 1;
  desc.max_sms = 200;
  CHECK(GemmPlan::create(device, desc, &plan).ok());
}

TEST_CASE("what is measured for a batch is for that batch, by strides and by addresses") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmDesc desc = gemm_desc(128, 128, 512);
  desc.batch = 16;
  desc.a_alignment = desc.b_alignment = 16;
  const GemmRun run{.a = 1 << 20,
                    .b = 1 << 25,
                    .d = 1 << 30,
                    .workspace = 1ull << 40,
                    .workspace_bytes = 1 << 30};
  for (const uint32_t flags : {0u, kGemmPointers}) {
    desc.flags = flags;
    const auto ranked = GemmRanking(*device, gemm_problem_of(desc)).candidates(128);
    REQUIRE(ranked.size() > 2);
    for (const GemmCandidate& one : ranked) CHECK(one.choice.has(kGemmEpilogue));
    const GemmChoice last = ranked.back().choice;  // the clock favors this one
    device->time_of = [&](const PaperLaunch& launch) {
      return launch.kernel == last.entry->symbol && launch.config.cluster[0] == last.cluster()
                 ? 0.01
                 : 0.02;
    };
    GemmTuning tuning;
    GemmTuningEntry best;
    REQUIRE(tune_gemm(device, *stream, desc, run, {.candidates = 0}, tuning, &best).ok());
    tuning.add(best);
    CHECK(best.candidate.choice == last);
    CHECK(tuning.format().find(" x16\n") != std::string::npos);
    GemmTuning loaded;
    REQUIRE(loaded.load(tuning.format()).ok());
    CHECK(loaded.format() == tuning.format());
    const auto chosen = [&](const GemmDesc& of) {
      return GemmRanking(*device, gemm_problem_of(of), &loaded).best(128);
    };
    CHECK(chosen(desc).choice == last);
    CHECK(chosen(desc).measured);
    GemmDesc other = desc;
    other.batch = 17;
    CHECK_FALSE(chosen(other).measured);
    other.batch = 1;
    CHECK_FALSE(chosen(other).measured);
    other.flags = 0;
    CHECK_FALSE(chosen(other).choice.has(kGemmEpilogue));
  }
  desc.batch = 0;
  GemmTuning tuning;
  GemmTuningEntry best;
  CHECK_FALSE(tune_gemm(device, *stream, desc, run, {}, tuning, &best).ok());
  CHECK(std::string(last_failure().fault.argument) == "batch_count");
  for (const char* bad : {" x0", " x", " x1048577", " x2 x2"}) {
    std::string text =
        "tilewright gemm tuning 1\ndevice paper\nbf16 bf16 f32 rcr 132 8 8 64 "
        "gemm_bf16_bf16_plain_64x64x32 1.000";
    CHECK(tuning.load(text).ok());
    CHECK(tuning.load(text + bad).code() == Code::ERROR_PARSE);
  }
}

TEST_CASE(
    "batches take rows whose tiles are whole products, and none that sums parts without need") {
  const auto device = hopper();
  const auto best = [&](int64_t count, int64_t m, int64_t n, int64_t k) {
    GemmDesc desc = gemm_desc(m, n, k);
    desc.batch = count;
    return GemmRanking(*device, gemm_problem_of(desc)).best(m).choice;
  };
  // Measured on an H200: 13.9 us for the first, 16.7 us with an idle second block, 17.5 us split-K.
  const GemmChoice small = best(128, 128, 128, 512);
  CHECK(small.cluster() == 1);
  CHECK_FALSE(small.has(kGemmSplit));
  CHECK_FALSE(best(8, 4096, 128, 4096).has(kGemmSplit));
  CHECK_FALSE(best(16, 1024, 1024, 1024).has(kGemmSplit));
  CHECK(best(2, 16, 576, 7168).has(kGemmSplit));  // few tiles with a large k need split-K
}
