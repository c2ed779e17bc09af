// SPDX-License-Identifier: Apache-2.0
// Extends compose() to layouts with basis strides, and to layouts with a frame: a swizzle, an
// offset or an origin in front. A channel is one number of B's result and the mode of A that it
// indexes. `level` is the number of tuples around the next leaf of the result; `common_level` of
// these also contain the previous leaf (LayoutBuilder::leaf()).
#include "layout/algebra/composition.hpp"

#include <bit>

#include "layout/algebra/compose.hpp"
#include "layout/codomain.hpp"

namespace tw {
namespace {

// Finds the mode of A that a path of B's codomain indexes.
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
  if (!b.has_basis_strides) {
    channels->count = 1;
    channels->channel[0].radix.coalesce_from(a, a.root());
    channels->channel[0].path = 0;
    channels->channel[0].start = b.offset;
    return Code::OK;
  }
  Codomain range;
  TW_TRY(codomain(b, &range));
  if (range.tuple.leaves > Channels::kMaxChannels)
    return fail(Code::ERROR_CAPACITY,
                {.argument = "b", .got = range.tuple.leaves, .limit = Channels::kMaxChannels},
                "b gives tuples of %d numbers: at most %d can be composed", range.tuple.leaves,
                Channels::kMaxChannels);
  channels->count = range.tuple.leaves;
  for (int i = 0; i < channels->count; ++i) {
    Node node;
    TW_TRY(find_mode(a, range.path[i], &node));
    Channel& channel = channels->channel[i];
    channel.radix.coalesce_from(a, node);
    channel.path = range.path[i];
    channel.start = range.tuple.value[i];
  }
  return Code::OK;
}

// Composition with a swizzle on the right: A o (Sw o B).
//
// Suppose that A maps each bit of its argument to a bit of its own, that it maps the bits that Sw
// reads to adjacent bits in order, and likewise the bits that Sw writes. Then flipping a bit before
// A flips one bit after A, and A o Sw = Sw' o A, where Sw' is the swizzle of the mapped bits. In
// all other cases the result does not have the form swizzle(offset + layout).

Status refuse() {
  return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "b"},
              "b is swizzled and a does not keep the swizzled bits together: the composition is no "
              "swizzled layout. Compose with b's inner layout, or with an a whose strides along "
              "the swizzled bits are powers of two");
}

// A's value at each low bit of its argument, and its stride for the rest of the argument: the
// strides of A o (2,...,2,n):(1,2,4,...).
struct Bits {
  int count;
  int64_t value[kMaxLeaves];
  int64_t above;        ///< stride of the rest; 0 if there is none
  int64_t count_above;  ///< n
};

Status read_bits(const Layout& a, int count, Bits* bits) {
  if (count + 1 > kMaxLeaves) return refuse();
  Layout binary, composed;
  LayoutBuilder builder(&binary);
  const int64_t unit = int64_t{1} << count;
  for (int i = 0; i < count; ++i) builder.leaf(2, int64_t{1} << i, 1, 1);
  const int64_t whole = size(a);
  const int64_t above = whole / unit + (whole % unit != 0);
  builder.leaf(above, unit, 1, 1);
  TW_TRY(builder.finish());
  LayoutBuilder out(&composed);
  TW_TRY(compose(a, a.root(), binary, binary.root(), 0, 0, &out));
  if (composed.leaves() != count + 1) return refuse();
  bits->count = count;
  for (int i = 0; i < count; ++i) bits->value[i] = composed.stride[i];
  bits->count_above = above;
  bits->above = above > 1 ? composed.stride[count] : 0;
  return Code::OK;
}

