// SPDX-License-Identifier: Apache-2.0
// Host bodies of the gather kernels. The bulk kernels' stages go through the TMA model; the others
// work row by row. The family's kernel entries are at the end.
#include "kernels/common/host_engine.hpp"
#include "kernels/gather/gather.h"
#include "kernels/rows/rows_host.hpp"
#include "kernels/table/table_entry.hpp"

namespace tw {
namespace {

// Loads the pieces of a stage into shared memory, and zeros for indices without a row.
void load_stage(HostEngine& engine, const GatherArgs& args, u64 first, u32 pieces) {
  const u64 total = total_pieces(args, run_count(args));
  for (u32 slot = 0; slot < pieces; ++slot) {
    const RowPiece p = row_piece(args, first + slot, total);
    const i64 row = table_row_of(args, static_cast<i64>(p.index_number));
    const u32 to = slot * args.part_bytes;
    if (row >= 0)
      engine.load_bulk(table_row_address(args, row) + p.offset, to, p.bytes);
    else
      std::memset(engine.shared() + to, 0, p.bytes);
  }
}

void sum_stage(HostEngine& engine, const GatherArgs& args, u64 first, u32 rows) {
  const u64 total = total_pieces(args, run_count(args));
  const auto shared = reinterpret_cast<u64>(engine.shared());
  const u32 elements = args.part_bytes / element_bytes(args.element);
  for (u32 r = 0; r < rows; ++r) {
    for (u32 e = 0; e < elements; ++e) {
      float sum = 0.0f;
      for (u32 j = 0; j < args.group; ++j) {
        const RowPiece p = row_piece(args, first + r * args.group + j, total);
        const bool exists = table_row_of(args, static_cast<i64>(p.index_number)) >= 0;
        const float w = exists ? index_weight(args, static_cast<i64>(p.index_number)) : 0.0f;
        const u64 from = shared + static_cast<u64>(r * args.group + j) * args.part_bytes;
        const float value = read_as_f32(from, args.element, e);
        sum = j == 0 ? w * value : __builtin_fmaf(w, value, sum);
      }
      write_from_f32(shared + static_cast<u64>(r) * args.part_bytes, args.element, e, sum);
    }
  }
}

void store_stage(HostEngine& engine, const GatherArgs& args, u64 first, u32 rows) {
  const u64 total = total_pieces(args, run_count(args));
  if (args.dense) {
    engine.store_bulk(args.packed + packed_row_of(args, first) * args.part_bytes, 0,
                      rows * args.part_bytes);
    return;
  }
  for (u32 r = 0; r < rows; ++r) {
    const RowPiece p = row_piece(args, first + r * args.group, total);
    engine.store_bulk(packed_row_address(args, static_cast<i64>(p.packed_row)) + p.offset,
                      r * args.part_bytes, p.bytes);
  }
}

void gather_bulk_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const GatherArgs*>(arguments);
  for_each_stage(args, [&](u64 first, u32 pieces) {
    load_stage(engine, args, first, pieces);
    store_stage(engine, args, first, pieces);
  });
}

void gather_four_host(HostEngine& engine, const void* arguments) {
  const auto& four = *static_cast<const FourArgs*>(arguments);
  const RowsArgs& args = four.rows;
  const i64 count = run_count(args);
  for (u64 number = 0; number < four_stages(args, count); ++number) {
    const FourStage s = four_stage(args, number, count);
    for (u32 group = 0; group < four_groups(s); ++group) {
      const FourIndices four_rows = four_indices(
          args, s, group, false, [&](u64 i) { return table_row_of(args, static_cast<i64>(i)); });
      engine.load_gather4(four.map, four.column + static_cast<i32>(s.part) * four.part_columns,
                          four_rows.row, group * four_group_bytes(args));
    }
    four_packed_rows(args, s, [&](u64 packed, u32 shared, u32 bytes) {
      engine.store_bulk(packed, shared, bytes);
    });
  }
}

// Ordinary loads read the table rows; bulk copies store the packed rows of a stage.
void gather_staged_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const GatherArgs*>(arguments);
  for_each_stage(args, [&](u64 first, u32 pieces) {
    for (u32 slot = 0; slot < pieces; ++slot) {
      const i64 row = table_row_of(args, static_cast<i64>(first + slot));
      uint8_t* to = engine.shared() + slot * args.part_bytes;
      if (row >= 0)
        std::memcpy(to, reinterpret_cast<const uint8_t*>(table_row_address(args, row)),
                    args.part_bytes);
      else
        std::memset(to, 0, args.part_bytes);
    }
    store_stage(engine, args, first, pieces);
  });
}

