// SPDX-License-Identifier: Apache-2.0
#include "layout/draw/draw.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "base/checked.hpp"
#include "layout/coordinate.hpp"
#include "layout/draw/svg.hpp"
#include "layout/radix.hpp"
#include "layout/text.hpp"

namespace tw {
namespace {

template <class Value>
std::string text_of(const Value& value) {
  Text text;
  format(value, &text);
  return std::string(text.view());
}

// Mode 0 gives the rows of a picture, the other modes together give the columns. A layout with one
// mode is drawn as one row.
struct Sides {
  int64_t rows;
  int64_t columns;
  int64_t shown_rows;
  int64_t shown_columns;
  bool is_cut() const { return rows != shown_rows || columns != shown_columns; }
  int64_t linear(int64_t r, int64_t c) const { return rows == 1 ? c : r + c * rows; }
};

// The number of cells for `elements` > 0 with `unit` elements per cell. Does not overflow near
// 2^63.
int64_t cells_of(int64_t elements, int64_t unit) {
  return (elements - 1) / unit + 1;
}

Sides sides_of(int64_t rows, int64_t columns) {
  return {rows, columns, std::min(rows, kMaxSide), std::min(columns, kMaxSide)};
}

Sides sides_of(const Layout& layout) {
  if (layout.rank() <= 1) return sides_of(1, size(layout));
  const int64_t rows = size(layout, layout.mode(0));
  return sides_of(rows, size(layout) / rows);
}

std::string cut_remark(const Sides& sides) {
  if (!sides.is_cut()) return "";
  return std::to_string(sides.shown_rows) + " of " + std::to_string(sides.rows) + " rows and " +
         std::to_string(sides.shown_columns) + " of " + std::to_string(sides.columns) +
         " columns are shown";
}

Grid empty_grid(const Sides& sides) {
  Grid grid;
  grid.rows = sides.shown_rows;
  grid.columns = sides.shown_columns;
  grid.cells.resize(static_cast<size_t>(grid.rows * grid.columns));
  return grid;
}

// Smallest and largest index.
struct Range {
  double low = 0;
  double high = 0;
};
Range range_of(const Layout& layout) {
  Range range;
  for (int i = 0; i < layout.leaves(); ++i) {
    const double reach =
        static_cast<double>(layout.shape.value[i] - 1) * static_cast<double>(layout.stride[i]);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

std::string color_of(int64_t index, Paint paint, int element_bits, const Range& range) {
  if (paint == Paint::banks) {
    const Wide bits = Wide{index} * element_bits;
    const auto word = static_cast<int64_t>((bits >= 0 ? bits : bits - 31) / 32 % 32);
    return pick_color((word + 32) % 32, 32);
  }
  if (paint == Paint::index && range.high > range.low)
    return scale_color((static_cast<double>(index) - range.low) / (range.high - range.low));
  return "#ffffff";
}

Status put_indices(const Layout& layout, Paint paint, int element_bits, Grid* grid,
                   const Sides& sides) {
  const Range range = layout.has_basis_strides ? Range{} : range_of(layout);
  for (int64_t r = 0; r < grid->rows; ++r)
    for (int64_t c = 0; c < grid->columns; ++c) {
      Cell& cell = grid->cells[static_cast<size_t>(r * grid->columns + c)];
      IntTuple at, value;
      at.push(sides.linear(r, c), 0, 0);
      TW_TRY(crd2crd(layout, at, &value));
      cell.text = text_of(value);
      if (!layout.has_basis_strides)
        cell.color = color_of(value.value[0], paint, element_bits, range);
    }
  return Code::OK;
}

// Marks an element that no (thread, value) pair holds.
constexpr int64_t kNotHeld = -1;

// Evaluates every (thread, value) pair. The first one that holds an element is kept.
Status list_holders(const Layout& tv, const Sides& sides, std::vector<int64_t>* holders) {
  const int64_t pairs = size(tv);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    int64_t element = 0;
    TW_TRY(crd2idx(tv, &pair, 1, &element));
    if (element < 0) continue;
    const int64_t r = element % sides.rows, c = element / sides.rows;
    if (r >= sides.shown_rows || c >= sides.shown_columns) continue;
    int64_t& holder = (*holders)[static_cast<size_t>(r * sides.shown_columns + c)];
    if (holder == kNotHeld) holder = pair;
  }
  return Code::OK;
}

Status too_long(const Layout& tv, int64_t done, size_t wanted) {
  const int64_t pairs = size(tv);
  return fail(Code::ERROR_UNSUPPORTED, {.argument = "tv", .got = pairs, .limit = kTvBudget},
              "tv has %lld pairs of thread and value, too many to look at each, and its modes "
              "overlap so much that %lld steps of searching found who holds %lld of the %lld "
              "elements shown: draw a part of tv with at most %lld pairs",
              static_cast<long long>(pairs), static_cast<long long>(kTvBudget),
              static_cast<long long>(done), static_cast<long long>(wanted),
              static_cast<long long>(kTvBudget));
}

// For large layouts: searches a (thread, value) pair for each element in the picture.
Status search_holders(const Layout& tv, const Sides& sides, std::vector<int64_t>* holders) {
  int64_t budget = kTvBudget;
  for (int64_t r = 0; r < sides.shown_rows; ++r)
    for (int64_t c = 0; c < sides.shown_columns; ++c) {
      const int64_t done = r * sides.shown_columns + c;
      int64_t pair = 0;
      const Status found = find(tv, sides.linear(r, c), &budget, &pair);
      if (found.ok())
        (*holders)[static_cast<size_t>(done)] = pair;
      else if (found.code() == Code::ERROR_UNSUPPORTED)
        return too_long(tv, done, holders->size());
      else if (found.code() != Code::ERROR_NOT_FOUND)
        return found;
    }
  return Code::OK;
}

}  // namespace

Status draw(const Layout& layout, Paint paint, int element_bits, std::string* svg) {
  if (paint < Paint::none || paint > Paint::index)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "paint", .got = static_cast<int32_t>(paint)}, "paint is %d: 0 to 2",
                static_cast<int32_t>(paint));
  if (paint == Paint::banks && (element_bits < 1 || element_bits > 1024))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "element_bits", .got = element_bits},
                "element_bits is %d: banks need the size of an element, 1 to 1024 bits",
                element_bits);
  const Sides sides = sides_of(layout);
  std::vector<Grid> grids;
  grids.push_back(empty_grid(sides));
  TW_TRY(put_indices(layout, paint, element_bits, &grids[0], sides));
  if (!layout.swizzle.is_identity()) {
    Layout plain = layout;
    plain.swizzle = {};
    grids.push_back(empty_grid(sides));
    TW_TRY(put_indices(plain, paint, element_bits, &grids[1], sides));
    grids[0].caption = "swizzled";
    grids[1].caption = "without the swizzle";
  }
  std::string remark = cut_remark(sides);
  if (paint == Paint::banks)
    remark += std::string(remark.empty() ? "" : "; ") + "colors: banks of shared memory, " +
              std::to_string(element_bits) + "-bit elements";
  *svg = to_svg(text_of(layout), grids, remark);
  return Code::OK;
}

