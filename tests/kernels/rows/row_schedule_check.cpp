// SPDX-License-Identifier: Apache-2.0
// Checks the schedule and the index preparation that row kernels and their host bodies share: every
// byte of every row is moved once, and an index is in range or harmless. It uses no test framework,
// so that row_schedule_mutants.py can rebuild it for each fault that it plants.
#include <cstdint>
#include <cstdio>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/rows/row_schedule.h"

using namespace tw;

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  if (failures++ < 5) std::printf("failed: %s\n", what);
}

// Counts how often each byte of each row is moved.
struct Bytes {
  std::vector<std::vector<int>> times;
  Bytes(i64 rows, u64 bytes) : times(static_cast<size_t>(rows), std::vector<int>(bytes)) {}
  void mark(u64 row, u64 offset, u64 bytes) {
    for (u64 b = offset; b < offset + bytes; ++b) {
      if (row < times.size() && b < times[row].size())
        ++times[row][b];
      else
        check(false, "a piece lies outside the rows");
    }
  }
  bool all(int wanted) const {
    for (const auto& row : times)
      for (const int t : row)
        if (t != wanted) return false;
    return true;
  }
};

RowsArgs split(u64 row_bytes, u32 part_bytes, u32 group) {
  RowsArgs args{};
  args.row_bytes = row_bytes;
  args.group = group;
  args.part_bytes = part_bytes;
  args.parts = static_cast<u32>((row_bytes + part_bytes - 1) / part_bytes);
  args.last_bytes = static_cast<u32>(row_bytes - u64{args.parts - 1} * part_bytes);
  args.part_divider = make_divider(args.parts * group);
  args.group_divider = make_divider(group);
  return args;
}

void indices() {
  constexpr i64 kWide = i64{1} << 32;
  check(checked_row(0, 5) == 0 && checked_row(4, 5) == 4, "rows of the table are themselves");
  for (const i64 index : {i64{-1}, i64{5}, i64{INT32_MIN}, i64{INT32_MAX}, kWide + 3, -kWide,
                          i64{INT64_MIN}, i64{INT64_MAX}})
    check(checked_row(index, 5) == -1, "an index outside names no row");
  check(checked_row(0, 0) == -1, "a table without rows has none");
  check(checked_row(kWide + 3, kWide * 2) == kWide + 3, "rows are counted in 64 bits");
  check(clamped_count(-7, 10) == 0 && clamped_count(7, 10) == 7 && clamped_count(70, 10) == 10 &&
            clamped_count(10, 10) == 10 && clamped_count(INT64_MIN, 10) == 0,
        "a count from the device is brought into range");
}

void pieces() {
  for (const u64 bytes : {16u, 48u, 512u, 1040u})
    for (const u32 part : {16u, 64u, 512u})
      for (const u32 group : {1u, 3u, 8u})
        for (const i64 count : {1, 7, 33}) {
          const RowsArgs args = split(bytes, part, group);
          const u64 total = total_pieces(args, count);
          Bytes seen(count, bytes);
          std::set<std::tuple<u64, u64>> once;
          for (u64 number = 0; number < total + 50; ++number) {
            const RowPiece p = row_piece(args, number, total);
            if (number >= total) {
              check(p.bytes == 0, "behind the last piece there is none");
              continue;
            }
            seen.mark(p.packed_row, p.offset, p.bytes);
            check(p.index_number / group == p.packed_row, "a piece's index is one of its row's");
            check(once.insert({p.index_number, p.offset}).second, "no index has a part twice");
            // Members of a group are adjacent, as the reduction expects.
            check(p.index_number % group == number % group, "members are the fastest");
          }
          check(seen.all(static_cast<int>(group)), "every byte of every row is moved");
          if (args.parts == 1)
            for (i64 row = 0; row < count; ++row)
              check(packed_row_of(args, static_cast<u64>(row) * group) == static_cast<u64>(row),
                    "a stage begins at its packed row");
        }
}

void four_rows() {
  constexpr i64 kRows = 1000;
  for (const u64 bytes : {32u, 96u, 480u})
    for (const u32 part : {32u, 64u})
      for (const u32 stage : {4u, 12u})
        for (const i64 count : {8, 9, 30, 31}) {
          RowsArgs args = split(bytes, part, 1);
          args.stage_pieces = stage;
          args.table_rows = kRows;
          args.part_divider = make_divider(args.parts);
          Bytes seen(count, bytes);
          for (u64 number = 0; number < four_stages(args, count); ++number) {
            const FourStage s = four_stage(args, number, count);
            check(s.rows >= 1 && s.rows <= stage, "a stage has rows, and no more than it holds");
            for (u32 r = 0; r < s.rows; ++r) seen.mark(s.first + r, u64{s.part} * part, s.bytes);
            check(four_groups(s) * kFourRows >= s.rows && four_groups(s) * kFourRows < s.rows + 4,
                  "groups of four cover the rows");
            for (u32 group = 0; group < four_groups(s); ++group)
              for (const bool scatter : {false, true}) {
                // Every third index names no row; every other index equals its position.
                const FourIndices four = four_indices(args, s, group, scatter, [](u64 i) {
                  return i % 3 == 0 ? i64{-1} : static_cast<i64>(i);
                });
                for (u32 k = 0; k < kFourRows; ++k) {
                  const u64 i = s.first + group * kFourRows + k;
                  const bool named = group * kFourRows + k < s.rows && i % 3 != 0;
                  const i64 row = four.row[k];
                  if (named) check(row == static_cast<i64>(i), "a named row is its number");
                  if (!named && scatter)
                    check(row == kRows, "a scatter's row that is none lies just behind the table");
                  if (!named && !scatter) check(row < 0, "a gather's row that is none is negative");
                }
              }
          }
          check(seen.all(1), "every byte of every row is moved once");
          check(four_group_bytes(args) == 4 * part && four_group_bytes(args) % 128 == 0,
                "groups of four begin at multiples of 128 bytes");
        }
}

// A scatter's groups keep their indices behind each stage, in rows_note_bytes() bytes. The smallest
// stages have far fewer groups than a warp has lanes.
void four_notes() {
  for (u32 stage = kFourRows; stage <= kRowsMaxStagePieces; stage += kFourRows)
    for (u32 rows = 1; rows <= stage; ++rows) {
      RowsArgs args = split(64, 64, 1);
      args.stage_pieces = stage;
      args.part_divider = make_divider(1);
      const FourStage s = four_stage(args, 0, rows);
      check(s.rows == rows && four_groups(s) <= 32, "a lane a group serves a stage");
      check(four_groups(s) * kFourNoteBytes <= rows_note_bytes(stage),
            "the notes of a stage's groups lie within the room behind it");
    }
}

}  // namespace

int main() {
  indices();
  pieces();
  four_rows();
  four_notes();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
