// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of rows on the CPU: through the model of the copy engine, or piece by piece.

#include <cstdint>
#include <cstring>

#include "kernels/common/host_engine.hpp"
#include "kernels/common/row_tiles.h"

namespace tw {

/// The rows that come from the source into shared memory, row r at r * bytes.
inline void load_tile_host(HostEngine& engine, const RowTile& tile) {
  if (tile.begin == tile.end) return;
  if (tile.src_pitch == tile.bytes)
    return engine.load_bulk(tile_src(tile, tile.begin), tile.begin * tile.bytes,
                            (tile.end - tile.begin) * tile.bytes);
  for (u32 row = tile.begin; row < tile.end; ++row)
    engine.load_bulk(tile_src(tile, row), row * tile.bytes, tile.bytes);
}

/// Rows `first` to `last` - 1 out of shared memory.
inline void store_tile_host(HostEngine& engine, const RowTile& tile, u32 first, u32 last) {
  if (first == last) return;
  if (tile.dst_pitch == tile.bytes)
    return engine.store_bulk(tile_dst(tile, first), first * tile.bytes,
                             (last - first) * tile.bytes);
  for (u32 row = first; row < last; ++row)
    engine.store_bulk(tile_dst(tile, row), row * tile.bytes, tile.bytes);
}

/// Rows as moved_rows() has them.
inline void copy_tile_pieces_host(const RowTile& tile) {
  for (u32 number = 0; number < tile_pieces(tile); ++number) {
    const Piece16 piece = tile_piece(tile, number);
    if (piece.end != 0)
      std::memcpy(reinterpret_cast<uint8_t*>(piece.address + piece.first),
                  reinterpret_cast<const uint8_t*>(piece.src + piece.first),
                  piece.end - piece.first);
  }
}

/// `bytes` bytes become `word` over and over; `phase` is the first one's place in a word.
inline void fill_host(uint8_t* to, u64 bytes, u32 word, u32 phase) {
  for (u64 i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(word >> ((phase + i) % 4 * 8));
}

/// Rows as other_rows() has them.
inline void fill_tile_pieces_host(const RowTile& tile, u32 word) {
  for (u32 number = 0; number < tile_pieces(tile); ++number) {
    const Piece16 piece = tile_piece(tile, number);
    if (piece.end != 0)
      fill_host(reinterpret_cast<uint8_t*>(piece.address + piece.first), piece.end - piece.first,
                word, piece.first);
  }
}

}  // namespace tw
