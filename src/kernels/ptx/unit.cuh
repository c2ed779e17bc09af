// SPDX-License-Identifier: Apache-2.0
#pragma once
// Register types for 1 to 16 bytes that a thread moves in one instruction.

#include "kernels/ptx/basic.cuh"

namespace tw::ptx {

/// Register type of kBytes bytes. 16 bytes are words because PTX moves them as v4.u32.
template <int kBytes>
struct UnitOf;
template <>
struct UnitOf<1> {
  using Type = unsigned short;  // PTX has no 8-bit registers
};
template <>
struct UnitOf<2> {
  using Type = unsigned short;
};
template <>
struct UnitOf<4> {
  using Type = u32;
};
template <>
struct UnitOf<8> {
  using Type = u64;
};
template <>
struct UnitOf<16> {
  using Type = uint4;
};
template <int kBytes>
using Unit = typename UnitOf<kBytes>::Type;

}  // namespace tw::ptx
