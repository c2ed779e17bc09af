// SPDX-License-Identifier: Apache-2.0
// How far grouped products of quantized operands are from the products of the wide operands, by
// DeepGEMM's measure: as little as exact arithmetic on the quantized numbers allows.
#include "tests/device/gemm/quantized_numbers.hpp"
#include "tests/device/grouped/grouped_sizes.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// The operands of a case, quantized, and the elements of the groups' rows of D.
struct Operands {
  Quantized a, b;  // b: the lines of all weight matrices
  TwoProducts exact;
  std::vector<int64_t> rows;
};

GroupedCase draw(GroupedLab& lab, Grouping grouping, DType of_a, DType of_b, DType out,
                 bool gathers, int64_t lines_per_scale, Operands* operands) {
  const bool gpu = on_gpu();
  GroupedCase c;
  GroupedDesc& d = c.desc;
  d.grouping = grouping;
  d.a_dtype = of_a, d.b_dtype = of_b, d.d_dtype = out;
  d.b_order = Order::column;
  d.n = gpu ? 256 : 128, d.k = gpu ? 1024 : 256;
  d.row_alignment = grouping == Grouping::psum ? 16 : 0;
  d.a_scaling.kind = ScaleKind::row128;
  d.b_scaling.kind = lines_per_scale == 1 ? ScaleKind::row128 : ScaleKind::block128;
  d.b_scaling.order = Order::column;
  d.a_alignment = d.b_alignment = 16;
  group_by_sizes(lab.random,
                 gpu ? std::vector<int64_t>{40, 0, 129, 7} : std::vector<int64_t>{5, 0, 9}, &c);
  if (gathers) d.flags |= kGroupedDescGather, d.a_count = 20, d.a_divisor = 2;
  operands->a = draw_quantized(lab.random, of_a, c.a_lines(), d.k, 1);
  operands->b = draw_quantized(lab.random, of_b, d.groups * d.n, d.k, lines_per_scale);
  if (gathers)
    for (int64_t r = 0; r < d.m; ++r) c.a_rows.push_back(pick(lab.random, 0, 39));
  c.a = operands->a.narrow;
  c.a_scale = operands->a.scales;
  // The case has B as matrices of k rows, and a scale line for each column or 128 columns.
  c.b.resize(operands->b.narrow.size());
  for (int64_t line = 0; line < d.groups * d.n; ++line)
    for (int64_t k = 0; k < d.k; ++k)
      c.b[static_cast<size_t>((line / d.n * d.k + k) * d.n + line % d.n)] =
          operands->b.narrow[static_cast<size_t>(line * d.k + k)];
  c.b_scale = operands->b.scales;
  c.d.assign(static_cast<size_t>(c.d_lines() * c.columns()), 0);
  for (int64_t g = 0; g < d.groups; ++g)
    for (int64_t r = span_of(c, g).begin; r < span_of(c, g).end; ++r) {
      operands->rows.push_back(r);
      const int64_t from = gathers ? c.a_rows[size_t(r)] / 2 : r;
      for (int64_t j = 0; j < d.n; ++j)
        operands->exact.add(operands->a, from, operands->b, g * d.n + j);
    }
  return c;
}

// The distance of the product from the wide numbers.
double run(GroupedLab& lab, const GroupedCase& c, const Operands& operands) {
  const GroupedJob job = lab.job(c);
  lab.start(job);
  const std::vector<uint8_t> image = job.d->arena->read();
  const GroupedLayout layout = layout_of_d(c);
  std::vector<double> got;
  for (const int64_t row : operands.rows)
    for (int64_t j = 0; j < c.columns(); ++j)
      got.push_back(take_number(
          image.data() + job.d->before + static_cast<size_t>(layout.at(0, row, j)), c.d_type()));
  return distance(got, operands.exact.wide);
}

}  // namespace

TEST_CASE("grouped accuracy: e4m3 with scales of 128 is within 0.001 of the wide operands") {
  GroupedLab lab(1);
  if (!lab.device) return;
  for (const Grouping grouping :
       {Grouping::psum, Grouping::by_row, Grouping::masked, Grouping::offsets})
    for (const int64_t lines_per_scale : {128, 1})
      for (const DType out : {DType::BF16, DType::F32})
        for (const bool gathers : {false, true}) {
          Operands operands;
          GroupedCase c = draw(lab, grouping, DType::F8E4M3, DType::F8E4M3, out, gathers,
                               lines_per_scale, &operands);
          INFO(describe(c));
          CHECK(run(lab, c, operands) < 1e-3);
          c.desc.methods = kGroupedMma | kGroupedNarrow;
          CHECK(run(lab, c, operands) < 1e-3);
        }
}

TEST_CASE("grouped accuracy: mixes with e5m2 err as exact arithmetic does") {
  GroupedLab lab(2);
  if (!lab.device) return;
  for (const auto& [of_a, of_b] :
       {std::pair{DType::F8E4M3, DType::F8E5M2}, {DType::F8E5M2, DType::F8E4M3}})
    for (const Grouping grouping : {Grouping::psum, Grouping::by_row, Grouping::masked}) {
      Operands operands;
      const GroupedCase c =
          draw(lab, grouping, of_a, of_b, DType::F32, grouping == Grouping::psum, 128, &operands);
      INFO(describe(c));
      const double most = 1.05 * distance(operands.exact.narrow, operands.exact.wide);
      CAPTURE(most);
      CHECK(run(lab, c, operands) <= most);
    }
}
