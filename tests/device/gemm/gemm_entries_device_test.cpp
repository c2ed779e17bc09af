// SPDX-License-Identifier: Apache-2.0
// Forces every GEMM kernel on sizes around its tile and compares with float64: each element is
// within half an ulp of the output plus 2^-20 sum |a||b|, all results of a kernel within
// distance_limit().
#include <algorithm>

#include "tests/device/gemm/gemm_choices.hpp"
#include "tests/device/gemm/gemm_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int kCases = 8;

// Extents around the tile and around the 16 bytes of a TMA store.
int64_t extent(int64_t tile, int which) {
  const int64_t extents[kCases] = {1, 7, 8, 9, tile - 1, tile, tile + 1, 2 * tile + 8};
  return extents[which % kCases];
}

// Depths of 0, less than a box, around a k block, and of several turns of the pipeline.
int64_t depth(int which, int32_t stages) {
  const int64_t depths[kCases] = {0, 1, 8, 63, 64, 65, 200, int64_t{stages} * 128 + 72};
  return depths[which % kCases];
}

// Adapts a case to batched and basic stream-K kernels, which compute only alpha * A B and store all
// of D through its tensor map: rounds extents and pitches up, and drops C.
GemmCase suited(const GemmChoice& choice, GemmCase c) {
  if (!does_product_alone(choice)) return c;
  int64_t& along = c.desc.d_order == Order::row ? c.desc.n : c.desc.m;
  along = (along + 7) / 8 * 8;
  for (int64_t* pitch : {&c.desc.lda, &c.desc.ldb, &c.desc.ldc, &c.desc.ldd})
    *pitch = std::max((*pitch + 7) / 8 * 8, along);
  c.beta = 0.0f;
  c.in_place = false;
  c.d_offset = 0;
  if (c.run_m >= 0) c.run_m = std::max<int64_t>(c.desc.m - 8, 8);
  // Lines of a column-major D must be multiples of 16 bytes in every run.
  if (c.desc.d_order == Order::column) {
    c.desc.min_m = c.desc.m;
    c.run_m = -1;
  }
  return c;
}

// Case `i` of a choice. Every option occurs; the choice's number decides which are combined.
GemmCase around_tile(const GemmChoice& choice, int i, int number) {
  GemmCase c;
  const KernelEntry& entry = *choice.entry;
  c.desc = desc_for(choice, i % 4 == 3 ? Order::column : Order::row);
  const bool turned = choice.has(kGemmSwapAB) != (c.desc.d_order == Order::column);
  const int64_t tile_m = int64_t{entry.tile[0]} * choice.cluster_m();
  const int64_t tile_n = int64_t{entry.tile[1]} * choice.cluster_n();
  c.desc.m = extent(turned ? tile_n : tile_m, i);
  c.desc.n = extent(turned ? tile_m : tile_n, i * 3 + number);
  c.desc.k = depth(i * 5 + number / kCases, entry.stages);
  if (choice.has(kGemmSplit | kGemmStreamK)) c.desc.k += (choice.split - 1) * entry.tile[2] + 1;
  set_pitches(choice, i + number, &c.desc);
  c.seed = static_cast<uint64_t>(number * 16 + i + 1);
  c.magnitude = i % 3 == 0 ? 3 : 0;
  c.alpha = i == 3 ? -1.5f : 1.0f;
  // In place with beta = 1, kernels may use TMA reductions.
  c.beta = i == 5 && number % 2 ? 1.0f : i % 2 ? 0.75f : 0.0f;
  c.in_place = i == 5;
  if (i == 5) c.desc.ldc = c.desc.ldd;
  c.desc.d_padding_writable = i == 2;
  if (i == 6) c.d_offset = static_cast<uint64_t>(dtype_bytes(c.desc.d_dtype));
  if (i == 7) c.run_m = c.desc.m - 5;
  c.plant_specials = i == 4;
  return c;
}

// 20 units of tiles for three clusters, so that the clusters of a persistent kernel compute
// several, and those of a stream-K kernel divide the last two.
GemmCase many_tiles(const GemmChoice& choice, int number) {
  GemmCase c;
  const KernelEntry& entry = *choice.entry;
  c.desc = desc_for(choice, Order::row);
  const bool turned = choice.has(kGemmSwapAB);
  c.desc.m = 3 * int64_t{entry.tile[turned ? 1 : 0]} * choice.cluster_along(turned ? 1 : 0) + 9;
  c.desc.n = 5 * int64_t{entry.tile[turned ? 0 : 1]} * choice.cluster_along(turned ? 0 : 1) - 8;
  c.desc.k = 72 + 64 * (number % 5) + (choice.divides_k_among_ctas() ? choice.split * 64 : 0);
  if (!choice.has(kGemmSplit)) c.desc.max_sms = 3 * choice.cluster();
  set_pitches(choice, number, &c.desc);
  c.seed = static_cast<uint64_t>(number + 70000);
  return c;
}

}  // namespace

