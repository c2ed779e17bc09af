// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernel arguments and launch configuration of each method.

#include <cstdint>

#include "ops/rows/rows_setup.hpp"

namespace tw::rows {

/// Completes the common arguments in `launch` for this method.
void fill(const RowsSetup& setup, uint32_t method, uint64_t table, uint64_t packed,
          RowsLaunch* launch);
LaunchConfig config(const RowsSetup& setup, uint32_t method, const RowsLaunch& launch);
/// Launch configuration of a step: each block processes `per_block` of the items.
LaunchConfig step_config(const RowsSetup& setup, uint32_t variant, uint64_t items,
                         uint64_t per_block);

}  // namespace tw::rows
