// SPDX-License-Identifier: Apache-2.0
// Compares the grouped wgmma kernels with float64 loops.
#include <array>

#include "tests/device/grouped/tiles_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// A pitch of whole pieces of 16 bytes.
int64_t in_pieces(std::mt19937_64& random, DType type, int64_t extent) {
  const int64_t piece = 16 / dtype_bytes(type);
  return (std::max<int64_t>(extent, 1) + piece - 1) / piece * piece + piece * pick(random, 0, 3);
}

// Widens n so that both halves of gated columns are multiples of 8.
void widen_gate(std::mt19937_64& random, GroupedCase* c) {
  GroupedDesc& d = c->desc;
  d.n = (d.n + 15) / 16 * 16;
  d.ldd = c->columns() + pick(random, 0, 1) * pick(random, 0, 9);
  d.bias_stride = d.bias_dtype == DType{} ? 0 : d.n;
  d.b_scaling.leading = d.b_scale_stride = 0;
  c->a_rows.clear();
  c->d_rows.clear();
  draw_operands(random, c, false);
}

// Gives A and B pitches and addresses for tensor maps, and requires a kernel that uses them.
void suit_maps(GroupedLab& lab, GroupedCase* c) {
  std::mt19937_64& random = lab.random;
  GroupedDesc& d = c->desc;
  if (lab.device->info().kernel_features & feature::wgmma)
    d.methods = ~uint32_t{kGroupedMma | kGroupedRanges};
  if (d.gate != Gate::none && d.n % 16 != 0) widen_gate(random, c);
  if (d.gate == Gate::halves || d.is_narrow()) d.b_order = Order::column;
  const DType type = d.a_dtype;
  d.lda = in_pieces(random, type, c->a_columns());
  d.ldb = in_pieces(random, type, d.b_order == Order::row ? d.n : d.k);
  if (!c->ranges())
    d.b_stride = in_pieces(random, type, d.ldb * (d.b_order == Order::row ? d.k : d.n));
  d.a_alignment = d.b_alignment = 16;
  c->a_shift = c->b_shift = 0;
}

void check_random(uint64_t seed, int cases, const GroupedMost& most, bool ranges) {
  GroupedLab lab(seed);
  if (!lab.device) return;
  for (int i = 0; i < cases; i += case_step()) {
    CAPTURE(i);
    GroupedCase c = ranges ? draw_ranges(lab.random, most) : draw_case(lab.random, most);
    suit_maps(lab, &c);
    lab.check(c);
  }
}

// The same with 8-bit floats: every pair of types, kind of scales and type of D.
void check_narrow(uint64_t seed, int cases, const GroupedMost& most) {
  GroupedLab lab(seed);
  if (!lab.device) return;
  for (int i = 0; i < cases;) {
    CAPTURE(i);
    GroupedCase c = draw_case(lab.random, most, true);
    if (!is_f8(c.desc.a_dtype)) continue;
    suit_maps(lab, &c);
    lab.check(c);
    i += case_step();
  }
}

void behind_on_one_sm(GroupedCase* c) {
  c->behind = true;
  c->desc.max_sms = 1;
  c->desc.flags |= kGroupedDescProgrammatic;
}

// How a kernel writes D: with any epilogue, or in whole pieces of 16 bytes without or with a gate.
enum class Writes { general, pieces, gated };

struct Types {
  DType a, b;
};

