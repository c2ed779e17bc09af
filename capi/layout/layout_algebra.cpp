// SPDX-License-Identifier: Apache-2.0
// C API: the operations of the layout algebra.
#include "layout/algebra/algebra.hpp"

#include "capi/layout/layout_handle.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

using TilerVerb = Status (*)(const Layout&, const Tiler&, Layout*);
using PairVerb = Status (*)(const Layout&, const Layout&, Layout*);

tw_status by_tiler(const tw_layout* layout, const char* name, const tw_tiler* tiler,
                   tw_layout** out, TilerVerb verb) {
  return binary(layout, name, tiler, "tiler", out, verb);
}

tw_status by_pair(const tw_layout* a, const tw_layout* b, tw_layout** out, PairVerb verb) {
  return binary(a, "a", b, "b", out, verb);
}

// The body of an operation that returns a part of a layout and its starting offset.
template <class Verb>
tw_status part(const tw_layout* layout, tw_layout** out, int64_t* offset, Verb&& verb) {
  return guard([&]() -> Status {
    if (out) *out = nullptr;
    TW_TRY(clear_output(offset, "offset"));
    TW_TRY(clear_output(out, "out"));
    TW_TRY(require(layout, "layout"));
    int64_t moved = 0;
    TW_TRY(verb(*layout->value, &moved));
    *offset = moved;
    return Code::OK;
  });
}

}  // namespace

tw_status tw_layout_coalesce(const tw_layout* layout, const tw_tuple* profile, tw_layout** out) {
  return unary(layout, "layout", out, [&](const Layout& from, Layout* value) -> Status {
    TW_TRY(require_unless_null(profile, "profile"));
    return profile ? coalesce(from, *profile->value, value) : coalesce(from, value);
  });
}

tw_status tw_layout_filter(const tw_layout* layout, const tw_tuple* profile, tw_layout** out) {
  return unary(layout, "layout", out, [&](const Layout& from, Layout* value) -> Status {
    TW_TRY(require_unless_null(profile, "profile"));
    return profile ? filter(from, *profile->value, value) : filter(from, value);
  });
}

tw_status tw_layout_filter_zeros(const tw_layout* layout, tw_layout** out) {
  return unary(layout, "layout", out, filter_zeros);
}

tw_status tw_layout_flatten(const tw_layout* layout, tw_layout** out) {
  return unary(layout, "layout", out, flatten);
}

tw_status tw_layout_group_modes(const tw_layout* layout, int32_t begin, int32_t end,
                                tw_layout** out) {
  return unary(layout, "layout", out, [&](const Layout& from, Layout* value) {
    return group_modes(from, begin, end, value);
  });
}

tw_status tw_layout_append(const tw_layout* layout, const tw_layout* mode, tw_layout** out) {
  return binary(layout, "layout", mode, "mode", out, append);
}

tw_status tw_layout_prepend(const tw_layout* layout, const tw_layout* mode, tw_layout** out) {
  return binary(layout, "layout", mode, "mode", out, prepend);
}

tw_status tw_layout_replace(const tw_layout* layout, int32_t index, const tw_layout* with,
                            tw_layout** out) {
  return binary(layout, "layout", with, "with", out,
                [&](const Layout& from, const Layout& mode, Layout* value) {
                  return replace(from, index, mode, value);
                });
}

tw_status tw_layout_select(const tw_layout* layout, int32_t count, const int32_t* modes,
                           tw_layout** out) {
  return unary(layout, "layout", out, [&](const Layout& from, Layout* value) -> Status {
    TW_TRY(require(modes, "modes"));
    return select(from, count, modes, value);
  });
}

tw_status tw_layout_take(const tw_layout* layout, int32_t begin, int32_t end, tw_layout** out) {
  return unary(layout, "layout", out,
               [&](const Layout& from, Layout* value) { return take(from, begin, end, value); });
}

tw_status tw_layout_composition(const tw_layout* a, const tw_layout* b, tw_layout** out) {
  return by_pair(a, b, out, composition);
}

tw_status tw_layout_composition_tiler(const tw_layout* a, const tw_tiler* tiler, tw_layout** out) {
  return by_tiler(a, "a", tiler, out, composition);
}

tw_status tw_layout_complement(const tw_layout* layout, int64_t cosize, tw_layout** out) {
  return unary(layout, "layout", out,
               [&](const Layout& from, Layout* value) { return complement(from, cosize, value); });
}

tw_status tw_layout_right_inverse(const tw_layout* layout, tw_layout** out) {
  return unary(layout, "layout", out, right_inverse);
}

tw_status tw_layout_left_inverse(const tw_layout* layout, tw_layout** out) {
  return unary(layout, "layout", out, left_inverse);
}

tw_status tw_layout_logical_divide(const tw_layout* layout, const tw_tiler* tiler,
                                   tw_layout** out) {
  return by_tiler(layout, "layout", tiler, out, logical_divide);
}

tw_status tw_layout_zipped_divide(const tw_layout* layout, const tw_tiler* tiler, tw_layout** out) {
  return by_tiler(layout, "layout", tiler, out, zipped_divide);
}

tw_status tw_layout_tiled_divide(const tw_layout* layout, const tw_tiler* tiler, tw_layout** out) {
  return by_tiler(layout, "layout", tiler, out, tiled_divide);
}

