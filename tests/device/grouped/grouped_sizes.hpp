// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped GEMMs whose extents, pitches and addresses suit the wgmma kernels, with groups of given
// sizes.

#include <numeric>

#include "tests/device/grouped/tiles_lab.hpp"

namespace tw::test {

/// Promises addresses that tensor maps can have. Allows only wgmma kernels where there are any.
inline void require_wgmma(const Device& device, GroupedDesc* d) {
  d->a_alignment = d->b_alignment = 16;
  if (device.info().kernel_features & feature::wgmma)
    d->methods = ~uint32_t{kGroupedMma | kGroupedRanges};
}

/// Describes groups of these sizes in the description's form, and sets m, or k of ranges of k.
/// Between groups there are rows without a group, where the form allows it.
inline void group_by_sizes(std::mt19937_64& random, const std::vector<int64_t>& sizes,
                           GroupedCase* c) {
  GroupedDesc& d = c->desc;
  int64_t& extent = c->ranges() ? d.k : d.m;
  std::vector<int64_t>& numbers = c->groups;
  d.groups = static_cast<int64_t>(sizes.size());
  numbers.clear();
  extent = 0;
  switch (d.grouping) {
    case Grouping::one:
      extent = sizes[0];
      return;
    case Grouping::masked:
      d.group_rows = *std::max_element(sizes.begin(), sizes.end()) + pick(random, 1, 3);
      extent = d.groups * d.group_rows;
      numbers = sizes;
      return;
    case Grouping::by_row: {
      std::vector<int64_t> order(sizes.size());
      std::iota(order.begin(), order.end(), int64_t{0});
      std::shuffle(order.begin(), order.end(), random);
      for (const int64_t g : order) {
        numbers.insert(numbers.end(), static_cast<size_t>(pick(random, 0, 1)), -1);
        numbers.insert(numbers.end(), static_cast<size_t>(sizes[size_t(g)]), g);
      }
      numbers.push_back(-1);
      extent = static_cast<int64_t>(numbers.size());
      return;
    }
    case Grouping::offsets:
      numbers.push_back(extent = pick(random, 0, 5));
      break;
    default:
      break;
  }
  const int64_t by = d.grouping == Grouping::psum ? std::max<int64_t>(d.row_alignment, 1) : 1;
  for (const int64_t size : sizes) {
    if (size != 0) extent = (extent + by - 1) / by * by;
    numbers.push_back(extent += size);
  }
  extent += pick(random, 1, 4);
}

/// Replaces numbers whose sums are exact by ones whose sums depend on the order of the additions.
inline void roughen(std::mt19937_64& random, GroupedCase* c) {
  std::uniform_real_distribution<float> uniform(0.5f, 1);
  const auto each = [&](std::vector<float>* values, DType type) {
    for (float& value : *values) value = rounded_to(type, double{value * uniform(random)});
  };
  each(&c->a, c->desc.a_dtype);
  each(&c->b, c->desc.b_type());
  each(&c->row_weights, DType::F32);
}

}  // namespace tw::test
