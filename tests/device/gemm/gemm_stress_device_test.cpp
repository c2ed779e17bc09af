// SPDX-License-Identifier: Apache-2.0
// Stress tests of GEMM: repeated, on several streams, on few SMs and beside other kernels it must
// give the same bits. Also: a captured graph holds the kernel and grid that the plan reports.
#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/device/common/captured_kernel.hpp"
#include "tests/device/gemm/gemm_choices.hpp"
#include "tests/device/gemm/gemm_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int kEqualRuns = 1000;
constexpr int kStreams = 4;
constexpr int kLaunches = 10000;
constexpr uint32_t kHeldSms = 120;

// A case with partial tiles in both dimensions and several tiles per block, if the kernel is
// persistent. `stored`: the TMA can store all of D. Otherwise D has an odd width, and k is long
// enough for two accumulation chains if the kernel makes them.
GemmCase case_for(const GemmChoice& choice, uint64_t seed, bool stored = true) {
  GemmCase c;
  c.desc = desc_for(choice, Order::row);
  c.desc.m = 1032;
  c.desc.n = 1544;
  c.desc.k = 840;
  if (choice.has(kGemmSplit)) c.desc.m = c.desc.n = 264;
  if (!stored) {
    c.desc.n -= 1;
    if (choice.divides_k_into_chains()) c.desc.k = 4168;
  }
  set_pitches(choice, 0, &c.desc);
  c.desc.ldd = (c.desc.n + 7) / 8 * 8;
  c.seed = seed;
  return c;
}

// Sets extents of `tiles` tiles along one dimension and one along the other.
void tiles_in_a_row(const GemmChoice& choice, int64_t tiles, GemmDesc* desc) {
  const bool turned = choice.has(kGemmSwapAB);
  desc->m = choice.entry->tile[turned ? 1 : 0] * (turned ? 1 : tiles) - 3;
  desc->n = choice.entry->tile[turned ? 0 : 1] * (turned ? tiles : 1) - 5;
  set_pitches(choice, 0, desc);
}

const GemmPlan& forced(const GemmLab& lab, const GemmCase& c, const GemmChoice& choice,
                       std::unique_ptr<Plan>* plan) {
  TW_REQUIRE_OK(GemmPlan::create_forced(lab.device(), c.desc, choice, plan));
  return static_cast<const GemmPlan&>(**plan);
}

}  // namespace

TEST_CASE("gemm: a thousand runs of one plan give equal bits") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  uint64_t seed = 1000;
  for (const GemmChoice& choice : one_of_each_kind(*lab->device()))
    for (const bool stored : {true, false}) {
      if (!stored && (choice.has(kGemmSplit) || does_product_alone(choice)))
        continue;  // needs a D that the TMA can store
      const GemmCase c = case_for(choice, ++seed, stored);
      INFO(gemm_choice_text(choice) << ": " << describe(c));
      std::unique_ptr<Plan> plan;
      const GemmPlan& gemm = forced(*lab, c, choice, &plan);
      const GemmOperands at = lab->prepare(c);
      CHECK(lab->run(gemm, c, at).text == "");
      TW_REQUIRE_OK(lab->stream().copy_on_device(lab->spare(), at.d, at.d_bytes));
      for (int i = 0; i < kEqualRuns; ++i) {
        TW_REQUIRE_OK(lab->stream().fill(at.d, GemmLab::kPoison, at.d_bytes));
        TW_REQUIRE_OK(gemm.run(lab->stream(), at.run(c)));
        TW_REQUIRE_OK(lab->check().compare_bits(lab->stream(), at.d, lab->spare(), at.d_bytes));
      }
      uint64_t different = 0;
      TW_REQUIRE_OK(lab->check().different(&different));
      CHECK(different == 0);
    }
}

