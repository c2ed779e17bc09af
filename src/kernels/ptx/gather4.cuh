// SPDX-License-Identifier: Apache-2.0
#pragma once
// Four rows of a matrix by number, through a tensor map of rank 2 whose box is one row. Of compute
// capability 10.0 and its family; 12.x has the load alone.

#include "kernels/ptx/basic.cuh"

namespace tw::ptx {

/// Rows land behind one another, a box's bytes apart; `shared` is a multiple of 128. Numbers
/// outside the tensor fill zeros.
__device__ __forceinline__ void load_gather4(u32 shared, const KernelMap* map, u32 barrier,
                                             i32 column, i32 row0, i32 row1, i32 row2, i32 row3) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(column), "r"(row0), "r"(row1), "r"(row2), "r"(row3)
      : "memory");
}

/// Negative numbers fault; rows behind the tensor are not written.
__device__ __forceinline__ void store_scatter4(const KernelMap* map, u32 shared, i32 column,
                                               i32 row0, i32 row1, i32 row2, i32 row3) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
      " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(shared), "r"(column), "r"(row0), "r"(row1), "r"(row2), "r"(row3)
      : "memory");
}

}  // namespace tw::ptx
