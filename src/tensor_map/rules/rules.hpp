// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of rules (rules.inc) and the list of rules that a description breaks.

#include <cstddef>
#include <cstdint>

namespace tw {

enum class Rule : int32_t {
#define TW_RULE(id, argument, kinds, evidence, sentence) id,
#include "tensor_map/rules/rules.inc"
#undef TW_RULE
};

/// The kinds of maps that a rule applies to, as bits: 1 << MapKind.
enum class RuleKinds : int32_t { tiled = 1, im2col = 6, wide = 4, any = 7 };
enum class Evidence : int32_t { measured, manual };

/// An entry of rules.inc.
struct RuleRow {
  const char* id;
  const char* argument;
  RuleKinds kinds;
  Evidence evidence;
  const char* sentence;
};
int32_t rule_count();
const RuleRow& rule_row(Rule rule);

struct Violation {
  Rule rule;
  int32_t index;  ///< the element of an array argument, or -1
  int64_t got;
  int64_t limit;
};

/// The broken rules, in the order in which check_all() finds them. kCapacity exceeds the number of
/// rules that one description can break.
struct Violations {
  static constexpr int32_t kCapacity = 64;
  int32_t count = 0;
  Violation items[kCapacity];  // the first `count` are set

  Violations() {}  // leaves `items` uninitialized, because every check constructs one
  const Violation* begin() const { return items; }
  const Violation* end() const { return items + count; }
  void add(Rule rule, int32_t index, int64_t got, int64_t limit) {
    if (count < kCapacity) items[count++] = Violation{rule, index, got, limit};
  }
};

/// Writes the rule's sentence with the violation's numbers, cut to `capacity` bytes including the
/// terminating zero.
void format_violation(const Violation& violation, char* buffer, size_t capacity);

}  // namespace tw
