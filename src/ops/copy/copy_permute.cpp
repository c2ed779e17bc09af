// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy_permute.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "ops/copy/copy_methods.hpp"

namespace tw {
namespace {

struct Dim {
  int64_t extent;
  int64_t src;  // bytes
  int64_t dst;
  int64_t tile = 1;
};

// Dimensions that are contiguous on one side, innermost first.
struct Chain {
  int32_t count = 0;
  int32_t dim[kPermuteRank];
};

// The form of a tile's lines on one side, the source or the destination. A line has the dimensions
// of the chain up to and including the first one of which the tile has only a part. This dimension
// is cut.
struct Line {
  int32_t dims = 0;  // how many dimensions of the chain a line has
  int64_t bytes = 0;
  int32_t cut = -1;  // the dimension that is cut; -1: none
};

struct Tiling {
  int64_t unit;
  int32_t rank = 0;
  Dim dim[kPermuteRank];
  Chain src_chain, dst_chain;
  Line src_line, dst_line;
  int64_t units = 0;
  int64_t pitch = 0;

  int64_t src_lines() const { return units * unit / src_line.bytes; }
  int64_t dst_lines() const { return units * unit / dst_line.bytes; }
  bool fits() const {
    return src_lines() * pitch <= int64_t{kPermuteMaxTile} && src_lines() <= kPermuteMaxLines &&
           dst_lines() <= kPermuteMaxLines && dst_line.bytes / unit <= kPermuteMaxLineUnits;
  }
};

Chain chain_of(const Tiling& t, int64_t Dim::*stride) {
  Chain chain;
  int64_t reach = t.unit;
  for (bool found = true; found;) {
    found = false;
    for (int32_t d = 0; d < t.rank && !found; ++d) {
      if (t.dim[d].*stride != reach) continue;
      chain.dim[chain.count++] = d;
      reach *= t.dim[d].extent;
      found = true;
    }
  }
  return chain;
}

// Chooses tile extents that make lines of about `target` bytes. Lines are cut such that they stay
// 16-byte aligned.
void lengthen_line(Tiling* t, const Chain& chain, int64_t Dim::*stride, int64_t target) {
  int64_t line = t->unit;
  for (int32_t i = 0; i < chain.count && line < target; ++i) {
    Dim& dim = t->dim[chain.dim[i]];
    const auto step = static_cast<int64_t>(alignment_of(static_cast<uint64_t>(dim.*stride)));
    const int64_t wanted = round_up(ceil_div(target, line), 16 / step);
    dim.tile = std::max(dim.tile, std::min(wanted, dim.extent));
    if (dim.tile < dim.extent) return;
    line *= dim.extent;
  }
}

Line line_of(const Tiling& t, const Chain& chain) {
  Line line;
  line.bytes = t.unit;
  for (int32_t i = 0; i < chain.count; ++i) {
    const Dim& dim = t.dim[chain.dim[i]];
    if (dim.tile == 1) break;
    ++line.dims;
    line.bytes *= dim.tile;
    if (dim.tile == dim.extent) continue;
    line.cut = chain.dim[i];
    break;
  }
  return line;
}

void cut_tile(Tiling* t, int64_t src_target, int64_t dst_target) {
  for (int32_t d = 0; d < t->rank; ++d) t->dim[d].tile = 1;
  lengthen_line(t, t->src_chain, &Dim::src, src_target);
  lengthen_line(t, t->dst_chain, &Dim::dst, dst_target);
  // If a cut dimension is in both chains, its extent in the tile must suit the alignment of both
  // sides.
  for (int32_t d = 0; d < t->rank; ++d) {
    Dim& dim = t->dim[d];
    if (dim.tile == 1 || dim.tile == dim.extent) continue;
    const int64_t step = std::min(alignment_of(static_cast<uint64_t>(dim.src)),
                                  alignment_of(static_cast<uint64_t>(dim.dst)));
    const bool both = std::find(t->src_chain.dim, t->src_chain.dim + t->src_chain.count, d) !=
                          t->src_chain.dim + t->src_chain.count &&
                      std::find(t->dst_chain.dim, t->dst_chain.dim + t->dst_chain.count, d) !=
                          t->dst_chain.dim + t->dst_chain.count;
    if (both) dim.tile = std::min(round_up(dim.tile, 16 / step), dim.extent);
  }
  t->src_line = line_of(*t, t->src_chain);
  t->dst_line = line_of(*t, t->dst_chain);
  t->units = 1;
  for (int32_t d = 0; d < t->rank; ++d) t->units *= t->dim[d].tile;
  t->pitch = round_up(t->src_line.bytes, 128);
}

// Chooses a tile that fits. The targets start at lines of 256 bytes on both sides; they are longer
// if units are wide, and shorter on the destination if units are narrow. They are halved until the
// tile fits. If the tile is below a quarter of the largest size, they are doubled up to three
// times, as long as the tile fits.
bool choose_tile(Tiling* t) {
  int64_t src = t->unit >= 4 ? 512 : 256;
  int64_t dst = t->unit >= 8 ? 512 : t->unit >= 2 ? 256 : 128;
  cut_tile(t, src, dst);
  while (!t->fits()) {
    if (src <= 32) return false;
    src /= 2;
    dst /= 2;
    cut_tile(t, src, dst);
  }
  for (int grow = 0; grow < 3 && t->units * t->unit < kPermuteMaxTile / 4; ++grow) {
    Tiling larger = *t;
    cut_tile(&larger, src * 2, dst * 2);
    if (!larger.fits()) break;
    src *= 2;
    dst *= 2;
    *t = larger;
  }
  return true;
}

bool in_line(const Chain& chain, const Line& line, int32_t d) {
  return std::find(chain.dim, chain.dim + line.dims, d) != chain.dim + line.dims;
}

void add(PermuteDims* dims, int64_t extent, int64_t weight, int64_t stride) {
  dims->dim[dims->rank++] = {static_cast<u32>(extent), static_cast<u32>(weight), stride};
  dims->count *= static_cast<u32>(extent);
}

// Fills the dimensions that count source lines, destination lines and the units of a destination
// line, with their weights. The dimension that is cut in the destination's lines comes last among
// those that count source lines. The dimension that is cut in the source's lines comes last among
// those that count destination lines. A partial tile at the tensor's edge then lacks only the last
// lines.
void fill_dims(const Tiling& t, CopyPermuteArgs* args) {
  args->src_line_dims.count = args->dst_line_dims.count = args->dst_unit_dims.count = 1;
  int64_t weight[kPermuteRank];
  int64_t lines = 1;
  for (const bool last : {false, true})
    for (int32_t d = 0; d < t.rank; ++d) {
      const Dim& dim = t.dim[d];
      if (in_line(t.src_chain, t.src_line, d)) {
        weight[d] = dim.src;
        continue;
      }
      if (dim.tile == 1 || (d == t.dst_line.cut) != last) continue;
      weight[d] = (lines << 16) + lines * t.pitch;
      add(&args->src_line_dims, dim.tile, weight[d], dim.src);
      lines *= dim.tile;
    }
  for (const bool last : {false, true})
    for (int32_t d = 0; d < t.rank; ++d) {
      const Dim& dim = t.dim[d];
      if (in_line(t.dst_chain, t.dst_line, d) || dim.tile == 1 || (d == t.src_line.cut) != last)
        continue;
      add(&args->dst_line_dims, dim.tile, weight[d], dim.dst);
    }
  for (int32_t i = 0; i < t.dst_line.dims; ++i) {
    const int32_t d = t.dst_chain.dim[i];
    add(&args->dst_unit_dims, t.dim[d].tile, weight[d], t.dim[d].dst);
  }
}

bool fill_grid(const Tiling& t, CopyPermuteArgs* args, int32_t* grid_dim_of) {
  int64_t tiles = 1;
  for (int32_t d = 0; d < t.rank; ++d) {
    const Dim& dim = t.dim[d];
    const int64_t count = ceil_div(dim.extent, dim.tile);
    grid_dim_of[d] = -1;
    if (count == 1) continue;
    if (dim.extent > INT32_MAX || !checked_mul(tiles, count, &tiles) || tiles > INT32_MAX)
      return false;
    grid_dim_of[d] = static_cast<int32_t>(args->grid_rank);
    PermuteGridDim& out = args->grid[args->grid_rank++];
    out.tiles = make_divider(static_cast<u32>(count));
    out.tile = static_cast<u32>(dim.tile);
    out.extent = static_cast<u32>(dim.extent);
    out.src_step = dim.tile * dim.src;
    out.dst_step = dim.tile * dim.dst;
  }
  args->tiles = static_cast<u64>(tiles);
  return true;
}

PermuteEdge edge(int64_t full, int32_t cut, int64_t tile, int32_t grid_dim) {
  if (cut < 0) return {static_cast<u32>(full), 0, -1};
  return {static_cast<u32>(full), static_cast<u32>(full / tile), grid_dim};
}

// Returns CopyPermuteArgs::shift. To assemble stores of 16 bytes, adjacent lanes read units that
// are 16 bytes apart in a destination line. In shared memory these units are usually in different
// source lines. The swizzle must place them in different banks, so it depends on how many source
// lines apart they are.
u32 swizzle_shift(const CopyPermuteArgs& args) {
  const u32 store_units = 16 / args.unit_bytes;
  if (store_units >= args.dst_unit_dims.count) return 0;
  const u32 lines = permute_place(args.dst_unit_dims, store_units).place >> 16;
  return lines == 0 ? 0 : static_cast<u32>(std::bit_width(lines)) - 1;
}

}  // namespace

uint32_t permute_unit(const CopyShape& shape) {
  return strided_unit(shape, 16);
}

bool fill_permute(const CopyShape& shape, CopyPermuteArgs* args) {
  if (shape.empty) return false;
  Tiling t;
  t.unit = permute_unit(shape);
  if (shape.row_bytes > t.unit) t.dim[t.rank++] = {shape.row_bytes / t.unit, t.unit, t.unit};
  for (int32_t d = 0; d < shape.rank; ++d)
    t.dim[t.rank++] = {shape.extent[d], shape.src_stride[d], shape.dst_stride[d]};
  t.src_chain = chain_of(t, &Dim::src);
  t.dst_chain = chain_of(t, &Dim::dst);
  if (t.src_chain.count == 0 || t.dst_chain.count == 0 || !choose_tile(&t)) return false;
  if (std::min(t.src_line.bytes, t.dst_line.bytes) < kMinPermuteLineBytes) return false;
  if (std::max(t.src_line.bytes, t.dst_line.bytes) <= shape.row_bytes) return false;

  *args = CopyPermuteArgs{};
  args->unit_bytes = static_cast<u32>(t.unit);
  args->pitch = static_cast<u32>(t.pitch);
  args->stage_bytes = static_cast<u32>(t.src_lines() * t.pitch);
  int32_t grid_dim_of[kPermuteRank];
  if (!fill_grid(t, args, grid_dim_of)) return false;
  fill_dims(t, args);
  const int32_t src_cut = t.src_line.cut;
  const int32_t dst_cut = t.dst_line.cut;
  const auto tile = [&](int32_t d) { return d < 0 ? 1 : t.dim[d].tile; };
  const auto grid = [&](int32_t d) { return d < 0 ? -1 : grid_dim_of[d]; };
  args->src_line_bytes = edge(t.src_line.bytes, src_cut, tile(src_cut), grid(src_cut));
  args->dst_line_bytes = edge(t.dst_line.bytes, dst_cut, tile(dst_cut), grid(dst_cut));
  // A dimension that is cut on both sides shortens the lines of a partial tile, but does not change
  // their number.
  const bool same = src_cut == dst_cut;
  args->src_lines = edge(t.src_lines(), same ? -1 : dst_cut, tile(dst_cut), grid(dst_cut));
  args->dst_lines = edge(t.dst_lines(), same ? -1 : src_cut, tile(src_cut), grid(src_cut));
  args->shift = swizzle_shift(*args);
  fit_permute(0, 0, args);
  return true;
}

void fit_permute(uint64_t src, uint64_t dst, CopyPermuteArgs* args) {
  uint32_t load = alignment_of(src);
  uint32_t store = alignment_of(dst);
  for (u32 d = 0; d < args->grid_rank; ++d) {
    load = std::min(load, alignment_of(static_cast<uint64_t>(args->grid[d].src_step)));
    store = std::min(store, alignment_of(static_cast<uint64_t>(args->grid[d].dst_step)));
  }
  for (u32 d = 0; d < args->src_line_dims.rank; ++d)
    load = std::min(load, alignment_of(static_cast<uint64_t>(args->src_line_dims.dim[d].stride)));
  for (u32 d = 0; d < args->dst_line_dims.rank; ++d)
    store = std::min(store, alignment_of(static_cast<uint64_t>(args->dst_line_dims.dim[d].stride)));
  // Loads of 4 bytes or more are cp.async, which can copy fewer bytes at the end of a line.
  // Narrower loads are ordinary ones, which cannot. They load one unit at a time, because a line
  // may end after any unit.
  if (load < 4) load = args->unit_bytes;
  args->load_bytes = load;
  args->store_bytes = store == 16 ? 16 : args->unit_bytes;
  args->load_lanes =
      std::bit_ceil(std::min<u32>((args->src_line_bytes.full + load - 1) / load, 32));
}

}  // namespace tw
