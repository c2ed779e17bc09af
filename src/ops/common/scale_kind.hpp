// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which elements share a scale, with the values of tw_scale_kind.

#include <cstdint>

namespace tw {

enum class ScaleKind : int32_t {
  none = 0,
  tensor = 1,
  row = 2,       // a row of A, a column of B
  row128 = 3,    // 128 elements along k of a row of A, or of a column of B
  block128 = 4,  // 128 x 128 elements
  row32_ue8m0 = 20,
  row16_ue4m3 = 21
};

}  // namespace tw
