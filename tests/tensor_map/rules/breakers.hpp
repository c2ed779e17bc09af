// SPDX-License-Identifier: Apache-2.0
#pragma once
// Edits that each break one rule of a valid description, and an independent check of the numbers
// that a violation reports.

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

/// Whether the description breaks the rule at this index and the violation's numbers are correct.
bool is_right(const Violation& violation, const TensorMapDesc& desc, int32_t arch);

}  // namespace tw::test
