// SPDX-License-Identifier: Apache-2.0
#include "layout/linear/linear.hpp"

#include <algorithm>
#include <bit>

#include "layout/parser.hpp"

namespace tw {
namespace {

constexpr const char* kNames[LinearLayout::kInDims] = {"register", "lane", "warp", "block"};

Status too_many_bits() {
  return fail(Code::ERROR_CAPACITY, {.argument = "layout", .limit = LinearLayout::kMaxBits},
              "the linear layout needs more than %d bits", LinearLayout::kMaxBits);
}

}  // namespace

int LinearLayout::first(InDim dim) const {
  int index = 0;
  for (int i = 0; i < static_cast<int>(dim); ++i) index += in_bits[i];
  return index;
}

int LinearLayout::total_out() const {
  return out_shift(rank);
}

int LinearLayout::out_shift(int dim) const {
  int shift = 0;
  for (int i = 0; i < dim; ++i) shift += out_bits[i];
  return shift;
}

int64_t LinearLayout::coord(uint64_t element, int dim) const {
  return static_cast<int64_t>(element >> out_shift(dim) & ((uint64_t{1} << out_bits[dim]) - 1));
}

uint64_t LinearLayout::word(const int64_t* coords) const {
  uint64_t packed = 0;
  for (int i = 0; i < rank; ++i) packed |= static_cast<uint64_t>(coords[i]) << out_shift(i);
  return packed;
}

uint64_t LinearLayout::apply(uint64_t input) const {
  uint64_t element = 0;
  for (; input != 0; input &= input - 1) element ^= column[std::countr_zero(input)];
  return element;
}

Status make_linear(int rank, const int64_t* shape, LinearLayout* out) {
  *out = {};
  if (rank < 1 || rank > LinearLayout::kMaxRank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "rank", .got = rank, .limit = LinearLayout::kMaxRank},
                "rank is %d: a linear layout has 1 to %d dimensions", rank, LinearLayout::kMaxRank);
  out->rank = rank;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] < 1 || !std::has_single_bit(static_cast<uint64_t>(shape[i])))
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "shape", .index = i, .got = shape[i]},
                  "shape[%d] is %lld: extents of linear layouts are powers of two", i,
                  static_cast<long long>(shape[i]));
    out->out_bits[i] = std::countr_zero(static_cast<uint64_t>(shape[i]));
  }
  return out->total_out() <= LinearLayout::kMaxBits ? Status() : too_many_bits();
}

Status add_basis(LinearLayout* layout, InDim dim, const int64_t* coords) {
  for (int i = 0; i < layout->rank; ++i)
    if (coords[i] < 0 || coords[i] >> layout->out_bits[i] != 0)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "bases",
                   .index = i,
                   .got = coords[i],
                   .limit = (int64_t{1} << layout->out_bits[i]) - 1},
                  "bases: coordinate %lld of a %s basis is outside dimension %d, 0 to %lld",
                  static_cast<long long>(coords[i]), kNames[static_cast<int>(dim)], i,
                  static_cast<long long>((int64_t{1} << layout->out_bits[i]) - 1));
  if (layout->total_in() == LinearLayout::kMaxBits) return too_many_bits();
  const int at = layout->first(dim) + layout->bits(dim);
  std::copy_backward(layout->column + at, layout->column + layout->total_in(),
                     layout->column + layout->total_in() + 1);
  layout->column[at] = layout->word(coords);
  ++layout->in_bits[static_cast<int>(dim)];
  return Code::OK;
}

Status linear_at(const LinearLayout& layout, const int64_t* input, int64_t* coord) {
  uint64_t packed = 0;
  for (int d = 0; d < LinearLayout::kInDims; ++d) {
    if (input[d] < 0 || input[d] >> layout.in_bits[d] != 0)
      return fail(
          Code::ERROR_INVALID_ARGUMENT,
          {.argument = kNames[d], .got = input[d], .limit = (int64_t{1} << layout.in_bits[d]) - 1},
          "%s is %lld: 0 to %lld", kNames[d], static_cast<long long>(input[d]),
          static_cast<long long>((int64_t{1} << layout.in_bits[d]) - 1));
    packed |= static_cast<uint64_t>(input[d]) << layout.first(static_cast<InDim>(d));
  }
  const uint64_t element = layout.apply(packed);
  for (int k = 0; k < layout.rank; ++k) coord[k] = layout.coord(element, k);
  return Code::OK;
}

void format(const LinearLayout& layout, Text* out) {
  for (int d = 0, at = 0; d < LinearLayout::kInDims; ++d) {
    out->put(kNames[d]);
    out->put("=[");
    for (int i = 0; i < layout.in_bits[d]; ++i, ++at) {
      out->put(i == 0 ? "[" : ",[");
      for (int k = 0; k < layout.rank; ++k) {
        if (k > 0) out->put(',');
        out->put(layout.coord(layout.column[at], k));
      }
      out->put(']');
    }
    out->put("] ");
  }
  out->put("-> (");
  for (int k = 0; k < layout.rank; ++k) {
    if (k > 0) out->put(',');
    out->put(int64_t{1} << layout.out_bits[k]);
  }
  out->put(')');
}

namespace {

struct Entry {
  InDim dim;
  int count;
  int64_t coord[LinearLayout::kMaxRank];
};

Status parse_basis(Parser* parser, Entry* out) {
  out->count = 0;
  TW_TRY(parser->expect('['));
  do {
    if (out->count == LinearLayout::kMaxRank) return parser->expected("']'");
    TW_TRY(parser->integer(&out->coord[out->count++]));
  } while (parser->accept(','));
  return parser->expect(']');
}

Status parse_bases(Parser* parser, InDim dim, Entry* basis, int* count) {
  TW_TRY(parser->expect('='));
  TW_TRY(parser->expect('['));
  if (parser->accept(']')) return Code::OK;
  do {
    if (*count == LinearLayout::kMaxBits) return too_many_bits();
    basis[*count].dim = dim;
    TW_TRY(parse_basis(parser, &basis[(*count)++]));
  } while (parser->accept(','));
  return parser->expect(']');
}

}  // namespace

Status parse(std::string_view text, LinearLayout* out) {
  Parser parser(text);
  Entry basis[LinearLayout::kMaxBits];
  int count = 0;
  for (int d = 0; d < LinearLayout::kInDims; ++d)
    if (parser.accept_word(kNames[d]))
      TW_TRY(parse_bases(&parser, static_cast<InDim>(d), basis, &count));
  if (!parser.accept_word("->"))
    return parser.expected(
        "\"register=\", \"lane=\", \"warp=\", \"block=\" in this order, or \"->\"");
  IntTuple shape;
  TW_TRY(parser.tuple(false, &shape));
  TW_TRY(parser.expect_end());
  TW_TRY(make_linear(shape.leaves, shape.value, out));
  for (int i = 0; i < count; ++i) {
    if (basis[i].count != out->rank)
      return fail(Code::ERROR_PARSE, {.argument = "text", .index = i, .got = basis[i].count},
                  "basis %d of the text has %d coordinates, its shape %d", i, basis[i].count,
                  out->rank);
    TW_TRY(add_basis(out, basis[i].dim, basis[i].coord));
  }
  return Code::OK;
}

}  // namespace tw
