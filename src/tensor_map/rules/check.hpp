// SPDX-License-Identifier: Apache-2.0
#pragma once
// All broken rules of a description at once. The list of rules is rules.inc.

#include <cstddef>
#include <cstdint>

#include "tensor_map/tensor_map.hpp"

namespace tw {

enum class Rule : int32_t {
#define TW_RULE(id, argument, kinds, evidence, sentence) id,
#include "tensor_map/rules/rules.inc"
#undef TW_RULE
};

/// For which maps a rule is, as bits.
enum class RuleKinds : int32_t { tiled = 1, im2col = 6, wide = 4, any = 7 };
enum class Evidence : int32_t { measured, manual };

/// A row of rules.inc.
struct RuleRow {
  const char* id;
  const char* argument;
  RuleKinds kinds;
  Evidence evidence;
  const char* sentence;
};
int32_t rule_count();
const RuleRow& rule_row(Rule rule);

/// What the rules are made of. Not in a manual: kMaxBoxBytes and kMaxAddress.
inline constexpr int64_t kMaxAddress = (int64_t{1} << 57) - 1;
inline constexpr int64_t kMaxDim = int64_t{1} << 32;
inline constexpr int64_t kMaxStride = (int64_t{1} << 40) - 1;
inline constexpr int64_t kMaxBoxDim = 256;
inline constexpr int64_t kMaxPixels = 1024;
inline constexpr int64_t kMaxElementStride = 8;
inline constexpr int64_t kMaxBoxBytes = 228 * 1024;

/// Smallest and largest corner of an im2col map: the fewer dimensions, the more bits each has.
struct CornerRange {
  int32_t min;
  int32_t max;
};
constexpr CornerRange corner_range(int32_t rank) {
  return rank <= 3 ? CornerRange{-32768, 32767}
                   : (rank == 4 ? CornerRange{-128, 127} : CornerRange{-16, 15});
}

/// What addresses and strides must be multiples of.
int64_t global_alignment(const TensorMapDesc& desc);
/// Positions of an im2col map's bounding box along spatial dimension i, as the driver counts them.
int64_t bounding_positions(const TensorMapDesc& desc, int32_t i);

struct Violation {
  Rule rule;
  int32_t index;  ///< element of the argument, or -1
  int64_t got;
  int64_t limit;
};

/// The broken rules, in the order of rules.inc by group. Never full: kCapacity exceeds the number
/// that one description can break.
struct Violations {
  static constexpr int32_t kCapacity = 64;
  int32_t count = 0;
  Violation items[kCapacity];  // the first `count` are set

  Violations() {}  // leaves the items alone: this is on the path of every check
  const Violation* begin() const { return items; }
  const Violation* end() const { return items + count; }
  void add(Rule rule, int32_t index, int64_t got, int64_t limit) {
    if (count < kCapacity) items[count++] = Violation{rule, index, got, limit};
  }
};

/// Whether devices.inc has the compute capability major * 10 + minor. Rules of a capability that is
/// not listed are those of the chips of 10.0 and later.
bool known_arch(int32_t arch);

/// Lists every rule that the description breaks on the target.
void check_all(const TensorMapDesc& desc, int32_t arch, Violations* out);

/// The failure of a description that breaks rules: the first one, and a description that would be
/// accepted.
Status report(const TensorMapDesc& desc, int32_t arch, const Violations& violations);

/// The rule's sentence with the violation's numbers; cut to `capacity` bytes with the zero.
void format_violation(const Violation& violation, char* buffer, size_t capacity);

}  // namespace tw
