// SPDX-License-Identifier: Apache-2.0
#pragma once
// Permutations through shared memory: transposes, interleaving, any order of dimensions.
//
// A block keeps kPermuteStages tiles in flight. cp.async loads the lines of the source. Threads
// assemble 16 bytes of a destination line in registers, unit by unit (kUnit bytes each), and store
// them. permute.h defines units and lines, and where they lie.

#include "kernels/copy/permute.h"
#include "kernels/ptx/async_copy.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

struct PermuteTile {
  u64 src;
  u64 dst;
  u32 src_line_bytes;
  u32 src_lines;
  u32 dst_line_bytes;
  u32 dst_lines;
};

__device__ __forceinline__ PermuteTile permute_tile(const CopyPermuteArgs& args, u64 number) {
  PermuteTile tile{args.src,
                   args.dst,
                   args.src_line_bytes.full,
                   args.src_lines.full,
                   args.dst_line_bytes.full,
                   args.dst_lines.full};
  u32 rest = static_cast<u32>(number);
  for (u32 d = 0; d < args.grid_rank; ++d) {
    const PermuteGridDim& dim = args.grid[d];
    const u32 next = divide(rest, dim.tiles);
    const u32 at = rest - next * dim.tiles.divisor;
    rest = next;
    tile.src += static_cast<u64>(static_cast<i64>(at) * dim.src_step);
    tile.dst += static_cast<u64>(static_cast<i64>(at) * dim.dst_step);
    const i32 here = static_cast<i32>(d);
    if (args.src_line_bytes.grid_dim == here)
      tile.src_line_bytes = permute_extent(args, args.src_line_bytes, at);
    if (args.src_lines.grid_dim == here) tile.src_lines = permute_extent(args, args.src_lines, at);
    if (args.dst_line_bytes.grid_dim == here)
      tile.dst_line_bytes = permute_extent(args, args.dst_line_bytes, at);
    if (args.dst_lines.grid_dim == here) tile.dst_lines = permute_extent(args, args.dst_lines, at);
  }
  return tile;
}

struct PermuteBlock {
  const CopyPermuteArgs& args;
  u32 shared;
  PermuteTables at;

  __device__ __forceinline__ void fill_tables() const {
    for (u32 l = threadIdx.x; l < args.src_line_dims.count; l += kPermuteThreads)
      ptx::shared_store<8>(shared + at.src_offsets + l * 8,
                           static_cast<u64>(permute_place(args.src_line_dims, l).offset));
    for (u32 m = threadIdx.x; m < args.dst_line_dims.count; m += kPermuteThreads) {
      const PermutePlace place = permute_place(args.dst_line_dims, m);
      ptx::shared_store<8>(shared + at.dst_offsets + m * 8, static_cast<u64>(place.offset));
      ptx::shared_store<4>(shared + at.line_places + m * 4, place.place);
    }
    for (u32 k = threadIdx.x; k < args.dst_unit_dims.count; k += kPermuteThreads)
      ptx::shared_store<4>(shared + at.unit_places + k * 4,
                           permute_place(args.dst_unit_dims, k).place);
  }

  template <int kBytes>
  __device__ __forceinline__ void load(const PermuteTile& tile, u32 stage) const {
    const u32 lanes = args.load_lanes;
    for (u32 line = threadIdx.x / lanes; line < tile.src_lines; line += kPermuteThreads / lanes) {
      const u64 from = tile.src + ptx::shared_load<8>(shared + at.src_offsets + line * 8);
      const u32 place = (line << 16) + line * args.pitch;
      for (u32 byte = threadIdx.x % lanes * kBytes; byte < tile.src_line_bytes;
           byte += lanes * kBytes) {
        const u32 to = stage + permute_byte(place + byte, args.shift);
        const u32 left = tile.src_line_bytes - byte;
        if constexpr (kBytes >= 4)
          ptx::async_copy_hint<kBytes>(to, from + byte, left < kBytes ? left : kBytes,
                                       args.src_policy);
        else
          ptx::shared_store<kBytes>(
              to, ptx::load_unit_cached_hint<kBytes>(from + byte, args.src_policy));
      }
    }
  }

  __device__ __forceinline__ void load_any(u64 number, u32 stage) const {
    if (number < args.tiles) {
      const PermuteTile tile = permute_tile(args, number);
      switch (args.load_bytes) {
        case 16:
          load<16>(tile, stage);
          break;
        case 8:
          load<8>(tile, stage);
          break;
        case 4:
          load<4>(tile, stage);
          break;
        case 2:
          load<2>(tile, stage);
          break;
        default:
          load<1>(tile, stage);
      }
    }
    ptx::async_copy_commit();
  }

  template <int kUnit>
  __device__ __forceinline__ ptx::Unit<kUnit> unit_at(u32 stage, u32 place) const {
    return ptx::shared_load<kUnit>(stage + permute_byte(place, args.shift));
  }

