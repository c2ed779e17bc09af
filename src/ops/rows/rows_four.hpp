// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gathers and scatters by gather4 and scatter4: their conditions, arguments and tensor map.

#include <cstdint>

#include "ops/rows/rows_setup.hpp"

namespace tw::rows {

/// Returns why gather4 or scatter4 cannot serve operands at these addresses; nullptr if it can.
const char* four_refusal(const RowsSetup& setup, uint64_t table, uint64_t packed);
Status prepare_four(RowsSetup* setup);
/// Completes the common arguments in `launch` for this method.
void fill_four(const RowsSetup& setup, uint64_t table, RowsLaunch* launch);

}  // namespace tw::rows
