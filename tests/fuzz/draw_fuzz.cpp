// SPDX-License-Identifier: Apache-2.0
// Draws arbitrary layouts: each call must draw or refuse, quickly and without a fault. An input is
// text of up to four lines: two layouts, a tile's shape and a tile's coordinate. For small tiles
// the number of elements without a thread is checked.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright.h"

namespace {

void require(bool good) {
  if (!good) std::abort();
}

struct Input {
  tw_layout* first = nullptr;
  tw_layout* second = nullptr;
  tw_tuple* tile = nullptr;
  tw_tuple* coord = nullptr;

  explicit Input(const std::string& text) {
    size_t at = 0;
    const auto line = [&] {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string out = text.substr(at, end - at);
      at = std::min(end + 1, text.size());
      return out;
    };
    (void)tw_layout_parse(line().c_str(), &first);
    (void)tw_layout_parse(line().c_str(), &second);
    (void)tw_tuple_parse(line().c_str(), &tile);
    (void)tw_tuple_parse(line().c_str(), &coord);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    tw_layout_destroy(first);
    tw_layout_destroy(second);
    tw_tuple_destroy(tile);
    tw_tuple_destroy(coord);
  }
};

/// The picture that `draw` writes; empty if it is refused.
template <class Draw>
std::string_view picture(Draw draw) {
  static std::vector<char> buffer(size_t{1} << 24);
  size_t length = 0;
  const tw_status status = draw(buffer.data(), buffer.size(), &length);
  if (status != TW_OK) {
    require(status == TW_ERROR_INVALID_ARGUMENT || status == TW_ERROR_UNSUPPORTED ||
            status == TW_ERROR_OVERFLOW);
    require(tw_last_error()[0] != '\0');
    return {};
  }
  const std::string_view svg(buffer.data(), length - 1);
  require(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && buffer[length - 1] == '\0');
  return svg;
}

int64_t size_of(const tw_layout* layout) {
  int64_t size = 0;
  require(tw_layout_size(layout, &size) == TW_OK);
  return size;
}

void draw_layout(const Input& in, size_t length) {
  const auto paint = static_cast<tw_paint>(length % 3);
  const auto bits = static_cast<int32_t>(1 + length % 64);
  require(!picture([&](char* buffer, size_t capacity, size_t* needed) {
             return tw_layout_draw(in.first, paint, bits, buffer, capacity, needed);
           }).empty());
}

void draw_tv(const Input& in) {
  if (!in.tile) return;
  const std::string_view svg = picture([&](char* buffer, size_t capacity, size_t* needed) {
    return tw_layout_draw_tv(in.first, in.tile, buffer, capacity, needed);
  });
  int64_t elements = 0;
  const int64_t pairs = size_of(in.first);
  if (svg.empty() || pairs > 4096 || tw_tuple_product(in.tile, &elements) != TW_OK ||
      elements > 128)
    return;
  std::vector<bool> held(static_cast<size_t>(elements));
  for (int64_t pair = 0; pair < pairs; ++pair) {
    int64_t element = 0;
    require(tw_layout_crd2idx(in.first, &pair, 1, &element) == TW_OK);
    if (element >= 0 && element < elements) held[static_cast<size_t>(element)] = true;
  }
  int64_t grey = 0;
  for (size_t at = 0; (at = svg.find("#eeeeee", at)) != svg.npos; ++at) ++grey;
  for (const bool one : held) grey -= !one;
  require(grey == 0);
}

void draw_boxes(const Input& in) {
  if (!in.second) return;
  int64_t box[TW_LAYOUT_MAX_LEAVES], values[TW_LAYOUT_MAX_LEAVES] = {};
  int32_t count = 0;
  if (in.tile) (void)tw_tuple_values(in.tile, values, TW_LAYOUT_MAX_LEAVES, &count);
  for (int i = 0; i < TW_LAYOUT_MAX_LEAVES; ++i) box[i] = i < count ? values[i] : 1;
  const auto draw = [&](const tw_layout* boxes) {
    return picture([&](char* buffer, size_t capacity, size_t* needed) {
      return tw_layout_draw_boxes(in.first, box, boxes, buffer, capacity, needed);
    });
  };
  (void)draw(in.second);
  if (!in.tile || !in.coord) return;
  tw_layout *boxes = nullptr, *slots = nullptr;
  if (tw_layout_partition_tma(in.first, in.second, in.tile, in.coord, 1, 0, box,
                              TW_LAYOUT_MAX_LEAVES, &boxes, &slots) == TW_OK)
    require(!draw(boxes).empty() ||
            std::string_view(tw_last_error()).find("64 bits") != std::string_view::npos);
  tw_layout_destroy(boxes);
  tw_layout_destroy(slots);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Input in(std::string(reinterpret_cast<const char*>(data), size));
  if (!in.first) return 0;
  draw_layout(in, size);
  draw_tv(in);
  draw_boxes(in);
  return 0;
}