TEST_CASE("gemm: every kernel of the table, forced, against float64") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  int number = 0;
  for (const GemmChoice& choice : all_choices(*lab->device())) {
    INFO(gemm_choice_text(choice));
    Verdict sums;
    std::vector<GemmCase> cases;
    for (int i = 0; i < kCases; ++i)
      cases.push_back(suited(choice, around_tile(choice, i, number)));
    cases.push_back(suited(choice, many_tiles(choice, number)));
    for (const GemmCase& c : cases) {
      INFO(describe(c));
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(GemmPlan::create_forced(lab->device(), c.desc, choice, &plan));
      const auto& gemm = static_cast<const GemmPlan&>(*plan);
      CHECK(std::string(plan->info().kernel) == choice.entry->symbol);
      const GemmOutcome outcome = lab->run(gemm, c);
      CHECK(outcome.text == "");
      if (c.magnitude == 0) {
        sums.xy += outcome.verdict.xy;
        sums.xx += outcome.verdict.xx;
        sums.yy += outcome.verdict.yy;
      }
    }
    CHECK(sums.distance() < distance_limit(cases[0].desc));
    // With alpha = 0, A and B have address 0 and must not be read.
    ++number;
    if (choice.has(kGemmStreamK) && !choice.has(kGemmEpilogue)) continue;  // always multiplies
    GemmCase c = around_tile(choice, 1, number - 1);
    c.alpha = 0.0f;
    c.beta = 2.0f;
    c = suited(choice, c);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create_forced(lab->device(), c.desc, choice, &plan));
    CHECK(lab->run(static_cast<const GemmPlan&>(*plan), c).text == "");
  }
  MESSAGE(number << " kernels and splits of kernels");
  CHECK(number > 0);
}

TEST_CASE("gemm: long sums, and large results") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  const int64_t sizes[][3] = {
      {128, 128, 65536}, {17, 40, 20000}, {2304, 1800, 520}, {64, 2112, 7168}};
  uint64_t seed = 90000;
  for (const auto& types : kGemmTypes)
    for (const auto& size : sizes) {
      GemmCase c;
      c.desc.a_dtype = types.first;
      c.desc.d_dtype = types.second;
      c.desc.b_order = Order::column;
      c.desc.m = size[0];
      c.desc.n = size[1];
      c.desc.k = size[2];
      c.seed = ++seed;
      INFO(describe(c));
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(GemmPlan::create(lab->device(), c.desc, &plan));
      const GemmOutcome outcome = lab->run(static_cast<const GemmPlan&>(*plan), c);
      CHECK(outcome.text == "");
      CHECK(outcome.verdict.distance() < distance_limit(c.desc));
    }
}

// Many elements, so that large errors occur: the drift of an accumulation chain grows with the
// square root of k. Up to a k of about 10^4 it is smaller than the rounding of an f16 D.
TEST_CASE("gemm: long sums of many elements, whatever kernel the plan chooses") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  const int64_t sizes[][3] = {{2048, 256, 7168},
                              {2048, 256, 16384},
                              {64, 4096, 7168},
                              {2048, 2048, 7168},
                              {16, 512, 65536}};
  for (const auto& types : kGemmTypes)
    for (const auto& size : sizes)
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        if (types.second == DType::F16 && size[2] == 16384) continue;
        GemmCase c;
        c.desc.a_dtype = types.first;
        c.desc.d_dtype = types.second;
        c.desc.b_order = seed % 2 ? Order::column : Order::row;
        c.desc.m = size[0];
        c.desc.n = size[1];
        c.desc.k = size[2];
        c.seed = 97000 + seed;
        INFO(describe(c));
        std::unique_ptr<Plan> plan;
        TW_REQUIRE_OK(GemmPlan::create(lab->device(), c.desc, &plan));
        const GemmOutcome outcome = lab->run(static_cast<const GemmPlan&>(*plan), c);
        CHECK(outcome.text == "");
        CHECK(outcome.verdict.distance() < distance_limit(c.desc));
        // Leaves a margin for a hundred times as many elements.
        if (types.second == DType::F32) CHECK(outcome.verdict.worst < 0.85);
      }
}

