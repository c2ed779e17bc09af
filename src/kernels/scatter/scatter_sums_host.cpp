// SPDX-License-Identifier: Apache-2.0
// Scatter-add that sums equal rows first, on the CPU: within tiles, and deterministically over all.
#include <algorithm>
#include <numeric>

#include "kernels/rows/rows_host.hpp"
#include "kernels/scatter/scatter.h"
#include "kernels/scatter/scatter_host.hpp"

namespace tw {
namespace {

u64 row_elements(const RowsArgs& args) {
  return args.row_bytes / element_bytes(args.packed_element);
}

// table[row, e] += value, rounded once.
void add_number(const RowsArgs& args, i64 row, u64 e, float value) {
  const u64 to = table_row_address(args, row);
  write_number(to, args.element, e, read_number(to, args.element, e) + value);
}

float weighted(const RowsArgs& args, i64 number, u64 e) {
  return index_weight(args, number) *
         read_number(packed_row_address(args, number), args.packed_element, e);
}

float add_weighted(const RowsArgs& args, float sum, i64 number, u64 e) {
  return __builtin_fmaf(index_weight(args, number),
                        read_number(packed_row_address(args, number), args.packed_element, e), sum);
}

u32* words(u64 address) {
  return reinterpret_cast<u32*>(address);
}

}  // namespace

void scatter_sorted_host(HostEngine&, const void* arguments) {
  const auto& sorted = *static_cast<const SortedArgs*>(arguments);
  const RowsArgs& args = sorted.rows;
  const i64 count = run_count(args);
  const i64 share = kRowsSortTile / (kRowsPlainThreads / sorted.lanes);
  for (i64 first = 0; first < count; first += kRowsSortTile) {
    i64 order[kRowsSortTile];
    const i64 rows = std::min<i64>(kRowsSortTile, count - first);
    std::iota(order, order + rows, first);
    std::sort(order, order + rows, [&](i64 a, i64 b) {
      const u64 key_a = sort_key(named_row(args, a), args.table_rows);
      const u64 key_b = sort_key(named_row(args, b), args.table_rows);
      return key_a != key_b ? key_a < key_b : a < b;
    });
    for (i64 from = 0; from < rows; from += share) {
      for (u64 e = 0; e < row_elements(args); ++e) {
        i64 current = -1;
        float sum = 0.0f;
        for (i64 at = from; at < std::min(from + share, rows); ++at) {
          const i64 row = named_row(args, order[at]);
          if (row < 0) break;  // they come last
          if (row != current && current >= 0) add_number(args, current, e, sum);
          sum =
              row == current ? add_weighted(args, sum, order[at], e) : weighted(args, order[at], e);
          current = row;
        }
        if (current >= 0) add_number(args, current, e, sum);
      }
    }
  }
}

namespace {

u32 digit_of(const OrderArgs& args, i64 at, u32* number) {
  *number = args.from == 0 ? static_cast<u32>(at) : words(args.from)[at];
  const u64 key = sort_key(named_row(args.rows, *number), args.rows.table_rows);
  return static_cast<u32>(key >> args.shift) % kSortDigits;
}

i64 row_at(const OrderArgs& args, i64 count, i64 at) {
  return at < 0 || at >= count ? -1 : named_row(args.rows, words(args.from)[at]);
}

}  // namespace

void scatter_count_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  const i64 count = run_count(args.rows);
  u32* digits = words(args.digits);
  std::fill(digits, digits + u64{args.blocks} * kSortDigits, 0);
  for (i64 at = 0; at < count; ++at) {
    u32 number = 0;
    const u64 digit = digit_of(args, at, &number);
    ++digits[digit * args.blocks + static_cast<u64>(at) / kSortBlockItems];
  }
}

void scatter_scan_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  u32* digits = words(args.digits);
  std::exclusive_scan(digits, digits + u64{args.blocks} * kSortDigits, digits, 0u);
}

void scatter_place_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  const i64 count = run_count(args.rows);
  for (i64 at = 0; at < count; ++at) {
    u32 number = 0;
    const u64 digit = digit_of(args, at, &number);
    u32& place = words(args.digits)[digit * args.blocks + static_cast<u64>(at) / kSortBlockItems];
    words(args.to)[place++] = number;
  }
}

void scatter_segment_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  const i64 count = run_count(args.rows);
  const u64 elements = row_elements(args.rows);
  for (i64 first = 0; first < count; first += kSegmentItems) {
    const i64 end = std::min<i64>(first + kSegmentItems, count);
    for (i64 at = first; at < end;) {
      const i64 row = row_at(args, count, at);
      if (row < 0) break;  // they come last
      i64 behind = at + 1;
      while (behind < end && row_at(args, count, behind) == row) ++behind;
      const bool from_before = at == first && row_at(args, count, first - 1) == row;
      const bool goes_on = behind == first + kSegmentItems && row_at(args, count, behind) == row;
      for (u64 e = 0; e < elements; ++e) {
        float sum = weighted(args.rows, words(args.from)[at], e);
        for (i64 next = at + 1; next < behind; ++next)
          sum = add_weighted(args.rows, sum, words(args.from)[next], e);
        const u64 slot = static_cast<u64>(first / kSegmentItems) * 2 + (from_before ? 0 : 1);
        if (from_before || goes_on)
          reinterpret_cast<float*>(args.partials)[slot * elements + e] = sum;
        else
          add_number(args.rows, row, e, sum);
      }
      at = behind;
    }
  }
}

void scatter_join_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  const i64 count = run_count(args.rows);
  const u64 elements = row_elements(args.rows);
  const auto* partials = reinterpret_cast<const float*>(args.partials);
  for (i64 first = 0; first < count; first += kSegmentItems) {
    const i64 behind = first + kSegmentItems;
    const i64 row = row_at(args, count, behind);
    if (row < 0 || row != row_at(args, count, behind - 1)) continue;
    if (row == row_at(args, count, first - 1)) continue;  // begins further ahead
    const u64 segment = static_cast<u64>(first / kSegmentItems);
    for (u64 e = 0; e < elements; ++e) {
      float sum = partials[(segment * 2 + 1) * elements + e];
      for (u64 next = segment + 1;; ++next) {
        sum += partials[next * 2 * elements + e];
        if (row_at(args, count, static_cast<i64>(next + 1) * kSegmentItems) != row) break;
      }
      add_number(args.rows, row, e, sum);
    }
  }
}

}  // namespace tw
