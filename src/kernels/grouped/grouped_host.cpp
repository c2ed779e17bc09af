// SPDX-License-Identifier: Apache-2.0
// Host bodies of the grouped family. They compute row by row and call the functions of grouped.h,
// as the kernels do. The family's kernel entries are at the end.
// "full" in names marks code of the gemm family's epilogue kernels.
#include <algorithm>
#include <cstring>

#include "base/dtype.hpp"
#include "kernels/common/host_engine.hpp"
#include "kernels/gemm/arguments/gemm.h"
#include "kernels/gemm/arguments/gemm_full.h"
#include "kernels/gemm/host/gemm_host_tile.hpp"
#include "kernels/grouped/grouped_scales.h"
#include "kernels/table/kernel_table.hpp"

namespace tw {
namespace {

constexpr u32 kMmaThreads = 128;

float read_at(u64 address, i64 element, DType type) {
  return gemm_host::read_element(gemm_host::global(address, element, dtype_bytes(type)), type);
}

void write_at(u64 address, i64 element, DType type, float value) {
  gemm_host::write_element(reinterpret_cast<uint8_t*>(address) + element * dtype_bytes(type), type,
                           value);
}

float rounded(DType type, float value) {
  uint8_t bytes[4];
  gemm_host::write_element(bytes, type, value);
  return gemm_host::read_element(bytes, type);
}

i32& word_at(u64 address, i64 index) {
  return reinterpret_cast<i32*>(address)[index];
}

void count_invalid(const GroupedArgs& args, u64 invalid) {
  if (args.invalid_count != 0) *reinterpret_cast<u64*>(args.invalid_count) += invalid;
}

// Sums a(k) * b(k) over k. Each block of 128 elements of k has the scale factor(block). The sum is
// accumulated in f32. For i8 it is exact unless scales change along k.
template <class A, class B, class Factor>
float scaled_sum(const GemmScales& scales, i32 begin, i32 end, A a, B b, Factor factor) {
  const bool along_k = gemm_scales_along_k(scales), exact = scales.a_type == kGemmI8 && !along_k;
  float total = 0.0f;
  u32 integers = 0;
  for (i32 first = begin; first < end; first += kScaleDepth) {
    float sum = 0.0f;
    for (i32 k = first; k < std::min(end, first + kScaleDepth); ++k) sum += a(k) * b(k);
    if (exact)
      integers += static_cast<u32>(static_cast<i32>(sum));
    else
      total = along_k ? act::fused(factor(first / kScaleDepth), sum, total) : total + sum;
  }
  if (exact) total = static_cast<float>(static_cast<i32>(integers));
  return along_k || begin >= end ? total : total * factor(0);
}

DType type_of_b(const GroupedArgs& args, const GemmScales* scales) {
  if (scales == nullptr || scales->a_type == kGemmI8) return static_cast<DType>(args.host_in);
  return scales->b_type == kFormatE4M3 ? DType::F8E4M3 : DType::F8E5M2;
}

DType type_of_bias(const GroupedArgs& args, const GemmScales* scales) {
  if (args.bias_type == kBiasF32) return DType::F32;
  if (scales == nullptr) return static_cast<DType>(args.host_in);
  return args.bias_type == kBiasF16 ? DType::F16 : DType::BF16;
}

// Computes the elements of a row of the result. `scales` is nullptr except for 8-bit types.
struct RowJob {
  const GroupedArgs& args;
  const GemmScales* scales;
  DType a_type, b_type, d_type;
  i32 weight_index;
  i64 b;      // offset of the weight matrix's first element
  i32 a_row;  // -1: a row of zeros
  float scale;
  i64 a_scale = 0;  // offset of the row's first scale

  RowJob(const GroupedArgs& a, const GemmScales* s, i32 index, i32 r)
      : args(a),
        scales(s),
        a_type(static_cast<DType>(a.host_in)),
        b_type(type_of_b(a, s)),
        d_type(static_cast<DType>(a.host_out)),
        weight_index(index),
        b(index * a.b_stride),
        a_row(grouped_a_row(a, r)),
        scale(a.group_alpha == 0 ? a.alpha : a.alpha * read_at(a.group_alpha, index, DType::F32)) {}

