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
  Builder(const TileRequest& request, const TileShape& shape, uint32_t folds, TileMap* out)
      : request_(request), shape_(shape), folds_(folds), out_(*out) {}

  bool run();

 private:
  bool folded(int32_t axis) const { return (folds_ >> axis & 1) != 0; }
  bool add_dim(const TileLeaf& leaf, bool last, int64_t box);
  bool add_loop(int64_t count, int32_t dim, int64_t step);
  bool place(const TileLeaf& leaf);
  bool split_for_multicast();
  bool add_parts();
  bool add_mode(int32_t mode, LayoutBuilder* builder);
  int32_t dim_of(int32_t axis, int64_t step) const;

  const TileRequest& request_;
  const TileShape& shape_;
  uint32_t folds_;
  TileMap& out_;
  int32_t dims_ = 0;
  Dim dim_[kMaxDims];
  bool looping_ = false;  // a loop varies faster than the following leaves, so these must loop too
};

int32_t Builder::dim_of(int32_t axis, int64_t step) const {
  for (int32_t d = 0; d < dims_; ++d)
    if (dim_[d].axis == axis && dim_[d].step == step) return d;
  return -1;
}

bool Builder::add_dim(const TileLeaf& leaf, bool last, int64_t box) {
  const TileAxis& axis = shape_.axis[leaf.axis];
  if (dims_ == kMaxDims || box > kMaxBoxDim || box < 1) return false;
  TensorMapDesc& desc = out_.desc;
  const int64_t stride = axis.stride * leaf.step;
  if (dims_ == 0 && stride != dtype_bytes(request_.dtype)) return false;
  desc.global_dim[dims_] = static_cast<uint64_t>(last ? axis.extent / leaf.step : leaf.extent);
  if (dims_ > 0) desc.global_stride_bytes[dims_ - 1] = static_cast<uint64_t>(stride);
  desc.box_dim[dims_] = static_cast<uint32_t>(box);
  dim_[dims_++] = {leaf.axis, leaf.step, last};
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

bool Builder::place(const TileLeaf& leaf) {
  const TileAxis& axis = shape_.axis[leaf.axis];
  const int32_t parts = shape_.leaves_of(leaf.axis);
  const bool own_dim = leaf.step == 1 || folded(leaf.axis);
  if (parts > 1 && folded(leaf.axis)) {
    // The fold must divide the axis, or the bounds would be wrong. A tile that begins inside a fold
    // would be cut at its end.
    if (axis.free_start || axis.extent % leaf.step != 0) return false;
    if (leaf.step > 1 && dim_of(leaf.axis, 1) < 0) return false;
  }
  if (!own_dim) {
    looping_ = true;
    return add_loop(leaf.extent, dim_of(leaf.axis, 1), leaf.step);
  }
  bool last = true;
  if (folded(leaf.axis))
    for (int32_t i = 0; i < shape_.leaves; ++i)
      last &= shape_.leaf[i].axis != leaf.axis || shape_.leaf[i].step <= leaf.step;
  if (!add_dim(leaf, last, looping_ ? 1 : leaf.extent)) return false;
  return !looping_ || add_loop(leaf.extent, dims_ - 1, 1);
}

// With multicast the blocks of a cluster load equally many boxes each. If the number of boxes does
// not divide, split the box along its slowest dimension, which keeps the order in shared memory.
bool Builder::split_for_multicast() {
  const int32_t blocks = request_.multicast;
  if (out_.boxes % blocks == 0) return true;
  int64_t missing = blocks;
  for (int64_t a = missing, b = out_.boxes; b != 0;) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
    if (b == 0) missing = blocks / a;
  }
  for (int32_t d = dims_ - 1; d >= 0; --d) {
    uint32_t& box = out_.desc.box_dim[d];
    if (box == 1) continue;
    if (d == 0 || box % missing != 0 || out_.loops == kMaxTileRank) return false;
    box /= static_cast<uint32_t>(missing);
    for (int32_t i = out_.loops; i > 0; --i) out_.loop[i] = out_.loop[i - 1];
    out_.loop[0] = {static_cast<int32_t>(missing), d, static_cast<int32_t>(box)};
    ++out_.loops;
    out_.boxes *= static_cast<int32_t>(missing);
    return true;
  }
  return false;
}

