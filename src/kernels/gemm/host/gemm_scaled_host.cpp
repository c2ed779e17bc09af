// SPDX-License-Identifier: Apache-2.0
// Host body for narrow types. It reads operands element by element and multiplies one tile and one
// scale block of k (kScaleDepth) at a time. A block's accumulators are f32, which is exact for i8:
// 128 products stay below 2^24.
// "full" in names marks code of the epilogue kernels.
#include <algorithm>

#include "kernels/common/host_engine.hpp"
#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/gemm/host/gemm_host_job.hpp"

namespace tw {
namespace {

using namespace gemm_host;

constexpr i32 kTile = kHostTile;

struct ScaledTile {
  float a[kTile][kScaleDepth];
  float b[kScaleDepth][kTile];
  float sums[kTile][kTile];  // of one scale block of k
  float total[kTile][kTile];
  u32 integers[kTile][kTile];  // exact totals, modulo 2^32
  float values[kTile][kTile];  // of D, before quantization
};

class ScaledJob {
 public:
  explicit ScaledJob(const GemmScaledArgs& args)
      : scales_(args.scales),
        job_(args.full),
        a_type_(job_.in),
        b_type_(scales_.b_type == kFormatE4M3   ? DType::F8E4M3
                : scales_.b_type == kFormatE5M2 ? DType::F8E5M2
                                                : job_.in),
        gated_(args.full.gate != kGateNone),
        across_(gated_ && args.full.gate_across),
        along_(gated_ && !across_),
        along_k_(gemm_scales_along_k(scales_)) {}

  void run() {
    GemmEffectiveSizes& sizes = job_.sizes;
    const bool quantizes = scales_.d.address != 0;
    // With a gate, the 128 columns of D that share a scale come from two tiles.
    const i32 passes = quantizes && along_ ? 2 : 1;
    sizes.units_n = (sizes.units_n + passes - 1) / passes;
    const i32 units = sizes.units_m * sizes.units_n;
    for (i32 unit = 0; unit < units * job_.args.batch; ++unit) {
      z_ = unit / units;
      job_.select_matrix(z_);
      if (job_.lines == 0) continue;
      i32 m0, n0;
      gemm_unit(sizes, unit % units, &m0, &n0);
      m0 *= kTile;
      for (i32 pass = 0; pass < passes; ++pass)
        make_values(m0, (n0 * passes + pass) * kTile, pass * (kTile / 2));
      const i32 lines = kTile / (across_ ? 2 : 1);
      const i32 columns = kTile / (along_ ? 2 : 1) * passes;
      const i32 line0 = across_ ? m0 / 2 : m0;
      const i32 at0 = n0 * columns;
      if (quantizes) quantize(line0, at0);
      if (job_.out == DType::I32) continue;
      for (i32 i = 0; i < lines && line0 + i < job_.lines; ++i)
        for (i32 j = 0; j < columns && at0 + j < job_.extent; ++j)
          job_.put(line0 + i, at0 + j, tile_.values[i][j]);
    }
    job_.finish();
  }

 private:
  i32 row(i32 m0, i32 i) const { return across_ ? full_line(job_.args, m0, i, kTile) : m0 + i; }
  i32 column(i32 n0, i32 i) const { return along_ ? full_line(job_.args, n0, i, kTile) : n0 + i; }

  void load(i32 m0, i32 n0, i32 k0) {
    const GemmArgs& base = job_.base;
    const i32 depth = std::min(kScaleDepth, job_.sizes.k - k0);
    for (i32 i = 0; i < kTile; ++i)
      for (i32 k = 0; k < kScaleDepth; ++k) {
        const i32 m = row(m0, i), n = column(n0, i);
        tile_.a[i][k] = m < base.m && k < depth
                            ? read_element(global(job_.matrix.a,
                                                  m * base.a_stride_m + (k0 + k) * base.a_stride_k,
                                                  job_.in_bytes),
                                           a_type_)
                            : 0.0f;
        tile_.b[k][i] = n < base.n && k < depth
                            ? read_element(global(job_.matrix.b,
                                                  n * base.b_stride_n + (k0 + k) * base.b_stride_k,
                                                  job_.in_bytes),
                                           b_type_)
                            : 0.0f;
      }
  }

  // The product of the scales of A's row m and B's column n for a scale block of k.
  float factor(i32 m, i32 n, i32 block) const {
    if (m >= job_.base.m || n >= job_.base.n) return 0.0f;
    return gemm_scale(scales_.a, scales_.a_by, m, block, z_) *
           gemm_scale(scales_.b, scales_.b_by, n, block, z_);
  }