// A product of several tiles. With alpha 0 nothing is multiplied between them.
GroupedCase again(GroupedLab& lab, Types types, Order order, DType out, Writes writes, bool gather,
                  float alpha, int number) {
  constexpr Grouping kGroupings[] = {Grouping::ends, Grouping::masked, Grouping::by_row,
                                     Grouping::psum};
  constexpr ScaleKind kOfB[] = {ScaleKind::block128, ScaleKind::row128, ScaleKind::row,
                                ScaleKind::tensor, ScaleKind::none};
  GroupedCase c;
  GroupedDesc& d = c.desc;
  behind_on_one_sm(&c);
  d.a_dtype = types.a, d.b_dtype = types.b, d.d_dtype = out, d.b_order = order;
  d.grouping = kGroupings[number % 4];
  d.m = 130, d.n = writes == Writes::general ? 149 : 160, d.groups = 2;
  d.k = d.is_narrow() ? 900 : 450;
  if (d.is_narrow()) {
    d.b_scaling.kind = kOfB[number % 5];
    d.a_scaling.kind = std::min(kOfB[number % 5], ScaleKind::row128);
    if (d.a_scaling.kind < ScaleKind::row128 && number / 5 % 2 == 0) d.flags |= kGroupedDescFast;
  }
  if (writes == Writes::gated) d.gate = Gate::halves, d.activation = Activation::silu;
  // A tile with an odd number of slabs ends in the slab in which the next tile begins.
  if (alpha == 0.0f) d.grouping = Grouping::one, d.groups = 1;
  if (gather) d.flags |= kGroupedDescGather, d.a_count = 60;
  if (number % 3 == 2) {
    const int kind = number / 3 % 5;
    d.flags |= kGroupedDescScatter | (kind == 3 ? kGroupedDescInverse : 0);
    d.combine = static_cast<Combine>(std::array{0, 1, 2, 1, 1}[static_cast<size_t>(kind)]);
    d.d_count = kind == 4 ? 1 : 140 / 3, d.d_divisor = kind == 4 ? 140 : 3;
    if (d.combine == Combine::store) d.d_count = 140;
  }
  if (number % 4 == 1) d.flags |= kGroupedDescZeroOthers;
  d.bias_dtype = DType::F32;
  c.alpha = alpha;
  c.weighted = c.counts = number % 7 == 0;
  suit_maps(lab, &c);
  draw_operands(lab.random, &c, false);
  return c;
}

}  // namespace

// One block computes all tiles, so that it uses its stages and slabs many times. A kernel that may
// still run writes all of the product's memory.
TEST_CASE("grouped wgmma: stages and slabs that are taken again, behind another kernel") {
  GroupedLab lab(25);
  if (!lab.device) return;
  constexpr Types kPairs[] = {{DType::BF16, DType::BF16},
                              {DType::F8E4M3, DType::F8E4M3},
                              {DType::F8E4M3, DType::F8E5M2},
                              {DType::F8E5M2, DType::F8E4M3}};
  int number = 0;
  for (const Types types : kPairs)
    for (const Order order : {Order::row, Order::column})
      for (const DType out : {DType::BF16, DType::F16, DType::F32})
        for (const Writes writes : {Writes::general, Writes::pieces, Writes::gated}) {
          const bool narrow = is_f8(types.a);
          if (order == Order::row && (narrow || writes == Writes::gated)) continue;
          if (out == DType::F16 && !narrow) continue;
          const bool gathers = number % 2 != 0;
          lab.check(again(lab, types, order, out, writes, gathers, 1.0f, number++));
          if (types.a != types.b) continue;
          lab.check(again(lab, types, order, out, writes, !gathers, 1.0f, number++));
          lab.check(again(lab, types, order, out, writes, false, 0.0f, number++));
        }
  for (int i = 0; i < 4; ++i) {
    GroupedCase c = draw_ranges(lab.random, {.k = 1500});
    GroupedDesc& d = c.desc;
    behind_on_one_sm(&c);
    d.a_dtype = DType::BF16;
    d.m = 130, d.n = 150, d.k = 1500, d.groups = 3, d.ldd = d.d_stride = 0;
    c.beta = static_cast<float>(i % 2);
    c.counts = i < 2;
    suit_maps(lab, &c);
    draw_operands(lab.random, &c, false);
    if (i == 0) c.groups = {0, 700, 1400};  // an empty range has two tiles without products
    lab.check(c);
  }
  GroupedCase c = again(lab, kPairs[0], Order::column, DType::F32, Writes::pieces, false, 1, 0);
  c.desc.k = 2500, c.desc.max_sms = 0;
  suit_maps(lab, &c);
  draw_operands(lab.random, &c, false);
  lab.check(c);
  // So many rows that a cluster of blocks finds their groups.
  c.desc.grouping = Grouping::by_row;
  c.desc.m = 9000, c.desc.n = 16, c.desc.k = 16;
  suit_maps(lab, &c);
  draw_operands(lab.random, &c, false);
  lab.check(c);
}

