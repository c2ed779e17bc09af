// SPDX-License-Identifier: Apache-2.0
// Complement: the layout of what another leaves out.
//
// With A's modes sorted by stride, s_i:d_i, each must begin where the ones before have ended:
// s_0 * d_0 <= d_1 and so on. The gaps (d_0 / 1):1, (d_1 / (s_0 * d_0)):(s_0 * d_0), ... up to the
// wanted cosize are the complement. Each gap ends inside the next stride, so that A's modes and the
// gaps, sorted, never reach over one another: together they are injective.
#include <algorithm>

#include "base/checked.hpp"
#include "layout/algebra/algebra.hpp"
#include "layout/algebra/complement.hpp"

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

Status put_complement(const Layout& layout, Node node, int64_t cosize, Beyond beyond, int level,
                      int join, LayoutBuilder* builder) {
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
  if (last == 1 && beyond == Beyond::counts_on) {
    extent[count] = 1;
    stride[count++] = current;
  }
  if (count == 0) {
    builder->leaf(1, int64_t{0}, level, join);
  } else if (count == 1) {
    builder->leaf(extent[0], stride[0], level, join);
  } else {
    for (int i = 0; i < count; ++i)
      builder->leaf(extent[i], stride[i], level + 1, i == 0 ? join : level + 1);
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

Status check_plain(const Layout& layout, const char* verb) {
  if (layout.is_plain()) return Code::OK;
  return fail(
      Code::ERROR_UNSUPPORTED, {.argument = "layout"},
      "%s takes layouts of integer strides without swizzle or offset: pass the inner layout", verb);
}

}  // namespace tw
