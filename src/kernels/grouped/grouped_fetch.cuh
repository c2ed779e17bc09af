// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies blocks of an operand, 64 lines of 32 elements along k, to shared memory: eight adjacent
// elements at a time, with one 16-byte load if they are aligned. The copy has two steps (to
// registers, then to shared memory), so that the loads of the next block overlap the products of
// this one.

#include "kernels/gemm/mma/plain_loop.cuh"

namespace tw {

/// A thread's part of a block.
struct GroupedPieces {
  uint4 v[2];
};
static_assert(kPlainTile * kPlainK == 2 * 8 * static_cast<i32>(kPlainThreads));

/// An operand. Line i of a tile is line first(i) of the operand, or zeros if that is not below
/// `lines`. One of the strides is 1. If line_stride is 1, eight lines of a tile from a multiple of
/// eight on are adjacent in the operand.
template <class Storage, class First>
struct GroupedOperand {
  const Storage* global;
  i64 line_stride, k_stride;
  i32 lines;
  First first;
  __device__ __forceinline__ bool along_k() const { return k_stride == 1; }
};

struct GroupedPiece {
  i32 line, k;  // of its first element
};

__device__ __forceinline__ GroupedPiece grouped_piece(bool along_k, i32 i) {
  const i32 item = i * static_cast<i32>(kPlainThreads) + static_cast<i32>(threadIdx.x);
  if (along_k) return {item / 4, item % 4 * 8};
  // A warp's pieces lie in sixteen rows of memory, so that few of its stores to shared memory meet
  // in one bank. It reads 32 bytes, a sector, of each row.
  return {item / 64 * 16 + item % 2 * 8, item / 2 % kPlainK};
}

/// Loads eight adjacent 16-bit elements, of which the first `count` exist; the others are zeros.
template <class Storage>
__device__ __forceinline__ uint4 grouped_load_eight(const Storage* from, i32 count) {
  if (count >= 8 && reinterpret_cast<u64>(from) % 16 == 0)
    return *reinterpret_cast<const uint4*>(from);
  u32 words[4] = {};
#pragma unroll
  for (i32 i = 0; i < 8; ++i)
    if (i < count) words[i / 2] |= static_cast<u32>(from[i]) << (i % 2 * 16);
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// The thread's part of the block from k0 on; zeros outside of the operand and from k_end on.
template <class Operand>
__device__ __forceinline__ void grouped_load(const Operand& operand, i32 k0, i32 k_end,
                                             GroupedPieces& pieces) {
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    const GroupedPiece piece = grouped_piece(operand.along_k(), i);
    const i32 line = operand.first(piece.line), k = k0 + piece.k;
    const bool there = line < operand.lines && k < k_end;
    const i32 count = operand.along_k() ? k_end - k : operand.lines - line;
    const i64 at = there ? line * operand.line_stride + k * operand.k_stride : 0;
    pieces.v[i] = grouped_load_eight(operand.global + at, there ? count : 0);
  }
}

template <class Storage>
__device__ __forceinline__ void grouped_store(Storage* shared, bool along_k,
                                              const GroupedPieces& pieces) {
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    const GroupedPiece piece = grouped_piece(along_k, i);
    Storage* const to = shared + piece.line * kPlainPitch + piece.k;
    if (along_k) {
      *reinterpret_cast<uint4*>(to) = pieces.v[i];
      continue;
    }
    const u32 words[4] = {pieces.v[i].x, pieces.v[i].y, pieces.v[i].z, pieces.v[i].w};
#pragma unroll
    for (i32 j = 0; j < 8; ++j)
      to[j * kPlainPitch] = static_cast<Storage>(words[j / 2] >> (j % 2 * 16));
  }
}

/// The tile's products for k from `begin` to `end` - 1, in accumulation chains (kPlainChain).
template <class In, class Shared, class A, class B>
__device__ __forceinline__ void grouped_multiply(float (&d)[2][4][4], Shared& shared, i32 begin,
                                                 i32 end, const A& a, const B& b) {
  float chain[2][4][4] = {};
  GroupedPieces of_a = {}, of_b = {};
  if (begin < end) {
    grouped_load(a, begin, end, of_a);
    grouped_load(b, begin, end, of_b);
  }
  for (i32 k = begin; k < end; k += kPlainK) {
    grouped_store(shared.a, a.along_k(), of_a);
    grouped_store(shared.b, b.along_k(), of_b);
    ptx::sync_block();
    if (end - k > kPlainK) {
      grouped_load(a, k + kPlainK, end, of_a);
      grouped_load(b, k + kPlainK, end, of_b);
    }
    plain_multiply<In>(chain, shared.a, shared.b);
    ptx::sync_block();
    if ((k - begin + kPlainK) % kPlainChain == 0 || end - k <= kPlainK) plain_add(d, chain);
  }
}

}  // namespace tw
