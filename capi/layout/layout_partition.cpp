// SPDX-License-Identifier: Apache-2.0
// C API: partitions among threads and TMA boxes, and drawings.
#include "layout/partition/partition.hpp"

#include <string>

#include "capi/layout/layout_handle.hpp"
#include "layout/draw/draw.hpp"
#include "layout/linear/linear.hpp"
#include "layout/partition/partition_tma.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

// The body of a drawing function. `picture(&svg)` makes the SVG.
template <class Picture>
Status write_drawing(char* buffer, size_t capacity, size_t* length, Picture&& picture) {
  std::string svg;
  TW_TRY(picture(&svg));
  return write_text(svg, buffer, capacity, length);
}

}  // namespace

tw_status tw_layout_partition_tv(const tw_layout* tensor, const tw_tuple* tile, const tw_layout* tv,
                                 int64_t thread, tw_layout** out, int64_t* offset) {
  return guard([&]() -> Status {
    if (out) *out = nullptr;  // also if `offset` is refused
    TW_TRY(clear_output(offset, "offset"));
    TW_TRY(clear_output(out, "out"));
    TW_TRY(require(tensor, "tensor"));
    TW_TRY(require(tile, "tile"));
    TW_TRY(require(tv, "tv"));
    int64_t part_offset = 0;
    TW_TRY(make_handle(out, [&](Layout* value) {
      return partition_tv(*tensor->value, *tile->value, *tv->value, thread, value, &part_offset);
    }));
    *offset = part_offset;
    return Code::OK;
  });
}

tw_status tw_layout_partition_tma(const tw_layout* tensor, const tw_layout* smem,
                                  const tw_tuple* tile, const tw_tuple* coord, int64_t ctas,
                                  int64_t cta, int64_t* box, int32_t capacity, tw_layout** boxes,
                                  tw_layout** slots) {
  return guard([&]() -> Status {
    if (boxes) *boxes = nullptr;  // also if `slots` is refused
    TW_TRY(clear_output(slots, "slots"));
    TW_TRY(clear_output(boxes, "boxes"));
    TW_TRY(require(tensor, "tensor"));
    TW_TRY(require(smem, "smem"));
    TW_TRY(require(tile, "tile"));
    TW_TRY(require(coord, "coord"));
    TW_TRY(require(box, "box"));
    auto plan = std::make_unique<BoxPlan>();
    TW_TRY(partition_tma(*tensor->value, *smem->value, *tile->value, *coord->value, ctas, cta,
                         plan.get()));
    auto coords_handle = new_handle<tw_layout>(), slots_handle = new_handle<tw_layout>();
    TW_TRY(write_numbers(plan->box, plan->rank, box, "box", capacity));
    *coords_handle->value = plan->coords;
    *slots_handle->value = plan->slots;
    *boxes = coords_handle.release();
    *slots = slots_handle.release();
    return Code::OK;
  });
}

tw_status tw_layout_bank_passes(const tw_layout* layout, int32_t element_bits, const tw_layout* tv,
                                int32_t access_bytes, int64_t* passes, int64_t* least) {
  return guard([&]() -> Status {
    if (least) *least = 0;  // also if `passes` is refused
    TW_TRY(clear_output(passes, "passes"));
    TW_TRY(require(least, "least"));
    TW_TRY(require(layout, "layout"));
    TW_TRY(require(tv, "tv"));
    return bank_passes(*layout->value, element_bits, *tv->value, access_bytes, passes, least);
  });
}

tw_status tw_layout_default_shared(int64_t rows, int64_t columns, int32_t element_bits,
                                   int32_t* swizzle_bytes, tw_layout** out) {
  return guard([&]() -> Status {
    if (out) *out = nullptr;  // also if `swizzle_bytes` is refused
    TW_TRY(clear_output(swizzle_bytes, "swizzle_bytes"));
    TW_TRY(clear_output(out, "out"));
    int bytes = 0;
    TW_TRY(make_handle(out, [&](Layout* value) {
      return default_shared_layout(rows, columns, element_bits, &bytes, value);
    }));
    *swizzle_bytes = bytes;
    return Code::OK;
  });
}

tw_status tw_layout_draw(const tw_layout* layout, tw_paint paint, int32_t element_bits,
                         char* buffer, size_t capacity, size_t* length) {
  return guard([&]() -> Status {
    if (length) *length = 0;
    TW_TRY(require(layout, "layout"));
    return write_drawing(buffer, capacity, length, [&](std::string* svg) {
      return draw(*layout->value, static_cast<Paint>(paint), element_bits, svg);
    });
  });
}

tw_status tw_layout_draw_tv(const tw_layout* tv, const tw_tuple* tile, char* buffer,
                            size_t capacity, size_t* length) {
  return guard([&]() -> Status {
    if (length) *length = 0;
    TW_TRY(require(tv, "tv"));
    TW_TRY(require(tile, "tile"));
    return write_drawing(buffer, capacity, length,
                         [&](std::string* svg) { return draw_tv(*tv->value, *tile->value, svg); });
  });
}

tw_status tw_layout_draw_boxes(const tw_layout* tensor, const int64_t* box, const tw_layout* boxes,
                               char* buffer, size_t capacity, size_t* length) {
  return guard([&]() -> Status {
    if (length) *length = 0;
    TW_TRY(require(tensor, "tensor"));
    TW_TRY(require(box, "box"));
    TW_TRY(require(boxes, "boxes"));
    return write_drawing(buffer, capacity, length, [&](std::string* svg) {
      return draw_boxes(*tensor->value, box, *boxes->value, svg);
    });
  });
}
