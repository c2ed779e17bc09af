// SPDX-License-Identifier: Apache-2.0
#pragma once
// A scaled GEMM of narrow types: operands and scales in guarded memory, and the expected result.
//
// Tests compare each element of D with float64 of the dequantized operands. The error bound has
// three parts:
// - Sums over a block of 128 along k. Tensor cores align the products of 8-bit floats and the
//   accumulator to the largest exponent and keep 14 bits. So each addend, and each sum over 32 of
//   k, loses less than 2^-13 of the largest, and a product at most itself. tf32 loses 2^-20 of the
//   sum of magnitudes, i8 nothing.
// - The f32 arithmetic after it: 2^-20 of the sum of magnitudes.
// - Half an ulp of D.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/gemm/arguments/gemm_scales.h"
#include "tests/device/common/predecessor.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"
#include "tests/device/gemm/gemm_near.hpp"

namespace tw::test {

struct ScaledCase {
  GemmDesc desc;
  float alpha = 1.0f, beta = 0.0f, d_factor_value = 1.0f;
  uint64_t offset = 0;  ///< of A, B, C and D past a multiple of 1024 bytes
  int64_t run_m = -1;
  int64_t device_m = -1;  ///< -1: the device reads no m
  bool device_scalars = false;
  bool specials =
      false;  ///< NaNs and infinities among elements and scales; i8: the ends of its range
  float scale_size = 1.0f;
  bool behind =
      false;  ///< runs as a dependent launch behind a kernel that writes all of its memory
};

inline std::string describe(const ScaledCase& c) {
  const GemmDesc& d = c.desc;
  const GemmEpilogue& e = d.epilogue;
  char text[400];
  std::snprintf(
      text, sizeof text,
      "m %d n %d k %d x%d, %s by %s to %s, orders %d%d%d, ld %d %d %d %d, scales %d %d orders %d%d "
      "ld %d %d, quantize %d order %d, bias %d %s, act %d, gate %d, d_factor %d (%g), amax %d, "
      "alpha "
      "%g beta %g, offset %d, run m %d, device m %d%s%s%s",
      int(d.m), int(d.n), int(d.k), int(d.batch), dtype_name(d.a_dtype), dtype_name(d.b_type()),
      dtype_name(d.d_dtype), int(d.a_order), int(d.b_order), int(d.d_order), int(d.lda), int(d.ldb),
      int(d.ldc), int(d.ldd), int(d.a_scaling.kind), int(d.b_scaling.kind), int(d.a_scaling.order),
      int(d.b_scaling.order), int(d.a_scaling.leading), int(d.b_scaling.leading),
      int(d.d_quantize.kind), int(d.d_quantize.order), int(e.bias), dtype_name(e.bias_dtype),
      int(e.activation), int(e.gate), int(e.d_factor), double(c.d_factor_value), int(e.amax),
      double(c.alpha), double(c.beta), int(c.offset), int(c.run_m), int(c.device_m),
      c.device_scalars ? ", device scalars" : "", c.specials ? ", specials" : "",
      d.fast_accumulate ? ", fast" : "");
  return text;
}

/// The matrices of a batch, stacked along the dimension that is not contiguous.
struct Stack {
  int64_t rows, columns;
  bool shared;
  Matrix all;

