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

namespace {

bool power_of_two(int64_t n) {
  return n >= 1 && std::has_single_bit(static_cast<uint64_t>(n));
}

Status check_powers(int rank, const int64_t* numbers, const char* name) {
  for (int i = 0; i < rank; ++i)
    if (!power_of_two(numbers[i]))
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = name, .index = i, .got = numbers[i]},
                  "%s[%d] is %lld: a power of two is needed", name, i,
                  static_cast<long long>(numbers[i]));
  return Code::OK;
}

Status check_order(int rank, const int32_t* order) {
  unsigned seen = 0;
  for (int i = 0; i < rank; ++i)
    if (order[i] >= 0 && order[i] < rank) seen |= 1u << order[i];
  if (seen == (1u << rank) - 1) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "order"},
              "order is no permutation of the dimensions 0 to %d", rank - 1);
}

// Adds bits to the input `dim`: log2(extent[d]) of them for each dimension d, in the order that
// `order` lists. `covered[d]` is the extent along d that the layout covers so far. A bit steps by
// covered[d] along d and then doubles covered[d]. If the step would leave the shape, the bit has no
// effect on the coordinates.
Status add_identity(int rank, const int64_t* shape, const int64_t* extent, const int32_t* order,
                    InDim dim, int64_t* covered, LinearLayout* out) {
  for (int k = 0; k < rank; ++k) {
    const int d = order[k];
    for (int64_t done = 1; done < extent[d]; done *= 2, covered[d] *= 2) {
      int64_t coords[LinearLayout::kMaxRank] = {};
      if (covered[d] < shape[d]) coords[d] = covered[d];
      TW_TRY(add_basis(out, dim, coords));
    }
  }
  return Code::OK;
}

// Adds registers that repeat the layout until it fills the shape.
Status add_repeats(int rank, const int64_t* shape, const int32_t* order, int64_t* covered,
                   LinearLayout* out) {
  int64_t repeats[LinearLayout::kMaxRank];
  for (int i = 0; i < rank; ++i) repeats[i] = covered[i] < shape[i] ? shape[i] / covered[i] : 1;
  return add_identity(rank, shape, repeats, order, InDim::reg, covered, out);
}

}  // namespace

Status linear_blocked(int rank, const int64_t* shape, const int64_t* size_per_thread,
                      const int64_t* threads_per_warp, const int64_t* warps_per_cta,
                      const int32_t* order, LinearLayout* out) {
  TW_TRY(make_linear(rank, shape, out));
  TW_TRY(check_powers(rank, size_per_thread, "size_per_thread"));
  TW_TRY(check_powers(rank, threads_per_warp, "threads_per_warp"));
  TW_TRY(check_powers(rank, warps_per_cta, "warps_per_cta"));
  TW_TRY(check_order(rank, order));
  int64_t covered[LinearLayout::kMaxRank];
  std::fill_n(covered, rank, int64_t{1});
  for (const int64_t* extents : {size_per_thread, threads_per_warp, warps_per_cta})
    for (int i = 0; i < rank; ++i)
      if (extents[i] > int64_t{1} << LinearLayout::kMaxBits)
        return fail(Code::ERROR_CAPACITY, {.argument = "size_per_thread", .index = i},
                    "an extent needs more than %d bits", LinearLayout::kMaxBits);
  TW_TRY(add_identity(rank, shape, size_per_thread, order, InDim::reg, covered, out));
  TW_TRY(add_identity(rank, shape, threads_per_warp, order, InDim::lane, covered, out));
  TW_TRY(add_identity(rank, shape, warps_per_cta, order, InDim::warp, covered, out));
  return add_repeats(rank, shape, order, covered, out);
}

Status linear_slice(const LinearLayout& parent, int dim, LinearLayout* out) {
  if (dim < 0 || dim >= parent.rank || parent.rank == 1)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "dim", .got = dim, .limit = parent.rank - 1},
                "dim is %d: one of at least two dimensions can be dropped, and there %s %d", dim,
                parent.rank == 1 ? "is" : "are", parent.rank);
  int64_t shape[LinearLayout::kMaxRank];
  for (int i = 0, k = 0; i < parent.rank; ++i)
    if (i != dim) shape[k++] = int64_t{1} << parent.out_bits[i];
  TW_TRY(make_linear(parent.rank - 1, shape, out));
  for (int d = 0, at = 0; d < LinearLayout::kInDims; ++d)
    for (int b = 0; b < parent.in_bits[d]; ++b, ++at) {
      int64_t coords[LinearLayout::kMaxRank];
      bool moves = false;
      for (int i = 0, k = 0; i < parent.rank; ++i)
        if (i != dim) {
          coords[k] = parent.coord(parent.column[at], i);
          moves = moves || coords[k] != 0;
          ++k;
        }
      if (moves || d != 0) TW_TRY(add_basis(out, static_cast<InDim>(d), coords));
    }
  return Code::OK;
}

