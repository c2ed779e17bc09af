// SPDX-License-Identifier: Apache-2.0
// Host bodies of the scatter kernels. The bulk kernels' stages go through the TMA model; the others
// work row by row. The family's kernel entries are at the end.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/common/host_engine.hpp"
#include "kernels/rows/rows_host.hpp"
#include "kernels/scatter/scatter.h"
#include "kernels/table/table_entry.hpp"
#include "tensor_map/model/reduce_ops.hpp"

namespace tw {
namespace {

model::ReduceOp model_op(u32 op) {
  return op == kReduceAdd   ? model::ReduceOp::add
         : op == kReduceMin ? model::ReduceOp::min
                            : model::ReduceOp::max;
}

// The hardware has no signed 64-bit add and uses the unsigned one, which gives the same bits.
DType model_dtype(u32 op, u32 element_type) {
  const DType type = element_dtype(element_type);
  return op == kReduceAdd && type == DType::I64 ? DType::U64 : type;
}

void load_stage(HostEngine& engine, const ScatterArgs& args, u64 first, u32 pieces) {
  const u64 total = total_pieces(args, run_count(args));
  bool any = false;
  for (u32 slot = 0; slot < pieces; ++slot) {
    const RowPiece p = row_piece(args, first + slot, total);
    if (table_row_of(args, static_cast<i64>(p.index_number)) < 0) continue;
    any = true;
    if (!args.dense)
      engine.load_bulk(packed_row_address(args, static_cast<i64>(p.packed_row)) + p.offset,
                       slot * args.part_bytes, p.bytes);
  }
  if (args.dense && any)
    engine.load_bulk(args.packed + first * args.part_bytes, 0, pieces * args.part_bytes);
}

void apply_weights(HostEngine& engine, const ScatterArgs& args, u64 first, u32 pieces) {
  if (args.weights == 0) return;
  const u64 total = total_pieces(args, run_count(args));
  for (u32 slot = 0; slot < pieces; ++slot) {
    const RowPiece p = row_piece(args, first + slot, total);
    const u64 at = reinterpret_cast<u64>(engine.shared()) + u64{slot} * args.part_bytes;
    const float w = index_weight(args, static_cast<i64>(p.index_number));
    for (u32 e = 0; e < p.bytes / element_bytes(args.element); ++e)
      write_from_f32(at, args.element, e, w * read_as_f32(at, args.element, e));
  }
}

template <class Store>
void store_stage(const ScatterArgs& args, u64 first, u32 pieces, Store store) {
  const u64 total = total_pieces(args, run_count(args));
  for (u32 slot = 0; slot < pieces; ++slot) {
    const RowPiece p = row_piece(args, first + slot, total);
    const i64 row = table_row_of(args, static_cast<i64>(p.index_number));
    if (row >= 0) store(table_row_address(args, row) + p.offset, slot * args.part_bytes, p.bytes);
  }
}

// Reduces one element of the packed operand into one of the table, with the TMA model's 16-byte
// reduction where it has one.
void reduce_element(u32 op, u32 element, u64 to, u64 from) {
  const u32 bytes = element_bytes(element);
  auto* at = reinterpret_cast<uint8_t*>(to);
  if ((element == kElementF32 || element == kElementF64) && op != kReduceAdd) {
    const bool least = op == kReduceMin;
    const auto extreme = [&](auto zero) {
      auto a = zero;
      auto b = zero;
      std::memcpy(&a, at, bytes);
      std::memcpy(&b, reinterpret_cast<const uint8_t*>(from), bytes);
      const bool less = a != b ? a < b : std::signbit(a) && !std::signbit(b);
      const auto chosen = std::isnan(a) ? b : std::isnan(b) ? a : less == least ? a : b;
      // For two NaNs in f32, FMNMX returns the canonical NaN. f64 has no such instruction and keeps
      // one of the two.
      const bool canonical = element == kElementF32 && std::isnan(chosen);
      std::memcpy(at, canonical ? static_cast<const void*>(&kCanonicalNan) : &chosen, bytes);
    };
    if (element == kElementF32)
      extreme(0.0f);
    else
      extreme(0.0);
    return;
  }
  uint8_t table[16] = {};
  uint8_t operand[16] = {};
  std::memcpy(table, at, bytes);
  std::memcpy(operand, reinterpret_cast<const uint8_t*>(from), bytes);
  model::reduce_chunk(model_dtype(op, element), model_op(op))(table, operand);
  std::memcpy(at, table, bytes);
}

void scatter_bulk_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  for_each_stage(args, [&](u64 first, u32 pieces) {
    load_stage(engine, args, first, pieces);
    store_stage(args, first, pieces,
                [&](u64 to, u32 from, u32 bytes) { engine.store_bulk(to, from, bytes); });
  });
}

void scatter_four_host(HostEngine& engine, const void* arguments) {
  const auto& four = *static_cast<const FourArgs*>(arguments);
  const RowsArgs& args = four.rows;
  const i64 count = run_count(args);
  for (u64 number = 0; number < four_stages(args, count); ++number) {
    const FourStage s = four_stage(args, number, count);
    four_packed_rows(args, s, [&](u64 packed, u32 shared, u32 bytes) {
      engine.load_bulk(packed, shared, bytes);
    });
    for (u32 group = 0; group < four_groups(s); ++group) {
      const FourIndices four_rows = four_indices(
          args, s, group, true, [&](u64 i) { return table_row_of(args, static_cast<i64>(i)); });
      engine.store_scatter4(four.map, four.column + static_cast<i32>(s.part) * four.part_columns,
                            four_rows.row, group * four_group_bytes(args));
    }
  }
}

// Bulk copies load the packed rows of a stage; ordinary stores write the table rows.
void scatter_staged_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  for_each_stage(args, [&](u64 first, u32 pieces) {
    if (args.dense)
      engine.load_bulk(args.packed + first * args.part_bytes, 0, pieces * args.part_bytes);
    else
      for (u32 slot = 0; slot < pieces; ++slot)
        engine.load_bulk(packed_row_address(args, static_cast<i64>(first + slot)),
                         slot * args.part_bytes, args.part_bytes);
    store_stage(args, first, pieces, [&](u64 to, u32 from, u32 bytes) {
      std::memcpy(reinterpret_cast<uint8_t*>(to), engine.shared() + from, bytes);
    });
  });
}

