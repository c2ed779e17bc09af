// SPDX-License-Identifier: Apache-2.0
#include "layout/draw.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "layout/coordinate.hpp"
#include "layout/radix.hpp"
#include "layout/svg.hpp"
#include "layout/text.hpp"

namespace tw {
namespace {

template <class Value>
std::string text_of(const Value& value) {
  Text text;
  format(value, &text);
  return std::string(text.view());
}

// Rows and columns of a picture: mode 0, and the other modes as one. One mode is a row.
struct Sides {
  int64_t rows;
  int64_t columns;
  int64_t shown_rows;
  int64_t shown_columns;
  bool is_cut() const { return rows != shown_rows || columns != shown_columns; }
  int64_t linear(int64_t r, int64_t c) const { return rows == 1 ? c : r + c * rows; }
};

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

// Smallest and largest index, for the scale.
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

std::string colour_of(int64_t index, Paint paint, int element_bits, const Range& range) {
  if (paint == Paint::banks) {
    const Wide bits = Wide{index} * element_bits;
    const auto word = static_cast<int64_t>((bits >= 0 ? bits : bits - 31) / 32 % 32);
    return pick_colour((word + 32) % 32, 32);
  }
  if (paint == Paint::index && range.high > range.low)
    return scale_colour((static_cast<double>(index) - range.low) / (range.high - range.low));
  return "#ffffff";
}

Status put_indices(const Layout& layout, Paint paint, int element_bits, Grid* grid,
                   const Sides& sides) {
  const Range range = layout.coordinates ? Range{} : range_of(layout);
  for (int64_t r = 0; r < grid->rows; ++r)
    for (int64_t c = 0; c < grid->columns; ++c) {
      Cell& cell = grid->cells[static_cast<size_t>(r * grid->columns + c)];
      IntTuple at, value;
      at.push(sides.linear(r, c), 0, 0);
      TW_TRY(crd2crd(layout, at, &value));
      cell.text = text_of(value);
      if (!layout.coordinates) cell.colour = colour_of(value.value[0], paint, element_bits, range);
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
    remark += std::string(remark.empty() ? "" : "; ") + "colours: banks of shared memory, " +
              std::to_string(element_bits) + "-bit elements";
  *svg = to_svg(text_of(layout), grids, remark);
  return Code::OK;
}

Status draw_tv(const Layout& tv, const IntTuple& tile, std::string* svg) {
  if (tv.rank() != 2 || tv.coordinates)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tv", .got = tv.rank(), .limit = 2},
                "a thread-value layout has two modes, (threads, values), and gives elements");
  int64_t elements = 0, rows = 0;
  TW_TRY(product(tile, &elements));
  if (tile.leaves == 0 || !product(tile, tile.child(tile.root(), 0), &rows) || elements < 1 ||
      rows < 1)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tile"},
                "the tile's extents are at least 1");
  const Sides sides =
      tile.rank(tile.root()) == 1 ? sides_of(1, elements) : sides_of(rows, elements / rows);
  Grid grid = empty_grid(sides);
  const int64_t threads = size(tv, tv.mode(0)), values = size(tv, tv.mode(1));
  // Of a large layout what can be in the picture at all: a value is looked for by its element.
  for (int64_t r = 0; r < grid.rows; ++r)
    for (int64_t c = 0; c < grid.columns; ++c) {
      Cell& cell = grid.cells[static_cast<size_t>(r * grid.columns + c)];
      int64_t linear = 0;
      if (!find(tv, sides.linear(r, c), &linear).ok()) {
        cell.colour = "#eeeeee";
        continue;
      }
      cell.text = "T" + std::to_string(linear % threads) + "\nV" + std::to_string(linear / threads);
      cell.colour = pick_colour(linear % threads, threads);
    }
  std::string remark = std::to_string(threads) + " threads with " + std::to_string(values) +
                       " values each, coloured by thread";
  if (sides.is_cut()) remark += "; " + cut_remark(sides);
  *svg = to_svg(text_of(tv) + "  in a tile of " + text_of(tile), {grid}, remark);
  return Code::OK;
}

namespace {

// Where a box begins along the tensor's first two modes. A coordinate tensor's numbers come in the
// order of its codomain.
Status box_corner(const Layout& tensor, const Layout& coords, int64_t box, int64_t* corner) {
  int64_t at[kMaxLeaves];
  int count = 0;
  TW_TRY(crd2crd(coords, &box, 1, at, &count));
  corner[0] = corner[1] = 0;
  for (int k = 0; k < 2 && k < tensor.rank(); ++k) {
    const int number = tensor.coordinates ? basis_at(tensor.basis[tensor.mode(k).begin], 0) : k;
    if (number >= 0 && number < count) corner[k] = at[number];
  }
  return Code::OK;
}

}  // namespace

Status draw_boxes(const Layout& tensor, const int64_t* box, const Layout& coords,
                  std::string* svg) {
  const int rank = tensor.rank();
  if (!coords.coordinates)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "boxes"},
                "boxes gives numbers, not coordinates of the tensor");
  for (int k = 0; k < rank; ++k)
    if (box[k] < 1)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "box", .index = k, .got = box[k], .limit = 1},
                  "box[%d] is %lld: at least 1", k, static_cast<long long>(box[k]));
  const int64_t rows = size(tensor, tensor.mode(0));
  const int64_t columns = rank > 1 ? size(tensor, tensor.mode(1)) : 1;
  // A cell stands for the largest square of elements that every box is made of, unless there would
  // be too many cells.
  int64_t unit[2] = {1, 1};
  const int64_t whole[2] = {rows, columns};
  const int64_t boxes = std::min<int64_t>(size(coords), 4096);
  for (int k = 0; k < 2 && k < rank; ++k) unit[k] = box[k];
  for (int64_t b = 0; b < boxes; ++b) {
    int64_t at[2];
    TW_TRY(box_corner(tensor, coords, b, at));
    for (int k = 0; k < 2; ++k) unit[k] = std::gcd(unit[k], at[k]);
  }
  for (int k = 0; k < 2; ++k) unit[k] = std::max(unit[k], (whole[k] + kMaxSide - 1) / kMaxSide);
  const auto cells = [&](int k) { return (whole[k] + unit[k] - 1) / unit[k]; };
  const Sides sides = sides_of(cells(0), cells(1));
  Grid grid = empty_grid(sides);
  grid.row_unit = unit[0];
  grid.column_unit = unit[1];
  for (int64_t b = 0; b < boxes; ++b) {
    int64_t mode_at[2];
    TW_TRY(box_corner(tensor, coords, b, mode_at));
    const int64_t end[2] = {mode_at[0] + box[0], mode_at[1] + (rank > 1 ? box[1] : 1)};
    for (int64_t r = mode_at[0] / unit[0]; r < sides.shown_rows && r * unit[0] < end[0]; ++r)
      for (int64_t c = mode_at[1] / unit[1]; c < sides.shown_columns && c * unit[1] < end[1]; ++c) {
        Cell& cell = grid.cells[static_cast<size_t>(r * grid.columns + c)];
        cell.text = std::to_string(b);
        cell.colour = pick_colour(b, boxes);
      }
  }
  std::string remark = "boxes of ";
  for (int k = 0; k < rank; ++k) remark += (k ? " x " : "") + std::to_string(box[k]);
  remark += ", numbered in the order of shared memory; a cell is " + std::to_string(unit[0]) +
            " x " + std::to_string(unit[1]) + " elements";
  if (sides.is_cut()) remark += "; " + cut_remark(sides);
  *svg = to_svg(text_of(tensor) + "  boxes " + text_of(coords), {grid}, remark);
  return Code::OK;
}

}  // namespace tw
