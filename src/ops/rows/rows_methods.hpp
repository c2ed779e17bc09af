// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which methods serve which rows, and why others do not.

#include <cstdint>

#include "ops/rows/rows_setup.hpp"

namespace tw::rows {

inline constexpr uint32_t kMaxMethods = 8;

/// Methods that suit the description, best first, 0 behind them.
void list_methods(const RowsSetup& setup, uint32_t (&methods)[kMaxMethods]);
/// Why a method does not serve whole operands at these addresses; nullptr where it does.
const char* refusal(const RowsSetup& setup, uint32_t method, uint64_t table, uint64_t packed);
/// Bits 1 << method of those that some addresses which keep the promise lead to.
uint32_t reachable_methods(const RowsSetup& setup);

}  // namespace tw::rows