  void add_block(i32 m0, i32 n0, i32 block) {
    std::memset(tile_.sums, 0, sizeof tile_.sums);
    for (i32 m = 0; m < kTile; ++m)
      for (i32 k = 0; k < kScaleDepth; ++k)
        for (i32 n = 0; n < kTile; ++n) tile_.sums[m][n] += tile_.a[m][k] * tile_.b[k][n];
    for (i32 m = 0; m < kTile; ++m)
      for (i32 n = 0; n < kTile; ++n) {
        const float sum = tile_.sums[m][n];
        if (along_k_)
          tile_.total[m][n] =
              act::fused(factor(row(m0, m), column(n0, n), block), sum, tile_.total[m][n]);
        else if (a_type_ == DType::I8)
          tile_.integers[m][n] += static_cast<u32>(static_cast<i32>(sum));
        else
          tile_.total[m][n] += sum;
      }
  }

  void make_values(i32 m0, i32 n0, i32 column0) {
    std::memset(tile_.total, 0, sizeof tile_.total);
    std::memset(tile_.integers, 0, sizeof tile_.integers);
    for (i32 k = 0; k < job_.sizes.k; k += kScaleDepth) {
      load(m0, n0, k);
      add_block(m0, n0, k / kScaleDepth);
    }
    if (job_.out == DType::I32) return write_integers(m0, n0);
    if (!along_k_ && job_.sizes.k > 0)
      for (i32 m = 0; m < kTile; ++m)
        for (i32 n = 0; n < kTile; ++n) {
          float& total = tile_.total[m][n];
          if (a_type_ == DType::I8)
            total = static_cast<float>(static_cast<i32>(tile_.integers[m][n]));
          if (scales_.a_by != kScaleNone) total *= factor(row(m0, m), column(n0, n), 0);
        }
    const FullGate tile_gate = {job_.args.gate, job_.args.gate_across, kTile / 2};
    const i32 lines = kTile / (across_ ? 2 : 1), columns = kTile / (along_ ? 2 : 1);
    const i32 line0 = across_ ? m0 / 2 : m0, at0 = along_ ? n0 / 2 : n0;
    for (i32 i = 0; i < lines && line0 + i < job_.lines; ++i)
      for (i32 j = 0; j < columns && at0 + j < job_.extent; ++j)
        tile_.values[i][column0 + j] =
            job_.value_of(line0 + i, at0 + j, [&](FullPlace, bool second) {
              const FullPlace place = full_place(tile_gate, i, j, second);
              return tile_.total[place.line][place.at];
            });
  }

  void write_integers(i32 m0, i32 n0) const {
    for (i32 i = 0; i < kTile && m0 + i < job_.lines; ++i)
      for (i32 j = 0; j < kTile && n0 + j < job_.extent; ++j)
        std::memcpy(const_cast<uint8_t*>(
                        global(job_.matrix.d, (m0 + i) * job_.base.d_stride_m + n0 + j, 4)),
                    &tile_.integers[i][j], 4);
  }

  // Computes the scale of 128 columns of each row, writes it, and divides the values by it.
  void quantize(i32 line0, i32 at0) {
    const float most = format_max(scales_.d_type);
    for (i32 i = 0; i < kTile && line0 + i < job_.lines; ++i) {
      u32 largest = 0;
      const i32 columns = std::min(kTile, job_.extent - at0);
      for (i32 j = 0; j < columns; ++j)
        largest = std::max(largest, gemm_finite(tile_.values[i][j]));
      const float scale = gemm_block_scale(float_of(largest), most);
      const float inverse = gemm_block_inverse(scale);
      for (i32 j = 0; j < columns; ++j) tile_.values[i][j] *= inverse;
      const i64 to = (line0 + i) * scales_.d.line_step + at0 / kScaleDepth * scales_.d.block_step +
                     z_ * scales_.d.batch_step;
      reinterpret_cast<float*>(scales_.d.address)[to] = scale;
    }
  }

  const GemmScales& scales_;
  FullJob job_;
  DType a_type_, b_type_;
  bool gated_, across_, along_, along_k_;
  i32 z_ = 0;
  ScaledTile tile_;  // 400 KB: the worker's stack has 8 MB
};

}  // namespace

void gemm_host_scaled(HostEngine&, const void* arguments) {
  ScaledJob(*static_cast<const GemmScaledArgs*>(arguments)).run();
}

}  // namespace tw
