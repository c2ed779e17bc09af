// SPDX-License-Identifier: Apache-2.0
// Computes the numbers that a violation must report, independently of the library.
#include "tests/tensor_map/rules/breakers.hpp"

namespace tw::test {
namespace {

constexpr int64_t kGiB4 = int64_t{1} << 32;

bool padded(DType dtype) {
  return dtype == DType::U4X16_ALIGN16B || dtype == DType::U6X16_ALIGN16B;
}
bool packed(DType dtype) {
  return padded(dtype) || dtype == DType::U4X16_ALIGN8B;
}

int64_t alignment(const TensorMapDesc& d) {
  return d.interleave == Interleave::b32 || padded(d.dtype) ? 32 : 16;
}

// The bytes of this many elements in shared memory.
int64_t shared_bytes(const TensorMapDesc& d, int64_t elements) {
  if (d.dtype == DType::U4X16_ALIGN8B) return elements / 2;
  if (padded(d.dtype)) return elements;
  return elements * dtype_bits(d.dtype) / 8;
}

int64_t span(const TensorMapDesc& d) {
  const auto swizzle = static_cast<int>(d.swizzle);
  return swizzle <= 2 && swizzle >= 0 ? int64_t{16} << swizzle : 128;
}

int64_t row(const TensorMapDesc& d) {
  return shared_bytes(d, d.kind == MapKind::tiled ? d.box_dim[0] : d.channels_per_pixel);
}

// A row that ends half a byte after a multiple of 16 is reported as rounded up.
bool is_misaligned_row(int64_t told, const TensorMapDesc& d) {
  const int64_t elements = d.kind == MapKind::tiled ? d.box_dim[0] : d.channels_per_pixel;
  if (d.dtype == DType::U4X16_ALIGN8B && elements % 32 == 1) return told == elements / 2 + 1;
  return told == row(d) && told % 16 != 0;
}

int64_t box_down(const TensorMapDesc& d) {
  int64_t elements = 1;
  for (int i = 0; i < d.rank; ++i) elements *= d.box_dim[i] / d.element_strides[i];
  return shared_bytes(d, elements);
}

int64_t positions(const TensorMapDesc& d, int32_t i) {
  const uint64_t dim = d.global_dim[d.interleave == Interleave::none ? i + 1 : i];
  const bool cornered = d.kind == MapKind::im2col || i == 0;
  // Extent plus upper corner modulo 2^32, read as a signed number.
  int64_t end =
      static_cast<int64_t>(dim % static_cast<uint64_t>(kGiB4)) + (cornered ? d.upper_corner[i] : 0);
  end = (end + kGiB4) % kGiB4;
  if (end >= kGiB4 / 2) end -= kGiB4;
  return end - (cornered ? d.lower_corner[i] : 0);
}

struct Corner {
  int64_t min, max;
};
Corner corner(const TensorMapDesc& d, int32_t arch) {
  if (d.rank == 3 || (d.kind == MapKind::im2col_wide && arch >= 100)) return {-32768, 32767};
  return d.rank == 4 ? Corner{-128, 127} : Corner{-16, 15};
}

bool corner_is_right(const Violation& v, int64_t value, Corner range) {
  return v.got == value &&
         (value < range.min ? v.limit == range.min : value > range.max && v.limit == range.max);
}

bool mode_is_right(const Violation& v, const TensorMapDesc& d, int32_t arch) {
  const auto number = [](auto value) { return static_cast<int64_t>(value); };
  const auto beyond = [&](int64_t value, int64_t limit) {
    return v.got == value && v.limit == limit && (value < 0 || value > limit);
  };
  switch (v.rule) {
    case Rule::kind_value:
      return beyond(number(d.kind), 2);
    case Rule::dtype_value:
      return v.got == number(d.dtype) && dtype_tensor_map_type(d.dtype) < 0;
    case Rule::dtype_arch:
      return v.got == number(d.dtype) && packed(d.dtype) && arch < 100 && v.limit == 100;
    case Rule::oob_fill_value:
      return beyond(number(d.oob_fill), 1);
    case Rule::oob_fill_dtype:
      return v.got == 1 && v.limit == number(d.dtype) && d.oob_fill == OobFill::nan;
    case Rule::rank_range:
      return v.got == d.rank && v.limit == 5 && (d.rank < 1 || d.rank > 5);
    case Rule::rank_im2col:
      return v.got == d.rank && v.limit == 5 && (d.rank < 3 || d.rank > 5);
    case Rule::interleave_value:
      return beyond(number(d.interleave), 2);
    case Rule::interleave_rank:
      return v.got == number(d.interleave) && v.limit == d.rank && d.rank < 3;
    case Rule::packed_interleave:
      return v.got == number(d.interleave) && v.got != 0 && padded(d.dtype);
    case Rule::swizzle_value:
      return beyond(number(d.swizzle), 6);
    case Rule::swizzle_arch:
      return beyond(number(d.swizzle), 3) && arch < 100;
    case Rule::packed_swizzle:
      return v.got == number(d.swizzle) && v.limit == number(d.dtype) && padded(d.dtype);
    case Rule::wide_arch_swizzle:
      return v.got == number(d.swizzle) && v.limit == 4 && arch >= 100;
    case Rule::l2_promotion_value:
      return beyond(number(d.l2_promotion), 3);
    case Rule::wide_mode_value:
      return beyond(d.wide_mode, 1);
    default:
      return false;
  }
}

bool box_is_right(const Violation& v, const TensorMapDesc& d, int32_t arch) {
  const auto outside = [&](int64_t value, int64_t limit) {
    return v.got == value && v.limit == limit && (value < 1 || value > limit);
  };
  switch (v.rule) {
    case Rule::element_strides_range:
      return outside(d.element_strides[v.index], 8);
    case Rule::box_dim_range:
      return outside(d.box_dim[v.index], 256);
    case Rule::packed_box:
      return v.got == d.box_dim[0] && v.limit == 128 && padded(d.dtype);
    case Rule::packed_channels:
      return v.got == d.channels_per_pixel && v.limit == 128 && padded(d.dtype);
    case Rule::box_row_alignment:
    case Rule::channels_row_alignment:
      return v.limit == 16 && is_misaligned_row(v.got, d);
    case Rule::box_row_swizzle:
    case Rule::channels_row_swizzle:
      return v.got == row(d) && v.limit == span(d) && v.got > v.limit;
    case Rule::box_bytes_limit:
      return v.got == box_down(d) && v.limit == 233472 && v.got > v.limit;
    case Rule::channels_range:
      return outside(d.channels_per_pixel, 256);
    case Rule::pixels_range:
      return outside(d.pixels_per_column, 1024);
    case Rule::column_bytes_limit:
      return v.got == row(d) * d.pixels_per_column && v.limit == 233472 && v.got > v.limit;
    case Rule::lower_corner_range:
      return corner_is_right(v, d.lower_corner[v.index], corner(d, arch));
    case Rule::upper_corner_range:
      return corner_is_right(v, d.upper_corner[v.index], corner(d, arch));
    case Rule::bounding_box_empty:
      return v.got == positions(d, v.index) && v.limit == 1 && v.got < 1;
    default:
      return mode_is_right(v, d, arch);
  }
}

}  // namespace

bool is_right(const Violation& v, const TensorMapDesc& d, int32_t arch) {
  switch (v.rule) {
    case Rule::global_address_alignment:
      return v.got == static_cast<int64_t>(d.global_address) && v.limit == alignment(d) &&
             v.got % v.limit != 0;
    case Rule::global_address_range:
      return v.got == static_cast<int64_t>(d.global_address) && v.limit == (int64_t{1} << 57) - 1 &&
             d.global_address >> 57 != 0;
    case Rule::global_dim_zero:
      return d.global_dim[v.index] == 0 && v.got == 0 && v.limit == 1;
    case Rule::global_dim_limit:
      return v.got == static_cast<int64_t>(d.global_dim[v.index]) && v.limit == kGiB4 &&
             v.got > v.limit;
    case Rule::packed_dim:
      return v.got == static_cast<int64_t>(d.global_dim[0]) &&
             v.limit == (padded(d.dtype) ? 128 : 2) && v.got % v.limit != 0;
    case Rule::global_strides_alignment:
      return v.got == static_cast<int64_t>(d.global_stride_bytes[v.index]) &&
             v.limit == alignment(d) && v.got % v.limit != 0;
    case Rule::global_strides_limit:
      return v.got == static_cast<int64_t>(d.global_stride_bytes[v.index]) &&
             v.limit == (int64_t{1} << 40) - 1 && v.got > v.limit;
    default:
      return box_is_right(v, d, arch);
  }
}

}  // namespace tw::test
