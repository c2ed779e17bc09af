// SPDX-License-Identifier: Apache-2.0
#include "layout/coordinate.hpp"
#include "layout/search.hpp"

namespace tw {

Status find(const Layout& layout, int64_t index, int64_t* linear) {
  *linear = 0;
  if (layout.coordinates)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "the layout gives coordinates (basis strides): there is no index to look for");
  Search search;
  for (int i = 0; i < layout.leaves(); ++i) search.add(layout.shape.value[i], layout.stride[i]);
  if (!search.solve(Wide{layout.swizzle(index)} - layout.offset)) {
    if (search.gave_up())
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout", .limit = Search::kMaxSteps},
                  "the layout's modes overlap so much that looking for index %lld was given up "
                  "after %lld steps",
                  static_cast<long long>(index), static_cast<long long>(Search::kMaxSteps));
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
