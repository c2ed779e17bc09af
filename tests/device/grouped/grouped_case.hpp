// SPDX-License-Identifier: Apache-2.0
#pragma once
// A grouped GEMM with its operands, and a float64 reference. The reference shares no code with the
// library; it even derives the rows of each group itself.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "base/float_formats.hpp"
#include "ops/grouped/grouped.hpp"

namespace tw::test {

struct GroupedCase {
  GroupedDesc desc;
  GroupedRun run;  // only its sizes and scalars
  bool mapped = false, scaled = false, weighted = false, counts_faults = true;
  std::vector<float> a, b, bias, group_alpha, row_weights, d;  // packed; d: before the run
  std::vector<int64_t> numbers, a_rows, d_rows;
  std::vector<int32_t> map, inverse;

  GroupedProblem problem() const {
    GroupedProblem p;
    const Status status = grouped_problem(desc, &p);
    INFO(last_failure().message);
    REQUIRE(status.ok());
    return p;
  }
  int64_t m() const { return run.m < 0 ? desc.m : run.m; }
  int64_t k() const { return run.k < 0 ? desc.k : run.k; }
  int64_t a_count() const { return run.a_count < 0 ? desc.a_count : run.a_count; }
  int64_t d_count() const { return run.d_count < 0 ? desc.d_count : run.d_count; }
  int64_t weights() const { return desc.weight_count ? desc.weight_count : desc.groups; }
  int64_t a_divisor() const { return std::max<int64_t>(desc.a_divisor, 1); }
  int64_t d_divisor() const { return std::max<int64_t>(desc.d_divisor, 1); }
  int64_t columns() const { return desc.gate == Gate::none ? desc.n : desc.n / 2; }
  DType out() const {
    if (desc.d_dtype != DType{}) return desc.d_dtype;
    return desc.grouping == Grouping::k_ranges ? DType::F32 : desc.a_dtype;
  }
  bool has(uint32_t flag) const { return desc.has(flag); }
};

inline std::string describe(const GroupedCase& c) {
  char text[400];
  const GroupedDesc& d = c.desc;
  std::snprintf(
      text, sizeof text,
      "%s to %s, grouping %d, combine %d, m %d (%d), n %d, k %d, groups %d, weights %d, "
      "flags %u, gate %d, activation %d, counts %d %d, divisors %d %d, b_order %d, map %d, "
      "i64 %d %d",
      dtype_name(d.a_dtype), dtype_name(c.out()), int(d.grouping), int(d.combine), int(d.m),
      int(c.m()), int(d.n), int(d.k), int(d.groups), int(c.weights()), d.flags, int(d.gate),
      int(d.activation), int(c.a_count()), int(c.d_count()), int(d.a_divisor), int(d.d_divisor),
      int(d.b_order), int(c.mapped), int(d.index_dtype == DType::I64),
      int(d.row_index_dtype == DType::I64));
  return text;
}

inline float rounded(DType dtype, float value) {
  if (dtype == DType::BF16) return bf16_to_float(float_to_bf16(value));
  if (dtype == DType::F16) return f16_to_float(float_to_f16(value));
  return value;
}

struct GroupSpan {
  int64_t begin = 0, end = 0;
  bool fault = false;
};

/// The span of each group among `most` rows, or elements of k.
inline std::vector<GroupSpan> spans_of(const GroupedCase& c, int64_t most) {
  const std::vector<int64_t>& n = c.numbers;
  std::vector<GroupSpan> spans(static_cast<size_t>(c.desc.groups));
  for (size_t g = 0; g < spans.size(); ++g) {
    GroupSpan& s = spans[g];
    const bool lists_ends = c.desc.grouping == Grouping::ends ||
                            c.desc.grouping == Grouping::psum ||
                            c.desc.grouping == Grouping::k_ranges;
    const int64_t before = g == 0 || !lists_ends ? 0 : n[g - 1];
    const int64_t step = std::max<int64_t>(c.desc.row_alignment, 1);
    if (c.desc.grouping == Grouping::one) {
      s.end = most;
    } else if (c.desc.grouping == Grouping::offsets) {
      s.begin = n[g], s.end = n[g + 1];
    } else if (c.desc.grouping == Grouping::masked) {
      s.begin = int64_t(g) * c.desc.group_rows;
      s.fault = n[g] > c.desc.group_rows || n[g] < 0;
      s.end = s.fault ? s.begin : s.begin + n[g];
    } else if (c.desc.grouping == Grouping::by_row) {
      const auto is = [&](int64_t number) { return number == int64_t(g); };
      const auto first = std::find_if(n.begin(), n.end(), is);
      const auto last = std::find_if_not(first, n.end(), is);
      s.begin = first - n.begin(), s.end = last - n.begin();
      s.fault = std::any_of(last, n.end(), is);
    } else {
      s.begin = before, s.end = n[g];
      const bool aligns = c.desc.grouping == Grouping::psum && before >= 0 && before <= most;
      if (aligns && s.end != before) s.begin = (before + step - 1) / step * step;
    }
    s.fault = s.fault || s.begin < 0 || s.end < s.begin || s.end > most;
    if (s.fault) s.begin = s.end = 0;
  }
  return spans;
}

/// A group's weight matrix, or -1 for none. *fault: the map has an invalid number.
inline int64_t weight_of(const GroupedCase& c, size_t g, bool* fault) {
  const int64_t w = c.mapped ? c.map[g] : static_cast<int64_t>(g);
  *fault = w < -1 || w >= c.weights();
  return *fault ? -1 : w;
}

/// The row that an index refers to, or -1.
inline int64_t led_to(int64_t index, int64_t divisor, int64_t count) {
  return index >= 0 && index / divisor < count ? index / divisor : -1;
}

/// A row of the result with its weight matrix, its row of A and its row of D.
struct ResultRow {
  int64_t row, weight, from, to;  // from = -1: a row of zeros
};

inline std::vector<ResultRow> rows_of(const GroupedCase& c, uint64_t* faults) {
  std::vector<ResultRow> rows;
  const std::vector<GroupSpan> spans = spans_of(c, c.m());
  for (size_t g = 0; g < spans.size(); ++g) {
    bool wrong_map = false;
    const int64_t weight = weight_of(c, g, &wrong_map);
    *faults += (spans[g].fault ? 1 : 0) + (wrong_map ? 1 : 0);
    for (int64_t r = spans[g].begin; weight >= 0 && r < spans[g].end; ++r) {
      ResultRow row{r, weight, r, r};
      if (c.has(kGroupedDescGather)) {
        row.from = led_to(c.a_rows[size_t(r)], c.a_divisor(), c.a_count());
        *faults += row.from < 0 && c.a_rows[size_t(r)] != -1 ? 1 : 0;
      }
      if (c.has(kGroupedDescScatter)) {
        row.to = led_to(c.d_rows[size_t(r)], c.d_divisor(), c.d_count());
        *faults += row.to < 0 && c.d_rows[size_t(r)] != -1 ? 1 : 0;
      }
      rows.push_back(row);
    }
  }
  if (c.desc.grouping == Grouping::by_row)
    for (const int64_t number : c.numbers) *faults += number < -1 || number >= c.desc.groups;
  std::sort(rows.begin(), rows.end(),
            [](const ResultRow& a, const ResultRow& b) { return a.row < b.row; });
  return rows;
}

/// A number and the error bound of a result.
struct Bounded {
  double value = 0, slack = 0;
};

inline double unit_of(DType type) {
  return type == DType::BF16 ? 0x1p-8 : type == DType::F16 ? 0x1p-10 : 0x1p-22;
}

inline Bounded stored(DType type, Bounded v) {
  return {v.value, v.slack + unit_of(type) * (std::abs(v.value) + v.slack) + 0x1p-24};
}

inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

inline Bounded activated(Activation which, Bounded x, double slope = 1) {
  const double v = x.value;
  double y = v;
  if (which == Activation::relu) y = std::max(v, 0.0);
  if (which == Activation::gelu) y = v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
  if (which == Activation::gelu_tanh)
    y = v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  if (which == Activation::silu) y = v * sigmoid(slope * v);
  return {y, 1.2 * x.slack + 1e-5 * std::abs(y) * (1 + std::abs(v)) + 1e-7};
}

/// An element of alpha * A B + bias.
inline Bounded before_activation_of(const GroupedCase& c, const ResultRow& row, int64_t column) {
  double sum = 0, size = 0;
  const int64_t n = c.desc.n, k = c.desc.k;
  for (int64_t i = 0; i < k && row.from >= 0; ++i) {
    const double product = double(c.a[size_t(row.from * k + i)]) *
                           double(c.b[size_t((row.weight * k + i) * n + column)]);
    sum += product, size += std::abs(product);
  }
  double scale = double(c.run.alpha);
  if (c.scaled) scale *= double(c.group_alpha[size_t(row.weight)]);
  const double bias =
      c.desc.bias_dtype == DType{} ? 0.0 : double(c.bias[size_t(row.weight * n + column)]);
  return {scale * sum + bias, 1e-5 * (std::abs(scale) * size + std::abs(bias)) + 1e-7};
}

inline Bounded value_of(const GroupedCase& c, const ResultRow& row, int64_t column) {
  const GroupedDesc& d = c.desc;
  Bounded out;
  if (d.gate == Gate::none) {
    out = activated(d.activation, before_activation_of(c, row, column));
  } else {
    const bool halves = d.gate == Gate::halves;
    Bounded p = before_activation_of(c, row, halves ? column : 2 * column);
    Bounded q = before_activation_of(c, row, halves ? column + d.n / 2 : 2 * column + 1);
    const double limit = d.gate_limit > 0 ? double(d.gate_limit) : 1e300;
    p.value = std::min(p.value, limit);
    q.value = std::clamp(q.value, -limit, limit) + double(d.gate_offset);
    p = activated(d.activation, p, double(d.gate_slope));
    out.value = p.value * q.value;
    out.slack = p.slack * (std::abs(q.value) + q.slack) + std::abs(p.value) * q.slack +
                1e-6 * std::abs(out.value);
  }
  if (!c.weighted) return out;
  const double weight = double(c.row_weights[size_t(
      c.has(kGroupedDescRowWeightByIndex) ? c.d_rows[size_t(row.row)] : row.row)]);
  return {out.value * weight, (out.slack + 1e-6 * std::abs(out.value)) * std::abs(weight)};
}

/// The expected state of an element of D.
struct Cell {
  Bounded wanted;
  bool written = false;
};

/// The rows in the order in which the inverse adds them to rows of D.
inline std::vector<ResultRow> by_inverse(const GroupedCase& c, const std::vector<ResultRow>& rows) {
  std::vector<ResultRow> out;
  for (int64_t pair = 0; pair < c.d_count() * c.d_divisor(); ++pair)
    for (const ResultRow& row : rows)
      if (row.row == c.inverse[size_t(pair)]) {
        out.push_back(row);
        out.back().to = pair / c.d_divisor();
      }
  return out;
}

inline void add_to(const GroupedCase& c, Bounded value, Cell* cell) {
  const DType type = c.out();
  value = stored(type, value);
  Bounded& sum = cell->wanted;
  if (c.desc.combine == Combine::store) {
    sum = value;
  } else {
    sum.value += value.value;
    // Each atomic addition rounds.
    const double each = c.desc.combine == Combine::add_atomic ? 4 * unit_of(type) : 0x1p-22;
    sum.slack += value.slack + each * (std::abs(sum.value) + std::abs(value.value) + 1);
  }
  cell->written = true;
}

/// The expected elements of D, for the rows of the run.
inline std::vector<Cell> wanted_of(const GroupedCase& c, uint64_t* faults) {
  const int64_t columns = c.columns();
  const int64_t d_rows = c.has(kGroupedDescScatter) ? c.d_count() : c.m();
  std::vector<Cell> cells(static_cast<size_t>(d_rows * columns));
  const bool zeroes = c.has(kGroupedDescZeroOthers) || c.desc.combine == Combine::sum;
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i].written = zeroes;
    const bool adds = c.desc.combine == Combine::add_atomic || c.desc.combine == Combine::add;
    if (!zeroes && adds) cells[i].wanted.value = double(c.d[i]);
  }
  std::vector<ResultRow> rows = rows_of(c, faults);
  if (c.has(kGroupedDescInverse)) rows = by_inverse(c, rows);
  for (const ResultRow& row : rows)
    for (int64_t column = 0; row.to >= 0 && column < columns; ++column)
      add_to(c, value_of(c, row, column), &cells[size_t(row.to * columns + column)]);
  if (c.desc.combine == Combine::sum || c.desc.combine == Combine::add)
    for (Cell& cell : cells) cell.wanted = stored(c.out(), cell.wanted);
  return cells;
}

