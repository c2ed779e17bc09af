// SPDX-License-Identifier: Apache-2.0
#pragma once
// Main loop of the grouped mma.sync kernels for 16-bit types. A line is a row of A or a column of
// B. Threads copy 64 lines of each operand, 32 elements along k of each, to shared memory. They
// copy pieces of eight neighboring elements, by one access if the piece is aligned to 16 bytes.
// Loads go to registers first, so that the loads of the next k block overlap the products of this
// one.

#include "kernels/gemm/mma/plain_loop.cuh"

namespace tw {

/// The pieces of a k block that a thread copies.
struct GroupedPieces {
  uint4 v[2];
};
static_assert(kPlainTile * kPlainK == 2 * 8 * static_cast<i32>(kPlainThreads));

/// An operand in global memory. Line i of a tile is line line_of(i) of the operand. Lines from
/// `lines` on count as zeros. One of the strides is 1. If line_stride is 1, line_of() must map each
/// aligned group of eight lines to consecutive lines.
template <class Storage, class LineOf>
struct GroupedOperand {
  const Storage* global;
  i64 line_stride, k_stride;
  i32 lines;
  LineOf line_of;
  __device__ __forceinline__ bool along_k() const { return k_stride == 1; }
};

struct GroupedPiece {
  i32 line, k;  // of the piece's first element
};

__device__ __forceinline__ GroupedPiece grouped_piece(bool along_k, i32 i) {
  const i32 item = i * static_cast<i32>(kPlainThreads) + static_cast<i32>(threadIdx.x);
  if (along_k) return {item / 4, item % 4 * 8};
  // A warp's pieces lie in 16 rows of memory, so that few of its stores to shared memory conflict
  // in a bank. It reads 32 bytes of each row, one sector.
  return {item / 64 * 16 + item % 2 * 8, item / 2 % kPlainK};
}

/// Loads the first `count` of eight neighboring 16-bit elements. The others become zeros.
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

/// Loads the thread's pieces of the k block at k0. Elements outside the operand or from k_end on
/// become zeros.
template <class Operand>
__device__ __forceinline__ void grouped_load(const Operand& operand, i32 k0, i32 k_end,
                                             GroupedPieces& pieces) {
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    const GroupedPiece piece = grouped_piece(operand.along_k(), i);
    const i32 line = operand.line_of(piece.line), k = k0 + piece.k;
    const bool inside = line < operand.lines && k < k_end;
    const i32 count = operand.along_k() ? k_end - k : operand.lines - line;
    const i64 offset = inside ? line * operand.line_stride + k * operand.k_stride : 0;
    pieces.v[i] = grouped_load_eight(operand.global + offset, inside ? count : 0);
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

/// Adds A * B of a tile over k from `begin` to `end` - 1 to d, in accumulation chains of
/// kPlainChain elements.
template <class In, class Shared, class A, class B>
__device__ __forceinline__ void grouped_multiply(float (&d)[2][4][4], Shared& shared, i32 begin,
                                                 i32 end, const A& a, const B& b) {
  float chain[2][4][4] = {};
  GroupedPieces a_pieces = {}, b_pieces = {};
  if (begin < end) {
    grouped_load(a, begin, end, a_pieces);
    grouped_load(b, begin, end, b_pieces);
  }
  for (i32 k = begin; k < end; k += kPlainK) {
    grouped_store(shared.a, a.along_k(), a_pieces);
    grouped_store(shared.b, b.along_k(), b_pieces);
    ptx::sync_block();
    if (end - k > kPlainK) {
      grouped_load(a, k + kPlainK, end, a_pieces);
      grouped_load(b, k + kPlainK, end, b_pieces);
    }
    plain_multiply<In>(chain, shared.a, shared.b);
    ptx::sync_block();
    if ((k - begin + kPlainK) % kPlainChain == 0 || end - k <= kPlainK) plain_add(d, chain);
  }
}

}  // namespace tw
