// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/tile/tile_build.hpp"

#include <algorithm>

#include "tensor_map/rules/check.hpp"

namespace tw {
namespace {

constexpr int32_t kMaxDims = 5;

// A dimension of the map under construction.
struct Dim {
  int32_t axis;
  int64_t step;  ///< axis positions per step of the coordinate
  bool last;     ///< the outermost dimension of its axis
};

class Builder {
 public:
  Builder(const TileRequest& request, const TileShape& shape, uint32_t splits, TileMap* out)
      : request_(request), shape_(shape), splits_(splits), out_(*out) {}

  bool run();

 private:
  bool is_split(int32_t axis) const { return (splits_ >> axis & 1) != 0; }
  bool add_dim(const TileFactor& factor, bool last, int64_t box);
  bool add_loop(int64_t count, int32_t dim, int64_t step);
  bool place(const TileFactor& factor);
  bool divide_boxes_for_multicast();
  bool add_coordinates();
  bool add_mode(int32_t mode, LayoutBuilder* builder);
  int32_t dim_of(int32_t axis, int64_t step) const;

  const TileRequest& request_;
  const TileShape& shape_;
  uint32_t splits_;
  TileMap& out_;
  int32_t dims_ = 0;
  Dim dim_[kMaxDims];
  bool looping_ = false;  // a loop varies faster than the following factors: these must loop too
};

int32_t Builder::dim_of(int32_t axis, int64_t step) const {
  for (int32_t d = 0; d < dims_; ++d)
    if (dim_[d].axis == axis && dim_[d].step == step) return d;
  return -1;
}

bool Builder::add_dim(const TileFactor& factor, bool last, int64_t box) {
  const TileAxis& axis = shape_.axis[factor.axis];
  if (dims_ == kMaxDims || box > kMaxBoxDim || box < 1) return false;
  TensorMapDesc& desc = out_.desc;
  const int64_t stride = axis.stride * factor.step;
  if (dims_ == 0 && stride != dtype_bytes(request_.dtype)) return false;
  desc.global_dim[dims_] = static_cast<uint64_t>(last ? axis.extent / factor.step : factor.extent);
  if (dims_ > 0) desc.global_stride_bytes[dims_ - 1] = static_cast<uint64_t>(stride);
  desc.box_dim[dims_] = static_cast<uint32_t>(box);
  dim_[dims_++] = {factor.axis, factor.step, last};
  desc.rank = dims_;
  return true;
}

bool Builder::add_loop(int64_t count, int32_t dim, int64_t step) {
  if (count == 1) return true;
  if (out_.loops == kMaxTileRank || dim < 0) return false;
  if (count > INT32_MAX / out_.boxes || step > INT32_MAX) return false;
  out_.loop[out_.loops++] = {static_cast<int32_t>(count), dim, static_cast<int32_t>(step)};
  out_.boxes *= static_cast<int32_t>(count);
  return true;
}

bool Builder::place(const TileFactor& factor) {
  const TileAxis& axis = shape_.axis[factor.axis];
  const int32_t factors = shape_.factors_of(factor.axis);
  const bool own_dim = factor.step == 1 || is_split(factor.axis);
  if (factors > 1 && is_split(factor.axis)) {
    // The piece length must divide the axis, or the bounds would be wrong. A box that begins inside
    // a piece would not continue in the next piece: it would be cut off where the piece ends.
    if (axis.free_start || axis.extent % factor.step != 0) return false;
    if (factor.step > 1 && dim_of(factor.axis, 1) < 0) return false;
  }
  if (!own_dim) {
    looping_ = true;
    return add_loop(factor.extent, dim_of(factor.axis, 1), factor.step);
  }
  bool last = true;
  if (is_split(factor.axis))
    for (int32_t i = 0; i < shape_.factors; ++i)
      last &= shape_.factor[i].axis != factor.axis || shape_.factor[i].step <= factor.step;
  if (!add_dim(factor, last, looping_ ? 1 : factor.extent)) return false;
  return !looping_ || add_loop(factor.extent, dims_ - 1, 1);
}

// With multicast the blocks of a cluster load equally many boxes each. If the number of boxes is
// not a multiple of the number of blocks, divide each box along its slowest dimension, which keeps
// the order in shared memory.
bool Builder::divide_boxes_for_multicast() {
  const int32_t blocks = request_.multicast;
  if (out_.boxes % blocks == 0) return true;
  int64_t sub_boxes = blocks;  // of each box: blocks / gcd(blocks, boxes), by Euclid's algorithm
  for (int64_t a = sub_boxes, b = out_.boxes; b != 0;) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
    if (b == 0) sub_boxes = blocks / a;
  }
  for (int32_t d = dims_ - 1; d >= 0; --d) {
    uint32_t& box = out_.desc.box_dim[d];
    if (box == 1) continue;
    if (d == 0 || box % sub_boxes != 0 || out_.loops == kMaxTileRank) return false;
    box /= static_cast<uint32_t>(sub_boxes);
    for (int32_t i = out_.loops; i > 0; --i) out_.loop[i] = out_.loop[i - 1];
    out_.loop[0] = {static_cast<int32_t>(sub_boxes), d, static_cast<int32_t>(box)};
    ++out_.loops;
    out_.boxes *= static_cast<int32_t>(sub_boxes);
    return true;
  }
  return false;
}

// Adds the coordinate terms of one mode, and its leaves in the coordinate layout. A step along the
// mode is `scale` positions of its axis. If the axis is split, several dimensions together make up
// a position.
bool Builder::add_mode(int32_t mode, LayoutBuilder* builder) {
  int32_t at = -1;
  TileAxis::Mode found{mode, 1, 1};
  for (int32_t a = 0; a < shape_.axes; ++a)
    for (int32_t i = 0; i < shape_.axis[a].modes; ++i)
      if (shape_.axis[a].mode[i].mode == mode) {
        found = shape_.axis[a].mode[i];
        at = a;
      }
  out_.aligned[mode] = 1;
  if (at < 0) {  // a mode of extent 1, which has no axis
    out_.start_limit[mode] = 1;
    builder->leaf(1, 0, 1, 1);
    return true;
  }
  struct Leaf {
    int64_t extent;
    Stride stride;
  } leaves[kMaxDims];
  int32_t count = 0;
  int64_t remaining = found.extent;  // extent / product of the leaves' extents; 0 at the end
  // The coordinate of the outermost mode may be past its extent. It must then carry into the outer
  // dimensions of the axis, so that the TMA sees a position outside the tensor. For coordinates
  // inside the mode these dimensions stay at 0.
  bool must_carry = mode == shape_.axis[at].mode[shape_.axis[at].modes - 1].mode;
  for (int64_t step = found.scale; remaining > 0 || must_carry;) {
    int32_t d = -1;  // the dimension of the axis with the largest step <= `step`
    for (int32_t i = 0; i < dims_; ++i)
      if (dim_[i].axis == at && dim_[i].step <= step && (d < 0 || dim_[i].step > dim_[d].step))
        d = i;
    if (d < 0 || step % dim_[d].step != 0 || out_.terms == TileMap::kMaxTerms) return false;
    const int64_t dim_end = static_cast<int64_t>(out_.desc.global_dim[d]) * dim_[d].step;
    out_.term[out_.terms++] = {.mode = mode,
                               .dim = d,
                               .scale = found.scale,
                               .divide = dim_[d].step,
                               .modulo = dim_[d].last ? 0 : dim_end / dim_[d].step};
    must_carry = must_carry && !dim_[d].last;
    if (remaining == 0) {
      step = dim_end;
      continue;
    }
    const int64_t end = dim_[d].last ? step * remaining : dim_end;
    if (end % step != 0 || count == kMaxDims) return false;
    const int64_t extent = std::min(remaining, end / step);
    if (remaining % extent != 0) return false;
    leaves[count++] = {extent, Stride(step / dim_[d].step, basis_inner(0, 0, d))};
    remaining = remaining == extent ? 0 : remaining / extent;
    step *= extent;
  }
  for (int32_t i = 0; i < count; ++i)
    builder->leaf(leaves[i].extent, leaves[i].stride, count > 1 ? 2 : 1, i > 0 ? 2 : 1);
  return true;
}

bool Builder::add_coordinates() {
  LayoutBuilder builder(&out_.coordinates);
  for (int32_t mode = 0; mode < request_.rank; ++mode)
    if (!add_mode(mode, &builder)) return false;
  for (int32_t d = 0; d < dims_; ++d) builder.origin(0, basis_inner(0, 0, d));
  for (int32_t a = 0; a < shape_.axes; ++a) {
    const TileAxis& axis = shape_.axis[a];
    int64_t piece_length = 1;  // stays 1 unless the axis is split
    for (int32_t d = 0; d < dims_; ++d)
      if (dim_[d].axis == a) piece_length = std::max(piece_length, dim_[d].step);
    for (int32_t i = 0; i < axis.modes; ++i) {
      const int32_t mode = axis.mode[i].mode;
      const bool has_outer_mode = i + 1 < axis.modes;
      // A tile must begin where a piece begins. In a merged axis this is so at multiples of the
      // tile's extent. Such a tile also ends within the mode: past the end of a mode that has an
      // outer mode begins the next index of the outer one.
      out_.aligned[mode] = axis.modes == 1
                               ? piece_length
                               : (has_outer_mode || piece_length > 1 ? request_.tile[mode] : 1);
      out_.start_limit[mode] = has_outer_mode ? axis.mode[i].extent : 0;
    }
  }
  return builder.finish().ok();
}

bool Builder::run() {
  out_ = TileMap{};
  out_.rank = request_.rank;
  TensorMapDesc& desc = out_.desc;
  desc.dtype = request_.dtype;
  desc.swizzle = request_.swizzle;
  desc.l2_promotion = request_.l2_promotion;
  desc.oob_fill = request_.oob_fill;
  desc.global_address = request_.address;
  for (int32_t i = 0; i < shape_.factors; ++i)
    if (!place(shape_.factor[i])) return false;
  return divide_boxes_for_multicast() && add_coordinates();
}

}  // namespace

bool build_tile_map(const TileRequest& request, const TileShape& shape, uint32_t splits,
                    TileMap* out) {
  return Builder(request, shape, splits, out).run();
}

}  // namespace tw
