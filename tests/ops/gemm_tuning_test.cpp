// SPDX-License-Identifier: Apache-2.0
// Measured choices: their text, what they overrule, and how they are measured.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "ops/gemm_realign.hpp"
#include "ops/gemm_tune.hpp"
#include "ops/prefetch.hpp"
#include "paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::string choice_text(uint32_t schedule = 0) {
  return gemm_symbol(128, 128, 1, schedule) + (schedule & kGemmSplit ? "/4" : "");
}

std::string text_of(const std::string& lines) {
  return "tilewright gemm tuning 1\ndevice paper\n" + lines;
}

// An entry for gemm_desc()'s types and orders on 132 SMs.
std::string entry(int64_t m, int64_t n, int64_t k, const std::string& choice) {
  return "bf16 bf16 f32 rcr 132 " + std::to_string(m) + " " + std::to_string(n) + " " +
         std::to_string(k) + " " + choice + " 12.500\n";
}

std::string kernel_of(const std::shared_ptr<PaperDevice>& device, const GemmDesc& desc,
                      const GemmTuning& tuning) {
  std::unique_ptr<Plan> plan;
  REQUIRE(GemmPlan::create(device, desc, &tuning, &plan).ok());
  return gemm_choice_text(static_cast<GemmPlan&>(*plan).kernel_for(desc.m).choice());
}

}  // namespace

TEST_CASE("a tuning's text comes back the same") {
  const std::string text = text_of(
      entry(64, 2112, 7168, choice_text(kGemmSplit)) + entry(4096, 2112, 7168, choice_text()) +
      "bf16 bf16 f32 rcr 132 64 2112 7168 " + choice_text() + " 12.250 programmatic\n" +
      "bf16 bf16 f32 rcr 132 64 2112 7168 " + choice_text(kGemmFull) + " 99.000 x9 programmatic\n" +
      "device NVIDIA Other 96GB\n" + "f16 f32 f32 crc 78 1 8 16 gemm_host_plain 0.250\n");
  GemmTuning tuning;
  REQUIRE(tuning.load(text).ok());
  CHECK(tuning.format() == text);
  // The same shape again takes the old one's place.
  REQUIRE(tuning.load(text_of("\n# a comment\r\n  " + entry(64, 2112, 7168, choice_text()))).ok());
  CHECK(tuning.format().find(choice_text(kGemmSplit)) == std::string::npos);
  GemmTuning empty;
  CHECK(empty.format() == "tilewright gemm tuning 1\n");
  CHECK(empty.load(empty.format()).ok());
}

TEST_CASE("a text that cannot be read is refused with its line, and adds nothing") {
  const std::string good = entry(64, 2112, 7168, choice_text());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const size_t at = line.find(from);
    REQUIRE(at != line.npos);
    return text_of(good + "# between\n" + line.replace(at, from.size(), to));
  };
  struct Bad {
    std::string text;
    int line;
    const char* words;
  };
  const Bad cases[] = {
      {"", 1, "first line"},
      {"\n\n# nothing\n", 1, "first line"},
      {"(2,3)", 1, "first line"},
      {"tilewright gemm tuning 2\n" + good, 1, "first line"},
      {std::string("\x7f"
                   "ELF\0\0\0garbage\xff\n",
                   15),
       1, "first line"},
      {"tilewright gemm tuning 1\n" + good, 2, "device"},
      {"tilewright gemm tuning 1\ndevice \n" + good, 2, "device"},
      {changed("bf16", "bf17"), 5, "type"},
      {changed("f32", "i8"), 5, "type"},
      {changed("rcr", "rcx"), 5, "orders"},
      {changed("rcr", "rcrr"), 5, "orders"},
      {changed("132", "0"), 5, "SMs"},
      {changed("132", "-1"), 5, "SMs"},
      {changed(" 64 ", " 64.5 "), 5, "m, n and k"},
      {changed(" 64 ", " 0 "), 5, "m, n and k"},
      {changed("7168", "99999999999999999999"), 5, "m, n and k"},
      {changed(choice_text(), choice_text() + "/2"), 5, "candidate"},
      {changed(choice_text(), "gemm_of_another_version"), 5, "candidate"},
      {changed("12.500", "fast"), 5, "microseconds"},
      {changed("12.500", "-3"), 5, "microseconds"},
      {changed("12.500", "nan"), 5, "microseconds"},
      {changed("12.500", "1e300"), 5, "microseconds"},
      {changed("7168", "9223372036854775807"), 5, "m, n and k"},
      {changed(" 12.500", ""), 5, "microseconds"},
      {changed("12.500", "12.500 x"), 5, "too many"},
      {changed("12.500", "12.500 programmatical"), 5, "too many"},
      {changed("12.500", "12.500 programmatic programmatic"), 5, "too many"},
      {changed("12.500", "12.500 programmatic x2"), 5, "too many"},
  };
  for (const Bad& bad : cases) {
    INFO(bad.text);
    GemmTuning tuning;
    CHECK(tuning.load(bad.text).code() == Code::ERROR_PARSE);
    CHECK(std::string(last_error().fault.argument) == "text");
    CHECK(last_error().fault.index == bad.line);
    INFO(last_error().message);
    CHECK(std::strstr(last_error().message, ("line " + std::to_string(bad.line)).c_str()));
    CHECK(std::strstr(last_error().message, bad.words));
    CHECK(tuning.format() == "tilewright gemm tuning 1\n");
  }
}

