// SPDX-License-Identifier: Apache-2.0
// A merge makes one dimension of the map from adjacent modes. A split cuts a mode into pieces and
// makes two dimensions from it: the position in a piece, and the index of the piece. If the request
// has a layout of shared memory, modes are not merged, and a split can make more than two
// dimensions, because the layout can divide pieces into smaller pieces.
//
// make_tile_map() tries all merges and splits and keeps the map with the fewest boxes. Among maps
// with equally many boxes, it prefers fewer merges, and then a lower rank.
//
// An axis is one mode, or several merged modes. The tile's extent along an axis is a product of
// factors (tile_axes.hpp). The first factor of each axis becomes a dimension of the map, in which
// the box has that extent. If the axis is split, its other factors become dimensions as well. If
// not, they become loops, because the tile then takes several boxes along the axis.
#include "tensor_map/tile/tile_map.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/checked.hpp"
#include "tensor_map/geometry.hpp"
#include "tensor_map/rules/check.hpp"
#include "tensor_map/tile/tile_axes.hpp"
#include "tensor_map/tile/tile_build.hpp"

namespace tw {
namespace {

using ll = long long;

// The largest shared memory of a block on sm_90 and sm_100 (227 KiB).
constexpr int64_t kMaxTileBytes = 232448;
constexpr int32_t kMaxClusterBlocks = 16;
constexpr auto kMaxSwizzle = static_cast<int32_t>(Swizzle::b128_atom_64b);

// Fails if a mode's byte offsets exceed 63 bits. The error names the extent or the stride,
// whichever is larger.
Status check_span(const TileRequest& request, int32_t mode) {
  const int64_t shape = request.shape[mode];
  const int64_t stride = request.stride[mode];
  const int64_t bytes = dtype_bytes(request.dtype);
  int64_t span = 0;
  if (checked_mul(stride, bytes, &span) && checked_mul(span, shape, &span)) return {};
  const bool names_shape = shape > stride;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = names_shape ? "shape" : "stride",
               .index = mode,
               .got = names_shape ? shape : stride,
               .limit = INT64_MAX / bytes / (names_shape ? stride : shape)},
              "shape[%d] of %lld and stride[%d] of %lld elements of %lld bytes span more than the "
              "2^63 - 1 bytes that can be counted",
              mode, static_cast<ll>(shape), mode, static_cast<ll>(stride), static_cast<ll>(bytes));
}

Status check_mode(const TileRequest& request, int32_t mode) {
  const int64_t shape = request.shape[mode];
  const int64_t tile = request.tile[mode];
  const int64_t stride = request.stride[mode];
  if (shape < 1)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "shape", .index = mode, .got = shape, .limit = 1},
                "shape[%d] is %lld: an extent is at least 1", mode, static_cast<ll>(shape));
  if (tile < 1)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "tile", .index = mode, .got = tile, .limit = 1},
                "tile[%d] is %lld: a tile has at least one element along each mode", mode,
                static_cast<ll>(tile));
  if (shape == 1 && tile != 1)
    return fail(
        Code::ERROR_INVALID_ARGUMENT, {.argument = "tile", .index = mode, .got = tile, .limit = 1},
        "tile[%d] is %lld: it must be 1 along a mode of extent 1", mode, static_cast<ll>(tile));
  if (stride < 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "stride", .index = mode, .got = stride, .limit = 0},
                "stride[%d] is %lld elements: a tensor map's strides are not negative; give the "
                "address of the mode's other end and the stride without its sign",
                mode, static_cast<ll>(stride));
  return check_span(request, mode);
}