TEST_CASE("gemm: small products of each kind, for tools that slow kernels down") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  uint64_t seed = 6000;
  for (const GemmChoice& choice : share_of(one_of_each_kind(*lab->device()))) {
    GemmCase c = case_for(choice, ++seed);
    const KernelEntry& entry = *choice.entry;
    const bool turned = choice.has(kGemmSwapAB);
    // A block of a split-K kernel has one tile.
    const auto around = [&](int i) {
      const int64_t tiles = entry.tile[i] * choice.cluster_along(i);
      return choice.has(kGemmSplit) ? std::max<int64_t>(8, tiles - 8) : tiles + 8;
    };
    c.desc.m = around(turned ? 1 : 0);
    c.desc.n = around(turned ? 0 : 1);
    c.desc.k = choice.split * 64 + 72;
    c.desc.max_sms = choice.has(kGemmSplit) ? 0 : choice.cluster();  // several tiles per block
    set_pitches(choice, 0, &c.desc);
    INFO(gemm_choice_text(choice) << ": " << describe(c));
    std::unique_ptr<Plan> plan;
    CHECK(lab->run(forced(*lab, c, choice, &plan), c).text == "");
  }
}

TEST_CASE("gemm: ten thousand launches back to back on four streams at once") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  const std::vector<GemmChoice> kinds = one_of_each_kind(*lab->device());
  const int per_kind = kLaunches / kStreams / static_cast<int>(kinds.size()) + 1;
  std::unique_ptr<Stream> streams[kStreams];
  for (auto& stream : streams) TW_REQUIRE_OK(lab->device()->create_stream(&stream));
  int launches = 0;
  uint64_t seed = 2000;
  for (const GemmChoice& choice : kinds) {
    GemmCase c = case_for(choice, ++seed);
    INFO(gemm_choice_text(choice) << ": " << describe(c));
    std::unique_ptr<Plan> plan;
    const GemmPlan& gemm = forced(*lab, c, choice, &plan);
    const GemmOperands at = lab->prepare(c);
    CHECK(lab->run(gemm, c, at).text == "");
    // Each stream writes its own D. Every launch must write the bits of the first run.
    const uint64_t step = (at.d_bytes + 1023) / 1024 * 1024;
    REQUIRE(step * kStreams <= GemmLab::kRegionBytes);
    TW_REQUIRE_OK(lab->stream().fill(lab->spare(), 0, step * kStreams));
    TW_REQUIRE_OK(lab->stream().synchronize());
    for (int i = 0; i < per_kind; ++i)
      for (int s = 0; s < kStreams; ++s) {
        GemmRun run = at.run(c);
        run.d = lab->spare() + static_cast<uint64_t>(s) * step;
        run.workspace += static_cast<uint64_t>(s) * (GemmLab::kWorkspaceBytes / kStreams);
        run.workspace_bytes = GemmLab::kWorkspaceBytes / kStreams;
        TW_REQUIRE_OK(gemm.run(*streams[s], run));
        ++launches;
        // Comparable as a whole, because D is packed: padding would differ (poison and 0).
        if (i % 8 == 7)
          TW_REQUIRE_OK(lab->check().compare_bits(*streams[s], run.d, at.d, at.d_bytes));
      }
    for (auto& stream : streams) TW_REQUIRE_OK(stream->synchronize());
    uint64_t different = 0;
    TW_REQUIRE_OK(lab->check().different(&different));
    CHECK(different == 0);
  }
  CHECK(launches >= kLaunches);
}

TEST_CASE("gemm: right on 1, 16 and 131 SMs") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  uint64_t seed = 3000;
  for (const GemmChoice& choice : one_of_each_kind(*lab->device()))
    for (const uint32_t sms : {1u, 16u, 131u}) {
      if (choice.cluster() > sms) continue;
      GemmCase c = case_for(choice, ++seed);
      c.desc.max_sms = sms;
      INFO(gemm_choice_text(choice) << ": " << describe(c));
      // Each cluster of a split-K kernel has one tile, so the number of tiles is limited.
      if (choice.has(kGemmSplit)) tiles_in_a_row(choice, sms / choice.cluster(), &c.desc);
      std::unique_ptr<Plan> plan;
      const GemmPlan& gemm = forced(*lab, c, choice, &plan);
      const PlanInfo info = plan->info();
      const uint32_t blocks_an_sm = choice.has(kGemmNoMaps) ? 4 : 1;
      CHECK(info.grid[0] <= sms * blocks_an_sm);
      CHECK(lab->run(gemm, c).text == "");
    }
  // The plan chooses the kernel.
  for (const uint32_t sms : {1u, 16u, 131u}) {
    GemmCase c;
    c.desc.m = 700;
    c.desc.n = 520;
    c.desc.k = 2048;
    c.desc.max_sms = sms;
    INFO(describe(c));
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create(lab->device(), c.desc, &plan));
    CHECK(lab->run(static_cast<const GemmPlan&>(*plan), c).text == "");
  }
}

