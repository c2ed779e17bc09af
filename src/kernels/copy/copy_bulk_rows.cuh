// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies rows that are contiguous on both sides: each lane moves chunks by one-dimensional bulk
// copies, and ordinary loads and stores move the bytes outside 16-byte boundaries.

#include "kernels/common/warp_ring.cuh"
#include "kernels/copy/place_row.cuh"
#include "kernels/ptx/global.cuh"

namespace tw {

struct RowMover {
  const CopyRowArgs& args;

  struct Chunk {
    u64 src;
    u64 dst;
    u32 bytes;  // 0: no chunk
  };

  __device__ __forceinline__ Chunk chunk(u64 item, u32 slot) const {
    const u64 number = item * args.stage_chunks + slot;
    const u64 row = args.chunks == 1 ? number : number / args.chunks;
    if (slot >= args.stage_chunks || row >= args.rows) return {0, 0, 0};
    const u32 part = static_cast<u32>(number - row * args.chunks);
    const RowPlace at = place_row(args, row);
    const u64 offset = args.head_bytes + static_cast<u64>(part) * args.chunk_bytes;
    return {at.src + offset, at.dst + offset,
            part + 1 == args.chunks ? args.last_bytes : args.chunk_bytes};
  }

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) const {
    const u32 lane = ptx::lane_id();
    u32 bytes = 0;
    for (u32 slot = lane; slot < args.stage_chunks; slot += 32) bytes += chunk(item, slot).bytes;
    bytes = __reduce_add_sync(0xffffffffu, bytes);
    if (lane == 0) ptx::mbarrier_arrive_expect(barrier, bytes);
    ptx::sync_warp();
    for (u32 slot = lane; slot < args.stage_chunks; slot += 32) {
      const Chunk c = chunk(item, slot);
      if (c.bytes)
        ptx::load_bulk_hint(stage + slot * args.chunk_bytes, ptx::global_pointer(c.src), c.bytes,
                            barrier, args.src_policy);
    }
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
    for (u32 slot = ptx::lane_id(); slot < args.stage_chunks; slot += 32) {
      const Chunk c = chunk(item, slot);
      if (c.bytes)
        ptx::store_bulk_hint(ptx::global_pointer(c.dst), stage + slot * args.chunk_bytes, c.bytes,
                             args.dst_policy);
    }
  }
};

// Copies heads and tails: per row, 16 threads copy one byte of the head each and 16 one of the
// tail.
__device__ __forceinline__ void copy_row_edges(const CopyRowArgs& args) {
  if (args.head_bytes + args.tail_bytes == 0) return;
  const u32 byte = threadIdx.x % 32;
  const bool tail = byte >= 16;
  const u32 within = byte % 16;
  const u64 offset = within + (tail ? args.head_bytes + args.body_bytes : 0);
  const bool mine = within < (tail ? args.tail_bytes : args.head_bytes);
  const u32 warps = blockDim.x / 32;
  for (u64 row = blockIdx.x * warps + threadIdx.x / 32; row < args.rows;
       row += static_cast<u64>(gridDim.x) * warps) {
    const RowPlace at = place_row(args, row);
    if (mine) ptx::store_unit<1>(at.dst + offset, ptx::load_unit_cached<1>(at.src + offset));
  }
}

__device__ __forceinline__ void copy_bulk_rows(const CopyRowArgs& args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const WarpPipeline pipeline = make_warp_pipeline(shared, args.stages, args.stage_bytes);
  RowMover mover{args};
  const u64 items = (args.rows * args.chunks + args.stage_chunks - 1) / args.stage_chunks;
  const u64 first = blockIdx.x + static_cast<u64>(gridDim.x) * (threadIdx.x / 32);
  run_warp_pipeline(pipeline, mover, first, items,
                    static_cast<u64>(gridDim.x) * kCopyPipelineWarps);
  copy_row_edges(args);
}

}  // namespace tw
