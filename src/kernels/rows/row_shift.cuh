// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves rows by index if table rows and packed rows are misaligned relative to each other. Each
// thread builds 16-byte pieces of the written rows from aligned loads of the read rows, four pieces
// at once.

#include "kernels/common/realign.cuh"
#include "kernels/rows/row_index.cuh"

namespace tw {

inline constexpr int kRowsShiftFlight = 4;

/// The piece of an item. For an index without a row, a gather sets `zeros` and a scatter returns an
/// empty piece.
struct ShiftPiece {
  Piece16 piece;
  bool zeros;
};

template <bool kGather>
__device__ __forceinline__ ShiftPiece shift_piece(const RowsArgs& args, u64 items, u64 item) {
  constexpr ShiftPiece kNone{{0, 0, 0, 0}, false};
  if (item >= items) return kNone;
  const u64 i =
      items < kDividerLimit ? divide(static_cast<u32>(item), args.part_divider) : item / args.parts;
  const i64 row = table_row_of(args, i);
  const bool named = row != kNoRow;
  if (!kGather && !named) return kNone;
  const u64 table = args.table + static_cast<u64>((named ? row : 0) * args.table_pitch);
  const u64 packed = args.packed + i * static_cast<u64>(args.packed_pitch);
  const u32 number = static_cast<u32>(item - i * args.parts);
  return {piece_of_row(kGather ? table : packed, kGather ? packed : table, args.row_bytes, number),
          !named};
}

template <bool kGather>
__device__ __forceinline__ void rows_shift(const RowsArgs& args) {
  constexpr u64 kPerBlock = static_cast<u64>(kRowsBlockThreads) * kRowsShiftFlight;
  const u64 first = blockIdx.x * kPerBlock + threadIdx.x;
  const u64 items = static_cast<u64>(run_count(args)) * args.parts;
  for (u64 item = first; item < items; item += gridDim.x * kPerBlock) {
    ShiftPiece row[kRowsShiftFlight];
    AlignedPair pair[kRowsShiftFlight];
    bool inside[kRowsShiftFlight];
    bool all_inside = true;
#pragma unroll
    for (int k = 0; k < kRowsShiftFlight; ++k)
      row[k] = shift_piece<kGather>(args, items, item + static_cast<u64>(k) * kRowsBlockThreads);
#pragma unroll
    for (int k = 0; k < kRowsShiftFlight; ++k) {
      inside[k] =
          row[k].zeros || aligned_loads_inside(row[k].piece.src, args.read_low, args.read_high);
      all_inside = all_inside && (inside[k] || row[k].piece.end == 0);
      pair[k] = {uint4{}, uint4{}};
      if (inside[k] && row[k].piece.end != 0 && !row[k].zeros)
        pair[k] = load_aligned(row[k].piece.src);
    }
#pragma unroll
    for (int k = 0; k < kRowsShiftFlight; ++k) {
      const Piece16& piece = row[k].piece;
      if (inside[k] && piece.end != 0)
        store_part(piece.address, realign(pair[k], piece.src), piece.first, piece.end);
    }
    if (all_inside) continue;
#pragma unroll 1
    for (int k = 0; k < kRowsShiftFlight; ++k) {
      const ShiftPiece edge =
          shift_piece<kGather>(args, items, item + static_cast<u64>(k) * kRowsBlockThreads);
      if (edge.piece.end != 0 && !edge.zeros &&
          !aligned_loads_inside(edge.piece.src, args.read_low, args.read_high))
        copy_bytes(edge.piece);
    }
  }
}

}  // namespace tw