// Adds the parts of one mode and its leaves in the coordinate layout. The mode steps through
// positions of an axis; the dimensions of a folded axis split these positions.
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
  struct Piece {
    int64_t extent;
    Stride stride;
  } pieces[kMaxDims];
  int32_t count = 0;
  int64_t remaining = found.extent;
  // A start past the end of the axis's outermost mode must end up outside the tensor. So this mode
  // also counts in the outer dimensions, along which no position inside the mode moves.
  bool beyond = mode == shape_.axis[at].mode[shape_.axis[at].modes - 1].mode;
  for (int64_t scale = found.scale; remaining > 0 || beyond;) {
    int32_t d = -1;  // the dimension of the axis with the largest step <= scale
    for (int32_t i = 0; i < dims_; ++i)
      if (dim_[i].axis == at && dim_[i].step <= scale && (d < 0 || dim_[i].step > dim_[d].step))
        d = i;
    if (d < 0 || scale % dim_[d].step != 0 || out_.parts == TileMap::kMaxParts) return false;
    const int64_t dim_end = static_cast<int64_t>(out_.desc.global_dim[d]) * dim_[d].step;
    out_.part[out_.parts++] = {.mode = mode,
                               .dim = d,
                               .scale = found.scale,
                               .divide = dim_[d].step,
                               .modulo = dim_[d].last ? 0 : dim_end / dim_[d].step};
    beyond = beyond && !dim_[d].last;
    if (remaining == 0) {
      scale = dim_end;
      continue;
    }
    const int64_t end = dim_[d].last ? scale * remaining : dim_end;
    if (end % scale != 0 || count == kMaxDims) return false;
    const int64_t extent = std::min(remaining, end / scale);
    if (remaining % extent != 0) return false;
    pieces[count++] = {extent, Stride(scale / dim_[d].step, basis_inner(0, 0, d))};
    remaining = remaining == extent ? 0 : remaining / extent;
    scale *= extent;
  }
  for (int32_t i = 0; i < count; ++i)
    builder->leaf(pieces[i].extent, pieces[i].stride, count > 1 ? 2 : 1, i > 0 ? 2 : 1);
  return true;
}

bool Builder::add_parts() {
  LayoutBuilder builder(&out_.coordinates);
  for (int32_t mode = 0; mode < request_.rank; ++mode)
    if (!add_mode(mode, &builder)) return false;
  for (int32_t d = 0; d < dims_; ++d) builder.origin(0, basis_inner(0, 0, d));
  for (int32_t a = 0; a < shape_.axes; ++a) {
    const TileAxis& axis = shape_.axis[a];
    int64_t fold = 1;
    for (int32_t d = 0; d < dims_; ++d)
      if (dim_[d].axis == a) fold = std::max(fold, dim_[d].step);
    for (int32_t i = 0; i < axis.modes; ++i) {
      const int32_t mode = axis.mode[i].mode;
      const bool covered = i + 1 < axis.modes;  // past its end, the next outer mode's row begins
      out_.aligned[mode] = axis.modes == 1 ? fold : (covered || fold > 1 ? request_.tile[mode] : 1);
      out_.start_limit[mode] = covered ? axis.mode[i].extent : 0;
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
  for (int32_t i = 0; i < shape_.leaves; ++i)
    if (!place(shape_.leaf[i])) return false;
  return split_for_multicast() && add_parts();
}

}  // namespace

bool build_tile_map(const TileRequest& request, const TileShape& shape, uint32_t folds,
                    TileMap* out) {
  return Builder(request, shape, folds, out).run();
}

}  // namespace tw
