// SPDX-License-Identifier: Apache-2.0
// Compares the grouped kernels that allow any pitches and addresses with float64 loops.
#include "tests/device/grouped/tiles_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr uint32_t kAnyPitch = kGroupedMma | kGroupedRanges;

void check_random(uint64_t seed, int cases, const GroupedMost& most, bool ranges) {
  GroupedLab lab(seed);
  if (!lab.device) return;
  for (int i = 0; i < cases; i += case_step()) {
    CAPTURE(i);
    GroupedCase c = ranges ? draw_ranges(lab.random, most) : draw_case(lab.random, most);
    c.desc.methods = kAnyPitch;
    lab.check(c);
  }
}

}  // namespace

TEST_CASE("grouped tiles: a few small products") {
  check_random(1, 24, {.m = 90, .n = 80, .k = 40, .groups = 5}, false);
}

TEST_CASE("grouped tiles: a few small ranges of k") {
  check_random(2, 8, {.m = 80, .n = 70, .k = 70, .groups = 4}, true);
}

TEST_CASE("grouped tiles: sums of many rows") {
  GroupedLab lab(9);
  if (!lab.device) return;
  for (const DType type : {DType::BF16, DType::F16, DType::F32}) {
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.methods = kAnyPitch;
    d.a_dtype = type == DType::F16 ? DType::F16 : DType::BF16, d.d_dtype = type;
    d.grouping = Grouping::by_row;
    d.m = 1300, d.n = 72, d.k = 40, d.groups = 9;
    d.max_sms = 1;
    d.flags = kGroupedDescScatter | (type == DType::F16 ? kGroupedDescInverse : 0);
    d.combine = Combine::sum;
    d.d_count = 40, d.d_divisor = 35;
    draw_operands(lab.random, &c, false);
    lab.check(c);
    c.d_rows.clear();
    d.d_count = 10, d.d_divisor = 140;
    draw_operands(lab.random, &c, true);
    lab.check(c);
  }
}

// More rows for a row of D than the kernel sorts, and more entries of an inverse than it has
// threads.
TEST_CASE("grouped tiles: many rows that are added to D in a fixed order") {
  GroupedLab lab(10);
  if (!lab.device) return;
  for (const DType type : {DType::BF16, DType::F16, DType::F32})
    for (const bool inverse : {false, true}) {
      GroupedCase c;
      GroupedDesc& d = c.desc;
      d.methods = kAnyPitch;
      d.a_dtype = type == DType::F16 ? DType::F16 : DType::BF16, d.d_dtype = type;
      d.m = 1300, d.n = 71, d.k = 16, d.groups = 9;
      d.flags = kGroupedDescScatter | (inverse ? kGroupedDescInverse : 0);
      d.combine = Combine::add;
      d.d_count = 4, d.d_divisor = 350;
      draw_operands(lab.random, &c, inverse);
      lab.check(c);
    }
}

TEST_CASE("grouped tiles: hundreds of random products") {
  check_random(3, 400, {}, false);
}

TEST_CASE("grouped tiles: random ranges of k") {
  check_random(4, 150, {}, true);
}

TEST_CASE("grouped tiles: as many groups as there may be") {
  GroupedLab lab(5);
  if (!lab.device) return;
  for (const Grouping grouping : {Grouping::ends, Grouping::by_row, Grouping::masked}) {
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.methods = kAnyPitch;
    d.grouping = grouping;
    d.m = 3000, d.n = 24, d.k = 16;
    d.groups = kGroupedMaxGroups, d.weight_count = 7;
    c.mapped = true;
    d.flags = kGroupedDescScatter;
    d.combine = Combine::sum;
    d.d_count = 600, d.d_divisor = 5;
    draw_operands(lab.random, &c, false);
    lab.check(c);
  }
}

TEST_CASE("grouped tiles: long sums of few rows of D") {
  GroupedLab lab(6);
  if (!lab.device) return;
  for (const int64_t d_count : {1, 2, 9}) {
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.methods = kAnyPitch;
    d.m = 640, d.n = 40, d.k = 16, d.groups = 5;
    d.flags = kGroupedDescScatter;
    d.combine = Combine::sum;
    d.d_count = d_count, d.d_divisor = 640 / d_count;
    d.d_dtype = DType::F32;
    draw_operands(lab.random, &c, false);
    lab.check(c);
    d.flags |= kGroupedDescInverse;
    c.d_rows.clear();
    draw_operands(lab.random, &c, true);
    lab.check(c);
  }
}

TEST_CASE("grouped tiles: many rows that say their groups") {
  GroupedLab lab(7);
  if (!lab.device) return;
  for (const int64_t m : {4096, 70000}) {
    GroupedCase c;
    c.desc.methods = kAnyPitch;
    c.desc.grouping = Grouping::by_row;
    c.desc.m = m, c.desc.n = 8, c.desc.k = 8, c.desc.groups = 33;
    for (const bool wrong : {false, true}) {
      draw_operands(lab.random, &c, wrong);
      lab.check(c);
    }
  }
}

TEST_CASE("grouped tiles: k of several chains") {
  GroupedLab lab(8);
  if (!lab.device) return;
  GroupedCase c;
  c.desc.methods = kAnyPitch;
  c.desc.m = 70, c.desc.n = 66, c.desc.k = 2500, c.desc.groups = 2;
  draw_operands(lab.random, &c, false);
  lab.check(c);
  GroupedCase ranges = draw_ranges(lab.random, {.m = 40, .n = 40, .k = 3000, .groups = 2});
  ranges.desc.methods = kAnyPitch;
  lab.check(ranges);
}
