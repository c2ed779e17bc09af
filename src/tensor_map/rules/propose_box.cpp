// SPDX-License-Identifier: Apache-2.0
// solve_box() proceeds in steps, to keep as much of the request as possible. It clamps each extent
// to its range. While the box is too large, it shrinks the extent along which the most elements are
// moved. While the box is too small, it lengthens extents. If that fails, it searches all boxes.
#include "tensor_map/rules/propose_box.hpp"

#include <algorithm>
#include <cmath>

namespace tw {
namespace {

constexpr int32_t kMaxAxes = 5;

// How to count the elements that are moved along an axis: the TMA moves extent / stride rounded up,
// but the driver's rule rounds down. If a box exceeds the limit only when rounded up, the driver
// accepts it, but it takes more shared memory than the limit. So it is the second choice.
enum class Count { moved, driver };

uint32_t moved_along(Count count, const BoxAxis& axis, uint32_t value) {
  return count == Count::moved ? (value + axis.stride - 1) / axis.stride : value / axis.stride;
}

// The largest extent along the axis of which at most `elements` elements are counted. It is a
// multiple of the unit and at most the cap. It is at least one unit, even if more are counted then.
uint32_t value_for(Count count, uint64_t elements, const BoxAxis& axis) {
  const uint64_t value = elements * axis.stride + (count == Count::driver ? axis.stride - 1 : 0);
  if (value >= axis.cap) return axis.cap;
  return std::max(static_cast<uint32_t>(value) / axis.unit, 1u) * axis.unit;
}

uint32_t round_to_unit(uint32_t value, const BoxAxis& axis) {
  return std::min(std::max((value + axis.unit - 1) / axis.unit, 1u) * axis.unit, axis.cap);
}

struct Box {
  BoxAxis* axes;
  int32_t count;
  uint64_t limit;
  double need;

  uint64_t moved() const {
    uint64_t product = 1;
    for (int32_t i = 0; i < count; ++i)
      product *= moved_along(Count::moved, axes[i], axes[i].value);
    return product;
  }
  double covered() const {
    double product = 1;
    for (int32_t i = 0; i < count; ++i) product *= axes[i].value;
    return product;
  }
  // How many elements may be moved along the axis, given the other axes.
  uint64_t allowed_along(const BoxAxis& axis) const {
    return limit / (moved() / moved_along(Count::moved, axis, axis.value));
  }
  // An upper bound of covered() for all boxes with 1 to `limit` counted elements. With the driver's
  // rounding, one counted element may cover up to 2 * stride - 1 positions. If an extent is below
  // its element stride, the driver counts no element of the box and accepts it. Such boxes may
  // exceed the bound; they are not worth a search.
  double bound(Count how) const {
    double extents = 1;
    double steps = 1;
    for (int32_t i = 0; i < count; ++i) {
      extents *= axes[i].fixed ? axes[i].asked : axes[i].cap;
      steps *= how == Count::moved ? axes[i].stride : 2 * axes[i].stride - 1;
    }
    return std::min(extents, static_cast<double>(limit) * steps);
  }
};

void shrink(Box* box) {
  while (box->moved() > box->limit) {
    BoxAxis* longest = nullptr;
    const auto length = [](const BoxAxis& axis) {
      return moved_along(Count::moved, axis, axis.value);
    };
    for (int32_t i = 0; i < box->count; ++i) {
      BoxAxis& axis = box->axes[i];
      if (axis.fixed || axis.value <= axis.unit) continue;
      if (!longest || length(axis) >= length(*longest)) longest = &axis;
    }
    if (!longest) return;
    const uint32_t value = value_for(Count::moved, box->allowed_along(*longest), *longest);
    longest->value = std::min(value, longest->value - longest->unit);
  }
}

void grow(Box* box) {
  for (int32_t i = 0; i < box->count && box->covered() < box->need; ++i) {
    BoxAxis& axis = box->axes[i];
    if (axis.fixed) continue;
    const double others = box->covered() / axis.value;
    const double wanted = std::min(std::ceil(box->need / others), static_cast<double>(axis.cap));
    const uint32_t maximum = value_for(Count::moved, box->allowed_along(axis), axis);
    axis.value =
        std::max(axis.value, std::min(round_to_unit(static_cast<uint32_t>(wanted), axis), maximum));
  }
}

// Searches all boxes, longest extents first, until one covers `need`.
struct Search {
  Box box;
  Count count;
  uint32_t best[kMaxAxes] = {};
  double best_covered = 0;
  int32_t* budget;

  bool visit(int32_t i, uint64_t counted, double covered) {
    if (i == box.count) {
      if (counted > box.limit || covered <= best_covered) return false;
      best_covered = covered;
      for (int32_t j = 0; j < box.count; ++j) best[j] = box.axes[j].value;
      return covered >= box.need;
    }
    if (--*budget < 0) return false;
    BoxAxis& axis = box.axes[i];
    if (axis.fixed)
      return visit(i + 1, counted * moved_along(count, axis, axis.asked), covered * axis.asked);
    double beyond = 1;  // upper bound of the remaining axes' factor
    for (int32_t j = i + 1; j < box.count; ++j)
      beyond *= box.axes[j].fixed ? box.axes[j].asked : box.axes[j].cap;
    uint32_t value = counted == 0 ? axis.cap : value_for(count, box.limit / counted, axis);
    for (;;) {
      if (covered * value * beyond <= best_covered) return false;
      axis.value = value;
      if (visit(i + 1, counted * moved_along(count, axis, value), covered * value)) return true;
      const uint32_t elements = moved_along(count, axis, value);
      if (value <= axis.unit || elements == 0) return false;
      value = std::min(value_for(count, elements - 1, axis), value - axis.unit);
    }
  }
};

}  // namespace

void solve_box(BoxAxis* axes, int32_t count, uint64_t limit, double need, int32_t* budget) {
  Box box{axes, count, limit, need};
  for (int32_t i = 0; i < count; ++i)
    axes[i].value = axes[i].fixed ? axes[i].asked
                                  : round_to_unit(std::min(axes[i].asked, axes[i].cap), axes[i]);
  for (int32_t i = 0; i < count; ++i)
    if (axes[i].value == 0) return;  // a fixed extent of 0 allows no box
  shrink(&box);
  grow(&box);
  uint32_t best[kMaxAxes];
  for (int32_t i = 0; i < count; ++i) best[i] = axes[i].value;
  double covered = box.moved() <= limit ? box.covered() : 0;
  for (const Count how : {Count::moved, Count::driver}) {
    if (covered >= need || need > box.bound(how)) continue;
    Search search{.box = box, .count = how, .best_covered = covered, .budget = budget};
    (void)search.visit(0, 1, 1.0);
    if (search.best_covered <= covered) continue;
    covered = search.best_covered;
    std::copy_n(search.best, count, best);
  }
  for (int32_t i = 0; i < count; ++i) axes[i].value = best[i];
}

}  // namespace tw
