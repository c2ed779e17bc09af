// SPDX-License-Identifier: Apache-2.0
#pragma once
// A few planes interleaved, or taken apart: what the kernels of copy_interleave.cuh are launched
// with, and where a warp's work lies.
//
// A group is a 16-byte vector of each plane, and as many vectors of the packed side. The groups of
// a row are contiguous on both sides; a warp takes 32 of them at once.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

/// Threads of a block, each with 16 bytes of every plane in shared memory.
TW_KERNEL_HD constexpr u32 interleave_threads(u32 planes) {
  return planes <= 8 ? 256 : 128;
}
/// The most planes that there are kernels for.
TW_KERNEL_HD constexpr u32 interleave_planes(u32 element_bytes) {
  return element_bytes == 8 ? 4 : 16;
}
inline constexpr u32 kInterleaveRank = 6;  // dimensions of rows

struct CopyInterleaveArgs {
  u64 src;
  u64 dst;
  i64 plane_pitch;
  u64 src_policy;
  u64 dst_policy;
  u64 warps;  // of all rows, below kDividerLimit
  i64 src_stride[kInterleaveRank];
  i64 dst_stride[kInterleaveRank];
  Divider extent[kInterleaveRank];
  Divider row_warps;
  u32 row_groups;
  u32 rank;
  u32 planes;  // read by the host body, as the next one; a kernel is compiled for its own
  u32 element_bytes;
  u32 reserved;
};
static_assert(sizeof(CopyInterleaveArgs) == 248, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(CopyInterleaveArgs, extent) == 144, "as above");
static_assert(__builtin_offsetof(CopyInterleaveArgs, row_groups) == 228, "as above");

struct InterleavePlace {
  u64 src;  // of the row
  u64 dst;
  u32 group;   // the warp's first
  u32 groups;  // of the warp
};

TW_KERNEL_HD constexpr InterleavePlace interleave_place(const CopyInterleaveArgs& args,
                                                        u32 number) {
  u32 rest = divide(number, args.row_warps);
  InterleavePlace at{args.src, args.dst, (number - rest * args.row_warps.divisor) * 32, 32};
  if (args.row_groups - at.group < 32) at.groups = args.row_groups - at.group;
  for (u32 d = 0; d < args.rank; ++d) {
    const u32 next = divide(rest, args.extent[d]);
    const u32 index = rest - next * args.extent[d].divisor;
    at.src += static_cast<u64>(static_cast<i64>(index) * args.src_stride[d]);
    at.dst += static_cast<u64>(static_cast<i64>(index) * args.dst_stride[d]);
    rest = next;
  }
  return at;
}

}  // namespace tw
