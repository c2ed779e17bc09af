// SPDX-License-Identifier: Apache-2.0
#pragma once
// packed[i, :] = table[index[i], :], zeros where index[i] names no row.

#include "kernels/parts/rows.h"

namespace tw {
using GatherArgs = RowsArgs;
}  // namespace tw
