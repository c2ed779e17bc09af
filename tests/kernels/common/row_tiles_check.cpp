// SPDX-License-Identifier: Apache-2.0
// Checks the code that kernels and their host bodies share to cut rows into tiles and pieces and to
// clamp sequences: every byte is moved once and no other byte. It uses no test framework, so that
// row_tiles_mutants.py can rebuild it for each fault that it plants.
#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

#include "kernels/copies/copies.h"
#include "kernels/ragged/ragged.h"

using namespace tw;

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  if (failures++ < 5) std::printf("failed: %s\n", what);
}

// Tiles of `operands` operands with `rows` rows each, cut as a plan cuts them.
TileCut cut_of(u64 operands, u64 rows, u64 row_bytes, u32 tile_rows, u32 part_bytes, bool large) {
  TileCut cut{};
  cut.rows = rows;
  cut.tile_rows = tile_rows;
  cut.part_bytes = part_bytes;
  cut.parts = static_cast<u32>((row_bytes + part_bytes - 1) / part_bytes);
  cut.last_bytes = static_cast<u32>(row_bytes - u64{cut.parts - 1} * part_bytes);
  cut.operand_tiles = (rows + tile_rows - 1) / tile_rows * cut.parts;
  // `large` selects the 64-bit division; the check visits only the items that exist.
  cut.items = large ? kDividerLimit + 1 : operands * cut.operand_tiles;
  cut.operand_divider = make_divider(static_cast<u32>(cut.operand_tiles));
  cut.part_divider = make_divider(cut.parts);
  return cut;
}

struct Size {
  u64 rows, row_bytes;
  u32 tile_rows, part_bytes;
};
constexpr Size kSizes[] = {{1, 1, 1, 1},   {7, 16, 3, 16},  {12, 5, 4, 5},    {9, 100, 1, 32},
                           {5, 64, 1, 16}, {40, 3, 512, 3}, {33, 48, 32, 48}, {6, 4097, 1, 512}};

void places() {
  for (const Size& s : kSizes)
    for (const u64 operands : {1u, 5u})
      for (const bool large : {false, true}) {
        const TileCut cut = cut_of(operands, s.rows, s.row_bytes, s.tile_rows, s.part_bytes, large);
        std::vector<int> times(operands * s.rows * s.row_bytes);
        u64 last = 0;
        for (u64 number = 0; number < operands * cut.operand_tiles; ++number) {
          const TilePlace at = tile_place(cut, number);
          const u64 first = (at.operand * s.rows + at.row) * s.row_bytes + at.offset;
          check(number == 0 || first > last, "tiles are in the order of memory");
          last = first;
          check(at.rows >= 1 && at.rows <= s.tile_rows && at.bytes >= 1, "no tile is empty");
          for (u64 r = 0; r < at.rows; ++r)
            for (u64 b = 0; b < at.bytes; ++b) {
              const u64 byte = (at.operand * s.rows + at.row + r) * s.row_bytes + at.offset + b;
              const bool inside =
                  at.operand < operands && at.row + r < s.rows && at.offset + b < s.row_bytes;
              check(inside, "a tile lies outside the rows");
              if (inside) ++times[byte];
            }
        }
        bool once = true;
        for (const int t : times) once = once && t == 1;
        check(once, "every byte of every row is in one tile");
      }
}

void sequences() {
  const auto faulty = [](i64 begin, i64 end, i64 tokens) {
    const Sequence s = checked_sequence(begin, end, tokens);
    return s.invalid && s.rows == 0;
  };
  const auto sound = [](i64 begin, i64 end, i64 tokens) {
    const Sequence s = checked_sequence(begin, end, tokens);
    return !s.invalid && s.begin == begin && s.rows == end - begin;
  };
  check(sound(0, 0, 0) && sound(0, 5, 5) && sound(5, 5, 5) && sound(2, 3, 5),
        "sequences inside the packed operand are themselves");
  check(faulty(3, 2, 5), "offsets that decrease");
  check(faulty(-1, 2, 5) && faulty(INT64_MIN, 0, 5) && faulty(-3, -2, 5), "a negative offset");
  check(faulty(0, 6, 5) && faulty(6, 6, 5) && faulty(0, INT64_MAX, 5) &&
            faulty(INT64_MAX, INT64_MAX, 5) && faulty(0, (i64{1} << 32) + 1, 5),
        "a sequence that runs past the packed operand");
}

