// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the gather and scatter host bodies share.

#include <cstdint>
#include <cstring>

#include "kernels/parts/rows.h"

namespace tw {

/// The row of the table that index i names, or -1.
inline i64 named_row(const RowsArgs& args, i64 i) {
  const auto* at = reinterpret_cast<const uint8_t*>(args.index) + i * args.index_bytes;
  i64 row = 0;
  if (args.index_bytes == 8) {
    std::memcpy(&row, at, 8);
  } else {
    int32_t narrow;
    std::memcpy(&narrow, at, 4);
    row = narrow;
  }
  return row >= 0 && row < args.table_rows ? row : -1;
}

inline u64 table_row_address(const RowsArgs& args, i64 row) {
  return args.table + static_cast<u64>(row * args.table_pitch);
}
inline u64 packed_row_address(const RowsArgs& args, i64 i) {
  return args.packed + static_cast<u64>(i * args.packed_pitch);
}

/// The stages of a bulk row, as its warps take them: piece `first` and `pieces` of them.
template <class Stage>
void for_each_stage(const RowsArgs& args, Stage stage) {
  const i64 total = args.count * args.parts;
  for (i64 first = 0; first < total; first += args.stage_pieces)
    stage(first, total - first < args.stage_pieces ? total - first : i64{args.stage_pieces});
}

/// A piece: of which row, where in it, how long, and where in the stage.
struct HostPiece {
  i64 i;
  u64 offset;
  u32 bytes;
  u32 shared;
};
inline HostPiece host_piece(const RowsArgs& args, i64 first, i64 slot) {
  const i64 i = (first + slot) / args.parts;
  const u32 part = static_cast<u32>((first + slot) % args.parts);
  return {i, static_cast<u64>(part) * args.part_bytes,
          part + 1 == args.parts ? args.last_bytes : args.part_bytes,
          static_cast<u32>(slot) * args.part_bytes};
}

}  // namespace tw
