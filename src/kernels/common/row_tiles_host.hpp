// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of rows on the CPU: through the TMA model, or piece by piece. See row_tiles.cuh.

#include <cstdint>
#include <cstring>

#include "kernels/common/host_engine.hpp"
#include "kernels/common/row_tiles.h"

namespace tw {

/// Loads the moved rows to shared memory, row r at r * bytes.
inline void load_tile_host(HostEngine& engine, const RowTile& tile) {
  if (tile.begin == tile.end) return;
  if (tile.src_pitch == tile.bytes)
    return engine.load_bulk(tile_src(tile, tile.begin), tile.begin * tile.bytes,
                            (tile.end - tile.begin) * tile.bytes);
  for (u32 row = tile.begin; row < tile.end; ++row)
    engine.load_bulk(tile_src(tile, row), row * tile.bytes, tile.bytes);
}

/// Stores rows `first` to `last` - 1 from shared memory.
inline void store_tile_host(HostEngine& engine, const RowTile& tile, u32 first, u32 last) {
  if (first == last) return;
  if (tile.dst_pitch == tile.bytes)
    return engine.store_bulk(tile_dst(tile, first), first * tile.bytes,
                             (last - first) * tile.bytes);
  for (u32 row = first; row < last; ++row)
    engine.store_bulk(tile_dst(tile, row), row * tile.bytes, tile.bytes);
}

/// Copies a tile returned by moved_rows().
inline void copy_tile_pieces_host(const RowTile& tile) {
  for (u32 number = 0; number < tile_pieces(tile); ++number) {
    const Piece16 piece = tile_piece(tile, number);
    if (piece.end != 0)
      std::memcpy(reinterpret_cast<uint8_t*>(piece.address + piece.first),
                  reinterpret_cast<const uint8_t*>(piece.src + piece.first),
                  piece.end - piece.first);
  }
}

/// Fills `bytes` bytes with `word`, starting at byte `phase` of the word.
inline void fill_host(uint8_t* to, u64 bytes, u32 word, u32 phase) {
  for (u64 i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(word >> ((phase + i) % 4 * 8));
}

/// Fills a tile returned by unmoved_rows().
inline void fill_tile_pieces_host(const RowTile& tile, u32 word) {
  for (u32 number = 0; number < tile_pieces(tile); ++number) {
    const Piece16 piece = tile_piece(tile, number);
    if (piece.end != 0)
      fill_host(reinterpret_cast<uint8_t*>(piece.address + piece.first), piece.end - piece.first,
                word, piece.first);
  }
}

}  // namespace tw
