// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy_turn.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/copy/copy_methods.hpp"

namespace tw {
namespace {

constexpr int64_t kVector = 16;  // bytes

int32_t find_dim(const CopyShape& shape, const int64_t* strides, int64_t stride) {
  for (int32_t d = 0; d < shape.rank; ++d)
    if (strides[d] == stride) return d;
  return -1;
}

bool whole_vectors(int64_t bytes) {
  return bytes % kVector == 0;
}

// Adds the dimensions other than `one` and `other`, whose strides must be multiples of `unit`, and
// computes the product of their extents.
template <class Args>
bool fill_rest(const CopyShape& shape, int32_t one, int32_t other, int64_t unit, u32 maximum,
               int64_t* count, Args* args) {
  *count = 1;
  for (int32_t d = 0; d < shape.rank; ++d) {
    if (d == one || d == other) continue;
    if (shape.src_stride[d] % unit != 0 || shape.dst_stride[d] % unit != 0) return false;
    if (args->rank == maximum || shape.extent[d] > INT32_MAX ||
        !checked_mul(*count, shape.extent[d], count))
      return false;
    args->src_stride[args->rank] = shape.src_stride[d];
    args->dst_stride[args->rank] = shape.dst_stride[d];
    args->extent[args->rank++] = make_divider(static_cast<u32>(shape.extent[d]));
  }
  return *count < static_cast<int64_t>(kDividerLimit);
}

}  // namespace

bool fill_transpose(const CopyShape& shape, bool plain, CopyTransposeArgs* args) {
  if (shape.empty) return false;
  const int64_t element = plain ? shape.row_bytes : strided_unit(shape, kVector);
  if (element != shape.row_bytes || element >= kVector || (element & (element - 1)) != 0)
    return false;
  const int32_t a = find_dim(shape, shape.src_stride, element);
  const int32_t b = find_dim(shape, shape.dst_stride, element);
  if (a < 0 || b < 0 || a == b) return false;
  const int64_t unit = plain ? element : kVector;
  const int64_t a_bytes = shape.extent[a] * element;
  const int64_t b_bytes = shape.extent[b] * element;
  const int64_t least = plain ? kMinTransposeElements * element : kMinTransposeVectors * kVector;
  if (std::min(a_bytes, b_bytes) < least || a_bytes % unit != 0 || b_bytes % unit != 0)
    return false;
  if (shape.src_stride[b] % unit != 0 || shape.dst_stride[a] % unit != 0) return false;
  if (std::max(shape.extent[a], shape.extent[b]) > INT32_MAX) return false;
  *args = CopyTransposeArgs{};
  int64_t planes = 0;
  if (!fill_rest(shape, a, b, unit, kTransposeRank, &planes, args)) return false;
  // Bounds the number of units, so that tiles of any size can be counted.
  int64_t units = planes;
  if (!checked_mul(units, a_bytes / unit, &units) || !checked_mul(units, b_bytes / unit, &units) ||
      units >= static_cast<int64_t>(kDividerLimit) * (plain ? 256 : 1))
    return false;
  args->planes = static_cast<u32>(planes);
  args->element_bytes = static_cast<u32>(element);
  args->unit_elements = static_cast<u32>(unit / element);
  args->src_pitch = shape.src_stride[b];
  args->dst_pitch = shape.dst_stride[a];
  args->units_a = static_cast<u32>(a_bytes / unit);
  args->units_b = static_cast<u32>(b_bytes / unit);
  return true;
}

void fill_transpose_tiles(uint32_t tile_a, uint32_t tile_b, CopyTransposeArgs* args) {
  const auto tiles_a = static_cast<u32>(ceil_div(args->units_a, tile_a));
  const auto tiles_b = static_cast<u32>(ceil_div(args->units_b, tile_b));
  args->tile_a = tile_a;
  args->tile_b = tile_b;
  args->tiles = u64{args->planes} * tiles_a * tiles_b;
  args->tiles_b = make_divider(tiles_b);
  args->plane_tiles = make_divider(tiles_a * tiles_b);
}

bool fill_interleave(const CopyShape& shape, CopyInterleaveArgs* args, bool* to_planes) {
  if (shape.empty) return false;
  const int64_t unit = strided_unit(shape, kVector);
  if (unit != shape.row_bytes || unit == kVector) return false;
  for (const bool out : {false, true}) {
    const int64_t* packed = out ? shape.src_stride : shape.dst_stride;
    const int64_t* planar = out ? shape.dst_stride : shape.src_stride;
    const int32_t p = find_dim(shape, packed, unit);
    const int32_t n = find_dim(shape, planar, unit);
    if (p < 0 || n < 0 || p == n) continue;
    const int64_t planes = shape.extent[p];
    if (planes > interleave_planes(static_cast<u32>(unit)) || packed[n] != planes * unit) continue;
    const int64_t bytes = shape.extent[n] * unit;
    if (!whole_vectors(bytes) || !whole_vectors(planar[p]) || bytes / kVector > INT32_MAX) continue;
    *args = CopyInterleaveArgs{};
    int64_t rows = 0;
    if (!fill_rest(shape, p, n, kVector, kInterleaveRank, &rows, args)) continue;
    const int64_t row_warps = ceil_div(bytes / kVector, 32);
    if (!checked_mul(rows, row_warps, &rows) || rows >= static_cast<int64_t>(kDividerLimit))
      continue;
    args->warps = static_cast<u64>(rows);
    args->row_warps = make_divider(static_cast<u32>(row_warps));
    args->row_groups = static_cast<u32>(bytes / kVector);
    args->plane_pitch = planar[p];
    args->planes = static_cast<u32>(planes);
    args->element_bytes = static_cast<u32>(unit);
    *to_planes = out;
    return true;
  }
  return false;
}

}  // namespace tw
