// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/rules/check_box.hpp"

#include "tensor_map/geometry.hpp"

namespace tw {
namespace {

// A row that is not whole 16-byte chunks, or wider than the swizzle allows. Interleaved maps take
// any swizzle with any width.
void check_row(const TensorMapDesc& desc, Rule row_alignment, Rule row_swizzle, Violations* out) {
  const auto bytes = static_cast<int64_t>(row_bytes(desc));
  if (row_bits(desc) % 128 != 0)  // 16 bytes and 4 bits are told as 17
    out->add(row_alignment, 0, bytes % 16 != 0 ? bytes : bytes + 1, 16);
  const int64_t span = swizzle_span(desc.swizzle);
  if (desc.interleave == Interleave::none && span != 0 && bytes > span)
    out->add(row_swizzle, 0, bytes, span);
}

void check_corner_ranges(const TensorMapDesc& desc, int32_t i, CornerRange range, Violations* out) {
  const int32_t lower = desc.lower_corner[i];
  const int32_t upper = desc.upper_corner[i];
  if (lower < range.min || lower > range.max)
    out->add(Rule::lower_corner_range, i, lower, lower < range.min ? range.min : range.max);
  if (upper < range.min || upper > range.max)
    out->add(Rule::upper_corner_range, i, upper, upper < range.min ? range.min : range.max);
}

void check_corners(const TensorMapDesc& desc, int32_t rank, int32_t arch, Violations* out) {
  const bool wide = desc.kind == MapKind::im2col_wide;
  // On 9.0 the driver keeps the wide corner to the bits that it has at the rank.
  const CornerRange range = corner_range(wide && arch >= 100 ? 3 : rank);
  for (int32_t i = 0; i < (wide ? 1 : rank - 2); ++i) check_corner_ranges(desc, i, range, out);
  for (int32_t i = 0; i < rank - 2; ++i)
    if (const int64_t positions = bounding_positions(desc, i); positions <= 0)
      out->add(Rule::bounding_box_empty, i, positions, 1);
}

}  // namespace

int64_t bounding_positions(const TensorMapDesc& desc, int32_t i) {
  // With interleave the driver takes the corners for those of dimensions 0, 1, ...; it adds extent
  // and upper corner as 32-bit numbers, wraps, and compares the sum with the lower corner as
  // signed.
  const uint64_t dim = desc.global_dim[desc.interleave == Interleave::none ? i + 1 : i];
  const bool has_corner = desc.kind == MapKind::im2col || i == 0;
  const auto upper = static_cast<uint32_t>(has_corner ? desc.upper_corner[i] : 0);
  const auto end = static_cast<int32_t>(static_cast<uint32_t>(dim) + upper);
  return int64_t{end} - (has_corner ? desc.lower_corner[i] : 0);
}

void check_box(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  bool sane = true;  // the product below neither divides by zero nor overflows
  int64_t bits = element_bits(desc.dtype);
  for (int32_t i = 0; i < rank; ++i) {
    const uint32_t box = desc.box_dim[i];
    const uint32_t stride = desc.element_strides[i];
    if (box - 1u >= static_cast<uint32_t>(kMaxBoxDim)) {
      out->add(Rule::box_dim_range, i, box, kMaxBoxDim);
      sane = false;
    }
    if (stride - 1u >= static_cast<uint32_t>(kMaxElementStride)) sane = false;
    if (sane) bits *= stride == 1 ? box : box / stride;
  }
  if (rank > 0) {
    if (is_padded(desc.dtype) && desc.box_dim[0] != 128)
      out->add(Rule::packed_box, 0, desc.box_dim[0], 128);
    check_row(desc, Rule::box_row_alignment, Rule::box_row_swizzle, out);
  }
  if (sane && bits / 8 > kMaxBoxBytes) out->add(Rule::box_bytes_limit, -1, bits / 8, kMaxBoxBytes);
}

void check_column(const TensorMapDesc& desc, int32_t rank, int32_t arch, Violations* out) {
  const uint32_t channels = desc.channels_per_pixel;
  const uint32_t pixels = desc.pixels_per_column;
  const bool channels_ok = channels - 1u < static_cast<uint32_t>(kMaxBoxDim);
  const bool pixels_ok = pixels - 1u < static_cast<uint32_t>(kMaxPixels);
  if (!channels_ok) out->add(Rule::channels_range, -1, channels, kMaxBoxDim);
  if (is_padded(desc.dtype) && channels != 128) out->add(Rule::packed_channels, -1, channels, 128);
  check_row(desc, Rule::channels_row_alignment, Rule::channels_row_swizzle, out);
  if (!pixels_ok) out->add(Rule::pixels_range, -1, pixels, kMaxPixels);
  const auto bytes = static_cast<int64_t>(row_bytes(desc) * pixels);
  if (channels_ok && pixels_ok && bytes > kMaxBoxBytes)
    out->add(Rule::column_bytes_limit, -1, bytes, kMaxBoxBytes);
  if (rank >= 3) check_corners(desc, rank, arch, out);
  if (desc.kind == MapKind::im2col_wide && (desc.wide_mode < 0 || desc.wide_mode > 1))
    out->add(Rule::wide_mode_value, -1, desc.wide_mode, 1);
}

}  // namespace tw
