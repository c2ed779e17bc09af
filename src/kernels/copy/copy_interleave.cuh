// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interleaves planes, or splits packed elements into planes. Each thread reorders one 16-byte
// vector of each plane in registers. The packed side passes through the warp's own shared memory,
// so that global accesses cover whole lines.

#include "kernels/copy/interleave.h"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

// What a thread reorders: one 16-byte vector of each plane, or as many packed elements.
template <int kElement, int kPlanes>
struct PlaneGroup {
  static constexpr int kPlaneElements = 16 / kElement;  // of one plane's vector
  static constexpr int kWords = 4 * kPlanes;
  u32 word[kWords];

  // Returns word w of a reordered copy of this group. Element e of the copy is element at(e) of
  // this group.
  template <class At>
  __device__ __forceinline__ u32 collect(int w, At at) const {
    if constexpr (kElement >= 4) {
      constexpr int kEach = kElement / 4;
      return word[at(w / kEach) * kEach + w % kEach];
    } else if constexpr (kElement == 2) {
      const int low = at(2 * w);
      const int high = at(2 * w + 1);
      const u32 pick = (low % 2 ? 0x32u : 0x10u) | (high % 2 ? 0x7600u : 0x5400u);
      return __byte_perm(word[low / 2], word[high / 2], pick);
    } else {
      const int e[4] = {at(4 * w), at(4 * w + 1), at(4 * w + 2), at(4 * w + 3)};
      const u32 low = __byte_perm(word[e[0] / 4], word[e[1] / 4],
                                  static_cast<u32>(e[0] % 4 | (e[1] % 4 + 4) << 4));
      const u32 high = __byte_perm(word[e[2] / 4], word[e[3] / 4],
                                   static_cast<u32>(e[2] % 4 | (e[3] % 4 + 4) << 4));
      return __byte_perm(low, high, 0x5410);
    }
  }
  // Reorders from planar to packed.
  __device__ __forceinline__ PlaneGroup packed() const {
    PlaneGroup out;
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      out.word[w] = collect(w, [](int e) { return e % kPlanes * kPlaneElements + e / kPlanes; });
    return out;
  }
  // Reorders from packed to planar.
  __device__ __forceinline__ PlaneGroup planes() const {
    PlaneGroup out;
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      out.word[w] =
          collect(w, [](int e) { return e % kPlaneElements * kPlanes + e / kPlaneElements; });
    return out;
  }
  __device__ __forceinline__ uint4 vector(int v) const {
    return {word[4 * v], word[4 * v + 1], word[4 * v + 2], word[4 * v + 3]};
  }
  __device__ __forceinline__ void set(int v, const uint4& value) {
    word[4 * v] = value.x;
    word[4 * v + 1] = value.y;
    word[4 * v + 2] = value.z;
    word[4 * v + 3] = value.w;
  }
};

template <int kElement, int kPlanes>
struct Interleaver {
  const CopyInterleaveArgs& args;
  u32 stage;  // the warp's shared memory: 32 vectors per plane
  u32 lane;

  // Address of packed vector v. The swizzle avoids bank conflicts both for lanes that access
  // adjacent vectors and for lanes that access every kPlanes-th vector.
  __device__ __forceinline__ u32 place(u32 v) const {
    constexpr u32 kSwizzle = kPlanes % 8 == 0 ? 7 : kPlanes % 4 == 0 ? 3 : kPlanes % 2 == 0 ? 1 : 0;
    return stage + (v ^ ((v >> 3) & kSwizzle)) * 16;
  }

  __device__ __forceinline__ void to_planes(const InterleavePlace& at) const {
    const u64 from = at.src + (static_cast<u64>(at.group) * kPlanes + lane) * 16;
    uint4 v[kPlanes];
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k)
      if (k * 32 + lane < at.groups * kPlanes)
        v[k] = ptx::load_unit_hint<16>(from + k * 512, args.src_policy);
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k) ptx::shared_store<16>(place(k * 32 + lane), v[k]);
    ptx::sync_warp();
    PlaneGroup<kElement, kPlanes> packed;
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k)
      packed.set(static_cast<int>(k), ptx::shared_load<16>(place(lane * kPlanes + k)));
    const PlaneGroup<kElement, kPlanes> group = packed.planes();
    u64 to = at.dst + (static_cast<u64>(at.group) + lane) * 16;
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k) {
      if (lane < at.groups)
        ptx::store_unit_hint<16>(to, group.vector(static_cast<int>(k)), args.dst_policy);
      to += static_cast<u64>(args.plane_pitch);
    }
  }

  __device__ __forceinline__ void from_planes(const InterleavePlace& at) const {
    u64 from = at.src + (static_cast<u64>(at.group) + lane) * 16;
    PlaneGroup<kElement, kPlanes> group{};
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k) {
      if (lane < at.groups)
        group.set(static_cast<int>(k), ptx::load_unit_hint<16>(from, args.src_policy));
      from += static_cast<u64>(args.plane_pitch);
    }
    const PlaneGroup<kElement, kPlanes> packed = group.packed();
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k)
      ptx::shared_store<16>(place(lane * kPlanes + k), packed.vector(static_cast<int>(k)));
    ptx::sync_warp();
    const u64 to = at.dst + (static_cast<u64>(at.group) * kPlanes + lane) * 16;
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k)
      if (k * 32 + lane < at.groups * kPlanes)
        ptx::store_unit_hint<16>(to + k * 512, ptx::shared_load<16>(place(k * 32 + lane)),
                                 args.dst_policy);
  }
};

template <int kElement, int kPlanes, bool kPlanar>
__device__ __forceinline__ void copy_interleave(const CopyInterleaveArgs& args) {
  constexpr u32 kThreads = interleave_threads(kPlanes);
  constexpr u32 kWarps = kThreads / 32;
  __shared__ __align__(128) unsigned char stages[kThreads * kPlanes * 16];
  const u32 warp = threadIdx.x / 32;
  const Interleaver<kElement, kPlanes> mover{
      args, ptx::shared_address(stages) + warp * (32 * kPlanes * 16), ptx::lane_id()};
  for (u64 number = static_cast<u64>(blockIdx.x) * kWarps + warp; number < args.warps;
       number += static_cast<u64>(gridDim.x) * kWarps) {
    const InterleavePlace at = interleave_place(args, static_cast<u32>(number));
    if constexpr (kPlanar)
      mover.to_planes(at);
    else
      mover.from_planes(at);
    ptx::sync_warp();  // all lanes have read the stage before the next iteration overwrites it
  }
}

}  // namespace tw
