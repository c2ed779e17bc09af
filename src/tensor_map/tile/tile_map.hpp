// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a tensor and a tile to a tensor map and the boxes that move the tile, by as few instructions
// as possible.
//
// A row of the tile that is wider than the swizzle's span is folded: its dimension becomes two, the
// second counting spans, so that one box holds what would otherwise be several. Neighbouring modes
// that lie behind one another in memory may be merged into one dimension. Both only where what is
// outside the tensor stays outside: a folded extent is a multiple of the fold, and a merged mode is
// covered whole by the tile, or cut evenly. Where that cannot be, the tile is several boxes.
//
// The caller's rank is kept in the coordinate tensor, so that a folded tensor is tiled as before.

#include <cstdint>

#include "layout/layout.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

inline constexpr int32_t kMaxTileRank = 8;

/// What is wanted. Modes are outermost first, strides in elements.
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
  int32_t multicast = 1;    ///< blocks of a cluster that share the tile, each loading a part
  uint32_t free_start = 0;  ///< bit k: tiles may begin anywhere along mode k, not only at multiples
  const Layout* shared = nullptr;  ///< where the tile's elements lie; nullptr: box behind box
  int32_t arch = 90;
};

struct TileMap {
  static constexpr int32_t kMaxParts = 16;

  TensorMapDesc desc;
  Layout coordinates;  ///< of the caller's modes, giving the map's coordinates

  /// Boxes of a tile, as nested loops, the first the fastest. Each step moves `step` elements along
  /// a dimension of the map and the box's span in shared memory.
  struct Loop {
    int32_t count;
    int32_t dim;
    int32_t step;
  };
  int32_t loops = 0;
  Loop loop[kMaxTileRank];
  int32_t boxes = 1;

  /// What a mode's coordinate adds to the map's: (c * scale / divide) % modulo to dimension dim.
  struct Part {
    int32_t mode;
    int32_t dim;
    int64_t scale;
    int64_t divide;
    int64_t modulo;  ///< 0: none
  };
  int32_t parts = 0;
  Part part[kMaxParts];
  int64_t aligned[kMaxTileRank] = {};  ///< a tile begins at a multiple of this along mode k
  int64_t inside[kMaxTileRank] = {};   ///< and, where this is not 0, from 0 on and below it
  int32_t rank = 0;                    ///< of the caller
};

/// Fails with ERROR_RULE where no map can be made, naming the rule of the closest one; with
/// ERROR_INVALID_ARGUMENT where the request itself cannot be.
Status make_tile_map(const TileRequest& request, TileMap* out);

/// Box `index` of the tile that begins at `start` (the caller's coordinates): its coordinates in
/// the map and its place behind the tile's beginning in shared memory. Blocks of a multicast load
/// equal runs of boxes. `start` may be negative or past the end.
Status tile_box(const TileMap& map, const int64_t* start, int32_t index, int32_t* coord,
                uint32_t* shared_offset);

/// The same for a map without a tile, whose only box begins at `start`.
Status whole_box(const TensorMapDesc& desc, const int64_t* start, int32_t index, int32_t* coord);

/// The extent of a dimension for which plain_dim() is true.
void resize_dim(TileMap* map, int32_t dimension, uint64_t extent);

/// Whether the dimension is one whole mode of the tensor.
bool plain_dim(const TileMap& map, int32_t dimension);

}  // namespace tw