void gather_sum_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const GatherArgs*>(arguments);
  for_each_stage(args, [&](u64 first, u32 pieces) {
    const u32 rows = pieces / args.group;
    load_stage(engine, args, first, pieces);
    sum_stage(engine, args, first, rows);
    store_stage(engine, args, first, rows);
  });
}

void gather_plain_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GatherArgs*>(arguments);
  const i64 end = last_row(args);
  for (i64 i = args.first_row; i < end; ++i) {
    auto* to = reinterpret_cast<uint8_t*>(packed_row_address(args, i));
    const i64 row = table_row_of(args, i);
    if (row >= 0)
      std::memcpy(to, reinterpret_cast<const uint8_t*>(table_row_address(args, row)),
                  args.row_bytes);
    else
      std::memset(to, 0, args.row_bytes);
  }
}

// The same as gather_plain_host: on a GPU the methods differ only in how they load bytes.
void gather_shift_host(HostEngine& engine, const void* arguments) {
  gather_plain_host(engine, arguments);
}

void gather_sum_plain_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GatherArgs*>(arguments);
  const i64 count = run_count(args);
  const u64 elements = args.row_bytes / element_bytes(args.element);
  for (i64 i = 0; i < count; ++i) {
    for (u64 e = 0; e < elements; ++e) {
      float sum = 0.0f;
      for (u32 j = 0; j < args.group; ++j) {
        const i64 index = i * args.group + j;
        const i64 row = table_row_of(args, index);
        const float value =
            row < 0 ? 0.0f : read_as_f32(table_row_address(args, row), args.element, e);
        const float w = row < 0 ? 0.0f : index_weight(args, index);
        sum = j == 0 ? w * value : __builtin_fmaf(w, value, sum);
      }
      write_from_f32(packed_row_address(args, i), args.element, e, sum);
    }
  }
}

void gather_margin_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const MarginArgs*>(arguments);
  const i64 count = run_count(args.rows);
  for (i64 i = 0; i < count; ++i) {
    auto* row = reinterpret_cast<uint8_t*>(packed_row_address(args.rows, i));
    std::memset(row, 0, args.lead_bytes);
    std::memset(row + args.rows.row_bytes - args.tail_bytes, 0, args.tail_bytes);
  }
}

void gather_few_host(HostEngine&, const void* arguments) {
  few_rows(*static_cast<const FewArgs*>(arguments), [](uint8_t* table, uint8_t* packed, u64 bytes) {
    if (table)
      std::memcpy(packed, table, bytes);
    else
      std::memset(packed, 0, bytes);
  });
}

void gather_outside_host(HostEngine&, const void* arguments) {
  count_outside(*static_cast<const OutsideArgs*>(arguments));
}

#define TW_GATHER(feature, part, symbol, threads, variant) \
  TW_TABLE_ENTRY(gather, feature, part, symbol, threads, variant)
#define TW_GATHER_BULK(...) TW_GATHER(__VA_ARGS__, kRowsMaxPipelineWarps * 32, kRowsBulk)
#define TW_GATHER_SHIFT(...) TW_GATHER(__VA_ARGS__, kRowsBlockThreads, kRowsShift)
#define TW_GATHER_FOUR(...) TW_GATHER(__VA_ARGS__, kRowsMaxPipelineWarps * 32, kRowsFour)
#define TW_GATHER_STAGED(...) TW_GATHER(__VA_ARGS__, kRowsMaxPipelineWarps * 32, kRowsStaged)
#define TW_GATHER_FEW(...) TW_GATHER(__VA_ARGS__, kRowsFewThreads, kRowsFew)
#define TW_GATHER_PLAIN(...) TW_GATHER(__VA_ARGS__, kRowsPlainThreads, kRowsPlain)
#define TW_GATHER_SUM(...) TW_GATHER(__VA_ARGS__, kRowsMaxPipelineWarps * 32, kRowsSum)
#define TW_GATHER_SUM_PLAIN(...) TW_GATHER(__VA_ARGS__, kRowsBlockThreads, kRowsSumPlain)
#define TW_GATHER_MARGIN(...) TW_GATHER(__VA_ARGS__, kRowsBlockThreads, kRowsMargin)
#define TW_GATHER_OUTSIDE(...) TW_GATHER(__VA_ARGS__, kRowsBlockThreads, kRowsOutside)

constexpr KernelEntry kEntries[] = {
#include "kernels/gather/kernels.inc"
};

}  // namespace

KernelEntries gather_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
