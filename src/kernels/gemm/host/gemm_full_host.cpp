// SPDX-License-Identifier: Apache-2.0
// Host bodies of the epilogue kernels. They use the kernels' tensor maps, index functions and
// activation functions, one element at a time.
// "full" in names marks code of the epilogue kernels.
#include <algorithm>

#include "kernels/common/host_engine.hpp"
#include "kernels/gemm/host/gemm_host_job.hpp"

namespace tw {
namespace {

using namespace gemm_host;

// Loads the boxes of an operand for one k block. `gated`: the operand whose lines a gate combines.
void load_gated(HostEngine& engine, const FullJob& job, const KernelMap& map, bool along_k,
                bool gated, i32 first, i32 k, i32 z, uint32_t offset) {
  TensorMapBytes bytes;
  std::memcpy(bytes.words, map.words, sizeof bytes.words);
  const bool two = !along_k || (gated && job.args.gate == kGateHalves);
  for (i32 box = 0; box < (two ? 2 : 1); ++box) {
    const i32 across = gated ? full_line(job.args, first, 64 * box, kHostTile) : first + 64 * box;
    const int32_t coord[3] = {along_k ? k : across, along_k ? across : k, z};
    engine.load(bytes, coord, offset + static_cast<uint32_t>(box) * kSpan);
  }
}

// Writes the tile's part of D. With a gate, tile.d has the columns of v that load_gated loaded.
void write_tile(FullJob& job, const Tile& tile, i32 m0, i32 n0) {
  const GemmEpilogueArgs& args = job.args;
  const bool gated = args.gate != kGateNone;
  const i32 at0 = gated ? n0 / 2 : n0;
  const i32 columns = gated ? kHostTile / 2 : kHostTile;
  const FullGate tile_gate = {args.gate, 0, kHostTile / 2};
  for (i32 row = 0; row < kHostTile && m0 + row < job.lines; ++row)
    for (i32 column = 0; column < columns && at0 + column < job.extent; ++column) {
      job.write(m0 + row, at0 + column, [&](FullPlace, bool second) {
        const FullPlace place = full_place(tile_gate, row, column, second);
        return tile.d[place.line][place.at];
      });
    }
}

}  // namespace

void gemm_host_full_boxes(HostEngine& engine, const void* arguments) {
  FullJob job(*static_cast<const GemmEpilogueArgs*>(arguments));
  const GemmArgs& base = job.base;
  const bool a_along_k = base.host_column_a == 0;
  const bool b_along_k = base.host_column_b != 0;
  Tile tile;  // 128 KB: the worker's stack has 8 MB
  const i32 units = job.sizes.units_m * job.sizes.units_n;
  for (i32 unit = 0; unit < units * job.args.batch; ++unit) {
    const i32 z = unit / units;
    i32 m0, n0;
    gemm_unit(job.sizes, unit % units, &m0, &n0);
    m0 *= kHostTile;
    n0 *= kHostTile;
    job.select_matrix(z);
    const GemmProductMaps maps = gemm_product_maps(job.args, z);
    // With a gate, a tile's lines come from both halves, so lines_inside() does not apply.
    const bool gated = job.args.gate != kGateNone;
    const uint32_t rows = gated ? kHostTile : lines_inside(job.sizes.m, m0);
    const uint32_t columns = gated ? kHostTile : lines_inside(job.sizes.n, n0);
    std::memset(tile.d, 0, sizeof tile.d);
    for (i32 k = 0; k < job.sizes.k; k += kHostTileK) {
      load_gated(engine, job, *maps.a, a_along_k, false, m0, k, maps.a_index, 0);
      load_gated(engine, job, *maps.b, b_along_k, true, n0, k, maps.b_index, kShared.a_bytes);
      unpack(engine.shared(), a_along_k, job.in, rows,
             [&](uint32_t m, uint32_t kk, float value) { tile.a[m][kk] = value; });
      unpack(engine.shared() + kShared.a_bytes, b_along_k, job.in, columns,
             [&](uint32_t n, uint32_t kk, float value) { tile.b[kk][n] = value; });
      multiply(tile, rows, columns);
    }
    write_tile(job, tile, m0, n0);
  }
  job.finish();
}

void gemm_host_full_plain(HostEngine&, const void* arguments) {
  FullJob job(*static_cast<const GemmEpilogueArgs*>(arguments));
  const GemmArgs& base = job.base;
  for (i32 z = 0; z < job.args.batch; ++z) {
    job.select_matrix(z);
    const auto sum_at = [&](FullPlace place, bool) {
      float sum = 0.0f;
      const i64 a0 = place.line * base.a_stride_m;
      const i64 b0 = place.at * base.b_stride_n;
      for (i32 k = 0; k < job.sizes.k; ++k)
        sum += read_element(global(job.matrix.a, a0 + k * base.a_stride_k, job.in_bytes), job.in) *
               read_element(global(job.matrix.b, b0 + k * base.b_stride_k, job.in_bytes), job.in);
      return sum;
    };
    for (i32 line = 0; line < job.lines; ++line)
      for (i32 at = 0; at < job.extent; ++at) job.write(line, at, sum_at);
  }
  job.finish();
}

}  // namespace tw
