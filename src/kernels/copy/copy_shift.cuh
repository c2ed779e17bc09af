// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of rows whose two sides are misaligned, also against each other: a thread a piece of 16
// bytes of the destination, four pieces at once.

#include "kernels/copy/place_row.cuh"
#include "kernels/parts/realign.cuh"

namespace tw {

inline constexpr int kShiftFlight = 4;

__device__ __forceinline__ Piece16 shift_piece(const CopyShiftArgs& args, u64 item) {
  if (item >= args.items) return {0, 0, 0, 0};
  const u32 row = divide(static_cast<u32>(item), args.pieces);
  const u32 number = static_cast<u32>(item) - row * args.pieces.divisor;
  const RowPlace at = place_row(args, row);
  return piece_of_row(at.src, at.dst, args.row_bytes, number);
}

__device__ __forceinline__ void copy_shift(const CopyShiftArgs& args) {
  const u64 step = static_cast<u64>(gridDim.x) * kCopyShiftThreads;
  const u64 first = static_cast<u64>(blockIdx.x) * kCopyShiftThreads + threadIdx.x;
  for (u64 item = first; item < args.items; item += kShiftFlight * step) {
    Piece16 piece[kShiftFlight];
    AlignedPair pair[kShiftFlight];
    bool inside[kShiftFlight];
    bool all_inside = true;
#pragma unroll
    for (int k = 0; k < kShiftFlight; ++k) {
      piece[k] = shift_piece(args, item + static_cast<u64>(k) * step);
      inside[k] = aligned_loads_inside(piece[k].src, args.src_low, args.src_high);
      all_inside = all_inside && (inside[k] || piece[k].end == 0);
      if (inside[k] && piece[k].end != 0) pair[k] = load_aligned(piece[k].src);
    }
#pragma unroll
    for (int k = 0; k < kShiftFlight; ++k)
      if (inside[k] && piece[k].end != 0)
        store_part(piece[k].address, realign(pair[k], piece[k].src), piece[k].first, piece[k].end);
    if (all_inside) continue;
#pragma unroll 1
    for (int k = 0; k < kShiftFlight; ++k) {
      const Piece16 edge = shift_piece(args, item + static_cast<u64>(k) * step);
      if (edge.end != 0 && !aligned_loads_inside(edge.src, args.src_low, args.src_high))
        copy_bytes(edge);
    }
  }
}

}  // namespace tw
