// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws random grouped GEMMs: sizes, groups, indices, options and invalid numbers.

#include <array>
#include <numeric>

#include "tests/device/common/fixture.hpp"
#include "tests/device/grouped/grouped_case.hpp"

namespace tw::test {

using Random = std::mt19937_64;

inline bool chance(Random& random, int percent) {
  return pick(random, 0, 99) < percent;
}

template <size_t N>
int64_t one_of(Random& random, const int64_t (&values)[N]) {
  return values[pick(random, 0, static_cast<int64_t>(N) - 1)];
}

inline std::vector<float> draw_values(Random& random, int64_t count, DType type, float size = 1) {
  std::normal_distribution<float> normal(0, size);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = rounded(type, normal(random));
  return values;
}

/// An invalid number for an array whose numbers are below `end`.
inline int64_t draw_wrong(Random& random, int64_t end, bool wide) {
  const int64_t wrong[] = {-2, -77, end, end + 3, INT32_MAX, INT32_MIN};
  if (wide && chance(random, 40)) return chance(random, 50) ? (int64_t{1} << 32) + 1 : INT64_MIN;
  return one_of(random, wrong);
}

/// Draws the number of rows of each group.
inline std::vector<int64_t> draw_sizes(Random& random, int64_t groups) {
  std::vector<int64_t> sizes(static_cast<size_t>(groups), 0);
  const int64_t kind = pick(random, 0, 9);
  if (kind == 0) return sizes;  // all empty
  if (kind == 1) {
    sizes[size_t(pick(random, 0, groups - 1))] = pick(random, 1, 200);
    return sizes;
  }
  constexpr int64_t kUsual[] = {0, 0, 1, 7};
  for (int64_t& size : sizes)
    size = chance(random, 60) ? one_of(random, kUsual) : pick(random, 0, groups > 20 ? 9 : 40);
  if (kind == 2) sizes[0] = 129;
  return sizes;
}

/// Draws each row's group. Rows of a group are contiguous; rows without a group are between groups.
inline void draw_row_groups(Random& random, const std::vector<int64_t>& sizes, bool wrong,
                            GroupedCase* c) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  const bool wide = c->desc.index_dtype == DType::I64;
  for (const size_t g : order) {
    for (int64_t i = chance(random, 70) ? 0 : pick(random, 1, 3); i > 0; --i)
      c->numbers.push_back(wrong && chance(random, 30) ? draw_wrong(random, c->desc.groups, wide)
                                                       : -1);
    c->numbers.insert(c->numbers.end(), size_t(sizes[g]), int64_t(g));
  }
  // A row apart from the others of its group.
  if (wrong && !c->numbers.empty())
    c->numbers[size_t(pick(random, 0, int64_t(c->numbers.size()) - 1))] =
        pick(random, 0, c->desc.groups - 1);
}

/// Draws the numbers that describe the groups. Returns the number of rows that they need.
inline int64_t draw_numbers(Random& random, std::vector<int64_t> sizes, bool wrong,
                            GroupedCase* c) {
  GroupedDesc& d = c->desc;
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (d.grouping == Grouping::one) return total;
  if (d.grouping == Grouping::by_row) {
    draw_row_groups(random, sizes, wrong, c);
    return int64_t(c->numbers.size());
  }
  int64_t rows = d.grouping == Grouping::offsets ? pick(random, 0, 5) : 0;
  if (d.grouping == Grouping::offsets) c->numbers.push_back(rows);
  if (d.grouping == Grouping::masked) {
    d.group_rows = *std::max_element(sizes.begin(), sizes.end()) + pick(random, 0, 3);
    d.group_rows = std::max<int64_t>(d.group_rows, 1);
    c->numbers = sizes;
    rows = d.group_rows * d.groups;
  } else {
    const int64_t step = std::max<int64_t>(d.row_alignment, 1);
    for (const int64_t size : sizes) {
      if (d.grouping == Grouping::psum && (size != 0 || chance(random, 50)))
        rows = (rows + step - 1) / step * step;
      c->numbers.push_back(rows += size);
    }
  }
  rows += pick(random, 0, 4);
  const int64_t most = d.grouping == Grouping::masked ? d.group_rows : rows;
  for (int64_t i = wrong ? pick(random, 1, 2) : 0; i > 0; --i)
    c->numbers[size_t(pick(random, 0, int64_t(c->numbers.size()) - 1))] =
        draw_wrong(random, most + 1, d.index_dtype == DType::I64);
  return rows;
}

