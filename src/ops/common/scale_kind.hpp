// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which elements have a scale in common, with the values of tw_scale_kind.

#include <cstdint>

namespace tw {

enum class ScaleKind : int32_t {
  none = 0,
  tensor = 1,
  row = 2,       // of A of a product, and a column of B
  k128 = 3,      // 128 elements of a row, of B of a column
  block128 = 4,  // 128 by 128
  k32_ue8m0 = 20,
  k16_ue4m3 = 21
};

}  // namespace tw
