// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "base/checked.hpp"
#include "tensor_map/geometry.hpp"
#include "tensor_map/tile/tile_map.hpp"

namespace tw {
namespace {

Wide floor_div(Wide a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

Status check_start(const TileMap& map, int32_t mode, int64_t start) {
  if (start % map.aligned[mode] != 0)
    return fail(Code::ERROR_MISALIGNED,
                {.argument = "start", .index = mode, .got = start, .limit = map.aligned[mode]},
                "start[%d] is %lld: tiles of this map begin at multiples of %lld there (ask for a "
                "free start "
                "to have any)",
                mode, static_cast<long long>(start), static_cast<long long>(map.aligned[mode]));
  if (map.inside[mode] != 0 && (start < 0 || start >= map.inside[mode]))
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "start", .index = mode, .got = start, .limit = map.inside[mode] - 1},
        "start[%d] is %lld: tiles of this map begin inside the tensor there, from 0 to %lld", mode,
        static_cast<long long>(start), static_cast<long long>(map.inside[mode] - 1));
  return {};
}

Status no_box(int32_t index, int32_t boxes) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "index", .got = index, .limit = boxes - 1},
              "index is %d: a tile of this map has the boxes 0 to %d", index, boxes - 1);
}

Status out_of_reach(int32_t dimension, Wide at) {
  const auto got = static_cast<int64_t>(std::clamp<Wide>(at, INT64_MIN, INT64_MAX));
  const std::string number = got == at ? std::to_string(got) : "beyond 64 bits";
  return fail(Code::ERROR_OVERFLOW, {.argument = "start", .got = got, .limit = INT32_MAX},
              "coordinate %d of the box is %s: the hardware's are signed 32-bit numbers; move the "
              "base address",
              dimension, number.c_str());
}

// Coordinates as the instruction takes them.
Status narrow(const TensorMapDesc& desc, const Wide* at, int32_t* coord) {
  const int32_t elements = static_cast<int32_t>(kCoordinateBytes) / dtype_bytes(desc.dtype);
  for (int32_t d = 0; d < desc.rank; ++d) {
    if (at[d] < INT32_MIN || at[d] > INT32_MAX) return out_of_reach(d, at[d]);
    coord[d] = static_cast<int32_t>(at[d]);
  }
  if (!is_packed(desc.dtype) && coord[0] % elements != 0)
    return fail(Code::ERROR_MISALIGNED, {.argument = "start", .got = coord[0], .limit = elements},
                "start gives the box %d for its coordinate 0, which counts elements of %d bytes: "
                "the copy engine wants a multiple of 16 bytes there, %d elements",
                coord[0], dtype_bytes(desc.dtype), elements);
  return {};
}

}  // namespace

Status whole_box(const TensorMapDesc& desc, const int64_t* start, int32_t index, int32_t* coord) {
  if (index != 0) return no_box(index, 1);
  Wide at[5];  // innermost first
  for (int32_t d = 0; d < desc.rank; ++d) at[d] = start[desc.rank - 1 - d];
  return narrow(desc, at, coord);
}

bool plain_dim(const TileMap& map, int32_t dimension) {
  int32_t parts = 0;
  int32_t mode = -1;
  for (int32_t i = 0; i < map.parts; ++i)
    if (map.part[i].dim == dimension) {
      ++parts;
      mode = map.part[i].mode;
    }
  for (int32_t i = 0; i < map.parts; ++i)
    if (map.part[i].mode == mode && map.part[i].dim != dimension) ++parts;
  return parts == 1;
}

void resize_dim(TileMap* map, int32_t dimension, uint64_t extent) {
  map->desc.global_dim[dimension] = extent;
  Layout& layout = map->coordinates;
  for (int leaf = 0; leaf < layout.leaves(); ++leaf)
    if (layout.basis[leaf] == basis_inner(0, 0, dimension))
      layout.shape.value[leaf] = static_cast<int64_t>(extent);
}

Status tile_box(const TileMap& map, const int64_t* start, int32_t index, int32_t* coord,
                uint32_t* shared_offset) {
  if (index < 0 || index >= map.boxes) return no_box(index, map.boxes);
  for (int32_t mode = 0; mode < map.rank; ++mode) TW_TRY(check_start(map, mode, start[mode]));
  Wide at[5] = {};  // a start may be any 64-bit number, and is multiplied
  for (int32_t i = 0; i < map.parts; ++i) {
    const TileMap::Part& part = map.part[i];
    const Wide steps = floor_div(Wide{start[part.mode]} * part.scale, part.divide);
    at[part.dim] += part.modulo == 0 ? steps : steps - floor_div(steps, part.modulo) * part.modulo;
  }
  int32_t rest = index;
  for (int32_t i = 0; i < map.loops; ++i) {
    const TileMap::Loop& loop = map.loop[i];
    at[loop.dim] += int64_t{rest % loop.count} * loop.step;
    rest /= loop.count;
  }
  TW_TRY(narrow(map.desc, at, coord));
  *shared_offset = static_cast<uint32_t>(index) * static_cast<uint32_t>(box_span_bytes(map.desc));
  return {};
}

}  // namespace tw
