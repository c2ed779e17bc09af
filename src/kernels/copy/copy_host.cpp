// SPDX-License-Identifier: Apache-2.0
// Copies on the CPU, in plain loops: boxes and chunks through the model of the copy engine, in the
// order in which one warp would take them, or unit by unit.
#include "kernels/copy/copy_host.hpp"

#include <cstdint>
#include <cstring>

#include "kernels/common/host_engine.hpp"
#include "kernels/copy/copy.h"

namespace tw {
namespace {

uint8_t* global(u64 address, i64 offset) {
  return reinterpret_cast<uint8_t*>(address + static_cast<u64>(offset));
}

TensorMapBytes map_of(const KernelMap& map) {
  TensorMapBytes bytes;
  std::memcpy(bytes.words, map.words, sizeof bytes.words);
  return bytes;
}

// What the store map leaves of the box's rows, from shared memory.
void store_tails(const CopyBoxArgs& args, const int32_t* at, const uint8_t* shared) {
  u32 rows = 1;
  for (u32 d = 1; d < args.rank; ++d) rows *= args.box[d];
  const u32 pitch = args.box[0] * args.element_bytes;
  const u64 from = args.tail_from - static_cast<u64>(at[0]) * args.element_bytes;
  for (u32 row = 0; row < rows; ++row) {
    i64 offset = static_cast<i64>(args.tail_from);
    bool inside = true;
    u32 rest = row;
    for (u32 d = 1; d < args.rank; ++d) {
      const u32 index = static_cast<u32>(at[d]) + rest % args.box[d];
      inside = inside && index < args.extent[d];
      offset += index * args.dst_stride[d];
      rest /= args.box[d];
    }
    if (inside) std::memcpy(global(args.dst, offset), shared + row * pitch + from, args.tail_bytes);
  }
}

// Where a row begins on both sides.
void place_row(const CopyRowArgs& args, u64 row, i64* src, i64* dst) {
  *src = *dst = 0;
  u64 rest = row;
  for (u32 d = 0; d < args.rank; ++d) {
    const u64 extent = args.extent[d].divisor;
    const i64 index = static_cast<i64>(d + 1 < args.rank ? rest % extent : rest);
    *src += index * args.src_stride[d];
    *dst += index * args.dst_stride[d];
    rest /= extent;
  }
}

}  // namespace

void copy_boxes_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const CopyBoxArgs*>(arguments);
  const TensorMapBytes src = map_of(args.src_map);
  const TensorMapBytes dst = map_of(args.dst_map);
  for (u64 tile = 0; tile < args.tiles; ++tile) {
    int32_t at[kCopyMapRank] = {};
    u64 rest = tile;
    for (u32 d = 0; d < args.rank; ++d) {
      at[d] = static_cast<int32_t>(rest % args.tile_count[d] * args.box[d]);
      rest /= args.tile_count[d];
    }
    engine.load(src, at, 0);
    const bool last = static_cast<u32>(at[0]) + args.box[0] >= args.extent[0];
    if (args.tail_bytes != 0 && last) store_tails(args, at, engine.shared());
    engine.store(dst, at, 0);
  }
}

void copy_rows_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const CopyRowArgs*>(arguments);
  for (u64 row = 0; row < args.rows; ++row) {
    i64 src, dst;
    place_row(args, row, &src, &dst);
    const i64 body = args.head_bytes;
    for (u32 chunk = 0; chunk < args.chunks; ++chunk) {
      const i64 offset = body + static_cast<i64>(chunk) * args.chunk_bytes;
      const u32 bytes = chunk + 1 == args.chunks ? args.last_bytes : args.chunk_bytes;
      engine.load_bulk(args.src + static_cast<u64>(src + offset), 0, bytes);
      engine.store_bulk(args.dst + static_cast<u64>(dst + offset), 0, bytes);
    }
    const i64 tail = body + static_cast<i64>(args.body_bytes);
    std::memcpy(global(args.dst, dst), global(args.src, src), args.head_bytes);
    std::memcpy(global(args.dst, dst + tail), global(args.src, src + tail), args.tail_bytes);
  }
}

void copy_strided_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopyStridedArgs*>(arguments);
  u64 index[kCopyRank] = {};
  i64 src = 0;
  i64 dst = 0;
  for (u64 unit = 0; unit < args.units; ++unit) {
    std::memcpy(global(args.dst, dst), global(args.src, src), args.unit_bytes);
    for (u32 d = 0; d < args.rank; ++d) {
      src += args.src_stride[d];
      dst += args.dst_stride[d];
      if (++index[d] < args.extent[d]) break;
      src -= static_cast<i64>(index[d]) * args.src_stride[d];
      dst -= static_cast<i64>(index[d]) * args.dst_stride[d];
      index[d] = 0;
    }
  }
}

void copy_fill_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopyFillArgs*>(arguments);
  const CopyStridedArgs& place = args.place;
  const u64 pattern[2] = {args.pattern, args.pattern};
  for (u64 unit = 0; unit < place.units; ++unit) {
    i64 offset = 0;
    u64 rest = unit;
    for (u32 d = 0; d < place.rank; ++d) {
      offset += static_cast<i64>(rest % place.extent[d]) * place.dst_stride[d];
      rest /= place.extent[d];
    }
    std::memcpy(global(place.dst, offset), pattern, place.unit_bytes);
  }
}

}  // namespace tw