inline void draw_options(Random& random, GroupedDesc* d) {
  d->a_dtype = chance(random, 60) ? DType::BF16 : DType::F16;
  if (chance(random, 40)) d->d_dtype = DType::F32;
  if (chance(random, 40)) d->bias_dtype = chance(random, 50) ? DType::F32 : d->a_dtype;
  if (chance(random, 40)) d->index_dtype = DType::I64;
  if (chance(random, 40)) d->row_index_dtype = DType::I64;
  d->b_order = chance(random, 50) ? Order::row : Order::column;
  d->activation = static_cast<Activation>(chance(random, 40) ? 0 : pick(random, 0, 4));
  if (chance(random, 20)) d->flags |= kGroupedDescInvariant;
  if (chance(random, 20)) d->flags |= kGroupedDescProgrammatic;
  if (chance(random, 25)) d->max_sms = static_cast<uint32_t>(pick(random, 1, 9));
  if (chance(random, 20)) d->flags |= kGroupedDescZeroOthers;
  if (!chance(random, 40)) return;
  d->gate = chance(random, 50) ? Gate::halves : Gate::interleaved;
  d->n += d->n % 2;
  if (chance(random, 50)) d->gate_limit = 1.5f;
  if (chance(random, 50)) d->gate_offset = 1;
  if (d->activation == Activation::silu && chance(random, 60))
    d->gate_slope = chance(random, 10) ? 0.0f : 1.702f;
}

inline void draw_gather(Random& random, GroupedCase* c) {
  constexpr int64_t kDivisors[] = {0, 1, 2, 8};
  GroupedDesc& d = c->desc;
  d.flags |= kGroupedDescGather;
  d.a_divisor = one_of(random, kDivisors);
  d.a_count = pick(random, 1, 60);
  if (chance(random, 30)) c->run.a_count = pick(random, 1, d.a_count);
  const int64_t end = c->a_count() * c->a_divisor();
  const bool wrong = chance(random, 40);
  for (int64_t r = 0; r < c->m(); ++r) {
    int64_t index = pick(random, 0, end - 1);
    if (chance(random, 10)) index = -1;
    if (wrong && chance(random, 20))
      index = draw_wrong(random, end, d.row_index_dtype == DType::I64);
    c->a_rows.push_back(index);
  }
}

/// Draws targets of rows: distinct rows if they are stored, distinct pairs for an inverse.
inline void draw_targets(Random& random, GroupedCase* c) {
  const bool distinct_pairs = c->has(kGroupedDescInverse) || chance(random, 50);
  const bool stores = c->desc.combine == Combine::store;
  const int64_t divisor = c->d_divisor(), pairs = c->d_count() * divisor;
  std::vector<int64_t> own(static_cast<size_t>(stores ? c->d_count() : pairs));
  std::iota(own.begin(), own.end(), int64_t{0});
  std::shuffle(own.begin(), own.end(), random);
  const bool wrong = chance(random, 40);
  for (int64_t r = 0; r < c->m(); ++r) {
    const bool left = r < int64_t(own.size());
    int64_t index = -1;
    if (stores && left) index = own[size_t(r)] * divisor + pick(random, 0, divisor - 1);
    if (!stores && distinct_pairs && left) index = own[size_t(r)];
    if (!stores && !distinct_pairs) index = pick(random, 0, pairs - 1);
    if (chance(random, 10)) index = -1;
    if (wrong && chance(random, 20))
      index = draw_wrong(random, pairs, c->desc.row_index_dtype == DType::I64);
    c->d_rows.push_back(index);
  }
}

inline void draw_inverse(Random& random, GroupedCase* c) {
  const int64_t pairs = c->d_count() * c->d_divisor();
  c->inverse.assign(static_cast<size_t>(pairs), -1);
  for (int64_t r = 0; r < c->m(); ++r) {
    const int64_t pair = c->d_rows[size_t(r)];
    if (pair >= 0 && pair < pairs) c->inverse[size_t(pair)] = static_cast<int32_t>(r);
  }
  for (int32_t& entry : c->inverse)
    if (entry == -1 && chance(random, 10))
      entry = static_cast<int32_t>(chance(random, 50) ? c->m() + pick(random, 0, 5) : -9);
}

inline void draw_scatter(Random& random, GroupedCase* c) {
  constexpr int64_t kDivisors[] = {0, 1, 2, 8};
  GroupedDesc& d = c->desc;
  d.flags |= kGroupedDescScatter;
  d.combine = static_cast<Combine>(pick(random, 0, 2));
  d.d_divisor = one_of(random, kDivisors);
  d.d_count = pick(random, 1, 60);
  if (chance(random, 30)) c->run.d_count = pick(random, 1, d.d_count);
  if (d.combine == Combine::sum && chance(random, 50)) d.flags |= kGroupedDescInverse;
  draw_targets(random, c);
  if (c->has(kGroupedDescInverse)) draw_inverse(random, c);
}