Status draw_tv(const Layout& tv, const IntTuple& tile, std::string* svg) {
  if (tv.rank() != 2 || tv.has_basis_strides)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tv", .got = tv.rank(), .limit = 2},
                "a thread-value layout has two modes, (threads, values), and gives elements");
  int64_t elements = 0, rows = 0;
  TW_TRY(product(tile, &elements));
  const auto empty = [](int64_t extent) { return extent < 1; };
  if (tile.leaves == 0 || std::any_of(tile.value, tile.value + tile.leaves, empty) ||
      !product(tile, tile.child(tile.root(), 0), &rows))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tile"},
                "the tile's extents are at least 1");
  const Sides sides =
      tile.rank(tile.root()) == 1 ? sides_of(1, elements) : sides_of(rows, elements / rows);
  Grid grid = empty_grid(sides);
  std::vector<int64_t> holders(grid.cells.size(), kNotHeld);
  TW_TRY(size(tv) <= kTvBudget ? list_holders(tv, sides, &holders)
                               : search_holders(tv, sides, &holders));
  const int64_t threads = size(tv, tv.mode(0)), values = size(tv, tv.mode(1));
  for (size_t i = 0; i < holders.size(); ++i) {
    Cell& cell = grid.cells[i];
    const int64_t thread = holders[i] % threads, value = holders[i] / threads;
    if (holders[i] == kNotHeld) {
      cell.color = "#eeeeee";
      continue;
    }
    cell.text = "T" + std::to_string(thread) + "\nV" + std::to_string(value);
    cell.color = pick_color(thread, threads);
  }
  std::string remark = std::to_string(threads) + " threads with " + std::to_string(values) +
                       " values each, colored by thread";
  if (sides.is_cut()) remark += "; " + cut_remark(sides);
  *svg = to_svg(text_of(tv) + "  in a tile of " + text_of(tile), {grid}, remark);
  return Code::OK;
}

