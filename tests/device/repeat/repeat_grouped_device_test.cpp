// SPDX-License-Identifier: Apache-2.0
// Repeats grouped products a thousand times each on a GPU, with every kernel and way to write rows
// whose bits do not depend on the order of blocks. Each run must give the bits of the first one.
#include "tests/device/grouped/grouped_sizes.hpp"
#include "tests/device/repeat/repeat_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

int runs() {
  return on_gpu() ? repeat_runs() : 2;
}

void repeat(GroupedLab& lab, TakenRows* taken, const GroupedCase& c) {
  INFO(describe(c));
  const GroupedJob job = lab.job(c);
  INFO(job.plan->explain());
  taken->take(*job.plan);
  lab.start(job);
  const std::vector<uint8_t> first = job.d->arena->read();
  REQUIRE(first != job.d->arena->image());
  int different = 0;
  for (int i = runs(); i > 1; --i) {
    job.d->arena->upload();
    lab.start(job);
    different += job.d->arena->read() != first;
  }
  CHECK(different == 0);
}

bool multiplies(const KernelEntry& entry) {
  return (entry.variant & (kGroupedMma | kGroupedRanges | kGroupedWgmma)) != 0;
}

// How rows are read and written.
enum class Way { in_place, gated, gathered, stored_by_index, sums, sums_by_inverse };
constexpr Way kWays[] = {Way::in_place,        Way::gated, Way::gathered,
                         Way::stored_by_index, Way::sums,  Way::sums_by_inverse};

// The extents of a product. On a GPU several blocks share each of its tiles along k.
void sizes(GroupedDesc* d) {
  d->groups = 4;
  d->m = on_gpu() ? 300 : 30, d->n = on_gpu() ? 256 : 64, d->k = on_gpu() ? 2048 : 128;
}

// Allows tensor maps or, if `mma` holds, only kernels without them.
void choose(const GroupedLab& lab, bool mma, GroupedDesc* d) {
  if (mma)
    d->methods = kGroupedMma | kGroupedRanges | kGroupedNarrow;
  else
    require_wgmma(*lab.device, d);
}

void read_and_write(Way way, GroupedCase* c) {
  GroupedDesc& d = c->desc;
  if (way == Way::gated) d.gate = Gate::halves, d.activation = Activation::silu;
  if (way == Way::gathered || way == Way::gated) {
    d.flags |= kGroupedDescGather;
    d.a_count = d.m / 2, d.a_divisor = 3;
  }
  if (way < Way::stored_by_index) return;
  d.flags |= kGroupedDescScatter;
  d.d_count = way == Way::stored_by_index ? d.m + 9 : d.m / 3;
  if (way == Way::stored_by_index) return;
  d.combine = Combine::sum;
  d.d_divisor = 4;
  c->weighted = true;
  if (way == Way::sums_by_inverse) d.flags |= kGroupedDescInverse;
}

GroupedCase product(GroupedLab& lab, DType in, DType out, Order order, Way way, bool mma,
                    int number) {
  constexpr Grouping kGroupings[] = {Grouping::ends, Grouping::by_row, Grouping::masked,
                                     Grouping::psum, Grouping::offsets};
  GroupedCase c;
  GroupedDesc& d = c.desc;
  sizes(&d);
  d.a_dtype = in, d.d_dtype = out, d.b_order = order;
  d.grouping = kGroupings[number % 5];
  choose(lab, mma, &d);
  read_and_write(way, &c);
  return c;
}

// Draws operands until a group has rows.
void draw_some(GroupedLab& lab, GroupedCase* c) {
  const auto any = [&] {
    for (int64_t g = 0; g < c->desc.groups; ++g)
      if (span_of(*c, g).end > span_of(*c, g).begin) return true;
    return false;
  };
  do {
    draw_groups(lab.random, c, false);
  } while (!any());
  draw_other_operands(lab.random, c, false);
}