inline void draw_map(Random& random, GroupedCase* c) {
  c->mapped = true;
  c->desc.weight_count = pick(random, 1, c->desc.groups + 3);
  const bool wrong = chance(random, 30);
  for (int64_t g = 0; g < c->desc.groups; ++g) {
    int64_t w = pick(random, 0, c->desc.weight_count - 1);
    if (chance(random, 15)) w = -1;
    if (wrong && chance(random, 20)) w = draw_wrong(random, c->desc.weight_count, false);
    c->map.push_back(static_cast<int32_t>(w));
  }
}

inline void draw_pitches(Random& random, GroupedCase* c) {
  GroupedDesc& d = c->desc;
  const auto more = [&](int64_t least) {
    return chance(random, 60) ? int64_t{0} : std::max<int64_t>(least, 1) + pick(random, 0, 9);
  };
  d.lda = more(d.grouping == Grouping::k_ranges ? d.m : d.k);
  d.ldb = more(d.b_order == Order::row ? d.n : d.k);
  d.ldd = more(c->columns());
}

inline void draw_operands(Random& random, GroupedCase* c) {
  const GroupedDesc& d = c->desc;
  const GroupedProblem p = c->problem();
  c->a = draw_values(random, p.rows_of_a() * d.k, d.a_dtype);
  c->b = draw_values(random, c->weights() * d.k * d.n, d.a_dtype, 0.3f);
  if (p.has_bias()) c->bias = draw_values(random, c->weights() * d.n, d.bias_dtype);
  if (c->scaled) c->group_alpha = draw_values(random, c->weights(), DType::F32);
  if (c->weighted)
    c->row_weights = draw_values(
        random, c->has(kGroupedDescRowWeightByIndex) ? c->d_count() * c->d_divisor() : c->m(),
        DType::F32);
  c->d = draw_values(random, p.rows_of_d() * p.d_columns, c->out());
}

inline GroupedCase draw_case(Random& random, Grouping grouping) {
  constexpr int64_t kGroups[] = {1, 2, 3, 5, 8, 17, 40};
  constexpr int64_t kAlignments[] = {0, 1, 8, 64};
  GroupedCase c;
  GroupedDesc& d = c.desc;
  d.grouping = grouping;
  d.groups = grouping == Grouping::one ? 1 : one_of(random, kGroups);
  d.n = pick(random, 1, 24);
  d.k = chance(random, 5) ? 0 : pick(random, 1, 40);
  draw_options(random, &d);
  if (grouping == Grouping::psum) d.row_alignment = one_of(random, kAlignments);
  d.m = draw_numbers(random, draw_sizes(random, d.groups), chance(random, 30), &c);
  if (chance(random, 30)) c.run.m = d.m, d.m += pick(random, 0, 20);
  if (chance(random, 40)) draw_map(random, &c);
  if (chance(random, 50)) draw_gather(random, &c);
  if (chance(random, 60)) draw_scatter(random, &c);
  c.scaled = chance(random, 40), c.weighted = chance(random, 50);
  if (c.weighted && c.has(kGroupedDescScatter) && chance(random, 50))
    d.flags |= kGroupedDescRowWeightByIndex;
  if (chance(random, 30)) c.run.alpha = -0.75f;
  draw_pitches(random, &c);
  draw_operands(random, &c);
  return c;
}

/// Draws a case that adds rows to rows of D in a fixed order.
inline GroupedCase draw_addition(Random& random, Grouping grouping) {
  for (;;) {
    GroupedCase c = draw_case(random, grouping);
    if (c.desc.combine != Combine::sum) continue;
    c.desc.combine = Combine::add;
    return c;
  }
}

inline GroupedCase draw_ranges(Random& random) {
  constexpr int64_t kGroups[] = {1, 2, 3, 8, 17};
  GroupedCase c;
  GroupedDesc& d = c.desc;
  d.grouping = Grouping::k_ranges;
  d.groups = one_of(random, kGroups);
  d.a_dtype = chance(random, 50) ? DType::BF16 : DType::F16;
  if (chance(random, 50)) d.d_dtype = DType::F32;
  if (chance(random, 40)) d.index_dtype = DType::I64;
  d.m = pick(random, 1, 20), d.n = pick(random, 1, 20);
  d.k = draw_numbers(random, draw_sizes(random, d.groups), chance(random, 30), &c);
  if (chance(random, 30)) c.run.k = d.k, d.k += pick(random, 0, 20);
  if (chance(random, 30)) c.run.m = pick(random, 1, d.m);
  if (chance(random, 50)) c.run.beta = 1;
  if (chance(random, 30)) c.run.alpha = 0.5f;
  draw_pitches(random, &c);
  c.a = draw_values(random, d.k * d.m, d.a_dtype);
  c.b = draw_values(random, d.k * d.n, d.a_dtype);
  c.d = draw_values(random, d.groups * d.m * d.n, DType::F32);
  return c;
}

}  // namespace tw::test