TEST_CASE("a forked child uses a tuning that another thread was using") {
  std::string lines;
  for (int64_t m = 1; m <= 500; ++m) lines += entry(m, 2112, 7168, choice_text());
  GemmTuning tuning;
  REQUIRE(tuning.load(text_of(lines)).ok());
  const std::string text = tuning.format();
  const GemmTuningKey absent = gemm_tuning_key(*hopper(), {});
  std::atomic<bool> stop{false}, wrong{false};
  // It holds the lock nearly all the time.
  std::thread user([&] {
#ifdef __SANITIZE_ADDRESS__  // no allocation: a child inherits the sanitizer's locks as they are
    while (!stop) wrong = wrong || !tuning.find(absent).empty();
#else
    while (!stop) wrong = wrong || !tuning.load(text).ok();
#endif
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(10);  // a child that waits is ended
      const bool same = tuning.format() == text && tuning.load(text).ok();
      _exit(same && tuning.find(absent).empty() ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);  // it exited with 0
    if (status != 0) break;
  }
  stop = true;
  user.join();
  CHECK(!wrong);
}

TEST_CASE("what was measured programmatically is for such plans, which take the others too") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(4096, 2112, 7168), launched_early = desc;
  launched_early.flags = kGemmProgrammatic | kGemmConstantB;
  const std::string usual = kernel_of(device, desc, GemmTuning());
  const std::string plain = choice_text(kGemmSplit), early = choice_text();
  REQUIRE((usual != plain && usual != early && plain != early));
  std::string programmatic = entry(4096, 2112, 7168, early);
  programmatic.insert(programmatic.size() - 1, " programmatic");
  GemmTuning one;
  REQUIRE(one.load(text_of(programmatic)).ok());
  CHECK(kernel_of(device, desc, one) == usual);
  CHECK(kernel_of(device, launched_early, one) == early);
  // Each in its place, whichever came first.
  for (const bool first : {false, true}) {
    const std::string other = entry(4096, 2112, 7168, plain);
    GemmTuning both;
    REQUIRE(both.load(text_of(first ? programmatic + other : other + programmatic)).ok());
    CHECK(kernel_of(device, desc, both) == plain);
    CHECK(kernel_of(device, launched_early, both) == early);
  }
  GemmTuning otherwise;
  REQUIRE(otherwise.load(text_of(entry(4096, 2112, 7168, plain))).ok());
  CHECK(kernel_of(device, launched_early, otherwise) == plain);
}