void check_all(const GroupedLab& lab, const TakenRows& taken, bool narrow) {
  if (!on_gpu()) return;
  taken.check_all(*lab.device, Family::grouped, [&](const KernelEntry& entry) {
    return multiplies(entry) && (is_f8(entry.dtypes[0]) || entry.dtypes[0] == DType::I8) == narrow;
  });
}

}  // namespace

TEST_CASE("grouped: a thousand runs of products of 16 bits with every kernel") {
  GroupedLab lab(1);
  if (!lab.device) return;
  TakenRows taken;
  int number = 0;
  for (const DType in : {DType::BF16, DType::F16})
    for (const DType out : {in, DType::F32})
      for (const bool mma : {false, true}) {
        for (const Order order : {Order::column, Order::row})
          for (const Way way : kWays) {
            // A row-major B has the two halves of a gate in different boxes.
            if (order == Order::row && way == Way::gated && !mma) continue;
            if (mma && order == Order::row && way < Way::sums) continue;
            GroupedCase c = product(lab, in, out, order, way, mma, number++);
            draw_some(lab, &c);
            roughen(lab.random, &c);
            repeat(lab, &taken, c);
          }
        if (out != DType::F32) continue;
        GroupedCase c;
        c.desc.grouping = Grouping::k_ranges;
        sizes(&c.desc);
        c.desc.m = on_gpu() ? 320 : 64;
        c.desc.a_dtype = in, c.desc.d_dtype = out;
        c.beta = 1;
        choose(lab, mma, &c.desc);
        draw_some(lab, &c);
        roughen(lab.random, &c);
        repeat(lab, &taken, c);
      }
  check_all(lab, taken, false);
}

TEST_CASE("grouped: a thousand runs that add to D in a fixed order") {
  GroupedLab lab(3);
  if (!lab.device) return;
  TakenRows taken;
  for (const DType in : {DType::BF16, DType::F16})
    for (const DType out : {in, DType::F32})
      for (const Way way : {Way::sums, Way::sums_by_inverse}) {
        GroupedCase c = product(lab, in, out, Order::column, way, false, 0);
        c.desc.combine = Combine::add;
        draw_some(lab, &c);
        roughen(lab.random, &c);
        repeat(lab, &taken, c);
      }
}

TEST_CASE("grouped scaled: a thousand runs of products of 8 bits with every kernel") {
  GroupedLab lab(2);
  if (!lab.device) return;
  constexpr std::pair<ScaleKind, ScaleKind> kScales[] = {{ScaleKind::row128, ScaleKind::block128},
                                                         {ScaleKind::row128, ScaleKind::row128},
                                                         {ScaleKind::row, ScaleKind::row},
                                                         {ScaleKind::tensor, ScaleKind::tensor}};
  TakenRows taken;
  int number = 0;
  struct Pair {
    DType a, b;
    bool mma;
  };
  for (const Pair& pair :
       {Pair{DType::F8E4M3, DType::F8E4M3, false}, Pair{DType::F8E4M3, DType::F8E5M2, false},
        Pair{DType::F8E5M2, DType::F8E4M3, false}, Pair{DType::F8E4M3, DType::F8E4M3, true},
        Pair{DType::F8E5M2, DType::F8E4M3, true}, Pair{DType::I8, DType::I8, true}}) {
    for (const DType out : {DType::BF16, DType::F32})
      for (const Way way : kWays) {
        GroupedCase c = product(lab, pair.a, out, Order::column, way, pair.mma, number);
        GroupedDesc& d = c.desc;
        d.b_dtype = pair.b;
        std::tie(d.a_scaling.kind, d.b_scaling.kind) = kScales[number++ % 4];
        draw_some(lab, &c);
        repeat(lab, &taken, c);
      }
    if (!pair.mma) continue;
    GroupedCase c;
    c.desc.grouping = Grouping::k_ranges;
    sizes(&c.desc);
    c.desc.a_dtype = pair.a, c.desc.b_dtype = pair.b, c.desc.d_dtype = DType::F32;
    c.desc.a_scaling.kind = c.desc.b_scaling.kind = ScaleKind::row;
    draw_some(lab, &c);
    repeat(lab, &taken, c);
  }
  check_all(lab, taken, true);
}
