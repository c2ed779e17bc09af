// SPDX-License-Identifier: Apache-2.0
#include "layout/linear/linear_algebra.hpp"

#include <bit>

#include "layout/algebra/modes.hpp"

namespace tw {

Status linear_compose(const LinearLayout& outer, const LinearLayout& inner, LinearLayout* out) {
  if (inner.total_out() != outer.total_in())
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "outer", .got = outer.total_in(), .limit = inner.total_out()},
                "outer takes %d bits and inner gives %d", outer.total_in(), inner.total_out());
  *out = outer;
  for (int d = 0; d < LinearLayout::kInDims; ++d) out->in_bits[d] = inner.in_bits[d];
  for (int i = 0; i < inner.total_in(); ++i) out->column[i] = outer.apply(inner.column[i]);
  return Code::OK;
}

Status linear_inverse(const LinearLayout& layout, LinearLayout* out) {
  // Gaussian elimination: reduced[p] is an element word with highest bit p, source[p] its input.
  uint64_t reduced[64] = {}, source[64] = {};
  for (int i = 0; i < layout.total_in(); ++i) {
    uint64_t element = layout.column[i], input = uint64_t{1} << i;
    while (element != 0) {
      const int top = 63 - std::countl_zero(element);
      if (reduced[top] == 0) {
        reduced[top] = element;
        source[top] = input;
        break;
      }
      element ^= reduced[top];
      input ^= source[top];
    }
  }
  int64_t shape[LinearLayout::kInDims];
  for (int d = 0; d < LinearLayout::kInDims; ++d) shape[d] = int64_t{1} << layout.in_bits[d];
  TW_TRY(make_linear(LinearLayout::kInDims, shape, out));
  out->in_bits[0] = layout.total_out();
  for (int bit = 0; bit < layout.total_out(); ++bit) {
    uint64_t rest = uint64_t{1} << bit, input = 0;
    while (rest != 0) {
      const int top = 63 - std::countl_zero(rest);
      if (reduced[top] == 0)
        return fail(
            Code::ERROR_NOT_A_LAYOUT, {.argument = "layout", .index = bit},
            "no register holds element %lld of the layout's shape, so the layout has no inverse",
            1LL << bit);
      rest ^= reduced[top];
      input ^= source[top];
    }
    out->column[bit] = input;
  }
  return Code::OK;
}

namespace {

Status not_linear(int leaf, const char* why) {
  return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "layout", .index = leaf},
              "leaf %d of the layout %s: the layout is not linear over bits", leaf, why);
}

// Appends the columns of one mode to input `dim`, at most `limit` of them, and the rest to
// `beyond`.
Status read_mode(const Layout& layout, Node node, InDim dim, InDim beyond, int limit,
                 uint64_t* used, LinearLayout* out) {
  for (int i = node.begin; i < node.end; ++i) {
    const int64_t s = layout.shape.value[i], d = layout.stride[i];
    if (!std::has_single_bit(static_cast<uint64_t>(s)))
      return not_linear(i, "has no power-of-two extent");
    if (d < 0) return not_linear(i, "has a negative stride");
    for (int64_t step = 1; step < s; step *= 2) {
      const auto value = static_cast<uint64_t>(d * step);
      if ((*used & value) != 0) return not_linear(i, "shares bits of the index with another mode");
      *used |= value;
      const InDim to = out->bits(dim) < limit ? dim : beyond;
      if (out->total_in() == LinearLayout::kMaxBits)
        return fail(Code::ERROR_CAPACITY, {.argument = "layout", .limit = LinearLayout::kMaxBits},
                    "the layout has more than 2^%d coordinates", LinearLayout::kMaxBits);
      out->column[out->total_in()] =
          static_cast<uint64_t>(layout.swizzle(static_cast<int64_t>(value)));
      ++out->in_bits[static_cast<int>(to)];
    }
  }
  return Code::OK;
}

}  // namespace