  float sum(i32 column) const {
    const i64 from = column * args.b_stride_n + b;
    const auto a_at = [&](i32 k) {
      return a_row < 0 ? 0.0f : read_at(args.a, a_row * args.a_pitch + k, a_type);
    };
    const auto b_at = [&](i32 k) { return read_at(args.b, from + k * args.b_stride_k, b_type); };
    if (scales == nullptr) {
      float total = 0.0f;
      for (i32 k = 0; k < args.k; ++k) total += a_at(k) * b_at(k);
      return total;
    }
    // With alpha 0 no operand may be read.
    if (args.alpha == 0.0f) return 0.0f;
    return scaled_sum(*scales, 0, args.k, a_at, b_at, [&](i32 block) {
      return (a_row < 0 ? 1.0f : grouped_a_scale_at(*scales, a_scale, block)) *
             gemm_scale(scales->b, scales->b_by, column, block, weight_index);
    });
  }
  // An element of alpha * A B + bias.
  float before_activation(i32 column) const {
    const float bias = args.bias == 0 ? -0.0f
                                      : read_at(args.bias, weight_index * args.bias_stride + column,
                                                type_of_bias(args, scales));
    return act::fused(scale, sum(column), bias);
  }
  float value(i32 column) const {
    if (args.gate == kGateNone) return activate(args.activation, before_activation(column));
    const FullGate gate = {args.gate, 0, args.n / 2};
    return grouped_gate(args, before_activation(full_place(gate, 0, column, false).at),
                        before_activation(full_place(gate, 0, column, true).at));
  }
};

void multiply_row(const RowJob& job, i32 r) {
  const GroupedArgs& args = job.args;
  const i32 d_row = grouped_d_row(args, r);
  if (d_row < 0) return;
  const float factor = grouped_row_weight(args, r, true);
  const i32 columns = args.gate == kGateNone ? args.n : args.n / 2;
  for (i32 column = 0; column < columns; ++column) {
    const i64 element = d_row * args.d_pitch + column;
    float value = job.value(column);
    if (args.row_weights != 0) value *= factor;
    if (args.row_output == kRowsAddedAtomically)
      value = rounded(job.d_type, value) + read_at(args.d, element, job.d_type);
    write_at(args.d, element, job.d_type, value);
  }
}

// Calls multiply(group, index of the weight matrix, row) for each row of the groups that are
// multiplied.
template <class Multiply>
void each_row(const GroupedArgs& args, Multiply multiply) {
  for (i32 g = 0; g < args.group_count; ++g) {
    const i32 weight_index = grouped_weight_index(args, g);
    if (weight_index < 0) continue;
    const GroupRows rows = grouped_rows(args, g, args.m);
    for (i32 r = rows.begin; r < rows.end; ++r) multiply(g, weight_index, r);
  }
}

void grouped_mma_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GroupedArgs*>(arguments);
  each_row(args, [&](i32, i32 weight_index, i32 r) {
    multiply_row(RowJob(args, nullptr, weight_index, r), r);
  });
}

void grouped_scaled_host(HostEngine&, const void* arguments) {
  const auto& scaled_args = *static_cast<const GroupedScaledArgs*>(arguments);
  each_row(scaled_args.grouped, [&](i32 g, i32 weight_index, i32 r) {
    RowJob job(scaled_args.grouped, &scaled_args.scales, weight_index, r);
    if (job.a_row >= 0) job.a_scale = grouped_a_scale(scaled_args, g, r, job.a_row);
    multiply_row(job, r);
  });
}

// Writes D of each range of k; sum(row, column, range) returns an element of A^T B.
template <class Sum>
void multiply_ranges(const GroupedArgs& args, Sum sum) {
  for (i32 g = 0; g < args.group_count; ++g) {
    const GroupRows range = grouped_rows(args, g, args.k);
    if (range.begin == range.end && args.beta != 0.0f) continue;
    for (i32 row = 0; row < args.m; ++row)
      for (i32 column = 0; column < args.n; ++column) {
        const i64 element = g * args.d_stride + row * args.d_pitch + column;
        const float added = args.beta == 0.0f ? -0.0f : read_at(args.d, element, DType::F32);
        write_at(args.d, element, DType::F32,
                 act::fused(args.alpha, sum(row, column, range), added));
      }
  }
}

void grouped_ranges_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GroupedArgs*>(arguments);
  const auto in = static_cast<DType>(args.host_in);
  multiply_ranges(args, [&](i32 row, i32 column, const GroupRows& range) {
    float sum = 0.0f;
    for (i32 k = range.begin; k < range.end; ++k)
      sum += read_at(args.a, k * args.a_pitch + row, in) *
             read_at(args.b, k * args.b_stride_k + column, in);
    return sum;
  });
}

