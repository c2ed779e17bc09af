// SPDX-License-Identifier: Apache-2.0
// Host bodies of the copy kernels. Boxes and chunks go through the TMA model, one after the other;
// the other methods are plain loops over the same positions that the kernels compute. The family's
// kernel entries are at the end.
#include <cstdint>
#include <cstring>

#include "kernels/common/host_engine.hpp"
#include "kernels/common/realign.h"
#include "kernels/copy/copy.h"
#include "kernels/copy/interleave.h"
#include "kernels/copy/permute.h"
#include "kernels/copy/pieces.h"
#include "kernels/copy/transpose.h"
#include "kernels/table/table_entry.hpp"

namespace tw {
namespace {

uint8_t* global(u64 address, i64 offset) {
  return reinterpret_cast<uint8_t*>(address + static_cast<u64>(offset));
}

TensorMapBytes map_of(const KernelMap& map) {
  TensorMapBytes bytes;
  std::memcpy(bytes.words, map.words, sizeof bytes.words);
  return bytes;
}

// Stores the tails of the box's rows, which the store map excludes.
void store_tails(const CopyBoxArgs& args, const int32_t* at, const uint8_t* shared) {
  u32 rows = 1;
  for (u32 d = 1; d < args.rank; ++d) rows *= args.box[d];
  const u32 pitch = args.box[0] * args.element_bytes;
  const u64 from = args.tail_from - static_cast<u64>(at[0]) * args.element_bytes;
  for (u32 row = 0; row < rows; ++row) {
    i64 offset = static_cast<i64>(args.tail_from);
    bool inside = true;
    u32 rest = row;
    for (u32 d = 1; d < args.rank; ++d) {
      const u32 index = static_cast<u32>(at[d]) + rest % args.box[d];
      inside = inside && index < args.extent[d];
      offset += index * args.dst_stride[d];
      rest /= args.box[d];
    }
    if (inside) std::memcpy(global(args.dst, offset), shared + row * pitch + from, args.tail_bytes);
  }
}

void place_row(const CopyRowArgs& args, u64 row, i64* src, i64* dst) {
  *src = *dst = 0;
  u64 rest = row;
  for (u32 d = 0; d < args.rank; ++d) {
    const u64 extent = args.extent[d].divisor;
    const i64 index = static_cast<i64>(d + 1 < args.rank ? rest % extent : rest);
    *src += index * args.src_stride[d];
    *dst += index * args.dst_stride[d];
    rest /= extent;
  }
}

void copy_boxes_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const CopyBoxArgs*>(arguments);
  const TensorMapBytes src = map_of(args.src_map);
  const TensorMapBytes dst = map_of(args.dst_map);
  for (u64 tile = 0; tile < args.tiles; ++tile) {
    int32_t at[kCopyMapRank] = {};
    u64 rest = tile;
    for (u32 d = 0; d < args.rank; ++d) {
      at[d] = static_cast<int32_t>(rest % args.tile_count[d] * args.box[d]);
      rest /= args.tile_count[d];
    }
    engine.load(src, at, 0);
    const bool last = static_cast<u32>(at[0]) + args.box[0] >= args.extent[0];
    if (args.tail_bytes != 0 && last) store_tails(args, at, engine.shared());
    engine.store(dst, at, 0);
  }
}

void copy_rows_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const CopyRowArgs*>(arguments);
  for (u64 row = 0; row < args.rows; ++row) {
    i64 src, dst;
    place_row(args, row, &src, &dst);
    const i64 body = args.head_bytes;
    for (u32 chunk = 0; chunk < args.chunks; ++chunk) {
      const i64 offset = body + static_cast<i64>(chunk) * args.chunk_bytes;
      const u32 bytes = chunk + 1 == args.chunks ? args.last_bytes : args.chunk_bytes;
      engine.load_bulk(args.src + static_cast<u64>(src + offset), 0, bytes);
      engine.store_bulk(args.dst + static_cast<u64>(dst + offset), 0, bytes);
    }
    const i64 tail = body + static_cast<i64>(args.body_bytes);
    std::memcpy(global(args.dst, dst), global(args.src, src), args.head_bytes);
    std::memcpy(global(args.dst, dst + tail), global(args.src, src + tail), args.tail_bytes);
  }
}

