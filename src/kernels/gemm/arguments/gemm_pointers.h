// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the kernel that prepares a batch given by arrays of addresses in device memory. It
// runs before the product, reads the arrays, and writes addresses and tensor maps for the product
// to the workspace. A captured graph can therefore be replayed after the arrays have changed.

#include "kernels/arguments.h"

namespace tw {

/// Addresses of one product. A product with a null or misaligned address is skipped: all are 0.
struct GemmMatrix {
  u64 a, b, c, d;
};

/// The operands in the order of GemmMatrix.
inline constexpr u32 kGemmOperands = 4;
/// Maps of one product: A, B and D.
inline constexpr u32 kGemmMaps = 3;

struct GemmPointersArgs {
  KernelMap maps[kGemmMaps];     // maps of A, B and D that lack only an address
  u64 arrays[kGemmOperands];     // each of `count` addresses; 0: the operand is not used
  u64 alignment[kGemmOperands];  // promised alignment of the addresses in bytes, a power of two
  u64 matrices;                  // output: GemmMatrix[count]
  u64 product_maps;              // output: KernelMap[count][kGemmMaps]; 0: none
  u64 invalid_count;             // u64 to which the number of skipped products is added; 0: none
  i32 count;
  i32 reserved;
};

static_assert(sizeof(GemmPointersArgs) == 512, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmPointersArgs, matrices) == 448, "as above");

/// Index in GemmMatrix of the address that map `map` needs.
TW_KERNEL_HD constexpr u32 gemm_operand_of_map(u32 map) {
  return map == 2 ? 3 : map;
}

/// Whether an address is null or less aligned than promised.
TW_KERNEL_HD constexpr bool gemm_bad_address(u64 address, u64 alignment) {
  return address == 0 || (address & (alignment - 1)) != 0;
}

/// Address for a map. If the operand is unused or the product is skipped, the map gets the valid
/// address `instead`. No kernel reads through such a map, see gemm_product_maps.
TW_KERNEL_HD constexpr u64 gemm_map_address(u64 address, u64 instead) {
  return address == 0 ? instead : address;
}

/// Products that one CTA prepares, one warp for each.
inline constexpr u32 kGemmPointersWarps = 4;

}  // namespace tw
