// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/check.hpp"

#include "tensor_map/geometry.hpp"

namespace tw {
namespace {

// Wraps as the driver does: it reads an extent of an im2col map as a signed 32-bit number.
int64_t as_signed_32(uint64_t extent) {
  return static_cast<int32_t>(static_cast<uint32_t>(extent));
}

bool floating(int32_t map_type) {
  return map_type >= 6 && map_type <= 12;
}
bool packed(int32_t map_type) {
  return map_type >= 13;
}

int64_t alignment(const TensorMapDesc& desc) {
  return desc.interleave == Interleave::b32 ? 32 : 16;
}

void check_modes(const TensorMapDesc& desc, int32_t arch, Violations* out) {
  const int32_t type = dtype_tensor_map_type(desc.dtype);
  const auto number = [](auto value) { return static_cast<int64_t>(value); };
  if (type < 0)
    out->add(Rule::dtype_value, -1, number(desc.dtype), 0);
  else if (packed(type) && arch < 100)
    out->add(Rule::dtype_arch, -1, number(desc.dtype), 100);

  const bool tiled = desc.kind == MapKind::tiled;
  if (desc.rank < (tiled ? 1 : 3) || desc.rank > 5)
    out->add(tiled ? Rule::rank_range : Rule::rank_im2col, -1, desc.rank, 5);

  const int64_t interleave = number(desc.interleave);
  if (interleave < 0 || interleave > 2)
    out->add(Rule::interleave_value, -1, interleave, 2);
  else if (interleave != 0 && tiled && desc.rank < 3)
    out->add(Rule::interleave_rank, -1, interleave, desc.rank);

  const int64_t swizzle = number(desc.swizzle);
  if (swizzle < 0 || swizzle > 6)
    out->add(Rule::swizzle_value, -1, swizzle, 6);
  else if (swizzle > 3 && arch < 100)
    out->add(Rule::swizzle_arch, -1, swizzle, 3);

  const int64_t promotion = number(desc.l2_promotion);
  if (promotion < 0 || promotion > 3) out->add(Rule::l2_promotion_value, -1, promotion, 3);

  const int64_t fill = number(desc.oob_fill);
  if (fill < 0 || fill > 1)
    out->add(Rule::oob_fill_value, -1, fill, 1);
  else if (fill == 1 && type >= 0 && !floating(type))
    out->add(Rule::oob_fill_dtype, -1, fill, number(desc.dtype));
}

void check_tensor(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  const int64_t align = alignment(desc);
  if (desc.global_address % static_cast<uint64_t>(align) != 0)
    out->add(Rule::global_address_alignment, -1, static_cast<int64_t>(desc.global_address), align);
  if (desc.global_address > static_cast<uint64_t>(kMaxAddress))
    out->add(Rule::global_address_range, -1, static_cast<int64_t>(desc.global_address),
             kMaxAddress);
  for (int32_t i = 0; i < rank; ++i) {
    const uint64_t dim = desc.global_dim[i];
    if (dim == 0)
      out->add(Rule::global_dim_zero, i, 0, 1);
    else if (dim > static_cast<uint64_t>(kMaxDim))
      out->add(Rule::global_dim_limit, i, static_cast<int64_t>(dim), kMaxDim);
  }
  for (int32_t i = 0; i + 1 < rank; ++i) {
    const uint64_t stride = desc.global_strides[i];
    if (stride % static_cast<uint64_t>(align) != 0)
      out->add(Rule::global_strides_alignment, i, static_cast<int64_t>(stride), align);
    if (stride > static_cast<uint64_t>(kMaxStride))
      out->add(Rule::global_strides_limit, i, static_cast<int64_t>(stride), kMaxStride);
  }
  for (int32_t i = 0; i < rank; ++i)
    if (desc.element_strides[i] - 1u >= static_cast<uint32_t>(kMaxElementStride))
      out->add(Rule::element_strides_range, i, desc.element_strides[i], kMaxElementStride);
}

// A row that is not whole 16-byte chunks, or wider than the swizzle allows. Interleaved maps take
// any swizzle with any width.
void check_row(const TensorMapDesc& desc, Rule row_alignment, Rule row_swizzle, Violations* out) {
  const auto bytes = static_cast<int64_t>(row_bytes(desc));
  if (bytes % 16 != 0) out->add(row_alignment, 0, bytes, 16);
  const int64_t span = swizzle_span(desc.swizzle);
  if (desc.interleave == Interleave::none && span != 0 && bytes > span)
    out->add(row_swizzle, 0, bytes, span);
}

void check_box(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  bool sane = true;  // the product below neither divides by zero nor overflows
  int64_t bytes = dtype_bytes(desc.dtype);
  for (int32_t i = 0; i < rank; ++i) {
    const uint32_t box = desc.box_dim[i];
    const uint32_t stride = desc.element_strides[i];
    if (box - 1u >= static_cast<uint32_t>(kMaxBoxDim)) {
      out->add(Rule::box_dim_range, i, box, kMaxBoxDim);
      sane = false;
    }
    if (stride - 1u >= static_cast<uint32_t>(kMaxElementStride)) sane = false;
    if (sane) bytes *= box / stride;
  }
  if (rank > 0) check_row(desc, Rule::box_row_alignment, Rule::box_row_swizzle, out);
  if (sane && bytes > kMaxBoxBytes) out->add(Rule::box_bytes_limit, -1, bytes, kMaxBoxBytes);
}

void check_corners(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  const CornerRange range = corner_range(rank);
  const bool wide = desc.kind == MapKind::im2col_wide;
  for (int32_t i = 0; i < (wide ? 1 : rank - 2); ++i) {
    const int32_t lower = desc.lower_corner[i];
    const int32_t upper = desc.upper_corner[i];
    if (lower < range.min || lower > range.max)
      out->add(Rule::lower_corner_range, i, lower, lower < range.min ? range.min : range.max);
    if (upper < range.min || upper > range.max)
      out->add(Rule::upper_corner_range, i, upper, upper < range.min ? range.min : range.max);
  }
  for (int32_t i = 0; i < rank - 2; ++i) {
    // With interleave the driver takes the corners for those of dimensions 0, 1, ...
    const uint64_t extent = desc.global_dim[desc.interleave == Interleave::none ? i + 1 : i];
    const bool has_corner = !wide || i == 0;
    const int64_t margin =
        has_corner ? int64_t{desc.upper_corner[i]} - int64_t{desc.lower_corner[i]} : 0;
    const int64_t positions = as_signed_32(extent) + margin;
    if (positions <= 0) out->add(Rule::bounding_box_empty, i, positions, 1);
  }
}

void check_column(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  const uint32_t channels = desc.channels_per_pixel;
  const uint32_t pixels = desc.pixels_per_column;
  const bool channels_ok = channels - 1u < static_cast<uint32_t>(kMaxBoxDim);
  const bool pixels_ok = pixels - 1u < static_cast<uint32_t>(kMaxPixels);
  if (!channels_ok) out->add(Rule::channels_range, -1, channels, kMaxBoxDim);
  check_row(desc, Rule::channels_row_alignment, Rule::channels_row_swizzle, out);
  if (!pixels_ok) out->add(Rule::pixels_range, -1, pixels, kMaxPixels);
  const auto bytes = static_cast<int64_t>(row_bytes(desc) * pixels);
  if (channels_ok && pixels_ok && bytes > kMaxBoxBytes)
    out->add(Rule::column_bytes_limit, -1, bytes, kMaxBoxBytes);
  if (rank >= 3) check_corners(desc, rank, out);
  if (desc.kind == MapKind::im2col_wide && (desc.wide_mode < 0 || desc.wide_mode > 1))
    out->add(Rule::wide_mode_value, -1, desc.wide_mode, 1);
}

}  // namespace

bool known_arch(int32_t arch) {
  switch (arch) {
#define TW_CAPABILITY(major, minor, features, text) case (major)*10 + (minor):
#include "base/devices.inc"
#undef TW_CAPABILITY
    return true;
  }
  return false;
}

void check_all(const TensorMapDesc& desc, int32_t arch, Violations* out) {
  out->count = 0;
  const auto kind = static_cast<int32_t>(desc.kind);
  if (kind < 0 || kind > 2) {
    out->add(Rule::kind_value, -1, kind, 2);
    return;  // no rule beyond this one is known to apply
  }
  check_modes(desc, arch, out);
  // Dimensions of a rank that cannot be have no meaning; rules of one dimension are left out then.
  const int32_t rank = desc.rank < 0 || desc.rank > 5 ? 0 : desc.rank;
  check_tensor(desc, rank, out);
  if (desc.kind == MapKind::tiled)
    check_box(desc, rank, out);
  else
    check_column(desc, rank, out);
}

}  // namespace tw