void grouped_scaled_ranges_host(HostEngine&, const void* arguments) {
  const auto& scaled_args = *static_cast<const GroupedScaledArgs*>(arguments);
  const GroupedArgs& args = scaled_args.grouped;
  const GemmScales& scales = scaled_args.scales;
  const auto in = static_cast<DType>(args.host_in);
  const DType b_type = type_of_b(args, &scales);
  multiply_ranges(args, [&](i32 row, i32 column, const GroupRows& range) {
    if (args.alpha == 0.0f) return 0.0f;
    return scaled_sum(
        scales, range.begin, range.end,
        [&](i32 k) { return read_at(args.a, k * args.a_pitch + row, in); },
        [&](i32 k) { return read_at(args.b, k * args.b_stride_k + column, b_type); },
        [&](i32) {
          return gemm_scale(scales.a, scales.a_by, row, 0, 0) *
                 gemm_scale(scales.b, scales.b_by, column, 0, 0);
        });
  });
}

void grouped_find_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GroupedArgs*>(arguments);
  bool not_contiguous[kGroupedMaxGroups] = {};
  u64 invalid = 0;
  for (i32 g = 0; g < args.group_count; ++g)
    word_at(args.found_groups, 2 * g) = word_at(args.found_groups, 2 * g + 1) = 0;
  for (i32 r = 0, end = 0; r < args.m; r = end) {
    const i64 group = grouped_index(args.groups, args.groups_i64, r);
    for (end = r + 1; end < args.m && grouped_index(args.groups, args.groups_i64, end) == group;)
      ++end;
    if (group < 0 || group >= args.group_count) {
      invalid += group == -1 ? 0 : static_cast<u64>(end - r);
      continue;
    }
    i32& group_end = word_at(args.found_groups, 2 * group + 1);
    if (group_end != 0) not_contiguous[group] = true;
    word_at(args.found_groups, 2 * group) = r;
    group_end = end;
  }
  for (i32 g = 0; g < args.group_count; ++g)
    if (not_contiguous[g])
      word_at(args.found_groups, 2 * g) = 1, word_at(args.found_groups, 2 * g + 1) = 0;
  count_invalid(args, invalid);
}

// Whether an index leads to no row. An index of -1 is valid: the caller wants no row.
bool is_invalid_index(const GroupedArgs& args, u64 indices, i32 r, i32 row) {
  return row < 0 && grouped_index(indices, args.rows_i64, r) != -1;
}

void grouped_check_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GroupedArgs*>(arguments);
  u64 invalid = 0;
  for (i32 g = 0; g < args.group_count; ++g) {
    const GroupRows rows = grouped_rows(args, g, args.grouping == kGroupsRanges ? args.k : args.m);
    const i32 weight_index = grouped_weight_index(args, g);
    invalid += (rows.invalid ? 1 : 0) + (weight_index == -2 ? 1 : 0);
    if (weight_index < 0) continue;
    for (i32 r = rows.begin; r < rows.end; ++r) {
      if (args.a_rows != 0)
        invalid += is_invalid_index(args, args.a_rows, r, grouped_a_row(args, r));
      if (args.d_rows != 0)
        invalid += is_invalid_index(args, args.d_rows, r, grouped_d_row(args, r));
    }
  }
  count_invalid(args, invalid);
}

void grouped_clear_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GroupedArgs*>(arguments);
  if (args.heads != 0) {
    for (i32 d_row = 0; d_row < args.d_count; ++d_row) word_at(args.heads, d_row) = -1;
    return;
  }
  for (i64 row = 0; row < args.m; ++row)
    std::memset(reinterpret_cast<uint8_t*>(args.d) + row * args.d_pitch, 0,
                static_cast<size_t>(args.d_stride));
}

// Links the last rows first, so that each list is in ascending order.
void grouped_link_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GroupedArgs*>(arguments);
  for (i32 r = args.m; r-- > 0;) {
    const i32 row = grouped_d_row(args, r);
    const bool linked = row >= 0 && grouped_has_row(args, r);
    word_at(args.links, r) = linked ? word_at(args.heads, row) : kGroupedUnlinked;
    if (linked) word_at(args.heads, row) = r;
  }
}

// Calls add(row) for each row that is added to row d_row of D, in the order of addition.
template <class Add>
void each_added_row(const GroupedArgs& args, i32 d_row, Add add) {
  if (args.inverse == 0) {
    for (i32 r = word_at(args.heads, d_row); r >= 0; r = word_at(args.links, r)) add(r);
    return;
  }
  for (i32 slot = 0; slot < args.d_divisor; ++slot) {
    const i32 r = word_at(args.inverse, i64{d_row} * args.d_divisor + slot);
    if (r >= 0 && r < args.m && grouped_has_row(args, r)) add(r);
  }
}

