// SPDX-License-Identifier: Apache-2.0
#pragma once
// Valid descriptions for tests to start from, accepted on every chip.

#include "tensor_map/tensor_map.hpp"

namespace tw::test {

/// A packed row-major (rows, columns) matrix with boxes of box_rows x box_columns.
inline TensorMapDesc matrix(uint64_t rows, uint64_t columns, uint32_t box_rows,
                            uint32_t box_columns, Swizzle swizzle = Swizzle::none,
                            DType dtype = DType::BF16) {
  TensorMapDesc desc;
  desc.dtype = dtype;
  desc.swizzle = swizzle;
  desc.global_address = 0x100000;
  desc.global_dim[0] = columns;
  desc.global_dim[1] = rows;
  desc.global_stride_bytes[0] = columns * static_cast<uint64_t>(dtype_bytes(dtype));
  desc.box_dim[0] = box_columns;
  desc.box_dim[1] = box_rows;
  return desc;
}

/// A four-dimensional tensor in which any single rule can be broken alone.
inline TensorMapDesc tensor4() {
  TensorMapDesc desc = matrix(32, 64, 8, 32, Swizzle::b64);
  desc.rank = 4;
  desc.global_dim[2] = 16;
  desc.global_dim[3] = 4;
  desc.global_stride_bytes[1] = 64 * 32 * 2;
  desc.global_stride_bytes[2] = 64 * 32 * 16 * 2;
  desc.box_dim[2] = 2;
  desc.box_dim[3] = 1;
  return desc;
}

/// An NHWC image tensor with a 3x3 filter's bounding box.
inline TensorMapDesc image(MapKind kind = MapKind::im2col) {
  TensorMapDesc desc = tensor4();
  desc.kind = kind;
  for (uint32_t& box : desc.box_dim) box = 0;
  desc.channels_per_pixel = 32;
  desc.pixels_per_column = 64;
  desc.lower_corner[0] = desc.lower_corner[1] = -1;
  desc.upper_corner[0] = desc.upper_corner[1] = -1;
  if (kind == MapKind::im2col_wide) desc.lower_corner[1] = desc.upper_corner[1] = 0;
  return desc;
}

}  // namespace tw::test
