// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/tile/tile_axes.hpp"

#include <algorithm>

#include "tensor_map/geometry.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw {
namespace {

// The largest divisor of n that is at most `maximum` and a multiple of `unit`; 0 if there is none.
int64_t divisor(int64_t n, int64_t maximum, int64_t unit) {
  for (int64_t d = std::min(n, maximum); d > 0; --d)
    if (n % d == 0 && d % unit == 0) return d;
  return 0;
}

bool contiguous(const TileRequest& request, int32_t mode) {
  return request.stride[mode] == 1 && request.shape[mode] > 1;
}

}  // namespace

bool make_axes(const TileRequest& request, uint32_t merges, TileShape* out) {
  // The contiguous mode comes first, then the others from innermost to outermost. A mode of extent
  // 1 needs an axis only if tiles may begin outside of it.
  int32_t order[kMaxTileRank];
  int32_t count = 0;
  for (const bool contiguous_pass : {true, false})
    for (int32_t mode = request.rank - 1; mode >= 0; --mode) {
      const bool taken = std::find(order, order + count, mode) != order + count;
      if (taken || (request.shape[mode] == 1 && (request.free_start >> mode & 1) == 0)) continue;
      if (!contiguous_pass || (contiguous(request, mode) && count == 0)) order[count++] = mode;
    }
  if (count == 0) order[count++] = request.rank - 1;  // a tensor of one element

  const int64_t bytes = dtype_bytes(request.dtype);
  out->axes = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t mode = order[i];
    const bool is_free = (request.free_start >> mode & 1) != 0;
    const int64_t extent = request.shape[mode];
    const int64_t stride = request.stride[mode] * bytes;
    if (i > 0 && (merges >> (i - 1) & 1) != 0) {
      TileAxis& inner = out->axis[out->axes - 1];
      if (stride != inner.stride * inner.extent || is_free || inner.free_start) return false;
      const bool whole = inner.tile == inner.extent;
      const bool cut_evenly = request.tile[mode] == 1 && inner.extent % inner.tile == 0;
      if (!whole && !cut_evenly) return false;
      inner.mode[inner.modes++] = {mode, inner.extent, extent};
      inner.tile *= request.tile[mode];
      inner.extent *= extent;
      continue;
    }
    TileAxis& axis = out->axis[out->axes++];
    axis = {.extent = extent, .stride = stride, .tile = request.tile[mode], .free_start = is_free};
    axis.modes = 1;
    axis.mode[0] = {mode, 1, extent};
  }
  return true;
}

Status make_factors(const TileRequest& request, TileShape* shape) {
  const int64_t bytes = dtype_bytes(request.dtype);
  const int64_t span = swizzle_span(request.swizzle);
  const int64_t row = shape->axis[0].tile;
  int64_t chunk = row;
  if (span != 0 && row * bytes > span)
    chunk = span / bytes;
  else if (row > kMaxBoxDim)
    chunk = divisor(row, kMaxBoxDim, 16 / std::min<int64_t>(bytes, 16));
  if (chunk == 0 || row % chunk != 0)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "tile", .index = shape->axis[0].mode[0].mode, .got = row, .limit = chunk},
        "the tile's rows have %lld elements, which cannot be cut into equal boxes: give a tile "
        "whose rows are a multiple of %lld elements, or a narrower swizzle",
        static_cast<long long>(row), static_cast<long long>(chunk == 0 ? kMaxBoxDim : chunk));
  shape->factors = 0;
  shape->add_factor(0, 1, chunk);
  for (int32_t i = 1; i < shape->axes; ++i) {
    const int64_t tile = shape->axis[i].tile;
    shape->add_factor(i, 1, divisor(tile, kMaxBoxDim, 1));
  }
  for (int32_t i = 0; i < shape->axes; ++i) {
    const int64_t tile = shape->axis[i].tile;
    const int64_t done = shape->factor[i].extent;
    if (tile != done) shape->add_factor(i, done, tile / done);
  }
  return {};
}

namespace {

Status refuse(const char* text, int64_t got) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "shared", .got = got},
              "the layout of shared memory %s (%lld)", text, static_cast<long long>(got));
}

// Adds a factor for each leaf of one mode of the shared memory layout. The extents of the leaves
// must multiply to that of the tile.
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
      strides[shape->factors] = layout.stride[leaf];
      if (!shape->add_factor(axis, step, extent))
        return refuse("has too many leaves", shape->factors);
    }
    step *= extent;
  }
  if (step != request.tile[mode])
    return refuse("has another size than the tile along a mode", mode);
  return {};
}

// Gives each axis without factors, along which the tile has one position, a factor of 1.
void add_unit_factors(TileShape* shape) {
  for (int32_t a = 0; a < shape->axes; ++a)
    if (shape->factors_of(a) == 0) shape->add_factor(a, 1, 1);
}

Swizzle swizzle_of(const BitSwizzle& swizzle, int64_t bytes) {
  int32_t base = swizzle.base;
  for (int64_t b = bytes; b > 1; b /= 2) ++base;
  if (base != 4 || swizzle.shift != 3) return static_cast<Swizzle>(-1);
  return swizzle.bits <= 3 ? static_cast<Swizzle>(swizzle.bits) : static_cast<Swizzle>(-1);
}

}  // namespace

Status factors_of_layout(const TileRequest& request, TileShape* shape) {
  const Layout& layout = *request.shared;
  const int64_t bytes = dtype_bytes(request.dtype);
  if (layout.has_basis_strides)
    return refuse("has basis strides; it must return offsets", layout.rank());
  if (layout.offset != 0) return refuse("does not begin at 0", layout.offset);
  if (layout.rank() != request.rank)
    return refuse("has another rank than the tensor", layout.rank());
  if (!layout.swizzle.is_identity() && swizzle_of(layout.swizzle, bytes) != request.swizzle)
    return refuse("has another swizzle than the one asked for", layout.swizzle.bits);

  int64_t strides[2 * kMaxTileRank] = {};
  shape->factors = 0;
  for (int32_t mode = 0; mode < request.rank; ++mode)
    TW_TRY(add_mode(request, mode, shape, strides));
  // Sort by stride.
  for (int32_t i = 1; i < shape->factors; ++i)
    for (int32_t j = i; j > 0 && strides[j] < strides[j - 1]; --j) {
      std::swap(strides[j], strides[j - 1]);
      std::swap(shape->factor[j], shape->factor[j - 1]);
    }
  int64_t next = 1;
  for (int32_t i = 0; i < shape->factors; ++i) {
    if (strides[i] != next)
      return refuse("has gaps or overlaps, which a box cannot have; stride", strides[i]);
    next *= shape->factor[i].extent;
    // Rows narrower than the swizzle are one swizzle width apart.
    if (i == 0) next = std::max<int64_t>(next, swizzle_span(request.swizzle) / bytes);
  }
  add_unit_factors(shape);
  return {};
}

}  // namespace tw
