// SPDX-License-Identifier: Apache-2.0
// logical_product(A, B) = (A, complement(A, size(A) * cosize(B)) o B): the first mode is A, the
// second steps from copy to copy in B's order, through the indices that A does not use. The other
// products arrange the same modes differently, as the divides do. Blocked and raked products pair
// the modes a_i of A with the modes c_i of the copies, the second mode of the logical product:
//   blocked  ((a_0,c_0),(a_1,c_1),...)      raked  ((c_0,a_0),(c_1,a_1),...)
#include "layout/algebra/product.hpp"

#include "base/checked.hpp"
#include "layout/algebra/compose.hpp"
#include "layout/algebra/inverse.hpp"
#include "layout/algebra/make.hpp"

namespace tw {
namespace {

Status overflow() {
  return fail(Code::ERROR_OVERFLOW, {.argument = "tiler"}, "the product exceeds 64 bits");
}

// As in CuTe, each mode of B must meet the two conditions of Radix::admits() with the complement.
// Some modes that do not meet them would also give a layout, but CuTe refuses them.
Status check_copies(const Layout& complement_of_a, const Layout& b, Node at) {
  Radix radix;
  radix.coalesce_from(complement_of_a, complement_of_a.root());
  for (int i = at.begin; i < at.end; ++i)
    if (!radix.admits(b.shape.value[i], b.stride[i]))
      return fail(
          Code::ERROR_NOT_A_LAYOUT, {.argument = "tiler", .index = i, .got = b.stride[i]},
          "mode %lld:%lld of the tiler does not step evenly through the modes of the layout's "
          "complement: at each of these but the last, the tiler's remaining stride must be less "
          "than the extent of the complement's mode or a multiple of it, and the tiler's remaining "
          "number of steps must be a multiple of the number of steps inside that mode",
          static_cast<long long>(b.shape.value[i]), static_cast<long long>(b.stride[i]));
  return Code::OK;
}

// Appends the modes that step between the copies of a subtree of A.
Status put_copies(const Layout& a, Node node, const Layout& b, Node at, int level, int common_level,
                  LayoutBuilder* builder) {
  int64_t cosize = 1, room = 0;
  for (int i = at.begin; i < at.end; ++i) {
    if (b.stride[i] < 0)
      return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "tiler", .index = i, .got = b.stride[i]},
                  "stride %lld of the tiler is negative: there are no copies before the first",
                  static_cast<long long>(b.stride[i]));
    cosize += (b.shape.value[i] - 1) * b.stride[i];
  }
  if (!checked_mul(size(a, node), cosize, &room)) return overflow();
  Layout complement_of_a;
  LayoutBuilder complement_builder(&complement_of_a);
  TW_TRY(put_complement(a, node, room, Beyond::continues, 0, 0, &complement_builder));
  TW_TRY(complement_builder.finish());
  TW_TRY(check_copies(complement_of_a, b, at));
  return compose(complement_of_a, complement_of_a.root(), b, at, level, common_level, builder);
}

Status check_entries(const Tiler& tiler, Node at, const Layout& layout, Node node) {
  const int wanted = tiler.body.shape.rank(at), rank = layout.shape.rank(node);
  if (wanted > rank)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tiler", .got = wanted, .limit = rank},
                "the tiler has %d entries where the layout has %d mode%s", wanted, rank,
                rank == 1 ? "" : "s");
  return Code::OK;
}

// Appends the modes of A that have an entry in the tiler to `first`, and the modes of their copies
// to `second`. A `_` makes one copy. As in CuTe, modes of A without an entry are appended to
// `second` too.
Status multiply(const Layout& a, Node node, const Tiler& tiler, Node at, LayoutBuilder* first,
                LayoutBuilder* second, int level, int first_common_level, int second_common_level) {
  if (tiler.is_free(at)) {
    first->subtree(a, node, level, first_common_level);
    second->leaf(1, int64_t{0}, level, second_common_level);
    return Code::OK;
  }
  if (!tiler.is_tuple(at)) {
    first->subtree(a, node, level, first_common_level);
    return put_copies(a, node, tiler.body, at, level, second_common_level, second);
  }
  TW_TRY(check_entries(tiler, at, a, node));
  Children entry(tiler.body.shape, at);
  for (Children c(a.shape, node); c; c.next()) {
    if (entry) {
      TW_TRY(multiply(a, *c, tiler, *entry, first, second, level + 1, first_common_level,
                      second_common_level));
      first_common_level = level + 1;
      entry.next();
    } else {
      second->subtree(a, *c, level + 1, second_common_level);
    }
    second_common_level = level + 1;
  }
  return Code::OK;
}

Status multiply(const Layout& a, const Tiler& tiler, Layout* first, Layout* second) {
  TW_TRY(check_plain(a, "a product"));
  LayoutBuilder first_builder(first), second_builder(second);
  TW_TRY(multiply(a, a.root(), tiler, tiler.root(), &first_builder, &second_builder, 0, 0, 0));
  TW_TRY(first_builder.finish());
  return second_builder.finish();
}

Status multiply_logically(const Layout& a, Node node, const Tiler& tiler, Node at, int level,
                          int common_level, LayoutBuilder* builder) {
  if (tiler.is_free(at)) {
    builder->subtree(a, node, level, common_level);
    return Code::OK;
  }
  if (!tiler.is_tuple(at)) {
    builder->subtree(a, node, level + 1, common_level);
    return put_copies(a, node, tiler.body, at, level + 1, level + 1, builder);
  }
  TW_TRY(check_entries(tiler, at, a, node));
  Children entry(tiler.body.shape, at);
  for (Children c(a.shape, node); c; c.next()) {
    if (entry) {
      TW_TRY(multiply_logically(a, *c, tiler, *entry, level + 1, common_level, builder));
      entry.next();
    } else {
      builder->subtree(a, *c, level + 1, common_level);
    }
    common_level = level + 1;
  }
  return Code::OK;
}

