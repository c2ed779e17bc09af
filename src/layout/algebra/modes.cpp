// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/modes.hpp"

#include "layout/algebra/compose.hpp"

namespace tw {
namespace {

enum class Drop { ones, zeros_too };

template <class Value>
bool keeps(const Value& stride);
template <>
bool keeps(const int64_t& stride) {
  return stride != 0;
}
template <>
bool keeps(const Stride& stride) {
  return stride.count > 0;
}

template <class Value, class StrideOf>
void merge(const IntTuple& shape, Node node, Drop drop, int level, int common_level,
           LayoutBuilder* builder, StrideOf stride_of) {
  Factors<Value> modes;
  for (int i = node.begin; i < node.end; ++i) {
    if (shape.value[i] == 1) continue;
    const Value stride = stride_of(i);
    if (drop == Drop::zeros_too && !keeps(stride)) continue;
    modes.push(shape.value[i], stride);
  }
  if (modes.count == 0) modes.push(1, Value{});
  modes.put(level, common_level, builder);
}

void merge(const Layout& layout, Node node, Drop drop, int level, int common_level,
           LayoutBuilder* builder) {
  if (layout.has_basis_strides)
    merge<Stride>(layout.shape, node, drop, level, common_level, builder,
                  [&](int i) { return layout.stride_of(i); });
  else
    merge<int64_t>(layout.shape, node, drop, level, common_level, builder,
                   [&](int i) { return layout.stride[i]; });
}

Status merge_by_mode(const Layout& layout, Node node, const IntTuple& profile, Node at, Drop drop,
                     int level, int common_level, LayoutBuilder* builder) {
  if (profile.is_leaf(at)) {
    merge(layout, node, drop, level, common_level, builder);
    return Code::OK;
  }
  const int rank = layout.shape.is_leaf(node) ? 0 : layout.shape.rank(node);
  if (profile.rank(at) > rank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "profile", .got = profile.rank(at), .limit = rank},
                "the profile has a tuple of %d where the layout has %d modes", profile.rank(at),
                rank);
  Children p(profile, at);
  for (Children c(layout.shape, node); c; c.next()) {
    if (p) {
      TW_TRY(merge_by_mode(layout, *c, profile, *p, drop, level + 1, common_level, builder));
      p.next();
    } else {
      builder->subtree(layout, *c, level + 1, common_level);
    }
    common_level = level + 1;
  }
  return Code::OK;
}

Status merge_all(const Layout& layout, const IntTuple* profile, Drop drop, Layout* out) {
  LayoutBuilder builder(out);
  if (profile)
    TW_TRY(merge_by_mode(layout, layout.root(), *profile, profile->root(), drop, 0, 0, &builder));
  else
    merge(layout, layout.root(), drop, 0, 0, &builder);
  builder.copy_frame(layout);
  return builder.finish();
}

}  // namespace

Status coalesce(const Layout& layout, Layout* out) {
  return merge_all(layout, nullptr, Drop::ones, out);
}

Status coalesce(const Layout& layout, const IntTuple& profile, Layout* out) {
  return merge_all(layout, &profile, Drop::ones, out);
}

Status filter(const Layout& layout, Layout* out) {
  return merge_all(layout, nullptr, Drop::zeros_too, out);
}

Status filter(const Layout& layout, const IntTuple& profile, Layout* out) {
  return merge_all(layout, &profile, Drop::zeros_too, out);
}

Status filter_zeros(const Layout& layout, Layout* out) {
  *out = layout;
  for (int i = 0; i < layout.leaves(); ++i)
    if (layout.stride[i] == 0) out->shape.value[i] = 1;
  return Code::OK;
}

Status flatten(const Layout& layout, Layout* out) {
  *out = layout;
  const uint8_t level = layout.depth() > 0 ? 1 : 0;
  for (int i = 0; i < layout.leaves(); ++i) {
    out->shape.depth[i] = level;
    out->shape.common_depth[i] = i + 1 < layout.leaves() ? level : 0;
  }
  return Code::OK;
}

namespace {

Status bad_range(const Layout& layout, int begin, int end) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "end", .got = end, .limit = layout.rank()},
              "modes %d to %d (exclusive): the layout has %d, and at least one must be named",
              begin, end, layout.rank());
}

// A mode that is added must not have a frame, because a layout has only one.
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
  builder.copy_frame(layout);
  return builder.finish();
}

Status append(const Layout& layout, const Layout& mode, Layout* out) {
  TW_TRY(check_part(mode, "mode"));
  LayoutBuilder builder(out);
  for (Children c(layout.shape, layout.root()); c; c.next()) builder.subtree(layout, *c, 1, 1);
  builder.subtree(mode, mode.root(), 1, 1);
  builder.copy_frame(layout);
  return builder.finish();
}

Status prepend(const Layout& layout, const Layout& mode, Layout* out) {
  TW_TRY(check_part(mode, "mode"));
  LayoutBuilder builder(out);
  builder.subtree(mode, mode.root(), 1, 1);
  for (Children c(layout.shape, layout.root()); c; c.next()) builder.subtree(layout, *c, 1, 1);
  builder.copy_frame(layout);
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
  builder.copy_frame(layout);
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
  builder.copy_frame(layout);
  return builder.finish();
}

Status take(const Layout& layout, int begin, int end, Layout* out) {
  if (begin < 0 || end <= begin || end > layout.rank()) return bad_range(layout, begin, end);
  LayoutBuilder builder(out);
  for (int mode = begin; mode < end; ++mode) builder.subtree(layout, layout.mode(mode), 1, 1);
  builder.copy_frame(layout);
  return builder.finish();
}

}  // namespace tw
