// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices that a test quantizes itself, and DeepGEMM's measure of the error of a product of them.

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/device/gemm/gemm_matrix.hpp"

namespace tw::test {

/// Lines of numbers along k, and the same numbers in an 8-bit type, with a scale for each block of
/// `lines_per_scale` lines and 128 of k.
struct Quantized {
  int64_t lines, k, lines_per_scale;
  std::vector<float> wide, narrow, scales;

  int64_t blocks() const { return (k + 127) / 128; }
  int64_t scale_lines() const { return (lines + lines_per_scale - 1) / lines_per_scale; }
  float& scale(int64_t line, int64_t at) {
    return scales[static_cast<size_t>(line / lines_per_scale * blocks() + at / 128)];
  }
  double value(int64_t line, int64_t at) {
    return double{narrow[static_cast<size_t>(line * k + at)]} * double{scale(line, at)};
  }
};

inline double largest_of(DType type) {
  return type == DType::F8E4M3 ? 448 : 57344;
}

/// The nearest number of a type.
inline float nearest(DType type, double value) {
  uint8_t bytes[4];
  encode_element(bytes, type, static_cast<float>(value));
  return decode_element(bytes, type);
}

inline Quantized draw_quantized(std::mt19937_64& random, DType type, int64_t lines, int64_t k,
                                int64_t lines_per_scale) {
  Quantized q{lines, k, lines_per_scale, {}, {}, {}};
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < lines * k; ++i) q.wide.push_back(nearest(DType::BF16, normal(random)));
  q.scales.assign(static_cast<size_t>(q.scale_lines() * q.blocks()), 0x1p-20f);
  const auto each = [&](auto visit) {
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t at = 0; at < k; ++at)
        visit(q.wide[static_cast<size_t>(line * k + at)], q.scale(line, at));
  };
  each([](float value, float& most) { most = std::max(most, std::fabs(value)); });
  for (float& scale : q.scales) scale /= static_cast<float>(largest_of(type));
  each([&](float value, float scale) { q.narrow.push_back(nearest(type, double{value / scale})); });
  return q;
}

/// 1 - 2 sum(x y) / sum(x x + y y): 0 for equal numbers.
inline double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double products = 0, squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    products += x[i] * y[i];
    squares += x[i] * x[i] + y[i] * y[i];
  }
  return 1 - 2 * products / squares;
}

/// Elements of the product of rows of A and columns of B: with the wide numbers, and with the
/// quantized ones.
struct TwoProducts {
  std::vector<double> wide, narrow;
  void add(Quantized& a, int64_t row, Quantized& b, int64_t column) {
    double exact = 0, rounded = 0;
    for (int64_t k0 = 0; k0 < a.k; k0 += 128) {
      double block = 0;
      for (int64_t k = k0; k < std::min(k0 + 128, a.k); ++k) {
        const auto i = static_cast<size_t>(row * a.k + k),
                   j = static_cast<size_t>(column * b.k + k);
        exact += double{a.wide[i]} * double{b.wide[j]};
        block += double{a.narrow[i]} * double{b.narrow[j]};
      }
      rounded += block * double{a.scale(row, k0)} * double{b.scale(column, k0)};
    }
    wide.push_back(exact);
    narrow.push_back(rounded);
  }
};

/// Rounds rows of numbers to an 8-bit type, with a scale for each 128 of a row if `scaled` holds.
inline std::vector<double> rounded_rows(const std::vector<double>& values, int64_t columns,
                                        DType type, bool scaled) {
  std::vector<double> out(values.size());
  for (size_t row = 0; row < values.size(); row += static_cast<size_t>(columns))
    for (int64_t j0 = 0; j0 < columns; j0 += 128) {
      const auto first = row + static_cast<size_t>(j0);
      const auto last = row + static_cast<size_t>(std::min(j0 + 128, columns));
      double most = 0;
      for (size_t i = first; i < last; ++i) most = std::max(most, std::fabs(values[i]));
      const double scale = scaled ? most / largest_of(type) : 1;
      for (size_t i = first; i < last; ++i)
        out[i] = double{nearest(type, values[i] / scale)} * scale;
    }
  return out;
}

}  // namespace tw::test