// As in CuTe, a layout with a single mode is appended as it is, even if that mode is a tuple.
void put_modes(const Layout& layout, LayoutBuilder* builder) {
  if (layout.rank() == 1) return builder->subtree(layout, layout.root(), 1, 1);
  for (Children c(layout.shape, layout.root()); c; c.next()) builder->subtree(layout, *c, 1, 1);
}

// Pairs A's modes with the modes of the copies. The one with fewer modes is padded with 1:0.
Status interleave(const Layout& a, const Layout& b, bool raked, Layout* out) {
  TW_TRY(check_plain(a, "a product"));
  TW_TRY(check_plain(b, "a product"));
  Layout copies;
  LayoutBuilder copies_builder(&copies);
  TW_TRY(put_copies(a, a.root(), b, b.root(), 0, 0, &copies_builder));
  TW_TRY(copies_builder.finish());
  // compose() keeps B's modes, but each of them may become a tuple. If B's shape is an integer, the
  // whole layout of the copies is one mode, even if it is a tuple.
  const bool one = b.shape.is_leaf(b.root());
  LayoutBuilder builder(out);
  Children ca(a.shape, a.root()), cc(copies.shape, copies.root());
  const auto put_copy = [&](int common_level) {
    if (one) {
      if (cc)
        builder.subtree(copies, copies.root(), 2, common_level);
      else
        builder.leaf(1, int64_t{0}, 2, common_level);
      while (cc) cc.next();
    } else if (cc) {
      builder.subtree(copies, *cc, 2, common_level);
      cc.next();
    } else {
      builder.leaf(1, int64_t{0}, 2, common_level);
    }
  };
  const auto put_a = [&](int common_level) {
    if (ca) {
      builder.subtree(a, *ca, 2, common_level);
      ca.next();
    } else {
      builder.leaf(1, int64_t{0}, 2, common_level);
    }
  };
  while (ca || cc) {
    if (raked) {
      put_copy(1);
      put_a(2);
    } else {
      put_a(1);
      put_copy(2);
    }
  }
  return builder.finish();
}

}  // namespace

Status logical_product(const Layout& a, const Tiler& tiler, Layout* out) {
  TW_TRY(check_plain(a, "logical_product"));
  LayoutBuilder builder(out);
  TW_TRY(multiply_logically(a, a.root(), tiler, tiler.root(), 0, 0, &builder));
  return builder.finish();
}

Status zipped_product(const Layout& a, const Tiler& tiler, Layout* out) {
  Layout first, second;
  TW_TRY(multiply(a, tiler, &first, &second));
  LayoutBuilder builder(out);
  builder.subtree(first, first.root(), 1, 1);
  builder.subtree(second, second.root(), 1, 1);
  return builder.finish();
}

Status tiled_product(const Layout& a, const Tiler& tiler, Layout* out) {
  Layout first, second;
  TW_TRY(multiply(a, tiler, &first, &second));
  LayoutBuilder builder(out);
  builder.subtree(first, first.root(), 1, 1);
  put_modes(second, &builder);
  return builder.finish();
}

Status flat_product(const Layout& a, const Tiler& tiler, Layout* out) {
  Layout first, second;
  TW_TRY(multiply(a, tiler, &first, &second));
  LayoutBuilder builder(out);
  put_modes(first, &builder);
  put_modes(second, &builder);
  return builder.finish();
}

Status blocked_product(const Layout& a, const Layout& b, Layout* out) {
  return interleave(a, b, false, out);
}

Status raked_product(const Layout& a, const Layout& b, Layout* out) {
  return interleave(a, b, true, out);
}

Status tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple* order,
                     Layout* out) {
  Layout inner = block;
  inner.swizzle = {};
  inner.offset = 0;
  TW_TRY(check_plain(inner, "tile_to_shape"));
  const int rank = shape.rank(shape.root());
  if (block.rank() > rank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "shape", .got = rank, .limit = block.rank()},
                "the block has rank %d, the shape only %d", block.rank(), rank);
  IntTuple blocks;
  const int level = shape.is_leaf(shape.root()) ? 0 : 1;
  Children c(inner.shape, inner.root());
  for (Children s(shape, shape.root()); s; s.next()) {
    int64_t extent = 0, have = 1;
    if (!product(shape, *s, &extent)) return overflow();
    if (c) {
      have = size(inner, *c);
      c.next();
    }
    if (extent < 1)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "shape", .got = extent, .limit = 1},
                  "the shape has an extent %lld: extents are at least 1",
                  static_cast<long long>(extent));
    blocks.push(extent / have + (extent % have != 0), level, level);
  }
  Layout grid;
  if (order)
    TW_TRY(make_ordered_layout(blocks, *order, &grid));
  else
    TW_TRY(make_layout_left(blocks, &grid));
  // The block's modes in a tuple, also if its shape is an integer. interleave() adds the modes that
  // the shape has in addition.
  Layout as_tuple;
  LayoutBuilder tuple_builder(&as_tuple);
  for (Children m(inner.shape, inner.root()); m; m.next()) tuple_builder.subtree(inner, *m, 1, 1);
  TW_TRY(tuple_builder.finish());
  TW_TRY(blocked_product(as_tuple, grid, out));
  out->swizzle = block.swizzle;
  out->offset = block.offset;
  return validate(*out);
}

}  // namespace tw