  Stack(const std::shared_ptr<Device>& device, Stream& stream, int64_t r, int64_t c, Order order,
        DType type, int64_t leading, uint64_t offset, int64_t batch, bool is_shared)
      : rows(r),
        columns(c),
        shared(is_shared),
        all(device, stream, r * (order == Order::row && !is_shared ? batch : 1),
            c * (order == Order::column && !is_shared ? batch : 1), order, type, leading, offset) {}
  uint8_t* at(int64_t z, int64_t i, int64_t j) {
    if (shared) z = 0;
    return all.order == Order::row ? all.at(z * rows + i, j) : all.at(i, z * columns + j);
  }
  uint64_t address(int64_t z) {
    return all.memory.address() + static_cast<uint64_t>(at(z, 0, 0) - all.memory.data());
  }
  double value(int64_t z, int64_t i, int64_t j) {
    if (shared) z = 0;
    return all.order == Order::row ? all.value(z * rows + i, j) : all.value(i, z * columns + j);
  }
};

/// The operands and the result of a case, in guarded memory.
class ScaledOperands {
 public:
  ScaledOperands(const std::shared_ptr<Device>& device, Stream& stream, const ScaledCase& of)
      : c(of),
        m(of.device_m >= 0 ? of.device_m
          : of.run_m < 0   ? of.desc.m
                           : of.run_m),
        a(matrix(device, stream, c.desc.m, c.desc.k, c.desc.a_order, c.desc.a_dtype, c.desc.lda,
                 c.desc.a_batch_stride)),
        b(matrix(device, stream, c.desc.k, c.desc.n, c.desc.b_order, c.desc.b_type(), c.desc.ldb,
                 c.desc.b_batch_stride)),
        cc(matrix(device, stream, c.desc.m, c.desc.n, c.desc.d_order, c.desc.d_dtype, c.desc.ldc,
                  -1)),
        d(matrix(device, stream, c.desc.m, d_columns(), c.desc.d_order, c.desc.d_dtype, c.desc.ldd,
                 -1)),
        a_scale(scales(device, stream, c.desc.a_scaling, gemm_a_scales(c.desc, c.desc.m))),
        b_scale(scales(device, stream, c.desc.b_scaling, gemm_b_scales(c.desc))),
        d_scales(scales(device, stream, c.desc.d_quantize, gemm_d_scales(c.desc, c.desc.m))),
        bias(device, stream, 1, length(c.desc.epilogue.bias, c.desc.m, c.desc.n), Order::row,
             bias_type(), 0, 0),
        d_factor(device, stream, 1, length(c.desc.epilogue.d_factor, c.desc.m, d_columns()),
                 Order::row, DType::F32, 0, 0),
        words(device, stream, 1, 6, Order::row, DType::F32, 0, 0),
        arrays(device, stream, static_cast<uint64_t>(32 * c.desc.batch)) {}

  void fill(std::mt19937_64& random) {
    const DType in = c.desc.a_dtype;
    const auto draw = [&](Matrix& of) {
      std::normal_distribution<float> normal(0.0f, is_f8(of.type) ? 4.0f : 1.0f);
      of.fill_with([&] {
        if (of.type == DType::I8 && c.specials) return pick(random, 0, 9) ? -128.0f : 127.0f;
        if (of.type == DType::I8) return static_cast<float>(pick(random, -128, 127));
        const bool rare = c.specials && pick(random, 0, 400) == 0;
        return rare ? (pick(random, 0, 1) ? NAN : INFINITY) : normal(random);
      });
    };
    draw(a.all);
    draw(b.all);
    for (int64_t z = 0; z < c.desc.batch; ++z) {
      for (int64_t i = 0; i < c.desc.m; ++i)
        for (int64_t k = 0; k < c.desc.k; ++k) rows_of_a_.push_back(a.value(z, i, k));
      for (int64_t j = 0; j < c.desc.n; ++j)
        for (int64_t k = 0; k < c.desc.k; ++k) columns_of_b_.push_back(b.value(z, k, j));
    }
    if (c.desc.d_dtype != DType::I32) cc.all.fill_normal(random);
    const double products = static_cast<double>(std::max<int64_t>(c.desc.k, 1));
    const double size = (in == DType::I8 ? 5400.0 : is_f8(in) ? 16.0 : 1.0) * std::sqrt(products);
    const auto each = c.scale_size / static_cast<float>(std::sqrt(size));
    const auto fill_scales = [&](Matrix& of) {
      std::uniform_real_distribution<float> uniform(0.5f * each, 2.0f * each);
      constexpr float kOdd[] = {NAN, INFINITY, 0.0f, -1.0f, 0x1p-140f};
      of.fill_with([&] {
        const bool rare = c.specials && pick(random, 0, 12) == 0;
        return rare ? kOdd[pick(random, 0, 4)] : uniform(random);
      });
    };
    fill_scales(a_scale.all);
    fill_scales(b_scale.all);
    bias.fill_normal(random);
    d_factor.fill_normal(random);
    const int64_t rows = c.device_m;
    std::memcpy(words.at(0, 0), &rows, 8);
    encode_element(words.at(0, 2), DType::F32, c.alpha);
    encode_element(words.at(0, 3), DType::F32, c.beta);
    encode_element(words.at(0, 4), DType::F32, 0.0f);
    words.memory.upload();
    auto* addresses = reinterpret_cast<uint64_t*>(arrays.data());
    for (Stack* of : {&a, &b, &cc, &d})
      for (int64_t z = 0; z < c.desc.batch; ++z) *addresses++ = of->address(z);
    arrays.upload();
  }

