// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/rules/rules.hpp"

#include <cstdio>
#include <cstring>

namespace tw {
namespace {

constexpr RuleRow kRules[] = {
#define TW_RULE(id, argument, kinds, evidence, sentence) \
  {#id, argument, RuleKinds::kinds, Evidence::evidence, sentence},
#include "tensor_map/rules/rules.inc"
#undef TW_RULE
};

// Writes the text for the placeholder at `token`. Returns the placeholder's length, or 0 if there
// is none.
size_t substitute(const char* token, const Violation& violation, char* text, size_t capacity) {
  const auto is = [&](const char* name) {
    return std::strncmp(token, name, std::strlen(name)) == 0;
  };
  if (is("{i}")) {
    std::snprintf(text, capacity, "%d", violation.index);
    return 3;
  }
  if (is("{got}")) {
    std::snprintf(text, capacity, "%lld", static_cast<long long>(violation.got));
    return 5;
  }
  if (is("{got:u}")) {
    std::snprintf(text, capacity, "%llu", static_cast<unsigned long long>(violation.got));
    return 7;
  }
  if (is("{got:x}")) {
    std::snprintf(text, capacity, "0x%llx", static_cast<unsigned long long>(violation.got));
    return 7;
  }
  if (is("{limit}")) {
    std::snprintf(text, capacity, "%lld", static_cast<long long>(violation.limit));
    return 7;
  }
  return 0;
}

}  // namespace

int32_t rule_count() {
  return static_cast<int32_t>(sizeof kRules / sizeof kRules[0]);
}

const RuleRow& rule_row(Rule rule) {
  return kRules[static_cast<int32_t>(rule)];
}

void format_violation(const Violation& violation, char* buffer, size_t capacity) {
  if (capacity == 0) return;
  size_t used = 0;
  const auto append = [&](const char* text, size_t length) {
    const size_t room = capacity - 1 - used;
    const size_t part = length < room ? length : room;
    std::memcpy(buffer + used, text, part);
    used += part;
  };
  for (const char* p = rule_row(violation.rule).sentence; *p != '\0';) {
    char number[32];
    const size_t token = *p == '{' ? substitute(p, violation, number, sizeof number) : 0;
    if (token != 0) {
      append(number, std::strlen(number));
      p += token;
    } else {
      append(p, 1);
      ++p;
    }
  }
  buffer[used] = '\0';
}

}  // namespace tw
