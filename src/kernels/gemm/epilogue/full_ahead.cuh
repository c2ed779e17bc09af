// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads C of a tile before its products are computed, into the staging memory of D.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/epilogue/full_fragment.cuh"
#include "kernels/ptx/async_copy.cuh"

namespace tw {

/// Copies C of the slab that begins at (line, at), in pieces of kBytes, with 0 outside of C.
template <class Slab, u32 kBytes>
__device__ __forceinline__ void load_c_slab(const GemmEpilogueArgs& args, const FullRun& run,
                                            u32 lane, u32 slab, i32 line, i32 at) {
  using Out = typename Slab::Out;
  constexpr u32 kAcross = Slab::kLine / kBytes;
  constexpr i32 kElements = kBytes / Out::kBytes;
  constexpr u32 kPieces = kGemmStoreLines * kAcross;
  const auto step = static_cast<u64>(args.base.c_stride_m * static_cast<i64>(Out::kBytes));
#pragma unroll(kBytes == 16 ? 4 : 1)
  for (u32 first = 0; first < kPieces; first += 32) {
    const u32 piece = first + lane;
    const u32 own = piece / kAcross, byte = piece % kAcross * kBytes;
    const i32 column = at + static_cast<i32>(byte / Out::kBytes);
    // In elements, since a line's bytes may need more than 32 bits.
    const i32 rest = min(run.extent - column, kElements);
    const bool exists = line + static_cast<i32>(own) < run.lines && rest > 0;
    const u64 from = full_c<Out>(args, run, {line, column, 1}) + own * step;
    if (kPieces % 32 == 0 || piece < kPieces)
      ptx::async_copy<kBytes>(store_address<Slab>(slab, own, byte / 16) + byte % 16,
                              exists ? from : run.c,
                              exists ? static_cast<u32>(rest) * Out::kBytes : 0);
  }
}

/// Copies C of one slab in the largest pieces that its alignment allows.
template <class Slab>
__device__ __forceinline__ void load_c_slab(const GemmEpilogueArgs& args, const FullRun& run,
                                            u32 lane, u32 slab, i32 line, i32 at) {
  if (args.flags & kFullAlignedC)
    load_c_slab<Slab, 16>(args, run, lane, slab, line, at);
  else
    load_c_slab<Slab, 2 * Slab::Out::kBytes>(args, run, lane, slab, line, at);
}

}  // namespace tw
