// SPDX-License-Identifier: Apache-2.0
#pragma once
// A grid of cells with texts and colours, written as SVG. Used by draw.cpp alone.

#include <cstdint>
#include <string>
#include <vector>

namespace tw {

/// Colours that neighbours tell apart, for numbers of any size; light enough for black text.
std::string pick_colour(int64_t number, int64_t of);
/// From light yellow to green-blue.
std::string scale_colour(double part);

struct Cell {
  std::string text;
  std::string colour = "#ffffff";
};

/// One panel: a caption, and cells row by row.
struct Grid {
  std::string caption;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_unit = 1;  ///< what a row counts for in the numbers at the side
  int64_t column_unit = 1;
  std::vector<Cell> cells;
};

/// Panels beside one another, wide ones one below the other, under a title and with a line of
/// remarks at the foot.
std::string to_svg(const std::string& title, const std::vector<Grid>& grids,
                   const std::string& remark);

}  // namespace tw