// Every kernel that divides k into accumulation chains, with several chains, C, scalars and partial
// tiles. Ping-pong kernels multiply two tiles in turn, so the blocks get an odd number of tiles:
// one tile has no partner. NaN and infinities in chains before the last one must survive the later
// additions.
TEST_CASE("gemm: k in several accumulation chains, each kernel forced") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  int number = 0;
  for (const GemmChoice& choice : all_choices(*lab->device())) {
    if (!choice.divides_k_into_chains()) continue;
    const KernelEntry& entry = *choice.entry;
    INFO(gemm_choice_text(choice));
    for (int i = 0; i < 7; ++i) {
      GemmCase c;
      c.desc = desc_for(choice, i == 4 ? Order::column : Order::row);
      const bool exchanges = choice.has(kGemmSwapAB) != (i == 4);  // A and B
      const int64_t tile_m = int64_t{entry.tile[0]} * choice.cluster_m();
      const int64_t tile_n = int64_t{entry.tile[1]} * choice.cluster_n();
      const int64_t kernel_m = i % 2 ? 3 * tile_m - 5 : tile_m + 3;
      const int64_t kernel_n = i % 3 ? tile_n + 9 : 3 * tile_n - 8;
      c.desc.m = exchanges ? kernel_n : kernel_m;
      c.desc.n = exchanges ? kernel_m : kernel_n;
      c.desc.k = i % 2 ? 4104 + 64 * (number % 3) : 16384 + 8 * (1 + number % 9);
      c.desc.max_sms = i == 1 ? 0 : choice.cluster() * (i < 3 ? 1 : 2);
      // All specials in the first chain, or each in another chain.
      c.plant_specials = i == 1 || i >= 4;
      if (i % 2 == 0) c.special_step = c.desc.k / gemm_chain_count(c.desc.k);
      set_pitches(choice, i + number, &c.desc);
      c.seed = static_cast<uint64_t>(number * 8 + i + 98000);
      c.magnitude = i == 0 ? 3 : 0;
      c.alpha = i == 3 ? -1.5f : 1.0f;
      c.beta = i == 2 || i == 6 ? 1.0f : i == 3 ? 0.75f : 0.0f;
      c.in_place = i == 2 || i == 6;
      if (c.in_place) c.desc.ldc = c.desc.ldd;
      if (i == 5) c.d_offset = 4;
      INFO(describe(c));
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(GemmPlan::create_forced(lab->device(), c.desc, choice, &plan));
      const auto& gemm = static_cast<const GemmPlan&>(*plan);
      CHECK(gemm.explain().find(" accumulation chains, added up in") != std::string::npos);
      const GemmOperands at = lab->prepare(c);
      CHECK(lab->run(gemm, c, at).text == "");
    }
    ++number;
  }
  MESSAGE(number << " kernels");
  // Kernels compiled from PTX make no chains, and a selection of kernels need not include one.
  const bool some = std::getenv("TW_KERNELS") || std::getenv("TW_EVERY");
  CHECK((number > 0 || some || !(lab->device()->info().kernel_features & feature::wgmma)));
}

TEST_CASE("gemm: one plan for every m up to its own") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  uint64_t seed = 95000;
  for (const auto& types : kGemmTypes)
    for (const Order d_order : {Order::row, Order::column}) {
      GemmCase c;
      c.desc.a_dtype = types.first;
      c.desc.d_dtype = types.second;
      c.desc.b_order = Order::column;
      c.desc.d_order = d_order;
      c.desc.m = 1200;
      c.desc.n = 712;
      c.desc.k = 1096;
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(GemmPlan::create(lab->device(), c.desc, &plan));
      const auto& gemm = static_cast<const GemmPlan&>(*plan);
      for (const int64_t m :
           {0, 1, 2, 7, 8, 9, 16, 63, 64, 65, 100, 128, 129, 250, 256, 500, 1199, 1200}) {
        c.run_m = m;
        c.seed = ++seed;
        INFO(describe(c));
        const GemmOutcome outcome = lab->run(gemm, c);
        CHECK(outcome.text == "");
        if (m > 0) CHECK(outcome.verdict.distance() < distance_limit(c.desc));
      }
    }
}
