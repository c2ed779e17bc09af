// SPDX-License-Identifier: Apache-2.0
#include "layout/draw/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/decimal.hpp"

namespace tw {
namespace {

// All sizes are in px.
constexpr double kFont = 11;
constexpr double kGlyph = 6.7;  // width of a monospaced glyph
constexpr double kCellHeight = 20;
constexpr double kMargin = 14;
constexpr double kWide = 900;  // wider panels go below each other

std::string number(double value) {
  return Decimal::significant(std::round(value * 10) / 10, 10).text();
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

void put_text(double x, double y, double size, const char* anchor, const char* color,
              const std::string& text, std::string* out) {
  *out += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"";
  if (size != kFont) *out += " font-size=\"" + number(size) + "\"";
  if (*anchor) *out += std::string(" text-anchor=\"") + anchor + "\"";
  if (*color) *out += std::string(" fill=\"") + color + "\"";
  *out += ">" + escaped(text) + "</text>\n";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  return lines;
}

struct Size {
  double cell_width;
  double cell_height;
  double side;  // width of the row labels
  double width;
  double height;
};

// The number of glyphs of the largest label, (count - 1) * unit.
size_t label_glyphs(int64_t count, int64_t unit) {
  return std::to_string((count - 1) * unit).size();
}

Size measure(const Grid& grid) {
  size_t glyphs = label_glyphs(grid.columns, grid.column_unit), lines = 1;
  for (const Cell& cell : grid.cells) {
    const std::vector<std::string> parts = lines_of(cell.text);
    lines = std::max(lines, parts.size());
    for (const std::string& part : parts) glyphs = std::max(glyphs, part.size());
  }
  Size size{};
  size.cell_width = std::max(kCellHeight, kGlyph * static_cast<double>(glyphs) + 8);
  size.cell_height = kCellHeight + 12 * static_cast<double>(lines - 1);
  size.side = kGlyph * static_cast<double>(label_glyphs(grid.rows, grid.row_unit)) + 10;
  const double caption =
      grid.caption.empty() ? 0 : kGlyph * 1.1 * static_cast<double>(grid.caption.size());
  size.width = std::max(size.side + size.cell_width * static_cast<double>(grid.columns), caption);
  size.height =
      18 + size.cell_height * static_cast<double>(grid.rows) + (grid.caption.empty() ? 0 : 18);
  return size;
}

void put_grid(const Grid& grid, const Size& size, double x0, double y0, std::string* out) {
  if (!grid.caption.empty()) {
    put_text(x0 + size.side, y0 + 11, 12, "", "#444444", grid.caption, out);
    y0 += 18;
  }
  for (int64_t c = 0; c < grid.columns; ++c)
    put_text(x0 + size.side + size.cell_width * (static_cast<double>(c) + 0.5), y0 + 12, 9,
             "middle", "#888888", std::to_string(c * grid.column_unit), out);
  y0 += 18;
  for (int64_t r = 0; r < grid.rows; ++r) {
    const double y = y0 + size.cell_height * static_cast<double>(r);
    put_text(x0 + size.side - 5, y + size.cell_height / 2 + 3, 9, "end", "#888888",
             std::to_string(r * grid.row_unit), out);
    for (int64_t c = 0; c < grid.columns; ++c) {
      const Cell& cell = grid.cells[static_cast<size_t>(r * grid.columns + c)];
      const double x = x0 + size.side + size.cell_width * static_cast<double>(c);
      *out += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
              number(size.cell_width) + "\" height=\"" + number(size.cell_height) + "\" fill=\"" +
              cell.color + "\" stroke=\"#777777\" stroke-width=\".5\"/>\n";
      const std::vector<std::string> lines = lines_of(cell.text);
      double baseline = y + size.cell_height / 2 + 4 - 6 * static_cast<double>(lines.size() - 1);
      for (const std::string& line : lines) {
        if (!line.empty())
          put_text(x + size.cell_width / 2, baseline, kFont, "middle", "", line, out);
        baseline += 12;
      }
    }
  }
}

}  // namespace

std::string pick_color(int64_t index, int64_t total) {
  if (total < 1) total = 1;
  const auto count = static_cast<double>(std::min<int64_t>(total, 32));
  int64_t n = index % total;
  if (n < 0) n += total;
  const double hue = 360.0 * static_cast<double>(n % 32) / count;
  // Hues repeat after 32 numbers, then a little darker.
  const double light = 84 - 7 * static_cast<double>(n / 32 % 3) - (n % 2 ? 6 : 0);
  char text[48];
  const double a = 0.62 * std::min(light, 100 - light) / 100;
  int rgb[3];
  for (int i = 0; i < 3; ++i) {
    const double k = std::fmod((i == 0 ? 0.0 : i == 1 ? 8.0 : 4.0) + hue / 30, 12);
    const double value = light / 100 - a * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    rgb[i] = static_cast<int>(std::lround(255 * value));
  }
  std::snprintf(text, sizeof text, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
  return text;
}

std::string scale_color(double part) {
  static constexpr int kLow[] = {255, 250, 214}, kHigh[] = {104, 190, 190};
  part = std::clamp(part, 0.0, 1.0);
  char text[16];
  int rgb[3];
  for (int i = 0; i < 3; ++i)
    rgb[i] = static_cast<int>(std::lround(kLow[i] + (kHigh[i] - kLow[i]) * part));
  std::snprintf(text, sizeof text, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
  return text;
}

std::string to_svg(const std::string& title, const std::vector<Grid>& grids,
                   const std::string& remark) {
  std::vector<Size> sizes;
  double widest = 0, highest = 0, sum_width = 0, sum_height = 0;
  for (const Grid& grid : grids) {
    const Size size = measure(grid);
    sizes.push_back(size);
    widest = std::max(widest, size.width);
    highest = std::max(highest, size.height);
    sum_width += size.width + (sizes.size() > 1 ? 2 * kMargin : 0);
    sum_height += size.height + (sizes.size() > 1 ? kMargin : 0);
  }
  const bool below = widest > kWide && widest > 1.5 * highest;
  double width = 2 * kMargin + (below ? widest : sum_width);
  double height = below ? sum_height : highest;
  width = std::max(width, 2 * kMargin + 8.2 * static_cast<double>(title.size()));
  width = std::max(width, 2 * kMargin + 6.2 * static_cast<double>(remark.size()));
  height += 2 * kMargin + 22 + (remark.empty() ? 0 : 20);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) +
                    "\" height=\"" + number(height) + "\" viewBox=\"0 0 " + number(width) + " " +
                    number(height) +
                    "\" font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" "
                    "font-size=\"" +
                    number(kFont) +
                    "\">\n<rect width=\"100%\" height=\"100%\" "
                    "fill=\"#ffffff\"/>\n";
  put_text(kMargin, kMargin + 12, 13, "", "#000000", title, &out);
  double x = kMargin, y = kMargin + 22;
  for (size_t i = 0; i < grids.size(); ++i) {
    put_grid(grids[i], sizes[i], x, y, &out);
    (below ? y : x) += below ? sizes[i].height + kMargin : sizes[i].width + 2 * kMargin;
  }
  if (!remark.empty()) put_text(kMargin, height - kMargin, 10, "", "#666666", remark, &out);
  return out + "</svg>\n";
}

}  // namespace tw
