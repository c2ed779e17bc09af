// SPDX-License-Identifier: Apache-2.0
#include "base/status.hpp"

#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "doctest_main.hpp"

namespace tw {
namespace {

TEST_CASE("every row of status.inc has a name and a sentence") {
  std::set<int32_t> values;
  const auto look = [&](int32_t value, const char* name, const char* text) {
    CAPTURE(name);
    REQUIRE(code_name(value) != nullptr);
    CHECK(std::strcmp(code_name(value), name) == 0);
    REQUIRE(code_text(value) != nullptr);
    CHECK(std::strcmp(code_text(value), text) == 0);
    CHECK(values.insert(value).second);
  };
#define TW_STATUS(name, value, text) look(value, #name, text);
#include "base/status.inc"
#undef TW_STATUS
  for (const int32_t value : {-1, 7, 99, 113, 201, 305, 403, 501, INT32_MIN, INT32_MAX}) {
    CAPTURE(value);
    CHECK(code_name(value) == nullptr);
    CHECK(code_text(value) == nullptr);
  }
}

Status passes_on() {
  TW_TRY(fail(Code::ERROR_RULE,
              {.argument = "box_dim", .index = 1, .rule = "limit", .got = 300, .limit = 256},
              "box_dim[1] is %d: at most %d", 300, 256));
  return Code::OK;
}

TEST_CASE("the last failure is kept whole") {
  clear_failure();
  CHECK(last_failure().message[0] == '\0');
  CHECK(passes_on().code() == Code::ERROR_RULE);
  const ErrorInfo& info = last_failure();
  CHECK(info.code == Code::ERROR_RULE);
  CHECK(std::strcmp(info.fault.argument, "box_dim") == 0);
  CHECK(info.fault.index == 1);
  CHECK(info.fault.got == 300);
  CHECK(info.fault.limit == 256);
  CHECK(std::strcmp(info.message, "box_dim[1] is 300: at most 256") == 0);
  clear_failure();
  CHECK(last_failure().code == Code::OK);
  CHECK(last_failure().fault.argument == nullptr);
}

TEST_CASE("the caller is told of a failure when that is said, and not before") {
  (void)fail(Code::ERROR_PARSE, {.got = 1}, "the caller's");
  publish_error();
  (void)fail(Code::ERROR_RULE, {.got = 2}, "an answer");
  CHECK(published_error().code == Code::ERROR_PARSE);
  CHECK(published_error().fault.got == 1);
  CHECK(std::strcmp(published_error().message, "the caller's") == 0);
  {
    const RestoreErrors kept;
    (void)fail(Code::ERROR_INTERNAL, {}, "a callback's");
    publish_error();
  }
  CHECK(std::strcmp(last_failure().message, "an answer") == 0);
  CHECK(std::strcmp(published_error().message, "the caller's") == 0);
  publish_error();
  CHECK(std::strcmp(published_error().message, "an answer") == 0);
}

TEST_CASE("a clause goes in front, and too long a message keeps its beginning") {
  CHECK(fail_context(passes_on(), "plan %d", 7).code() == Code::ERROR_RULE);
  CHECK(std::strcmp(last_failure().message, "plan 7: box_dim[1] is 300: at most 256") == 0);
  CHECK(fail_context(Code::OK, "nothing").ok());

  const std::string longest(2000, 'x');
  CHECK_FALSE(fail(Code::ERROR_PARSE, {}, "%s", longest.c_str()).ok());
  CHECK(std::strlen(last_failure().message) == sizeof(ErrorInfo::message) - 1);
  CHECK_FALSE(fail_context(Code::ERROR_PARSE, "front").ok());
  CHECK(std::strncmp(last_failure().message, "front: xxx", 10) == 0);
  CHECK(std::strlen(last_failure().message) == sizeof(ErrorInfo::message) - 1);
  CHECK_FALSE(fail_context(Code::ERROR_PARSE, "%s", longest.c_str()).ok());
  CHECK(std::strlen(last_failure().message) < sizeof(ErrorInfo::message));
}

TEST_CASE("each thread has its own") {
  clear_failure();
  std::thread other([] { CHECK_FALSE(passes_on().ok()); });
  other.join();
  CHECK(last_failure().code == Code::OK);
}

}  // namespace
}  // namespace tw
