// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cases of grouped GEMM: a description with its operands, and a float64 reference of D and of the
// count of invalid numbers, which shares no code with the library.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <tuple>

#include "base/float_formats.hpp"
#include "ops/grouped/grouped.hpp"
#include "tests/device/common/arena.hpp"

namespace tw::test {

inline float rounded_to(DType type, double value) {
  const auto single = static_cast<float>(value);
  if (type == DType::BF16) return bf16_to_float(float_to_bf16(single));
  if (type == DType::F16) return f16_to_float(float_to_f16(single));
  return single;
}

/// Relative rounding error of a type.
inline double rounding_of(DType type) {
  return type == DType::BF16 ? 0x1p-9 : type == DType::F16 ? 0x1p-12 : 0x1p-25;
}

struct GroupedCase {
  GroupedDesc desc;
  int64_t m = -1;  // the run's m; -1: desc.m
  float alpha = 1, beta = 0;
  bool mapped = false, group_scaled = false, weighted = false, counts = true;
  // What tensor cores may lose of a sum over k, relative to the sum of magnitudes.
  double loss = 0;
  bool behind = false;  // runs as a dependent launch behind a kernel that writes all of its memory
  uint64_t a_shift = 0, b_shift = 0, d_shift = 0;  // in elements, past an aligned address
  std::vector<int64_t> groups, a_rows, d_rows;
  std::vector<int32_t> map, inverse;
  std::vector<float> a, b, bias, group_alpha, row_weights;  // matrices without gaps
  // A scale for each row of A, or each column of each weight matrix, and each block of k; fewer if
  // rows, columns or blocks share them.
  std::vector<float> a_scale, b_scale;
  std::vector<float> d;  // before the run, without gaps