namespace {

// A picture shows at most this many boxes.
constexpr int64_t kMaxBoxes = 4096;
constexpr int32_t kNoBox = -1;

using Pair = std::array<int64_t, 2>;  // along the tensor's first two modes

// Finds the first coordinate of each box along the tensor's first two modes.
Status box_corners(const Layout& tensor, const Layout& coords, int64_t boxes,
                   std::vector<Pair>* corners) {
  int number[2] = {-1, -1};
  for (int k = 0; k < 2 && k < tensor.rank(); ++k) {
    const Node mode = tensor.mode(k);
    number[k] = !tensor.has_basis_strides ? k
                : mode.leaves() == 0      ? -1
                                          : basis_at(tensor.basis[mode.begin], 0);
  }
  for (int64_t b = 0; b < boxes; ++b) {
    int64_t at[kMaxLeaves];
    int count = 0;
    TW_TRY(crd2crd(coords, &b, 1, at, &count));
    Pair corner{};
    for (size_t k = 0; k < 2; ++k)
      if (number[k] >= 0 && number[k] < count) corner[k] = at[number[k]];
    corners->push_back(corner);
  }
  return Code::OK;
}

// The elements per cell: the largest rectangle that divides all boxes, or more if that would give
// too many cells.
Pair cell_units(const Pair& whole, const Pair& box, const std::vector<Pair>& corners) {
  Pair unit = box;
  for (size_t k = 0; k < 2; ++k) {
    auto common = static_cast<uint64_t>(box[k]);
    for (const Pair& corner : corners) {
      const auto at = static_cast<uint64_t>(corner[k]);
      common = std::gcd(common, corner[k] < 0 ? 0 - at : at);
    }
    unit[k] = std::max(static_cast<int64_t>(common), cells_of(whole[k], kMaxSide));
  }
  return unit;
}

// The cells [first, end) of a box along one mode; empty if it lies outside the picture.
struct Covered {
  int64_t first, end;
};
Covered covered(int64_t at, int64_t extent, int64_t unit, int64_t shown) {
  int64_t end = 0;
  if (!checked_add(at, extent, &end)) end = INT64_MAX;
  if (end <= 0) return {0, 0};
  return {std::max<int64_t>(at, 0) / unit, std::min(cells_of(end, unit), shown)};
}

void put_boxes(const std::vector<Pair>& corners, const Pair& box, Grid* grid) {
  std::vector<int32_t> owners(grid->cells.size(), kNoBox);
  for (size_t b = 0; b < corners.size(); ++b) {
    const Covered rows = covered(corners[b][0], box[0], grid->row_unit, grid->rows);
    const Covered columns = covered(corners[b][1], box[1], grid->column_unit, grid->columns);
    for (int64_t r = rows.first; r < rows.end; ++r)
      for (int64_t c = columns.first; c < columns.end; ++c)
        owners[static_cast<size_t>(r * grid->columns + c)] = static_cast<int32_t>(b);
  }
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] == kNoBox) continue;
    grid->cells[i].text = std::to_string(owners[i]);
    grid->cells[i].color = pick_color(owners[i], static_cast<int64_t>(corners.size()));
  }
}

std::string box_remark(const int64_t* box, int rank, int64_t boxes, const Grid& grid) {
  std::string remark = "boxes of ";
  for (int k = 0; k < rank; ++k) remark += (k ? " x " : "") + std::to_string(box[k]);
  remark += ", numbered in the order of shared memory; a cell is " + std::to_string(grid.row_unit) +
            " x " + std::to_string(grid.column_unit) + " elements";
  if (boxes > kMaxBoxes)
    remark += "; the first " + std::to_string(kMaxBoxes) + " of " + std::to_string(boxes) +
              " boxes are drawn";
  return remark;
}

}  // namespace

Status draw_boxes(const Layout& tensor, const int64_t* box, const Layout& coords,
                  std::string* svg) {
  const int rank = tensor.rank();
  if (!coords.has_basis_strides)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "boxes"},
                "boxes gives numbers, not coordinates of the tensor");
  for (int k = 0; k < rank; ++k)
    if (box[k] < 1)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "box", .index = k, .got = box[k], .limit = 1},
                  "box[%d] is %lld: at least 1", k, static_cast<long long>(box[k]));
  std::vector<Pair> corners;
  TW_TRY(box_corners(tensor, coords, std::min(size(coords), kMaxBoxes), &corners));
  Pair whole{1, 1}, extents{1, 1};
  for (int k = 0; k < 2 && k < rank; ++k) {
    whole[static_cast<size_t>(k)] = size(tensor, tensor.mode(k));
    extents[static_cast<size_t>(k)] = box[k];
  }
  const Pair unit = cell_units(whole, extents, corners);
  const Sides sides = sides_of(cells_of(whole[0], unit[0]), cells_of(whole[1], unit[1]));
  Grid grid = empty_grid(sides);
  grid.row_unit = unit[0];
  grid.column_unit = unit[1];
  put_boxes(corners, extents, &grid);
  *svg = to_svg(text_of(tensor) + "  boxes " + text_of(coords), {grid},
                box_remark(box, rank, size(coords), grid));
  return Code::OK;
}

}  // namespace tw