  // Assembles 16 bytes of a destination line, from unit `first` on.
  template <int kUnit>
  __device__ __forceinline__ uint4 collect(u32 stage, u32 line_place, u32 first) const {
    constexpr int kCount = 16 / kUnit;
    const u32 places = shared + at.unit_places + first * 4;
    u32 place[kCount];
    if constexpr (kCount >= 4) {
#pragma unroll
      for (int k = 0; k < kCount; k += 4) {
        const uint4 four = ptx::shared_load<16>(places + static_cast<u32>(k) * 4);
        place[k] = four.x;
        place[k + 1] = four.y;
        place[k + 2] = four.z;
        place[k + 3] = four.w;
      }
    } else {
#pragma unroll
      for (int k = 0; k < kCount; ++k)
        place[k] = ptx::shared_load<4>(places + static_cast<u32>(k) * 4);
    }
    if constexpr (kUnit == 16) {
      return unit_at<16>(stage, line_place + place[0]);
    } else if constexpr (kUnit == 8) {
      const u64 low = unit_at<8>(stage, line_place + place[0]);
      const u64 high = unit_at<8>(stage, line_place + place[1]);
      return {static_cast<u32>(low), static_cast<u32>(low >> 32), static_cast<u32>(high),
              static_cast<u32>(high >> 32)};
    } else {
      constexpr int kWordUnits = 4 / kUnit;
      u32 words[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        words[w] = 0;
#pragma unroll
        for (int k = 0; k < kWordUnits; ++k) {
          const u32 value = unit_at<kUnit>(stage, line_place + place[w * kWordUnits + k]);
          words[w] |= value << (8 * kUnit * k);
        }
      }
      return {words[0], words[1], words[2], words[3]};
    }
  }

  // A warp stores one item at a time: kLanes * kStore bytes of each of kWarpLines lines. The tile's
  // lines form groups of kWarpLines, and a line is cut into segments of kLanes * kStore bytes.
  template <int kUnit, int kStore>
  __device__ __forceinline__ void store(const PermuteTile& tile, u32 stage) const {
    constexpr u32 kLanes = 128 / kStore < 32 ? 128 / kStore : 32;
    constexpr u32 kWarpLines = 32 / kLanes;
    const u32 lane = threadIdx.x % 32;
    const u32 segments = (tile.dst_line_bytes + kLanes * kStore - 1) / (kLanes * kStore);
    const u32 items = segments * ((tile.dst_lines + kWarpLines - 1) / kWarpLines);
    for (u32 item = threadIdx.x / 32; item < items; item += kPermuteThreads / 32) {
      const u32 group = item / segments;
      const u32 line = group * kWarpLines + lane / kLanes;
      const u32 byte = ((item - group * segments) * kLanes + lane % kLanes) * kStore;
      if (line >= tile.dst_lines || byte >= tile.dst_line_bytes) continue;
      const u32 line_place = ptx::shared_load<4>(shared + at.line_places + line * 4);
      const u64 to = tile.dst + ptx::shared_load<8>(shared + at.dst_offsets + line * 8) + byte;
      const u32 first = byte / kUnit;
      if (kStore == 16 && byte + 16 <= tile.dst_line_bytes) {
        ptx::store_unit_hint<16>(to, collect<kUnit>(stage, line_place, first), args.dst_policy);
        continue;
      }
      for (u32 done = 0; done < kStore && byte + done < tile.dst_line_bytes; done += kUnit) {
        const u32 place = ptx::shared_load<4>(shared + at.unit_places + (first + done / kUnit) * 4);
        ptx::store_unit_hint<kUnit>(to + done, unit_at<kUnit>(stage, line_place + place),
                                    args.dst_policy);
      }
    }
  }

  template <int kUnit>
  __device__ __forceinline__ void copy_tiles() const {
    fill_tables();
    ptx::sync_block();
    const u64 step = gridDim.x;
    u64 number = blockIdx.x;
    const u32 first = shared + at.stages;
    const u32 last = first + (kPermuteStages - 1) * args.stage_bytes;
    u32 loading = first;
    for (u32 s = 0; s + 1 < kPermuteStages; ++s, loading += args.stage_bytes)
      load_any(number + s * step, loading);
    u32 storing = first;
    for (; number < args.tiles; number += step) {
      ptx::async_copy_wait<kPermuteStages - 2>();
      // All loads of this tile have landed, and no thread still reads the stage that is loaded
      // next.
      ptx::sync_block();
      load_any(number + (kPermuteStages - 1) * step, loading);
      loading = loading == last ? first : loading + args.stage_bytes;
      const PermuteTile tile = permute_tile(args, number);
      if (args.store_bytes == 16)
        store<kUnit, 16>(tile, storing);
      else
        store<kUnit, kUnit>(tile, storing);
      storing = storing == last ? first : storing + args.stage_bytes;
    }
  }
};

template <int kUnit>
__device__ __forceinline__ void copy_permute(const CopyPermuteArgs& args) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  const PermuteBlock block{args, ptx::shared_address(dynamic_shared), permute_tables(args)};
  block.copy_tiles<kUnit>();
}

}  // namespace tw
