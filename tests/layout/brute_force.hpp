// SPDX-License-Identifier: Apache-2.0
#pragma once
// A reference for the layout algebra: evaluates layouts from their definition, point by point. Of
// the library it uses only the fields of Layout.

#include <cstdint>
#include <random>
#include <vector>

#include "layout/layout.hpp"

namespace tw::test {

struct Flat {
  std::vector<int64_t> extent;
  std::vector<int64_t> stride;

  int64_t size() const {
    int64_t product = 1;
    for (int64_t e : extent) product *= e;
    return product;
  }
  /// The value at a linear coordinate. Beyond the end the last mode continues.
  int64_t at(int64_t linear) const {
    int64_t sum = 0;
    for (size_t i = 0; i < extent.size(); ++i) {
      const bool last = i + 1 == extent.size();
      sum += (last ? linear : linear % extent[i]) * stride[i];
      linear /= extent[i];
    }
    return sum;
  }
  std::vector<int64_t> table() const {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < size(); ++i) values.push_back(at(i));
    return values;
  }
};

inline Flat flat(const Layout& layout) {
  Flat out;
  for (int i = 0; i < layout.leaves(); ++i) {
    out.extent.push_back(layout.shape.value[i]);
    out.stride.push_back(layout.stride[i]);
  }
  return out;
}

inline Flat flat(const Layout& layout, Node node) {
  Flat out;
  for (int i = node.begin; i < node.end; ++i) {
    out.extent.push_back(layout.shape.value[i]);
    out.stride.push_back(layout.stride[i]);
  }
  return out;
}

/// Whether a function, given as a table over modes of these extents, is a layout whose modes refine
/// them: each mode must split into leaves with one stride each, and the modes must add up.
inline bool is_layout(const std::vector<int64_t>& extent, const std::vector<int64_t>& table) {
  std::vector<int64_t> sum(table.size(), 0);
  int64_t weight = 1;
  for (int64_t whole : extent) {
    // Splits this mode into leaves, judged by the values along it.
    std::vector<int64_t> along(static_cast<size_t>(whole), 0);
    int64_t step = 1, s = whole;
    while (s > 1) {
      const int64_t first = table[static_cast<size_t>(weight * step)];
      int64_t m = 2;
      while (m < s && table[static_cast<size_t>(weight * step * m)] == m * first) ++m;
      if (s % m != 0) return false;
      for (int64_t i = 0; i < whole; ++i) along[static_cast<size_t>(i)] += i / step % m * first;
      step *= m;
      s /= m;
    }
    for (size_t i = 0; i < table.size(); ++i)
      sum[i] += along[static_cast<size_t>(static_cast<int64_t>(i) / weight % whole)];
    weight *= whole;
  }
  return sum == table;
}

/// Draws random layouts, flat and nested. The strides are compact in some order, padded, multiples
/// of one another, or arbitrary.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t end) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(end));
  }

  int64_t extent() {
    static constexpr int64_t kExtents[] = {1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 9, 10, 12, 16};
    return kExtents[below(14)];
  }

  /// A layout with at most `most` coordinates.
  Layout layout(int64_t most, bool negative = false) {
    const int leaves = 1 + static_cast<int>(below(4));
    int64_t e[4], d[4];
    int64_t product = 1;
    for (int i = 0; i < leaves; ++i) {
      e[i] = extent();
      if (product * e[i] > most) e[i] = 1;
      product *= e[i];
    }
    strides(leaves, e, d);
    for (int i = 0; negative && i < leaves; ++i)
      if (below(4) == 0) d[i] = -d[i];
    Layout out;
    LayoutBuilder builder(&out);
    // Its profile: flat, a scalar, or two leaves nested as a pair.
    const int pair = leaves > 1 && below(2) ? static_cast<int>(below(leaves - 1)) : -1;
    for (int i = 0; i < leaves; ++i) {
      const bool inside = pair >= 0 && (i == pair || i == pair + 1);
      if (leaves == 1 && below(2))
        builder.leaf(e[i], d[i], 0, 0);
      else
        builder.leaf(e[i], d[i], inside ? 2 : 1, inside && i == pair + 1 ? 2 : 1);
    }
    if (!builder.finish().ok()) return layout(most, negative);
    return out;
  }

 private:
  void strides(int leaves, const int64_t* e, int64_t* d) {
    const int64_t kind = below(4);
    int order[4] = {0, 1, 2, 3};
    for (int i = leaves - 1; i > 0; --i) std::swap(order[i], order[below(i + 1)]);
    int64_t running = kind == 1 ? 1 + below(4) : 1;
    for (int i = 0; i < leaves; ++i) {
      const int at = order[i];
      d[at] = kind == 3 ? below(20) : running;
      running *= e[at] + (kind == 2 && below(2) ? below(3) : 0);
      if (below(12) == 0) d[at] = 0;
    }
  }

  std::mt19937_64 engine_;
};

}  // namespace tw::test
