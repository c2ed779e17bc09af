// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies that transpose small blocks of elements in registers: tiled transposes, and interleaving
// of a few planes. Pure host code.

#include <cstdint>

#include "kernels/copy/interleave.h"
#include "kernels/copy/transpose.h"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// Fills the arguments of a transpose except for tiles, addresses and policies. One dimension is
/// contiguous in the source, another in the destination. kCopyTranspose requires that both consist
/// of whole 16-byte vectors, at least kMinTransposeVectors of them, and that all other strides are
/// multiples of 16 bytes. kCopyTransposePlain (`plain`) requires kMinTransposeElements elements in
/// both.
bool fill_transpose(const CopyShape& shape, bool plain, CopyTransposeArgs* args);
/// Fills the fields that depend on the tile of tile_a x tile_b units.
void fill_transpose_tiles(uint32_t tile_a, uint32_t tile_b, CopyTransposeArgs* args);

inline constexpr int64_t kMinTransposeVectors = 4;
inline constexpr int64_t kMinTransposeElements = 32;

/// Fills the arguments of kCopyInterleave except for addresses and policies. The elements of a few
/// planes alternate on the packed side. Planes must consist of whole 16-byte vectors, and all other
/// strides must be multiples of 16 bytes. Sets `*to_planes` if the source is the packed side.
bool fill_interleave(const CopyShape& shape, CopyInterleaveArgs* args, bool* to_planes);

}  // namespace tw
