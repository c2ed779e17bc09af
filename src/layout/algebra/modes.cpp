// SPDX-License-Identifier: Apache-2.0
// Verbs that rearrange the modes at the top and leave every stride as it is.
#include "base/checked.hpp"
#include "layout/algebra/algebra.hpp"

namespace tw {
namespace {

Status bad_range(const Layout& layout, int begin, int end) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "end", .got = end, .limit = layout.rank()},
              "modes %d to %d (exclusive): the layout has %d, and at least one must be named",
              begin, end, layout.rank());
}

// An added part has no frame of its own, since a layout has one.
Status check_part(const Layout& part, const char* argument) {
  if (part.swizzle.is_identity() && part.offset == 0 && !part.has_origin()) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument},
              "%s has a swizzle, an offset or an origin, which a mode cannot have", argument);
}

}  // namespace

Status group_modes(const Layout& layout, int begin, int end, Layout* out) {
  if (begin < 0 || end <= begin || end > layout.rank()) return bad_range(layout, begin, end);
  LayoutBuilder builder(out);
  int mode = 0;
  for (Children c(layout.shape, layout.root()); c; c.next(), ++mode) {
    const bool grouped = mode >= begin && mode < end;
    builder.subtree(layout, *c, grouped ? 2 : 1, grouped && mode > begin ? 2 : 1);
  }
  builder.frame(layout);
  return builder.finish();
}

Status append(const Layout& layout, const Layout& mode, Layout* out) {
  TW_TRY(check_part(mode, "mode"));
  LayoutBuilder builder(out);
  for (Children c(layout.shape, layout.root()); c; c.next()) builder.subtree(layout, *c, 1, 1);
  builder.subtree(mode, mode.root(), 1, 1);
  builder.frame(layout);
  return builder.finish();
}

Status prepend(const Layout& layout, const Layout& mode, Layout* out) {
  TW_TRY(check_part(mode, "mode"));
  LayoutBuilder builder(out);
  builder.subtree(mode, mode.root(), 1, 1);
  for (Children c(layout.shape, layout.root()); c; c.next()) builder.subtree(layout, *c, 1, 1);
  builder.frame(layout);
  return builder.finish();
}

Status replace(const Layout& layout, int index, const Layout& mode, Layout* out) {
  TW_TRY(check_mode(layout, index));
  TW_TRY(check_part(mode, "with"));
  LayoutBuilder builder(out);
  if (layout.shape.is_leaf(layout.root())) {
    builder.subtree(mode, mode.root(), 0, 0);
  } else {
    int at = 0;
    for (Children c(layout.shape, layout.root()); c; c.next(), ++at) {
      if (at == index)
        builder.subtree(mode, mode.root(), 1, 1);
      else
        builder.subtree(layout, *c, 1, 1);
    }
  }
  builder.frame(layout);
  return builder.finish();
}

Status select(const Layout& layout, int count, const int32_t* modes, Layout* out) {
  if (count < 1 || count > kMaxLeaves)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "count", .got = count, .limit = kMaxLeaves},
                "count is %d: select takes 1 to %d modes", count, kMaxLeaves);
  LayoutBuilder builder(out);
  for (int i = 0; i < count; ++i) {
    TW_TRY(check_mode(layout, modes[i]));
    builder.subtree(layout, layout.mode(modes[i]), 1, 1);
  }
  builder.frame(layout);
  return builder.finish();
}

Status take(const Layout& layout, int begin, int end, Layout* out) {
  if (begin < 0 || end <= begin || end > layout.rank()) return bad_range(layout, begin, end);
  LayoutBuilder builder(out);
  for (int mode = begin; mode < end; ++mode) builder.subtree(layout, layout.mode(mode), 1, 1);
  builder.frame(layout);
  return builder.finish();
}

}  // namespace tw
