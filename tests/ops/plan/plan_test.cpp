// SPDX-License-Identifier: Apache-2.0
// Address checks that all plans share, and their error messages.
#include "ops/plan/plan.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "doctest_main.hpp"

using namespace tw;

namespace {

bool says(const std::string& text) {
  const std::string message = last_failure().message;
  INFO(message);
  const bool found = message.find(text) != std::string::npos;
  CHECK(found);
  return found;
}

void numbers(const char* argument, const char* rule, int64_t got, int64_t limit) {
  INFO(last_failure().message);
  CHECK(std::string(last_failure().fault.argument) == argument);
  CHECK(std::string(last_failure().fault.rule) == rule);
  CHECK(last_failure().fault.got == got);
  CHECK(last_failure().fault.limit == limit);
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
  // For an index, a counter or a workspace the caller promises no alignment.
  for (const uint32_t promised : {0u, 1u, 64u}) {
    CHECK(check_address("index", 0x1012, 8, promised).code() == Code::ERROR_MISALIGNED);
    numbers("index", "address_alignment", 2, 8);
    says("index is 0x1012, 2 bytes past a multiple of 8: it must be a multiple");
  }
}

TEST_CASE("plan: a workspace that is missing or too small is told how large it must be") {
  CHECK(check_workspace(0x1000, 4096, 4096, 256).ok());
  CHECK(check_workspace(0x1000, UINT64_MAX, 4096, 256).ok());
  CHECK(check_workspace(0, 4096, 4096, 256).code() == Code::ERROR_INVALID_ARGUMENT);
  numbers("workspace", "address_not_null", 0, 4096);
  says("workspace is 0, but the plan needs 4096 bytes");
  CHECK(check_workspace(0x1080, 4096, 4096, 256).code() == Code::ERROR_MISALIGNED);
  numbers("workspace", "address_alignment", 128, 256);
  says("it must be a multiple");
  CHECK(check_workspace(0x1000, 4095, 4096, 256).code() == Code::ERROR_BUFFER_TOO_SMALL);
  numbers("workspace_bytes", "workspace_size", 4095, 4096);
  says("the plan needs 4096");
}

TEST_CASE("plan: what one operand writes is no byte of another") {
  const auto code = [](bool a, bool b, uint64_t at) {
    return check_apart({{"first", 0x1000, 0, true},  // an absent operand
                        {"a", 0x1000, 64, a},
                        {"b", at, 8, b}})
        .code();
  };
  for (const uint64_t at : {uint64_t{0x0ff9}, uint64_t{0x1000}, uint64_t{0x103f}}) {
    CHECK(code(false, false, at) == Code::OK);
    for (const bool a : {false, true}) {
      CHECK(code(a, !a, at) == Code::ERROR_OVERLAP);
      CHECK(std::string(last_failure().fault.argument) == "b");
      CHECK(std::string(last_failure().fault.rule) == "operands_disjoint");
    }
  }
  for (const uint64_t at : {uint64_t{0x0ff8}, uint64_t{0x1040}})
    CHECK(code(true, true, at) == Code::OK);
}

// Against a list of every byte.
TEST_CASE("plan: rows of one operand may lie between those of another") {
  std::mt19937_64 random(11);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const auto bytes_of = [](const RunOperand& o) {
    std::set<uint64_t> bytes;
    for (int64_t r = 0; r < o.rows; ++r)
      for (uint64_t x = 0; x < o.bytes; ++x)
        bytes.insert(o.address + static_cast<uint64_t>(r * o.pitch) + x);
    return bytes;
  };
  int found[2] = {};
  for (int i = 0; i < 4000; ++i) {
    const int64_t pitch = pick(12, 40);
    const auto draw = [&](const char* name, bool written) {
      RunOperand o{name, 0x1000 + static_cast<uint64_t>(pick(0, 200)),
                   static_cast<uint64_t>(pick(0, 12)), written};
      if (pick(0, 3) != 0) o.rows = pick(0, 9), o.pitch = pick(0, 1) ? pitch : pick(12, 40);
      return o;
    };
    const RunOperand a = draw("a", true), b = draw("b", pick(0, 1) == 1);
    const std::set<uint64_t> of_a = bytes_of(a), of_b = bytes_of(b);
    const bool shared =
        std::any_of(of_a.begin(), of_a.end(), [&](uint64_t byte) { return of_b.count(byte) != 0; });
    CAPTURE(i);
    CHECK(check_apart({a, b}).code() == (shared ? Code::ERROR_OVERLAP : Code::OK));
    if (shared) CHECK(std::string(last_failure().fault.argument) == "b");
    ++found[shared];
  }
  CHECK(found[0] > 500);
  CHECK(found[1] > 500);
}

TEST_CASE("plan: halves of one matrix are apart, however many rows there are") {
  constexpr int64_t kRows = int64_t{1} << 40, kPitch = int64_t{1} << 20;
  const auto halves = [](uint64_t first, uint64_t second) {
    return check_apart({{"table", first, kPitch / 2, false, kRows, kPitch},
                        {"packed", second, kPitch / 2, true, kRows / 3, kPitch}})
        .code();
  };
  CHECK(halves(1 << 20, (1 << 20) + kPitch / 2) == Code::OK);
  CHECK(halves((1 << 20) + kPitch / 2, 1 << 20) == Code::OK);
  CHECK(halves(1 << 20, (1 << 20) + 777 * kPitch + kPitch / 2) == Code::OK);
  CHECK(halves(1 << 20, (1 << 20) + 777 * kPitch + kPitch / 2 - 1) == Code::ERROR_OVERLAP);
  says("packed is written");
  says("rows of 524288 bytes, 1048576 apart");
  // With different pitches the distances may share a divisor, or the search may be too long.
  const auto pitches = [](int64_t first, int64_t second, uint64_t apart) {
    return check_apart({{"table", 1 << 20, 8, false, 1 << 29, first},
                        {"packed", (1 << 20) + apart, 8, true, 1 << 29, second}})
        .code();
  };
  CHECK(pitches(10000, 9968, 8) == Code::OK);  // multiples of 16
  CHECK(pitches(10000, 9968, 7) == Code::ERROR_OVERLAP);
  CHECK(pitches(1000000007, 1000000009, 500000000) == Code::ERROR_OVERLAP);
  CHECK(std::string(last_failure().fault.rule) == "operands_undecided");
  says("give both the same pitch");
}