Status check_request(const TileRequest& request) {
  if (request.rank < 1 || request.rank > kMaxTileRank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "rank", .got = request.rank, .limit = kMaxTileRank},
                "rank is %d: a tensor has 1 to %d modes", request.rank, kMaxTileRank);
  if (dtype_tensor_map_type(request.dtype) < 0 || is_packed(request.dtype))
    return fail(is_dtype(static_cast<int32_t>(request.dtype)) ? Code::ERROR_UNSUPPORTED
                                                              : Code::ERROR_INVALID_ARGUMENT,
                {.argument = "dtype", .got = static_cast<int64_t>(request.dtype)},
                "tile maps do not support dtype %d", static_cast<int>(request.dtype));
  if (request.multicast < 1 || request.multicast > kMaxClusterBlocks)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "multicast", .got = request.multicast, .limit = kMaxClusterBlocks},
                "multicast is %d: a cluster has 1 to %d blocks", request.multicast,
                kMaxClusterBlocks);
  if (request.free_start >> request.rank != 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "free_start",
                 .got = request.free_start,
                 .limit = (int64_t{1} << request.rank) - 1},
                "free_start is 0x%x: a tensor of rank %d has only modes 0 to %d, so no higher bit "
                "may be set",
                request.free_start, request.rank, request.rank - 1);
  const auto swizzle = static_cast<int32_t>(request.swizzle);
  if (swizzle < 0 || swizzle > kMaxSwizzle)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "swizzle", .got = swizzle, .limit = kMaxSwizzle},
                "swizzle is %d: it must be 0 to %d", swizzle, kMaxSwizzle);
  int64_t elements = 1;
  int64_t tile_bytes = dtype_bytes(request.dtype);
  for (int32_t mode = 0; mode < request.rank; ++mode) {
    TW_TRY(check_mode(request, mode));
    if (!checked_mul(elements, request.shape[mode], &elements))
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "shape", .index = mode, .got = request.shape[mode]},
                  "shape[0] to shape[%d] multiply to more elements than 63 bits can count", mode);
    if (!checked_mul(tile_bytes, request.tile[mode], &tile_bytes) || tile_bytes > kMaxTileBytes)
      return fail(
          Code::ERROR_INVALID_ARGUMENT,
          {.argument = "tile",
           .index = mode,
           .got = request.tile[mode],
           .limit = static_cast<int64_t>(kMaxTileBytes)},
          "tile[0] to tile[%d] make a tile of more than %lld bytes, which is all the shared "
          "memory that a block can have",
          mode, static_cast<ll>(kMaxTileBytes));
  }
  return {};
}

struct Best {
  bool found = false;        // a valid map was built
  bool any_invalid = false;  // a map that breaks a rule was built
  int32_t merge_count = 0;
  TileMap map;  // the best map; the first invalid one as long as no valid one is found
};

// Replaces *best by `map` if that is better.
void consider(const TileRequest& request, const TileMap& map, int32_t merge_count, Best* best) {
  Violations violations;
  check_all(map.desc, request.arch, &violations);
  if (violations.count != 0) {
    if (!best->any_invalid && !best->found) best->map = map;
    best->any_invalid = true;
    return;
  }
  const bool better = !best->found || map.boxes < best->map.boxes ||
                      (map.boxes == best->map.boxes &&
                       (merge_count < best->merge_count ||
                        (merge_count == best->merge_count && map.desc.rank < best->map.desc.rank)));
  if (!better) return;
  best->found = true;
  best->merge_count = merge_count;
  best->map = map;
}

Status search(const TileRequest& request, Best* best) {
  Status first_failure;
  TileMap map;
  // Bit i of the mask `merge_mask` merges axis i + 1 into axis i (make_axes()). A layout of shared
  // memory describes the modes of the request, so these cannot be merged.
  const uint32_t mask_end = request.shared ? 1u : 1u << (kMaxTileRank - 1);
  for (uint32_t merge_mask = 0; merge_mask < mask_end; ++merge_mask) {
    TileShape shape;
    if (!make_axes(request, merge_mask, &shape)) continue;
    // make_axes() ignores some modes of extent 1. If it keeps N modes, only bits 0 to N - 2 of the
    // mask have an effect, so masks from 2^(N-1) on only repeat earlier maps. N is at most the
    // number of axes plus the number of bits that are set, because each bit with an effect merges
    // two axes. The loop ends at 2 to the power of this sum. Until then it may repeat maps, which
    // consider() does not choose: bits without an effect count as merges, and fewer merges win.
    const int32_t merge_count = std::popcount(merge_mask);
    if (merge_mask >> (shape.axes + merge_count) != 0) break;
    const Status status =
        request.shared ? factors_of_layout(request, &shape) : make_factors(request, &shape);
    if (!status.ok()) {
      if (request.shared) return status;
      if (first_failure.ok()) first_failure = status;
      continue;
    }
    for (uint32_t splits = 0; splits < 1u << shape.axes; ++splits) {
      // Splitting an axis that has only one factor would change nothing.
      bool has_factors = true;
      for (int32_t a = 0; a < shape.axes; ++a)
        has_factors &= (splits >> a & 1) == 0 || shape.factors_of(a) > 1;
      if (has_factors && build_tile_map(request, shape, splits, &map))
        consider(request, map, merge_count, best);
    }
  }
  return best->found || best->any_invalid ? Status() : first_failure;
}

}  // namespace

