// SPDX-License-Identifier: Apache-2.0
// Tuning by measurement, on a device whose clock the test controls.
#include "ops/gemm/gemm_tune.hpp"

#include <string>

#include "ops/prefetch/prefetch.hpp"
#include "tests/ops/gemm/tuning_text.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Tuned {
  std::string choice;
  double microseconds;
  int runs;
};

// Tunes with a clock by which `fast` takes 10 us and every other kernel 20 us.
Tuned tuned(const std::shared_ptr<PaperDevice>& device, const std::string& fast,
            const GemmTuneDesc& how, GemmTuning* tuning, GemmRun run = {}) {
  const std::string symbol = fast.substr(0, fast.find('/'));
  const uint32_t split = fast.find('/') == fast.npos ? 0 : static_cast<uint32_t>(fast.back() - '0');
  device->launches.clear();
  device->time_of = [=](const PaperLaunch& launch) {
    if (launch.kernel.find("gemm") != 0) return 1.0;  // the cache flush
    const bool hit = launch.kernel == symbol && (split == 0 || launch.config.cluster[0] == split);
    return hit ? 0.010 : 0.020;
  };
  if (run.a == 0) run = {.a = 1 << 20, .b = 1 << 25, .c = 0, .d = 1 << 30};
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmTuningEntry out;
  const Status status =
      tune_gemm(device, *stream, gemm_desc(64, 576, 7168), run, how, *tuning, &out);
  INFO(last_failure().message);
  REQUIRE(status.ok());
  tuning->add(out);
  return {gemm_choice_text(out.candidate.choice), out.candidate.nanoseconds / 1e3,
          static_cast<int>(device->launches.size())};
}

}  // namespace

TEST_CASE("the tuner picks the fastest by the clock, whatever was first") {
  const auto device = hopper();
  const GemmDesc desc = gemm_desc(64, 576, 7168);
  const auto ranked = GemmRanking(*device, gemm_problem_of(desc)).candidates(64);
  for (const size_t place : {size_t{0}, size_t{1}, size_t{7}, ranked.size() - 1}) {
    const std::string fast = gemm_choice_text(ranked[place].choice);
    INFO(fast);
    GemmTuning tuning;
    // A tuning entry for a slow kernel, as if an earlier tuning had chosen it.
    const std::string slow = gemm_choice_text(ranked[place == 5 ? 6 : 5].choice);
    REQUIRE(tuning.load(text_of(entry(64, 576, 7168, slow))).ok());
    REQUIRE(kernel_of(device, desc, tuning) == slow);
    const Tuned result = tuned(device, fast, {.candidates = 0, .rounds = 3}, &tuning);
    CHECK(result.choice == fast);
    CHECK(result.microseconds == doctest::Approx(10).epsilon(0.01));
    CHECK(kernel_of(device, desc, tuning) == fast);
    CHECK(tuning.format().find(slow + " ") == std::string::npos);
  }
}

TEST_CASE("the tuner tries as many as it is told, the ranking's first and what was chosen before") {
  const auto device = hopper();
  const auto ranked =
      GemmRanking(*device, gemm_problem_of(gemm_desc(64, 576, 7168))).candidates(64);
  const std::string seventh = gemm_choice_text(ranked[6].choice);
  GemmTuning tuning;
  CHECK(tuned(device, seventh, {.candidates = 6}, &tuning).choice != seventh);
  CHECK(tuned(device, seventh, {.candidates = 7}, &tuning).choice == seventh);
  const std::string last = gemm_choice_text(ranked.back().choice);
  REQUIRE(tuning.load(text_of(entry(64, 576, 7168, last))).ok());
  CHECK(tuned(device, last, {.candidates = 2}, &tuning).choice == last);
}

