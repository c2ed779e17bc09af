// SPDX-License-Identifier: Apache-2.0
#pragma once
// Permutations through shared memory: transposes, interleaving, any order of dimensions.
//
// A block keeps kPermuteStages tiles in flight. cp.async loads the lines of the source. Threads
// assemble 16 bytes of a destination run in registers, element by element, and store them.
// permute.h defines where elements lie.

#include "kernels/copy/permute.h"
#include "kernels/ptx/async_copy.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

struct PermuteTile {
  u64 src;
  u64 dst;
  u32 src_run;
  u32 src_lines;
  u32 dst_run;
  u32 dst_lines;
};

__device__ __forceinline__ PermuteTile permute_tile(const CopyPermuteArgs& args, u64 number) {
  PermuteTile tile{args.src,          args.dst,           args.src_run.full, args.src_lines.full,
                   args.dst_run.full, args.dst_lines.full};
  u32 rest = static_cast<u32>(number);
  for (u32 d = 0; d < args.grid_rank; ++d) {
    const PermuteGridDim& dim = args.grid[d];
    const u32 next = divide(rest, dim.tiles);
    const u32 at = rest - next * dim.tiles.divisor;
    rest = next;
    tile.src += static_cast<u64>(static_cast<i64>(at) * dim.src_step);
    tile.dst += static_cast<u64>(static_cast<i64>(at) * dim.dst_step);
    const i32 here = static_cast<i32>(d);
    if (args.src_run.grid_dim == here) tile.src_run = permute_extent(args, args.src_run, at);
    if (args.src_lines.grid_dim == here) tile.src_lines = permute_extent(args, args.src_lines, at);
    if (args.dst_run.grid_dim == here) tile.dst_run = permute_extent(args, args.dst_run, at);
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
    for (u32 k = threadIdx.x; k < args.dst_run_dims.count; k += kPermuteThreads)
      ptx::shared_store<4>(shared + at.run_places + k * 4,
                           permute_place(args.dst_run_dims, k).place);
  }

  template <int kBytes>
  __device__ __forceinline__ void load(const PermuteTile& tile, u32 stage) const {
    const u32 lanes = args.load_lanes;
    for (u32 line = threadIdx.x / lanes; line < tile.src_lines; line += kPermuteThreads / lanes) {
      const u64 from = tile.src + ptx::shared_load<8>(shared + at.src_offsets + line * 8);
      const u32 place = (line << 16) + line * args.pitch;
      for (u32 byte = threadIdx.x % lanes * kBytes; byte < tile.src_run; byte += lanes * kBytes) {
        const u32 to = stage + permute_byte(place + byte, args.shift);
        const u32 left = tile.src_run - byte;
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

  template <int kElement>
  __device__ __forceinline__ ptx::Unit<kElement> element(u32 stage, u32 place) const {
    return ptx::shared_load<kElement>(stage + permute_byte(place, args.shift));
  }

  // Assembles 16 bytes of a destination run, from element `first` on.
  template <int kElement>
  __device__ __forceinline__ uint4 collect(u32 stage, u32 line_place, u32 first) const {
    constexpr int kCount = 16 / kElement;
    const u32 places = shared + at.run_places + first * 4;
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
    if constexpr (kElement == 16) {
      return element<16>(stage, line_place + place[0]);
    } else if constexpr (kElement == 8) {
      const u64 low = element<8>(stage, line_place + place[0]);
      const u64 high = element<8>(stage, line_place + place[1]);
      return {static_cast<u32>(low), static_cast<u32>(low >> 32), static_cast<u32>(high),
              static_cast<u32>(high >> 32)};
    } else {
      constexpr int kWordElements = 4 / kElement;
      u32 words[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        words[w] = 0;
#pragma unroll
        for (int k = 0; k < kWordElements; ++k) {
          const u32 value = element<kElement>(stage, line_place + place[w * kWordElements + k]);
          words[w] |= value << (8 * kElement * k);
        }
      }
      return {words[0], words[1], words[2], words[3]};
    }
  }

  template <int kElement, int kStore>
  __device__ __forceinline__ void store(const PermuteTile& tile, u32 stage) const {
    constexpr u32 kLanes = 128 / kStore < 32 ? 128 / kStore : 32;  // adjacent lanes within one run
    constexpr u32 kRows = 32 / kLanes;
    const u32 lane = threadIdx.x % 32;
    const u32 segments = (tile.dst_run + kLanes * kStore - 1) / (kLanes * kStore);
    const u32 items = segments * ((tile.dst_lines + kRows - 1) / kRows);
    for (u32 item = threadIdx.x / 32; item < items; item += kPermuteThreads / 32) {
      const u32 group = item / segments;
      const u32 line = group * kRows + lane / kLanes;
      const u32 byte = ((item - group * segments) * kLanes + lane % kLanes) * kStore;
      if (line >= tile.dst_lines || byte >= tile.dst_run) continue;
      const u32 line_place = ptx::shared_load<4>(shared + at.line_places + line * 4);
      const u64 to = tile.dst + ptx::shared_load<8>(shared + at.dst_offsets + line * 8) + byte;
      const u32 first = byte / kElement;
      if (kStore == 16 && byte + 16 <= tile.dst_run) {
        ptx::store_unit_hint<16>(to, collect<kElement>(stage, line_place, first), args.dst_policy);
        continue;
      }
      for (u32 done = 0; done < kStore && byte + done < tile.dst_run; done += kElement) {
        const u32 place =
            ptx::shared_load<4>(shared + at.run_places + (first + done / kElement) * 4);
        ptx::store_unit_hint<kElement>(to + done, element<kElement>(stage, line_place + place),
                                       args.dst_policy);
      }
    }
  }

  template <int kElement>
  __device__ __forceinline__ void run() const {
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
        store<kElement, 16>(tile, storing);
      else
        store<kElement, kElement>(tile, storing);
      storing = storing == last ? first : storing + args.stage_bytes;
    }
  }
};

template <int kElement>
__device__ __forceinline__ void copy_permute(const CopyPermuteArgs& args) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  const PermuteBlock block{args, ptx::shared_address(dynamic_shared), permute_tables(args)};
  block.run<kElement>();
}

}  // namespace tw
