// SPDX-License-Identifier: Apache-2.0
// Compares grouped GEMMs of 8-bit types with float64 loops over the dequantized operands: each pair
// of types, kind, order and pitch of scales with each grouping, rows by index, gates, and invalid
// numbers. Scales that must not be read are NaN.
#include "tests/device/grouped/tiles_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

void check_random(uint64_t seed, int cases, const GroupedMost& most, bool ranges) {
  GroupedLab lab(seed);
  if (!lab.device) return;
  for (int i = 0; i < cases; i += case_step()) {
    CAPTURE(i);
    lab.check(ranges ? draw_ranges(lab.random, most, true) : draw_case(lab.random, most, true));
  }
}

}  // namespace

TEST_CASE("grouped scaled: a few small products") {
  check_random(1, 24, {.m = 70, .n = 80, .k = 200, .groups = 5}, false);
}

TEST_CASE("grouped scaled: a few small ranges of k") {
  check_random(2, 8, {.m = 50, .n = 150, .k = 200, .groups = 4}, true);
}

TEST_CASE("grouped scaled: hundreds of random products") {
  check_random(3, 400, {.m = 150, .n = 300, .k = 400, .groups = 12}, false);
}

TEST_CASE("grouped scaled: many rows in few groups") {
  check_random(9, 80, {.m = 450, .n = 160, .k = 300, .groups = 2}, false);
}

TEST_CASE("grouped scaled: random ranges of k") {
  check_random(4, 150, {.m = 100, .n = 200, .k = 600, .groups = 12}, true);
}

// DeepGEMM's layouts: scales of A are M-major, padded to 4; weights have n / 128 rows of k / 128.
TEST_CASE("grouped scaled: the layouts of DeepGEMM") {
  GroupedLab lab(5);
  if (!lab.device) return;
  for (const Grouping grouping : {Grouping::psum, Grouping::by_row, Grouping::masked}) {
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.a_dtype = DType::F8E4M3, d.d_dtype = DType::BF16;
    d.grouping = grouping;
    d.b_order = Order::column;
    d.groups = 4;
    d.m = grouping == Grouping::masked ? 4 * 50 : 201, d.n = 256, d.k = 384;
    d.a_scaling = {.kind = ScaleKind::row128, .order = Order::column, .leading = 204};
    d.b_scaling = {.kind = ScaleKind::block128, .order = Order::column};
    if (grouping == Grouping::psum) d.row_alignment = 16;
    if (grouping == Grouping::masked) {
      d.a_scaling.leading = 52;
      d.a_scale_stride = 52 * 3;
    }
    draw_operands(lab.random, &c, false);
    lab.check(c);
  }
}

TEST_CASE("grouped scaled: NaN and infinity among scales") {
  GroupedLab lab(6);
  if (!lab.device) return;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int i = 0; i < 12; i += case_step()) {
    CAPTURE(i);
    GroupedCase c;
    GroupedDesc& d = c.desc;
    d.m = 40, d.n = 40, d.k = 300, d.groups = 3;
    d.flags = kGroupedDescGather;
    d.a_count = 50;
    draw_narrow(lab.random, &c);
    draw_operands(lab.random, &c, true);
    if (c.a_scale.empty()) continue;
    for (std::vector<float>* scales : {&c.a_scale, &c.b_scale})
      for (const float special : {kUnread, kInfinity, -kInfinity})
        (*scales)[size_t(pick(lab.random, 0, int64_t(scales->size()) - 1))] = special;
    d.d_dtype = DType::F32;
    lab.check(c);
  }
}

TEST_CASE("grouped scaled: neither operands nor scales are read where alpha is 0") {
  GroupedLab lab(7);
  if (!lab.device) return;
  for (const bool ranges : {false, true}) {
    const GroupedMost most = {.m = 40, .n = 40, .k = 200, .groups = 3};
    GroupedCase c =
        ranges ? draw_ranges(lab.random, most, true) : draw_case(lab.random, most, true);
    c.alpha = 0;
    lab.check(c);
  }
}

// Sums longer than one accumulation chain of the mma.sync kernels.
TEST_CASE("grouped scaled: long sums") {
  GroupedLab lab(8);
  if (!lab.device) return;
  for (const DType type : {DType::F8E4M3, DType::I8})
    for (const ScaleKind kind : {ScaleKind::none, ScaleKind::row, ScaleKind::row128}) {
      GroupedCase c;
      GroupedDesc& d = c.desc;
      d.m = 40, d.n = 130, d.k = 3000, d.groups = 2;
      d.a_dtype = type, d.d_dtype = DType::F32;
      d.a_scaling.kind = d.b_scaling.kind = kind;
      draw_operands(lab.random, &c, false);
      lab.check(c);
    }
}