TEST_CASE("grouped wgmma: a few small products in 8 bits") {
  check_narrow(21, 16, {.m = 90, .n = 140, .k = 300, .groups = 5});
}

TEST_CASE("grouped wgmma: hundreds of random products in 8 bits") {
  check_narrow(22, 150, {.m = 200, .n = 300, .k = 500, .groups = 12});
  check_narrow(23, 40, {.m = 900, .n = 300, .k = 300, .groups = 6});
  check_narrow(24, 40, {.m = 60, .n = 400, .k = 300, .groups = 40});
}

// A sum of 128 products of the largest number, then of small ones. Next to the former a wgmma loses
// the latter, whose sums of 128 an addition in f32 keeps.
TEST_CASE("grouped wgmma: accumulation in f32 and in the tensor cores") {
  GroupedLab lab(26);
  if (!lab.device) return;
  const bool wgmma = (lab.device->info().kernel_features & feature::wgmma) != 0;
  for (const ScaleKind kind : {ScaleKind::none, ScaleKind::tensor, ScaleKind::row})
    for (const bool fast : {false, true})
      for (const bool gather : {false, true}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(fast);
        GroupedCase c;
        GroupedDesc& d = c.desc;
        d.a_dtype = DType::F8E4M3, d.d_dtype = DType::F32;
        d.grouping = Grouping::one;
        d.m = 90, d.n = 144, d.k = 1024, d.groups = 1;
        d.a_scaling.kind = d.b_scaling.kind = kind;
        if (fast) d.flags |= kGroupedDescFast, c.loss = 0x1p-13;
        if (gather) d.flags |= kGroupedDescGather, d.a_count = 60;
        suit_maps(lab, &c);
        draw_operands(lab.random, &c, false);
        if (gather) c.a_rows.assign(c.a_rows.size(), 0);
        for (int64_t k = 0; k < d.k; ++k) {
          const float value = k < 128 ? 448.0f : 1.0f;
          for (int64_t line = 0; line < c.a_lines(); ++line) c.a[size_t(line * d.k + k)] = value;
          std::fill_n(c.b.begin() + k * d.n, d.n, value);
        }
        std::fill(c.a_scale.begin(), c.a_scale.end(), 0.5f);
        std::fill(c.b_scale.begin(), c.b_scale.end(), 2.0f);
        const double exact = 128 * 448.0 * 448 + (1024 - 128), got = lab.check(c);
        if (!fast) CHECK(got == exact);
        if (fast && wgmma) CHECK(got < exact);
      }
}

TEST_CASE("grouped wgmma: a few small products") {
  check_random(11, 16, {.m = 90, .n = 140, .k = 150, .groups = 5}, false);
}

TEST_CASE("grouped wgmma: a few small ranges of k") {
  check_random(12, 6, {.m = 80, .n = 140, .k = 200, .groups = 4}, true);
}

TEST_CASE("grouped wgmma: hundreds of random products") {
  check_random(13, 300, {}, false);
  check_random(14, 60, {.m = 900, .n = 300, .k = 200, .groups = 6}, false);
  check_random(15, 60, {.m = 60, .n = 400, .k = 200, .groups = 40}, false);
}

TEST_CASE("grouped wgmma: random ranges of k") {
  check_random(16, 60, {.m = 300, .n = 200, .k = 500, .groups = 8}, true);
}

// A few tiles with long sums, for which kernels use split-K.
TEST_CASE("grouped wgmma: tiles that blocks share along k") {
  check_random(17, 20, {.m = 40, .n = 300, .k = 3000, .groups = 6}, false);
  check_random(18, 8, {.m = 500, .n = 300, .k = 3000, .groups = 2}, false);
}

TEST_CASE("grouped wgmma: as many groups as there may be") {
  GroupedLab lab(19);
  if (!lab.device) return;
  for (const Grouping grouping : {Grouping::ends, Grouping::by_row, Grouping::masked}) {
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.grouping = grouping;
    d.m = 3000, d.n = 24, d.k = 16;
    d.groups = kGroupedMaxGroups, d.weight_count = 7;
    c.mapped = true;
    suit_maps(lab, &c);
    draw_operands(lab.random, &c, false);
    lab.check(c);
  }
}

