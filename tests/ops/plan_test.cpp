// SPDX-License-Identifier: Apache-2.0
// What every plan asks of the addresses that a run brings, and the words it is refused in.
#include "ops/plan.hpp"

#include "doctest_main.hpp"

using namespace tw;

namespace {

bool says(const std::string& text) {
  const std::string message = last_error().message;
  INFO(message);
  const bool found = message.find(text) != std::string::npos;
  CHECK(found);
  return found;
}

void numbers(const char* argument, const char* rule, int64_t got, int64_t limit) {
  INFO(last_error().message);
  CHECK(std::string(last_error().fault.argument) == argument);
  CHECK(std::string(last_error().fault.rule) == rule);
  CHECK(last_error().fault.got == got);
  CHECK(last_error().fault.limit == limit);
}

}  // namespace

TEST_CASE("plan: an address is aligned to its elements, and as the plan was promised") {
  CHECK(check_address("index", 0x1004, 4).ok());
  CHECK(check_address("table", 0x1040, 2, 64).ok());
  CHECK(check_address("table", 0x1041, 1, 0).ok());
  CHECK(check_address("packed", 0, 4).code() == Code::ERROR_INVALID_ARGUMENT);
  numbers("packed", "address_not_null", 0, 0);

  CHECK(check_address("table", 0x1010, 2, 64).code() == Code::ERROR_MISALIGNED);
  numbers("table", "promised_alignment", 16, 64);
  says("the plan was promised that alignment");
  // Nobody promised anything of an index, a counter or a workspace.
  for (const uint32_t promised : {0u, 1u, 64u}) {
    CHECK(check_address("index", 0x1012, 8, promised).code() == Code::ERROR_MISALIGNED);
    numbers("index", "address_alignment", 2, 8);
    says("index is 0x1012, which is 2 bytes past a multiple of 8: it must be one");
  }
}

TEST_CASE("plan: a workspace that is missing or too small is told how large it must be") {
  CHECK(check_workspace(0x1000, 4096, 4096, 256).ok());
  CHECK(check_workspace(0x1000, UINT64_MAX, 4096, 256).ok());
  CHECK(check_workspace(0, 4096, 4096, 256).code() == Code::ERROR_INVALID_ARGUMENT);
  numbers("workspace", "address_not_null", 0, 4096);
  says("workspace is 0: the plan needs one of 4096 bytes");
  CHECK(check_workspace(0x1080, 4096, 4096, 256).code() == Code::ERROR_MISALIGNED);
  numbers("workspace", "address_alignment", 128, 256);
  says("it must be one");
  CHECK(check_workspace(0x1000, 4095, 4096, 256).code() == Code::ERROR_BUFFER_TOO_SMALL);
  numbers("workspace_bytes", "workspace_size", 4095, 4096);
  says("the plan needs 4096");
}

TEST_CASE("plan: what one operand writes is no byte of another") {
  const auto code = [](bool a, bool b, uint64_t at) {
    return check_apart({{"first", 0x1000, 0, true},  // there is none
                        {"a", 0x1000, 64, a},
                        {"b", at, 8, b}})
        .code();
  };
  for (const uint64_t at : {uint64_t{0x0ff9}, uint64_t{0x1000}, uint64_t{0x103f}}) {
    CHECK(code(false, false, at) == Code::OK);
    for (const bool a : {false, true}) {
      CHECK(code(a, !a, at) == Code::ERROR_OVERLAP);
      CHECK(std::string(last_error().fault.argument) == "b");
      CHECK(std::string(last_error().fault.rule) == "operands_disjoint");
    }
  }
  for (const uint64_t at : {uint64_t{0x0ff8}, uint64_t{0x1040}})
    CHECK(code(true, true, at) == Code::OK);
}
