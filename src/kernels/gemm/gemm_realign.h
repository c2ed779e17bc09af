// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands that no tensor map reads, both in one launch, to where one does.

#include "kernels/parts/divide.h"

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
/// Of them on an SM.
inline constexpr u32 kRealignBlocks = 3;
/// Pieces of a thread that are on their way at once.
inline constexpr u32 kRealignFlight = 4;

}  // namespace tw
