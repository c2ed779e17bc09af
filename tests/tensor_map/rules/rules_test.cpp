// SPDX-License-Identifier: Apache-2.0
// Breaks each rule alone, and each pair of rules that can be broken together.
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "doctest_main.hpp"
#include "tensor_map/rules/check.hpp"
#include "tensor_map/rules/fields.hpp"
#include "tensor_map/rules/propose.hpp"
#include "tests/tensor_map/descs.hpp"
#include "tests/tensor_map/rules/breakers.hpp"

namespace tw {
namespace {

using test::Breaker;
using test::breakers;
using test::is_right;

TensorMapDesc base_of(const Breaker& breaker) {
  return breaker.base == MapKind::tiled ? test::tensor4() : test::image(breaker.base);
}

const Violation* find(const Violations& violations, Rule rule, int32_t index) {
  for (const Violation& violation : violations)
    if (violation.rule == rule && violation.index == index) return &violation;
  return nullptr;
}

// A proposal must be accepted, must change only what the broken rules name, and must keep at least
// half of the box if shared memory allows it.
void check_proposal(const TensorMapDesc& desc, int32_t arch, const Violations& violations) {
  TensorMapDesc proposed;
  if (!propose(desc, arch, violations, &proposed)) return;
  Violations left;
  check_all(proposed, arch, &left);
  CHECK(left.count == 0);
  CHECK((changed_fields(desc, proposed) & ~named_fields(violations)) == 0);
  const bool box_is_free = (named_fields(violations) & field::box_dim) != 0 && desc.rank > 1;
  if (box_is_free && unchecked_box_bytes(desc) <= 2 * static_cast<double>(kMaxBoxBytes) &&
      (named_fields(violations) & (field::dtype | field::rank)) == 0)
    CHECK(unchecked_box_bytes(proposed) >= unchecked_box_bytes(desc) / 2);
}

TEST_CASE("right descriptions break nothing on any chip") {
  for (const int32_t arch : {90, 100, 103, 110, 120})
    for (const TensorMapDesc& desc :
         {test::tensor4(), test::image(), test::image(MapKind::im2col_wide)}) {
      Violations violations;
      check_all(desc, arch, &violations);
      CHECK(violations.count == 0);
      CHECK(check(desc, arch).ok());
    }
}

TEST_CASE("every rule of rules.inc is broken by a description, and says so with its numbers") {
  std::set<Rule> seen;
  for (const Breaker& breaker : breakers()) {
    const RuleRow& row = rule_row(breaker.rule);
    const std::string id = row.id;
    CAPTURE(id);
    seen.insert(breaker.rule);
    TensorMapDesc desc = base_of(breaker);
    breaker.apply(desc);
    Violations violations;
    check_all(desc, breaker.arch, &violations);
    const Violation* violation = find(violations, breaker.rule, breaker.index);
    REQUIRE(violation != nullptr);
    CHECK(is_right(*violation, desc, breaker.arch));

    char message[512];
    format_violation(*violation, message, sizeof message);
    const std::string text = message;
    CAPTURE(text);
    CHECK(std::strchr(message, '{') == nullptr);
    char number[32];
    const bool hexadecimal = std::strstr(row.sentence, "{got:x}") != nullptr;
    std::snprintf(number, sizeof number, hexadecimal ? "0x%llx" : "%lld",
                  static_cast<long long>(violation->got));
    CHECK(std::strstr(message, number) != nullptr);

    CHECK(check(desc, breaker.arch).code() == Code::ERROR_RULE);
    const Violation& first = violations.items[0];
    CHECK(std::strcmp(last_failure().fault.rule, rule_row(first.rule).id) == 0);
    CHECK(last_failure().fault.got == first.got);
    check_proposal(desc, breaker.arch, violations);
  }
  CHECK(static_cast<int32_t>(seen.size()) == rule_count());
}

TEST_CASE("a rule that is broken alone is mended") {
  int alone = 0;
  for (const Breaker& breaker : breakers()) {
    TensorMapDesc desc = base_of(breaker);
    breaker.apply(desc);
    Violations violations;
    check_all(desc, breaker.arch, &violations);
    if (violations.count != 1) continue;
    ++alone;
    const std::string id = rule_row(breaker.rule).id;
    CAPTURE(id);
    TensorMapDesc proposed;
    CHECK(propose(desc, breaker.arch, violations, &proposed));
  }
  CHECK(alone > 40);
}

using Pair = std::pair<Rule, Rule>;
constexpr size_t kPairs = 540;

// Checks the numbers of every violation of a description, and records the pairs of rules.
void check_together(const TensorMapDesc& desc, int32_t arch, std::set<Pair>* pairs) {
  Violations violations;
  check_all(desc, arch, &violations);
  REQUIRE(violations.count < Violations::kCapacity);
  bool news = false;
  for (const Violation& a : violations) {
    if (!is_right(a, desc, arch)) {
      const std::string id = rule_row(a.rule).id;
      FAIL_CHECK(id << "[" << a.index << "]: got " << a.got << ", limit " << a.limit);
    }
    for (const Violation& b : violations)
      if (a.rule < b.rule) news |= pairs->insert({a.rule, b.rule}).second;
  }
  if (news) check_proposal(desc, arch, violations);
}

// A description with many fields at or beyond the limits.
TensorMapDesc wild(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  static constexpr DType kTypes[] = {
#define TW_DTYPE(name, value, bits, map_type, text) DType::name,
#include "base/dtypes.inc"
#undef TW_DTYPE
      static_cast<DType>(99)};
  TensorMapDesc desc;
  desc.kind = static_cast<MapKind>(random() % 3);
  desc.dtype = kTypes[random() % std::size(kTypes)];
  desc.rank = static_cast<int32_t>(pick({0, 1, 2, 2, 3, 3, 4, 5, 6}));
  desc.interleave = static_cast<Interleave>(pick({0, 0, 1, 2, 3}));
  desc.swizzle = static_cast<Swizzle>(random() % 8);
  desc.l2_promotion = static_cast<L2Promotion>(pick({0, 1, 2, 3, 3, 4}));
  desc.oob_fill = static_cast<OobFill>(pick({0, 0, 1, 1, 2}));
  desc.global_address = static_cast<uint64_t>(pick({0, 4096, 4104, 1ll << 57, (1ll << 57) + 8}));
  for (int i = 0; i < 5; ++i) {
    desc.global_dim[i] = static_cast<uint64_t>(
        pick({0, 1, 2, 64, 65, 128, 256, 1ll << 32, (1ll << 32) + 5, (1ll << 31) - 1}));
    desc.global_stride_bytes[i] = static_cast<uint64_t>(
        pick({0, 16, 24, 32, 256, (1ll << 40) - 32, 1ll << 40, (1ll << 40) + 8}));
    desc.box_dim[i] = static_cast<uint32_t>(pick({0, 1, 8, 16, 31, 64, 100, 128, 256, 257}));
    desc.element_strides[i] = static_cast<uint32_t>(pick({0, 1, 1, 1, 2, 8, 9}));
  }
  desc.channels_per_pixel = static_cast<uint32_t>(pick({0, 4, 8, 31, 64, 128, 256, 257}));
  desc.pixels_per_column = static_cast<uint32_t>(pick({0, 1, 64, 256, 1024, 1025}));
  for (int i = 0; i < 3; ++i) {
    desc.lower_corner[i] = static_cast<int32_t>(pick({0, -1, -1, 3, -17, -129, 200, -40000}));
    desc.upper_corner[i] = static_cast<int32_t>(pick({0, -1, 1, -3, 16, 128, -200, 40000}));
  }
  desc.wide_mode = static_cast<int32_t>(random() % 3);
  return desc;
}

TEST_CASE("pairs of rules that are broken together are both named, with the numbers of both") {
  std::set<Pair> pairs;
  for (const Breaker& a : breakers())
    for (const Breaker& b : breakers())
      if (a.base == b.base) {
        TensorMapDesc desc = base_of(a);
        a.apply(desc);
        b.apply(desc);
        check_together(desc, 90, &pairs);
        check_together(desc, 100, &pairs);
      }
  std::mt19937_64 random(20261121);
  for (int i = 0; i < 60000; ++i) {
    const TensorMapDesc desc = wild(random);
    check_together(desc, i % 2 == 0 ? 90 : 100, &pairs);
  }
  // The remaining pairs exclude each other: two values of one field, rules of tiled and of im2col
  // maps, or an invalid rank and a rule about its dimensions.
  CHECK(pairs.size() >= kPairs);
}

TEST_CASE("the message of a failed check proposes what is accepted") {
  TensorMapDesc desc = test::matrix(1024, 512, 128, 128, Swizzle::b128);
  REQUIRE(check(desc, 90).code() == Code::ERROR_RULE);
  CHECK(std::string(last_failure().message) ==
        "a row of the box (box_dim[0] times the element size) is 256 bytes, wider than the "
        "swizzle's 128. With box_dim {64, 128} it would be accepted");
  desc.global_address += 4;
  REQUIRE(check(desc, 90).code() == Code::ERROR_RULE);
  CHECK(std::string(last_failure().message) ==
        "global_address 0x100004 is not a multiple of 16 bytes (and other rules are broken). With "
        "global_address 0x100010 and box_dim {64, 128} it would be accepted");
}

TEST_CASE("numbers of unsigned fields are told unsigned") {
  TensorMapDesc desc = test::matrix(1024, 512, 128, 64);
  desc.global_dim[0] = UINT64_MAX;
  REQUIRE(check(desc, 90).code() == Code::ERROR_RULE);
  CHECK(std::string(last_failure().message) ==
        "global_dim[0] is 18446744073709551615; an extent is at most 4294967296 elements. With "
        "global_dim {4294967296, 1024} it would be accepted");
  desc = test::matrix(1024, 512, 128, 64);
  desc.global_stride_bytes[0] = UINT64_MAX - 15;
  REQUIRE(check(desc, 90).code() == Code::ERROR_RULE);
  CHECK(std::string(last_failure().message) ==
        "global_stride_bytes[0] is 18446744073709551600 bytes; a stride is at most 1099511627775. "
        "With "
        "global_stride_bytes {1099511627760} it would be accepted");
  desc.global_stride_bytes[0] = UINT64_MAX;
  REQUIRE(check(desc, 90).code() == Code::ERROR_RULE);
  CHECK(std::string(last_failure().message)
            .rfind("global_stride_bytes[0] is 18446744073709551615 ", 0) == 0);
  desc = test::matrix(1024, 512, 128, 128);
  desc.dtype = DType::U4X16_ALIGN16B;
  desc.global_dim[0] = UINT64_MAX;
  Violations violations;
  check_all(desc, 100, &violations);
  const Violation* violation = find(violations, Rule::packed_dim, 0);
  REQUIRE(violation != nullptr);
  char message[512];
  format_violation(*violation, message, sizeof message);
  CHECK(std::string(message).rfind("global_dim[0] is 18446744073709551615, not", 0) == 0);
}

TEST_CASE("a misaligned address is rounded up, never to NULL") {
  struct Case {
    uint64_t address, proposed;
  };
  constexpr uint64_t kLast = static_cast<uint64_t>(kMaxAddress) / 16 * 16;
  for (const Case& c :
       {Case{1, 16}, Case{8, 16}, Case{17, 32}, Case{kLast + 1, kLast}, Case{UINT64_MAX, kLast}}) {
    TensorMapDesc desc = test::matrix(1024, 512, 128, 64);
    desc.global_address = c.address;
    CAPTURE(c.address);
    Violations violations;
    check_all(desc, 90, &violations);
    REQUIRE(violations.count > 0);
    TensorMapDesc proposed;
    REQUIRE(propose(desc, 90, violations, &proposed));
    CHECK(proposed.global_address == c.proposed);
  }
}

TEST_CASE("an im2col map's extent and upper corner are added in 32 bits, as the driver does") {
  struct Case {
    uint64_t extent;
    int32_t lower, upper;
    bool accepted;
  };
  // The driver's answers on compute capability 9.0.
  for (const Case& c : {Case{2147483645, 1, 3, false}, Case{2147483647, -3, 2, false},
                        Case{2147483648, 0, -2, true}, Case{2147483648, 1, -3, true},
                        Case{4294967296, -4, -2, true}, Case{4294967296, -1, -1, false}}) {
    TensorMapDesc desc = test::image();
    desc.global_dim[1] = c.extent;
    desc.lower_corner[0] = c.lower;
    desc.upper_corner[0] = c.upper;
    CAPTURE(c.extent);
    CHECK(check(desc, 90).ok() == c.accepted);
    if (c.accepted) continue;
    Violations violations;
    check_all(desc, 90, &violations);
    TensorMapDesc proposed;
    CHECK(propose(desc, 90, violations, &proposed));
    CHECK(check(proposed, 90).ok());
  }
}

TEST_CASE("texts are cut at the end of the caller's buffer") {
  TensorMapDesc desc = test::matrix(1024, 512, 128, 128, Swizzle::b128);
  Violations violations;
  check_all(desc, 90, &violations);
  REQUIRE(violations.count == 1);
  char small[8];
  std::memset(small, 'x', sizeof small);
  format_violation(violations.items[0], small, sizeof small - 1);
  CHECK(std::string(small) == "a row ");
  CHECK(small[7] == 'x');
  TensorMapDesc proposed;
  REQUIRE(propose(desc, 90, violations, &proposed));
  format_proposal(desc, &proposed, small, sizeof small - 1);
  CHECK(std::string(small) == "Other ");
  CHECK(small[7] == 'x');
}

TEST_CASE("a proposal that is too long ends with a whole field") {
  TensorMapDesc desc = test::image();
  desc.global_address = 8;
  desc.global_dim[0] = (uint64_t{1} << 32) + 1;
  for (int i = 0; i < 3; ++i) desc.global_stride_bytes[i] = (uint64_t{1} << 40) + 8;
  for (int i = 0; i < 4; ++i) desc.element_strides[i] = 9;
  desc.channels_per_pixel = 31;
  desc.pixels_per_column = 4096;
  for (int i = 0; i < 2; ++i) desc.lower_corner[i] = desc.upper_corner[i] = INT32_MIN;
  Violations violations;
  check_all(desc, 90, &violations);
  TensorMapDesc proposed;
  REQUIRE(propose(desc, 90, violations, &proposed));
  char all[1024];
  format_proposal(desc, &proposed, all, sizeof all);
  const std::string whole = all;
  CHECK(whole.find("lower_corner {") != std::string::npos);
  CHECK(whole.find("...") == std::string::npos);
  for (size_t capacity = 100; capacity <= whole.size() + 1; ++capacity) {
    char part[1024];
    format_proposal(desc, &proposed, part, capacity);
    const std::string text = part;
    CAPTURE(text);
    REQUIRE(text.size() < capacity);
    if (capacity == whole.size() + 1) {
      CHECK(text == whole);
      continue;
    }
    const std::string end = ", ... it would be accepted";
    REQUIRE(text.size() > end.size());
    REQUIRE(text.substr(text.size() - end.size()) == end);
    const std::string begin = text.substr(0, text.size() - end.size());
    REQUIRE(whole.substr(0, begin.size()) == begin);  // the next field follows
    const std::string next = whole.substr(begin.size(), 5);
    REQUIRE((next.substr(0, 2) == ", " || next == " and "));
  }
}

TEST_CASE("an im2col-wide map's proposal has the one corner that the map has") {
  TensorMapDesc desc = test::image(MapKind::im2col_wide);
  desc.lower_corner[0] = 40000;
  Violations violations;
  check_all(desc, 90, &violations);
  TensorMapDesc proposed;
  REQUIRE(propose(desc, 90, violations, &proposed));
  char text[384];
  format_proposal(desc, &proposed, text, sizeof text);
  const std::string said = text;
  CAPTURE(said);
  const size_t at = said.find("lower_corner {");
  REQUIRE(at != std::string::npos);
  CHECK(said.substr(at, said.find('}', at) - at).find(',') == std::string::npos);
}

TEST_CASE("a box that breaks no rule stays as it was asked for") {
  // Only the swizzle is wrong. A rule of the swizzle names the box, but that does not change it.
  TensorMapDesc desc = test::tensor4();
  desc.dtype = DType::U4X16_ALIGN16B;
  desc.rank = 5;
  const uint32_t box[] = {128, 1, 16, 210, 227};
  for (int i = 0; i < 5; ++i) {
    desc.global_dim[i] = 1024;
    if (i < 4) desc.global_stride_bytes[i] = uint64_t{1024} << (8 * i / 2);
    desc.box_dim[i] = box[i];
    desc.element_strides[i] = i == 1 ? 3 : 1;
  }
  desc.swizzle = Swizzle::b32;
  desc.interleave = Interleave::none;
  Violations violations;
  check_all(desc, 100, &violations);
  REQUIRE(violations.count > 0);
  TensorMapDesc proposed;
  REQUIRE(propose(desc, 100, violations, &proposed));
  for (int i = 0; i < 5; ++i) CHECK(proposed.box_dim[i] == box[i]);
}

TEST_CASE("both corners move where neither alone can make room") {
  TensorMapDesc desc = test::image();
  desc.rank = 5;
  desc.global_dim[4] = 7;
  desc.global_stride_bytes[3] = desc.global_stride_bytes[2];
  desc.element_strides[4] = 1;
  desc.global_dim[1] = 4294967295;  // -1, as the driver reads it
  desc.lower_corner[0] = 16;
  desc.upper_corner[0] = 0;
  Violations violations;
  check_all(desc, 90, &violations);
  REQUIRE(violations.count > 0);
  for (const Violation& violation : violations)
    CHECK(std::strcmp(rule_row(violation.rule).argument, "global_dim") != 0);
  TensorMapDesc proposed;
  REQUIRE(propose(desc, 90, violations, &proposed));
  CHECK(check(proposed, 90).ok());
}

}  // namespace
}  // namespace tw
