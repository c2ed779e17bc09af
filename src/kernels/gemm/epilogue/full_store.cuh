// SPDX-License-Identifier: Apache-2.0
#pragma once
// TMA stores of D in the epilogue kernels. Each warp has its own staging memory, in slabs of 16
// lines, so that no warp waits for another. The same lane stores and waits throughout, since the
// thread that commits a group of bulk stores must wait for it.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/epilogue/full_epilogue.cuh"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

/// A warp's slab: 16 lines of kWidth columns of D. It is written in fragments of 64 bytes per line,
/// in which a lane has the values that wgmma's layout gives it.
template <class OutType, i32 kWidth>
struct FullSlab {
  using Out = OutType;
  static constexpr i32 kColumns = kWidth;
  static constexpr u32 kLine = kWidth * Out::kBytes;  // bytes
  static constexpr u32 kBytes = kGemmStoreLines * kLine;
  static constexpr int kFragments = kLine / 64;
  static constexpr i32 kFragmentColumns = kWidth / kFragments;
  static constexpr int kValues = kFragmentColumns / 2;  // of a lane in a fragment
  static_assert(kLine == 128 || kLine == 64,
                "a line must be as wide as a TMA swizzle of 64 or 128 bytes");
};

// TMA swizzle of 16-byte piece c of line r: c ^ (r % 8), or c ^ (r / 2 % 4) in 64-byte lines.
template <class Slab>
__device__ __forceinline__ u32 store_address(u32 slab, u32 line, u32 piece) {
  const u32 pattern = Slab::kLine == 128 ? line % 8 : line / 2 % 4;
  return slab + line * Slab::kLine + ((piece ^ pattern) << 4);
}

/// Address of the lane's first values in a slab. store_piece_address() gives the address of the
/// 16-byte piece `piece` pieces further on, by XOR, since slabs are aligned to 1024 bytes.
template <class Slab>
__device__ __forceinline__ u32 store_first_address(u32 lane, u32 slab) {
  if constexpr (Slab::Out::kBytes == 2) return store_address<Slab>(slab, lane % 16, lane / 16);
  return store_address<Slab>(slab, lane / 4, lane % 4 / 2) + lane % 2 * 8;
}
__device__ __forceinline__ u32 store_piece_address(u32 first, u32 piece) {
  return first ^ (piece << 4);
}

/// Writes a fragment of a slab to shared memory. kRelu: negative values become 0.
template <class Slab, bool kRelu = false>
__device__ __forceinline__ void store_stage(const float (&v)[Slab::kValues], u32 first,
                                            u32 fragment) {
  using Out = typename Slab::Out;
  constexpr u32 kGroups = Slab::kValues / 4;  // of eight columns
  if constexpr (Out::kBytes == 2) {
    u32 words[2 * kGroups];
#pragma unroll
    for (u32 i = 0; i < 2 * kGroups; ++i)
      words[i] = kRelu ? Out::pack_relu(v[2 * i], v[2 * i + 1]) : Out::pack(v[2 * i], v[2 * i + 1]);
#pragma unroll
    for (u32 group = 0; group < kGroups; group += 2)
      ptx::stmatrix_x4(store_piece_address(first, fragment * kGroups + group), words[2 * group],
                       words[2 * group + 1], words[2 * group + 2], words[2 * group + 3]);
  } else {
#pragma unroll
    for (u32 i = 0; i < 2 * kGroups; ++i) {
      const float low = kRelu ? act::relu(v[2 * i]) : v[2 * i];
      const float high = kRelu ? act::relu(v[2 * i + 1]) : v[2 * i + 1];
      ptx::store_shared_v2(
          store_piece_address(first, fragment * 2 * kGroups + i / 2 * 2) + i % 2 * 8 * Slab::kLine,
          low, high);
    }
  }
}

/// Reads a fragment of a slab from shared memory, in the same layout.
template <class Slab>
__device__ __forceinline__ void store_unstage(float (&v)[Slab::kValues], u32 first, u32 fragment) {
  using Out = typename Slab::Out;
  constexpr u32 kGroups = Slab::kValues / 4;
  if constexpr (Out::kBytes == 2) {
#pragma unroll
    for (u32 group = 0; group < kGroups; group += 2) {
      u32 words[4];
      ptx::ldmatrix_x4(store_piece_address(first, fragment * kGroups + group), words);
#pragma unroll
      for (u32 i = 0; i < 8; ++i)
        v[group * 4 + i] = Out::to_float(
            static_cast<typename Out::Storage>(i % 2 == 0 ? words[i / 2] : words[i / 2] >> 16));
    }
  } else {
#pragma unroll
    for (u32 i = 0; i < 2 * kGroups; ++i)
      ptx::load_shared_v2(
          store_piece_address(first, fragment * 2 * kGroups + i / 2 * 2) + i % 2 * 8 * Slab::kLine,
          v[2 * i], v[2 * i + 1]);
  }
}

/// Waits until the TMA has read all but the last kPending groups of slabs.
template <int kPending>
__device__ __forceinline__ void store_wait_for_slabs(u32 lane) {
  if (lane == 0) ptx::store_wait_read<kPending>();
  ptx::sync_warp();
}

/// Writes the part of a slab that lies inside D by plain stores: D's map does not know device_m.
template <class Slab>
__device__ __forceinline__ void store_clipped(const GemmEpilogueArgs& args, const FullRun& run,
                                              u32 lane, u32 slab, i32 line, i32 at) {
  using Out = typename Slab::Out;
  constexpr i32 kElements = 16 / static_cast<i32>(Out::kBytes);
  constexpr u32 kAcross = Slab::kLine / 16;
#pragma unroll 1
  for (u32 i = lane; i < kGemmStoreLines * kAcross; i += 32) {
    const i32 own = line + static_cast<i32>(i / kAcross);
    const i32 first = at + static_cast<i32>(i % kAcross) * kElements;
    if (own >= run.lines || first >= run.extent) continue;
    const u32 from = store_address<Slab>(slab, i / kAcross, i % kAcross);
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

/// Before the CTA exits: shared memory must outlive TMA reads. The grid's end completes the writes.
__device__ __forceinline__ void full_store_finish() {
  if (ptx::lane_id() == 0) ptx::store_wait_read<0>();
}

}  // namespace tw
