// SPDX-License-Identifier: Apache-2.0
// C API: tensor maps made for tiles, their boxes and coordinates, and rebinding.
#include <algorithm>

#include "base/checked.hpp"
#include "capi/common/boundary.hpp"
#include "capi/layout/layout_handle.hpp"
#include "capi/tensor_map/tensor_map_desc.hpp"
#include "tensor_map/driver_faults.hpp"
#include "tensor_map/rebind.hpp"
#include "tensor_map/rules/check.hpp"
#include "tensor_map/tile/tile_map.hpp"

using namespace tw;        // NOLINT
using namespace tw::capi;  // NOLINT

namespace {

tw_tile_desc tile_defaults() {
  tw_tile_desc desc{};
  desc.dtype = TW_DTYPE_BF16;
  desc.multicast = 1;
  unset(desc.shape);
  unset(desc.stride);
  unset(desc.tile);
  return desc;
}

Status read_request(const tw_tile_desc* desc, TileRequest* out) {
  tw_tile_desc in = tile_defaults();
  TW_TRY(read_struct(desc, "desc", &in));
  TW_TRY(check_reserved("desc", "reserved", in.reserved));
  TW_TRY(check_dimensions("shape", in.shape, in.rank));
  TW_TRY(check_dimensions("stride", in.stride, in.rank));
  TW_TRY(check_dimensions("tile", in.tile, in.rank));
  out->dtype = static_cast<DType>(in.dtype);
  out->rank = in.rank;
  out->swizzle = static_cast<Swizzle>(in.swizzle);
  out->l2_promotion = static_cast<L2Promotion>(in.l2_promotion);
  out->oob_fill = static_cast<OobFill>(in.oob_fill);
  out->multicast = in.multicast;
  out->free_start = in.free_start;
  out->address = in.global_address;
  const int32_t rank = std::clamp(in.rank, 0, 8);
  std::copy_n(in.shape, rank, out->shape);
  std::copy_n(in.stride, rank, out->stride);
  std::copy_n(in.tile, rank, out->tile);
  return Code::OK;
}

// Refuses a map whose extents multiply to more than 63 bits, the largest size of a layout.
Status check_countable(const TensorMapDesc& desc) {
  int64_t count = 1;
  for (int32_t i = 0; i < desc.rank; ++i) {
    const int64_t before = count;
    if (!checked_mul(before, static_cast<int64_t>(desc.global_dim[i]), &count))
      return fail(Code::ERROR_OVERFLOW,
                  {.argument = "map",
                   .index = i,
                   .got = static_cast<int64_t>(desc.global_dim[i]),
                   .limit = INT64_MAX / before},
                  "the map has more elements than a layout can have, 2^63 - 1: with the extents "
                  "before it, global_dim[%d] can be at most %lld, but is %llu",
                  i, static_cast<long long>(INT64_MAX / before),
                  static_cast<unsigned long long>(desc.global_dim[i]));
  }
  return {};
}

// Refuses a changed description of the map if it breaks a rule.
Status check_change(const tw_tensor_map& map, const TensorMapDesc& desc) {
  Violations broken;
  check_all(desc, arch_of(map.device()), &broken);
  return broken.count == 0 ? Status() : report(desc, arch_of(map.device()), broken);
}

}  // namespace

tw_status tw_tile_desc_init(tw_tile_desc* desc, size_t size) {
  return guard([&]() -> Status { return init_struct(desc, size, "desc", tile_defaults()); });
}

tw_status tw_tensor_map_create_tile(tw_device* device, const tw_tile_desc* desc,
                                    const tw_layout* shared, tw_tensor_map** map) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(map, "map"));
    TW_TRY(usable(device, "device"));
    TW_TRY(require_unless_null(shared, "shared"));
    TileRequest request;
    TW_TRY(read_request(desc, &request));
    request.shared = shared ? shared->value.get() : nullptr;
    request.arch = arch_of(*device->value);
    auto value = std::make_unique<TensorMapValue>();
    value->tile = std::make_unique<TileMap>();
    TW_TRY(make_tile_map(request, value->tile.get()));
    value->owner = device->value;
    value->desc = value->tile->desc;
    TW_TRY(device->value->encode(value->desc, &value->bytes));
    *map = new tw_tensor_map{std::move(value)};
    return Code::OK;
  });
}

