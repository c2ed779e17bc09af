// SPDX-License-Identifier: Apache-2.0
#pragma once
// Source and destination address of a row.

#include "kernels/copy/copy.h"

namespace tw {

struct RowPlace {
  u64 src;
  u64 dst;
};

__device__ __forceinline__ RowPlace place_row(const CopyRowArgs& args, u64 row) {
  RowPlace place{args.src, args.dst};
  u32 rest = static_cast<u32>(row);
  for (u32 d = 0; d < args.rank; ++d) {
    const u32 next = d + 1 < args.rank ? divide(rest, args.extent[d]) : 0;
    const u32 index = rest - next * args.extent[d].divisor;
    place.src += static_cast<u64>(static_cast<i64>(index) * args.src_stride[d]);
    place.dst += static_cast<u64>(static_cast<i64>(index) * args.dst_stride[d]);
    rest = next;
  }
  return place;
}

}  // namespace tw
