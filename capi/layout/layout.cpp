// SPDX-License-Identifier: Apache-2.0
// C API: making layouts, their properties, coordinates.
#include "capi/layout/layout_handle.hpp"
#include "layout/coordinate.hpp"
#include "layout/text.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

constinit DestroyedHandles<tw_layout> g_destroyed_layouts;

}  // namespace

tw_status tw_layout_parse(const char* text, tw_layout** layout) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(layout, "layout"));
    TW_TRY(require(text, "text"));
    return make_handle(layout, [&](Layout* value) { return parse(text, value); });
  });
}

tw_status tw_layout_create(int32_t rank, const int64_t* shape, const int64_t* stride,
                           tw_layout** layout) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(layout, "layout"));
    TW_TRY(require(shape, "shape"));
    return make_handle(layout,
                       [&](Layout* value) { return make_flat(rank, shape, stride, value); });
  });
}

void tw_layout_destroy(tw_layout* layout) {
  g_destroyed_layouts.destroy(layout);
}

tw_status tw_layout_format(const tw_layout* layout, char* buffer, size_t capacity, size_t* length) {
  return guard([&]() -> Status {
    if (length) *length = 0;
    TW_TRY(require(layout, "layout"));
    Text text;
    format(*layout->value, &text);
    return write_text(text.view(), buffer, capacity, length);
  });
}

tw_status tw_layout_size(const tw_layout* layout, int64_t* out) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "size"));
    TW_TRY(require(layout, "layout"));
    *out = size(*layout->value);
    return Code::OK;
  });
}

tw_status tw_layout_cosize(const tw_layout* layout, int64_t* out) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "cosize"));
    TW_TRY(require(layout, "layout"));
    return cosize(*layout->value, out);
  });
}

tw_status tw_layout_rank(const tw_layout* layout, int32_t* rank) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(rank, "rank"));
    TW_TRY(require(layout, "layout"));
    *rank = layout->value->rank();
    return Code::OK;
  });
}

tw_status tw_layout_depth(const tw_layout* layout, int32_t* depth) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(depth, "depth"));
    TW_TRY(require(layout, "layout"));
    *depth = layout->value->depth();
    return Code::OK;
  });
}

tw_status tw_layout_leaves(const tw_layout* layout, int32_t* leaves) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(leaves, "leaves"));
    TW_TRY(require(layout, "layout"));
    *leaves = layout->value->leaves();
    return Code::OK;
  });
}

tw_status tw_layout_mode(const tw_layout* layout, int32_t mode, tw_layout** out) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "out"));
    TW_TRY(require(layout, "layout"));
    TW_TRY(check_mode(*layout->value, mode));
    return make_handle(out, [&](Layout* value) {
      return extract(*layout->value, layout->value->mode(mode), value);
    });
  });
}

tw_status tw_layout_crd2idx(const tw_layout* layout, const int64_t* coord, int32_t count,
                            int64_t* index) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(index, "index"));
    TW_TRY(require(layout, "layout"));
    TW_TRY(require(coord, "coord"));
    return crd2idx(*layout->value, coord, count, index);
  });
}

tw_status tw_layout_crd2crd(const tw_layout* layout, const int64_t* coord, int32_t count,
                            int64_t* out, int32_t capacity, int32_t* written) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(written, "written"));
    TW_TRY(require(layout, "layout"));
    TW_TRY(require(coord, "coord"));
    int64_t numbers[kMaxLeaves];
    int number_count = 0;
    TW_TRY(crd2crd(*layout->value, coord, count, numbers, &number_count));
    return write_numbers(numbers, number_count, out, "out", capacity, written);
  });
}

tw_status tw_layout_idx2crd(const tw_layout* layout, int64_t linear, int64_t* coord,
                            int32_t capacity) {
  return guard([&]() -> Status {
    TW_TRY(require(layout, "layout"));
    IntTuple tuple;
    TW_TRY(idx2crd(layout->value->shape, linear, &tuple));
    return write_numbers(tuple.value, tuple.leaves, coord, "coord", capacity);
  });
}

tw_status tw_layout_find(const tw_layout* layout, int64_t index, int64_t* linear) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(linear, "linear"));
    TW_TRY(require(layout, "layout"));
    return find(*layout->value, index, linear);
  });
}