tw_status tw_tensor_map_boxes(const tw_tensor_map* map, int32_t* boxes) {
  return guard(map, [&]() -> Status {
    TW_TRY(clear_output(boxes, "boxes"));
    TW_TRY(usable(map, "map"));
    *boxes = map->value->tile ? map->value->tile->boxes : 1;
    return Code::OK;
  });
}

tw_status tw_tensor_map_box(const tw_tensor_map* map, const int64_t* start, int32_t index,
                            int32_t* coord, uint64_t* shared_offset) {
  return guard(map, [&]() -> Status {
    TW_TRY(clear_output(shared_offset, "shared_offset"));
    TW_TRY(require(coord, "coord"));
    TW_TRY(usable(map, "map"));
    TW_TRY(require(start, "start"));
    int32_t at[5] = {};
    uint32_t offset = 0;
    if (map->value->tile)
      TW_TRY(tile_box(*map->value->tile, start, index, at, &offset));
    else
      TW_TRY(plain_map_box(map->value->desc, start, index, at));
    std::copy_n(at, 5, coord);
    *shared_offset = offset;
    return Code::OK;
  });
}

tw_status tw_tensor_map_coordinates(const tw_tensor_map* map, tw_layout** layout) {
  return guard(map, [&]() -> Status {
    TW_TRY(clear_output(layout, "layout"));
    TW_TRY(usable(map, "map"));
    auto handle = new_handle<tw_layout>();
    const TensorMapDesc& desc = map->value->desc;
    int64_t extents[5];  // outermost first, as a layout has them
    for (int32_t i = 0; i < desc.rank; ++i)
      extents[i] = static_cast<int64_t>(desc.global_dim[desc.rank - 1 - i]);
    TW_TRY(check_countable(desc));
    if (map->value->tile)
      *handle->value = map->value->tile->coordinates;
    else
      TW_TRY(make_coordinate_tensor(desc.rank, extents, handle->value.get()));
    *layout = handle.release();
    return Code::OK;
  });
}

tw_status tw_tensor_map_rebind(tw_tensor_map* map, uint64_t global_address) {
  return guard(map, [&]() -> Status {
    TW_TRY(usable(map, "map"));
    const auto align = static_cast<uint64_t>(global_alignment(map->value->desc));
    if (global_address % align != 0 || global_address > static_cast<uint64_t>(kMaxAddress)) {
      TensorMapDesc desc = map->value->desc;
      desc.global_address = global_address;
      return check_change(*map, desc);
    }
    map->value->desc.global_address = global_address;
    rebind_address(&map->value->bytes, global_address);
    return Code::OK;
  });
}

tw_status tw_tensor_map_resize(tw_tensor_map* map, int32_t dimension, uint64_t extent) {
  return guard(map, [&]() -> Status {
    TW_TRY(usable(map, "map"));
    if (dimension < 0 || dimension >= map->value->desc.rank)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "dimension", .got = dimension, .limit = map->value->desc.rank - 1},
                  "there is no dimension %d: the map has %d", dimension, map->value->desc.rank);
    if (map->value->desc.kind != MapKind::tiled ||
        (map->value->tile && !is_whole_mode(*map->value->tile, dimension)))
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "dimension", .got = dimension},
                  map->value->desc.kind != MapKind::tiled
                      ? "dimension %d cannot be resized: the map is an im2col map; make a new one"
                      : "dimension %d cannot be resized: the map splits or merges modes there; "
                        "make a new one",
                  dimension);
    TensorMapDesc desc = map->value->desc;
    desc.global_dim[dimension] = extent;
    TW_TRY(check_change(*map, desc));
    map->value->desc.global_dim[dimension] = extent;
    if (map->value->tile) resize_dim(map->value->tile.get(), dimension, extent);
    rebind_dim(&map->value->bytes, dimension, extent);
    rebind_span(map->value->desc, arch_of(map->device()), &map->value->bytes);
    return Code::OK;
  });
}
