// SPDX-License-Identifier: Apache-2.0
// The verb composition: frames and basis strides around the inside in composition.cpp.
#include "layout/algebra/algebra.hpp"
#include "layout/algebra/composition.hpp"

namespace tw {
namespace {

// The mode of A that a path of B's codomain names.
Status find_mode(const Layout& a, Basis path, Node* node) {
  *node = a.root();
  for (int i = 0; basis_at(path, i) >= 0; ++i) {
    const int index = basis_at(path, i);
    const bool leaf = a.shape.is_leaf(*node);
    if (leaf || index >= a.shape.rank(*node))
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "b", .got = index, .limit = leaf ? 0 : a.shape.rank(*node) - 1},
                  "b's coordinates have an element @%d at depth %d where a has %s", index, i,
                  leaf ? "an integer" : "fewer modes");
    *node = a.shape.child(*node, index);
  }
  return Code::OK;
}

Status read_channels(const Layout& a, const Layout& b, Channels* channels) {
  if (!b.coordinates) {
    channels->count = 1;
    channels->channel[0].radix.read(a, a.root());
    channels->channel[0].path = 0;
    channels->channel[0].start = b.offset;
    return Code::OK;
  }
  Codomain range;
  TW_TRY(codomain(b, &range));
  if (range.profile.leaves > Channels::kMost)
    return fail(Code::ERROR_CAPACITY,
                {.argument = "b", .got = range.profile.leaves, .limit = Channels::kMost},
                "b gives tuples of %d numbers: at most %d can be composed", range.profile.leaves,
                Channels::kMost);
  channels->count = range.profile.leaves;
  for (int i = 0; i < channels->count; ++i) {
    Node node;
    TW_TRY(find_mode(a, range.path[i], &node));
    Channel& channel = channels->channel[i];
    channel.radix.read(a, node);
    channel.path = range.path[i];
    channel.start = range.profile.value[i];
  }
  return Code::OK;
}

}  // namespace

Status composition(const Layout& a, const Layout& b, Layout* out) {
  if (!b.swizzle.is_identity()) return compose_swizzled(a, b, out);
  Channels channels;
  TW_TRY(read_channels(a, b, &channels));
  LayoutBuilder builder(out);
  TW_TRY(compose(channels, b, b.root(), 0, 0, &builder));
  Stride start;
  for (int i = 0; i < channels.count; ++i) {
    if (channels.channel[i].start == 0) continue;
    Stride value;
    if (!channels.channel[i].radix.value(channels.channel[i].start, &value) ||
        !add_scaled(&start, value, 1))
      return fail(Code::ERROR_OVERFLOW, {.argument = "b"}, "the offset exceeds 64 bits");
  }
  if (start.count == 0)
    builder.frame(a);
  else
    TW_TRY(builder.frame_at(a, start));
  return builder.finish();
}

namespace {

Status compose_by_mode(const Layout& a, Node node, const Tiler& tiler, Node at, int level, int join,
                       LayoutBuilder* builder) {
  if (tiler.is_free(at)) {
    builder->subtree(a, node, level, join);
    return Code::OK;
  }
  if (!tiler.is_tuple(at)) return compose(a, node, tiler.body, at, level, join, builder);
  const int rank = a.shape.rank(node), wanted = tiler.body.shape.rank(at);
  if (wanted > rank)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tiler", .got = wanted, .limit = rank},
                "the tiler has %d entries where the layout has %d mode%s", wanted, rank,
                rank == 1 ? "" : "s");
  Children c(a.shape, node);
  for (Children entry(tiler.body.shape, at); entry; entry.next(), c.next()) {
    TW_TRY(compose_by_mode(a, *c, tiler, *entry, level + 1, join, builder));
    join = level + 1;
  }
  return Code::OK;
}

}  // namespace

Status composition(const Layout& a, const Tiler& tiler, Layout* out) {
  LayoutBuilder builder(out);
  TW_TRY(compose_by_mode(a, a.root(), tiler, tiler.root(), 0, 0, &builder));
  builder.frame(a);
  return builder.finish();
}

}  // namespace tw