TEST_CASE("runs that read C take a measured choice too, in programmatic plans as well") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(4096, 7168, 512);
  desc.a_alignment = desc.b_alignment = desc.c_alignment = desc.d_alignment = 16;
  const std::string measured = gemm_symbol(64, 64, 1, 0);
  const GemmRun adds{.beta = 1, .a = kA, .b = kB, .c = kC, .d = kD};
  for (const bool programmatic : {false, true})
    for (const bool early : {false, true}) {
      desc.flags = programmatic ? kGemmProgrammatic : 0u;
      std::string text = entry(4096, 7168, 512, measured);
      if (early) text.insert(text.size() - 1, " programmatic");
      GemmTuning tuning;
      REQUIRE(tuning.load(text_of(text)).ok());
      std::unique_ptr<Plan> plan;
      REQUIRE(GemmPlan::create(device, desc, &tuning, &plan).ok());
      const auto& gemm = static_cast<const GemmPlan&>(*plan);
      INFO("programmatic " << programmatic << ", measured so " << early);
      const bool serves = programmatic || !early;
      CHECK((launched(device, gemm, 4096).kernel == measured) == serves);
      CHECK((launched(device, gemm, 4096, adds).kernel == measured) == serves);
    }
}

TEST_CASE("plans follow measured choices, for the chip and the shape that were measured") {
  const auto device = hopper();
  const GemmDesc desc = gemm_desc(4096, 2112, 7168);
  const GemmTuning none;
  const std::string usual = kernel_of(device, desc, none);
  const std::string wanted = choice_text();
  REQUIRE(usual != wanted);
  const auto with = [&](const std::string& lines) {
    GemmTuning tuning;
    REQUIRE(tuning.load(text_of(lines)).ok());
    return kernel_of(device, desc, tuning);
  };
  CHECK(with(entry(4096, 2112, 7168, wanted)) == wanted);
  CHECK(with(entry(4097, 2112, 7168, wanted)) == wanted);  // closest above
  CHECK(with(entry(4095, 2112, 7168, wanted)) == wanted);  // the same step
  CHECK(with(entry(4600, 2112, 7168, wanted)) == wanted);  // an eighth above
  CHECK(with(entry(4700, 2112, 7168, wanted)) == usual);
  CHECK(with(entry(4032, 2112, 7168, wanted)) == usual);  // measured for fewer
  CHECK(with(entry(4096, 2113, 7168, wanted)) == usual);
  CHECK(with(entry(4096, 2112, 7167, wanted)) == usual);
  CHECK(with("bf16 bf16 f32 rrr 132 4096 2112 7168 " + wanted + " 1\n") == usual);
  CHECK(with("bf16 f32 f32 rcr 132 4096 2112 7168 " + wanted + " 1\n") == usual);
  CHECK(with("bf16 bf16 f32 rcr 131 4096 2112 7168 " + wanted + " 1\n") == usual);
  CHECK(with("device papers\n" + entry(4096, 2112, 7168, wanted)) == usual);
  // One that cannot serve is passed over: the host's kernels on a GPU.
  CHECK(with(entry(4096, 2112, 7168, "gemm_host_plain")) == usual);
  // Of two the closest above.
  CHECK(with(entry(4600, 2112, 7168, choice_text(kGemmSplit)) + entry(4200, 2112, 7168, wanted)) ==
        wanted);
  GemmTuning tuning;
  REQUIRE(tuning.load(text_of(entry(4096, 2112, 7168, wanted))).ok());
  std::unique_ptr<Plan> plan;
  REQUIRE(GemmPlan::create(device, desc, &tuning, &plan).ok());
  const std::string words = plan->explain();
  INFO(words);
  CHECK(words.find(wanted + ", the fastest when it was measured: measured 12.50 us") != words.npos);
  CHECK(words.find("runner-up " + usual) != words.npos);
  // The other m are the model's, and what serves an m does not depend on the plan's range.
  const auto& gemm = static_cast<GemmPlan&>(*plan);
  for (int64_t m = 1; m <= desc.m; m += m < 3000 ? 211 : 17) {
    GemmDesc own = gemm_desc(m, desc.n, desc.k);
    INFO(m);
    CHECK(gemm_choice_text(gemm.kernel_for(m).choice()) == kernel_of(device, own, tuning));
  }
}

