// SPDX-License-Identifier: Apache-2.0
// Host bodies of D = alpha A B + beta C. One moves its tiles through tensor maps like a wgmma
// kernel, the other reads single elements like the mma.sync kernels.
#include <algorithm>

#include "kernels/common/host_engine.hpp"
#include "kernels/gemm/host/gemm_host_tile.hpp"

namespace tw {
namespace {

using namespace gemm_host;

// The arguments of a launch, and access to single elements of C and D.
struct Job {
  const GemmArgs& args;
  DType in;
  DType out;
  int32_t in_bytes;
  int32_t out_bytes;

  explicit Job(const GemmArgs& a)
      : args(a),
        in(static_cast<DType>(a.host_in)),
        out(static_cast<DType>(a.host_out)),
        in_bytes(dtype_bytes(in)),
        out_bytes(dtype_bytes(out)) {}

  // alpha * sum + beta * C, before the rounding to D's type.
  float scaled(float sum, i32 row, i32 column) const {
    float value = args.alpha * sum;
    if (args.beta != 0.0f) {
      const uint8_t* c = global(args.c, row * args.c_stride_m + column, out_bytes);
      value += args.beta * read_element(c, out);
    }
    return value;
  }
  void write_converted(float value, i32 row, i32 column) const {
    write_element(const_cast<uint8_t*>(global(args.d, row * args.d_stride_m + column, out_bytes)),
                  out, value);
  }
};

void load_operand(HostEngine& engine, const KernelMap& map, bool along_k, i32 first, i32 k,
                  uint32_t offset) {
  TensorMapBytes bytes;
  std::memcpy(bytes.words, map.words, sizeof bytes.words);
  for (i32 box = 0; box < (along_k ? 1 : kHostTile / 64); ++box) {
    const int32_t coord[2] = {along_k ? k : first + 64 * box, along_k ? first : k};
    engine.load(bytes, coord, offset + static_cast<uint32_t>(box) * kSpan);
  }
}

// Writes a tile to D through the TMA model, and the columns from plain_from on by single elements.
void store_tile(HostEngine& engine, const Job& job, const Tile& tile, i32 m0, i32 n0) {
  const GemmArgs& args = job.args;
  const i32 slab_columns = 128 / job.out_bytes;
  TensorMapBytes map;
  std::memcpy(map.words, args.map_d.words, sizeof map.words);
  for (i32 row = m0; row < std::min(m0 + kHostTile, args.m); row += 64)
    for (i32 column = n0; column < std::min(n0 + kHostTile, args.plain_from);
         column += slab_columns) {
      uint8_t* slab = engine.shared() + kShared.d_offset;
      for (i32 r = 0; r < 64; ++r)
        for (i32 c = 0; c < slab_columns; ++c) {
          const bool inside = row + r < args.m && column + c < args.n;
          const float sum = tile.d[row + r - m0][column + c - n0];
          write_element(
              slab + swizzled(static_cast<uint32_t>(r), static_cast<uint32_t>(c * job.out_bytes)),
              job.out, inside ? job.scaled(sum, row + r, column + c) : 0.0f);
        }
      const int32_t coord[2] = {column, row};
      engine.store(map, coord, kShared.d_offset);
    }
  for (i32 row = m0; row < std::min(m0 + kHostTile, args.m); ++row)
    for (i32 column = std::max(n0, args.plain_from); column < std::min(n0 + kHostTile, args.n);
         ++column)
      job.write_converted(job.scaled(tile.d[row - m0][column - n0], row, column), row, column);
}

}  // namespace

void gemm_host_boxes(HostEngine& engine, const void* arguments) {
  const Job job(*static_cast<const GemmArgs*>(arguments));
  const GemmArgs& args = job.args;
  const bool a_along_k = args.host_column_a == 0;
  const bool b_along_k = args.host_column_b != 0;
  Tile tile;  // 128 KB: the worker's stack has 8 MB
  for (i32 unit = 0; unit < args.units_m * args.units_n; ++unit) {
    i32 m0, n0;
    gemm_unit(args, unit, &m0, &n0);
    m0 *= kHostTile;
    n0 *= kHostTile;
    const uint32_t rows = lines_inside(args.m, m0), columns = lines_inside(args.n, n0);
    std::memset(tile.d, 0, sizeof tile.d);
    for (i32 k = 0; k < args.k; k += kHostTileK) {
      load_operand(engine, args.map_a, a_along_k, m0, k, 0);
      load_operand(engine, args.map_b, b_along_k, n0, k, kShared.a_bytes);
      unpack(engine.shared(), a_along_k, job.in, rows,
             [&](uint32_t m, uint32_t kk, float value) { tile.a[m][kk] = value; });
      unpack(engine.shared() + kShared.a_bytes, b_along_k, job.in, columns,
             [&](uint32_t n, uint32_t kk, float value) { tile.b[kk][n] = value; });
      multiply(tile, rows, columns);
    }
    store_tile(engine, job, tile, m0, n0);
  }
}

void gemm_host_plain(HostEngine&, const void* arguments) {
  const Job job(*static_cast<const GemmArgs*>(arguments));
  const GemmArgs& args = job.args;
  for (i32 m = 0; m < args.m; ++m)
    for (i32 n = 0; n < args.n; ++n) {
      float sum = 0.0f;
      for (i32 k = 0; k < args.k; ++k)
        sum += read_element(global(args.a, m * args.a_stride_m + k * args.a_stride_k, job.in_bytes),
                            job.in) *
               read_element(global(args.b, k * args.b_stride_k + n * args.b_stride_n, job.in_bytes),
                            job.in);
      job.write_converted(job.scaled(sum, m, n), m, n);
    }
}

}  // namespace tw