void copy_strided_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopyStridedArgs*>(arguments);
  u64 index[kCopyRank] = {};
  i64 src = 0;
  i64 dst = 0;
  for (u64 unit = 0; unit < args.units; ++unit) {
    std::memcpy(global(args.dst, dst), global(args.src, src), args.unit_bytes);
    for (u32 d = 0; d < args.rank; ++d) {
      src += args.src_stride[d];
      dst += args.dst_stride[d];
      if (++index[d] < args.extent[d]) break;
      src -= static_cast<i64>(index[d]) * args.src_stride[d];
      dst -= static_cast<i64>(index[d]) * args.dst_stride[d];
      index[d] = 0;
    }
  }
}

void copy_fill_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopyFillArgs*>(arguments);
  const CopyStridedArgs& place = args.place;
  const u64 pattern[2] = {args.pattern, args.pattern};
  for (u64 unit = 0; unit < place.units; ++unit) {
    i64 offset = 0;
    u64 rest = unit;
    for (u32 d = 0; d < place.rank; ++d) {
      offset += static_cast<i64>(rest % place.extent[d]) * place.dst_stride[d];
      rest /= place.extent[d];
    }
    std::memcpy(global(place.dst, offset), pattern, place.unit_bytes);
  }
}

struct Tile {
  u64 src;
  u64 dst;
  u32 src_line_bytes, src_lines, dst_line_bytes, dst_lines;
};

Tile tile_of(const CopyPermuteArgs& args, u64 number) {
  u32 at[kPermuteRank] = {};
  Tile tile{args.src, args.dst, 0, 0, 0, 0};
  for (u32 d = 0; d < args.grid_rank; ++d) {
    at[d] = static_cast<u32>(number % args.grid[d].tiles.divisor);
    number /= args.grid[d].tiles.divisor;
    tile.src += static_cast<u64>(at[d] * args.grid[d].src_step);
    tile.dst += static_cast<u64>(at[d] * args.grid[d].dst_step);
  }
  const auto extent = [&](const PermuteEdge& edge) {
    return permute_extent(args, edge, edge.grid_dim < 0 ? 0 : at[edge.grid_dim]);
  };
  tile.src_line_bytes = extent(args.src_line_bytes);
  tile.src_lines = extent(args.src_lines);
  tile.dst_line_bytes = extent(args.dst_line_bytes);
  tile.dst_lines = extent(args.dst_lines);
  return tile;
}

void copy_permute_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const CopyPermuteArgs*>(arguments);
  uint8_t* shared = engine.shared();
  const u32 unit = args.unit_bytes;
  for (u64 number = 0; number < args.tiles; ++number) {
    const Tile tile = tile_of(args, number);
    for (u32 line = 0; line < tile.src_lines; ++line) {
      const u64 from = tile.src + static_cast<u64>(permute_place(args.src_line_dims, line).offset);
      const u32 place = (line << 16) + line * args.pitch;
      for (u32 byte = 0; byte < tile.src_line_bytes; byte += unit)
        std::memcpy(shared + permute_byte(place + byte, args.shift),
                    reinterpret_cast<const void*>(from + byte), unit);
    }
    for (u32 line = 0; line < tile.dst_lines; ++line) {
      const PermutePlace at = permute_place(args.dst_line_dims, line);
      const u64 to = tile.dst + static_cast<u64>(at.offset);
      for (u32 byte = 0; byte < tile.dst_line_bytes; byte += unit) {
        const u32 place = at.place + permute_place(args.dst_unit_dims, byte / unit).place;
        std::memcpy(reinterpret_cast<void*>(to + byte), shared + permute_byte(place, args.shift),
                    unit);
      }
    }
  }
}

