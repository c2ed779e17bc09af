// SPDX-License-Identifier: Apache-2.0
// What the piece kernels prefetch into L2 before they write, and how they store the ends of rows.
#include "kernels/copy/pieces.h"

#include <random>
#include <set>

#include "doctest_main.hpp"
#include "ops/copy/copy_methods.hpp"
#include "tests/ops/copy/copy_desc.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr u64 kSrc = 1ull << 32;
constexpr u64 kDst = 1ull << 40;

CopyPieceArgs pieces_of(const CopyDesc& desc, uint32_t misalignment, bool realign = false) {
  CopyShape shape;
  REQUIRE(copy_shape(desc, &shape).ok());
  CopyPieceArgs args;
  REQUIRE(fill_pieces(shape, realign, misalignment, &args));
  args.src = kSrc + misalignment;
  args.dst = kDst + misalignment;
  args.src_high = ~0ull;
  return args;
}

CopyPieceArgs pieces_of(int64_t rows, int64_t bytes, int64_t pitch, uint32_t misalignment,
                        bool realign = false) {
  return pieces_of(copy_desc(DType::U8, {{rows, pitch + 16, pitch}, {bytes, 1, 1}}), misalignment,
                   realign);
}

// How many of the destination's bytes each 32-byte sector holds.
std::vector<uint32_t> bytes_of_sectors(const CopyPieceArgs& args, u64 bytes) {
  std::vector<uint32_t> sectors(bytes / kPieceSector + 1);
  for (u64 slot = 0; slot < args.items; ++slot) {
    const CopyPiece p = copy_piece<0>(args, static_cast<u32>(slot));
    if (p.end != 0) sectors[(p.to - kDst) / kPieceSector] += p.end - p.first;
  }
  return sectors;
}

void check_prefetches(const CopyPieceArgs& args, u64 bytes) {
  const std::vector<uint32_t> sectors = bytes_of_sectors(args, bytes);
  std::vector<bool> asked(sectors.size());
  for (u64 slot = 0; slot < args.items; ++slot) {
    const CopyPiece p = copy_piece<0>(args, static_cast<u32>(slot));
    u64 from = p.to - kDst;
    u64 to = from + prefetch_bytes_of(args, p);
    if (to == from) continue;
    if (args.prefetch == kPrefetchLines) {
      from = (from + p.first) / 128 * 128;
      to = from + 128;
    }
    for (u64 sector = from / kPieceSector; sector * kPieceSector < to; ++sector) {
      if (sector >= sectors.size()) continue;  // the rest of a line
      asked[sector] = true;
      // A bulk prefetch outside the destination may fault.
      if (args.prefetch != kPrefetchLines && sectors[sector] == 0) CHECK(sectors[sector] != 0);
    }
  }
  for (size_t sector = 0; sector < sectors.size(); ++sector) {
    const bool part = sectors[sector] % kPieceSector != 0;
    if (part && !asked[sector]) CHECK(asked[sector]);
  }
}

}  // namespace

TEST_CASE(
    "copy_pieces: sectors that are written in part are asked for, and no memory beside them") {
  std::mt19937_64 random(5);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  std::set<u32> ways;
  for (int i = 0; i < 120; ++i) {
    const int64_t bytes = pick(33, i % 3 == 0 ? 700 : 130);
    const int64_t gap = pick(1, i % 4 == 0 ? 300 : 40);
    const int64_t pitch = i % 5 == 0 ? bytes + gap : (bytes + gap + 15) / 16 * 16;
    const auto misalignment = static_cast<uint32_t>(i % 3 == 0 ? pick(0, 1) * 16 : pick(0, 31));
    const int64_t rows = (kSmallCopy + bytes - 1) / bytes;
    if (bytes == pitch) continue;
    const CopyPieceArgs args = pieces_of(rows, bytes, pitch, misalignment);
    INFO(bytes, " bytes, pitch ", pitch, ", ", misalignment, " past a sector, prefetch ",
         args.prefetch);
    ways.insert(args.prefetch);
    check_prefetches(args, static_cast<u64>(rows * pitch) + 1024);
  }
  for (const u32 way : {u32{kPrefetchLines}, u32{kPrefetchSectors}, 32u, 48u}) {
    INFO("prefetch ", way);
    CHECK(ways.count(way) == 1);
  }
}

TEST_CASE("copy_pieces: how sectors are asked for and ends are stored") {
  const struct {
    int64_t rows, bytes, pitch;
    uint32_t misalignment;
    bool realign;
    u32 prefetch, ends_by_bytes;
  } cases[] = {{1 << 14, 128, 768, 0, false, kPrefetchNothing, 0},   // whole sectors
               {1 << 14, 128, 768, 16, false, kPrefetchSectors, 0},  // half sectors
               {1 << 14, 112, 128, 0, false, kPrefetchSectors, 0},
               {1 << 14, 100, 128, 0, false, kPrefetchSectors, 0},
               // an end shares a sector with the next row's begin
               {1 << 14, 100, 128, 5, false, 48, 1},
               {1 << 14, 100, 108, 5, false, kPrefetchLines, 1},
               {1 << 14, 100, 108, 4, false, kPrefetchLines, 0},
               {1 << 14, 100, 256, 5, false, kPrefetchLines, 1},
               {1 << 12, 1000, 1280, 5, false, kPrefetchSectors, 1},
               {1 << 15, 36, 48, 0, false, kPrefetchLines, 0},
               // adjacent rows complete the sectors
               {1 << 14, 100, 100, 0, false, kPrefetchNothing, 0},
               {100, 100, 128, 5, false, kPrefetchNothing, 0},  // a small copy
               {1 << 14, 100, 128, 5, true, kPrefetchLines, 1},
               {1 << 14, 100, 128, 0, true, kPrefetchLines, 0},
               {1 << 14, 101, 103, 0, true, kPrefetchLines, 1},
               {1 << 14, 128, 768, 0, true, kPrefetchNothing, 0}};
  for (const auto& c : cases) {
    const CopyPieceArgs args = pieces_of(c.rows, c.bytes, c.pitch, c.misalignment, c.realign);
    INFO(c.bytes, " bytes, pitch ", c.pitch, ", ", c.misalignment, " past a sector, ", c.realign);
    CHECK(args.prefetch == c.prefetch);
    CHECK(args.ends_by_bytes == c.ends_by_bytes);
  }
  // Rows of planes: these kernels have no instructions to spare for short ends unless they realign.
  const CopyDesc planes = copy_desc(DType::U8, {{1 << 12, 704, 608}, {4, 128, 128}, {100, 1, 1}});
  CHECK(pieces_of(planes, 5).prefetch == kPrefetchLines);
  CHECK(pieces_of(planes, 5).ends_by_bytes == 0);
  CHECK(pieces_of(planes, 5, true).prefetch == kPrefetchLines);
  CHECK(pieces_of(planes, 5, true).ends_by_bytes == 1);
}
