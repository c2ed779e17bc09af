// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the gather and scatter host bodies.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/dtype.hpp"
#include "base/float_formats.hpp"
#include "kernels/rows/row_schedule.h"
#include "kernels/rows/row_steps.h"

namespace tw {

/// Reads index number i, sign-extended to 64 bits.
inline i64 host_index(u64 address, u32 index_bytes, i64 i) {
  const auto* at = reinterpret_cast<const uint8_t*>(address) + i * index_bytes;
  if (index_bytes == 8) {
    i64 wide;
    std::memcpy(&wide, at, 8);
    return wide;
  }
  int32_t narrow;
  std::memcpy(&narrow, at, 4);
  return narrow;
}

inline i64 run_count(const RowsArgs& args) {
  if (args.count_at == 0) return args.count;
  return clamped_count(host_index(args.count_at, args.index_bytes, 0), args.count);
}

/// Returns the table row that index number i names, or -1: if the row is outside the table, or if
/// another index with the same row wins (RowsArgs::winners).
inline i64 table_row_of(const RowsArgs& args, i64 i) {
  const i64 row = checked_row(host_index(args.index, args.index_bytes, i), args.table_rows);
  if (args.winners == 0 || row < 0) return row;
  return reinterpret_cast<const uint32_t*>(args.winners)[row] == static_cast<u64>(i) ? row : -1;
}

inline float index_weight(const RowsArgs& args, i64 i) {
  return args.weights == 0 ? 1.0f : reinterpret_cast<const float*>(args.weights)[i];
}

inline u64 table_row_address(const RowsArgs& args, i64 row) {
  return args.table + static_cast<u64>(row * args.table_pitch);
}
inline u64 packed_row_address(const RowsArgs& args, i64 i) {
  return args.packed + static_cast<u64>(i * args.packed_pitch);
}

/// One past the last packed row of a launch; a run may need several launches.
inline i64 last_row(const RowsArgs& args) {
  const i64 count = run_count(args);
  if (args.launch_rows == 0) return count;
  return count - args.first_row < args.launch_rows ? count : args.first_row + args.launch_rows;
}

/// The data type in which the host computes on elements of a type, which is a kElement value.
inline DType element_dtype(u32 type) {
  constexpr DType kTypes[] = {DType::U8,  DType::F32, DType::F16, DType::BF16, DType::F64,
                              DType::U32, DType::I32, DType::U64, DType::I64};
  return kTypes[type];
}
inline u32 element_bytes(u32 type) {
  return static_cast<u32>(dtype_bytes(element_dtype(type)));
}

/// The NaN that FFMA, FADD and FMNMX return for any NaN operand; they drop its payload.
inline constexpr uint32_t kCanonicalNan = 0x7fffffff;

/// Reads element e of an f32, f16 or bf16 array as f32. write_from_f32() writes a computed value
/// back and turns every NaN into the canonical NaN of its type; for f16 and bf16 the conversions do
/// so. `type` is a kElement value.
inline float read_as_f32(u64 address, u32 type, u64 e) {
  if (type == kElementF32) {
    float value;
    std::memcpy(&value, reinterpret_cast<const uint8_t*>(address) + e * 4, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, reinterpret_cast<const uint8_t*>(address) + e * 2, 2);
  return type == kElementF16 ? f16_to_float(bits) : bf16_to_float(bits);
}
inline void write_from_f32(u64 address, u32 type, u64 e, float value) {
  if (type == kElementF32) {
    const uint32_t bits = std::isnan(value) ? kCanonicalNan : std::bit_cast<uint32_t>(value);
    std::memcpy(reinterpret_cast<uint8_t*>(address) + e * 4, &bits, 4);
    return;
  }
  const uint16_t bits = type == kElementF16 ? float_to_f16(value) : float_to_bf16(value);
  std::memcpy(reinterpret_cast<uint8_t*>(address) + e * 2, &bits, 2);
}

/// Calls stage(first piece, number of pieces) for each stage, as the warps of a bulk kernel do.
template <class Stage>
void for_each_stage(const RowsArgs& args, Stage stage) {
  const u64 total = total_pieces(args, run_count(args));
  for (u64 first = 0; first < total; first += args.stage_pieces)
    stage(first,
          total - first < args.stage_pieces ? static_cast<u32>(total - first) : args.stage_pieces);
}

/// Calls move(packed address, shared offset, bytes) for the packed rows of a four-row stage.
template <class Move>
void four_packed_rows(const RowsArgs& args, const FourStage& s, Move move) {
  const u64 first = args.packed + s.first * static_cast<u64>(args.packed_pitch) +
                    static_cast<u64>(s.part) * args.part_bytes;
  if (args.dense) return move(first, 0u, s.rows * s.bytes);
  for (u32 row = 0; row < s.rows; ++row)
    move(first + row * static_cast<u64>(args.packed_pitch), row * args.part_bytes, s.bytes);
}

/// Calls move(row of the table or nullptr, packed row, bytes) for each index.
template <class Move>
void few_rows(const FewArgs& args, Move move) {
  for (u64 i = 0; i < args.count; ++i) {
    const i64 index = host_index(args.index, args.index_bytes, static_cast<i64>(i));
    const i64 row = checked_row(index, args.table_rows);
    auto* table = reinterpret_cast<uint8_t*>(args.table);
    move(row < 0 ? nullptr : table + row * args.table_pitch,
         reinterpret_cast<uint8_t*>(args.packed) + static_cast<i64>(i) * args.packed_pitch,
         u64{args.row_units} * 16);
  }
}

inline void count_outside(const OutsideArgs& args) {
  const i64 indices = run_count(args.rows) * args.rows.group;
  u64 outside = 0;
  for (i64 i = 0; i < indices; ++i) {
    const i64 index = host_index(args.rows.index, args.rows.index_bytes, i);
    outside += checked_row(index, args.rows.table_rows) < 0 ? 1 : 0;
  }
  *reinterpret_cast<u64*>(args.counter) += outside;
}

}  // namespace tw