void scatter_bulk_reduce_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  for_each_stage(args, [&](u64 first, u32 pieces) {
    load_stage(engine, args, first, pieces);
    apply_weights(engine, args, first, pieces);
    store_stage(args, first, pieces, [&](u64 to, u32 from, u32 bytes) {
      engine.reduce_bulk(to, from, bytes, model_dtype(args.op, args.element), model_op(args.op));
    });
  });
}

void scatter_plain_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  const i64 end = last_row(args);
  for (i64 i = args.first_row; i < end; ++i) {
    const i64 row = table_row_of(args, i);
    if (row >= 0)
      std::memcpy(reinterpret_cast<uint8_t*>(table_row_address(args, row)),
                  reinterpret_cast<const uint8_t*>(packed_row_address(args, i)), args.row_bytes);
  }
}

// The same as scatter_plain_host: on a GPU the methods differ only in how they load bytes.
void scatter_shift_host(HostEngine& engine, const void* arguments) {
  scatter_plain_host(engine, arguments);
}

void scatter_reduce_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  const i64 count = run_count(args);
  const u32 bytes = element_bytes(args.element);
  for (i64 i = 0; i < count; ++i) {
    const i64 row = table_row_of(args, i);
    for (u64 at = 0; row >= 0 && at < args.row_bytes; at += bytes)
      reduce_element(args.op, args.element, table_row_address(args, row) + at,
                     packed_row_address(args, i) + at);
  }
}

void scatter_clear_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  const i64 count = run_count(args);
  for (i64 i = 0; i < count; ++i) {
    const i64 row = checked_row(host_index(args.index, args.index_bytes, i), args.table_rows);
    if (row >= 0) reinterpret_cast<uint32_t*>(args.winners)[row] = 0;
  }
}

void scatter_mark_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  const i64 count = run_count(args);
  for (i64 i = 0; i < count; ++i) {
    const i64 row = checked_row(host_index(args.index, args.index_bytes, i), args.table_rows);
    if (row < 0) continue;
    auto& winner = reinterpret_cast<uint32_t*>(args.winners)[row];
    winner = std::max(winner, static_cast<uint32_t>(i));
  }
}

