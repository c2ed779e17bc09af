// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interleaves a few planes, or splits packed elements into planes: arguments of the kernels in
// copy_interleave.cuh, and the position of each warp's work.
//
// A group is one 16-byte vector of each plane, which makes `planes` vectors on the packed side. The
// groups of a row are contiguous on both sides; a warp processes 32 groups at once.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

/// Threads per block. Each needs 16 bytes of shared memory per plane.
TW_KERNEL_HD constexpr u32 interleave_threads(u32 planes) {
  return planes <= 8 ? 256 : 128;
}
/// The largest number of planes that has a kernel.
TW_KERNEL_HD constexpr u32 interleave_planes(u32 element_bytes) {
  return element_bytes == 8 ? 4 : 16;
}
inline constexpr u32 kInterleaveRank = 6;  // dimensions outside a row

struct CopyInterleaveArgs {
  u64 src;
  u64 dst;
  i64 plane_pitch;
  u64 src_policy;
  u64 dst_policy;
  u64 warps;  // over all rows, below kDividerLimit
  i64 src_stride[kInterleaveRank];
  i64 dst_stride[kInterleaveRank];
  Divider extent[kInterleaveRank];
  Divider row_warps;
  u32 row_groups;
  u32 rank;
  u32 planes;  // this and the next are read by the host body only; a kernel is compiled for them
  u32 element_bytes;
  u32 reserved;
};
static_assert(sizeof(CopyInterleaveArgs) == 248, "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopyInterleaveArgs, extent) == 144, "as above");
static_assert(__builtin_offsetof(CopyInterleaveArgs, row_groups) == 228, "as above");

struct InterleavePlace {
  u64 src;  // of the row
  u64 dst;
  u32 group;   // first group of the warp
  u32 groups;  // number of groups of the warp
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