  bool ranges() const { return desc.grouping == Grouping::k_ranges; }
  bool gathers() const { return desc.has(kGroupedDescGather); }
  bool scatters() const { return desc.has(kGroupedDescScatter); }
  int64_t rows() const { return m < 0 ? desc.m : m; }
  int64_t weights() const { return desc.weight_count ? desc.weight_count : desc.groups; }
  int64_t d_divisor() const { return std::max<int64_t>(desc.d_divisor, 1); }
  int64_t a_divisor() const { return std::max<int64_t>(desc.a_divisor, 1); }
  int64_t columns() const { return desc.gate == Gate::none ? desc.n : desc.n / 2; }
  int64_t a_lines() const { return ranges() ? desc.k : gathers() ? desc.a_count : desc.m; }
  int64_t a_columns() const { return ranges() ? desc.m : desc.k; }
  int64_t b_matrices() const { return ranges() ? 1 : weights(); }
  int64_t d_lines() const { return scatters() ? desc.d_count : desc.m; }
  int64_t d_matrices() const { return ranges() ? desc.groups : 1; }
  int64_t pairs() const { return desc.d_count * d_divisor(); }
  DType d_type() const { return desc.d_dtype == DType{} ? desc.a_dtype : desc.d_dtype; }
  float a_at(int64_t line, int64_t at) const {
    return a[static_cast<size_t>(line * a_columns() + at)];
  }
  float b_at(int64_t w, int64_t k, int64_t n) const {
    return b[static_cast<size_t>((w * desc.k + k) * desc.n + n)];
  }
  /// Number of blocks of k, and of lines in a matrix of scales.
  int64_t blocks() const { return blocks_of(desc.a_scaling.kind, desc.k); }
  int64_t a_scale_lines() const {
    return lines_of(desc.a_scaling.kind, ranges() ? desc.m : a_lines());
  }
  int64_t b_scale_lines() const { return lines_of(desc.b_scaling.kind, desc.n); }
  static int64_t blocks_of(ScaleKind kind, int64_t k) {
    return kind == ScaleKind::row128 || kind == ScaleKind::block128 ? (k + 127) / 128 : 1;
  }
  static int64_t lines_of(ScaleKind kind, int64_t lines) {
    if (kind == ScaleKind::none) return 0;
    return kind == ScaleKind::tensor     ? 1
           : kind == ScaleKind::block128 ? (lines + 127) / 128
                                         : lines;
  }
  /// The f32 product of the scales of row `line` of A (-1: zeros) and of a column of matrix `w`.
  double scale_of(int64_t line, int64_t w, int64_t column, int64_t k) const {
    const ScaleKind a_by = desc.a_scaling.kind, b_by = desc.b_scaling.kind;
    if (a_by == ScaleKind::none) return 1;
    const int64_t block = a_by == ScaleKind::row128 ? k / 128 : 0;
    const int64_t a_line = a_by == ScaleKind::tensor ? 0 : line;
    const int64_t b_line = b_by == ScaleKind::tensor     ? 0
                           : b_by == ScaleKind::block128 ? column / 128
                                                         : column;
    const volatile float product =
        (line < 0 ? 1.0f : a_scale[static_cast<size_t>(a_line * blocks() + block)]) *
        b_scale[static_cast<size_t>((w * b_scale_lines() + b_line) * blocks() + block)];
    return double{product};
  }
};

inline std::string describe(const GroupedCase& c) {
  const GroupedDesc& d = c.desc;
  char text[700];
  std::snprintf(
      text, sizeof text,
      "%s to %s, m %d (%d), n %d, k %d, groups %d, weights %d, grouping %d, combine %d, "
      "order %d, activation %d, gate %d (%g, %g, %g), flags %u, index types %s %s, counts "
      "%d/%d %d/%d, pitches %d %d %d, alpha %g, map %d, group alpha %d, row weights %d, "
      "bias %s, shifts %d %d %d, B %s, scales %d %d (orders %d %d, ld %d %d, strides %d %d)",
      dtype_name(d.a_dtype), dtype_name(c.d_type()), int(d.m), int(c.m), int(d.n), int(d.k),
      int(d.groups), int(d.weight_count), int(d.grouping), int(d.combine), int(d.b_order),
      int(d.activation), int(d.gate), double(d.gate_limit), double(d.gate_offset),
      double(d.gate_slope), d.flags, dtype_name(d.index_dtype), dtype_name(d.row_index_dtype),
      int(d.a_count), int(d.a_divisor), int(d.d_count), int(d.d_divisor), int(d.lda), int(d.ldb),
      int(d.ldd), double(c.alpha), int(c.mapped), int(c.group_scaled), int(c.weighted),
      d.bias_dtype == DType{} ? "none" : dtype_name(d.bias_dtype), int(c.a_shift), int(c.b_shift),
      int(c.d_shift), dtype_name(d.b_type()), int(d.a_scaling.kind), int(d.b_scaling.kind),
      int(d.a_scaling.order), int(d.b_scaling.order), int(d.a_scaling.leading),
      int(d.b_scaling.leading), int(d.a_scale_stride), int(d.b_scale_stride));
  return text;
}

// ---- The reference ----

struct GroupedSpan {
  int64_t begin = 0, end = 0;
  bool fault = false;
};

/// The rows of group g with Grouping::by_row. It is a fault if they are not contiguous.
inline GroupedSpan span_by_row(const GroupedCase& c, int64_t g) {
  GroupedSpan span;
  int runs = 0;
  for (int64_t r = 0; r < c.rows(); ++r) {
    if (c.groups[size_t(r)] != g) continue;
    if (r == 0 || c.groups[size_t(r - 1)] != g) ++runs, span.begin = r;
    span.end = r + 1;
  }
  if (runs > 1) return {0, 0, true};
  return span;
}

inline GroupedSpan span_of(const GroupedCase& c, int64_t g) {
  const auto number = [&](int64_t i) { return i < 0 ? 0 : c.groups[static_cast<size_t>(i)]; };
  const int64_t most = c.ranges() ? c.desc.k : c.rows();
  GroupedSpan span;
  switch (c.desc.grouping) {
    case Grouping::one:
      return {0, most, false};
    case Grouping::by_row:
      return span_by_row(c, g);
    case Grouping::masked: {
      const int64_t room = c.desc.group_rows ? c.desc.group_rows : c.desc.m / c.desc.groups;
      if (number(g) < 0 || number(g) > room) return {0, 0, true};
      span = {g * room, g * room + number(g), false};
      break;
    }
    case Grouping::offsets:
      span = {number(g), number(g + 1), false};
      break;
    default: {
      span = {number(g - 1), number(g), false};
      const int64_t by = std::max<int64_t>(c.desc.row_alignment, 1);
      if (span.begin >= 0 && span.begin <= most && span.begin != span.end)
        span.begin = (span.begin + by - 1) / by * by;
    }
  }
  if (span.begin < 0 || span.end < span.begin || span.end > most) return {0, 0, true};
  return span;
}

/// The weight matrix of a group; -1: the group is skipped, -2: invalid.
inline int64_t weight_of(const GroupedCase& c, int64_t g) {
  if (!c.mapped) return g;
  const int64_t weight = c.map[size_t(g)];
  return weight < -1 || weight >= c.weights() ? -2 : weight;
}

/// A number and the error bound of a result. If it is a sum: its terms' magnitudes and their
/// number.
struct Bounded {
  double value = 0, error = 0;
  double size = 0, terms = 0;
};

inline Bounded activated(Activation which, Bounded x) {
  const double v = x.value;
  double out = v;
  if (which == Activation::relu) out = std::isnan(v) ? v : std::max(v, 0.0);
  if (which == Activation::gelu) out = v / 2 * std::erfc(-v / std::sqrt(2.0));
  if (which == Activation::gelu_tanh)
    out = v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  if (which == Activation::silu) out = v / (1 + std::exp(-v));
  const bool exact = which == Activation::identity || which == Activation::relu;
  return {out, 1.2 * x.error + (exact ? 0 : 0x1p-19 * (1 + std::abs(v)) * std::abs(out) + 1e-30)};
}

/// The sources of a row of the result.
struct GroupedSource {
  int64_t weight, a_row;  // a_row -1: zeros
  double scale;
};

/// An element of alpha * A B + bias.
inline Bounded before_of(const GroupedCase& c, const GroupedSource& from, int64_t column) {
  double sum = 0, size = 0, block = 0, block_size = 0;
  const int64_t depth = c.desc.a_scaling.kind == ScaleKind::row128 ? 128 : c.desc.k;
  for (int64_t k = 0; k < c.desc.k; ++k) {
    const double of_a = from.a_row < 0 ? 0.0 : double{c.a_at(from.a_row, k)};
    const double product = of_a * double{c.b_at(from.weight, k, column)};
    block += product, block_size += std::abs(product);
    if ((k + 1) % depth != 0 && k + 1 < c.desc.k) continue;
    const double scale = c.scale_of(from.a_row, from.weight, column, k);
    sum += scale * block, size += std::abs(scale) * block_size;
    block = block_size = 0;
  }
  double bias = 0;
  if (c.desc.bias_dtype != DType{})
    bias = double{c.bias[static_cast<size_t>(from.weight * c.desc.n + column)]};
  const double value = from.scale * sum + bias;
  const double additions = static_cast<double>(1 + c.desc.k / 128);  // number of f32 additions
  return {value, 0x1p-22 * additions * (std::abs(from.scale) * size + std::abs(value)) +
                     c.loss * std::abs(from.scale) * size};
}

inline Bounded gated(const GroupedCase& c, Bounded gate, Bounded linear) {
  const double limit = c.desc.gate_limit > 0 ? double{c.desc.gate_limit} : INFINITY;
  const double slope = double{c.desc.gate_slope};
  gate.value = std::min(gate.value, limit);
  linear.value = std::clamp(linear.value, -limit, limit) + double{c.desc.gate_offset};
  Bounded act = activated(c.desc.activation, gate);
  if (c.desc.activation == Activation::silu) {
    act.value = gate.value / (1 + std::exp(-slope * gate.value));
    act.error = (1.2 + std::abs(slope)) * gate.error +
                0x1p-18 * (1 + std::abs(slope * gate.value)) * std::abs(act.value) + 1e-30;
  }
  return {act.value * linear.value,
          act.error * (std::abs(linear.value) + linear.error) +
              std::abs(act.value) * (linear.error + 0x1p-22 * std::abs(linear.value))};
}

/// The row of an operand that an index refers to, or -1.
inline int64_t named_row(int64_t index, int64_t divisor, int64_t count) {
  return index < 0 || index / divisor >= count ? -1 : index / divisor;
}

/// The expected result: D without gaps, which elements are written, and the count of faults.
struct GroupedResult {
  std::vector<Bounded> d;
  std::vector<char> written;
  uint64_t faults = 0;
};

/// The columns of row `r` of the run, before they are stored or added.
inline std::vector<Bounded> row_of(const GroupedCase& c, int64_t g, int64_t r) {
  GroupedSource from{weight_of(c, g), r, double{c.alpha}};
  if (c.group_scaled) from.scale *= double{c.group_alpha[size_t(from.weight)]};
  if (c.gathers()) from.a_row = named_row(c.a_rows[size_t(r)], c.a_divisor(), c.desc.a_count);
  double weight = 1;
  if (c.weighted && !c.desc.has(kGroupedDescRowWeightByIndex))
    weight = double{c.row_weights[size_t(r)]};
  if (c.weighted && c.desc.has(kGroupedDescRowWeightByIndex) &&
      named_row(c.d_rows[size_t(r)], c.d_divisor(), c.desc.d_count) >= 0)
    weight = double{c.row_weights[size_t(c.d_rows[size_t(r)])]};
  std::vector<Bounded> columns;
  for (int64_t j = 0; j < c.columns(); ++j) {
    const bool halves = c.desc.gate == Gate::halves;
    const int64_t first = c.desc.gate == Gate::interleaved ? 2 * j : j;
    Bounded value = before_of(c, from, first);
    if (c.desc.gate == Gate::none)
      value = activated(c.desc.activation, value);
    else
      value = gated(c, value, before_of(c, from, halves ? j + c.desc.n / 2 : first + 1));
    value.value *= weight;
    value.error = value.error * std::abs(weight) + 0x1p-23 * std::abs(value.value);
    columns.push_back(value);
  }
  return columns;
}

inline void put_row(const GroupedCase& c, const std::vector<Bounded>& row, int64_t to,
                    GroupedResult* out) {
  const double rounding = rounding_of(c.d_type());
  const double least = c.d_type() == DType::F16 ? 0x1p-25 : 0;  // for subnormal numbers
  for (int64_t j = 0; j < c.columns(); ++j) {
    const auto at = static_cast<size_t>(to * c.columns() + j);
    const double size = std::abs(row[size_t(j)].value) + row[size_t(j)].error;
    Bounded& d = out->d[at];
    out->written[at] = 1;
    const double error = row[size_t(j)].error + rounding * size + least;
    if (c.desc.combine == Combine::store) {
      d = {row[size_t(j)].value, error};
      continue;
    }
    // Each addition may round a partial sum. In any order that is at most d.size, all magnitudes
    // and what D had before; the increments add up to d.terms * d.size. In this order it is
    // d.value.
    if (d.terms == 0) d.size = std::abs(d.value);
    d.value += row[size_t(j)].value;
    d.size += size;
    const double partial =
        c.desc.combine == Combine::add_atomic ? d.size + d.terms * size : std::abs(d.value) + size;
    d.terms += 1;
    d.error += error + 2 * rounding * partial + 2 * least;
  }
}

/// Adds the rows that the inverse lists for each row of D.
inline void put_inverse(const GroupedCase& c, const std::vector<int64_t>& group_of,
                        GroupedResult* out) {
  for (int64_t p = 0; p < c.pairs(); ++p) {
    const int64_t r = c.inverse[size_t(p)];
    if (r < 0 || r >= c.rows() || group_of[size_t(r)] < 0) continue;
    put_row(c, row_of(c, group_of[size_t(r)], r), p / c.d_divisor(), out);
  }
}

inline void start_d(const GroupedCase& c, GroupedResult* out) {
  const bool ordered = c.desc.combine == Combine::sum;
  const bool zeroed = ordered || c.desc.has(kGroupedDescZeroOthers);
  out->d.assign(c.d.size(), {});
  out->written.assign(c.d.size(), 0);
  const int64_t lines = c.scatters() ? c.desc.d_count : c.rows();
  for (size_t i = 0; i < c.d.size(); ++i) {
    const bool inside = static_cast<int64_t>(i) < lines * c.columns();
    out->written[i] = zeroed && inside ? 1 : 0;
    out->d[i].value = zeroed && inside ? 0 : double{c.d[i]};
  }
}

inline uint64_t index_faults(const GroupedCase& c, int64_t r) {
  const auto wrong = [](int64_t index, int64_t divisor, int64_t count) -> uint64_t {
    return index != -1 && named_row(index, divisor, count) < 0 ? 1 : 0;
  };
  uint64_t faults = 0;
  if (c.gathers()) faults += wrong(c.a_rows[size_t(r)], c.a_divisor(), c.desc.a_count);
  if (c.scatters()) faults += wrong(c.d_rows[size_t(r)], c.d_divisor(), c.desc.d_count);
  return faults;
}

/// The reference for all groupings except ranges of k.
inline GroupedResult grouped_reference(const GroupedCase& c) {
  GroupedResult out;
  start_d(c, &out);
  std::vector<int64_t> group_of(static_cast<size_t>(c.rows()), -1);
  for (int64_t g = 0; g < c.desc.groups; ++g) {
    const GroupedSpan span = span_of(c, g);
    out.faults += (span.fault ? 1 : 0) + (weight_of(c, g) == -2 ? 1 : 0);
    if (weight_of(c, g) < 0) continue;
    for (int64_t r = span.begin; r < span.end; ++r) group_of[size_t(r)] = g;
  }
  if (c.desc.grouping == Grouping::by_row)
    for (int64_t r = 0; r < c.rows(); ++r)
      out.faults += c.groups[size_t(r)] < -1 || c.groups[size_t(r)] >= c.desc.groups ? 1 : 0;
  for (int64_t r = 0; r < c.rows(); ++r) {
    if (group_of[size_t(r)] < 0) continue;
    out.faults += index_faults(c, r);
    int64_t to = r;
    if (c.scatters()) to = named_row(c.d_rows[size_t(r)], c.d_divisor(), c.desc.d_count);
    if (to >= 0 && !c.desc.has(kGroupedDescInverse))
      put_row(c, row_of(c, group_of[size_t(r)], r), to, &out);
  }
  if (c.desc.has(kGroupedDescInverse)) put_inverse(c, group_of, &out);
  return out;
}

/// The reference for ranges of k.
inline GroupedResult ranges_reference(const GroupedCase& c) {
  GroupedResult out;
  out.d.resize(c.d.size());
  out.written.assign(c.d.size(), 1);
  const int64_t m = c.desc.m, n = c.desc.n;
  for (int64_t g = 0; g < c.desc.groups; ++g) {
    const GroupedSpan span = span_of(c, g);
    out.faults += span.fault ? 1 : 0;
    for (int64_t i = 0; i < m * n; ++i) {
      const auto at = static_cast<size_t>(g * m * n + i);
      double sum = 0, size = 0;
      for (int64_t k = span.begin; k < span.end; ++k) {
        const double product =
            double{c.a_at(k, i / n)} * double{c.b_at(0, k, i % n)} * c.scale_of(i / n, 0, i % n, 0);
        sum += product, size += std::abs(product);
      }
      const double before = c.beta == 0.0f ? 0 : double{c.d[at]};
      out.d[at].value = double{c.alpha} * sum + before;
      out.d[at].error = 0x1p-22 * static_cast<double>(1 + c.desc.k / 128) *
                            (std::abs(double{c.alpha}) * size + std::abs(before)) +
                        1e-38;
    }
  }
  return out;
}

}  // namespace tw::test
