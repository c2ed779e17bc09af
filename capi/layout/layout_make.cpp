// SPDX-License-Identifier: Apache-2.0
// C API: layouts from shapes, queries of layouts, swizzles.
#include "capi/layout/layout_handle.hpp"
#include "layout/algebra/algebra.hpp"
#include "layout/coordinate.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

// The body of a yes-or-no query of one layout: `ask(const Layout&, bool*)`.
template <class Ask>
tw_status question(const tw_layout* layout, int32_t* yes, Ask&& ask) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(yes, "yes"));
    TW_TRY(require(layout, "layout"));
    return answer(yes, [&](bool* value) { return ask(*layout->value, value); });
  });
}

}  // namespace

tw_status tw_layout_make_left(const tw_tuple* shape, tw_layout** out) {
  return unary(shape, "shape", out, make_layout_left);
}

tw_status tw_layout_make_right(const tw_tuple* shape, tw_layout** out) {
  return unary(shape, "shape", out, make_layout_right);
}

tw_status tw_layout_make_ordered(const tw_tuple* shape, const tw_tuple* order, tw_layout** out) {
  return binary(shape, "shape", order, "order", out, make_ordered_layout);
}

tw_status tw_layout_make_like(const tw_layout* layout, tw_layout** out) {
  return unary(layout, "layout", out, make_layout_like);
}

tw_status tw_layout_make_identity(const tw_tuple* shape, tw_layout** out) {
  return unary(shape, "shape", out, make_identity_layout);
}

tw_status tw_layout_make_tv(const tw_layout* threads, const tw_layout* values, tw_tuple** tile,
                            tw_layout** out) {
  return guard([&]() -> Status {
    if (out) *out = nullptr;
    TW_TRY(clear_output(tile, "tile"));
    TW_TRY(clear_output(out, "out"));
    TW_TRY(require(threads, "threads"));
    TW_TRY(require(values, "values"));
    auto shape = new_handle<tw_tuple>();
    TW_TRY(make_handle(out, [&](Layout* value) {
      return make_layout_tv(*threads->value, *values->value, shape->value.get(), value);
    }));
    *tile = shape.release();
    return Code::OK;
  });
}

tw_status tw_layout_domain_distribute(const tw_tuple* shape, int64_t size, tw_layout** out) {
  return unary(shape, "shape", out, [&](const IntTuple& from, Layout* value) {
    return domain_distribute(from, size, value);
  });
}

tw_status tw_layout_shape(const tw_layout* layout, tw_tuple** shape) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(shape, "shape"));
    TW_TRY(require(layout, "layout"));
    return make_handle(shape, [&](IntTuple* value) -> Status {
      *value = layout->value->shape;
      return Code::OK;
    });
  });
}

tw_status tw_layout_stride(const tw_layout* layout, tw_tuple** stride) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(stride, "stride"));
    TW_TRY(require(layout, "layout"));
    return make_handle(stride, [&](IntTuple* value) { return strides(*layout->value, value); });
  });
}

tw_status tw_layout_swizzle(const tw_layout* layout, int32_t* bits, int32_t* base, int32_t* shift,
                            int64_t* offset) {
  return guard([&]() -> Status {
    for (int32_t* number : {bits, base, shift})
      if (number) *number = 0;
    TW_TRY(clear_output(offset, "offset"));
    TW_TRY(require(bits, "bits"));
    TW_TRY(require(base, "base"));
    TW_TRY(require(shift, "shift"));
    TW_TRY(require(layout, "layout"));
    *bits = layout->value->swizzle.bits;
    *base = layout->value->swizzle.base;
    *shift = layout->value->swizzle.shift;
    *offset = layout->value->offset;
    return Code::OK;
  });
}

tw_status tw_layout_at(const tw_layout* layout, const tw_tuple* coord, int64_t* index) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(index, "index"));
    TW_TRY(require(layout, "layout"));
    TW_TRY(require(coord, "coord"));
    return crd2idx(*layout->value, *coord->value, index);
  });
}

tw_status tw_layout_at_coord(const tw_layout* layout, const tw_tuple* coord, tw_tuple** out) {
  return binary(layout, "layout", coord, "coord", out,
                [](const Layout& from, const IntTuple& at, IntTuple* value) {
                  return crd2crd(from, at, value);
                });
}

tw_status tw_layout_is_injective(const tw_layout* layout, int32_t* yes) {
  return question(layout, yes, is_injective);
}

tw_status tw_layout_is_surjective(const tw_layout* layout, int32_t* yes) {
  return question(layout, yes, is_surjective);
}

tw_status tw_layout_is_contiguous(const tw_layout* layout, int32_t* yes) {
  return question(layout, yes, is_contiguous);
}

tw_status tw_layout_max_alignment(const tw_layout* layout, int64_t* elements) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(elements, "elements"));
    TW_TRY(require(layout, "layout"));
    return max_alignment(*layout->value, elements);
  });
}

tw_status tw_layout_max_common_vector(const tw_layout* a, const tw_layout* b, int64_t* elements) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(elements, "elements"));
    TW_TRY(require(a, "a"));
    TW_TRY(require(b, "b"));
    return max_common_vector(*a->value, *b->value, elements);
  });
}

tw_status tw_layout_add_swizzle(const tw_layout* layout, int32_t bits, int32_t base, int32_t shift,
                                tw_layout** out) {
  return unary(layout, "layout", out, [&](const Layout& from, Layout* value) {
    return swizzled(from, {bits, base, shift}, value);
  });
}

tw_status tw_layout_remove_swizzle(const tw_layout* layout, tw_layout** out) {
  return unary(layout, "layout", out,
               [](const Layout& from, Layout* value) { return extract(from, from.root(), value); });
}

tw_status tw_swizzle_apply(int32_t bits, int32_t base, int32_t shift, int64_t x, int64_t* out) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "out"));
    const BitSwizzle swizzle{bits, base, shift};
    TW_TRY(check(swizzle));
    *out = swizzle(x);
    return Code::OK;
  });
}

tw_status tw_swizzle_recast(int32_t* bits, int32_t* base, int32_t* shift, int64_t from_bits,
                            int64_t to_bits) {
  return guard([&]() -> Status {
    TW_TRY(require(bits, "bits"));
    TW_TRY(require(base, "base"));
    TW_TRY(require(shift, "shift"));
    BitSwizzle swizzle;
    TW_TRY(recast({*bits, *base, *shift}, from_bits, to_bits, &swizzle));
    *bits = swizzle.bits;
    *base = swizzle.base;
    *shift = swizzle.shift;
    return Code::OK;
  });
}