// Which packed row each padded row gets, against the definition.
void ragged_tiles() {
  constexpr u64 kPacked = 1 << 20, kPadded = 1 << 24;
  const std::vector<i64> offsets = {0, 0, 4, 5, 3, 12, 30, -1, 20, 20};
  const i64 batch = static_cast<i64>(offsets.size()) - 1;
  constexpr i64 kTokens = 20;
  for (const Size& s : kSizes)
    for (const i64 first : {i64{0}, i64{-1}, i64{3}, static_cast<i64>(s.rows) - 1,
                            -static_cast<i64>(s.rows), kTokens})
      for (const bool unpad : {false, true}) {
        RaggedArgs args{};
        args.packed = kPacked;
        args.padded = kPadded;
        args.tokens = kTokens;
        args.batch = static_cast<u64>(batch);
        args.first_row = first;
        args.packed_pitch = static_cast<i64>(s.row_bytes) + 3;
        args.padded_pitch = static_cast<i64>(s.row_bytes) + 5;
        args.batch_pitch = static_cast<i64>(s.rows) * args.padded_pitch + 7;
        args.unpad = unpad ? 1 : 0;
        args.cut = cut_of(args.batch, s.rows, s.row_bytes, s.tile_rows, s.part_bytes, false);
        for (u64 number = 0; number < args.cut.items; ++number) {
          const TilePlace at = tile_place(args.cut, number);
          const RowTile tile =
              ragged_tile(args, number, [&](u64 i) { return offsets[static_cast<size_t>(i)]; });
          check(tile.rows == at.rows && tile.bytes == at.bytes, "a tile is as its place says");
          check(tile.begin <= tile.end && tile.end <= tile.rows, "rows that are moved are its own");
          const i64 begin = offsets[at.operand], end = offsets[at.operand + 1];
          const bool sound = begin >= 0 && begin <= end && end <= kTokens;
          for (u32 r = 0; r < tile.rows; ++r) {
            const i64 row = first + static_cast<i64>(at.row) + r;
            const bool has = sound && row >= 0 && row < end - begin;
            check(has == (r >= tile.begin && r < tile.end), "rows of the sequence are moved");
            const u64 padded = kPadded + at.operand * static_cast<u64>(args.batch_pitch) +
                               (at.row + r) * static_cast<u64>(args.padded_pitch) + at.offset;
            check((unpad ? tile_src(tile, r) : tile_dst(tile, r)) == padded,
                  "a padded row is where it belongs");
            if (!has) continue;
            const u64 packed =
                kPacked + static_cast<u64>((begin + row) * args.packed_pitch) + at.offset;
            check((unpad ? tile_dst(tile, r) : tile_src(tile, r)) == packed,
                  "a packed row is where it belongs");
          }
        }
      }
}

// Which bytes of which pair each tile moves, against the definition.
void copies_tiles() {
  constexpr i64 kOuter[2] = {3, 2};
  const std::vector<u64> src = {4096, 0, 12288, 16384, 20481, 24576};
  const std::vector<u64> dst = {1 << 20, 1 << 21, 0, 1 << 22, 1 << 23, (1 << 24) + 3};
  for (const Size& s : kSizes)
    for (const bool large : {false, true})
      for (const bool slices : {false, true}) {
        CopiesArgs args{};
        args.src_list = 1;
        args.dst_list = 2;
        args.pairs = src.size();
        args.src_offset = 5;
        args.dst_offset = 7;
        args.src_low = -64;
        args.src_high = 4000;
        args.dst_mask = 1;
        args.src_mask = 0;
        args.rank = slices ? 3 : 1;
        args.outer = slices ? static_cast<u64>(kOuter[0] * kOuter[1]) : 1;
        args.src_stride[0] = -static_cast<i64>(s.row_bytes) - 3;
        args.dst_stride[0] = static_cast<i64>(s.row_bytes) + 9;
        for (int d = 0; d < 2; ++d) {
          args.extent[d + 1] = static_cast<u64>(kOuter[d]);
          args.src_stride[d + 1] = 100000 + d;
          args.dst_stride[d + 1] = 10000000 * (d + 1);
        }
        args.cut =
            cut_of(args.pairs * args.outer, s.rows, s.row_bytes, s.tile_rows, s.part_bytes, large);
        args.outer_divider = make_divider(static_cast<u32>(args.outer));
        for (u64 number = 0; number < args.pairs * args.outer * args.cut.operand_tiles; ++number) {
          const TilePlace at = tile_place(args.cut, number);
          const u64 pair = at.operand / args.outer;
          const i64 slice = static_cast<i64>(at.operand % args.outer);
          const CopiesTile tile = copies_tile(args, number, [&](u64 list, u64 i) {
            return (list == 1 ? src : dst)[static_cast<size_t>(i)];
          });
          const bool moved = src[pair] != 0 && dst[pair] != 0 && dst[pair] % 2 == 0;
          check(tile.rows.end == tile.rows.rows && tile.rows.begin == 0, "all rows are moved");
          check((tile.rows.rows != 0) == moved, "pairs without both addresses are left out");
          if (!moved) continue;
          const u64 inside =
              static_cast<u64>(slice % kOuter[0] * 100000 + slice / kOuter[0] * 100001);
          check(tile_src(tile.rows, 0) == src[pair] + 5 + inside + at.offset +
                                              at.row * static_cast<u64>(args.src_stride[0]),
                "a tile is read where it lies");
          check(
              tile_dst(tile.rows, 0) ==
                  dst[pair] + 7 + at.offset + at.row * static_cast<u64>(args.dst_stride[0]) +
                      static_cast<u64>(slice % kOuter[0] * 10000000 + slice / kOuter[0] * 20000000),
              "a tile is written where it belongs");
          check(tile.rows.rows == at.rows && tile.rows.bytes == at.bytes,
                "it is as large as it is");
          check(tile.read_low == src[pair] - 64 && tile.read_high == src[pair] + 4000,
                "aligned loads stay inside the pair's source");
        }
      }
}

