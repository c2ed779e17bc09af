// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/show/draw.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "tensor_map/geometry.hpp"

namespace tw {
namespace {

constexpr int kCellWidth = 72;
constexpr int kCellHeight = 18;
constexpr int kLeft = 64;
constexpr int kTop = 84;
constexpr uint32_t kLines = 64;  // maximum number of lines, of 128 bytes each
constexpr uint32_t kChunks = 8;  // 16-byte chunks per line

[[gnu::format(printf, 2, 3)]] void put(std::string* svg, const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  *svg += buffer;
}

void put_text(std::string* svg, int x, int y, const char* text) {
  put(svg, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, y, text);
}

// The color depends on the chunk's index in its row, which makes the swizzle visible.
void put_cell(std::string* svg, uint32_t line, uint32_t column, uint64_t row, uint32_t chunk) {
  const int x = kLeft + static_cast<int>(column) * kCellWidth;
  const int y = kTop + static_cast<int>(line) * kCellHeight;
  put(svg, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"hsl(%u,70%%,80%%)\"/>\n", x,
      y, kCellWidth, kCellHeight, chunk % kChunks * 45);
  char label[48];
  std::snprintf(label, sizeof label, "%llu.%u", static_cast<unsigned long long>(row), chunk);
  put_text(svg, x + kCellWidth / 2, y + kCellHeight - 5, label);
}

// The tensor's extents, such as "100 (box 64), 37 (box 16, stride 256 bytes)".
std::string extents(const TensorMapDesc& desc) {
  std::string text;
  for (int i = 0; i < desc.rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(desc.global_dim[i]);
    const bool has_box = desc.box_dim[i] > 0;
    if (has_box || i > 0) text += " (";
    if (has_box) text += "box " + std::to_string(desc.box_dim[i]);
    if (has_box && i > 0) text += ", ";
    if (i > 0) text += "stride " + std::to_string(desc.global_stride_bytes[i - 1]) + " bytes";
    if (has_box || i > 0) text += ")";
  }
  return text;
}

void put_frame(std::string* svg, uint32_t lines, const TensorMapDesc& desc) {
  const int width = kLeft + static_cast<int>(kChunks) * kCellWidth + 8;
  const int height = kTop + static_cast<int>(lines) * kCellHeight + 24;
  put(svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "font-family=\"monospace\" font-size=\"11\" stroke=\"none\">\n",
      width, height);
  put(svg, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
  put(svg, "<text x=\"8\" y=\"16\">%s, innermost first: %s</text>\n", dtype_name(desc.dtype),
      extents(desc).c_str());
  put(svg,
      "<text x=\"8\" y=\"32\">box: %llu rows of %llu bytes, %llu bytes a transaction, swizzle of "
      "%u "
      "bytes</text>\n",
      static_cast<unsigned long long>(box_rows(desc)),
      static_cast<unsigned long long>(row_bytes(desc)),
      static_cast<unsigned long long>(box_bytes(desc)), swizzle_span(desc.swizzle));
  put(svg,
      "<text x=\"8\" y=\"48\">cells: row.chunk of the box, 16 bytes each; left: byte offset; "
      "above: banks</text>\n");
  for (uint32_t column = 0; column < kChunks; ++column) {
    char label[32];
    std::snprintf(label, sizeof label, "%u-%u", column * 4, column * 4 + 3);
    put_text(svg, kLeft + static_cast<int>(column) * kCellWidth + kCellWidth / 2, kTop - 8, label);
  }
  for (uint32_t line = 0; line < lines; ++line) {
    char label[32];
    std::snprintf(label, sizeof label, "%u", line * 128);
    put_text(svg, kLeft / 2, kTop + static_cast<int>(line + 1) * kCellHeight - 5, label);
  }
}

}  // namespace

std::string draw(const TensorMapDesc& desc) {
  const uint64_t span = box_span_bytes(desc);
  const auto lines = static_cast<uint32_t>(std::min<uint64_t>((span + 127) / 128, kLines));
  const uint64_t pitch = row_pitch(desc);
  std::string svg;
  put_frame(&svg, lines, desc);
  // The pattern of swizzles with wider atoms is not known, so draw no cells for them.
  const uint64_t rows = static_cast<int32_t>(desc.swizzle) > 3 ? 0 : box_rows(desc);
  for (uint64_t row = 0; row < rows && row * pitch < uint64_t{lines} * 128; ++row)
    for (uint32_t chunk = 0; chunk < row_bytes(desc) / 16; ++chunk) {
      const uint64_t plain = row * pitch + chunk * 16;
      if (plain >= uint64_t{lines} * 128) break;
      const uint32_t at = swizzled(static_cast<uint32_t>(plain), swizzle_mask(desc.swizzle));
      put_cell(&svg, at / 128, at % 128 / 16, row, chunk);
    }
  if (span > uint64_t{lines} * 128)
    put(&svg, "<text x=\"8\" y=\"%d\">... %llu bytes in all</text>\n",
        kTop + static_cast<int>(lines) * kCellHeight + 16, static_cast<unsigned long long>(span));
  svg += "</svg>\n";
  return svg;
}

}  // namespace tw
