// SPDX-License-Identifier: Apache-2.0
#include "layout/coordinate.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "layout/codomain.hpp"
#include "layout/digit.hpp"
#include "layout/search.hpp"

namespace tw {
namespace {

// Splits a linear coordinate into one number per leaf. The last leaf takes the whole remaining
// quotient.
inline void digits(const IntTuple& shape, Node node, int64_t linear, int64_t* flat) {
  for (int i = node.begin; i + 1 < node.end; ++i) {
    const Digit d = divide(linear, shape.value[i]);
    flat[i] = d.remainder;
    linear = d.quotient;
  }
  if (node.leaves() > 0) flat[node.end - 1] = linear;
}

Status out_of_extent(int64_t value, int64_t extent, int at) {
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "coord", .index = at, .got = value, .limit = extent - 1},
              "coord[%d] is %lld, outside its extent: 0 to %lld", at, static_cast<long long>(value),
              static_cast<long long>(extent - 1));
}

Status wrong_count(const Layout& layout, int count) {
  return fail(
      Code::ERROR_INVALID_ARGUMENT, {.argument = "count", .got = count},
      "count is %d: a coordinate of this layout has 1 number (linear), %d (one per mode) or %d "
      "(one per leaf)",
      count, layout.rank(), layout.leaves());
}

Status negative(int64_t linear) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "coord", .index = 0, .got = linear},
              "the linear coordinate is %lld: it counts from 0", static_cast<long long>(linear));
}

bool dot(const Layout& layout, const int64_t* flat, int64_t* out) {
  int64_t sum = layout.offset;
  for (int i = 0; i < layout.leaves(); ++i) {
    int64_t term = 0;
    if (!checked_mul(flat[i], layout.stride[i], &term) || !checked_add(sum, term, &sum))
      return false;
  }
  *out = layout.swizzle(sum);
  return true;
}

Status past_end() {
  return fail(Code::ERROR_OVERFLOW, {.argument = "coord"},
              "the coordinate lies so far past the end that its index exceeds 64 bits");
}

Status gives_tuples() {
  return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
              "the layout gives coordinates (basis strides), not an index: use crd2crd");
}

Status flatten(const IntTuple& shape, Node node, const IntTuple& coord, Node at, bool top,
               int64_t* flat) {
  if (coord.is_leaf(at)) {
    const int64_t value = coord.value[at.begin];
    if (value == kFree)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "coord", .index = at.begin},
                  "the coordinate keeps a mode free (_): slice the layout instead");
    if (top && value < 0) return negative(value);
    int64_t extent = 0;
    if (!top && product(shape, node, &extent) && (value < 0 || value >= extent))
      return out_of_extent(value, extent, at.begin);
    digits(shape, node, value, flat);
    return Code::OK;
  }
  if (shape.is_leaf(node) || shape.rank(node) != coord.rank(at))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "coord",
                 .got = coord.rank(at),
                 .limit = shape.is_leaf(node) ? 0 : shape.rank(node)},
                "the coordinate has a tuple of %d where the shape has %s %d", coord.rank(at),
                shape.is_leaf(node) ? "the integer" : "a tuple of",
                shape.is_leaf(node) ? static_cast<int>(shape.value[node.begin]) : shape.rank(node));
  Children s(shape, node);
  for (Children c(coord, at); c; c.next(), s.next())
    TW_TRY(flatten(shape, *s, coord, *c, false, flat));
  return Code::OK;
}

Status to_tuple(const Layout& layout, const int64_t* flat, IntTuple* out) {
  Codomain range;
  TW_TRY(codomain(layout, &range));
  *out = range.tuple;
  for (int i = 0; i < layout.leaves(); ++i) {
    const Stride stride = layout.stride_of(i);
    for (int t = 0; t < stride.count; ++t) {
      const auto at =
          std::lower_bound(range.path, range.path + out->leaves, stride.term[t].basis) - range.path;
      int64_t term = 0;
      if (!checked_mul(flat[i], stride.term[t].value, &term) ||
          !checked_add(out->value[at], term, &out->value[at]))
        return past_end();
    }
  }
  return Code::OK;
}

}  // namespace

Status flatten_coord(const Layout& layout, const int64_t* coord, int count, int64_t* flat) {
  const IntTuple& shape = layout.shape;
  if (count == 1) {
    const int64_t extent = size(layout);
    if (coord[0] < 0 || coord[0] >= extent) return out_of_extent(coord[0], extent, 0);
    digits(shape, shape.root(), coord[0], flat);
    return Code::OK;
  }
  if (count == shape.leaves) {
    for (int i = 0; i < count; ++i) {
      if (coord[i] < 0 || coord[i] >= shape.value[i])
        return out_of_extent(coord[i], shape.value[i], i);
      flat[i] = coord[i];
    }
    return Code::OK;
  }
  if (count != layout.rank()) return wrong_count(layout, count);
  int at = 0;
  for (Children c(shape, shape.root()); c; c.next(), ++at) {
    const int64_t extent = size(layout, *c);
    if (coord[at] < 0 || coord[at] >= extent) return out_of_extent(coord[at], extent, at);
    digits(shape, *c, coord[at], flat);
  }
  return Code::OK;
}