  GemmRun run() const {
    const GemmEpilogue& e = c.desc.epilogue;
    const auto given = [](bool wanted, const Matrix& of) {
      return wanted ? of.memory.address() : 0;
    };
    GemmRun out{.alpha = c.device_scalars ? 17.0f : c.alpha,
                .beta = c.device_scalars ? 0.0f : c.beta,
                .a = a.all.memory.address(),
                .b = b.all.memory.address(),
                .c = given(c.beta != 0.0f, cc.all),
                .d = d.all.memory.address(),
                .m = c.run_m,
                .device_m = c.device_m < 0 ? 0 : words.memory.address(),
                .bias = given(e.bias != Per::none, bias),
                .d_factor = given(e.d_factor != Per::none && c.d_factor_value == 1.0f, d_factor),
                .amax = e.amax ? words.memory.address() + 16 : 0,
                .d_factor_value = c.d_factor_value,
                .a_scale = given(c.desc.a_scaling.any(), a_scale.all),
                .b_scale = given(c.desc.b_scaling.any(), b_scale.all),
                .d_block_scale = given(c.desc.d_quantize.any(), d_scales.all)};
    if (c.desc.has(kGemmPointers)) {
      const auto step = static_cast<uint64_t>(8 * c.desc.batch);
      out.a = arrays.address();
      out.b = out.a + step;
      out.c = c.beta != 0.0f ? out.b + step : 0;
      out.d = out.b + 2 * step;
    }
    if (c.device_scalars) {
      out.device_alpha = words.memory.address() + 8;
      out.device_beta = c.beta != 0.0f ? words.memory.address() + 12 : 0;
    }
    return out;
  }
  /// Adds all memory but constant operands.
  void add_memory(Predecessor* to) const {
    for (const Stack* of : {&a, &b, &cc, &d, &a_scale, &b_scale, &d_scales})
      if (of != &b || !c.desc.has(kGemmConstantB))
        to->add(of->all.memory.address(), of->all.memory.bytes());
    for (const Matrix* of : {&bias, &d_factor, &words})
      to->add(of->memory.address(), of->memory.bytes());
    to->add(arrays.address(), arrays.bytes());
  }
  /// Poisons D and its scales and zeroes amax.
  void clear() {
    for (Matrix* of : {&d.all, &d_scales.all}) {
      std::fill_n(of->memory.data(), of->memory.bytes(), Guarded::kPoison);
      of->memory.upload();
    }
    encode_element(words.at(0, 4), DType::F32, 0.0f);
    words.memory.upload();
  }

  /// The bytes of D, its scales and amax.
  std::vector<uint8_t> result() {
    std::vector<uint8_t> out;
    for (Matrix* of : {&d.all, &d_scales.all, &words}) {
      of->memory.read();
      out.insert(out.end(), of->memory.data(), of->memory.data() + of->memory.bytes());
    }
    return out;
  }

  /// Checks D, its scales and amax after a run, and that the memory around them is unchanged.
  void check_result();

