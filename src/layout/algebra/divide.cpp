// SPDX-License-Identifier: Apache-2.0
// logical_divide(A, B) = A o (B, complement(B, size(A))): the first mode is one tile, the second
// steps from tile to tile. The other divides arrange the same modes differently:
//   logical  ((tile_0,rest_0),(tile_1,rest_1),...)      zipped  ((tile_0,...),(rest_0,...))
//   tiled    ((tile_0,...),rest_0,...)                   flat    (tile_0,...,rest_0,...)
// Modes beyond the tiler's rank are kept after the rest. The result covers every index of A.
#include "layout/algebra/divide.hpp"

#include "base/checked.hpp"
#include "layout/algebra/compose.hpp"
#include "layout/algebra/inverse.hpp"

namespace tw {
namespace {

Status rank_too_large(const Tiler& tiler, Node at, int rank) {
  const int wanted = tiler.body.shape.rank(at);
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tiler", .got = wanted, .limit = rank},
              "the tiler has %d entries where the layout has %d mode%s", wanted, rank,
              rank == 1 ? "" : "s");
}

// Applies CuTe's condition on a tile's strides to modes of extent 1, whose strides do not affect
// the composed function: divided by the layout's extents from the left, the stride must leave no
// remainder until it is below an extent.
Status check_single(const Layout& layout, Node node, const Layout& tile, Node at) {
  Radix radix;
  radix.coalesce_from(layout, node);
  for (int i = at.begin; i < at.end; ++i) {
    if (tile.shape.value[i] != 1) continue;
    int64_t rest = tile.stride[i];
    for (int k = 0; k + 1 < radix.count && rest >= radix.extent[k]; ++k) {
      if (rest % radix.extent[k] != 0)
        return fail(
            Code::ERROR_NOT_A_LAYOUT,
            {.argument = "tiler", .index = i, .got = tile.stride[i], .limit = radix.extent[k]},
            "the stride of the tile's mode 1:%lld does not lead to the beginning of a mode of the "
            "layout",
            static_cast<long long>(tile.stride[i]));
      rest /= radix.extent[k];
    }
  }
  return Code::OK;
}

// Fails if some coordinates would be in no tile, which CuTe accepts silently: if a stride of the
// tile is no multiple of the range of its modes with smaller strides, no mode of the complement
// covers the gap. Gaps past the layout's end are harmless.
Status check_covered(int64_t extent, const Layout& tile, Node at) {
  SortedModes sorted;
  TW_TRY(sort_modes(tile, at, &sorted));
  int64_t reach = 1;
  for (int i = 0; i < sorted.count; ++i) {
    const SortedMode& mode = sorted.mode[i];
    const int64_t gap = mode.stride - mode.stride % reach;  // the first coordinate of a gap
    if (gap >= extent) return Code::OK;
    if (mode.stride > reach && gap != mode.stride)
      return fail(Code::ERROR_NOT_A_LAYOUT,
                  {.argument = "tiler", .got = mode.stride, .limit = reach},
                  "the tile's mode %lld:%lld would leave coordinate %lld of the layout in no tile, "
                  "for its modes of smaller stride reach to %lld: make the stride a multiple of "
                  "%lld",
                  static_cast<long long>(mode.extent), static_cast<long long>(mode.stride),
                  static_cast<long long>(gap), static_cast<long long>(reach),
                  static_cast<long long>(reach));
    // On overflow, put_complement() fails later.
    if (!checked_mul(mode.extent, mode.stride, &reach)) return Code::OK;
  }
  return Code::OK;
}

// The builders for the tile modes and the rest modes.
struct Parts {
  LayoutBuilder* tile;
  LayoutBuilder* rest;
};

Status divide_mode(const Layout& layout, Node node, const Tiler& tiler, Node at, Parts parts,
                   int level, int tile_common_level, int rest_common_level) {
  const Layout& b = tiler.body;
  if (tiler.is_free(at))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tiler"},
                "`_` keeps a mode undivided, and this divide needs a tile of every mode: write the "
                "mode's extent for one tile, or use logical_divide");
  if (b.shape.is_leaf(at) && b.stride[at.begin] == 1 && layout.shape.is_leaf(node) &&
      !layout.has_basis_strides) {
    // Fast path: a tile n:1 of a single mode s:d needs no composition.
    const int64_t s = layout.shape.value[node.begin], d = layout.stride[node.begin];
    const int64_t n = b.shape.value[at.begin], tiles = s / n + (s % n != 0);
    int64_t step = 0;
    if (!checked_mul(n, d, &step))
      return fail(Code::ERROR_OVERFLOW, {.argument = "tiler"}, "the tile exceeds 64 bits");
    parts.tile->leaf(n, n == 1 ? 0 : d, level, tile_common_level);
    parts.rest->leaf(tiles, tiles == 1 ? 0 : step, level, rest_common_level);
    return Code::OK;
  }
  TW_TRY(check_single(layout, node, b, at));
  TW_TRY(check_covered(size(layout, node), b, at));
  Layout both, pair;
  LayoutBuilder builder(&both);
  builder.subtree(b, at, 1, 1);
  TW_TRY(put_complement(b, at, size(layout, node), Beyond::nothing, 1, 1, &builder));
  TW_TRY(builder.finish());
  LayoutBuilder composed(&pair);
  TW_TRY(compose(layout, node, both, both.root(), 0, 0, &composed));
  TW_TRY(composed.finish());
  parts.tile->subtree(pair, pair.mode(0), level, tile_common_level);
  parts.rest->subtree(pair, pair.mode(1), level, rest_common_level);
  return Code::OK;
}