namespace {

// Fails unless one mode is contiguous. Strides in bytes instead of elements are a frequent mistake.
Status check_unit_stride(const TileRequest& request) {
  int32_t closest = 0;
  for (int32_t i = 0; i < request.rank; ++i) {
    if (request.stride[i] == 1) return {};
    if (request.stride[i] < request.stride[closest]) closest = i;
  }
  const int64_t least = request.stride[closest];
  return fail(Code::ERROR_RULE,
              {.argument = "stride",
               .index = closest,
               .rule = "tile_unit_stride",
               .got = least,
               .limit = 1},
              "stride[%d] is %lld, and no stride is smaller: one mode must have stride 1%s",
              closest, static_cast<long long>(least),
              least == dtype_bytes(request.dtype)
                  ? "; these strides look like bytes, and they are counted in elements"
                  : ", in elements, since the TMA reads a contiguous innermost dimension");
}

}  // namespace

Status make_tile_map(const TileRequest& request, TileMap* out) {
  TW_TRY(check_request(request));
  TW_TRY(check_unit_stride(request));
  Best best;
  TW_TRY(search(request, &best));
  if (best.found) {
    *out = best.map;
    return {};
  }
  if (best.any_invalid)
    return fail_context(check(best.map.desc, request.arch), "the first map that was tried");
  return fail(
      Code::ERROR_RULE, {.argument = "rank", .rule = "tile_map", .got = request.rank, .limit = 5},
      "no tensor map can move this tile: its %d modes must merge into at most 5 dimensions%s",
      request.rank,
      request.multicast > 1 ? ", and its boxes must divide evenly among the blocks of the multicast"
                            : "");
}

namespace {

// a / b, rounded down. Wide is a 128-bit integer; b is positive.
Wide floor_div(Wide a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

Status check_start(const TileMap& map, int32_t mode, int64_t start) {
  if (start % map.aligned[mode] != 0)
    return fail(Code::ERROR_MISALIGNED,
                {.argument = "start", .index = mode, .got = start, .limit = map.aligned[mode]},
                "start[%d] is %lld: it must be a multiple of %lld with this map (request a free "
                "start to allow any)",
                mode, static_cast<long long>(start), static_cast<long long>(map.aligned[mode]));
  if (map.start_limit[mode] != 0 && (start < 0 || start >= map.start_limit[mode]))
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "start", .index = mode, .got = start, .limit = map.start_limit[mode] - 1},
        "start[%d] is %lld: along this mode, tiles of this map must begin at 0 to %lld", mode,
        static_cast<long long>(start), static_cast<long long>(map.start_limit[mode] - 1));
  return {};
}

Status refuse_box_index(int32_t index, int32_t boxes) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "index", .got = index, .limit = boxes - 1},
              "index is %d: a tile of this map has boxes 0 to %d", index, boxes - 1);
}

Status refuse_coordinate(int32_t dimension, Wide coordinate) {
  const auto got = static_cast<int64_t>(std::clamp<Wide>(coordinate, INT64_MIN, INT64_MAX));
  const std::string number = got == coordinate ? std::to_string(got) : "beyond 64 bits";
  return fail(Code::ERROR_OVERFLOW, {.argument = "start", .got = got, .limit = INT32_MAX},
              "coordinate %d of the box is %s, but the hardware takes signed 32-bit numbers: move "
              "the base address",
              dimension, number.c_str());
}

