// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/slice.hpp"

#include "layout/algebra/compose.hpp"
#include "layout/algebra/divide.hpp"
#include "layout/coordinate.hpp"

namespace tw {
namespace {

Status mismatch(const Layout& layout, Node node, const IntTuple& coord, Node at) {
  const int rank = layout.shape.is_leaf(node) ? 0 : layout.shape.rank(node);
  return fail(
      Code::ERROR_INVALID_ARGUMENT, {.argument = "coord", .got = coord.rank(at), .limit = rank},
      "the coordinate has a tuple of %d where the layout has %d modes", coord.rank(at), rank);
}

// The result of select_modes(): the kept modes, and the fixed coordinate of each leaf.
struct ModeSelection {
  int count = 0;
  Node kept[kMaxLeaves];
  int64_t digit[kMaxLeaves];  // 0 for kept modes
};

// Finds the modes to keep. With `keep_free` (slice) these are the modes where the coordinate has
// `_`, otherwise (dice) all others.
Status select_modes(const Layout& layout, Node node, const IntTuple& coord, Node at, bool keep_free,
                    ModeSelection* selection) {
  if (coord.is_leaf(at)) {
    const bool is_free = coord.value[at.begin] == kFree;
    if (is_free == keep_free) selection->kept[selection->count++] = node;
    for (int i = node.begin; i < node.end; ++i) selection->digit[i] = 0;
    if (is_free || !keep_free) return Code::OK;
    Layout part;
    part.shape.leaves = 0;
    part.shape.push(layout.shape, node, 0, 0);
    part.has_basis_strides = false;
    return flatten_coord(part, &coord.value[at.begin], 1, selection->digit + node.begin);
  }
  if (layout.shape.is_leaf(node) || layout.shape.rank(node) != coord.rank(at))
    return mismatch(layout, node, coord, at);
  Children c(layout.shape, node);
  for (Children k(coord, at); k; k.next(), c.next())
    TW_TRY(select_modes(layout, *c, coord, *k, keep_free, selection));
  return Code::OK;
}

// As in CuTe, the result is a tuple of the kept modes. A coordinate that is a single `_` keeps the
// whole layout.
void put_kept(const Layout& layout, const IntTuple& coord, const ModeSelection& selection,
              LayoutBuilder* builder) {
  const bool whole = coord.is_leaf(coord.root());
  for (int i = 0; i < selection.count; ++i)
    builder->subtree(layout, selection.kept[i], whole ? 0 : 1, whole ? 0 : 1);
}

Status value_of(const Layout& layout, const int64_t* digit, Stride* out) {
  *out = Stride();
  for (int i = 0; i < layout.leaves(); ++i)
    if (digit[i] != 0 && !add_scaled(out, layout.stride_of(i), digit[i]))
      return fail(Code::ERROR_OVERFLOW, {.argument = "coord"}, "the offset exceeds 64 bits");
  return Code::OK;
}

// Finishes the builder. Puts `moved` into the frame or, for a plain layout, into `offset`.
Status frame_or_offset(const Layout& layout, const Stride& moved, LayoutBuilder* builder,
                       int64_t* offset) {
  if (!layout.is_plain()) {
    TW_TRY(builder->copy_moved_frame(layout, moved));
    return builder->finish();
  }
  TW_TRY(builder->finish());
  *offset = moved.count > 0 ? moved.term[0].value : 0;
  return Code::OK;
}

}  // namespace

Status slice(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset) {
  *offset = 0;
  ModeSelection selection;
  TW_TRY(select_modes(layout, layout.root(), coord, coord.root(), true, &selection));
  Stride moved;
  TW_TRY(value_of(layout, selection.digit, &moved));
  LayoutBuilder builder(out);
  put_kept(layout, coord, selection, &builder);
  return frame_or_offset(layout, moved, &builder, offset);
}

Status dice(const Layout& layout, const IntTuple& coord, Layout* out) {
  ModeSelection selection;
  TW_TRY(select_modes(layout, layout.root(), coord, coord.root(), false, &selection));
  LayoutBuilder builder(out);
  put_kept(layout, coord, selection, &builder);
  builder.copy_frame(layout);
  return builder.finish();
}

Status domain_offset(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset) {
  *offset = 0;
  int64_t digit[kMaxLeaves];
  TW_TRY(flatten_coord(layout, coord, digit));
  Stride moved;
  TW_TRY(value_of(layout, digit, &moved));
  LayoutBuilder builder(out);
  builder.subtree(layout, layout.root(), 0, 0);
  return frame_or_offset(layout, moved, &builder, offset);
}

namespace {

Status check_tiled_rank(const Layout& layout, int rank) {
  if (rank >= 1 && rank <= layout.rank()) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "rank", .got = rank, .limit = layout.rank()},
              "rank is %d: the layout has %d mode%s that can be tiled", rank, layout.rank(),
              layout.rank() == 1 ? "" : "s");
}

