// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/inverse.hpp"

#include <bit>

#include "base/checked.hpp"
#include "layout/algebra/compose.hpp"
#include "layout/algebra/composition.hpp"
#include "layout/algebra/modes.hpp"
#include "layout/coordinate.hpp"

namespace tw {

Status sort_modes(const Layout& layout, Node node, SortedModes* out) {
  out->count = 0;
  int64_t weight = 1;
  for (int i = node.begin; i < node.end; ++i) {
    const int64_t s = layout.shape.value[i], d = layout.stride[i];
    const SortedMode mode{s, d, weight};
    weight *= s;
    if (s == 1 || d == 0) continue;
    if (d < 0)
      return fail(
          Code::ERROR_NOT_A_LAYOUT, {.argument = "layout", .index = i, .got = d, .limit = 0},
          "stride %lld of leaf %d is negative: complements and inverses are of layouts that "
          "count upwards",
          static_cast<long long>(d), i);
    int at = out->count++;
    for (; at > 0 && out->mode[at - 1].stride > d; --at) out->mode[at] = out->mode[at - 1];
    out->mode[at] = mode;
  }
  return Code::OK;
}

// Let s_i:d_i be A's modes sorted by stride. No mode may begin before the previous one ends, so
// s_0 * d_0 <= d_1 and so on. The modes of the complement are the gaps between them up to `cosize`:
// (d_0 / 1):1, (d_1 / (s_0 * d_0)):(s_0 * d_0), ... The gaps do not overlap A's modes, so together
// they are injective.
Status put_complement(const Layout& layout, Node node, int64_t cosize, Beyond beyond, int level,
                      int common_level, LayoutBuilder* builder) {
  SortedModes sorted;
  TW_TRY(sort_modes(layout, node, &sorted));
  int64_t extent[kMaxLeaves + 2], stride[kMaxLeaves + 2];
  int count = 0;
  int64_t current = 1;
  const auto gap = [&](int64_t e) {
    if (e > 1) {
      extent[count] = e;
      stride[count++] = current;
    }
  };
  for (int i = 0; i < sorted.count; ++i) {
    const SortedMode& mode = sorted.mode[i];
    if (mode.stride < current)
      return fail(Code::ERROR_NOT_A_LAYOUT,
                  {.argument = "layout", .got = mode.stride, .limit = current},
                  "mode %lld:%lld begins inside the modes of smaller stride, which reach to %lld: "
                  "there is no complement of a layout whose modes overlap",
                  static_cast<long long>(mode.extent), static_cast<long long>(mode.stride),
                  static_cast<long long>(current));
    gap(mode.stride / current);
    if (!checked_mul(mode.extent, mode.stride, &current))
      return fail(Code::ERROR_OVERFLOW, {.argument = "layout"}, "the complement exceeds 64 bits");
  }
  const int64_t last = cosize / current + (cosize % current != 0);
  gap(last);
  if (last == 1 && beyond == Beyond::continues) {
    extent[count] = 1;
    stride[count++] = current;
  }
  if (count == 0) {
    builder->leaf(1, int64_t{0}, level, common_level);
  } else if (count == 1) {
    builder->leaf(extent[0], stride[0], level, common_level);
  } else {
    for (int i = 0; i < count; ++i)
      builder->leaf(extent[i], stride[i], level + 1, i == 0 ? common_level : level + 1);
  }
  return Code::OK;
}

Status complement(const Layout& layout, int64_t cosize, Layout* out) {
  TW_TRY(check_plain(layout, "complement"));
  if (cosize < 1)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "cosize", .got = cosize, .limit = 1},
                "cosize is %lld: it is at least 1", static_cast<long long>(cosize));
  LayoutBuilder builder(out);
  TW_TRY(put_complement(layout, layout.root(), cosize, Beyond::nothing, 0, 0, &builder));
  return builder.finish();
}

namespace {

constexpr int64_t kMaxPoints = 1 << 18;  // limit for check_quasi_inverse()

void put(const Factors<int64_t>& modes, LayoutBuilder* builder) {
  if (modes.count == 0)
    builder->leaf(1, int64_t{0}, 0, 0);
  else
    modes.put(0, 0, builder);
}

// For a layout whose modes overlap: checks that L(R(L(i))) = L(i) for all i.
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
                  "the layout's modes overlap, and no layout maps index %lld back to one of its "
                  "coordinates",
                  static_cast<long long>(index));
  }
  return Code::OK;
}

// Sw is its own inverse, so if R is the right inverse of L, R o Sw is that of Sw o L.
Status right_inverse_swizzled(const Layout& layout, Layout* out) {
  Layout inner = layout, inverse, numbers;
  inner.swizzle = {};
  TW_TRY(right_inverse(inner, &inverse));
  const int64_t count = size(inverse);
  if (count % (int64_t{1} << std::bit_width(layout.swizzle.source_mask() |
                                            layout.swizzle.target_mask())) !=
      0)
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "layout", .got = count},
                "the layout counts to %lld, which the swizzle does not map onto itself",
                static_cast<long long>(count));
  LayoutBuilder builder(&numbers);
  builder.leaf(count, int64_t{1}, 0, 0);
  TW_TRY(builder.finish());
  numbers.swizzle = layout.swizzle;
  return composition(inverse, numbers, out);
}

}  // namespace

// The modes of L that continue each other from stride 1 on reach the indices 0, 1, 2, ... R has
// their extents, and as strides the weights of their coordinates. Of modes with equal strides the
// first is used. Coalescing L first can lengthen R: (2,4,6):(4,1,4) becomes (2,24):(4,1), whose
// R covers 24 indices. Without coalescing, 4:1 and 2:4 would be used, which cover 8.
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

// R reads the digits of an index in the mixed radix (d_0, d_1/d_0, ..., s_last) of L's strides and
// multiplies each with the weight of its mode's coordinate.
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

}  // namespace tw