// Whether A maps each low bit to 0 or to a bit of its own, and the higher bits to bits above these.
bool are_separate(const Bits& bits) {
  uint64_t used = 0;
  for (int i = 0; i < bits.count; ++i) {
    const auto value = static_cast<uint64_t>(bits.value[i]);
    if (bits.value[i] < 0 || (value & (value - 1)) != 0 || (used & value) != 0) return false;
    used |= value;
  }
  if (bits.above == 0) return true;
  const int lowest = std::countr_zero(static_cast<uint64_t>(bits.above));
  return bits.above > 0 && lowest >= static_cast<int>(std::bit_width(used));
}

// Whether b without its swizzle stays inside the range that `bits` covers.
bool stays_below(const Layout& b, const Bits& bits) {
  Wide low = b.offset, high = b.offset;
  for (int i = 0; i < b.leaves(); ++i)
    (b.stride[i] < 0 ? low : high) += Wide{b.stride[i]} * (b.shape.value[i] - 1);
  return low >= 0 && high < Wide{bits.count_above} << bits.count;
}

// Finds the bit `to` to which A maps bit `from`. Returns false unless A maps the `count` bits from
// `from` on to adjacent bits in the same order.
bool move(const Bits& bits, int from, int count, int* to) {
  if (bits.value[from] == 0) return false;
  *to = std::countr_zero(static_cast<uint64_t>(bits.value[from]));
  for (int i = 1; i < count; ++i)
    if (bits.value[from + i] != int64_t{1} << (*to + i)) return false;
  return true;
}

// A o B for a swizzled B.
Status compose_swizzled(const Layout& a, const Layout& b, Layout* out) {
  if (!a.is_plain()) return refuse();
  const BitSwizzle& sw = b.swizzle;
  const int target = sw.base + (sw.shift < 0 ? -sw.shift : 0);
  const int source = sw.base + (sw.shift > 0 ? sw.shift : 0);
  const int top = (source > target ? source : target) + sw.bits;
  Layout inner = b;
  inner.swizzle = {};
  Radix radix;
  radix.coalesce_from(a, a.root());
  if (radix.count == 1 && radix.stride[0] == 1) {  // A is the identity
    *out = b;
    return Code::OK;
  }
  Bits bits{};
  TW_TRY(read_bits(a, top, &bits));
  int new_target = 0, new_source = 0;
  if (!are_separate(bits) || !stays_below(b, bits) || !move(bits, target, sw.bits, &new_target) ||
      !move(bits, source, sw.bits, &new_source))
    return refuse();
  TW_TRY(composition(a, inner, out));
  const int low = new_source < new_target ? new_source : new_target;
  out->swizzle = {sw.bits, low, new_source - new_target};
  return validate(*out);
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
    builder.copy_frame(a);
  else
    TW_TRY(builder.copy_moved_frame(a, start));
  return builder.finish();
}

namespace {

Status compose_by_mode(const Layout& a, Node node, const Tiler& tiler, Node at, int level,
                       int common_level, LayoutBuilder* builder) {
  if (tiler.is_free(at)) {
    builder->subtree(a, node, level, common_level);
    return Code::OK;
  }
  if (!tiler.is_tuple(at)) return compose(a, node, tiler.body, at, level, common_level, builder);
  const int rank = a.shape.rank(node), wanted = tiler.body.shape.rank(at);
  if (wanted > rank)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tiler", .got = wanted, .limit = rank},
                "the tiler has %d entries where the layout has %d mode%s", wanted, rank,
                rank == 1 ? "" : "s");
  Children c(a.shape, node);
  for (Children entry(tiler.body.shape, at); entry; entry.next(), c.next()) {
    TW_TRY(compose_by_mode(a, *c, tiler, *entry, level + 1, common_level, builder));
    common_level = level + 1;
  }
  return Code::OK;
}

}  // namespace

Status composition(const Layout& a, const Tiler& tiler, Layout* out) {
  LayoutBuilder builder(out);
  TW_TRY(compose_by_mode(a, a.root(), tiler, tiler.root(), 0, 0, &builder));
  builder.copy_frame(a);
  return builder.finish();
}

}  // namespace tw
