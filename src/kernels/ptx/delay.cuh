// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random delays at both sides of every barrier operation, for a build that looks for races
// (-Dkernel_delays=true); nothing otherwise.

#include "kernels/arguments.h"

namespace tw::ptx {

#ifdef TW_DELAYS
/// One time in eight, up to 4 us; otherwise none. The clock is the source of chance, the SM and the
/// warp keep neighbours apart. No branch: the callers' warps stay converged.
__device__ __forceinline__ void delay_here() {
  asm volatile(
      "{\n\t.reg .b32 x, y;\n\t.reg .pred p;\n\t"
      "mov.u32 x, %%clock;\n\t"
      "mov.u32 y, %%smid;\n\t"
      "mad.lo.u32 x, y, 0x9E3779B1, x;\n\t"
      "mov.u32 y, %%warpid;\n\t"
      "mad.lo.u32 x, y, 0x85EBCA77, x;\n\t"
      "mul.lo.u32 x, x, 0xC2B2AE3D;\n\t"
      "shr.u32 y, x, 29;\n\t"
      "setp.eq.u32 p, y, 0;\n\t"
      "bfe.u32 x, x, 16, %0;\n\t"
      "selp.u32 x, x, 0, p;\n\t"
      "nanosleep.u32 x;\n\t}" ::"n"(11)
      : "memory");
}
#else
__device__ __forceinline__ void delay_here() {}
#endif

}  // namespace tw::ptx
