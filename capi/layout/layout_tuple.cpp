// SPDX-License-Identifier: Apache-2.0
// C API: tuples and tilers.
#include "capi/layout/layout_handle.hpp"
#include "layout/text.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

constinit DestroyedHandles<tw_tuple> g_destroyed_tuples;
constinit DestroyedHandles<tw_tiler> g_destroyed_tilers;

}  // namespace

tw_status tw_tuple_parse(const char* text, tw_tuple** tuple) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(tuple, "tuple"));
    TW_TRY(require(text, "text"));
    return make_handle(tuple, [&](IntTuple* value) { return parse(text, true, value); });
  });
}

tw_status tw_tuple_create(int32_t count, const int64_t* values, tw_tuple** tuple) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(tuple, "tuple"));
    TW_TRY(require(values, "values"));
    return make_handle(tuple, [&](IntTuple* value) { return make_tuple(count, values, value); });
  });
}

void tw_tuple_destroy(tw_tuple* tuple) {
  g_destroyed_tuples.destroy(tuple);
}

tw_status tw_tuple_format(const tw_tuple* tuple, char* buffer, size_t capacity, size_t* length) {
  return guard([&]() -> Status {
    if (length) *length = 0;
    TW_TRY(require(tuple, "tuple"));
    Text text;
    format(*tuple->value, &text);
    return write_text(text.view(), buffer, capacity, length);
  });
}

tw_status tw_tuple_values(const tw_tuple* tuple, int64_t* values, int32_t capacity,
                          int32_t* written) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(written, "written"));
    TW_TRY(require(tuple, "tuple"));
    return write_numbers(tuple->value->value, tuple->value->leaves, values, "values", capacity,
                         written);
  });
}

tw_status tw_tuple_product(const tw_tuple* tuple, int64_t* out) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "product"));
    TW_TRY(require(tuple, "tuple"));
    return product(*tuple->value, out);
  });
}

tw_status tw_tuple_congruent(const tw_tuple* a, const tw_tuple* b, int32_t* yes) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(yes, "yes"));
    TW_TRY(require(a, "a"));
    TW_TRY(require(b, "b"));
    *yes = congruent(*a->value, *b->value) ? 1 : 0;
    return Code::OK;
  });
}

tw_status tw_tuple_weakly_congruent(const tw_tuple* a, const tw_tuple* b, int32_t* yes) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(yes, "yes"));
    TW_TRY(require(a, "a"));
    TW_TRY(require(b, "b"));
    *yes = weakly_congruent(*a->value, *b->value) ? 1 : 0;
    return Code::OK;
  });
}

tw_status tw_tuple_compatible(const tw_tuple* a, const tw_tuple* b, int32_t* yes) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(yes, "yes"));
    TW_TRY(require(a, "a"));
    TW_TRY(require(b, "b"));
    *yes = compatible(*a->value, *b->value) ? 1 : 0;
    return Code::OK;
  });
}

tw_status tw_tuple_elem_less(const tw_tuple* coord, const tw_tuple* shape, int32_t* yes) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(yes, "yes"));
    TW_TRY(require(coord, "coord"));
    TW_TRY(require(shape, "shape"));
    return answer(yes, [&](bool* less) { return elem_less(*coord->value, *shape->value, less); });
  });
}

tw_status tw_tuple_prefix_product(const tw_tuple* shape, tw_tuple** out) {
  return unary(shape, "shape", out, prefix_product);
}

tw_status tw_tuple_inner_product(const tw_tuple* a, const tw_tuple* b, int64_t* out) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "product"));
    TW_TRY(require(a, "a"));
    TW_TRY(require(b, "b"));
    return inner_product(*a->value, *b->value, out);
  });
}

tw_status tw_tuple_shape_div(const tw_tuple* a, const tw_tuple* b, tw_tuple** out) {
  return binary(a, "a", b, "b", out, [](const IntTuple& x, const IntTuple& y, IntTuple* z) {
    return shape_div(x, y, z);
  });
}

tw_status tw_tuple_ceil_div(const tw_tuple* shape, const tw_tuple* tile, tw_tuple** out) {
  return binary(
      shape, "shape", tile, "tile", out,
      [](const IntTuple& x, const IntTuple& y, IntTuple* z) { return ceil_div(x, y, z); });
}

tw_status tw_tiler_parse(const char* text, tw_tiler** tiler) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(tiler, "tiler"));
    TW_TRY(require(text, "text"));
    return make_handle(tiler, [&](Tiler* value) { return parse(text, value); });
  });
}

tw_status tw_tiler_create(int32_t rank, const int64_t* extents, tw_tiler** tiler) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(tiler, "tiler"));
    TW_TRY(require(extents, "extents"));
    return make_handle(tiler, [&](Tiler* value) { return make_tiler(rank, extents, value); });
  });
}

tw_status tw_tiler_from_layout(const tw_layout* layout, tw_tiler** tiler) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(tiler, "tiler"));
    TW_TRY(require(layout, "layout"));
    return make_handle(tiler, [&](Tiler* value) { return make_tiler(*layout->value, value); });
  });
}

tw_status tw_tiler_by_mode(int32_t rank, const tw_tiler* const* entries, tw_tiler** tiler) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(tiler, "tiler"));
    TW_TRY(require(entries, "entries"));
    TW_TRY(check_rank(rank));
    const Tiler* values[kMaxLeaves];
    for (int32_t i = 0; i < rank; ++i) {
      TW_TRY(require(entries[i], "entries"));
      values[i] = entries[i]->value.get();
    }
    return make_handle(tiler, [&](Tiler* value) { return make_tiler(rank, values, value); });
  });
}

void tw_tiler_destroy(tw_tiler* tiler) {
  g_destroyed_tilers.destroy(tiler);
}

tw_status tw_tiler_format(const tw_tiler* tiler, char* buffer, size_t capacity, size_t* length) {
  return guard([&]() -> Status {
    if (length) *length = 0;
    TW_TRY(require(tiler, "tiler"));
    Text text;
    format(*tiler->value, &text);
    return write_text(text.view(), buffer, capacity, length);
  });
}
