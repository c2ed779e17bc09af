// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gathers and scatters of four rows an instruction: what they can do, and their tensor map.

#include <cstdint>

#include "ops/rows/rows_setup.hpp"

namespace tw::rows {

/// Why they do not serve whole operands at these addresses; nullptr where they do.
const char* four_refusal(const RowsSetup& setup, uint64_t table, uint64_t packed);
Status prepare_four(RowsSetup* setup);
/// Makes the arguments of all methods those of this one.
void fill_four(const RowsSetup& setup, uint64_t table, RowsLaunch* launch);

}  // namespace tw::rows
