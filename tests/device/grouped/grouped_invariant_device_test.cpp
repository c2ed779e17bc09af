// SPDX-License-Identifier: Apache-2.0
// Batch invariance of grouped GEMMs in sizes that the wgmma kernels take: a token's rows have the
// same bits whatever other tokens there are, and in whatever order.
#include "tests/device/grouped/grouped_sizes.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kTokens = 90, kExperts = 6, kTopK = 3;

// Tokens with their experts, and the operands of a product of all of them.
struct Tokens {
  GroupedCase all;  // the description, the weight matrices, and a row of A and of scales per token
  std::vector<int64_t> experts;  // of each pair of a token and a slot
  std::vector<float> shares;     // of each pair
};

// How rows of the product arrive in D.
enum class Into { rows_in_place, rows_of_pairs, sums, sums_by_inverse };

Tokens draw_tokens(GroupedLab& lab, DType in, DType out, Grouping grouping, Into into, bool gated) {
  // On a GPU several blocks share each tile along k, if the plan lets them.
  const bool gpu = on_gpu();
  const int64_t k = gpu ? 2048 : 64;
  Tokens t;
  GroupedDesc& d = t.all.desc;
  d.a_dtype = in, d.d_dtype = out;
  d.b_order = gated || d.is_narrow() || into == Into::sums ? Order::column : Order::row;
  d.grouping = grouping;
  d.row_alignment = grouping == Grouping::psum ? 16 : 0;
  d.groups = kExperts;
  d.m = kTokens, d.n = gpu ? 192 : 64, d.k = k;
  d.flags = kGroupedDescInvariant;
  if (gated) d.gate = Gate::halves, d.activation = Activation::silu;
  if (d.is_narrow()) {
    d.a_scaling.kind = ScaleKind::row128;
    d.b_scaling.kind = into == Into::sums ? ScaleKind::row128 : ScaleKind::block128;
  }
  require_wgmma(*lab.device, &d);
  t.all.a = draw_values(lab.random, kTokens * k, in);
  t.all.b = draw_values(lab.random, kExperts * k * d.n, in);
  t.all.a_scale = draw_scales(lab.random, kTokens * t.all.blocks(), in);
  t.all.b_scale = draw_scales(lab.random, kExperts * t.all.b_scale_lines() * t.all.blocks(), in);
  if (!d.is_narrow()) roughen(lab.random, &t.all);
  for (int64_t token = 0; token < kTokens; ++token) {
    std::vector<int64_t> order(kExperts);
    std::iota(order.begin(), order.end(), int64_t{0});
    std::shuffle(order.begin(), order.end(), lab.random);
    t.experts.insert(t.experts.end(), order.begin(), order.begin() + kTopK);
  }
  t.shares = draw_values(lab.random, kTokens * kTopK);
  for (float& share : t.shares) share = share * 0.7f + 1.1f;
  return t;
}

// The product of some of the tokens, in this order.
GroupedCase case_of(GroupedLab& lab, const Tokens& t, const std::vector<int64_t>& tokens,
                    Into into) {
  GroupedCase c = t.all;
  GroupedDesc& d = c.desc;
  const auto count = static_cast<int64_t>(tokens.size());
  std::vector<std::vector<int64_t>> of_expert(kExperts);
  for (int64_t pair = 0; pair < count * kTopK; ++pair) {
    const int64_t token = tokens[size_t(pair / kTopK)];
    of_expert[size_t(t.experts[size_t(token * kTopK + pair % kTopK)])].push_back(pair);
  }
  std::vector<int64_t> sizes;
  for (const auto& pairs : of_expert) sizes.push_back(static_cast<int64_t>(pairs.size()));
  group_by_sizes(lab.random, sizes, &c);
  // The pair of each row, or -1.
  std::vector<int64_t> rows(static_cast<size_t>(d.m), -1);
  for (int64_t g = 0; g < kExperts; ++g)
    std::copy(of_expert[size_t(g)].begin(), of_expert[size_t(g)].end(),
              rows.begin() + span_of(c, g).begin);
  const auto append = [](std::vector<float>* to, const std::vector<float>& from, int64_t token,
                         int64_t length) {
    to->insert(to->end(), from.begin() + token * length, from.begin() + (token + 1) * length);
  };
  c.a.clear(), c.a_scale.clear();
  const int64_t scales = d.is_narrow() ? c.blocks() : 0;
  const auto add_line = [&](int64_t token) {
    append(&c.a, t.all.a, token, d.k);
    append(&c.a_scale, t.all.a_scale, token, scales);
  };
  if (into == Into::rows_in_place) {
    for (const int64_t pair : rows) add_line(pair < 0 ? 0 : tokens[size_t(pair / kTopK)]);
  } else {
    d.flags |= kGroupedDescGather | kGroupedDescScatter;
    d.a_count = count, d.a_divisor = kTopK;
    for (const int64_t token : tokens) add_line(token);
    c.a_rows = c.d_rows = rows;
    d.d_count = into == Into::rows_of_pairs ? count * kTopK : count;
    d.d_divisor = into == Into::rows_of_pairs ? 1 : kTopK;
  }
  if (into == Into::sums || into == Into::sums_by_inverse) {
    d.combine = Combine::sum;
    d.flags |= kGroupedDescRowWeightByIndex;
    c.weighted = true;
    for (const int64_t token : tokens) append(&c.row_weights, t.shares, token, kTopK);
  }
  if (into == Into::sums_by_inverse) {
    d.flags |= kGroupedDescInverse;
    c.inverse.assign(static_cast<size_t>(count * kTopK), -1);
    for (size_t r = 0; r < rows.size(); ++r)
      if (rows[r] >= 0) c.inverse[size_t(rows[r])] = static_cast<int32_t>(r);
  }
  c.d.assign(static_cast<size_t>(c.d_lines() * c.columns()), 0);
  return c;
}

