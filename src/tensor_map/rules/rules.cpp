// SPDX-License-Identifier: Apache-2.0
// The table of rules, and a violation in words.
#include <cstdio>
#include <cstring>

#include "tensor_map/rules/check.hpp"
#include "tensor_map/rules/propose.hpp"

namespace tw {
namespace {

constexpr RuleRow kRules[] = {
#define TW_RULE(id, argument, kinds, evidence, sentence) \
  {#id, argument, RuleKinds::kinds, Evidence::evidence, sentence},
#include "tensor_map/rules/rules.inc"
#undef TW_RULE
};

// The text of the placeholder at `token`; its length, or 0 where it is none.
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

Status check(const TensorMapDesc& desc, int32_t arch) {
  Violations violations;
  check_all(desc, arch, &violations);
  return violations.count == 0 ? Status() : report(desc, arch, violations);
}

Status report(const TensorMapDesc& desc, int32_t arch, const Violations& violations) {
  const Violation& first = violations.items[0];
  const RuleRow& row = rule_row(first.rule);
  TensorMapDesc proposed;
  const bool found = propose(desc, arch, violations, &proposed);
  char message[512];
  char proposal[384];
  format_violation(first, message, sizeof message);
  format_proposal(desc, found ? &proposed : nullptr, proposal, sizeof proposal);
  return fail(Code::ERROR_RULE,
              {.argument = row.argument,
               .index = first.index,
               .rule = row.id,
               .got = first.got,
               .limit = first.limit},
              "%s%s. %s", message, violations.count > 1 ? " (and other rules are broken)" : "",
              proposal);
}

}  // namespace tw
