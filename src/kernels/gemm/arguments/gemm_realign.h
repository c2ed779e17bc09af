// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the staging copy (gemm_realign.cuh). The kernel copies operands whose address or
// pitch no tensor map can describe to aligned lines in the workspace. One launch copies both
// operands.

#include "kernels/common/divide.h"

namespace tw {

/// Lines of one operand, copied in pieces of 16 bytes. The copy's lines consist of whole pieces:
/// the bytes after the end of a line are undefined and never read.
struct GemmStagingOperand {
  u64 src;                   // a multiple of 2
  u64 end;                   // end of src: nothing is read from here on
  u64 dst;                   // a multiple of 16, like dst_pitch
  i64 src_pitch, dst_pitch;  // bytes
  u32 pieces;                // of all lines; 0: nothing to copy
  Divider line_pieces;       // divides by the number of pieces in a line
};

struct GemmStagingArgs {
  GemmStagingOperand operands[2];
  u32 blocks;  // CTAs for the first operand; the remaining ones copy the second
  u32 reserved;
};

static_assert(sizeof(GemmStagingOperand) == 56, "host and device must agree on the layout");
static_assert(sizeof(GemmStagingArgs) == 120, "host and device must agree on the layout");

inline constexpr u32 kStagingThreads = 256;
/// CTAs per SM. A launch has kStagingCtasPerSm, although the kernel is compiled for so few
/// registers that kStagingRegisterCtas would fit. The other half of the registers is for a CTA of
/// the product with one consumer warpgroup. That CTA starts early, initializes its barriers and
/// loads the operand that needs no copy.
inline constexpr u32 kStagingCtasPerSm = 4;
inline constexpr u32 kStagingRegisterCtas = 8;
/// Largest number of pieces per thread for this kernel; plans copy larger operands by copy plans.
inline constexpr u32 kStagingMaxPieces = 3;

}  // namespace tw