uint8_t* global(u64 address) {
  return reinterpret_cast<uint8_t*>(address);
}

// The piece's 16 bytes, assembled from the two aligned vectors that hold them as the kernels do.
// Vectors outside [src_low, src_high) are not read.
Words4 realigned(const CopyPieceArgs& args, const CopyPiece& p) {
  const u64 base = p.from & ~15ull;
  Words4 low{}, high{};
  const auto read = [&](u64 at, Words4* to) {
    if (at >= args.src_low && at + 16 <= args.src_high) std::memcpy(to, global(at), 16);
  };
  read(base, &low);
  read(base + 16, &high);
  return shift_bytes(low, high, static_cast<u32>(p.from) & 15);
}

void transpose(const CopyTransposeArgs& args) {
  const u32 element = args.element_bytes;
  const i64 side = args.unit_elements;
  for (u64 tile = 0; tile < args.tiles; ++tile) {
    const TransposePlace at =
        transpose_place(args, static_cast<u32>(tile), args.tile_a, args.tile_b);
    const u32 a_end = at.a + args.tile_a < args.units_a ? at.a + args.tile_a : args.units_a;
    const u32 b_end = at.b + args.tile_b < args.units_b ? at.b + args.tile_b : args.units_b;
    for (i64 a = at.a * side; a < a_end * side; ++a)
      for (i64 b = at.b * side; b < b_end * side; ++b)
        std::memcpy(global(at.dst + static_cast<u64>(a * args.dst_pitch + b * element)),
                    global(at.src + static_cast<u64>(b * args.src_pitch + a * element)), element);
  }
}

void interleave(const CopyInterleaveArgs& args, bool to_planes) {
  const u32 element = args.element_bytes;
  const u32 side = 16 / element;
  for (u64 warp = 0; warp < args.warps; ++warp) {
    const InterleavePlace at = interleave_place(args, static_cast<u32>(warp));
    for (u32 group = at.group; group < at.group + at.groups; ++group)
      for (u32 plane = 0; plane < args.planes; ++plane)
        for (u32 e = 0; e < side; ++e) {
          const u64 number = static_cast<u64>(group) * side + e;
          const u64 planar = static_cast<u64>(plane * args.plane_pitch) + number * element;
          const u64 packed = (number * args.planes + plane) * element;
          std::memcpy(global(at.dst + (to_planes ? planar : packed)),
                      global(at.src + (to_planes ? packed : planar)), element);
        }
  }
}

void copy_pieces_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopyPieceArgs*>(arguments);
  for (u64 slot = 0; slot < args.items; ++slot) {
    const CopyPiece p = copy_piece<0>(args, static_cast<u32>(slot));
    if (p.end != 0) std::memcpy(global(p.to + p.first), global(p.from + p.first), p.end - p.first);
  }
}

void copy_shift_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopyPieceArgs*>(arguments);
  for (u64 slot = 0; slot < args.items; ++slot) {
    const CopyPiece p = copy_piece<0>(args, static_cast<u32>(slot));
    if (p.end == 0) continue;
    Words4 words = realigned(args, p);
    const auto* from = reinterpret_cast<const uint8_t*>(words.w);
    if (!piece_inside(args, p)) from = global(p.from);
    std::memcpy(global(p.to + p.first), from + p.first, p.end - p.first);
  }
}

void copy_transpose_host(HostEngine&, const void* arguments) {
  transpose(*static_cast<const CopyTransposeArgs*>(arguments));
}

void copy_transpose_small_host(HostEngine&, const void* arguments) {
  transpose(*static_cast<const CopyTransposeArgs*>(arguments));
}

void copy_transpose_plain_host(HostEngine&, const void* arguments) {
  transpose(*static_cast<const CopyTransposeArgs*>(arguments));
}

void copy_interleave_host(HostEngine&, const void* arguments) {
  interleave(*static_cast<const CopyInterleaveArgs*>(arguments), false);
}

