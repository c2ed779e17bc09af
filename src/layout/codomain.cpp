// SPDX-License-Identifier: Apache-2.0
#include "layout/codomain.hpp"

#include <algorithm>

namespace tw {
namespace {

// The basis elements that a layout uses: a set in ascending order.
struct BasisSet {
  int count = 0;
  Basis path[kMaxLeaves + Layout::kMaxExtra];  // at most one for each stride and each extra term

  void add(Basis basis) {
    Basis* const end = path + count;
    Basis* const at = std::lower_bound(path, end, basis);
    if (at != end && *at == basis) return;
    std::copy_backward(at, end, end + 1);
    *at = basis;
    ++count;
  }
};

Status conflict() {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "stride"},
              "one basis element is used both as a number and as a tuple, such as 1@0 beside "
              "1@0@0");
}

// Appends the leaves of one tuple of the codomain to *out. `prefix` is the basis element of the
// tuple and has `depth` indices. Elements `begin` to `end` - 1 of `used` are those that lie in the
// tuple. `common_level` is the argument of IntTuple::push() for the first leaf.
Status add_elements(const BasisSet& used, int begin, int end, Basis prefix, int depth,
                    int common_level, Codomain* out) {
  for (int index = 0; begin < end; ++index) {
    const Basis element = basis_inner(prefix, depth, index);
    int stop = begin;
    while (stop < end && basis_within(used.path[stop], element, depth + 1)) ++stop;
    // Elements `begin` to `stop` - 1 lie at this index. If there are none, the index becomes a leaf
    // all the same, because the tuple has an element at a higher index.
    const bool is_leaf = stop == begin || used.path[begin] == element;
    if (is_leaf) {
      if (stop > begin + 1) return conflict();
      if (!out->tuple.push(0, depth + 1, common_level))
        return fail(Code::ERROR_CAPACITY, {.argument = "stride", .limit = kMaxLeaves},
                    "the layout gives tuples of more than %d numbers", kMaxLeaves);
      out->path[out->tuple.leaves - 1] = element;
    } else {
      TW_TRY(add_elements(used, begin, stop, element, depth + 1, common_level, out));
    }
    common_level = depth + 1;
    begin = stop;
  }
  return Code::OK;
}

}  // namespace

Status codomain(const Layout& layout, Codomain* out) {
  out->tuple.leaves = 0;
  BasisSet used;
  // A stride of 0 needs no basis element. All others must have one.
  for (int i = 0; i < layout.leaves(); ++i) {
    if (layout.stride[i] == 0) continue;
    if (layout.basis[i] == 0)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "stride", .index = i},
                  "stride %lld of leaf %d is an integer: if other strides are basis elements, the "
                  "only integer allowed is 0",
                  static_cast<long long>(layout.stride[i]), i);
    used.add(layout.basis[i]);
  }
  // Also the terms of the origin, and those of strides that are sums, except their first terms,
  // which are in layout.basis.
  for (int i = 0; i < layout.extra_count; ++i) used.add(layout.extra_term[i].basis);
  if (used.count > 0 && used.path[0] == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "stride"},
                "a sum of strides mixes an integer with basis elements");
  TW_TRY(add_elements(used, 0, used.count, 0, 0, 0, out));
  if (!layout.has_origin()) return Code::OK;
  int origin_numbers = 0;
  for (int i = 0; i < layout.extra_count; ++i) {
    if (layout.extra_leaf[i] != Layout::kOrigin) continue;
    const Basis* const at =
        std::lower_bound(out->path, out->path + out->tuple.leaves, layout.extra_term[i].basis);
    out->tuple.value[at - out->path] = layout.extra_term[i].value;
    ++origin_numbers;
  }
  if (origin_numbers != out->tuple.leaves)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "stride"},
                "a stride points to an element that the origin lacks: the origin has %d numbers, "
                "the strides ask for %d",
                origin_numbers, out->tuple.leaves);
  return Code::OK;
}

}  // namespace tw
