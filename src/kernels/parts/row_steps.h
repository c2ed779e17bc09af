// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the steps that both families have.

#include "kernels/parts/rows.h"

namespace tw {

struct OutsideArgs {
  RowsArgs rows;
  u64 counter;  // a 64-bit word, to which the number is added
};
static_assert(sizeof(OutsideArgs) == sizeof(RowsArgs) + 8, "the device sees the host's layout");

}  // namespace tw