TEST_CASE("a measured choice serves the rows that the header says") {
  struct Served {
    int64_t measured, first, last;
  };
  const auto device = hopper();
  const std::string wanted = choice_text();
  for (const Served& s : {Served{1, 1, 8},
                          {8, 1, 8},
                          {9, 9, 16},
                          {64, 57, 64},
                          {72, 57, 72},
                          {100, 89, 104},
                          {512, 449, 512},
                          {513, 505, 576},
                          {4096, 3585, 4096},
                          {4097, 3585, 4160},
                          {8192, 7169, 8192},
                          {8193, 7361, 8448},
                          {65536, 57345, 65536},
                          {65537, 60929, 69632},
                          {131072, 114689, 131072},
                          {131073, 120 * 1024 - 4095, 136 * 1024}}) {
    INFO("measured at " << s.measured);
    for (int64_t m = std::max<int64_t>(s.first - 300, 1); m <= s.last + 300; ++m)
      if (gemm_tuning_serves(s.measured, m) != (m >= s.first && m <= s.last)) FAIL_CHECK(m);
    GemmTuning tuning;
    REQUIRE(tuning.load(text_of(entry(s.measured, 2112, 7168, wanted))).ok());
    const GemmRanking ranking(*device, gemm_problem_of(gemm_desc(s.last + 1, 2112, 7168)), &tuning);
    for (const int64_t m : {s.first, s.measured, s.last}) {
      CHECK(ranking.best(m).measured);
      CHECK(gemm_choice_text(ranking.best(m).choice) == wanted);
    }
    CHECK_FALSE(ranking.best(s.last + 1).measured);
    if (s.first > 1) CHECK_FALSE(ranking.best(s.first - 1).measured);
  }
  // Of several the lowest step, and in it the most rows.
  GemmTuning tuning;
  const std::string other = choice_text(kGemmSplit);
  REQUIRE(tuning
              .load(text_of(entry(72, 2112, 7168, other) + entry(64, 2112, 7168, wanted) +
                            entry(60, 2112, 7168, other)))
              .ok());
  const GemmRanking ranking(*device, gemm_problem_of(gemm_desc(72, 2112, 7168)), &tuning);
  CHECK(gemm_choice_text(ranking.best(60).choice) == wanted);
  CHECK(gemm_choice_text(ranking.best(65).choice) == other);
}

