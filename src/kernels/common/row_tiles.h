// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of rows: the unit of work of a warp that moves rows from one pitch to another. Numbers
// tiles, and splits them into 16-byte pieces for plain loads and stores. Device code, host bodies
// and tests share it.

#include "kernels/common/divide.h"
#include "kernels/common/realign.h"

namespace tw {

inline constexpr u32 kTileMaxRows = 512;
inline constexpr u32 kTilePipelineWarps = 16;  // most warps of a block; each has its own pipeline
inline constexpr u32 kTilePlainThreads = 256;
// Smallest row in bytes that is worth a bulk copy of its own.
inline constexpr u32 kTileMinBulk = 64;

/// How operands of equal shape are cut into tiles: groups of `tile_rows` rows, the last group
/// perhaps smaller. A row longer than a tile is a group by itself, cut into `parts`.
struct TileCut {
  u64 items;                // tiles of all operands
  u64 operand_tiles;        // tiles of one operand
  u64 rows;                 // rows of one operand
  Divider operand_divider;  // by operand_tiles; like part_divider valid if items < kDividerLimit
  Divider part_divider;     // by parts
  u32 tile_rows;
  u32 parts;
  u32 part_bytes;  // a multiple of 16 if there are several
  u32 last_bytes;
};

/// A tile's operand, its rows in that operand, and the bytes of those rows.
struct TilePlace {
  u64 operand;
  u64 row;
  u64 offset;
  u32 rows;
  u32 bytes;
};

/// Place of tile `number` (below items). Parts vary fastest, operands slowest.
TW_KERNEL_HD inline TilePlace tile_place(const TileCut& cut, u64 number) {
  u64 operand = 0;
  u64 group = 0;
  u32 part = 0;
  if (cut.items < kDividerLimit) {
    const u32 small = static_cast<u32>(number);
    const u32 o = divide(small, cut.operand_divider);
    const u32 rest = small - o * cut.operand_divider.divisor;
    const u32 g = divide(rest, cut.part_divider);
    operand = o;
    group = g;
    part = rest - g * cut.parts;
  } else {
    operand = number / cut.operand_tiles;
    const u64 rest = number - operand * cut.operand_tiles;
    group = rest / cut.parts;
    part = static_cast<u32>(rest - group * cut.parts);
  }
  const u64 row = group * cut.tile_rows;
  const u64 left = cut.rows - row;
  return {operand, row, static_cast<u64>(part) * cut.part_bytes,
          left < cut.tile_rows ? static_cast<u32>(left) : cut.tile_rows,
          part + 1 == cut.parts ? cut.last_bytes : cut.part_bytes};
}

/// `rows` rows of `bytes` bytes at `dst`. Rows `begin` to `end` - 1 are moved from `src`; the
/// family defines what the others get. Both addresses are those of row 0, even if it is not moved.
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

/// The moved rows as a tile of their own. They become one long row if they are contiguous on both
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

/// Like moved_rows(), for rows `first` to `last` - 1 of the destination, which have no source.
TW_KERNEL_HD inline RowTile unmoved_rows(const RowTile& tile, u32 first, u32 last) {
  RowTile out = tile;
  out.src = out.dst = tile_dst(tile, first);
  out.src_pitch = tile.dst_pitch;
  out.begin = 0;
  out.rows = out.end = last - first;
  return moved_rows(out);
}

/// Whether bulk copies suit a tile returned by moved_rows(): they need multiples of 16 bytes.
TW_KERNEL_HD inline bool tile_suits_bulk(const RowTile& tile) {
  if (((tile.src | tile.dst | tile.bytes) & 15) != 0) return false;
  if (tile.rows == 1) return true;
  return ((tile.src_pitch | tile.dst_pitch) & 15) == 0 && tile.bytes >= kTileMinBulk;
}

/// The largest number of 16-byte pieces of a tile's destination, see most_pieces().
TW_KERNEL_HD inline u32 tile_pieces(const RowTile& tile) {
  return tile.rows * static_cast<u32>(most_pieces(tile.bytes));
}

/// Piece `number` of a tile returned by moved_rows(); its `end` is 0 if there is no such piece.
TW_KERNEL_HD inline Piece16 tile_piece(const RowTile& tile, u32 number) {
  const u32 pieces_per_row = static_cast<u32>(most_pieces(tile.bytes));
  const u32 row = tile.rows == 1 ? 0 : number / pieces_per_row;
  if (row >= tile.rows) return {0, 0, 0, 0};
  return piece_of_row(tile_src(tile, row), tile_dst(tile, row), tile.bytes,
                      number - row * pieces_per_row);
}

}  // namespace tw