/// The same for ranges of k, with the matrices of D contiguous.
inline std::vector<Cell> wanted_of_ranges(const GroupedCase& c, uint64_t* faults) {
  const int64_t m = c.m(), n = c.desc.n;
  std::vector<Cell> cells(static_cast<size_t>(c.desc.groups * m * n));
  const std::vector<GroupSpan> spans = spans_of(c, c.k());
  for (size_t g = 0; g < spans.size(); ++g) {
    *faults += spans[g].fault ? 1 : 0;
    const bool empty = spans[g].begin == spans[g].end;
    for (int64_t i = 0; i < m * n; ++i) {
      double sum = 0, size = 0;
      for (int64_t k = spans[g].begin; k < spans[g].end; ++k) {
        const double product =
            double(c.a[size_t(k * c.desc.m + i / n)]) * double(c.b[size_t(k * n + i % n)]);
        sum += product, size += std::abs(product);
      }
      const size_t at = g * size_t(m * n) + size_t(i);
      const size_t in_d = g * size_t(c.desc.m * n) + size_t(i);
      const double before = c.run.beta != 0 ? double(c.d[in_d]) : 0.0;
      const double value = double(c.run.alpha) * sum + before;
      cells[at].wanted = {value, 1e-5 * (std::abs(double(c.run.alpha)) * size + std::abs(before))};
      cells[at].written = !empty || c.run.beta == 0;
    }
  }
  return cells;
}

}  // namespace tw::test
