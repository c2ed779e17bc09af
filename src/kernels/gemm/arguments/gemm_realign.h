// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands that no tensor map reads, both in one launch, to where one does.

#include "kernels/common/divide.h"

namespace tw {

/// Lines of one of the two, in pieces of 16 bytes. The copy's lines are whole pieces, and whatever
/// comes behind a line's end is never looked at.
struct GemmRealignOperand {
  u64 src;  // a multiple of 2
  u64 end;  // of src: nothing is read from here on
  u64 dst;  // a multiple of 16, as dst_pitch is
  i64 src_pitch, dst_pitch;
  u32 pieces;  // of all lines; 0: there is nothing to copy
  Divider of_line;
};

struct GemmRealignArgs {
  GemmRealignOperand operands[2];
  u32 blocks;  // of the first operand; the others have the second
  u32 reserved;
};

static_assert(sizeof(GemmRealignOperand) == 56, "the device sees the layout the host writes");
static_assert(sizeof(GemmRealignArgs) == 120, "the device sees the layout the host writes");

inline constexpr u32 kRealignThreads = 256;
/// Of them on an SM that a launch counts on. Registers are for twice as many: half of an SM's are
/// left for a block of the product, if it has one warpgroup that multiplies, which makes its
/// barriers and asks for the operand that lies ready.
inline constexpr u32 kRealignBlocks = 4;
inline constexpr u32 kRealignRoom = 8;
/// Pieces of a thread that are one launch's at most.
inline constexpr u32 kRealignMost = 3;

}  // namespace tw