 private:
  static int64_t length(Per per, int64_t rows, int64_t columns) {
    return per == Per::row ? rows : per == Per::column ? columns : 1;
  }
  int64_t d_columns() const { return c.desc.epilogue.gate == Gate::none ? c.desc.n : c.desc.n / 2; }
  DType bias_type() const {
    const DType own = c.desc.epilogue.bias_dtype, out = c.desc.d_dtype;
    if (own != DType{}) return own;
    return out == DType::BF16 || out == DType::F16 ? out : DType::F32;
  }
  Stack matrix(const std::shared_ptr<Device>& device, Stream& stream, int64_t rows, int64_t columns,
               Order order, DType type, int64_t leading, int64_t batch_stride) {
    const auto size = static_cast<uint64_t>(dtype_bytes(type));
    return {device,       stream,
            rows,         columns,
            order,        type,
            leading,      (c.offset + size - 1) / size * size,
            c.desc.batch, batch_stride == 0};
  }
  Stack scales(const std::shared_ptr<Device>& device, Stream& stream, const GemmScaling& of,
               GemmScaleExtent extent) {
    const bool used = of.any(), matrices = of.kind >= ScaleKind::row128;
    // The d_factors of a batch are stacked: a row each.
    if (!matrices) extent = {1, extent.rows * extent.columns};
    return {device,
            stream,
            used ? extent.rows : 1,
            used ? extent.columns : 1,
            matrices ? of.order : Order::row,
            DType::F32,
            of.leading,
            c.offset / 4 * 4,
            c.desc.batch,
            of.batch_stride == 0 || !used};
  }
  static double scale_at(Stack& of, const GemmScaling& scaling, bool is_a, int64_t z, int64_t line,
                         int64_t block) {
    switch (scaling.kind) {
      case ScaleKind::none:
        return 1.0;
      case ScaleKind::tensor:
        return of.value(z, 0, 0);
      case ScaleKind::row:
        return of.value(z, 0, line);
      default:
        if (scaling.kind == ScaleKind::block128) line /= 128;
        return is_a ? of.value(z, line, block) : of.value(z, block, line);
    }
  }
  double factor_at(int64_t z, int64_t i, int64_t j, int64_t block) {
    return static_cast<float>(
        static_cast<float>(scale_at(a_scale, c.desc.a_scaling, true, z, i, block)) *
        static_cast<float>(scale_at(b_scale, c.desc.b_scaling, false, z, j, block)));
  }
  Near products(int64_t z, int64_t i, int64_t j);
  Near products_once(int64_t z, int64_t i, int64_t j);
  Near before(int64_t z, int64_t i, int64_t j);
  Near wanted(int64_t z, int64_t i, int64_t j, Near* unscaled);
  bool is_right(double got, const Near& near, double divisor) const;

 public:
  ScaledCase c;
  int64_t m;
  Stack a, b, cc, d, a_scale, b_scale, d_scales;
  Matrix bias, d_factor, words;
  Guarded arrays;  // arrays of addresses of A, B, C and D

 private:
  // A and B as numbers: rows of A and columns of B, each contiguous.
  std::vector<double> rows_of_a_, columns_of_b_;
  std::vector<Near> sums_;  // cache of products(); an error of -1: not computed yet
  double largest_got_ = 0, largest_wanted_ = 0, largest_error_ = 0;
};

/// A sum of products, the sum of their magnitudes, and the most that tensor cores lose of it.
struct BlockSum {
  double sum, magnitude, lost;
};
/// Uses four independent sums, because a single one is bound by the latency of additions.
inline BlockSum exact_block(const double* a, const double* b, int64_t count) {
  double sum[4] = {}, magnitude[4] = {};
  for (int64_t k = 0; k < count; ++k) {
    const double one = a[k] * b[k];
    sum[k % 4] += one;
    magnitude[k % 4] += std::fabs(one);
  }
  return {sum[0] + sum[1] + sum[2] + sum[3],
          magnitude[0] + magnitude[1] + magnitude[2] + magnitude[3], 0};
}
/// Each addend, and each sum over 32 of k, loses up to `cut` of the largest term.
inline BlockSum cut_block(const double* a, const double* b, int64_t count, double cut) {
  BlockSum out{0, 0, 0};
  double largest = 0, largest_sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double one = a[k] * b[k], size = std::fabs(one);
    out.sum += one;
    out.magnitude += size;
    largest = std::max(largest, size);
    largest_sum = std::max(largest_sum, std::fabs(out.sum));
  }
  const double most = cut * std::max(largest, largest_sum);
  out.lost = static_cast<double>((count + 31) / 32) * most;
  for (int64_t k = 0; k < count; ++k) out.lost += std::min(std::fabs(a[k] * b[k]), most);
  return out;
}