void copy_deinterleave_host(HostEngine&, const void* arguments) {
  interleave(*static_cast<const CopyInterleaveArgs*>(arguments), true);
}

// Sets the tile: vectors (or elements) along the source's and the destination's inner dimension.
constexpr KernelEntry with_tile(KernelEntry entry, u32 a, u32 b) {
  entry.tile[0] = static_cast<int32_t>(a);
  entry.tile[1] = static_cast<int32_t>(b);
  return entry;
}

#define TW_COPY_BOXES(feature, part, symbol, rank) \
  TW_TABLE_ENTRY(copy, feature, part, symbol, kCopyPipelineWarps * 32, kCopyBoxes | (rank) << 8)
#define TW_COPY_ROWS(feature, part, symbol) \
  TW_TABLE_ENTRY(copy, feature, part, symbol, kCopyPipelineWarps * 32, kCopyRows)
#define TW_COPY_PERMUTE(feature, part, symbol, unit_bytes) \
  TW_TABLE_ENTRY(copy, feature, part, symbol, kPermuteThreads, kCopyPermute | (unit_bytes) << 8)
#define TW_COPY_TRANSPOSE(feature_, part, symbol, bytes, lanes_a, warps_a, cells_a, cells_b) \
  with_tile(table_entry(Family::copy, feature::feature_, #symbol, #part,                     \
                        TW_HOST_BODY_##feature_(symbol), kTransposeThreads,                  \
                        kCopyTranspose | (bytes) << 8),                                      \
            (lanes_a) * (warps_a) * (cells_a),                                               \
            kTransposeThreads / ((lanes_a) * (warps_a)) * (cells_b)),
#define TW_COPY_TRANSPOSE_SMALL(feature_, part, symbol, bytes)                   \
  with_tile(table_entry(Family::copy, feature::feature_, #symbol, #part,         \
                        TW_HOST_BODY_##feature_(symbol), kSmallTransposeThreads, \
                        kCopyTranspose | (bytes) << 8 | 1 << 16),                \
            8, 4),
#define TW_COPY_TRANSPOSE_PLAIN(feature_, part, symbol, bytes)              \
  with_tile(table_entry(Family::copy, feature::feature_, #symbol, #part,    \
                        TW_HOST_BODY_##feature_(symbol), kTransposeThreads, \
                        kCopyTransposePlain | (bytes) << 8),                \
            transpose_edge(bytes), transpose_edge(bytes)),
#define TW_COPY_INTERLEAVE(feature, part, symbol, bytes, planes)          \
  TW_TABLE_ENTRY(copy, feature, part, symbol, interleave_threads(planes), \
                 kCopyInterleave | (bytes) << 8 | (planes) << 16)
#define TW_COPY_DEINTERLEAVE(feature, part, symbol, bytes, planes)        \
  TW_TABLE_ENTRY(copy, feature, part, symbol, interleave_threads(planes), \
                 kCopyInterleave | (bytes) << 8 | (kToPlanes | (planes)) << 16)
#define TW_COPY_PIECES(feature, part, symbol, flight) \
  TW_TABLE_ENTRY(copy, feature, part, symbol, kPieceThreads, kCopyPieces | (flight) << 8)
#define TW_COPY_SHIFT(feature, part, symbol, flight) \
  TW_TABLE_ENTRY(copy, feature, part, symbol, kPieceThreads, kCopyShift | (flight) << 8)
#define TW_COPY_STRIDED(feature, part, symbol) \
  TW_TABLE_ENTRY(copy, feature, part, symbol, kCopyStridedThreads, kCopyStrided)
#define TW_COPY_FILL(feature, part, symbol) \
  TW_TABLE_ENTRY(copy, feature, part, symbol, kCopyStridedThreads, kCopyFill)

constexpr KernelEntry kEntries[] = {
#include "kernels/copy/kernels.inc"
};

}  // namespace

KernelEntries copy_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
