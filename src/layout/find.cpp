// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "layout/coordinate.hpp"
#include "layout/search.hpp"

namespace tw {

Status find(const Layout& layout, int64_t index, int64_t* linear) {
  int64_t budget = Search::kMaxSteps;
  return find(layout, index, &budget, linear);
}

Status find(const Layout& layout, int64_t index, int64_t* budget, int64_t* linear) {
  *linear = 0;
  if (layout.coordinates)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "the layout gives coordinates (basis strides): there is no index to look for");
  Search search;
  for (int i = 0; i < layout.leaves(); ++i) search.add(layout.shape.value[i], layout.stride[i]);
  search.most_steps = *budget;
  const bool found = search.solve(Wide{layout.swizzle(index)} - layout.offset);
  *budget -= std::min(search.steps, *budget);
  if (!found) {
    if (search.gave_up())
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout", .limit = search.most_steps},
                  "the layout's modes overlap so much that looking for index %lld was given up "
                  "after %lld steps",
                  static_cast<long long>(index), static_cast<long long>(search.most_steps));
    return fail(Code::ERROR_NOT_FOUND, {.argument = "index", .got = index},
                "no coordinate has index %lld", static_cast<long long>(index));
  }
  int64_t weight = 1;
  for (int i = 0; i < layout.leaves(); ++i) {
    *linear += search.found[i] * weight;
    weight *= layout.shape.value[i];
  }
  return Code::OK;
}

}  // namespace tw