TEST_CASE("the tuner writes where it is told, flushes, and skips what cannot take the addresses") {
  const auto device = hopper();
  GemmTuning tuning;
  const GemmRun run{.a = 1 << 20, .b = 1 << 25, .d = 1 << 30};
  const auto ranked =
      GemmRanking(*device, gemm_problem_of(gemm_desc(64, 576, 7168))).candidates(64);
  tuned(device, gemm_choice_text(ranked[0].choice),
        {.scratch_d = 1ull << 40, .flush = 1ull << 41, .flush_bytes = 1 << 20}, &tuning, run);
  int flushes = 0, runs = 0;
  for (const PaperLaunch& launch : device->launches) {
    if (launch.kernel.find("gemm") != 0) {
      ++flushes;
      continue;
    }
    ++runs;
    CHECK(launch.args.d == 1ull << 40);
  }
  CHECK(flushes == runs);
  CHECK(runs == 12 + 12 + 6);  // warm-up, first round, and the rounds of the close candidates
  const GemmRun odd{.a = (1 << 20) + 2, .b = 1 << 25, .d = 1 << 30};
  CHECK(tuned(device, "none", {}, &tuning, odd).choice ==
        gemm_choice_text(GemmRanking(*device, gemm_problem_of(gemm_desc(64, 576, 7168)))
                             .best_without_maps(64)
                             .choice));
}

TEST_CASE("a captured stream is refused before anything is launched") {
  const auto device = hopper();
  device->capturing = true;
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmTuning tuning;
  GemmTuningEntry out;
  const GemmRun run{.a = 1 << 20, .b = 1 << 25, .d = 1 << 30};
  CHECK(tune_gemm(device, *stream, gemm_desc(64, 576, 7168), run, {}, tuning, &out).code() ==
        Code::ERROR_CAPTURE);
  CHECK(device->launches.empty());
  CHECK(device->prepared == 0);
}

TEST_CASE("what cannot be tuned") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmTuning tuning;
  GemmTuningEntry out;
  const auto refused = [&](const GemmDesc& desc, const GemmRun& run, const GemmTuneDesc& how,
                           const char* argument) {
    INFO(argument);
    CHECK(tune_gemm(device, *stream, desc, run, how, tuning, &out).code() ==
          Code::ERROR_INVALID_ARGUMENT);
    CHECK(std::string(last_failure().fault.argument) == argument);
    CHECK(device->launches.empty());
  };
  const GemmDesc desc = gemm_desc(64, 576, 7168);
  const GemmRun run{.a = 1 << 20, .b = 1 << 25, .d = 1 << 30};
  refused(desc, run, {.candidates = -1}, "candidates");
  refused(desc, run, {.rounds = 0}, "rounds");
  refused(desc, run, {.rounds = 1001}, "rounds");
  refused(desc, run, {.flush = 1 << 20}, "flush");
  refused(desc, run, {.flush_bytes = 1 << 20}, "flush");
  for (const uint64_t bytes : {uint64_t{1} << 63, UINT64_MAX, (uint64_t{1} << 60) + 1}) {
    refused(desc, run, {.flush = 1 << 20, .flush_bytes = bytes}, "flush_bytes");
    CHECK(static_cast<uint64_t>(last_failure().fault.got) == bytes);
    CHECK(last_failure().fault.limit == int64_t{1} << 60);
    const std::string message = last_failure().message;
    CHECK(message.find("flush_bytes is " + std::to_string(bytes)) != message.npos);
  }
  std::unique_ptr<Plan> prefetch;  // the limit is the most that a prefetch plan reads
  CHECK(PrefetchPlan::create(device, {.dtype = DType::U8, .rows = 1, .columns = int64_t{1} << 60},
                             &prefetch)
            .ok());
  refused(gemm_desc(0, 576, 7168), run, {}, "m");
  refused(gemm_desc(64, 0, 7168), run, {}, "n");
  refused(gemm_desc(64, 576, 0), run, {}, "k");
  GemmDesc turned_round = gemm_desc(64, 0, 7168);
  turned_round.d_order = Order::column;
  refused(turned_round, run, {}, "n");
  GemmRun other = run;
  other.m = 65;
  refused(desc, other, {}, "m");
  other = run;
  other.d = 0;
  refused(desc, other, {}, "d");
  CHECK(tuning.format() == "tilewright gemm tuning 1\n");
}
