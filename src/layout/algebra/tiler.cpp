// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/tiler.hpp"

#include <algorithm>

#include "layout/parser.hpp"

namespace tw {
namespace {

Status check_plain(const Layout& layout) {
  if (layout.is_plain()) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tiler"},
              "a tiler is made of layouts of integer strides, without swizzle or offset");
}

Status full() {
  return fail(Code::ERROR_CAPACITY, {.argument = "tiler", .limit = kMaxLeaves},
              "the tiler needs more than %d leaves or more than %d tuples inside one another",
              kMaxLeaves, kMaxDepth);
}

void clear(Tiler* out) {
  LayoutBuilder builder(&out->body);  // the constructor clears the layout
}

// Appends a layout inside `level` `<...>` tuples.
Status append_layout(const Layout& layout, Node node, int level, int common_level, Tiler* out) {
  const int at = out->body.leaves();
  if (!out->body.shape.push(layout.shape, node, level, common_level)) return full();
  std::copy_n(layout.stride + node.begin, node.leaves(), out->body.stride + at);
  std::fill_n(out->bracket_depth + at, node.leaves(), static_cast<uint8_t>(level));
  return Code::OK;
}

Status append_leaf(int64_t extent, int level, int common_level, Tiler* out) {
  const int at = out->body.leaves();
  if (!out->body.shape.push(extent, level, common_level)) return full();
  out->body.stride[at] = 1;
  out->bracket_depth[at] = static_cast<uint8_t>(level);
  return Code::OK;
}

Status parse_entry(Parser* parser, int level, int common_level, Tiler* out) {
  if (level > kMaxDepth) return parser->too_much();
  if (parser->accept('<')) {
    do {
      TW_TRY(parse_entry(parser, level + 1, common_level, out));
      common_level = level + 1;
    } while (parser->accept(','));
    return parser->accept('>') ? Status() : parser->expected("',' or '>'");
  }
  const size_t from = parser->position();
  if (level > 0 && parser->accept('_')) {
    const char next = parser->peek();
    if (next < '0' || next > '9') return append_leaf(kFree, level, common_level, out);
    parser->back_to(from);  // it is CuTe's spelling _4 of 4
  }
  Layout layout;
  TW_TRY(parser->layout(&layout));
  TW_TRY(check_plain(layout));
  return append_layout(layout, layout.root(), level, common_level, out);
}

void format_entry(const Tiler& tiler, Node node, Text* out) {
  if (tiler.is_free(node)) return out->put('_');
  if (tiler.is_tuple(node)) {
    out->put('<');
    bool first = true;
    for (Children c(tiler.body.shape, node); c; c.next(), first = false) {
      if (!first) out->put(',');
      format_entry(tiler, *c, out);
    }
    return out->put('>');
  }
  Layout layout;
  if (extract(tiler.body, node, &layout).ok()) format(layout, out);
}

}  // namespace

Status make_tiler(const Layout& layout, Tiler* out) {
  TW_TRY(check_plain(layout));
  clear(out);
  return append_layout(layout, layout.root(), 0, 0, out);
}

Status make_tiler(int rank, const int64_t* extents, Tiler* out) {
  TW_TRY(check_rank(rank));
  clear(out);
  for (int i = 0; i < rank; ++i) {
    if (extents[i] < 1 && extents[i] != kFree)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "extents", .index = i, .got = extents[i], .limit = 1},
                  "extents[%d] is %lld: extents are at least 1", i,
                  static_cast<long long>(extents[i]));
    TW_TRY(append_leaf(extents[i], 1, 1, out));
  }
  return Code::OK;
}

Status make_tiler(int rank, const Tiler* const* entries, Tiler* out) {
  TW_TRY(check_rank(rank));
  clear(out);
  for (int i = 0; i < rank; ++i) {
    const Tiler& entry = *entries[i];
    const int at = out->body.leaves();
    TW_TRY(append_layout(entry.body, entry.root(), 1, 1, out));
    for (int k = 0; k < entry.body.leaves(); ++k)
      out->bracket_depth[at + k] = static_cast<uint8_t>(entry.bracket_depth[k] + 1);
  }
  return Code::OK;
}

Status parse(std::string_view text, Tiler* out) {
  clear(out);
  Parser parser(text);
  TW_TRY(parse_entry(&parser, 0, 0, out));
  return parser.expect_end();
}

void format(const Tiler& tiler, Text* out) {
  format_entry(tiler, tiler.root(), out);
}

}  // namespace tw
