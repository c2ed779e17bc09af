// SPDX-License-Identifier: Apache-2.0
// Each form of grouping with random routings, in sizes that the wgmma kernels take: compares them
// with float64 loops, and replays captured runs with other routings.
#include "tests/device/grouped/grouped_sizes.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Numbers of rows of groups. Every fiftieth case has 512 groups.
std::vector<int64_t> draw_sizes(std::mt19937_64& random, int number) {
  constexpr int64_t kUsual[] = {0, 0, 1, 7};
  std::vector<int64_t> sizes(number % 50 == 2 ? 512 : static_cast<size_t>(pick(random, 2, 12)));
  const bool many = sizes.size() == 512;
  if (number % 10 == 0) return sizes;  // all empty
  if (number % 10 == 1) {
    sizes[size_t(pick(random, 0, int64_t(sizes.size()) - 1))] = pick(random, 1, 250);
    return sizes;
  }
  for (int64_t& size : sizes)
    size = pick(random, 0, 9) < 6 ? kUsual[pick(random, 0, 3)] : pick(random, 0, many ? 5 : 40);
  if (number % 10 == 3) sizes[0] = 129;
  std::shuffle(sizes.begin(), sizes.end(), random);
  return sizes;
}

// Draws a case with n and k, or m and n of ranges of k, that are multiples of 64.
GroupedCase draw_form(GroupedLab& lab, Grouping grouping, int number) {
  std::mt19937_64& random = lab.random;
  GroupedCase c;
  GroupedDesc& d = c.desc;
  const auto wide = [&] { return 64 * pick(random, 1, pick(random, 1, 3)); };
  d.grouping = grouping;
  d.a_dtype = pick(random, 0, 1) ? DType::BF16 : DType::F16;
  d.d_dtype = c.ranges() || pick(random, 0, 1) ? DType::F32 : d.a_dtype;
  d.index_dtype = pick(random, 0, 1) ? DType::I32 : DType::I64;
  d.row_index_dtype = pick(random, 0, 1) ? DType::I32 : DType::I64;
  d.row_alignment = grouping == Grouping::psum ? 16 * pick(random, 0, 2) : 0;
  if (pick(random, 0, 3) == 0) d.max_sms = 1;  // several tiles per block
  require_wgmma(*lab.device, &d);
  std::vector<int64_t> sizes = draw_sizes(random, number);
  // Without rows there is no wgmma kernel to require.
  if (grouping == Grouping::one)
    sizes = {std::max<int64_t>(1, std::accumulate(sizes.begin(), sizes.end(), int64_t{0}))};
  group_by_sizes(random, sizes, &c);
  const bool wrong = pick(random, 0, 3) == 0;
  // Smaller numbers could make groups overlap, whose result is undefined.
  if (wrong && !c.groups.empty())
    c.groups[size_t(pick(random, 0, int64_t(c.groups.size()) - 1))] =
        draw_wrong(random, c.ranges() ? d.k : d.m, d.index_dtype);
  c.alpha = pick(random, 0, 1) ? 1.0f : -0.5f;
  c.counts = pick(random, 0, 3) != 0;
  if (c.ranges()) {
    c.beta = pick(random, 0, 1) ? 1.0f : 0.0f;
    d.m = sizes.size() > 40 ? 64 : wide(), d.n = sizes.size() > 40 ? 64 : wide();
    draw_other_operands(random, &c, false);
    spoil_unused_k(&c);
    return c;
  }
  d.n = wide(), d.k = wide();
  d.b_order = pick(random, 0, 1) ? Order::row : Order::column;
  c.mapped = sizes.size() > 40 || pick(random, 0, 1) != 0;
  d.weight_count = c.mapped ? pick(random, 1, 6) : d.groups;
  if (pick(random, 0, 2) == 0) d.flags |= kGroupedDescZeroOthers;
  if (pick(random, 0, 2) == 0) d.flags |= kGroupedDescProgrammatic;
  draw_rows(random, &c);
  draw_epilogue(random, &c);
  if (d.gate == Gate::halves) d.b_order = Order::column;
  c.group_scaled = pick(random, 0, 2) == 0;
  c.weighted = d.has(kGroupedDescRowWeightByIndex) || pick(random, 0, 2) == 0;
  draw_other_operands(random, &c, wrong);
  return c;
}

