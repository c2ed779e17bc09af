// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/make.hpp"

#include "base/checked.hpp"
#include "layout/algebra/composition.hpp"
#include "layout/algebra/inverse.hpp"
#include "layout/algebra/product.hpp"

namespace tw {
namespace {

Status too_large() {
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
  return product(shape, shape.root(), &size) ? Status() : too_large();
}

// The subtree of a shape that one number of an order refers to.
struct Unit {
  Node node;
  int64_t order;
  int64_t size;
};
struct Units {
  int count = 0;
  Unit unit[kMaxLeaves];
};

Status read_units(const IntTuple& shape, Node node, const IntTuple& order, Node at, Units* out) {
  if (order.is_leaf(at)) {
    int64_t size = 0;
    if (!product(shape, node, &size)) return too_large();
    out->unit[out->count++] = {node, order.value[at.begin], size};
    return Code::OK;
  }
  const int rank = shape.is_leaf(node) ? 0 : shape.rank(node);
  if (rank != order.rank(at))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "order", .got = order.rank(at), .limit = rank},
                "the order has a tuple of %d where the shape has %d modes", order.rank(at), rank);
  Children o(order, at);
  for (Children c(shape, node); c; c.next(), o.next())
    TW_TRY(read_units(shape, *c, order, *o, out));
  return Code::OK;
}

// A unit's first stride is the product of the sizes of all units with a smaller order. So, as in
// CuTe, equal orders share a stride. Inside a unit strides are column-major.
Status compact(const IntTuple& shape, const Units& units, IntTuple* stride) {
  *stride = shape;
  for (int i = 0; i < units.count; ++i) {
    const Unit& unit = units.unit[i];
    int64_t running = 1;
    for (int k = 0; k < units.count; ++k)
      if (units.unit[k].order < unit.order && !checked_mul(running, units.unit[k].size, &running))
        return too_large();
    for (int leaf = unit.node.begin; leaf < unit.node.end; ++leaf) {
      stride->value[leaf] = shape.value[leaf] == 1 ? 0 : running;
      if (!checked_mul(running, shape.value[leaf], &running)) return too_large();
    }
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
  Units units;
  TW_TRY(read_units(shape, shape.root(), order, order.root(), &units));
  IntTuple stride;
  TW_TRY(compact(shape, units, &stride));
  return make_layout(shape, stride, out);
}

Status make_layout_like(const Layout& layout, Layout* out) {
  TW_TRY(check_plain(layout, "make_layout_like"));
  IntTuple shape = layout.shape, stride;
  Units units;
  for (int i = 0; i < layout.leaves(); ++i) {
    const int64_t d = layout.stride[i];
    if (d == 0) shape.value[i] = 1;
    units.unit[units.count++] = {{i, i + 1, 0}, d < 0 ? -d : d, shape.value[i]};
  }
  TW_TRY(compact(shape, units, &stride));
  return make_layout(layout.shape, stride, out);
}

namespace {

void put_identity(const IntTuple& shape, Node node, Basis path, int depth, LayoutBuilder* builder,
                  int common_level) {
  if (shape.is_leaf(node))
    return builder->leaf(shape.value[node.begin], Stride(1, path), node.level, common_level);
  int index = 0;
  for (Children c(shape, node); c; c.next(), ++index) {
    put_identity(shape, *c, basis_inner(path, depth, index), depth + 1, builder, common_level);
    common_level = node.level + 1;
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
  if (shape.leaves == 1 && shape.depth[0] == 0)  // the identity on integers
    builder.leaf(shape.value[0], int64_t{1}, 0, 0);
  else
    put_identity(shape, shape.root(), 0, 0, &builder, 0);
  return builder.finish();
}

Status make_layout_tv(const Layout& threads, const Layout& values, IntTuple* tile_shape,
                      Layout* out) {
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
  tile_shape->leaves = 0;
  for (Children c(tile.shape, tile.root()); c; c.next()) tile_shape->push(size(tile, *c), 1, 1);
  return Code::OK;
}

Status swizzled(const Layout& layout, const BitSwizzle& swizzle, Layout* out) {
  TW_TRY(check(swizzle));
  if (!layout.swizzle.is_identity())
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "layout"},
                "the layout is swizzled already: one swizzle after another is no swizzled layout");
  *out = layout;
  out->swizzle = swizzle;
  return validate(*out);
}

}  // namespace tw
