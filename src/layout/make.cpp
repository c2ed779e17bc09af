// SPDX-License-Identifier: Apache-2.0
// Layouts made from shapes.
#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "layout/algebra.hpp"
#include "layout/complement.hpp"

namespace tw {
namespace {

// The next compact stride; the shape's last one may overflow unnoticed, as it is not needed.
Status grow(int64_t* running, int64_t extent) {
  if (checked_mul(*running, extent, running)) return Code::OK;
  return fail(Code::ERROR_OVERFLOW, {.argument = "shape"}, "the size exceeds 64 bits");
}

Status check_extents(const IntTuple& shape) {
  for (int i = 0; i < shape.leaves; ++i)
    if (shape.value[i] < 1)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "shape", .index = i, .got = shape.value[i], .limit = 1},
                  "extent %d of the shape is %lld: extents are at least 1", i,
                  static_cast<long long>(shape.value[i]));
  int64_t size = 0;
  if (product(shape, shape.root(), &size)) return Code::OK;
  return fail(Code::ERROR_OVERFLOW, {.argument = "shape"}, "the size exceeds 64 bits");
}

// One order for each leaf, from an order tuple that may be coarser than the shape.
Status spread_order(const IntTuple& shape, Node node, const IntTuple& order, Node at,
                    int64_t* out) {
  if (order.is_leaf(at)) {
    std::fill(out + node.begin, out + node.end, order.value[at.begin]);
    return Code::OK;
  }
  const int rank = shape.is_leaf(node) ? 0 : shape.rank(node);
  if (rank != order.rank(at))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "order", .got = order.rank(at), .limit = rank},
                "the order has a tuple of %d where the shape has %d modes", order.rank(at), rank);
  Children o(order, at);
  for (Children c(shape, node); c; c.next(), o.next())
    TW_TRY(spread_order(shape, *c, order, *o, out));
  return Code::OK;
}

// Compact strides in rising order; equal orders keep the shape's.
Status compact(const IntTuple& shape, const int64_t* order, IntTuple* stride) {
  *stride = shape;
  uint8_t rank[kMaxLeaves];
  std::iota(rank, rank + shape.leaves, uint8_t{0});
  for (int i = 1; i < shape.leaves; ++i)  // insertion: stable, and the standard one allocates
    for (int k = i; k > 0 && order[rank[k - 1]] > order[rank[k]]; --k)
      std::swap(rank[k - 1], rank[k]);
  int64_t running = 1;
  for (int i = 0; i < shape.leaves; ++i) {
    const int64_t extent = shape.value[rank[i]];
    stride->value[rank[i]] = extent == 1 ? 0 : running;
    TW_TRY(grow(&running, extent));
  }
  return Code::OK;
}

}  // namespace

Status make_layout_left(const IntTuple& shape, Layout* out) {
  TW_TRY(check_extents(shape));
  IntTuple stride;
  TW_TRY(prefix_product(shape, &stride));
  return make_layout(shape, stride, out);
}

Status make_layout_right(const IntTuple& shape, Layout* out) {
  TW_TRY(check_extents(shape));
  IntTuple stride = shape;
  int64_t running = 1;
  for (int i = shape.leaves - 1; i >= 0; --i) {
    stride.value[i] = running;
    running *= shape.value[i];
  }
  return make_layout(shape, stride, out);
}

Status make_ordered_layout(const IntTuple& shape, const IntTuple& order, Layout* out) {
  TW_TRY(check_extents(shape));
  int64_t leaf_order[kMaxLeaves];
  TW_TRY(spread_order(shape, shape.root(), order, order.root(), leaf_order));
  IntTuple stride;
  TW_TRY(compact(shape, leaf_order, &stride));
  return make_layout(shape, stride, out);
}

Status make_layout_like(const Layout& layout, Layout* out) {
  TW_TRY(check_plain(layout, "make_layout_like"));
  IntTuple shape = layout.shape, stride;
  int64_t order[kMaxLeaves];
  for (int i = 0; i < layout.leaves(); ++i) {
    order[i] = layout.stride[i] < 0 ? -layout.stride[i] : layout.stride[i];
    if (layout.stride[i] == 0) shape.value[i] = 1;
  }
  TW_TRY(compact(shape, order, &stride));
  return make_layout(layout.shape, stride, out);
}

namespace {

void put_identity(const IntTuple& shape, Node node, Basis path, int depth, LayoutBuilder* builder,
                  int join) {
  if (shape.is_leaf(node))
    return builder->leaf(shape.value[node.begin], Stride(1, path), node.level, join);
  int index = 0;
  for (Children c(shape, node); c; c.next(), ++index) {
    put_identity(shape, *c, basis_inner(path, depth, index), depth + 1, builder, join);
    join = node.level + 1;
  }
}

}  // namespace

Status make_identity_layout(const IntTuple& shape, Layout* out) {
  if (shape.nesting(shape.root()) > kMaxBasisDepth)
    return fail(Code::ERROR_CAPACITY,
                {.argument = "shape", .got = shape.nesting(shape.root()), .limit = kMaxBasisDepth},
                "the shape has tuples %d deep: basis elements reach %d deep",
                shape.nesting(shape.root()), kMaxBasisDepth);
  LayoutBuilder builder(out);
  if (shape.leaves == 1 && shape.depth[0] == 0)  // the identity on numbers
    builder.leaf(shape.value[0], int64_t{1}, 0, 0);
  else
    put_identity(shape, shape.root(), 0, 0, &builder, 0);
  return builder.finish();
}

Status make_layout_tv(const Layout& threads, const Layout& values, IntTuple* tiler, Layout* out) {
  Layout tile, inverse, sizes;
  TW_TRY(raked_product(threads, values, &tile));
  TW_TRY(right_inverse(tile, &inverse));
  const int64_t extents[] = {size(threads), size(values)};
  TW_TRY(make_flat(2, extents, nullptr, &sizes));
  if (size(inverse) < size(tile))
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "threads"},
                "threads and values do not number the tile's elements one by one: their strides "
                "must be compact");
  TW_TRY(composition(inverse, sizes, out));
  tiler->leaves = 0;
  for (Children c(tile.shape, tile.root()); c; c.next()) tiler->push(size(tile, *c), 1, 1);
  return Code::OK;
}

}  // namespace tw
