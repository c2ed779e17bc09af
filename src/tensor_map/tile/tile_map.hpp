// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes a tensor map that moves tiles of a tensor with as few boxes (TMA instructions) as possible.
//
// Usually each mode of the tensor is a dimension of the map. Two exceptions let one box move more
// of a tile:
// - Split: if the tile's extent along a mode is too large for one box, the mode is cut into pieces
//   and becomes two dimensions: the position in a piece, and the index of the piece. A piece has at
//   most 256 elements and, along the contiguous mode, at most the bytes of the swizzle span. If the
//   request has a layout of shared memory, the layout determines the pieces, and can cut them
//   again, which makes more dimensions.
// - Merge: adjacent modes that are contiguous in memory become one dimension. This is not possible
//   with a layout of shared memory.
// Both are allowed only if bounds checks stay correct. The piece length must divide the extent of a
// split mode. If a mode is merged with the next outer one, the tile must cover it completely, or
// the tile's extent along it must divide its extent and the tile must have extent 1 along the outer
// mode. Otherwise the tile takes several boxes.
//
// Callers keep using their own modes: the map translates coordinates of modes to those of the map.

#include <cstdint>

#include "layout/layout.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

inline constexpr int32_t kMaxTileRank = 8;

/// A tensor and its tile. Modes are outermost first, strides are in elements.
struct TileRequest {
  DType dtype = DType::BF16;
  uint64_t address = 0;
  int32_t rank = 0;
  int64_t shape[kMaxTileRank] = {};
  int64_t stride[kMaxTileRank] = {};
  int64_t tile[kMaxTileRank] = {};
  Swizzle swizzle = Swizzle::none;
  L2Promotion l2_promotion = L2Promotion::none;
  OobFill oob_fill = OobFill::zero;
  int32_t multicast = 1;           ///< blocks of a cluster that share the tile; each loads a part
  uint32_t free_start = 0;         ///< bit k: tiles may begin anywhere along mode k, even outside
  const Layout* shared = nullptr;  ///< the tile in shared memory; nullptr: one box after the other
  int32_t arch = 90;
};

struct TileMap {
  static constexpr int32_t kMaxTerms = 16;

  TensorMapDesc desc;
  Layout coordinates;  ///< maps coordinates of the caller's modes to coordinates of the map

  /// The boxes of a tile are nested loops, the first one innermost. Each iteration moves `step`
  /// elements along dimension `dim` of the map. Boxes follow each other in shared memory.
  struct Loop {
    int32_t count;
    int32_t dim;
    int32_t step;
  };
  int32_t loops = 0;
  Loop loop[kMaxTileRank];
  int32_t boxes = 1;

  /// Coordinate c of the mode adds (c * scale / divide) % modulo to the map's coordinate `dim`.
  struct CoordinateTerm {
    int32_t mode;
    int32_t dim;
    int64_t scale;
    int64_t divide;
    int64_t modulo;  ///< 0: no modulo
  };
  int32_t terms = 0;
  CoordinateTerm term[kMaxTerms];
  int64_t aligned[kMaxTileRank] = {};      ///< the start along mode k must be a multiple of this
  int64_t start_limit[kMaxTileRank] = {};  ///< and, if this is not 0, in [0, start_limit)
  int32_t rank = 0;                        ///< number of the caller's modes
};

/// Fails with ERROR_RULE if no map is possible, naming the broken rule of the first map that was
/// tried if there is one, and with ERROR_INVALID_ARGUMENT if the request itself is invalid.
Status make_tile_map(const TileRequest& request, TileMap* out);

/// Box `index` of the tile that begins at `start`, in the caller's coordinates: its coordinates in
/// the map and its offset in the shared memory of the tile, in bytes. With multicast each block
/// loads an equal run of boxes. `start` may be negative or past the end.
Status tile_box(const TileMap& map, const int64_t* start, int32_t index, int32_t* coord,
                uint32_t* shared_offset);

/// Like tile_box(), for a map that make_tile_map() did not make. A tile of such a map is one box,
/// so `index` must be 0. `start` has the box's coordinates in the map, outermost first.
Status plain_map_box(const TensorMapDesc& desc, const int64_t* start, int32_t index,
                     int32_t* coord);

/// Changes the extent of a dimension for which is_whole_mode() is true.
void resize_dim(TileMap* map, int32_t dimension, uint64_t extent);

/// Whether the dimension is exactly one mode of the tensor, neither merged nor split.
bool is_whole_mode(const TileMap& map, int32_t dimension);

}  // namespace tw
