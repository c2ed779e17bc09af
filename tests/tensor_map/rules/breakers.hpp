// SPDX-License-Identifier: Apache-2.0
#pragma once
// For every rule, changes to a right description that break it; and what the numbers of a violation
// must be, worked out anew from the description.

#include <cstdint>
#include <vector>

#include "tensor_map/rules/check.hpp"

namespace tw::test {

struct Breaker {
  Rule rule;
  void (*apply)(TensorMapDesc& desc);
  int32_t index;
  MapKind base = MapKind::tiled;  ///< the description that it starts from
  int32_t arch = 90;
};

const std::vector<Breaker>& breakers();

/// Whether the description breaks the rule at the index, and whether the numbers are those.
bool is_right(const Violation& violation, const TensorMapDesc& desc, int32_t arch);

}  // namespace tw::test
