// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include "doctest_main.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tw::test {
namespace {

bool g_case_skipped = false;
unsigned g_cases_run = 0;
unsigned g_cases_skipped = 0;

/// Counts the test cases that ran and those that called skip().
struct SkipListener : doctest::IReporter {
  explicit SkipListener(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData&) override { g_case_skipped = false; }
  void test_case_end(const doctest::CurrentTestCaseStats&) override {
    ++g_cases_run;
    g_cases_skipped += g_case_skipped ? 1 : 0;
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("skips", 1, SkipListener);

}  // namespace

void skip(const char* reason) {
  g_case_skipped = true;
  std::printf("skipped: %s\n", reason);
  std::fflush(stdout);
}

const char* test_device() {
  const char* name = std::getenv("TW_TEST_DEVICE");
  return name && *name ? name : "host";
}

}  // namespace tw::test

int main(int argc, char** argv) {
  using namespace tw::test;
  if (std::strcmp(test_device(), "host") != 0 && std::strcmp(test_device(), "cuda") != 0 &&
      std::strcmp(test_device(), "ptx") != 0) {
    std::fprintf(stderr, "TW_TEST_DEVICE is \"%s\": host, cuda or ptx\n", test_device());
    return 1;
  }
  doctest::Context context(argc, argv);
  const int failed = context.run();
  if (failed || context.shouldExit()) return failed;
  if (g_cases_run == 0) {
    std::fprintf(stderr, "no test case ran\n");
    return 1;
  }
  return g_cases_skipped == g_cases_run ? 77 : 0;
}
