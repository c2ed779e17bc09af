// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies that turn 16-byte squares of elements round in registers: transposes, and a few planes
// interleaved or taken apart. Pure host code.

#include <cstdint>

#include "kernels/copy/interleave.h"
#include "kernels/copy/transpose.h"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// Transposes: one dimension is contiguous in the source, another in the destination. By vectors,
/// both are whole numbers of 16-byte vectors, kMinTransposeVectors at least, and every other stride
/// is a multiple of 16 bytes; `plain`, by elements, both have kMinTransposeElements at least. Fills
/// all but the tiles, the addresses and the policies.
bool fill_transpose(const CopyShape& shape, bool plain, CopyTransposeArgs* args);
/// The rest for tiles of tile_a x tile_b units.
void fill_transpose_tiles(uint32_t tile_a, uint32_t tile_b, CopyTransposeArgs* args);

inline constexpr int64_t kMinTransposeVectors = 4;
inline constexpr int64_t kMinTransposeElements = 32;

/// Interleaving: a few planes whose elements lie one after the other on the packed side. The
/// planes are whole numbers of 16-byte vectors and every other stride is a multiple of 16 bytes.
/// Fills all but the addresses and the policies; `to_planes` says which side is packed.
bool fill_interleave(const CopyShape& shape, CopyInterleaveArgs* args, bool* to_planes);

}  // namespace tw