// Converts coordinates to the 32-bit ones that a TMA instruction takes.
Status to_instruction(const TensorMapDesc& desc, const Wide* at, int32_t* coord) {
  const int32_t elements = static_cast<int32_t>(kCoordinateBytes) / dtype_bytes(desc.dtype);
  for (int32_t d = 0; d < desc.rank; ++d) {
    if (at[d] < INT32_MIN || at[d] > INT32_MAX) return refuse_coordinate(d, at[d]);
    coord[d] = static_cast<int32_t>(at[d]);
  }
  if (!is_packed(desc.dtype) && coord[0] % elements != 0)
    return fail(Code::ERROR_MISALIGNED, {.argument = "start", .got = coord[0], .limit = elements},
                "with this start, coordinate 0 of the box is %d elements of %d bytes: the TMA "
                "needs a multiple of 16 bytes, which is %d elements",
                coord[0], dtype_bytes(desc.dtype), elements);
  return {};
}

}  // namespace

Status plain_map_box(const TensorMapDesc& desc, const int64_t* start, int32_t index,
                     int32_t* coord) {
  if (index != 0) return refuse_box_index(index, 1);
  Wide at[5];  // innermost first
  for (int32_t d = 0; d < desc.rank; ++d) at[d] = start[desc.rank - 1 - d];
  return to_instruction(desc, at, coord);
}

bool is_whole_mode(const TileMap& map, int32_t dimension) {
  // A merged dimension has one term for each of its modes, and a split mode has one term in each of
  // its dimensions. So count the terms of this dimension, and the terms of its mode in others.
  int32_t terms = 0;
  int32_t mode = -1;
  for (int32_t i = 0; i < map.terms; ++i)
    if (map.term[i].dim == dimension) {
      ++terms;
      mode = map.term[i].mode;
    }
  for (int32_t i = 0; i < map.terms; ++i)
    if (map.term[i].mode == mode && map.term[i].dim != dimension) ++terms;
  return terms == 1;
}

void resize_dim(TileMap* map, int32_t dimension, uint64_t extent) {
  map->desc.global_dim[dimension] = extent;
  // The leaf that belongs to the dimension has the dimension's basis element as its stride.
  Layout& layout = map->coordinates;
  for (int leaf = 0; leaf < layout.leaves(); ++leaf)
    if (layout.basis[leaf] == basis_inner(0, 0, dimension))
      layout.shape.value[leaf] = static_cast<int64_t>(extent);
}

Status tile_box(const TileMap& map, const int64_t* start, int32_t index, int32_t* coord,
                uint32_t* shared_offset) {
  if (index < 0 || index >= map.boxes) return refuse_box_index(index, map.boxes);
  for (int32_t mode = 0; mode < map.rank; ++mode) TW_TRY(check_start(map, mode, start[mode]));
  Wide at[5] = {};  // 128 bits, because a start can be any 64-bit number, which is then multiplied
  for (int32_t i = 0; i < map.terms; ++i) {
    const TileMap::CoordinateTerm& term = map.term[i];
    const Wide steps = floor_div(Wide{start[term.mode]} * term.scale, term.divide);
    // The modulo is never negative, even if `steps` is.
    at[term.dim] += term.modulo == 0 ? steps : steps - floor_div(steps, term.modulo) * term.modulo;
  }
  // The index counts the iterations of the nested loops, of which the first one is innermost.
  int32_t rest = index;
  for (int32_t i = 0; i < map.loops; ++i) {
    const TileMap::Loop& loop = map.loop[i];
    at[loop.dim] += int64_t{rest % loop.count} * loop.step;
    rest /= loop.count;
  }
  TW_TRY(to_instruction(map.desc, at, coord));
  *shared_offset = static_cast<uint32_t>(index) * static_cast<uint32_t>(box_span_bytes(map.desc));
  return {};
}

}  // namespace tw