void scatter_few_host(HostEngine&, const void* arguments) {
  few_rows(*static_cast<const FewArgs*>(arguments), [](uint8_t* table, uint8_t* packed, u64 bytes) {
    if (table) std::memcpy(table, packed, bytes);
  });
}

void scatter_outside_host(HostEngine&, const void* arguments) {
  count_outside(*static_cast<const OutsideArgs*>(arguments));
}

// Scatter-add that first sums packed rows that go to the same table row. scatter_sorted_host sorts
// each tile of kRowsSortTile indices and sums within shares of the tile. The deterministic sum (the
// functions from digit_of on) does so over all indices, in a fixed order.

u64 row_elements(const RowsArgs& args) {
  return args.row_bytes / element_bytes(args.packed_element);
}

// Adds `value` to table[row, e], rounding once.
void add_to_table(const RowsArgs& args, i64 row, u64 e, float value) {
  const u64 to = table_row_address(args, row);
  write_from_f32(to, args.element, e, read_as_f32(to, args.element, e) + value);
}

// Element e of packed row i, times the weight of index number i.
float weighted(const RowsArgs& args, i64 i, u64 e) {
  return index_weight(args, i) * read_as_f32(packed_row_address(args, i), args.packed_element, e);
}

float add_weighted(const RowsArgs& args, float sum, i64 i, u64 e) {
  return __builtin_fmaf(index_weight(args, i),
                        read_as_f32(packed_row_address(args, i), args.packed_element, e), sum);
}

u32* words(u64 address) {
  return reinterpret_cast<u32*>(address);
}

void scatter_sorted_host(HostEngine&, const void* arguments) {
  const auto& sorted = *static_cast<const SortedArgs*>(arguments);
  const RowsArgs& args = sorted.rows;
  const i64 count = run_count(args);
  // As on the GPU, where each team of `lanes` threads sums its own share of the sorted indices.
  const i64 team_share = kRowsSortTile / (kRowsBlockThreads / sorted.lanes);
  for (i64 first = 0; first < count; first += kRowsSortTile) {
    i64 order[kRowsSortTile];
    const i64 rows = std::min<i64>(kRowsSortTile, count - first);
    std::iota(order, order + rows, first);
    std::sort(order, order + rows, [&](i64 a, i64 b) {
      const u64 key_a = sort_key(table_row_of(args, a), args.table_rows);
      const u64 key_b = sort_key(table_row_of(args, b), args.table_rows);
      return key_a != key_b ? key_a < key_b : a < b;
    });
    for (i64 from = 0; from < rows; from += team_share) {
      for (u64 e = 0; e < row_elements(args); ++e) {
        i64 current = -1;
        float sum = 0.0f;
        for (i64 at = from; at < std::min(from + team_share, rows); ++at) {
          const i64 row = table_row_of(args, order[at]);
          if (row < 0) break;  // indices without a row come last
          if (row != current && current >= 0) add_to_table(args, current, e, sum);
          sum =
              row == current ? add_weighted(args, sum, order[at], e) : weighted(args, order[at], e);
          current = row;
        }
        if (current >= 0) add_to_table(args, current, e, sum);
      }
    }
  }
}

// The digit of the index at position `at` of the previous pass's order, and the index's number.
u32 digit_of(const OrderArgs& args, i64 at, u32* index_number) {
  *index_number = args.from == 0 ? static_cast<u32>(at) : words(args.from)[at];
  const u64 key = sort_key(table_row_of(args.rows, *index_number), args.rows.table_rows);
  return static_cast<u32>(key >> args.shift) % kSortDigits;
}

// The table row of the index at position `at` of the sorted order; -1 past the end.
i64 row_at(const OrderArgs& args, i64 count, i64 at) {
  return at < 0 || at >= count ? -1 : table_row_of(args.rows, words(args.from)[at]);
}

void scatter_count_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  const i64 count = run_count(args.rows);
  u32* counts = words(args.digit_counts);
  std::fill(counts, counts + u64{args.blocks} * kSortDigits, 0);
  for (i64 at = 0; at < count; ++at) {
    u32 index_number = 0;
    const u64 digit = digit_of(args, at, &index_number);
    ++counts[digit * args.blocks + static_cast<u64>(at) / kSortBlockItems];
  }
}

void scatter_scan_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  u32* counts = words(args.digit_counts);
  std::exclusive_scan(counts, counts + u64{args.blocks} * kSortDigits, counts, 0u);
}

