// SPDX-License-Identifier: Apache-2.0
// Scatter on the CPU: the stages of the bulk kernels through the model of the copy engine, or rows.
#include "kernels/scatter/scatter_host.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/common/host_engine.hpp"
#include "kernels/rows/rows_host.hpp"
#include "kernels/scatter/scatter.h"
#include "tensor_map/model/reduce_ops.hpp"

namespace tw {
namespace {

model::ReduceOp model_op(u32 op) {
  return op == kReduceAdd   ? model::ReduceOp::add
         : op == kReduceMin ? model::ReduceOp::min
                            : model::ReduceOp::max;
}

// The hardware adds signed 64-bit numbers as unsigned ones: the bits are the same.
DType model_dtype(u32 op, u32 element) {
  const DType type = element_dtype(element);
  return op == kReduceAdd && type == DType::I64 ? DType::U64 : type;
}

void load_stage(HostEngine& engine, const ScatterArgs& args, u64 first, u32 pieces) {
  const u64 total = total_pieces(args, run_count(args));
  bool any = false;
  for (u32 slot = 0; slot < pieces; ++slot) {
    const RowPiece p = row_piece(args, first + slot, total);
    if (named_row(args, static_cast<i64>(p.index)) < 0) continue;
    any = true;
    if (!args.dense)
      engine.load_bulk(packed_row_address(args, static_cast<i64>(p.row)) + p.offset,
                       slot * args.part_bytes, p.bytes);
  }
  if (args.dense && any)
    engine.load_bulk(args.packed + first * args.part_bytes, 0, pieces * args.part_bytes);
}

void weigh_stage(HostEngine& engine, const ScatterArgs& args, u64 first, u32 pieces) {
  if (args.weights == 0) return;
  const u64 total = total_pieces(args, run_count(args));
  for (u32 slot = 0; slot < pieces; ++slot) {
    const RowPiece p = row_piece(args, first + slot, total);
    const u64 at = reinterpret_cast<u64>(engine.shared()) + u64{slot} * args.part_bytes;
    const float w = index_weight(args, static_cast<i64>(p.index));
    for (u32 e = 0; e < p.bytes / element_bytes(args.element); ++e)
      write_number(at, args.element, e, w * read_number(at, args.element, e));
  }
}

template <class Store>
void store_stage(const ScatterArgs& args, u64 first, u32 pieces, Store store) {
  const u64 total = total_pieces(args, run_count(args));
  for (u32 slot = 0; slot < pieces; ++slot) {
    const RowPiece p = row_piece(args, first + slot, total);
    const i64 row = named_row(args, static_cast<i64>(p.index));
    if (row >= 0) store(table_row_address(args, row) + p.offset, slot * args.part_bytes, p.bytes);
  }
}

// One element of the table and one of the packed operand, by the model's reduction of 16 bytes.
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
      // Of two NaNs in f32 FMNMX makes the canonical one; f64 has no such instruction, and keeps
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

}  // namespace

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
          args, s, group, true, [&](u64 i) { return named_row(args, static_cast<i64>(i)); });
      engine.store_scatter4(four.map, four.column + static_cast<i32>(s.part) * four.part_columns,
                            four_rows.row, group * four_group_bytes(args));
    }
  }
}

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
    weigh_stage(engine, args, first, pieces);
    store_stage(args, first, pieces, [&](u64 to, u32 from, u32 bytes) {
      engine.reduce_bulk(to, from, bytes, model_dtype(args.op, args.element), model_op(args.op));
    });
  });
}

void scatter_plain_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  const i64 end = last_row(args);
  for (i64 i = args.first_row; i < end; ++i) {
    const i64 row = named_row(args, i);
    if (row >= 0)
      std::memcpy(reinterpret_cast<uint8_t*>(table_row_address(args, row)),
                  reinterpret_cast<const uint8_t*>(packed_row_address(args, i)), args.row_bytes);
  }
}

void scatter_shift_host(HostEngine& engine, const void* arguments) {
  scatter_plain_host(engine, arguments);
}

void scatter_reduce_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  const i64 count = run_count(args);
  const u32 bytes = element_bytes(args.element);
  for (i64 i = 0; i < count; ++i) {
    const i64 row = named_row(args, i);
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

}  // namespace tw