Status linear_resize(const LinearLayout& layout, const int64_t* shape, const int32_t* order,
                     LinearLayout* out) {
  TW_TRY(make_linear(layout.rank, shape, out));
  static constexpr int32_t kAscending[LinearLayout::kMaxRank] = {0, 1, 2, 3, 4};
  if (order) TW_TRY(check_order(layout.rank, order));
  int64_t covered[LinearLayout::kMaxRank];
  for (int i = 0; i < layout.rank; ++i) covered[i] = int64_t{1} << layout.out_bits[i];
  for (int d = 0, at = 0; d < LinearLayout::kInDims; ++d)
    for (int b = 0; b < layout.in_bits[d]; ++b, ++at) {
      int64_t coords[LinearLayout::kMaxRank];
      for (int i = 0; i < layout.rank; ++i)
        coords[i] = layout.coord(layout.column[at], i) & (shape[i] - 1);
      TW_TRY(add_basis(out, static_cast<InDim>(d), coords));
    }
  return add_repeats(layout.rank, shape, order ? order : kAscending, covered, out);
}

Status linear_resize(const LinearLayout& layout, const IntTuple& shape, LinearLayout* out) {
  if (shape.leaves == layout.rank) return linear_resize(layout, shape.value, nullptr, out);
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "shape", .got = shape.leaves, .limit = layout.rank},
              "shape has %d extents and the layout %d dimensions", shape.leaves, layout.rank);
}

Status linear_gather4(const LinearLayout& layout, int64_t* per_warp, int64_t* warps) {
  *per_warp = *warps = 0;
  const auto refuse = [](const char* why, int index, uint64_t got) {
    return fail(Code::ERROR_UNSUPPORTED,
                {.argument = "layout", .index = index, .got = static_cast<int64_t>(got)}, "%s",
                why);
  };
  if (layout.rank != 1)
    return refuse("a layout of row indices has one dimension: slice the other away", 0,
                  static_cast<uint64_t>(layout.rank));
  const int registers = layout.bits(InDim::reg);
  for (int i = 0; i < 2; ++i)
    if (registers <= i || layout.column[i] != uint64_t{1} << i)
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout", .index = i},
                  registers <= i
                      ? "register basis %d must be [%d], but is missing: gather4 takes four "
                        "consecutive rows from four registers of a thread"
                      : "register basis %d must be [%d], not [%lld]: gather4 takes four "
                        "consecutive rows from four registers of a thread",
                  i, 1 << i, registers <= i ? 0 : static_cast<long long>(layout.column[i]));
  for (int i = 0; i < layout.bits(InDim::lane); ++i)
    if (const uint64_t basis = layout.column[layout.first(InDim::lane) + i]; basis != 0)
      return fail(
          Code::ERROR_UNSUPPORTED,
          {.argument = "layout", .index = i, .got = static_cast<int64_t>(basis)},
          "lane basis %d is [%lld] and has to be [0]: one lane issues gather4 for its warp, "
          "so all lanes have to hold the same rows",
          i, static_cast<long long>(basis));
  int moving = 0;
  for (int i = 0; i < layout.bits(InDim::warp); ++i)
    moving += layout.column[layout.first(InDim::warp) + i] != 0;
  *per_warp = (int64_t{1} << registers) / 4;
  *warps = int64_t{1} << moving;
  return Code::OK;
}

Status default_shared_layout(int64_t rows, int64_t columns, int element_bits, int* swizzle_bytes,
                             Layout* out) {
  *swizzle_bytes = 0;
  if (rows < 1 || columns < 1)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = rows < 1 ? "rows" : "columns", .got = rows < 1 ? rows : columns, .limit = 1},
        "%s is %lld: at least 1", rows < 1 ? "rows" : "columns",
        static_cast<long long>(rows < 1 ? rows : columns));
  if (element_bits < 4 || element_bits > 128 || !power_of_two(element_bits))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "element_bits", .got = element_bits},
                "element_bits is %d: 4, 8, 16, 32, 64 or 128", element_bits);
  int bits = 0;
  int64_t width = columns;
  for (int tried = 3; tried > 0 && bits == 0 && rows >= 8; --tried) {
    const int64_t elements = (int64_t{16} << tried) * 8 / element_bits;
    if (columns % elements != 0) continue;
    bits = tried;
    width = elements;
  }
  // The shape is (rows,(width,panels)). The last two numbers of a leaf are its level and
  // common_level (LayoutBuilder::leaf()).
  LayoutBuilder builder(out);
  builder.leaf(rows, width, 1, 1);
  builder.leaf(width, int64_t{1}, 2, 1);
  int64_t panel = 0;
  if (__builtin_mul_overflow(rows, width, &panel))
    return fail(Code::ERROR_OVERFLOW, {.argument = "rows"}, "the tile exceeds 64 bits");
  builder.leaf(columns / width, columns == width ? 0 : panel, 2, 2);
  if (bits > 0) {
    *swizzle_bytes = 16 << bits;
    // The swizzle XORs the index of a 16-byte chunk with bits 7 and up of the byte address.
    const int base = std::countr_zero(static_cast<unsigned>(16 * 8 / element_bits));
    out->swizzle = {bits, base, 3};
  }
  return builder.finish();
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