TEST_CASE("gemm: beside a kernel that holds 120 SMs") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  if (lab->device()->info().sm_count < static_cast<int32_t>(kHeldSms) + 2)
    return skip("needs more than 121 SMs");
  std::unique_ptr<Stream> holder, control;
  TW_REQUIRE_OK(lab->device()->create_stream(&holder));
  TW_REQUIRE_OK(lab->device()->create_stream(&control));
  uint64_t seed = 4000;
  for (const GemmChoice& choice : one_of_each_kind(*lab->device())) {
    const GemmCase c = case_for(choice, ++seed);
    INFO(gemm_choice_text(choice) << ": " << describe(c));
    std::unique_ptr<Plan> plan;
    const GemmPlan& gemm = forced(*lab, c, choice, &plan);
    const GemmOperands at = lab->prepare(c);
    TW_REQUIRE_OK(lab->stream().synchronize());
    TW_REQUIRE_OK(lab->check().hold(*holder, kHeldSms));
    uint32_t holding = 0;
    while (holding < kHeldSms) TW_REQUIRE_OK(lab->check().holding(*control, &holding));
    TW_REQUIRE_OK(gemm.run(lab->stream(), at.run(c)));
    // Larger clusters may wait for the holder's end, which is no deadlock. So do clusters of two of
    // kernels without tensor maps on an H200, although two such blocks could share an SM; the
    // reason is unknown.
    const bool finds_room = choice.cluster() == 1 || (choice.cluster() == 2 && choice.uses_maps());
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(finds_room ? 2000 : 20);
    bool finished = false;
    while (!finished && std::chrono::steady_clock::now() < until)
      finished = lab->stream().query().ok();
    CHECK_FALSE(holder->query().ok());
    if (finds_room) CHECK(finished);
    TW_REQUIRE_OK(lab->check().let_go(*control));
    TW_REQUIRE_OK(holder->synchronize());
    CHECK(lab->look(c, at).text == "");
  }
}

TEST_CASE("gemm: kernel, grid and cluster are those of the node in a captured graph") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  Capture capture;
  if (!capture.open()) return;
  std::unique_ptr<Stream> stream;
  TW_REQUIRE_OK(lab->device()->wrap_stream(static_cast<CUstream_st*>(capture.stream()), &stream));
  const auto look = [&](const GemmPlan& gemm, const GemmCase& c) {
    const GemmOperands at = lab->prepare(c);
    TW_REQUIRE_OK(lab->stream().synchronize());
    capture.begin();
    TW_REQUIRE_OK(gemm.run(*stream, at.run(c)));
    const CapturedKernel node = capture.end();
    const PlanInfo info = gemm.info();
    CHECK(node.name == info.kernel);
    CHECK(node.dynamic_smem_bytes == info.dynamic_smem_bytes);
    for (int i = 0; i < 3; ++i) {
      CHECK(node.grid[i] == info.grid[i]);
      CHECK(node.block[i] == info.block[i]);
      CHECK(node.cluster[i] == info.cluster[i]);
    }
    CHECK(gemm.explain().find(info.kernel) != std::string::npos);
    capture.replay();
    CHECK(lab->look(c, at).text == "");
  };
  uint64_t seed = 5000;
  for (const GemmChoice& choice : one_of_each_kind(*lab->device())) {
    const GemmCase c = case_for(choice, ++seed);
    INFO(gemm_choice_text(choice));
    std::unique_ptr<Plan> plan;
    look(forced(*lab, c, choice, &plan), c);
  }
  for (const int64_t m : {1, 16, 100, 500, 3000}) {
    GemmCase c;
    c.desc.m = m;
    c.desc.n = 1000;
    c.desc.k = 1536;
    c.desc.b_order = Order::column;
    INFO(describe(c));
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create(lab->device(), c.desc, &plan));
    look(static_cast<const GemmPlan&>(*plan), c);
  }
}
