// SPDX-License-Identifier: Apache-2.0
// Slices: some modes fixed by a coordinate, others kept (`_`).
#include "base/checked.hpp"
#include "layout/algebra/algebra.hpp"
#include "layout/coordinate.hpp"

namespace tw {
namespace {

Status mismatch(const Layout& layout, Node node, const IntTuple& coord, Node at) {
  const int rank = layout.shape.is_leaf(node) ? 0 : layout.shape.rank(node);
  return fail(
      Code::ERROR_INVALID_ARGUMENT, {.argument = "coord", .got = coord.rank(at), .limit = rank},
      "the coordinate has a tuple of %d where the layout has %d modes", coord.rank(at), rank);
}

// What is walked: kept modes are listed, fixed ones give their digits.
struct Cut {
  int count = 0;
  Node kept[kMaxLeaves];
  int64_t digit[kMaxLeaves];  // 0 where a mode is kept
};

// `keep` says which leaves of the coordinate keep their mode: the free ones, or (dice) the others.
Status walk(const Layout& layout, Node node, const IntTuple& coord, Node at, bool keep_free,
            Cut* cut) {
  if (coord.is_leaf(at)) {
    const bool is_free = coord.value[at.begin] == kFree;
    if (is_free == keep_free) cut->kept[cut->count++] = node;
    for (int i = node.begin; i < node.end; ++i) cut->digit[i] = 0;
    if (is_free || !keep_free) return Code::OK;
    Layout part;
    part.shape.leaves = 0;
    part.shape.push(layout.shape, node, 0, 0);
    part.coordinates = false;
    return flatten_coord(part, &coord.value[at.begin], 1, cut->digit + node.begin);
  }
  if (layout.shape.is_leaf(node) || layout.shape.rank(node) != coord.rank(at))
    return mismatch(layout, node, coord, at);
  Children c(layout.shape, node);
  for (Children k(coord, at); k; k.next(), c.next())
    TW_TRY(walk(layout, *c, coord, *k, keep_free, cut));
  return Code::OK;
}

// CuTe's shape of what is kept: a tuple of the kept modes; one `_` for the whole keeps the whole.
void put_kept(const Layout& layout, const IntTuple& coord, const Cut& cut, LayoutBuilder* builder) {
  const bool whole = coord.is_leaf(coord.root());
  for (int i = 0; i < cut.count; ++i)
    builder->subtree(layout, cut.kept[i], whole ? 0 : 1, whole ? 0 : 1);
}

}  // namespace

Status value_of(const Layout& layout, const int64_t* digit, Stride* out) {
  *out = Stride();
  for (int i = 0; i < layout.leaves(); ++i)
    if (digit[i] != 0 && !add_scaled(out, layout.stride_of(i), digit[i]))
      return fail(Code::ERROR_OVERFLOW, {.argument = "coord"}, "the offset exceeds 64 bits");
  return Code::OK;
}

Status slice(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset) {
  *offset = 0;
  Cut cut;
  TW_TRY(walk(layout, layout.root(), coord, coord.root(), true, &cut));
  Stride moved;
  TW_TRY(value_of(layout, cut.digit, &moved));
  LayoutBuilder builder(out);
  put_kept(layout, coord, cut, &builder);
  return frame_or_offset(layout, moved, &builder, offset);
}

Status dice(const Layout& layout, const IntTuple& coord, Layout* out) {
  Cut cut;
  TW_TRY(walk(layout, layout.root(), coord, coord.root(), false, &cut));
  LayoutBuilder builder(out);
  put_kept(layout, coord, cut, &builder);
  builder.frame(layout);
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

Status frame_or_offset(const Layout& layout, const Stride& moved, LayoutBuilder* builder,
                       int64_t* offset) {
  if (!layout.is_plain()) {
    TW_TRY(builder->frame_at(layout, moved));
    return builder->finish();
  }
  TW_TRY(builder->finish());
  *offset = moved.count > 0 ? moved.term[0].value : 0;
  return Code::OK;
}

}  // namespace tw
