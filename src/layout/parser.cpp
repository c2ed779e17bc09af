// SPDX-License-Identifier: Apache-2.0
#include "layout/parser.hpp"

#include <cctype>
#include <charconv>

namespace tw {

char Parser::peek() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Parser::at_end() {
  peek();
  return at_ >= text_.size();
}

bool Parser::accept(char c) {
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool Parser::accept_word(std::string_view word) {
  peek();
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

Status Parser::expected(const char* what) {
  constexpr size_t kShown = 200;
  const size_t from = at_ > kShown / 2 ? at_ - kShown / 2 : 0;
  const std::string_view part = text_.substr(from, kShown);
  char found[16] = "the text ends";
  if (!at_end()) {
    found[0] = found[2] = '\'';
    found[1] = text_[at_];
    found[3] = '\0';
  }
  return fail(Code::ERROR_PARSE, {.argument = "text", .index = static_cast<int32_t>(at_)},
              "at character %zu of the text \"%.*s\": expected %s, but %s%s", at_ + 1,
              static_cast<int>(part.size()), part.data(), what, at_end() ? "" : "there is ", found);
}

Status Parser::too_much() {
  return fail(Code::ERROR_CAPACITY,
              {.argument = "text", .index = static_cast<int32_t>(at_), .limit = kMaxLeaves},
              "at character %zu: more than %d leaves, or more than %d tuples inside one another",
              at_ + 1, kMaxLeaves, kMaxDepth);
}

Status Parser::expect(char c) {
  if (accept(c)) return Code::OK;
  const char what[4] = {'\'', c, '\'', '\0'};
  return expected(what);
}

Status Parser::expect_end() {
  return at_end() ? Status() : expected("the end of the text");
}

Status Parser::integer(int64_t* out) {
  peek();
  size_t from = at_;
  if (from + 1 < text_.size() && text_[from] == '_') ++from;  // CuTe prints static integers as _4
  const char* const begin = text_.data() + from;
  const auto result = std::from_chars(begin, text_.data() + text_.size(), *out);
  if (result.ec == std::errc::invalid_argument) return expected("an integer");
  if (result.ec == std::errc{} && *out == kFree)
    return expected("an integer above -2^63 (-2^63 itself is reserved for _)");
  if (result.ec == std::errc::result_out_of_range)
    return fail(Code::ERROR_OVERFLOW, {.argument = "text", .index = static_cast<int32_t>(at_)},
                "the integer at character %zu exceeds 64 bits", at_ + 1);
  at_ = static_cast<size_t>(result.ptr - text_.data());
  return Code::OK;
}

Status Parser::index(int* out) {
  int64_t number = 0;
  const size_t from = at_;
  TW_TRY(integer(&number));
  if (number >= 0 && number < kMaxBasisIndex) {
    *out = static_cast<int>(number);
    return Code::OK;
  }
  at_ = from;
  return expected("an index from 0 to 61");
}

// `level` tuples surround the node; `common_level` of them also contain the previous leaf.
Status Parser::tuple_node(bool allow_underscore, int level, int common_level, IntTuple* out) {
  if (level > kMaxDepth) return too_much();
  if (!accept('(')) {
    int64_t value = kFree;
    const size_t from = at_;
    if (!(allow_underscore && accept('_') &&
          !(at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))))) {
      at_ = from;
      TW_TRY(integer(&value));
    }
    return out->push(value, level, common_level) ? Status() : too_much();
  }
  if (level == 0 && accept(')')) return Code::OK;  // the empty tuple
  do {
    TW_TRY(tuple_node(allow_underscore, level + 1, common_level, out));
    common_level = level + 1;
  } while (accept(','));
  return accept(')') ? Status() : expected("',' or ')'");
}

Status Parser::tuple(bool allow_underscore, IntTuple* out) {
  out->leaves = 0;
  return tuple_node(allow_underscore, 0, 0, out);
}

Status Parser::swizzle(BitSwizzle* out) {
  if (!accept_word("Sw<") && !accept_word("S<")) return expected("\"Sw<\"");
  int64_t number[3] = {};
  for (int i = 0; i < 3; ++i) {
    if (i > 0) TW_TRY(expect(','));
    const size_t from = at_;
    TW_TRY(integer(&number[i]));
    if (number[i] < -62 || number[i] > 62) {
      at_ = from;
      return expected("a number of bits, -62 to 62");
    }
  }
  TW_TRY(expect('>'));
  *out = {static_cast<int32_t>(number[0]), static_cast<int32_t>(number[1]),
          static_cast<int32_t>(number[2])};
  return check(*out);
}

Status Parser::stride(Stride* out) {
  *out = Stride();
  do {
    int64_t value = 0;
    TW_TRY(integer(&value));
    int index_of[kMaxBasisDepth];
    int depth = 0;
    while (accept('@')) {
      if (depth == kMaxBasisDepth)
        return fail(Code::ERROR_CAPACITY, {.argument = "text", .limit = kMaxBasisDepth},
                    "at character %zu: a basis element lies more than %d tuples deep", at_ + 1,
                    kMaxBasisDepth);
      TW_TRY(index(&index_of[depth++]));
    }
    Basis basis = 0;
    // The text has the innermost index first: 1@0@2 is 1 at element 0 of element 2.
    for (int i = 0; i < depth; ++i) basis = basis_inner(basis, i, index_of[depth - 1 - i]);
    if (!add_scaled(out, Stride(value, basis), 1))
      return fail(Code::ERROR_CAPACITY, {.argument = "text", .limit = Stride::kMaxTerms},
                  "at character %zu: a stride is the sum of more than %d terms", at_ + 1,
                  Stride::kMaxTerms);
  } while (accept('+'));
  return Code::OK;
}

// Reads the strides of a subtree of the shape, which must have the same parentheses. `level` and
// `common_level` as for tuple_node().
Status Parser::strides(const IntTuple& shape, Node node, int level, LayoutBuilder* builder,
                       int common_level) {
  if (shape.is_leaf(node)) {
    if (peek() == '(') return expected("one stride, as the shape has an integer here");
    Stride stride;
    TW_TRY(this->stride(&stride));
    builder->leaf(shape.value[node.begin], stride, level, common_level);
    return Code::OK;
  }
  if (!accept('(')) return expected("'(', as the shape has a tuple here");
  bool first = true;
  for (Children c(shape, node); c; c.next(), first = false) {
    if (!first && !accept(',')) return expected("',' and one more stride, as the shape has more");
    TW_TRY(strides(shape, *c, level + 1, builder, common_level));
    common_level = level + 1;
  }
  return accept(')') ? Status() : expected("')', as the shape ends here");
}

namespace {

// Adds each number of an origin such as `(48,32) o` to the builder.
void put_origin(const IntTuple& origin, Node node, Basis prefix, int depth,
                LayoutBuilder* builder) {
  if (origin.is_leaf(node)) return builder->origin(origin.value[node.begin], prefix);
  int index = 0;
  for (Children c(origin, node); c; c.next(), ++index)
    put_origin(origin, *c, basis_inner(prefix, depth, index), depth + 1, builder);
}

}  // namespace

Status Parser::frame(LayoutBuilder* builder, Layout* out) {
  if (peek() == 'S') {
    TW_TRY(swizzle(&out->swizzle));
    if (!accept('o')) return expected("'o' between the swizzle and the layout");
  }
  const size_t from = at_;
  IntTuple origin;
  TW_TRY(tuple(false, &origin));
  if (!accept('o')) {
    at_ = from;
    return Code::OK;
  }
  if (origin.leaves == 1 && origin.depth[0] == 0) {
    out->offset = origin.value[0];
    return Code::OK;
  }
  if (!out->swizzle.is_identity()) return expected("an integer offset behind the swizzle");
  if (origin.leaves > 0 && origin.nesting(origin.root()) > kMaxBasisDepth)
    return fail(Code::ERROR_CAPACITY,
                {.argument = "text", .index = static_cast<int32_t>(from), .limit = kMaxBasisDepth},
                "at character %zu: the origin has more than %d tuples inside one another", from + 1,
                kMaxBasisDepth);
  put_origin(origin, origin.root(), 0, 0, builder);
  return Code::OK;
}

Status Parser::layout(Layout* out) {
  LayoutBuilder builder(out);
  TW_TRY(frame(&builder, out));
  IntTuple shape;
  const size_t from = at_;
  TW_TRY(tuple(false, &shape));
  for (int i = 0; i < shape.leaves; ++i)
    if (shape.value[i] < 1) {
      at_ = from;
      return fail(
          Code::ERROR_PARSE, {.argument = "text", .index = i, .got = shape.value[i], .limit = 1},
          "the shape at character %zu of the text has an extent %lld: extents are at least 1",
          at_ + 1, static_cast<long long>(shape.value[i]));
    }
  if (accept(':')) {
    if (shape.leaves == 0) {
      TW_TRY(expect('('));
      TW_TRY(expect(')'));
    } else {
      TW_TRY(strides(shape, shape.root(), 0, &builder, 0));
    }
  } else {
    IntTuple compact;
    TW_TRY(prefix_product(shape, &compact));
    // shape.common_depth[i - 1] tuples contain both leaf i - 1 and leaf i.
    for (int i = 0; i < shape.leaves; ++i)
      builder.leaf(shape.value[i], compact.value[i], shape.depth[i],
                   i > 0 ? shape.common_depth[i - 1] : 0);
  }
  return builder.finish();
}

}  // namespace tw