// Which bytes the pieces of a tile's rows write, and from which source bytes.
void pieces() {
  for (const u32 bytes : {1u, 7u, 16u, 33u, 64u})
    for (const u32 rows : {1u, 4u, 9u})
      for (const i64 src_extra : {0, 1, 16})
        for (const i64 dst_extra : {0, 3, 16})
          for (const u32 src_at : {0u, 5u})
            for (const u32 dst_at : {0u, 11u}) {
              RowTile tile{};
              tile.src = 4096 + src_at;
              tile.dst = 65536 + dst_at;
              tile.src_pitch = bytes + src_extra;
              tile.dst_pitch = bytes + dst_extra;
              tile.bytes = bytes;
              tile.rows = rows + 2;
              tile.begin = 1;
              tile.end = rows + 1;
              std::map<u64, u64> wanted, got;  // destination byte -> source byte
              for (u32 r = 1; r <= rows; ++r)
                for (u32 b = 0; b < bytes; ++b)
                  wanted[tile.dst + r * static_cast<u64>(tile.dst_pitch) + b] =
                      tile.src + r * static_cast<u64>(tile.src_pitch) + b;
              const RowTile moved = moved_rows(tile);
              const bool dense = src_extra == 0 && dst_extra == 0;
              check(moved.rows == (dense ? 1 : rows), "rows that touch on both sides are one");
              if (tile_suits_bulk(moved)) {
                check(moved.src % 16 == 0 && moved.dst % 16 == 0 && moved.bytes % 16 == 0,
                      "bulk copies are of multiples of 16");
                check(moved.rows == 1 || (moved.src_pitch % 16 == 0 && moved.dst_pitch % 16 == 0),
                      "and so are their pitches");
              }
              for (u32 number = 0; number < tile_pieces(moved) + 3; ++number) {
                const Piece16 piece = tile_piece(moved, number);
                if (number >= tile_pieces(moved)) check(piece.end == 0, "there are no more pieces");
                check(piece.address % 16 == 0 && piece.end <= 16, "pieces are aligned");
                for (u32 b = piece.first; b < piece.end; ++b)
                  check(got.insert({piece.address + b, piece.src + b}).second, "no byte twice");
              }
              check(got == wanted, "pieces are the rows' bytes");
              std::map<u64, u64> others;
              for (const RowTile& part :
                   {unmoved_rows(tile, 0, 1), unmoved_rows(tile, rows + 1, rows + 2)})
                for (u32 number = 0; number < tile_pieces(part); ++number) {
                  const Piece16 piece = tile_piece(part, number);
                  for (u32 b = piece.first; b < piece.end; ++b) ++others[piece.address + b];
                }
              std::map<u64, u64> rest;
              for (const u32 r : {0u, rows + 1})
                for (u32 b = 0; b < bytes; ++b)
                  ++rest[tile.dst + r * static_cast<u64>(tile.dst_pitch) + b];
              check(others == rest, "the other rows are what is left");
            }
}

void bulk() {
  const auto suits = [](u64 src, u64 dst, i64 src_pitch, i64 dst_pitch, u32 bytes, u32 rows) {
    return tile_suits_bulk({src, dst, src_pitch, dst_pitch, bytes, rows, 0, rows});
  };
  check(suits(4096, 8192, 128, 256, 64, 9), "aligned rows at aligned pitches suit");
  check(suits(4096, 8192, 3, 5, 16, 1), "the pitch of one row does not matter");
  check(!suits(4100, 8192, 128, 256, 64, 9) && !suits(4096, 8196, 128, 256, 64, 9) &&
            !suits(4096, 8192, 128, 256, 68, 9),
        "addresses and bytes that are no multiples of 16 do not");
  check(!suits(4096, 8192, 132, 256, 64, 9) && !suits(4096, 8192, 128, 260, 64, 9),
        "nor do such pitches");
  check(!suits(4096, 8192, 128, 256, kTileMinBulk - 16, 9), "nor many short rows");
}

}  // namespace

int main() {
  places();
  sequences();
  ragged_tiles();
  copies_tiles();
  pieces();
  bulk();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
