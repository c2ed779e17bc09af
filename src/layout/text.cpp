// SPDX-License-Identifier: Apache-2.0
#include "layout/text.hpp"

#include <charconv>

#include "layout/codomain.hpp"
#include "layout/parser.hpp"

namespace tw {

void Text::put(int64_t number) {
  char digits[24];
  const auto result = std::to_chars(digits, digits + sizeof digits, number);
  put(std::string_view(digits, static_cast<size_t>(result.ptr - digits)));
}

namespace {

// Writes a profile's parentheses and commas; `leaf` writes each leaf.
template <class Leaf>
void format_profile(const IntTuple& profile, Text* out, Leaf leaf) {
  if (profile.leaves == 0) return out->put("()");
  int open = 0;
  for (int i = 0; i < profile.leaves; ++i) {
    for (; open < profile.depth[i]; ++open) out->put('(');
    leaf(i);
    const int next = i + 1 < profile.leaves ? profile.common_depth[i] : 0;
    for (; open > next; --open) out->put(')');
    if (i + 1 < profile.leaves) out->put(',');
  }
}

void format(const Stride& stride, Text* out) {
  if (stride.count == 0) out->put('0');
  for (int i = 0; i < stride.count; ++i) {
    if (i > 0) out->put('+');
    const auto [value, basis] = stride.term[i];
    out->put(value);
    for (int k = basis_depth(basis) - 1; k >= 0; --k) {
      out->put('@');
      out->put(int64_t{basis_at(basis, k)});
    }
  }
}

void format_frame(const Layout& layout, Text* out) {
  // An identity swizzle with a base or shift, such as Sw<0,4,3>, is printed too, so that parse()
  // restores it.
  if (!layout.swizzle.is_identity() || layout.swizzle.base != 0 || layout.swizzle.shift != 0) {
    format(layout.swizzle, out);
    out->put(" o ");
    out->put(layout.offset);
    out->put(" o ");
  } else if (layout.offset != 0) {
    out->put(layout.offset);
    out->put(" o ");
  } else if (layout.has_origin()) {
    Codomain range;
    if (!codomain(layout, &range).ok()) return;
    tw::format(range.tuple, out);
    out->put(" o ");
  }
}

}  // namespace

void format(const IntTuple& tuple, Text* out) {
  format_profile(tuple, out, [&](int i) {
    if (tuple.value[i] == kFree)
      out->put('_');
    else
      out->put(tuple.value[i]);
  });
}

void format(const BitSwizzle& swizzle, Text* out) {
  out->put("Sw<");
  out->put(int64_t{swizzle.bits});
  out->put(',');
  out->put(int64_t{swizzle.base});
  out->put(',');
  out->put(int64_t{swizzle.shift});
  out->put('>');
}

void format(const Layout& layout, Text* out) {
  format_frame(layout, out);
  format(layout.shape, out);
  out->put(':');
  format_profile(layout.shape, out, [&](int i) { format(layout.stride_of(i), out); });
}

Status parse(std::string_view text, Layout* out) {
  Parser parser(text);
  TW_TRY(parser.layout(out));
  return parser.expect_end();
}

Status parse(std::string_view text, BitSwizzle* out) {
  Parser parser(text);
  TW_TRY(parser.swizzle(out));
  return parser.expect_end();
}

Status parse(std::string_view text, bool allow_underscore, IntTuple* out) {
  Parser parser(text);
  TW_TRY(parser.tuple(allow_underscore, out));
  return parser.expect_end();
}

}  // namespace tw