TEST_CASE("grouped wgmma: k of several chains") {
  GroupedLab lab(20);
  if (!lab.device) return;
  for (const bool gather : {false, true}) {
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.d_dtype = DType::F32;
    d.m = 70, d.n = 66, d.k = 9000, d.groups = 2;
    if (gather) d.flags = kGroupedDescGather, d.a_count = 70;
    suit_maps(lab, &c);
    draw_operands(lab.random, &c, false);
    lab.check(c);
  }
  GroupedCase ranges = draw_ranges(lab.random, {.m = 40, .n = 40, .k = 9000, .groups = 1});
  suit_maps(lab, &ranges);
  lab.check(ranges);
}

// So many rows that a run with a workspace first packs the gathered rows.
TEST_CASE("grouped wgmma: gathered rows that are packed first") {
  GroupedLab lab(22);
  if (!lab.device) return;
  for (const int64_t k : {8, 72, 520}) {
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.flags = kGroupedDescGather;
    d.row_index_dtype = k == 72 ? DType::I64 : DType::I32;
    d.m = 130, d.n = 776, d.k = k, d.groups = 2, d.a_count = 41, d.a_divisor = 3;
    suit_maps(lab, &c);
    draw_operands(lab.random, &c, false);
    lab.check(c);
  }
}

// The hint expected_rows only decides how gathered rows are loaded.
TEST_CASE("grouped wgmma: rows that are packed first give the bits of rows that are not") {
  GroupedLab lab(26);
  if (!lab.device) return;
  const bool has_wgmma = (lab.device->info().kernel_features & feature::wgmma) != 0;
  for (const int64_t k : {72, 2056}) {
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.flags = kGroupedDescGather;
    d.m = 130, d.n = 776, d.k = k, d.groups = 2, d.a_count = 41, d.a_divisor = 3;
    suit_maps(lab, &c);
    draw_operands(lab.random, &c, false);
    d.expected_rows = 65;
    const GroupedJob packed = lab.job(c);
    d.expected_rows = 1;
    const GroupedJob gathered = lab.job(c);
    if (has_wgmma) {
      CHECK(packed.plan->explain().find("packed matrix") != std::string::npos);
      CHECK(gathered.plan->explain().find("gathers rows itself") != std::string::npos);
    }
    REQUIRE(packed.d->arena->image() == gathered.d->arena->image());
    lab.start(packed);
    lab.start(gathered);
    const std::vector<uint8_t> d_bytes = packed.d->arena->read();
    CHECK(d_bytes != packed.d->arena->image());
    CHECK(d_bytes == gathered.d->arena->read());
  }
}

TEST_CASE("grouped wgmma: a kernel that the caller names") {
  GroupedLab lab(21);
  if (!lab.device) return;
  if ((lab.device->info().kernel_features & feature::wgmma) == 0) return;
  GroupedCase c;
  GroupedDesc& d = c.desc;
  d.m = 40, d.n = 64, d.k = 64, d.groups = 2;
  std::vector<GroupedCandidate> candidates;
  TW_REQUIRE_OK(grouped_candidates_of(*lab.device, d, &candidates));
  REQUIRE(candidates.size() == 2);
  for (const GroupedCandidate& candidate : candidates) {
    CAPTURE(candidate.entry->symbol);
    CHECK(candidate.nanoseconds > 0);
    d.candidate = candidate.entry->symbol;
    draw_operands(lab.random, &c, false);
    lab.check(c);
  }
  d.candidate = candidates[0].entry->symbol;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GroupedPlan::create(lab.device, d, &plan));
  GroupedRun run;
  run.a = 1024 + 2, run.b = 1 << 20, run.d = 1 << 21, run.groups = 1 << 22;
  CHECK(static_cast<GroupedPlan&>(*plan).run(*lab.stream, run).code() == Code::ERROR_MISALIGNED);
  CHECK(std::string(last_failure().fault.argument) == "a");
  d.lda = 65;
  CHECK(GroupedPlan::create(lab.device, d, &plan).code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().message).find("lda") != std::string::npos);
  d.candidate.clear();
  TW_REQUIRE_OK(GroupedPlan::create(lab.device, d, &plan));
  CHECK(plan->explain().find("not by wgmma: lda") != std::string::npos);
}