Status flatten_coord(const Layout& layout, const IntTuple& coord, int64_t* flat) {
  return flatten(layout.shape, layout.root(), coord, coord.root(), true, flat);
}

Status crd2idx(const Layout& layout, const int64_t* coord, int count, int64_t* index) {
  *index = 0;
  if (layout.has_basis_strides) return gives_tuples();
  int64_t flat[kMaxLeaves];
  TW_TRY(flatten_coord(layout, coord, count, flat));
  return dot(layout, flat, index) ? Status() : past_end();
}

Status crd2idx(const Layout& layout, const IntTuple& coord, int64_t* index) {
  *index = 0;
  if (layout.has_basis_strides) return gives_tuples();
  int64_t flat[kMaxLeaves];
  TW_TRY(flatten_coord(layout, coord, flat));
  return dot(layout, flat, index) ? Status() : past_end();
}

Status crd2crd(const Layout& layout, const int64_t* coord, int count, int64_t* out, int* written) {
  *written = 0;
  if (!layout.has_basis_strides) {
    TW_TRY(crd2idx(layout, coord, count, out));
    *written = 1;
    return Code::OK;
  }
  int64_t flat[kMaxLeaves];
  TW_TRY(flatten_coord(layout, coord, count, flat));
  IntTuple tuple;
  TW_TRY(to_tuple(layout, flat, &tuple));
  std::copy_n(tuple.value, tuple.leaves, out);
  *written = tuple.leaves;
  return Code::OK;
}

Status crd2crd(const Layout& layout, const IntTuple& coord, IntTuple* out) {
  int64_t flat[kMaxLeaves];
  TW_TRY(flatten_coord(layout, coord, flat));
  if (layout.has_basis_strides) return to_tuple(layout, flat, out);
  out->leaves = 0;
  int64_t index = 0;
  if (!dot(layout, flat, &index)) return past_end();
  out->push(index, 0, 0);
  return Code::OK;
}

Status idx2crd(const IntTuple& shape, int64_t linear, IntTuple* out) {
  int64_t total = 0;
  if (!product(shape, shape.root(), &total))
    return fail(Code::ERROR_OVERFLOW, {.argument = "shape"}, "the size exceeds 64 bits");
  if (linear < 0 || linear >= total)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "linear", .got = linear, .limit = total - 1},
                "linear coordinate %lld is outside the shape: 0 to %lld",
                static_cast<long long>(linear), static_cast<long long>(total - 1));
  *out = shape;
  digits(shape, shape.root(), linear, out->value);
  return Code::OK;
}

bool linear_value(const Layout& layout, Node node, int64_t linear, int64_t* out) {
  int64_t sum = 0;
  for (int i = node.begin; i < node.end; ++i) {
    Digit d{.quotient = 0, .remainder = linear};
    if (i + 1 < node.end) d = divide(linear, layout.shape.value[i]);
    int64_t term = 0;
    if (!checked_mul(d.remainder, layout.stride[i], &term) || !checked_add(sum, term, &sum))
      return false;
    linear = d.quotient;
  }
  *out = sum;
  return true;
}

bool linear_value(const Layout& layout, Node node, int64_t linear, Stride* out) {
  *out = Stride();
  for (int i = node.begin; i < node.end; ++i) {
    Digit d{.quotient = 0, .remainder = linear};
    if (i + 1 < node.end) d = divide(linear, layout.shape.value[i]);
    if (!add_scaled(out, layout.stride_of(i), d.remainder)) return false;
    linear = d.quotient;
  }
  return true;
}

Status find(const Layout& layout, int64_t index, int64_t* linear) {
  int64_t budget = Search::kMaxSteps;
  return find(layout, index, &budget, linear);
}

Status find(const Layout& layout, int64_t index, int64_t* budget, int64_t* linear) {
  *linear = 0;
  if (layout.has_basis_strides)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "the layout gives coordinates (basis strides): there is no index to look for");
  Search search;
  for (int i = 0; i < layout.leaves(); ++i) search.add(layout.shape.value[i], layout.stride[i]);
  search.max_steps = *budget;
  const bool found = search.solve(Wide{layout.swizzle(index)} - layout.offset);
  *budget -= std::min(search.steps, *budget);
  if (!found) {
    if (search.gave_up())
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout", .limit = search.max_steps},
                  "the layout's modes overlap so much that looking for index %lld was given up "
                  "after %lld steps",
                  static_cast<long long>(index), static_cast<long long>(search.max_steps));
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