/// The scaled sum of an element of A B.
inline Near ScaledOperands::products(int64_t z, int64_t i, int64_t j) {
  const GemmDesc& desc = c.desc;
  const double cut = is_f8(desc.a_dtype) ? 0x1p-13 : 0.0;
  const double rest = desc.a_dtype == DType::TF32 ? 0x1p-20 : 0.0;
  const bool along_k = desc.a_scaling.kind >= ScaleKind::row128;
  const double* const of_a = rows_of_a_.data() + (z * desc.m + i) * desc.k;
  const double* const of_b = columns_of_b_.data() + (z * desc.n + j) * desc.k;
  Near out{0, 0};
  double size = 0;
  const int64_t depth = desc.fast_accumulate ? std::max<int64_t>(desc.k, 1) : kScaleDepth;
  for (int64_t k0 = 0; k0 < desc.k; k0 += depth) {
    const int64_t end = std::min(k0 + depth, desc.k);
    const auto [sum, magnitude, lost] = cut == 0 ? exact_block(of_a + k0, of_b + k0, end - k0)
                                                 : cut_block(of_a + k0, of_b + k0, end - k0, cut);
    const double factor = along_k ? factor_at(z, i, j, k0 / kScaleDepth) : 1.0;
    out.value += factor * sum;
    out.error += std::fabs(factor) * (lost + rest * magnitude);
    size += std::fabs(factor) * magnitude;
  }
  if (!along_k && desc.k > 0) {
    const double factor = factor_at(z, i, j, 0);
    out = {out.value * factor, out.error * std::fabs(factor)};
    size *= std::fabs(factor);
  }
  // Sums of i8 without block scales are exact. Others are rounded once for each block and a few
  // times more.
  const double roundings = desc.d_dtype == DType::I32 ? 0 : static_cast<double>(desc.k) / 128 + 16;
  out.error += size * roundings * 0x1p-24;
  return out;
}

/// Cached, because all kernels that run a case are compared with the same sums.
inline Near ScaledOperands::products_once(int64_t z, int64_t i, int64_t j) {
  const auto place = static_cast<size_t>((z * c.desc.m + i) * c.desc.n + j);
  sums_.resize(static_cast<size_t>(c.desc.batch * c.desc.m * c.desc.n), Near{0, -1});
  Near& sum = sums_[place];
  if (sum.error == -1) sum = products(z, i, j);
  return sum;
}

inline Near ScaledOperands::before(int64_t z, int64_t i, int64_t j) {
  Near sum{0, 0};
  if (c.alpha != 0.0f) sum = products_once(z, i, j);
  double value = double(c.alpha) * sum.value;
  double error = std::fabs(double(c.alpha)) * sum.error, size = std::fabs(value);
  const auto add = [&](double term) {
    value += term;
    size += std::fabs(term);
  };
  if (c.beta != 0.0f) add(double(c.beta) * cc.value(z, i, j));
  if (c.desc.epilogue.bias == Per::row) add(bias.value(0, i));
  if (c.desc.epilogue.bias == Per::column) add(bias.value(0, j));
  if (c.desc.d_dtype != DType::I32) error += size * 0x1p-22;
  return {value, error};
}

/// *unscaled is the value before the multiplication by d_factor.
inline Near ScaledOperands::wanted(int64_t z, int64_t i, int64_t j, Near* unscaled) {
  const GemmEpilogue& e = c.desc.epilogue;
  const int64_t first = e.gate == Gate::interleaved ? 2 * j : j;
  const int64_t second = e.gate == Gate::interleaved ? 2 * j + 1 : j + c.desc.n / 2;
  Near out = activated(e.activation, before(z, i, first));
  if (e.gate != Gate::none) out = product(out, before(z, i, second));
  *unscaled = out;
  if (e.d_factor == Per::none) return out;
  const double factor = e.d_factor == Per::row      ? d_factor.value(0, i)
                        : e.d_factor == Per::column ? d_factor.value(0, j)
                        : c.d_factor_value != 1.0f  ? double(c.d_factor_value)
                                                    : d_factor.value(0, 0);
  return product(out, {factor, 0});
}

