// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a thread moves at once, as registers.

#include "kernels/ptx/basic.cuh"

namespace tw::ptx {

/// The bits of one unit. Words for 16 bytes, so that no pair lands in a wrong register.
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