// The coordinate along a mode at which a tile begins.
Status tile_start(int64_t extent, int64_t tile, int64_t coord, int mode, int64_t* start) {
  if (tile < 1)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "tile", .index = mode, .got = tile, .limit = 1},
                "tile[%d] is %lld: extents are at least 1", mode, static_cast<long long>(tile));
  const int64_t tiles = extent / tile + (extent % tile != 0);
  if (coord < 0 || coord >= tiles)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "coord", .index = mode, .got = coord, .limit = tiles - 1},
                "coord[%d] is %lld: there are tiles 0 to %lld", mode, static_cast<long long>(coord),
                static_cast<long long>(tiles - 1));
  *start = coord * tile;
  return Code::OK;
}

}  // namespace

Status local_tile(const Layout& layout, int rank, const int64_t* tile, const int64_t* coord,
                  Layout* out, int64_t* offset) {
  *offset = 0;
  TW_TRY(check_tiled_rank(layout, rank));
  LayoutBuilder builder(out);
  Stride moved;
  Channels channels;
  channels.count = 1;
  int mode = 0;
  for (Children c(layout.shape, layout.root()); c; c.next(), ++mode) {
    if (mode >= rank) {
      builder.subtree(layout, *c, 1, 1);
      continue;
    }
    Channel& channel = channels.channel[0];
    TW_TRY(tile_start(size(layout, *c), tile[mode], coord[mode], mode, &channel.start));
    channel.path = 0;
    channel.radix.coalesce_from(layout, *c);
    Stride value;
    if (!channel.radix.value(channel.start, &value) || !add_scaled(&moved, value, 1))
      return fail(Code::ERROR_OVERFLOW, {.argument = "coord"}, "the offset exceeds 64 bits");
    Layout part;
    const int64_t extent = tile[mode];
    TW_TRY(make_flat(1, &extent, nullptr, &part));
    TW_TRY(compose(channels, part, part.mode(0), 1, 1, &builder));
  }
  return frame_or_offset(layout, moved, &builder, offset);
}

// Slices the rest of zipped_divide() by the coordinate.
Status local_tile(const Layout& layout, const Tiler& tiler, const IntTuple& coord, Layout* out,
                  int64_t* offset) {
  *offset = 0;
  Layout divided, sliced;
  TW_TRY(zipped_divide(layout, tiler, &divided));
  IntTuple selection;
  bool fits = selection.push(kFree, 1, 1);
  const int rest = divided.shape.rank(divided.mode(1));
  const bool leaf = coord.is_leaf(coord.root());
  if (leaf) {
    fits = fits && selection.push(coord.value[0], 1, 1);
  } else {
    if (coord.rank(coord.root()) > rest)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "coord", .got = coord.rank(coord.root()), .limit = rest},
                  "the coordinate has %d numbers, the tiles only %d modes",
                  coord.rank(coord.root()), rest);
    int given = 0;
    for (Children c(coord, coord.root()); c; c.next(), ++given)
      fits = fits && selection.push(coord, *c, 2, given == 0 ? 1 : 2);
    for (; given < rest; ++given) fits = fits && selection.push(kFree, 2, 2);
  }
  if (!fits) return fail(Code::ERROR_CAPACITY, {.argument = "coord"}, "too many numbers");
  TW_TRY(slice(divided, selection, &sliced, offset));
  // Make the tile's modes top-level modes, followed by the free modes of the rest.
  LayoutBuilder builder(out);
  int mode = 0;
  for (Children c(sliced.shape, sliced.root()); c; c.next(), ++mode) {
    if (mode > 0 || sliced.shape.is_leaf(*c)) {
      builder.subtree(sliced, *c, 1, 1);
      continue;
    }
    for (Children t(sliced.shape, *c); t; t.next()) builder.subtree(sliced, *t, 1, 1);
  }
  builder.copy_frame(sliced);
  return builder.finish();
}

Status local_partition(const Layout& layout, const Layout& threads, int64_t thread, Layout* out,
                       int64_t* offset) {
  *offset = 0;
  int64_t linear = 0;
  TW_TRY(find(threads, thread, &linear));
  const int rank = threads.rank();
  TW_TRY(check_tiled_rank(layout, rank));
  int64_t extents[kMaxLeaves];
  int mode = 0;
  for (Children c(threads.shape, threads.root()); c; c.next()) extents[mode++] = size(threads, *c);
  Tiler tiler;
  TW_TRY(make_tiler(rank, extents, &tiler));
  Layout divided, sliced;
  TW_TRY(zipped_divide(layout, tiler, &divided));
  IntTuple selection;
  for (int i = 0; i < rank; ++i) {
    selection.push(linear % extents[i], 2, i == 0 ? 0 : 2);
    linear /= extents[i];
  }
  if (!selection.push(kFree, 1, 1))
    return fail(Code::ERROR_CAPACITY, {.argument = "threads"}, "too many modes");
  TW_TRY(slice(divided, selection, &sliced, offset));
  LayoutBuilder builder(out);
  const Node rest = sliced.mode(0);
  for (Children c(sliced.shape, rest); c; c.next()) builder.subtree(sliced, *c, 1, 1);
  builder.copy_frame(sliced);
  return builder.finish();
}

}  // namespace tw