TEST_CASE("rows of what was measured name kernels that serve their shapes, and plans follow them") {
  struct Row {
    uint32_t flags;
    DType in, out;
    Order a_order, b_order;
    int64_t m, n, k;
    const char* text;
    uint32_t split;
  };
  [[maybe_unused]] constexpr Order orderROW = Order::row, orderCOLUMN = Order::column;
  const Row rows[] = {
#define TW_GEMM_MEASURED(in, out, a, b, m, n, k, symbol, split, us) \
  {0, DType::in, DType::out, order##a, order##b, m, n, k, #symbol, split},
#include "ops/gemm_measured.inc"
#undef TW_GEMM_MEASURED
#define TW_GEMM_MEASURED(in, out, a, b, m, n, k, symbol, split, us) \
  {kGemmProgrammatic | kGemmConstantB,                              \
   DType::in,                                                       \
   DType::out,                                                      \
   order##a,                                                        \
   order##b,                                                        \
   m,                                                               \
   n,                                                               \
   k,                                                               \
   #symbol,                                                         \
   split},
#include "ops/gemm_measured_programmatic.inc"
#undef TW_GEMM_MEASURED
  };
  const auto chip = hopper(132, "NVIDIA H200");
  for (const Row& row : rows) {
    GemmDesc desc = gemm_desc(row.m, row.n, row.k);
    desc.flags = row.flags;
    desc.ab_dtype = row.in;
    desc.d_dtype = row.out;
    desc.a_order = row.a_order;
    desc.b_order = row.b_order;
    // As they were measured: what no map reads is copied first.
    const GemmProblem packed = gemm_problem_of(desc);
    desc.realign = !packed.pitches_suit_maps();
    if (desc.realign) desc.min_m = row.m;
    if (desc.realign) desc.a_alignment = desc.b_alignment = 16;
    std::string text = row.text;
    if (row.split > 1) text += "/" + std::to_string(row.split);
    INFO(text << " for " << row.m << " " << row.n << " " << row.k << ", flags " << row.flags);
    CHECK(kernel_of(chip, desc, GemmTuning()) == text);
    // With fewer SMs, or by another order of the caller's, it does not count.
    GemmTuning tuning;
    const std::string other = gemm_choice_text(
        GemmRanking(*chip, gemm_served(gemm_problem_of(desc))).at(row.m)[1].choice);
    GemmTuned entry{gemm_tuning_key(*chip, gemm_problem_of(desc)), row.m, {}};
    REQUIRE(parse_gemm_choice("candidate", other.c_str(), &entry.candidate.choice).ok());
    tuning.add(entry);
    CHECK(kernel_of(chip, desc, tuning) == other);
  }
}

namespace {

struct Tuned {
  std::string choice;
  double microseconds;
  int runs;
};

// Tunes with a clock by which `fast` takes 10 us and everything else 20 us.
Tuned tuned(const std::shared_ptr<PaperDevice>& device, const std::string& fast,
            const GemmTuneDesc& how, GemmTuning* tuning, GemmRun run = {}) {
  const std::string symbol = fast.substr(0, fast.find('/'));
  const uint32_t split = fast.find('/') == fast.npos ? 0 : static_cast<uint32_t>(fast.back() - '0');
  device->launches.clear();
  device->time_of = [=](const PaperLaunch& launch) {
    if (launch.kernel.find("gemm") != 0) return 1.0;  // the flush
    const bool hit = launch.kernel == symbol && (split == 0 || launch.config.cluster[0] == split);
    return hit ? 0.010 : 0.020;
  };
  if (run.a == 0) run = {.a = 1 << 20, .b = 1 << 25, .c = 0, .d = 1 << 30};
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmTuned out;
  const Status status =
      tune_gemm(device, *stream, gemm_desc(64, 576, 7168), run, how, tuning, &out);
  INFO(last_error().message);
  REQUIRE(status.ok());
  return {gemm_choice_text(out.candidate.choice), out.candidate.nanoseconds / 1e3,
          static_cast<int>(device->launches.size())};
}

}  // namespace

TEST_CASE("the tuner picks the fastest by the clock, whatever was first") {
  const auto device = hopper();
  const GemmDesc desc = gemm_desc(64, 576, 7168);
  const auto ranked = GemmRanking(*device, gemm_problem_of(desc)).at(64);
  for (const size_t place : {size_t{0}, size_t{1}, size_t{7}, ranked.size() - 1}) {
    const std::string fast = gemm_choice_text(ranked[place].choice);
    INFO(fast);
    GemmTuning tuning;
    // Planted: the slowest that there is, as if it had been measured.
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
  const auto ranked = GemmRanking(*device, gemm_problem_of(gemm_desc(64, 576, 7168))).at(64);
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
  const auto ranked = GemmRanking(*device, gemm_problem_of(gemm_desc(64, 576, 7168))).at(64);
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
  CHECK(runs == 12 + 12 + 6);  // warm-up, the first round, and one that is not hopeless
  const GemmRun odd{.a = (1 << 20) + 2, .b = 1 << 25, .d = 1 << 30};
  CHECK(tuned(device, "none", {}, &tuning, odd).choice ==
        gemm_choice_text(
            GemmRanking(*device, gemm_problem_of(gemm_desc(64, 576, 7168))).best_plain(64).choice));
}

TEST_CASE("a captured stream is refused before anything is launched") {
  const auto device = hopper();
  device->capturing = true;
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmTuning tuning;
  GemmTuned out;
  const GemmRun run{.a = 1 << 20, .b = 1 << 25, .d = 1 << 30};
  CHECK(tune_gemm(device, *stream, gemm_desc(64, 576, 7168), run, {}, &tuning, &out).code() ==
        Code::ERROR_CAPTURE);
  CHECK(device->launches.empty());
  CHECK(device->prepared == 0);
}

TEST_CASE("what cannot be tuned") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmTuning tuning;
  GemmTuned out;
  const auto refused = [&](const GemmDesc& desc, const GemmRun& run, const GemmTuneDesc& how,
                           const char* argument) {
    INFO(argument);
    CHECK(tune_gemm(device, *stream, desc, run, how, &tuning, &out).code() ==
          Code::ERROR_INVALID_ARGUMENT);
    CHECK(std::string(last_error().fault.argument) == argument);
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
    CHECK(static_cast<uint64_t>(last_error().fault.got) == bytes);
    CHECK(last_error().fault.limit == int64_t{1} << 60);
    const std::string message = last_error().message;
    CHECK(message.find("flush_bytes is " + std::to_string(bytes)) != message.npos);
  }
  std::unique_ptr<Plan> prefetch;  // as many can be read
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