void scatter_place_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  const i64 count = run_count(args.rows);
  u32* next_places = words(args.digit_counts);
  for (i64 at = 0; at < count; ++at) {
    u32 index_number = 0;
    const u64 digit = digit_of(args, at, &index_number);
    u32& place = next_places[digit * args.blocks + static_cast<u64>(at) / kSortBlockItems];
    words(args.to)[place++] = index_number;
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
      if (row < 0) break;  // indices without a row come last
      i64 after = at + 1;
      while (after < end && row_at(args, count, after) == row) ++after;
      const bool from_before = at == first && row_at(args, count, first - 1) == row;
      const bool continues = after == first + kSegmentItems && row_at(args, count, after) == row;
      for (u64 e = 0; e < elements; ++e) {
        float sum = weighted(args.rows, words(args.from)[at], e);
        for (i64 next = at + 1; next < after; ++next)
          sum = add_weighted(args.rows, sum, words(args.from)[next], e);
        const u64 slot = static_cast<u64>(first / kSegmentItems) * 2 + (from_before ? 0 : 1);
        if (from_before || continues)
          reinterpret_cast<float*>(args.partials)[slot * elements + e] = sum;
        else
          add_to_table(args.rows, row, e, sum);
      }
      at = after;
    }
  }
}

void scatter_join_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const OrderArgs*>(arguments);
  const i64 count = run_count(args.rows);
  const u64 elements = row_elements(args.rows);
  const auto* partials = reinterpret_cast<const float*>(args.partials);
  for (i64 first = 0; first < count; first += kSegmentItems) {
    const i64 after = first + kSegmentItems;
    const i64 row = row_at(args, count, after);
    if (row < 0 || row != row_at(args, count, after - 1)) continue;
    if (row == row_at(args, count, first - 1)) continue;  // begins in an earlier segment
    const u64 segment = static_cast<u64>(first / kSegmentItems);
    for (u64 e = 0; e < elements; ++e) {
      float sum = partials[(segment * 2 + 1) * elements + e];
      for (u64 next = segment + 1;; ++next) {
        sum += partials[next * 2 * elements + e];
        if (row_at(args, count, static_cast<i64>(next + 1) * kSegmentItems) != row) break;
      }
      add_to_table(args.rows, row, e, sum);
    }
  }
}

#define TW_SCATTER(feature, part, symbol, threads, variant) \
  TW_TABLE_ENTRY(scatter, feature, part, symbol, threads, variant)
#define TW_SCATTER_BULK(...) TW_SCATTER(__VA_ARGS__, kRowsMaxPipelineWarps * 32, kRowsBulk)
#define TW_SCATTER_SHIFT(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsShift)
#define TW_SCATTER_FOUR(...) TW_SCATTER(__VA_ARGS__, kRowsMaxPipelineWarps * 32, kRowsFour)
#define TW_SCATTER_STAGED(...) TW_SCATTER(__VA_ARGS__, kRowsMaxPipelineWarps * 32, kRowsStaged)
#define TW_SCATTER_FEW(...) TW_SCATTER(__VA_ARGS__, kRowsFewThreads, kRowsFew)
#define TW_SCATTER_PLAIN(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsPlain)
#define TW_SCATTER_BULK_REDUCE(...) \
  TW_SCATTER(__VA_ARGS__, kRowsMaxPipelineWarps * 32, kRowsBulkReduce)
#define TW_SCATTER_REDUCE(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsReduce)
#define TW_SCATTER_SORTED(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsSorted)
#define TW_SCATTER_OUTSIDE(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsOutside)
#define TW_SCATTER_CLEAR(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsClear)
#define TW_SCATTER_MARK(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsMark)
#define TW_SCATTER_COUNT(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsCount)
#define TW_SCATTER_SCAN(...) TW_SCATTER(__VA_ARGS__, kRowsScanThreads, kRowsScan)
#define TW_SCATTER_PLACE(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsPlace)
#define TW_SCATTER_SEGMENT(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsSegment)
#define TW_SCATTER_JOIN(...) TW_SCATTER(__VA_ARGS__, kRowsBlockThreads, kRowsJoin)

constexpr KernelEntry kEntries[] = {
#include "kernels/scatter/kernels.inc"
};

}  // namespace

KernelEntries scatter_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
