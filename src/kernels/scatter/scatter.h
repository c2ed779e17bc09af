// SPDX-License-Identifier: Apache-2.0
#pragma once
// table[index[i], :] = packed[i, :], nothing where index[i] names no row.

#include "kernels/parts/rows.h"

namespace tw {
using ScatterArgs = RowsArgs;
}  // namespace tw
