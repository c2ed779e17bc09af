// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers that each method is launched with, and its grid.

#include <cstdint>

#include "ops/rows/rows_setup.hpp"

namespace tw::rows {

/// Turns the arguments of all methods into those of this one.
void fill(const RowsSetup& setup, uint32_t method, uint64_t table, uint64_t packed,
          RowsLaunch* launch);
LaunchConfig config(const RowsSetup& setup, uint32_t method, const RowsLaunch& launch);
/// Of a step beside the method: blocks that take `of_block` of the items each.
LaunchConfig step_config(const RowsSetup& setup, uint32_t variant, uint64_t items,
                         uint64_t of_block);

}  // namespace tw::rows