Status linear_from_layout(const Layout& layout, int rank, const int64_t* shape, LinearLayout* out) {
  if (layout.has_basis_strides || layout.offset != 0)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "a linear layout begins at element 0 and gives elements: the layout has an offset "
                "or gives coordinates");
  const int modes = layout.rank();
  if (modes > 3)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "layout", .got = modes, .limit = 3},
                "the layout has %d modes: values, (threads, values) or (threads, values, blocks)",
                modes);
  uint64_t used = 0, reached = 0;
  LinearLayout part;
  // Columns of registers come first, so read mode 1 before the threads.
  TW_TRY(read_mode(layout, layout.mode(modes > 1 ? 1 : 0), InDim::reg, InDim::reg,
                   LinearLayout::kMaxBits, &used, &part));
  if (modes > 1)
    TW_TRY(read_mode(layout, layout.mode(0), InDim::lane, InDim::warp, 5, &used, &part));
  if (modes > 2)
    TW_TRY(read_mode(layout, layout.mode(2), InDim::block, InDim::block, LinearLayout::kMaxBits,
                     &used, &part));
  for (int i = 0; i < part.total_in(); ++i) reached |= part.column[i];
  const int64_t whole = int64_t{1} << std::bit_width(reached);
  TW_TRY(shape ? make_linear(rank, shape, out) : make_linear(1, &whole, out));
  if (static_cast<int>(std::bit_width(reached)) > out->total_out())
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "shape", .got = whole, .limit = int64_t{1} << out->total_out()},
                "the layout reaches element %lld, the shape has %lld",
                static_cast<long long>(reached), 1LL << out->total_out());
  for (int d = 0; d < LinearLayout::kInDims; ++d) out->in_bits[d] = part.in_bits[d];
  for (int i = 0; i < part.total_in(); ++i) out->column[i] = part.column[i];
  return Code::OK;
}

namespace {

bool are_disjoint(const LinearLayout& layout, const BitSwizzle& swizzle) {
  uint64_t used = 0;
  for (int i = 0; i < layout.total_in(); ++i) {
    const auto value = static_cast<uint64_t>(swizzle(static_cast<int64_t>(layout.column[i])));
    if ((used & value) != 0) return false;
    used |= value;
  }
  return true;
}

// Finds a swizzle after which no two columns share a bit; the identity if they share none already.
bool find_swizzle(const LinearLayout& layout, BitSwizzle* out) {
  *out = {};
  if (are_disjoint(layout, *out)) return true;
  const int top = layout.total_out();
  for (int bits = 1; 2 * bits <= top; ++bits)
    for (int base = 0; base + 2 * bits <= top; ++base)
      for (int shift = bits; base + bits + shift <= top; ++shift)
        for (int sign : {1, -1}) {
          *out = {bits, base, sign * shift};
          if (are_disjoint(layout, *out)) return true;
        }
  return false;
}

}  // namespace

Status linear_to_layout(const LinearLayout& layout, Layout* out) {
  BitSwizzle swizzle;
  if (!find_swizzle(layout, &swizzle))
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "layout"},
                "bases share bits, and no swizzle Sw<B,M,S> separates them");
  if (layout.total_in() + LinearLayout::kInDims > kMaxLeaves)
    return fail(Code::ERROR_CAPACITY,
                {.argument = "layout", .got = layout.total_in(), .limit = kMaxLeaves},
                "%d bits are more modes than a layout has", layout.total_in());
  Layout bits;
  LayoutBuilder builder(&bits);
  const auto put = [&](InDim from, InDim to) {
    int common_level = 1, count = 0;
    for (int d = static_cast<int>(from); d <= static_cast<int>(to); ++d)
      for (int i = 0; i < layout.in_bits[d]; ++i, ++count, common_level = 2) {
        const uint64_t column = layout.column[layout.first(static_cast<InDim>(d)) + i];
        builder.leaf(2, swizzle(static_cast<int64_t>(column)), 2, common_level);
      }
    if (count == 0) builder.leaf(1, int64_t{0}, 1, 1);
  };
  put(InDim::lane, InDim::warp);
  put(InDim::reg, InDim::reg);
  if (layout.bits(InDim::block) > 0) put(InDim::block, InDim::block);
  TW_TRY(builder.finish());
  bits.swizzle = swizzle;
  IntTuple profile;
  for (int i = 0; i < bits.rank(); ++i) profile.push(1, 1, 1);
  return coalesce(bits, profile, out);
}

}  // namespace tw