// The bytes of D that belong to each of these tokens.
std::vector<std::vector<uint8_t>> run(GroupedLab& lab, const Tokens& t,
                                      const std::vector<int64_t>& tokens, Into into) {
  const GroupedCase c = case_of(lab, t, tokens, into);
  INFO(describe(c));
  const GroupedJob job = lab.job(c);
  lab.start(job);
  const std::vector<uint8_t> image = job.d->arena->read();
  const auto line = static_cast<size_t>(c.columns() * dtype_bytes(c.d_type()));
  std::vector<std::vector<uint8_t>> out(tokens.size());
  const auto add = [&](int64_t at, int64_t row) {
    const auto* const begin = image.data() + job.d->before + static_cast<size_t>(row) * line;
    out[size_t(at)].insert(out[size_t(at)].end(), begin, begin + line);
  };
  const auto count = static_cast<int64_t>(tokens.size());
  if (into == Into::sums || into == Into::sums_by_inverse) {
    for (int64_t i = 0; i < count; ++i) add(i, i);
  } else if (into == Into::rows_of_pairs) {
    for (int64_t pair = 0; pair < count * kTopK; ++pair) add(pair / kTopK, pair);
  } else {
    std::vector<int64_t> next(kExperts);
    for (int64_t pair = 0; pair < count * kTopK; ++pair) {
      const int64_t token = tokens[size_t(pair / kTopK)];
      const int64_t g = t.experts[size_t(token * kTopK + pair % kTopK)];
      add(pair / kTopK, span_of(c, g).begin + next[size_t(g)]++);
    }
  }
  return out;
}

void check(GroupedLab& lab, const Tokens& t, Into into, int rounds) {
  std::vector<int64_t> all(kTokens);
  std::iota(all.begin(), all.end(), int64_t{0});
  const auto wanted = run(lab, t, all, into);
  REQUIRE(wanted[0] != wanted[1]);
  for (int round = 0; round < rounds; ++round) {
    constexpr int64_t kCounts[] = {kTokens, 1, 45, 5, 80, 17};
    std::vector<int64_t> some = all;
    std::shuffle(some.begin(), some.end(), lab.random);
    some.resize(static_cast<size_t>(kCounts[round % 6]));
    const auto got = run(lab, t, some, into);
    for (size_t i = 0; i < some.size(); ++i) {
      CAPTURE(round);
      CAPTURE(some[i]);
      REQUIRE(got[i] == wanted[size_t(some[i])]);
    }
  }
}

void check_types(uint64_t seed, std::initializer_list<std::pair<DType, DType>> types) {
  GroupedLab lab(seed);
  if (!lab.device) return;
  constexpr Grouping kGroupings[] = {Grouping::offsets, Grouping::by_row, Grouping::psum,
                                     Grouping::ends, Grouping::masked};
  int number = 0;
  for (const auto& [in, out] : types)
    for (const Into into :
         {Into::rows_in_place, Into::rows_of_pairs, Into::sums, Into::sums_by_inverse})
      for (const bool gated : {false, true}) {
        Grouping grouping = kGroupings[number++ % 5];
        // Sums are in the order of the rows, and so of the groups, which by_row shuffles here.
        if (into == Into::sums && grouping == Grouping::by_row) grouping = Grouping::offsets;
        CAPTURE(number);
        const Tokens tokens = draw_tokens(lab, in, out, grouping, into, gated);
        check(lab, tokens, into, cases_here(24, 3));
      }
}

}  // namespace

TEST_CASE("grouped invariant: tokens of 16 bits do not depend on the others") {
  check_types(1, {{DType::BF16, DType::BF16},
                  {DType::BF16, DType::F32},
                  {DType::F16, DType::F16},
                  {DType::F16, DType::F32}});
}

TEST_CASE("grouped invariant: tokens of 8 bits do not depend on the others") {
  check_types(2, {{DType::F8E4M3, DType::BF16}, {DType::F8E4M3, DType::F32}});
}
