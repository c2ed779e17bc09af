// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes grids of cells with texts and colors as SVG. Only for draw.cpp.

#include <cstdint>
#include <string>
#include <vector>

namespace tw {

/// The color of item `index` of `total` items. Adjacent items get distinguishable colors that are
/// light enough for black text.
std::string pick_color(int64_t index, int64_t total);
/// A scale from light yellow (part = 0) to green-blue (1).
std::string scale_color(double part);

struct Cell {
  std::string text;
  std::string color = "#ffffff";
};

/// One panel: a caption and cells in row-major order.
struct Grid {
  std::string caption;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_unit = 1;  ///< step of the row labels
  int64_t column_unit = 1;
  std::vector<Cell> cells;
};

/// Arranges panels side by side, or below each other if they are wide, under a title. `remark` is a
/// line at the bottom.
std::string to_svg(const std::string& title, const std::vector<Grid>& grids,
                   const std::string& remark);

}  // namespace tw
