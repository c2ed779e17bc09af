// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/queries.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

#include "base/checked.hpp"
#include "layout/codomain.hpp"
#include "layout/coordinate.hpp"
#include "layout/search.hpp"

namespace tw {
namespace {

struct Mode {
  int64_t extent;
  int64_t step;  // |stride|
};

// The leaves with extent > 1, sorted by step.
int sorted_steps(const Layout& layout, Mode* mode) {
  int count = 0;
  for (int i = 0; i < layout.leaves(); ++i) {
    const Mode added{layout.shape.value[i], std::abs(layout.stride[i])};
    if (added.extent == 1) continue;
    int at = count++;
    for (; at > 0 && mode[at - 1].step > added.step; --at) mode[at] = mode[at - 1];
    mode[at] = added;
  }
  return count;
}

// Whether two coordinates share an index. Their differences e_i, not all 0 and |e_i| < s_i, then
// give a sum of e_i * step_i = 0. Assume the last nonzero e_i to be positive and search for the
// others, shifted to count from 0.
Status has_collision(const Mode* mode, int count, bool* collides) {
  for (int last = 0; last < count; ++last) {
    Search search;
    Wide wanted = -Wide{mode[last].step};
    for (int i = 0; i < last; ++i) {
      int64_t range = 0;
      if (!checked_mul(mode[i].extent, 2, &range))
        return fail(Code::ERROR_OVERFLOW, {.argument = "layout"}, "an extent exceeds 62 bits");
      search.add(range - 1, mode[i].step);
      wanted += Wide{mode[i].extent - 1} * mode[i].step;
    }
    search.add(mode[last].extent - 1, mode[last].step);
    *collides = search.solve(wanted);
    if (*collides) return Code::OK;
    if (search.gave_up())
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout", .limit = Search::kMaxSteps},
                  "the layout's modes overlap so much that the question was given up after %lld "
                  "steps",
                  static_cast<long long>(Search::kMaxSteps));
  }
  return Code::OK;
}

Status injective_integers(const Layout& layout, bool* yes) {
  Mode mode[kMaxLeaves];
  const int count = sorted_steps(layout, mode);
  Wide reach = 0;  // largest index of the modes so far
  bool nested = true;
  for (int i = 0; i < count; ++i) {
    if (mode[i].step == 0) {
      *yes = false;
      return Code::OK;
    }
    nested = nested && mode[i].step > reach;
    reach += Wide{mode[i].extent - 1} * mode[i].step;
  }
  *yes = true;
  if (nested) return Code::OK;
  bool collides = false;
  TW_TRY(has_collision(mode, count, &collides));
  *yes = !collides;
  return Code::OK;
}

// Checks each number of the codomain separately: if no stride is a sum, they are independent.
Status injective_coordinates(const Layout& layout, bool* yes) {
  Codomain range;
  TW_TRY(codomain(layout, &range));
  for (int i = 0; i < layout.extra_count; ++i)
    if (layout.extra_leaf[i] != Layout::kOrigin)
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                  "strides that are sums of basis elements: whether the layout is injective is not "
                  "decided");
  *yes = true;
  for (int k = 0; k <= range.tuple.leaves && *yes; ++k) {
    Layout part;
    LayoutBuilder builder(&part);
    for (int i = 0; i < layout.leaves(); ++i) {
      const Basis basis = layout.stride[i] == 0 ? 0 : layout.basis[i];
      if (basis == (k < range.tuple.leaves ? range.path[k] : 0))
        builder.leaf(layout.shape.value[i], layout.stride[i], 1, 1);
    }
    TW_TRY(builder.finish());
    TW_TRY(injective_integers(part, yes));
  }
  return Code::OK;
}

// The largest layout for which list_image() is used.
constexpr int64_t kMaxListed = 1 << 20;

// The set of a layout's indices.
struct Image {
  Wide count = 0;
  bool no_gap = false;  // every index between the smallest and the largest is in the set
};

Status list_image(const Layout& layout, Image* out) {
  std::vector<int64_t> index(static_cast<size_t>(size(layout)));
  for (int64_t i = 0; i < size(layout); ++i)
    TW_TRY(crd2idx(layout, &i, 1, &index[static_cast<size_t>(i)]));
  std::sort(index.begin(), index.end());
  index.erase(std::unique(index.begin(), index.end()), index.end());
  out->count = static_cast<Wide>(index.size());
  out->no_gap = Wide{index.back()} - index.front() + 1 == out->count;
  return Code::OK;
}

// With steps d_0 <= d_1 <= ..., there is no gap exactly if each step is at most one more than what
// the smaller ones reach. A swizzle permutes indices within aligned blocks. So it cannot close a
// gap that contains a whole block, and it opens none if the range consists of whole blocks.
Status image_of(const Layout& layout, Image* out) {
  Mode mode[kMaxLeaves];
  const int count = sorted_steps(layout, mode);
  Wide reach = 0;
  Wide gap = 0;  // the widest gap
  for (int i = 0; i < count; ++i) {
    gap = std::max(gap, Wide{mode[i].step} - reach - 1);
    reach += Wide{mode[i].extent - 1} * mode[i].step;
  }
  const Wide block =
      Wide{1} << std::bit_width(layout.swizzle.source_mask() | layout.swizzle.target_mask());
  Wide low = layout.offset;
  for (int i = 0; i < layout.leaves(); ++i)
    if (layout.stride[i] < 0) low += Wide{layout.stride[i]} * (layout.shape.value[i] - 1);
  *out = {.count = reach + 1, .no_gap = gap == 0};
  if (gap >= 2 * block - 1) return Code::OK;
  if (gap == 0 && low % block == 0 && (reach + 1) % block == 0) return Code::OK;
  if (size(layout) <= kMaxListed) return list_image(layout, out);
  return fail(Code::ERROR_UNSUPPORTED,
              {.argument = "layout", .got = size(layout), .limit = kMaxListed},
              "the swizzle moves indices into gaps or beyond the layout's range: whether it leaves "
              "one out is decided for up to %lld coordinates, here are %lld",
              static_cast<long long>(kMaxListed), static_cast<long long>(size(layout)));
}

Status image_of_integers(const Layout& layout, Image* out) {
  if (layout.has_basis_strides)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "the layout gives coordinates (basis strides), not a range of indices");
  return image_of(layout, out);
}

}  // namespace

Status is_injective(const Layout& layout, bool* yes) {
  *yes = false;
  return layout.has_basis_strides ? injective_coordinates(layout, yes)
                                  : injective_integers(layout, yes);
}

Status is_surjective(const Layout& layout, bool* yes) {
  *yes = false;
  Image image;
  TW_TRY(image_of_integers(layout, &image));
  *yes = image.no_gap;
  return Code::OK;
}

Status is_contiguous(const Layout& layout, bool* yes) {
  *yes = false;
  Image image;
  TW_TRY(image_of_integers(layout, &image));
  *yes = image.no_gap && image.count == size(layout);
  return Code::OK;
}

}  // namespace tw
