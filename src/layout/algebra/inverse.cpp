// SPDX-License-Identifier: Apache-2.0
// Inverses. Both walk the modes by rising stride.
#include "base/checked.hpp"
#include "layout/algebra/algebra.hpp"
#include "layout/algebra/complement.hpp"
#include "layout/algebra/composition.hpp"
#include "layout/coordinate.hpp"

namespace tw {
namespace {

constexpr int64_t kMaxPoints = 1 << 18;  // a layout that is not injective is checked point by point

void put(const Factors<int64_t>& modes, LayoutBuilder* builder) {
  if (modes.count == 0)
    builder->leaf(1, int64_t{0}, 0, 0);
  else
    modes.put(0, 0, builder);
}

}  // namespace

// L's modes that continue one another from stride 1 on count 0, 1, 2, ...; R gives the weights of
// their coordinates. Of modes with one stride the first is taken: coalescing has made it the
// longest that starts there, (2,4,6):(4,1,4) is (2,24):(4,1).
Status right_inverse(const Layout& layout, Layout* out) {
  if (!layout.swizzle.is_identity()) return right_inverse_swizzled(layout, out);
  TW_TRY(check_plain(layout, "right_inverse"));
  Layout flat;
  TW_TRY(coalesce(layout, &flat));
  SortedModes sorted;
  TW_TRY(sort_modes(flat, flat.root(), &sorted));
  Factors<int64_t> modes;
  int64_t next = 1;
  for (int i = 0; i < sorted.count && sorted.mode[i].stride <= next; ++i) {
    const SortedMode& mode = sorted.mode[i];
    if (mode.stride != next) continue;
    modes.push(mode.extent, mode.weight);
    next *= mode.extent;
  }
  LayoutBuilder builder(out);
  put(modes, &builder);
  return builder.finish();
}

// R reads the digits of an index in the radix of L's strides, (d_0, d_1/d_0, ..., s_last), and
// weighs each with the weight of its coordinate.
Status left_inverse(const Layout& layout, Layout* out) {
  TW_TRY(check_plain(layout, "left_inverse"));
  Layout flat;
  TW_TRY(coalesce(layout, &flat));
  SortedModes sorted;
  TW_TRY(sort_modes(flat, flat.root(), &sorted));
  Factors<int64_t> modes;
  int64_t before = 1, weight = 0;
  bool injective = true;
  for (int i = 0; i < sorted.count; ++i) {
    const SortedMode& mode = sorted.mode[i];
    if (mode.stride % before != 0)
      return fail(Code::ERROR_NOT_A_LAYOUT,
                  {.argument = "layout", .got = mode.stride, .limit = before},
                  "stride %lld is no multiple of the next smaller stride %lld, so no layout reads "
                  "the coordinates back from the index",
                  static_cast<long long>(mode.stride), static_cast<long long>(before));
    const int64_t ratio = mode.stride / before;
    if (i > 0 && sorted.mode[i - 1].extent > ratio) injective = false;
    if (ratio > 1) modes.push(ratio, weight);
    before = mode.stride;
    weight = mode.weight;
  }
  if (sorted.count > 0) modes.push(sorted.mode[sorted.count - 1].extent, weight);
  LayoutBuilder builder(out);
  put(modes, &builder);
  TW_TRY(builder.finish());
  return injective ? Status() : check_quasi_inverse(layout, *out);
}

// Modes overlap: no R gives every coordinate back, but one may give a coordinate of equal index.
Status check_quasi_inverse(const Layout& layout, const Layout& inverse) {
  const int64_t points = size(layout);
  if (points > kMaxPoints)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout", .got = points, .limit = kMaxPoints},
                "the layout's modes overlap, and with more than %lld coordinates its quasi-inverse "
                "is not checked, so none is returned",
                static_cast<long long>(kMaxPoints));
  for (int64_t i = 0; i < points; ++i) {
    int64_t index = 0, back = 0, again = 0;
    if (!linear_value(layout, layout.root(), i, &index) ||
        !linear_value(inverse, inverse.root(), index, &back) ||
        !linear_value(layout, layout.root(), back, &again) || again != index)
      return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "layout", .got = index},
                  "the layout's modes overlap, and no layout reads a coordinate of index %lld back",
                  static_cast<long long>(index));
  }
  return Code::OK;
}

}  // namespace tw