Status divide_tuple(const Layout& layout, Node node, const Tiler& tiler, Node at, Parts parts,
                    int level, int tile_common_level, int rest_common_level) {
  if (!tiler.is_tuple(at))
    return divide_mode(layout, node, tiler, at, parts, level, tile_common_level, rest_common_level);
  if (tiler.body.shape.rank(at) > layout.shape.rank(node))
    return rank_too_large(tiler, at, layout.shape.rank(node));
  Children entry(tiler.body.shape, at);
  for (Children c(layout.shape, node); c; c.next()) {
    if (entry) {
      TW_TRY(divide_tuple(layout, *c, tiler, *entry, parts, level + 1, tile_common_level,
                          rest_common_level));
      tile_common_level = level + 1;
      entry.next();
    } else {
      parts.rest->subtree(layout, *c, level + 1, rest_common_level);
    }
    rest_common_level = level + 1;
  }
  return Code::OK;
}

// Makes the layout of all tile modes and the layout of all rest modes.
Status divide(const Layout& layout, const Tiler& tiler, Layout* tile, Layout* rest) {
  LayoutBuilder tile_builder(tile), rest_builder(rest);
  TW_TRY(divide_tuple(layout, layout.root(), tiler, tiler.root(), {&tile_builder, &rest_builder}, 0,
                      0, 0));
  TW_TRY(tile_builder.finish());
  return rest_builder.finish();
}

Status divide_logically(const Layout& layout, Node node, const Tiler& tiler, Node at, int level,
                        int common_level, LayoutBuilder* builder) {
  if (tiler.is_free(at)) {
    builder->subtree(layout, node, level, common_level);
    return Code::OK;
  }
  if (!tiler.is_tuple(at)) {
    Layout tile, rest;
    LayoutBuilder tile_builder(&tile), rest_builder(&rest);
    TW_TRY(divide_mode(layout, node, tiler, at, {&tile_builder, &rest_builder}, 0, 0, 0));
    TW_TRY(tile_builder.finish());
    TW_TRY(rest_builder.finish());
    builder->subtree(tile, tile.root(), level + 1, common_level);
    builder->subtree(rest, rest.root(), level + 1, level + 1);
    return Code::OK;
  }
  if (tiler.body.shape.rank(at) > layout.shape.rank(node))
    return rank_too_large(tiler, at, layout.shape.rank(node));
  Children entry(tiler.body.shape, at);
  for (Children c(layout.shape, node); c; c.next()) {
    if (entry) {
      TW_TRY(divide_logically(layout, *c, tiler, *entry, level + 1, common_level, builder));
      entry.next();
    } else {
      builder->subtree(layout, *c, level + 1, common_level);
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

}  // namespace

Status logical_divide(const Layout& layout, const Tiler& tiler, Layout* out) {
  LayoutBuilder builder(out);
  TW_TRY(divide_logically(layout, layout.root(), tiler, tiler.root(), 0, 0, &builder));
  builder.copy_frame(layout);
  return builder.finish();
}

Status zipped_divide(const Layout& layout, const Tiler& tiler, Layout* out) {
  Layout tile, rest;
  TW_TRY(divide(layout, tiler, &tile, &rest));
  LayoutBuilder builder(out);
  builder.subtree(tile, tile.root(), 1, 1);
  builder.subtree(rest, rest.root(), 1, 1);
  builder.copy_frame(layout);
  return builder.finish();
}

Status tiled_divide(const Layout& layout, const Tiler& tiler, Layout* out) {
  Layout tile, rest;
  TW_TRY(divide(layout, tiler, &tile, &rest));
  LayoutBuilder builder(out);
  builder.subtree(tile, tile.root(), 1, 1);
  put_modes(rest, &builder);
  builder.copy_frame(layout);
  return builder.finish();
}

Status flat_divide(const Layout& layout, const Tiler& tiler, Layout* out) {
  Layout tile, rest;
  TW_TRY(divide(layout, tiler, &tile, &rest));
  LayoutBuilder builder(out);
  put_modes(tile, &builder);
  put_modes(rest, &builder);
  builder.copy_frame(layout);
  return builder.finish();
}

}  // namespace tw
