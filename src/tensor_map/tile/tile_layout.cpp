// SPDX-License-Identifier: Apache-2.0
// A layout of shared memory as the order in which a box fills it.
#include <algorithm>

#include "tensor_map/geometry.hpp"
#include "tensor_map/tile/tile_axes.hpp"

namespace tw {
namespace {

Status refuse(const char* text, int64_t got) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "shared", .got = got},
              "the layout of shared memory %s (%lld)", text, static_cast<long long>(got));
}

// The mode's extents must multiply to the tile's; its leaves count the tile's positions in order.
Status add_mode(const TileRequest& request, int32_t mode, TileShape* shape, int64_t* strides) {
  const Layout& layout = *request.shared;
  const Node node = layout.mode(mode);
  int32_t axis = -1;
  for (int32_t a = 0; a < shape->axes; ++a)
    if (shape->axis[a].mode[0].mode == mode) axis = a;
  int64_t step = 1;
  for (int leaf = node.begin; leaf < node.end; ++leaf) {
    const int64_t extent = layout.shape.value[leaf];
    if (extent > 1) {
      if (axis < 0) return refuse("has more than one element along a mode of extent 1", mode);
      strides[shape->leaves] = layout.stride[leaf];
      if (!shape->add_leaf(axis, step, extent)) return refuse("has too many leaves", shape->leaves);
    }
    step *= extent;
  }
  if (step != request.tile[mode])
    return refuse("has another size than the tile along a mode", mode);
  return {};
}

// Modes of which the tile has one position take no part in the order.
void add_points(TileShape* shape) {
  for (int32_t a = 0; a < shape->axes; ++a)
    if (shape->leaves_of(a) == 0) shape->add_leaf(a, 1, 1);
}

Swizzle swizzle_of(const BitSwizzle& swizzle, int64_t bytes) {
  int32_t base = swizzle.base;
  for (int64_t b = bytes; b > 1; b /= 2) ++base;
  if (base != 4 || swizzle.shift != 3) return static_cast<Swizzle>(-1);
  return swizzle.bits <= 3 ? static_cast<Swizzle>(swizzle.bits) : static_cast<Swizzle>(-1);
}

}  // namespace

Status leaves_of_layout(const TileRequest& request, TileShape* shape) {
  const Layout& layout = *request.shared;
  const int64_t bytes = dtype_bytes(request.dtype);
  if (layout.coordinates) return refuse("gives coordinates, no offsets", layout.rank());
  if (layout.offset != 0) return refuse("does not begin at 0", layout.offset);
  if (layout.rank() != request.rank)
    return refuse("has another rank than the tensor", layout.rank());
  if (!layout.swizzle.is_identity() && swizzle_of(layout.swizzle, bytes) != request.swizzle)
    return refuse("has another swizzle than the one asked for", layout.swizzle.bits);

  int64_t strides[2 * kMaxTileRank] = {};
  shape->leaves = 0;
  for (int32_t mode = 0; mode < request.rank; ++mode)
    TW_TRY(add_mode(request, mode, shape, strides));
  // Insertion sort: the leaf that fills fastest first.
  for (int32_t i = 1; i < shape->leaves; ++i)
    for (int32_t j = i; j > 0 && strides[j] < strides[j - 1]; --j) {
      std::swap(strides[j], strides[j - 1]);
      std::swap(shape->leaf[j], shape->leaf[j - 1]);
    }
  int64_t next = 1;
  for (int32_t i = 0; i < shape->leaves; ++i) {
    if (strides[i] != next)
      return refuse("has gaps or overlaps: a box fills its memory without; stride", strides[i]);
    next *= shape->leaf[i].extent;
    // Rows narrower than the swizzle lie a span apart.
    if (i == 0) next = std::max<int64_t>(next, swizzle_span(request.swizzle) / bytes);
  }
  add_points(shape);
  return {};
}

}  // namespace tw