void grouped_combine_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GroupedArgs*>(arguments);
  const auto out = static_cast<DType>(args.host_out);
  constexpr i32 kColumns = 256;
  const bool adds_to_d = (args.flags & kGroupedAddsToD) != 0;
  float sums[kColumns];
  for (i32 d_row = 0; d_row < args.d_count; ++d_row)
    for (i32 first = 0; first < args.n; first += kColumns) {
      const i32 count = args.n - first < kColumns ? args.n - first : kColumns;
      const i64 element = d_row * args.d_pitch + first;
      bool any = !adds_to_d;
      for (i32 i = 0; i < count; ++i)
        sums[i] = adds_to_d ? read_at(args.d, element + i, out) : 0.0f;
      each_added_row(args, d_row, [&](i32 r) {
        any = true;
        for (i32 i = 0; i < count; ++i)
          sums[i] += read_at(args.a, r * args.a_pitch + first + i, out);
      });
      for (i32 i = 0; any && i < count; ++i) write_at(args.d, element + i, out, sums[i]);
    }
}

// The types that the tables of kernel entries name; `none` stands for every type.
struct Types {
  [[maybe_unused]] static constexpr DType none{};
  [[maybe_unused]] static constexpr DType BF16 = DType::BF16;
  [[maybe_unused]] static constexpr DType F16 = DType::F16;
  [[maybe_unused]] static constexpr DType F32 = DType::F32;
  [[maybe_unused]] static constexpr DType F8E4M3 = DType::F8E4M3;  // by mma.sync also F8E5M2
  [[maybe_unused]] static constexpr DType F8E5M2 = DType::F8E5M2;
  [[maybe_unused]] static constexpr DType I8 = DType::I8;
};

struct TileShape {
  i32 m, n, k;
};
constexpr TileShape kMmaTile = {64, 64, 32};
constexpr TileShape kScaledTile = {32, 128, 32};
constexpr TileShape kNoTile = {0, 0, 0};

constexpr KernelEntry grouped_entry(FeatureMask needs, const char* symbol, const char* part,
                                    HostBody host, u32 threads, TileShape tile, DType in, DType out,
                                    u32 variant, DType b = DType{}) {
  return {.family = Family::grouped,
          .feature = needs,
          .symbol = symbol,
          .image = host ? nullptr : part,
          .host = host,
          .threads = static_cast<int32_t>(threads),
          .tile = {tile.m, tile.n, tile.k},
          .stages = 0,
          .cluster = {1, 1},
          .dtypes = {in, out, b},
          .variant = variant};
}

constexpr u32 kOrderROW = 0;
constexpr u32 kOrderCOLUMN = kGroupedColumnB;

#define TW_GROUPED_HOPPER(symbol, part, in, out, tm, variant)                            \
  grouped_entry(feature::wgmma, #symbol, #part, nullptr, 128 * (1 + gemm_consumers(tm)), \
                {kGroupedTileRows, tm, kGroupedTileK}, Types::in, Types::out,            \
                kGroupedWgmma | (variant)),
#define TW_GROUPED(feature_, part, symbol, in, out, b_order, tm) \
  TW_GROUPED_HOPPER(symbol, part, in, out, tm, kOrder##b_order)
#define TW_GROUPED_RANGES(feature_, part, symbol, in, out, tm) \
  TW_GROUPED_HOPPER(symbol, part, in, out, tm, kGroupedRanges)
#define TW_GROUPED_SCALED_WGMMA(feature_, part, symbol, a, b, tm)                        \
  grouped_entry(feature::wgmma, #symbol, #part, nullptr, 128 * (1 + gemm_consumers(tm)), \
                {kGroupedScaledTileRows, tm, kGroupedScaledTileK}, Types::a, DType{},    \
                kGroupedWgmma | kGroupedNarrow | kGroupedColumnB, Types::b),
#define TW_GROUPED_BODY_host(symbol) symbol
#define TW_GROUPED_BODY_tma(symbol) nullptr
#define TW_GROUPED_BODY_mma(symbol) nullptr
#define TW_GROUPED_MMA(feature_, part, symbol, in, out, variant)                       \
  grouped_entry(feature::feature_, #symbol, #part, TW_GROUPED_BODY_##feature_(symbol), \
                kMmaThreads, kMmaTile, Types::in, Types::out, variant),
#define TW_GROUPED_SCALED(feature_, part, symbol, in, loads, variant)                  \
  grouped_entry(feature::feature_, #symbol, #part, TW_GROUPED_BODY_##feature_(symbol), \
                kMmaThreads, kScaledTile, Types::in, Types::none, (variant) | kGroupedNarrow),
#define TW_GROUPED_STEP(feature_, part, symbol, out, variant)                          \
  grouped_entry(feature::feature_, #symbol, #part, TW_GROUPED_BODY_##feature_(symbol), \
                grouped_step_threads(variant), kNoTile, Types::none, Types::out, variant),

constexpr KernelEntry kEntries[] = {
#include "kernels/grouped/kernels.inc"
};

}  // namespace

KernelEntries grouped_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
