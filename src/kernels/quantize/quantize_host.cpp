// SPDX-License-Identifier: Apache-2.0
// Host bodies of the quantize kernels, which define the bits that the kernels must reproduce. The
// family's kernel entries are at the end.
#include <algorithm>
#include <cstring>

#include "kernels/quantize/quantize.h"
#include "kernels/table/table_entry.hpp"

namespace tw {
namespace {

u32 load(u64 address, u32 bytes) {
  u32 value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), bytes);
  return value;
}
void store(u64 address, u32 bytes, u32 value) {
  std::memcpy(reinterpret_cast<void*>(address), &value, bytes);
}

u64 place(u64 matrix, i64 pitch, u32 bytes, u32 row, u32 column) {
  return matrix + static_cast<u64>(static_cast<i64>(row) * pitch) + u64{column} * bytes;
}
u64 src_place(const QuantizeArgs& args, u32 row, u32 column) {
  return place(args.src, args.src_pitch, quantize_bytes(args.src_format), row, column);
}
u64 dst_place(const QuantizeArgs& args, u32 row, u32 column) {
  return place(args.dst, args.dst_pitch, quantize_bytes(args.dst_format), row, column);
}

QuantizeRegion whole(const QuantizeArgs& args) {
  QuantizeRegion all{};
  all.end_row = args.rows;
  all.end_column = args.columns;
  return all;
}

float region_amax(const QuantizeArgs& args, const QuantizeRegion& r) {
  const u32 bytes = quantize_bytes(args.src_format);
  u32 top = 0;
  for (u32 row = r.first_row; row < r.end_row; ++row)
    for (u32 column = r.first_column; column < r.end_column; ++column)
      top = std::max(top,
                     quantize_finite(args.src_format, load(src_place(args, row, column), bytes)));
  return decode(args.src_format, top);
}

void quantize_region_by(const QuantizeArgs& args, const QuantizeRegion& r, float scale) {
  const u32 bytes = quantize_bytes(args.src_format);
  const float inverse = quantize_inverse(scale);
  for (u32 row = r.first_row; row < r.end_row; ++row)
    for (u32 column = r.first_column; column < r.end_column; ++column)
      store(dst_place(args, row, column), 1,
            quantize_element(args.src_format, args.dst_format, inverse,
                             load(src_place(args, row, column), bytes)));
}

float scale_of(const QuantizeArgs& args, float amax) {
  return quantize_scale(amax, args.limit, quantize_has(args, kQuantizePowersOfTwo));
}

void raise(u64 address, float amax) {
  if (address != 0) store(address, 4, std::max(load(address, 4), bits_of(amax)));
}

void quantize_regions_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const QuantizeArgs*>(arguments);
  for (u32 number = 0; number < args.regions; ++number) {
    const QuantizeRegion r = quantize_region(args, number);
    const float scale = scale_of(args, region_amax(args, r));
    store(quantize_scale_address(args, r.region_row, r.region_column), 4, bits_of(scale));
    quantize_region_by(args, r, scale);
  }
}

void quantize_amax_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const QuantizeArgs*>(arguments);
  for (u32 part = 0; part < args.partial_count; ++part)
    store(args.partial_amax + part * 4ull, 4, 0);
  store(args.partial_amax, 4, bits_of(region_amax(args, whole(args))));
}

void quantize_cast_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const QuantizeArgs*>(arguments);
  if (quantize_has(args, kQuantizeGiven)) {
    if (args.amax != 0) raise(args.amax, region_amax(args, whole(args)));
    return quantize_region_by(args, whole(args), float_of(load(args.scale, 4)));
  }
  u32 top = 0;
  for (u32 part = 0; part < args.partial_count; ++part)
    top = std::max(top, load(args.partial_amax + part * 4ull, 4));
  const float scale = scale_of(args, float_of(top));
  store(args.scale, 4, bits_of(scale));
  raise(args.amax, float_of(top));
  quantize_region_by(args, whole(args), scale);
}

void quantize_dequantize_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const QuantizeArgs*>(arguments);
  const u32 bytes = quantize_bytes(args.dst_format);
  for (u32 row = 0; row < args.rows; ++row)
    for (u32 column = 0; column < args.columns; ++column) {
      const u64 at =
          quantize_scale_address(args, row >> args.scale_row_shift, column / kQuantizeGroup);
      store(dst_place(args, row, column), bytes,
            dequantize_element(args.src_format, args.dst_format, float_of(load(at, 4)),
                               load(src_place(args, row, column), 1)));
    }
}

#define TW_QUANTIZE_ENTRY(feature, part, symbol, threads, step, elements) \
  TW_TABLE_ENTRY(quantize, feature, part, symbol, threads, (step) | (elements) << 8)
#define TW_QUANTIZE_GROUPS(feature, part, symbol, elements) \
  TW_QUANTIZE_ENTRY(feature, part, symbol, kQuantizeThreads, kQuantizeGroups, elements)
#define TW_QUANTIZE_ROWS(feature, part, symbol, elements) \
  TW_QUANTIZE_ENTRY(feature, part, symbol, kQuantizeThreads, kQuantizeRows, elements)
#define TW_QUANTIZE_BLOCKS(feature, part, symbol, elements)                                   \
  TW_QUANTIZE_ENTRY(feature, part, symbol, quantize_block_threads(elements), kQuantizeBlocks, \
                    elements)
#define TW_QUANTIZE_AMAX(feature, part, symbol, elements) \
  TW_QUANTIZE_ENTRY(feature, part, symbol, kQuantizeThreads, kQuantizeAmax, elements)
#define TW_QUANTIZE_CAST(feature, part, symbol, elements) \
  TW_QUANTIZE_ENTRY(feature, part, symbol, kQuantizeThreads, kQuantizeByOneScale, elements)
#define TW_QUANTIZE_DEQUANTIZE(feature, part, symbol, elements) \
  TW_QUANTIZE_ENTRY(feature, part, symbol, kQuantizeThreads, kQuantizeDequantize, elements)
#define TW_QUANTIZE_REGIONS(feature, part, symbol, elements) \
  TW_QUANTIZE_ENTRY(feature, part, symbol, kQuantizeThreads, kQuantizeRegions, elements)

constexpr KernelEntry kEntries[] = {
#include "kernels/quantize/kernels.inc"
};

}  // namespace

KernelEntries quantize_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
