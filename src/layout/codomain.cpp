// SPDX-License-Identifier: Apache-2.0
#include "layout/codomain.hpp"

#include <algorithm>
#include <utility>

namespace tw {
namespace {

struct Paths {
  int count = 0;
  Basis path[2 * kMaxLeaves + Layout::kMaxExtra];

  void add(Basis basis) {
    Basis* const at = std::lower_bound(path, path + count, basis);
    if (at != path + count && *at == basis) return;
    path[count] = basis;
    for (Basis* last = path + count++; last != at; --last) std::swap(last[-1], last[0]);
  }
};

Status conflict() {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "stride"},
              "one basis element is used both as a number and as a tuple, such as 1@0 beside "
              "1@0@0");
}

// Adds the elements of one tuple. A position that no stride uses becomes a leaf, too.
Status add_elements(const Paths& paths, int begin, int end, Basis prefix, int depth,
                    int common_level, Codomain* out) {
  for (int index = 0; begin < end; ++index) {
    const Basis element = basis_inner(prefix, depth, index);
    int stop = begin;
    while (stop < end && basis_within(paths.path[stop], element, depth + 1)) ++stop;
    if (stop == begin || paths.path[begin] == element) {
      if (stop > begin + 1) return conflict();
      out->path[std::min(out->tuple.leaves, kMaxLeaves - 1)] = element;
      if (!out->tuple.push(0, depth + 1, common_level))
        return fail(Code::ERROR_CAPACITY, {.argument = "stride", .limit = kMaxLeaves},
                    "the layout gives tuples of more than %d numbers", kMaxLeaves);
    } else {
      TW_TRY(add_elements(paths, begin, stop, element, depth + 1, common_level, out));
    }
    common_level = depth + 1;
    begin = stop;
  }
  return Code::OK;
}

}  // namespace

Status codomain(const Layout& layout, Codomain* out) {
  out->tuple.leaves = 0;
  Paths paths;
  for (int i = 0; i < layout.leaves(); ++i) {
    if (layout.stride[i] == 0) continue;
    if (layout.basis[i] == 0)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "stride", .index = i},
                  "stride %lld of leaf %d is an integer: the only integer that may stand "
                  "beside basis elements is 0",
                  static_cast<long long>(layout.stride[i]), i);
    paths.add(layout.basis[i]);
  }
  const bool has_origin = layout.has_origin();
  for (int i = 0; i < layout.extra_count; ++i) paths.add(layout.extra_term[i].basis);
  if (paths.count > 0 && paths.path[0] == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "stride"},
                "a sum of strides mixes an integer with basis elements");
  TW_TRY(add_elements(paths, 0, paths.count, 0, 0, 0, out));
  if (!has_origin) return Code::OK;
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
