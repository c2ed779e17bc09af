// SPDX-License-Identifier: Apache-2.0
#pragma once
// A batch whose matrices are named by arrays of addresses in device memory: a kernel in front of
// the product reads the arrays and leaves in the workspace what the product then works by, so that
// a captured graph may be replayed with other arrays' contents.

#include "kernels/arguments.h"

namespace tw {

/// One product's addresses. d is 0, and all others with it, where the product is left out.
struct GemmMatrix {
  u64 a, b, c, d;
};

/// The operands in the order of GemmMatrix.
inline constexpr u32 kGemmOperands = 4;
/// Maps of one product: A, B and D.
inline constexpr u32 kGemmMaps = 3;

struct GemmPointersArgs {
  KernelMap maps[kGemmMaps];     // as they will be but for the address
  u64 arrays[kGemmOperands];     // each of `count` addresses; 0: the operand is not looked at
  u64 alignment[kGemmOperands];  // an address is a multiple of it, a power of two
  u64 matrices;                  // GemmMatrix[count], written
  u64 product_maps;              // KernelMap[count][kGemmMaps], written; 0: there are none
  u64 skipped;                   // a word to which products that are left out are added; 0: none
  i32 count;
  i32 reserved;
};

static_assert(sizeof(GemmPointersArgs) == 512, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmPointersArgs, matrices) == 448, "as above");

/// Where a map's address stands among a product's.
TW_KERNEL_HD constexpr u32 gemm_operand_of_map(u32 map) {
  return map == 2 ? 3 : map;
}

/// Whether an address breaks its promise.
TW_KERNEL_HD constexpr bool gemm_bad_address(u64 address, u64 alignment) {
  return address == 0 || (address & (alignment - 1)) != 0;
}

/// What a map is made with where the product is left out or does not look at the operand: memory
/// that is there. Boxes of such a product lie outside its map, so that none is read.
TW_KERNEL_HD constexpr u64 gemm_map_address(u64 address, u64 instead) {
  return address == 0 ? instead : address;
}

/// Matrices that a block of the kernel makes ready, a warp each.
inline constexpr u32 kGemmPointersWarps = 4;

}  // namespace tw
