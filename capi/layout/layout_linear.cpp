// SPDX-License-Identifier: Apache-2.0
// C API: linear layouts.
#include "capi/layout/layout_handle.hpp"
#include "layout/linear/linear_algebra.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

constinit DestroyedHandles<tw_linear> g_destroyed_linears;

}  // namespace

tw_status tw_linear_parse(const char* text, tw_linear** linear) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(linear, "linear"));
    TW_TRY(require(text, "text"));
    return make_handle(linear, [&](LinearLayout* value) { return parse(text, value); });
  });
}

void tw_linear_destroy(tw_linear* linear) {
  g_destroyed_linears.destroy(linear);
}

tw_status tw_linear_format(const tw_linear* linear, char* buffer, size_t capacity, size_t* length) {
  return guard([&]() -> Status {
    if (length) *length = 0;
    TW_TRY(require(linear, "linear"));
    Text text;
    format(*linear->value, &text);
    return write_text(text.view(), buffer, capacity, length);
  });
}

tw_status tw_linear_blocked(int32_t rank, const int64_t* shape, const int64_t* size_per_thread,
                            const int64_t* threads_per_warp, const int64_t* warps_per_cta,
                            const int32_t* order, tw_linear** out) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "out"));
    TW_TRY(require(shape, "shape"));
    TW_TRY(require(size_per_thread, "size_per_thread"));
    TW_TRY(require(threads_per_warp, "threads_per_warp"));
    TW_TRY(require(warps_per_cta, "warps_per_cta"));
    TW_TRY(require(order, "order"));
    return make_handle(out, [&](LinearLayout* value) {
      return linear_blocked(rank, shape, size_per_thread, threads_per_warp, warps_per_cta, order,
                            value);
    });
  });
}

tw_status tw_linear_slice(const tw_linear* parent, int32_t dim, tw_linear** out) {
  return unary(parent, "parent", out, [&](const LinearLayout& from, LinearLayout* value) {
    return linear_slice(from, dim, value);
  });
}

tw_status tw_linear_resize(const tw_linear* linear, const tw_tuple* shape, tw_linear** out) {
  return binary(linear, "linear", shape, "shape", out,
                [](const LinearLayout& from, const IntTuple& to, LinearLayout* value) {
                  return linear_resize(from, to, value);
                });
}

tw_status tw_linear_compose(const tw_linear* outer, const tw_linear* inner, tw_linear** out) {
  return binary(outer, "outer", inner, "inner", out, linear_compose);
}

tw_status tw_linear_inverse(const tw_linear* linear, tw_linear** out) {
  return unary(linear, "linear", out, linear_inverse);
}

tw_status tw_linear_at(const tw_linear* linear, int64_t reg, int64_t lane, int64_t warp,
                       int64_t block, int64_t* coord, int32_t capacity, int32_t* written) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(written, "written"));
    TW_TRY(require(linear, "linear"));
    const int64_t input[] = {reg, lane, warp, block};
    int64_t numbers[LinearLayout::kMaxRank];
    TW_TRY(linear_at(*linear->value, input, numbers));
    return write_numbers(numbers, linear->value->rank, coord, "coord", capacity, written);
  });
}

tw_status tw_linear_from_layout(const tw_layout* layout, const tw_tuple* shape, tw_linear** out) {
  return unary(layout, "layout", out, [&](const Layout& from, LinearLayout* value) -> Status {
    TW_TRY(require_unless_null(shape, "shape"));
    return linear_from_layout(from, shape ? shape->value->leaves : 0,
                              shape ? shape->value->value : nullptr, value);
  });
}

tw_status tw_linear_to_layout(const tw_linear* linear, tw_layout** out) {
  return unary(linear, "linear", out, linear_to_layout);
}

tw_status tw_linear_gather4(const tw_linear* linear, int64_t* per_warp, int64_t* warps) {
  return guard([&]() -> Status {
    if (warps) *warps = 0;
    TW_TRY(clear_output(per_warp, "per_warp"));
    TW_TRY(require(warps, "warps"));
    TW_TRY(require(linear, "linear"));
    return linear_gather4(*linear->value, per_warp, warps);
  });
}
