// SPDX-License-Identifier: Apache-2.0
// Checks, repairs, encodes, decodes, explains and draws arbitrary tensor-map descriptions and
// arbitrary 128 bytes, without a fault. Accepted descriptions survive encoding and decoding,
// refusals give a reason, proposals are accepted. The boxes of any start, however far away, lie
// where the coordinate tensor says, or are refused.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "edits.hpp"
#include "tilewright.h"

using namespace tw::fuzz;

namespace {

void require(bool good) {
  if (!good) std::abort();
}

tw_device* host() {
  static tw_device* device = [] {
    tw_device* opened = nullptr;
    require(tw_device_create(TW_DEVICE_HOST, 0, &opened) == TW_OK);
    return opened;
  }();
  return device;
}

constexpr tw_arch kArchs[] = {TW_ARCH_SM_90, TW_ARCH_SM_100, TW_ARCH_SM_103, TW_ARCH_SM_120};

tw_tensor_map_desc blank() {
  tw_tensor_map_desc desc;
  require(tw_tensor_map_desc_init(&desc, sizeof desc) == TW_OK);
  return desc;
}

void draw(const tw_tensor_map* map) {
  static std::vector<char> svg(size_t{1} << 20);
  size_t length = 0;
  require(tw_tensor_map_draw(map, svg.data(), svg.size(), &length) == TW_OK);
  const std::string_view text(svg.data(), length - 1);
  require(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
}

void use(const tw_tensor_map* map) {
  char text[4096];
  size_t length = 0;
  (void)tw_tensor_map_explain(map, text, sizeof text, &length);
  draw(map);
  tw_layout* layout = nullptr;
  if (tw_tensor_map_coordinates(map, &layout) == TW_OK) tw_layout_destroy(layout);
}

// For a tile that begins inside the tensor, the first box begins where the coordinate tensor says.
void check_first_box(const tw_tensor_map* map, const int64_t* start, const int32_t* coord) {
  tw_layout* layout = nullptr;
  if (tw_tensor_map_coordinates(map, &layout) != TW_OK) return;
  int32_t rank = 0, written = 0;
  int64_t at[TW_LAYOUT_MAX_LEAVES];
  require(tw_layout_rank(layout, &rank) == TW_OK);
  if (tw_layout_crd2crd(layout, start, rank, at, TW_LAYOUT_MAX_LEAVES, &written) == TW_OK)
    for (int32_t d = 0; d < written && d < 5; ++d) require(at[d] == coord[d]);
  tw_layout_destroy(layout);
}

void boxes(const tw_tensor_map* map, Bytes* in) {
  int32_t count = 0, coord[5];
  uint64_t offset = 0;
  int64_t start[8];
  for (int64_t& number : start) number = in->number();
  require(tw_tensor_map_boxes(map, &count) == TW_OK && count > 0);
  const int32_t index = in->byte() % count;
  const tw_status status = tw_tensor_map_box(map, start, index, coord, &offset);
  require(status == TW_OK || status == TW_ERROR_OVERFLOW || status == TW_ERROR_MISALIGNED ||
          status == TW_ERROR_INVALID_ARGUMENT);
  if (status == TW_OK && index == 0) check_first_box(map, start, coord);
}

void describe(Bytes* in) {
  const tw_arch arch = kArchs[in->byte() % 4];
  tw_tensor_map_desc desc = blank();
  desc.global_address = 4096;
  desc.global_dim[0] = desc.global_dim[1] = 64;
  desc.global_stride_bytes[0] = 128;
  desc.box_dim[0] = desc.box_dim[1] = 8;
  edit(in, &desc, 12);
  int32_t count = -1;
  const tw_status checked = tw_tensor_map_check(&desc, arch, nullptr, 0, &count);
  require(checked != TW_ERROR_INTERNAL);
  if (checked == TW_ERROR_RULE) {
    require(count > 0 && tw_last_error()[0] != '\0');
    tw_tensor_map_desc proposed = blank();
    if (tw_tensor_map_propose(&desc, arch, &proposed) == TW_OK)
      require(tw_tensor_map_check(&proposed, arch, nullptr, 0, nullptr) == TW_OK);
  }
  unsigned char bytes[128], again[128];
  const tw_status encoded = tw_tensor_map_encode(&desc, arch, bytes);
  require((encoded == TW_OK) <= (checked == TW_OK));
  if (encoded == TW_OK) {
    tw_tensor_map_desc back = blank();
    // The library decodes its own maps to the same map.
    if (tw_tensor_map_decode(bytes, &back) == TW_OK &&
        tw_tensor_map_encode(&back, arch, again) == TW_OK)
      require(std::memcmp(bytes, again, sizeof bytes) == 0);
  }
  tw_tensor_map* map = nullptr;
  if (tw_tensor_map_create(host(), &desc, &map) == TW_OK) {
    use(map);
    boxes(map, in);
    (void)tw_tensor_map_rebind(map, static_cast<uint64_t>(in->number()));
    (void)tw_tensor_map_resize(map, in->byte() % 6 - 1, static_cast<uint64_t>(in->number()));
  }
  tw_tensor_map_destroy(map);
}

void decode(Bytes* in) {
  unsigned char bytes[128] = {}, again[128];
  std::memcpy(bytes, in->rest(), in->rest_size() < 128 ? in->rest_size() : 128);
  tw_tensor_map_desc desc = blank();
  if (tw_tensor_map_decode(bytes, &desc) == TW_OK &&
      tw_tensor_map_encode(&desc, TW_ARCH_SM_90, again) == TW_OK) {
    tw_tensor_map_desc back = blank();
    require(tw_tensor_map_decode(again, &back) == TW_OK);
  }
}

// Contiguous modes: with more than five, some must be merged.
void make_deep(tw_tile_desc* desc) {
  constexpr int64_t kShape[] = {8, 4, 2, 2, 2, 64};
  desc->rank = 6;
  int64_t stride = 1;
  for (int k = 5; k >= 0; stride *= kShape[k--]) {
    desc->shape[k] = kShape[k];
    desc->stride[k] = stride;
    desc->tile[k] = k == 0 ? 2 : kShape[k];
  }
}

void tile(Bytes* in, bool deep) {
  tw_tile_desc desc;
  require(tw_tile_desc_init(&desc, sizeof desc) == TW_OK);
  desc.global_address = 4096;
  desc.rank = 2;
  desc.shape[0] = desc.shape[1] = desc.stride[0] = 256;
  desc.stride[1] = 1;
  desc.tile[0] = desc.tile[1] = 64;
  if (deep) make_deep(&desc);
  edit(in, &desc, 12);
  tw_tensor_map* map = nullptr;
  if (tw_tensor_map_create_tile(host(), &desc, nullptr, &map) != TW_OK) {
    require(map == nullptr && tw_last_error()[0] != '\0');
    return;
  }
  use(map);
  boxes(map, in);
  tw_tensor_map_destroy(map);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes in(data, size);
  const uint8_t kind = in.byte();
  switch (kind % 4) {
    case 0:
      decode(&in);
      break;
    case 1:
      tile(&in, kind >= 128);
      break;
    default:
      describe(&in);
  }
  return 0;
}
