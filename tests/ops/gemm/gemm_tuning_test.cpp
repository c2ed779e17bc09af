// SPDX-License-Identifier: Apache-2.0
// Tuning entries: their text format, and when they override the cost model.
#include "ops/gemm/select/gemm_tuning.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "ops/gemm/gemm_staging.hpp"
#include "tests/ops/gemm/tuning_text.hpp"

using namespace tw;
using namespace tw::test;

TEST_CASE("a tuning's text comes back the same") {
  const std::string text = text_of(
      entry(64, 2112, 7168, choice_text(kGemmSplit)) + entry(4096, 2112, 7168, choice_text()) +
      "bf16 bf16 f32 rcr 132 64 2112 7168 " + choice_text() + " 12.250 programmatic\n" +
      "bf16 bf16 f32 rcr 132 64 2112 7168 " + choice_text(kGemmEpilogue) +
      " 99.000 x9 programmatic\n" + "device NVIDIA Other 96GB\n" +
      "f16 f32 f32 crc 78 1 8 16 gemm_host_plain 0.250\n" +
      "i8 i32 f32 rcr 78 1 8 16 gemm_host_scaled 0.250\n" +
      "f8e4m3 f8e4m3 f32 rcr 78 1 8 16 gemm_host_scaled 0.250 x2 programmatic by f8e5m2 scales kb "
      "quantized\n" +
      "f8e4m3 bf16 f32 rcr 78 1 8 16 gemm_host_scaled 0.500 scales rr fast\n");
  GemmTuning tuning;
  REQUIRE(tuning.load(text).ok());
  CHECK(tuning.format() == text);
  // A second entry for the same shape replaces the first.
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
      {changed(" 64 ", " 64.5 "), 5, "m, n or k"},
      {changed(" 64 ", " 0 "), 5, "m, n or k"},
      {changed("7168", "99999999999999999999"), 5, "m, n or k"},
      {changed(choice_text(), choice_text() + "/2"), 5, "candidate"},
      {changed(choice_text(), "gemm_of_another_version"), 5, "candidate"},
      {changed("12.500", "fast"), 5, "microseconds"},
      {changed("12.500", "-3"), 5, "microseconds"},
      {changed("12.500", "nan"), 5, "microseconds"},
      {changed("12.500", "1e300"), 5, "microseconds"},
      {changed("7168", "9223372036854775807"), 5, "m, n or k"},
      {changed(" 12.500", ""), 5, "microseconds"},
      {changed("12.500", "12.500 x"), 5, "superfluous"},
      {changed("12.500", "12.500 programmatical"), 5, "superfluous"},
      {changed("12.500", "12.500 programmatic programmatic"), 5, "superfluous"},
      {changed("12.500", "12.500 programmatic x2"), 5, "superfluous"},
      {changed("12.500", "12.500 by"), 5, "type of B"},
      {changed("12.500", "12.500 by bf17"), 5, "type of B"},
      {changed("12.500", "12.500 scales"), 5, "two letters"},
      {changed("12.500", "12.500 by f8e5m2 scales"), 5, "two letters"},
      {changed("12.500", "12.500 scales kx"), 5, "two letters"},
  };
  for (const Bad& bad : cases) {
    INFO(bad.text);
    GemmTuning tuning;
    CHECK(tuning.load(bad.text).code() == Code::ERROR_PARSE);
    CHECK(std::string(last_failure().fault.argument) == "text");
    CHECK(last_failure().fault.index == bad.line);
    INFO(last_failure().message);
    CHECK(std::strstr(last_failure().message, ("line " + std::to_string(bad.line)).c_str()));
    CHECK(std::strstr(last_failure().message, bad.words));
    CHECK(tuning.format() == "tilewright gemm tuning 1\n");
  }
}

// clang tells of AddressSanitizer by __has_feature only.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
constexpr bool kAddressSanitizer = false;
#endif

TEST_CASE("a forked child uses a tuning that another thread was using") {
  std::string lines;
  for (int64_t m = 1; m <= 500; ++m) lines += entry(m, 2112, 7168, choice_text());
  GemmTuning tuning;
  REQUIRE(tuning.load(text_of(lines)).ok());
  const std::string text = tuning.format();
  const GemmTuningKey absent = gemm_tuning_key(*hopper(), {});
  std::atomic<bool> stop{false}, wrong{false};
  // The thread holds the lock nearly all the time.
  std::thread user([&] {
    // With the sanitizer it must not allocate: a child inherits the sanitizer's held locks.
    while (!stop)
      wrong = wrong || !(kAddressSanitizer ? tuning.find(absent).empty() : tuning.load(text).ok());
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(10);  // ends a child that waits
      const bool same = tuning.format() == text && tuning.load(text).ok();
      _exit(same && tuning.find(absent).empty() ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);  // exited with 0
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
  // Each entry serves its kind of plan, in either order of loading.
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
  CHECK(with(entry(4095, 2112, 7168, wanted)) == wanted);  // the same step of m
  CHECK(with(entry(4600, 2112, 7168, wanted)) == wanted);  // an eighth above
  CHECK(with(entry(4700, 2112, 7168, wanted)) == usual);
  CHECK(with(entry(4032, 2112, 7168, wanted)) == usual);  // measured for a smaller m
  CHECK(with(entry(4096, 2113, 7168, wanted)) == usual);
  CHECK(with(entry(4096, 2112, 7167, wanted)) == usual);
  CHECK(with("bf16 bf16 f32 rrr 132 4096 2112 7168 " + wanted + " 1\n") == usual);
  CHECK(with("bf16 f32 f32 rcr 132 4096 2112 7168 " + wanted + " 1\n") == usual);
  CHECK(with("bf16 bf16 f32 rcr 131 4096 2112 7168 " + wanted + " 1\n") == usual);
  CHECK(with("device papers\n" + entry(4096, 2112, 7168, wanted)) == usual);
  // An entry that cannot serve is skipped, such as a host kernel on a GPU.
  CHECK(with(entry(4096, 2112, 7168, "gemm_host_plain")) == usual);
  // The closest of two entries above wins.
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
  // Every other m follows the cost model, and its choice does not depend on the plan's range.
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
  // Among several entries the lowest step of m wins, and within it the largest m.
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

TEST_CASE("a measured limit on the columns of tiles is left out where tiles are narrower anyway") {
  const auto device = hopper();
  const std::string stream = "gemm_bf16_bf16_rc_128x256_1x1_stream/1";
  GemmTuning tuning;
  REQUIRE(tuning.load(text_of(entry(416, 2112, 7168, stream + "/w208"))).ok());
  const GemmRanking ranking(*device, gemm_problem_of(gemm_desc(416, 2112, 7168)), &tuning);
  // Two tiles of 208 columns cover 416 rows of the caller; those of 384 rows have 192 anyway.
  CHECK(gemm_choice_text(ranking.best(416).choice) == stream);
  CHECK(gemm_choice_text(ranking.best(384).choice) == stream);
  GemmTuning other;
  REQUIRE(other.load(text_of(entry(416, 2112, 7168, stream + "/w144"))).ok());
  const GemmRanking narrow(*device, gemm_problem_of(gemm_desc(416, 2112, 7168)), &other);
  CHECK(gemm_choice_text(narrow.best(416).choice) == stream + "/w144");
  CHECK(narrow.best(416).measured);
}
