// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random delays on both sides of every barrier operation, for a build that looks for races
// (-Dkernel_delays=true). Otherwise empty.

#include "kernels/arguments.h"

namespace tw::ptx {

#ifdef TW_DELAYS
/// Delays one call in eight, by up to 8,191 clocks (about 4 us). The clock is the source of
/// randomness; the SM and the warp number decorrelate neighbors. This is a loop because nanosleep
/// breaks TMA code: on an H200 no warp in 13 million reconverged with a lane that slept alone, and
/// the other lanes meanwhile overwrote uniform registers of the sleeper's TMA instructions. After a
/// loop the warp always reconverged. Kernels do not use nanosleep elsewhere.
__device__ __forceinline__ void delay_here() {
  asm volatile(
      "{\n\t.reg .b32 x, y, begin;\n\t.reg .pred p;\n\t"
      "mov.u32 begin, %%clock;\n\t"
      "mov.u32 y, %%smid;\n\t"
      "mad.lo.u32 x, y, 0x9E3779B1, begin;\n\t"
      "mov.u32 y, %%warpid;\n\t"
      "mad.lo.u32 x, y, 0x85EBCA77, x;\n\t"
      "mul.lo.u32 x, x, 0xC2B2AE3D;\n\t"
      "shr.u32 y, x, 29;\n\t"
      "setp.eq.u32 p, y, 0;\n\t"
      "bfe.u32 x, x, 16, %0;\n\t"
      "selp.u32 x, x, 0, p;\n"
      "again:\n\t"
      "mov.u32 y, %%clock;\n\t"
      "sub.u32 y, y, begin;\n\t"
      "setp.lt.u32 p, y, x;\n\t"
      "@p bra again;\n\t}" ::"n"(13)
      : "memory");
}
#else
__device__ __forceinline__ void delay_here() {}
#endif

}  // namespace tw::ptx

// The public header's barrier operations delay as well.
#ifdef TW_DELAYS
#define TILEWRIGHT_DELAY() ::tw::ptx::delay_here()
#endif