tw_status tw_layout_flat_divide(const tw_layout* layout, const tw_tiler* tiler, tw_layout** out) {
  return by_tiler(layout, "layout", tiler, out, flat_divide);
}

tw_status tw_layout_logical_product(const tw_layout* a, const tw_tiler* tiler, tw_layout** out) {
  return by_tiler(a, "a", tiler, out, logical_product);
}

tw_status tw_layout_zipped_product(const tw_layout* a, const tw_tiler* tiler, tw_layout** out) {
  return by_tiler(a, "a", tiler, out, zipped_product);
}

tw_status tw_layout_tiled_product(const tw_layout* a, const tw_tiler* tiler, tw_layout** out) {
  return by_tiler(a, "a", tiler, out, tiled_product);
}

tw_status tw_layout_flat_product(const tw_layout* a, const tw_tiler* tiler, tw_layout** out) {
  return by_tiler(a, "a", tiler, out, flat_product);
}

tw_status tw_layout_blocked_product(const tw_layout* a, const tw_layout* b, tw_layout** out) {
  return by_pair(a, b, out, blocked_product);
}

tw_status tw_layout_raked_product(const tw_layout* a, const tw_layout* b, tw_layout** out) {
  return by_pair(a, b, out, raked_product);
}

tw_status tw_layout_tile_to_shape(const tw_layout* block, const tw_tuple* shape,
                                  const tw_tuple* order, tw_layout** out) {
  return binary(block, "block", shape, "shape", out,
                [&](const Layout& from, const IntTuple& to, Layout* value) -> Status {
                  TW_TRY(require_unless_null(order, "order"));
                  return tile_to_shape(from, to, order ? order->value.get() : nullptr, value);
                });
}

tw_status tw_layout_max_common_layout(const tw_layout* a, const tw_layout* b, tw_layout** out) {
  return by_pair(a, b, out, max_common_layout);
}

tw_status tw_layout_nullspace(const tw_layout* layout, tw_layout** out) {
  return unary(layout, "layout", out, nullspace);
}

tw_status tw_layout_upcast(const tw_layout* layout, int64_t n, tw_layout** out) {
  return unary(layout, "layout", out,
               [&](const Layout& from, Layout* value) { return upcast(from, n, value); });
}

tw_status tw_layout_downcast(const tw_layout* layout, int64_t n, tw_layout** out) {
  return unary(layout, "layout", out,
               [&](const Layout& from, Layout* value) { return downcast(from, n, value); });
}

tw_status tw_layout_recast(const tw_layout* layout, int64_t from_bits, int64_t to_bits,
                           tw_layout** out) {
  return unary(layout, "layout", out, [&](const Layout& from, Layout* value) {
    return recast(from, from_bits, to_bits, value);
  });
}

tw_status tw_layout_slice(const tw_layout* layout, const tw_tuple* coord, tw_layout** out,
                          int64_t* offset) {
  return part(layout, out, offset, [&](const Layout& from, int64_t* moved) -> Status {
    TW_TRY(require(coord, "coord"));
    return make_handle(out,
                       [&](Layout* value) { return slice(from, *coord->value, value, moved); });
  });
}

tw_status tw_layout_dice(const tw_layout* layout, const tw_tuple* coord, tw_layout** out) {
  return binary(layout, "layout", coord, "coord", out, dice);
}

tw_status tw_layout_domain_offset(const tw_layout* layout, const tw_tuple* coord, tw_layout** out,
                                  int64_t* offset) {
  return part(layout, out, offset, [&](const Layout& from, int64_t* moved) -> Status {
    TW_TRY(require(coord, "coord"));
    return make_handle(
        out, [&](Layout* value) { return domain_offset(from, *coord->value, value, moved); });
  });
}

tw_status tw_layout_local_tile(const tw_layout* layout, int32_t rank, const int64_t* tile,
                               const int64_t* coord, tw_layout** out, int64_t* offset) {
  return part(layout, out, offset, [&](const Layout& from, int64_t* moved) -> Status {
    TW_TRY(require(tile, "tile"));
    TW_TRY(require(coord, "coord"));
    return make_handle(
        out, [&](Layout* value) { return local_tile(from, rank, tile, coord, value, moved); });
  });
}

tw_status tw_layout_tile(const tw_layout* layout, const tw_tiler* tiler, const tw_tuple* coord,
                         tw_layout** out, int64_t* offset) {
  return part(layout, out, offset, [&](const Layout& from, int64_t* moved) -> Status {
    TW_TRY(require(tiler, "tiler"));
    TW_TRY(require(coord, "coord"));
    return make_handle(out, [&](Layout* value) {
      return local_tile(from, *tiler->value, *coord->value, value, moved);
    });
  });
}

tw_status tw_layout_local_partition(const tw_layout* layout, const tw_layout* threads,
                                    int64_t thread, tw_layout** out, int64_t* offset) {
  return part(layout, out, offset, [&](const Layout& from, int64_t* moved) -> Status {
    TW_TRY(require(threads, "threads"));
    return make_handle(out, [&](Layout* value) {
      return local_partition(from, *threads->value, thread, value, moved);
    });
  });
}