void check_form(Grouping grouping, uint64_t seed) {
  GroupedLab lab(seed);
  if (!lab.device) return;
  for (int i = 0, cases = cases_here(1000, 12); i < cases; ++i) {
    CAPTURE(i);
    lab.check(draw_form(lab, grouping, i));
  }
}

// Captures a run and replays it with other groups, rows and operands. Each must give the bytes of
// a plan of its own.
void replay(GroupedLab& lab, const GroupedCase& base, int routings) {
  INFO(describe(base));
  const auto draw = [&](bool wrong) {
    GroupedCase c = base;
    draw_operands(lab.random, &c, wrong);
    roughen(lab.random, &c);
    return c;
  };
  const GroupedJob fixed = lab.job(draw(false));
  INFO(fixed.plan->explain());
  std::unique_ptr<Graph> graph;
  TW_REQUIRE_OK(lab.stream->begin_capture());
  lab.start(fixed);
  TW_REQUIRE_OK(lab.stream->end_capture(&graph));
  TW_REQUIRE_OK(graph->instantiate());
  for (int i = 0; i < routings; ++i) {
    CAPTURE(i);
    const GroupedJob fresh = lab.job(draw(i % 4 == 3));
    REQUIRE(fixed.inputs.size() == fresh.inputs.size());
    const auto put = [](const GroupedOperand& to, const GroupedOperand& from) {
      REQUIRE(to.arena->bytes() == from.arena->bytes());
      to.arena->image() = from.arena->image();
      to.arena->upload();
    };
    for (size_t o = 0; o < fixed.inputs.size(); ++o) put(*fixed.inputs[o], *fresh.inputs[o]);
    put(*fixed.d, *fresh.d);
    put(*fixed.faults, *fresh.faults);
    TW_REQUIRE_OK(graph->launch(*lab.stream));
    lab.start(fresh);
    REQUIRE(first_difference(fixed.d->arena->read(), fresh.d->arena->read()) == -1);
    REQUIRE(first_difference(fixed.faults->arena->read(), fresh.faults->arena->read()) == -1);
  }
}

}  // namespace

TEST_CASE("grouped forms: random sizes of one group") {
  check_form(Grouping::one, 1);
}
TEST_CASE("grouped forms: random ends") {
  check_form(Grouping::ends, 2);
}
TEST_CASE("grouped forms: random offsets") {
  check_form(Grouping::offsets, 3);
}
TEST_CASE("grouped forms: random ends of groups that begin at multiples") {
  check_form(Grouping::psum, 4);
}
TEST_CASE("grouped forms: random groups of rows") {
  check_form(Grouping::by_row, 5);
}
TEST_CASE("grouped forms: random numbers of rows") {
  check_form(Grouping::masked, 6);
}
TEST_CASE("grouped forms: random ranges of k") {
  check_form(Grouping::k_ranges, 7);
}

TEST_CASE("grouped forms: a captured run of each form serves other routings") {
  GroupedLab lab(8);
  if (!lab.device) return;
  int number = 0;
  for (const Grouping grouping : {Grouping::ends, Grouping::offsets, Grouping::masked,
                                  Grouping::psum, Grouping::by_row, Grouping::k_ranges})
    for (const bool gated : {false, true}) {
      GroupedCase c;
      GroupedDesc& d = c.desc;
      d.grouping = grouping;
      d.groups = on_gpu() ? 8 : 4;
      d.m = 192, d.n = on_gpu() ? 128 : 64, d.k = on_gpu() ? 128 : 64;
      d.row_alignment = grouping == Grouping::psum ? 16 : 0;
      d.a_dtype = ++number % 2 ? DType::BF16 : DType::F16;
      require_wgmma(*lab.device, &d);
      if (c.ranges()) {
        if (gated) continue;
        d.d_dtype = DType::F32, d.m = 64;
      } else if (gated) {
        d.b_order = Order::column;
        d.gate = Gate::halves, d.activation = Activation::silu;
        d.flags = kGroupedDescGather;
        d.a_count = 64, d.a_divisor = 3;
      } else {
        d.flags = kGroupedDescScatter | (number % 3 ? kGroupedDescInverse : 0);
        d.combine = Combine::sum;
        d.d_count = 64, d.d_divisor = 3;
        c.weighted = true;
      }
      replay(lab, c, cases_here(1000, 4));
    }
}
