// SPDX-License-Identifier: Apache-2.0
#pragma once
// packed[i, :] = table[index[i], :], or zeros if index[i] is outside the table; or the weighted sum
// of several rows of the table.

#include "kernels/rows/rows.h"

namespace tw {

using GatherArgs = RowsArgs;

/// Arguments of kRowsMargin, which writes zeros to the columns of the packed operand that lie
/// outside the table.
struct MarginArgs {
  RowsArgs rows;  // packed points to column 0, row_bytes covers the whole row
  u64 lead_bytes;
  u64 tail_bytes;
};
static_assert(sizeof(MarginArgs) == sizeof(RowsArgs) + 16, "the device sees the host's layout");

}  // namespace tw
