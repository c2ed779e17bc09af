// SPDX-License-Identifier: Apache-2.0
#pragma once
// D of a full row by the copy engine. Each warp has staging memory of its own, slabs of 16 lines,
// so that no warp waits for another. One and the same lane sends and
// waits throughout: groups of stores belong to the thread that commits them.

#include "kernels/gemm/epilogue/full_epilogue.cuh"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

/// A warp's share of a slab: 16 lines of kWidth columns of D. It is made in parts, of a lane's
/// values as wgmma's fragment lies: pairs of columns in two lines, four for eight columns.
template <class OutType, i32 kWidth>
struct FullSlab {
  using Out = OutType;
  static constexpr i32 kColumns = kWidth;
  static constexpr u32 kLine = kWidth * Out::kBytes;  // bytes
  static constexpr u32 kBytes = kGemmStoreLines * kLine;
  static constexpr int kParts = kLine / 64;
  static constexpr i32 kPartColumns = kWidth / kParts;
  static constexpr int kValues = kPartColumns / 2;  // of a part
  static_assert(kLine == 128 || kLine == 64, "as the copy engine's swizzles have it");
};

// Piece c of 16 bytes of line r of a slab lies at c ^ (r % 8), or in lines of 64 bytes at
// c ^ (r / 2 % 4), as the copy engine's swizzles have it.
template <class Slab>
__device__ __forceinline__ u32 store_place(u32 slab, u32 line, u32 piece) {
  const u32 turned = Slab::kLine == 128 ? line % 8 : line / 2 % 4;
  return slab + line * Slab::kLine + ((piece ^ turned) << 4);
}

/// Where the lane's first values of a slab lie, of which store_at gives the piece that is `piece`
/// further on. Slabs begin at multiples of 1024, so that bits are changed.
template <class Slab>
__device__ __forceinline__ u32 store_first(u32 lane, u32 slab) {
  if constexpr (Slab::Out::kBytes == 2) return store_place<Slab>(slab, lane % 16, lane / 16);
  return store_place<Slab>(slab, lane / 4, lane % 4 / 2) + lane % 2 * 8;
}
__device__ __forceinline__ u32 store_at(u32 first, u32 piece) {
  return first ^ (piece << 4);
}

/// Part `part` of a slab. kRelu: what is below 0 becomes 0.
template <class Slab, bool kRelu = false>
__device__ __forceinline__ void store_stage(const float (&v)[Slab::kValues], u32 first, u32 part) {
  using Out = typename Slab::Out;
  constexpr u32 kGroups = Slab::kValues / 4;  // of eight columns
  if constexpr (Out::kBytes == 2) {
    u32 words[2 * kGroups];
#pragma unroll
    for (u32 i = 0; i < 2 * kGroups; ++i)
      words[i] = kRelu ? Out::pack_relu(v[2 * i], v[2 * i + 1]) : Out::pack(v[2 * i], v[2 * i + 1]);
#pragma unroll
    for (u32 group = 0; group < kGroups; group += 2)
      ptx::stmatrix_x4(store_at(first, part * kGroups + group), words[2 * group],
                       words[2 * group + 1], words[2 * group + 2], words[2 * group + 3]);
  } else {
#pragma unroll
    for (u32 i = 0; i < 2 * kGroups; ++i) {
      const float low = kRelu ? act::relu(v[2 * i]) : v[2 * i];
      const float high = kRelu ? act::relu(v[2 * i + 1]) : v[2 * i + 1];
      ptx::store_shared_v2(
          store_at(first, part * 2 * kGroups + i / 2 * 2) + i % 2 * 8 * Slab::kLine, low, high);
    }
  }
}

/// The way back.
template <class Slab>
__device__ __forceinline__ void store_unstage(float (&v)[Slab::kValues], u32 first, u32 part) {
  using Out = typename Slab::Out;
  constexpr u32 kGroups = Slab::kValues / 4;
  if constexpr (Out::kBytes == 2) {
#pragma unroll
    for (u32 group = 0; group < kGroups; group += 2) {
      u32 words[4];
      ptx::ldmatrix_x4(store_at(first, part * kGroups + group), words);
#pragma unroll
      for (u32 i = 0; i < 8; ++i)
        v[group * 4 + i] = Out::to_float(
            static_cast<typename Out::Storage>(i % 2 == 0 ? words[i / 2] : words[i / 2] >> 16));
    }
  } else {
#pragma unroll
    for (u32 i = 0; i < 2 * kGroups; ++i)
      ptx::load_shared_v2(store_at(first, part * 2 * kGroups + i / 2 * 2) + i % 2 * 8 * Slab::kLine,
                          v[2 * i], v[2 * i + 1]);
  }
}

/// Waits until at most kPending of the groups that were sent have not been read.
template <int kPending>
__device__ __forceinline__ void store_free(u32 lane) {
  if (lane == 0) ptx::store_wait_read<kPending>();
  ptx::sync_warp();
}

/// Of a slab what is in D, by plain stores: the map knows nothing of the rows that the device has.
template <class Slab>
__device__ __forceinline__ void store_inside(const GemmFullArgs& args, const FullRun& run, u32 lane,
                                             u32 slab, i32 line, i32 at) {
  using Out = typename Slab::Out;
  constexpr i32 kElements = 16 / static_cast<i32>(Out::kBytes);
  constexpr u32 kAcross = Slab::kLine / 16;
#pragma unroll 1
  for (u32 i = lane; i < kGemmStoreLines * kAcross; i += 32) {
    const i32 own = line + static_cast<i32>(i / kAcross);
    const i32 first = at + static_cast<i32>(i % kAcross) * kElements;
    if (own >= run.lines || first >= run.extent) continue;
    const u32 from = store_place<Slab>(slab, i / kAcross, i % kAcross);
    auto* to = reinterpret_cast<typename Out::Storage*>(run.d) + own * args.base.d_stride_m + first;
    if (run.extent - first >= kElements) {
      *reinterpret_cast<uint4*>(to) = ptx::shared_load<16>(from);
    } else {
#pragma unroll 1
      for (i32 j = 0; j < run.extent - first; ++j) {
        const auto raw = ptx::shared_load<Out::kBytes>(from + static_cast<u32>(j) * Out::kBytes);
        reinterpret_cast<ptx::Unit<Out::kBytes>*>(to)[j] = raw;
      }
    }
  }
}

/// Before the block ends: shared memory stays until it is read; the writes themselves are the
/// grid's end.
__device__ __forceinline__ void full_store_finish() {
  if (ptx::lane_id() == 0) ptx::store_wait_read<0>();
}

}  // namespace tw
