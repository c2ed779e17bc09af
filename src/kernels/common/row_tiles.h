// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of rows: what one warp moves at once where both sides are rows at a pitch. Which tile has
// which number, and which 16-byte pieces plain loads and stores make of it: for the device, and for
// the host bodies and tests alike.

#include "kernels/common/divide.h"
#include "kernels/common/realign.h"

namespace tw {

inline constexpr u32 kTileMaxRows = 512;
inline constexpr u32 kTileRingWarps = 16;  // of a block at most; each has a ring of its own
inline constexpr u32 kTilePlainThreads = 256;
inline constexpr u32 kTileMinBulk = 64;  // bytes of a row that is worth a bulk copy of its own

/// How the rows of each of many alike operands are cut: `groups` of `tile_rows` rows, the last
/// perhaps of fewer; where a row is longer than a tile, tile_rows is 1 and it has `parts`.
struct TileCut {
  u64 items;             // tiles of all operands
  u64 of_each;           // of one of them
  u64 rows;              // of one of them
  Divider each_divider;  // by of_each, and by parts: where items are fewer than kDividerLimit
  Divider part_divider;
  u32 tile_rows;
  u32 parts;
  u32 part_bytes;  // a multiple of 16 where there are several
  u32 last_bytes;
};

/// A tile's place: in which operand, which of its rows, which bytes of them.
struct TilePlace {
  u64 each;
  u64 row;
  u64 offset;
  u32 rows;
  u32 bytes;
};

/// Parts are the fastest, operands the slowest. `number` is below items.
TW_KERNEL_HD inline TilePlace tile_place(const TileCut& cut, u64 number) {
  u64 each = 0;
  u64 group = 0;
  u32 part = 0;
  if (cut.items < kDividerLimit) {
    const u32 small = static_cast<u32>(number);
    const u32 e = divide(small, cut.each_divider);
    const u32 rest = small - e * cut.each_divider.divisor;
    const u32 g = divide(rest, cut.part_divider);
    each = e;
    group = g;
    part = rest - g * cut.parts;
  } else {
    each = number / cut.of_each;
    const u64 rest = number - each * cut.of_each;
    group = rest / cut.parts;
    part = static_cast<u32>(rest - group * cut.parts);
  }
  const u64 row = group * cut.tile_rows;
  const u64 left = cut.rows - row;
  return {each, row, static_cast<u64>(part) * cut.part_bytes,
          left < cut.tile_rows ? static_cast<u32>(left) : cut.tile_rows,
          part + 1 == cut.parts ? cut.last_bytes : cut.part_bytes};
}

/// `rows` rows of `bytes` at `dst`, of which rows `begin` to `end` - 1 come from `src`; what the
/// others get is the family's to say. Both addresses are row 0's, whether it is moved or not.
struct RowTile {
  u64 src;
  u64 dst;
  i64 src_pitch;
  i64 dst_pitch;
  u32 bytes;
  u32 rows;
  u32 begin;
  u32 end;
};

TW_KERNEL_HD inline u64 tile_src(const RowTile& tile, u32 row) {
  return tile.src + row * static_cast<u64>(tile.src_pitch);
}
TW_KERNEL_HD inline u64 tile_dst(const RowTile& tile, u32 row) {
  return tile.dst + row * static_cast<u64>(tile.dst_pitch);
}

/// The rows that come from the source, as a tile of their own: one row where they touch on both
/// sides.
TW_KERNEL_HD inline RowTile moved_rows(const RowTile& tile) {
  RowTile out = tile;
  out.src = tile_src(tile, tile.begin);
  out.dst = tile_dst(tile, tile.begin);
  out.rows = tile.end - tile.begin;
  out.begin = 0;
  const bool dense = tile.src_pitch == tile.bytes && tile.dst_pitch == tile.bytes;
  if (dense && out.rows > 1) {
    out.bytes = out.rows * tile.bytes;
    out.rows = 1;
  }
  out.end = out.rows;
  return out;
}

/// Rows `first` to `last` - 1 of the destination, likewise, for what does not come from a source.
TW_KERNEL_HD inline RowTile other_rows(const RowTile& tile, u32 first, u32 last) {
  RowTile out = tile;
  out.src = out.dst = tile_dst(tile, first);
  out.src_pitch = tile.dst_pitch;
  out.begin = 0;
  out.rows = out.end = last - first;
  return moved_rows(out);
}

/// Whether bulk copies, which need multiples of 16 everywhere, serve rows as moved_rows() has them.
TW_KERNEL_HD inline bool tile_suits_bulk(const RowTile& tile) {
  if (((tile.src | tile.dst | tile.bytes) & 15) != 0) return false;
  if (tile.rows == 1) return true;
  return ((tile.src_pitch | tile.dst_pitch) & 15) == 0 && tile.bytes >= kTileMinBulk;
}

/// 16-byte pieces of the destination that a tile's rows may have together.
TW_KERNEL_HD inline u32 tile_pieces(const RowTile& tile) {
  return tile.rows * static_cast<u32>(most_pieces(tile.bytes));
}

/// Piece `number` of rows as moved_rows() has them; its end is 0 where there is none.
TW_KERNEL_HD inline Piece16 tile_piece(const RowTile& tile, u32 number) {
  const u32 of_row = static_cast<u32>(most_pieces(tile.bytes));
  const u32 row = tile.rows == 1 ? 0 : number / of_row;
  if (row >= tile.rows) return {0, 0, 0, 0};
  return piece_of_row(tile_src(tile, row), tile_dst(tile, row), tile.bytes, number - row * of_row);
}

}  // namespace tw