/// `divisor` is the scale of D's block.
inline bool ScaledOperands::is_right(double got, const Near& near, double divisor) const {
  const DType type = c.desc.d_dtype;
  const double most = type == DType::F8E4M3   ? 448
                      : type == DType::F8E5M2 ? 57344
                      : type == DType::I8     ? 127
                      : type == DType::F16    ? 65504
                                              : INFINITY;
  const double least = type == DType::I8 ? -128 : -most;
  if (std::isnan(near.value) || !std::isfinite(near.error)) {
    // Infinity times a sum that may be zero: a NaN and an infinity are both right.
    if (type == DType::I8) return true;
    return std::isnan(near.value) && !std::isinf(near.error) ? std::isnan(got)
           : std::isnan(near.value)
               ? std::isnan(got)
               : std::isnan(got) || !std::isfinite(got) || std::fabs(got) == most;
  }
  if (type == DType::F16 && std::isinf(got))
    return std::signbit(got) == std::signbit(near.value) &&
           std::fabs(near.value) + near.error >= 65504;
  const double value = std::clamp(near.value / divisor, least, most);
  const double error = near.error / divisor;
  const double bound =
      error + (std::fabs(value) + error) * (half_unit(type) + 0x1p-22) + least_half_unit(type);
  return std::fabs(got - value) <= bound;
}

/// Compares the result with the expected one.
inline void ScaledOperands::check_result() {
  d.all.memory.read();
  words.memory.read();
  if (c.desc.d_quantize.any()) d_scales.all.memory.read();
  CHECK(d.all.memory.guards_intact());
  CHECK(d.all.padding_intact());
  CHECK(d_scales.all.memory.guards_intact());
  CHECK(d_scales.all.padding_intact());
  const bool blocks = c.desc.d_quantize.any(), f8 = is_f8(c.desc.d_dtype);
  const double most = c.desc.d_dtype == DType::F8E4M3 ? 448 : 57344;
  largest_got_ = largest_wanted_ = largest_error_ = 0;
  int64_t wrong = 0, touched = 0;
  const auto check = [&](bool right, const char* what, int64_t z, int64_t i, int64_t j, double got,
                         const Near& near) {
    if (right || wrong++ != 0) return;
    INFO("first wrong " << what << " " << z << ", " << i << ", " << j << ": " << got << ", wanted "
                        << near.value << " within " << near.error);
    CHECK(right);
  };
  const auto see = [&](const Near& near) {
    if (std::fabs(near.value) + near.error > largest_wanted_ + largest_error_)
      largest_error_ =
          std::fabs(near.value) + near.error - std::max(largest_wanted_, std::fabs(near.value));
    largest_wanted_ = std::max(largest_wanted_, std::fabs(near.value));
    largest_error_ = std::max(largest_error_, near.error);
  };
  for (int64_t z = 0; z < c.desc.batch; ++z)
    for (int64_t i = 0; i < c.desc.m; ++i)
      for (int64_t j0 = 0; j0 < d_columns(); j0 += 128) {
        const int64_t end = std::min(j0 + 128, d_columns());
        if (i >= m) {
          for (int64_t j = j0; j < end; ++j)
            for (int32_t byte = 0; byte < dtype_bytes(c.desc.d_dtype); ++byte)
              touched += d.at(z, i, j)[byte] != Guarded::kPoison;
          continue;
        }
        Near near[128], largest{0, 0};
        for (int64_t j = j0; j < end; ++j) {
          Near unscaled;
          Near& one = near[j - j0] = wanted(z, i, j, &unscaled);
          if (f8) see(unscaled);
          largest.value = std::max(largest.value, std::fabs(one.value));
          largest.error = std::max(largest.error, one.error);
        }
        double divisor = 1;
        if (blocks) {
          divisor = d_scales.value(z, i, j0 / 128);
          const Near scale_wanted{largest.value == 0 ? 1 : largest.value / most,
                                  largest.error / most + largest.value / most * 0x1p-22};
          check(std::fabs(divisor - scale_wanted.value) <= scale_wanted.error, "scale of D", z, i,
                j0 / 128, divisor, scale_wanted);
        }
        for (int64_t j = j0; j < end; ++j) {
          const double got = d.value(z, i, j);
          largest_got_ = std::max(largest_got_, std::fabs(got));
          check(is_right(got, near[j - j0], divisor), "element", z, i, j, got, near[j - j0]);
        }
      }
  CHECK(wrong == 0);
  CHECK(touched == 0);
  if (!c.desc.epilogue.amax || c.specials) return;
  const double amax = words.value(0, 4);
  if (f8)
    CHECK(std::fabs(amax - largest_wanted_) <= largest_error_ + largest_wanted_ * 0x1p-22);
  else
    CHECK(amax == largest_got_);
}

}  // namespace tw::test
