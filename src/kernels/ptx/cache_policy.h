// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cache policies that createpolicy would make, as the numbers that instructions take.

#include "kernels/arguments.h"

namespace tw::ptx {

/// Fraction 1.0 of the named kind.
inline constexpr u64 kEvictNormal = 0x16f0000000000000ull;
inline constexpr u64 kEvictFirst = 0x12f0000000000000ull;
inline constexpr u64 kEvictLast = 0x14f0000000000000ull;

}  // namespace tw::ptx
