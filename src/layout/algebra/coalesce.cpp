// SPDX-License-Identifier: Apache-2.0
// coalesce and its kin: the same function written with fewer modes.
#include "layout/algebra/algebra.hpp"
#include "layout/algebra/composition.hpp"

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
void merge(const IntTuple& shape, Node node, Drop drop, int level, int join, LayoutBuilder* builder,
           StrideOf stride_of) {
  Factors<Value> modes;
  for (int i = node.begin; i < node.end; ++i) {
    if (shape.value[i] == 1) continue;
    const Value stride = stride_of(i);
    if (drop == Drop::zeros_too && !keeps(stride)) continue;
    modes.push(shape.value[i], stride);
  }
  if (modes.count == 0) modes.push(1, Value{});
  modes.put(level, join, builder);
}

void merge(const Layout& layout, Node node, Drop drop, int level, int join,
           LayoutBuilder* builder) {
  if (layout.coordinates)
    merge<Stride>(layout.shape, node, drop, level, join, builder,
                  [&](int i) { return layout.stride_of(i); });
  else
    merge<int64_t>(layout.shape, node, drop, level, join, builder,
                   [&](int i) { return layout.stride[i]; });
}

Status merge_by_mode(const Layout& layout, Node node, const IntTuple& profile, Node at, Drop drop,
                     int level, int join, LayoutBuilder* builder) {
  if (profile.is_leaf(at)) {
    merge(layout, node, drop, level, join, builder);
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
      TW_TRY(merge_by_mode(layout, *c, profile, *p, drop, level + 1, join, builder));
      p.next();
    } else {
      builder->subtree(layout, *c, level + 1, join);
    }
    join = level + 1;
  }
  return Code::OK;
}

Status merge_all(const Layout& layout, const IntTuple* profile, Drop drop, Layout* out) {
  LayoutBuilder builder(out);
  if (profile)
    TW_TRY(merge_by_mode(layout, layout.root(), *profile, profile->root(), drop, 0, 0, &builder));
  else
    merge(layout, layout.root(), drop, 0, 0, &builder);
  builder.frame(layout);
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
    out->shape.shared[i] = i + 1 < layout.leaves() ? level : 0;
  }
  return Code::OK;
}

}  // namespace tw
