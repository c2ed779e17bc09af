// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which methods can serve which rows, and why others cannot.

#include <cstdint>

#include "ops/rows/rows_setup.hpp"

namespace tw::rows {

inline constexpr uint32_t kMaxMethods = 8;

/// Lists the methods that suit the description, best first, followed by zeros.
void list_methods(const RowsSetup& setup, uint32_t (&methods)[kMaxMethods]);
/// Returns why a method cannot serve whole operands at these addresses; nullptr if it can.
const char* refusal(const RowsSetup& setup, uint32_t method, uint64_t table, uint64_t packed);
/// Returns a bit 1 << method for each method that addresses within the promise can select.
uint32_t reachable_methods(const RowsSetup& setup);

}  // namespace tw::rows
