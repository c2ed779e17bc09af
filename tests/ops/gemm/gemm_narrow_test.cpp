// SPDX-License-Identifier: Apache-2.0
// Which kernels products of narrow types take on Hopper, and how those divide a D whose scales they
// compute.
#include <string>

#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/gemm/gemm_entry.hpp"
#include "ops/gemm/select/gemm_shares.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

GemmDesc narrow(DType in, DType out, int64_t m, int64_t n, int64_t k) {
  GemmDesc desc = gemm_desc(m, n, k);
  desc.a_dtype = in;
  desc.d_dtype = out;
  desc.a_order = Order::row;
  desc.b_order = Order::column;
  desc.a_alignment = desc.b_alignment = 16;
  return desc;
}

GemmDesc quantizing(Gate gate, int64_t m = 1000) {
  GemmDesc desc = narrow(DType::F8E4M3, DType::F8E4M3, m, 4096 + 128, 7168);
  desc.a_scaling = {.kind = ScaleKind::row128, .order = Order::column};
  desc.b_scaling = {.kind = ScaleKind::block128, .order = Order::column};
  desc.d_quantize = {.kind = ScaleKind::row128};
  desc.epilogue.gate = gate;
  return desc;
}

std::vector<GemmCandidate> candidates(const GemmDesc& desc) {
  return GemmRanking(*hopper(132, "NVIDIA H200"), gemm_problem_of(desc)).candidates(desc.m);
}

}  // namespace

TEST_CASE("gemm narrow: i8 takes wgmma for every type of D, at the speed of fp8") {
  for (const DType out : {DType::I32, DType::BF16, DType::F16, DType::F32, DType::I8}) {
    INFO(dtype_name(out));
    const GemmCandidate best = candidates(narrow(DType::I8, out, 4096, 4096, 7168)).front();
    CHECK(std::string(best.choice.entry->symbol) == "gemm_i8_i8_any_rc_128x256_1x1_faststream");
    if (out == DType::I32 || out == DType::I8) continue;
    GemmDesc fp8 = narrow(DType::F8E4M3, out, 4096, 4096, 7168);
    fp8.fast_accumulate = true;
    CHECK(best.nanoseconds == candidates(fp8).front().nanoseconds);
  }
}

TEST_CASE("gemm narrow: i8 with scales that change along k takes a kernel without maps") {
  GemmDesc desc = narrow(DType::I8, DType::BF16, 64, 512, 512);
  desc.a_scaling = desc.b_scaling = {.kind = ScaleKind::row128};
  for (const GemmCandidate& c : candidates(desc)) CHECK_FALSE(c.choice.uses_maps());
  GemmChoice choice;
  REQUIRE(
      parse_gemm_choice("candidate", "gemm_i8_i8_any_rc_128x256_1x1_faststream/1", &choice).ok());
  const auto device = hopper();
  CHECK_FALSE(check_gemm_choice(*device, gemm_problem_of(desc), choice).ok());
  CHECK(std::string(last_failure().message).find("differ for each 128 of k") != std::string::npos);
}

TEST_CASE("gemm narrow: D with scales of its own takes wgmma, and of a gate tiles in pairs") {
  for (const Gate gate : {Gate::none, Gate::halves, Gate::interleaved}) {
    INFO("gate " << static_cast<int>(gate));
    const GemmDesc desc = quantizing(gate);
    bool shares = false;
    const auto all = candidates(desc);
    CHECK(all.front().choice.uses_maps());
    for (const GemmCandidate& c : all) shares |= c.choice.split > 1;
    CHECK(shares == (gate == Gate::none));

    const GemmChoice choice = all.front().choice;
    const GemmProblem seen = swap_ab(gemm_problem_of(desc));
    const uint32_t clusters[kMaxCluster + 1] = {0, 132, 66, 39, 30, 22, 17, 15, 15};
    const GemmShares s = gemm_shares(choice, seen.desc, seen.desc.m, seen.desc.n, 132, clusters);
    CHECK(s.consecutive_tiles == (gate == Gate::none ? 1 : 2));
    CHECK(s.units_m == (gate == Gate::none ? 33 : 34));
    CHECK(s.units() >= gemm_count_units(choice, seen));
    if (gate == Gate::none) continue;
    CHECK(s.width <= kGemmMaxHeldColumns);
    CHECK(s.divided_units() == 0);
    CHECK(s.workers <= s.units() / 2);
  }
}

TEST_CASE("gemm narrow: pairs of tiles leave four stages, and nobody shares them along k") {
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if (entry.feature != feature::wgmma || (entry.variant & kGemmNarrow) == 0) continue;
    INFO(entry.symbol);
    const GemmChoice choice{&entry, 1};
    // Such kernels compute no scales of D.
    if (choice.is_scaled_rowstream() || choice.is_narrow_split()) continue;
    const GemmTile tile = gemm_tile(entry, dtype_bytes(entry.dtypes[0]), kGemmAnyBytes);
    const GemmDesc desc = swap_ab(gemm_problem_of(quantizing(Gate::halves))).desc;
    for (int64_t n = 1; n <= 1000; ++n) {
      const int64_t width = gemm_tile_width(choice, desc, n);
      REQUIRE(width <= kGemmMaxHeldColumns);
      REQUIRE(gemm_pipeline_bytes(choice, desc, tile, width) >=
              4 * gemm_stream_stage(tile, static_cast<u32>(width)));
    }
  }
  const auto device = hopper();
  GemmChoice choice;
  REQUIRE(parse_gemm_choice("candidate", "gemm_f8e4m3_f8e4m3_any_rc_128x160_1x1_scaledstream/2",
                            &choice)
              .ok());
  CHECK_FALSE(check_gemm_choice(*device, gemm_problem_of(quantizing(Gate::halves)), choice).ok());
  CHECK(std::string(last_failure().message).find("so the factor must be 1") != std::string::npos);
  CHECK(check_gemm_choice(*device, gemm_problem_of(quantizing(Gate::none)), choice).ok());
}

TEST_CASE("gemm narrow: launches of pairs walk an even number of tiles in even bands") {
  const auto device = hopper(132, "NVIDIA H200");
  for (const int64_t m : {1, 100, 5000}) {
    const GemmDesc desc = quantizing(Gate::interleaved, m);
    const auto plan = plan_of(device, desc);
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    device->launches.clear();
    REQUIRE(plan->run(*stream, {.a = 1 << 20,
                                .b = 1 << 28,
                                .d = 1 << 30,
                                .a_scale = 1 << 16,
                                .b_scale = 1 << 27,
                                .d_block_scale = 1 << 26})
                .ok());
    REQUIRE(device->launches.size() == 1);
    const PaperLaunch& launch = device->launches[0];
    CHECK(launch.args.units_m == 34);
    CHECK(launch.args.band % 2 == 0);
    CHECK((launch.full.flags & kFullPairs) != 0);
    CHECK(launch.config.grid[0] <=
          static_cast<uint32_t>(launch.args.units_m * launch.args.units_n / 2));
  }
}

TEST_CASE("gemm narrow: a large m takes stream-K kernels without swap-AB") {
  const auto without_swap = [](const GemmCandidate& c) { return c.choice.is_scaled_rowstream(); };
  for (const bool blocks : {false, true}) {
    INFO("block scales: " << blocks);
    GemmDesc desc = narrow(DType::F8E4M3, DType::BF16, 4096, 4096, 4096);
    if (blocks) {
      desc.a_scaling = {.kind = ScaleKind::row128, .order = Order::column};
      desc.b_scaling = {.kind = ScaleKind::block128, .order = Order::column};
    }
    const auto many = candidates(desc);
    CHECK(without_swap(many.front()));
    CHECK(gemm_tile_width(many.front().choice, desc, desc.n) == 192);
    desc.m = 16;
    CHECK_FALSE(without_swap(candidates(desc).front()));
    // Nothing proves that they give the same bits as the kernels that a small m takes.
    desc.flags |= kGemmInvariant;
    for (const GemmCandidate& c : candidates(desc)) CHECK_FALSE(without_swap(c));
  }
}

TEST_CASE("gemm narrow: stream-K kernels without swap-AB refuse gates and scales that they lack") {
  const auto device = hopper();
  GemmChoice choice;
  REQUIRE(parse_gemm_choice("candidate", "gemm_f8e4m3_f8e4m3_any_rc_128x192_1x1_scaledrowstream/2",
                            &choice)
              .ok());
  GemmDesc desc = narrow(DType::F8E4M3, DType::BF16, 1000, 4096, 4096);
  CHECK(check_gemm_choice(*device, gemm_problem_of(desc), choice).ok());
  desc.epilogue.gate = Gate::interleaved;
  CHECK_FALSE(check_gemm_choice(*device, gemm_problem_of(desc), choice).ok());
  CHECK(std::string(last_failure().message).find("has no gates") != std::string::npos);
  desc.epilogue.gate = Gate::none;
  desc.a_scaling = desc.b_scaling = {.kind = ScaleKind::row128};
  CHECK_FALSE(check_gemm_choice(*device, gemm_problem_of(desc), choice).ok());
  CHECK(std::string(last_failure().message).find("only as 1x128 of A by 128x128 of B") !=
        std::string::npos);
  CHECK_FALSE(check_gemm_choice(*device, gemm_problem_of(quantizing(Gate::none)), choice).ok());
}

TEST_CASE("gemm narrow: few tokens take split-K kernels, where these suffice") {
  const auto is_split = [](const GemmCandidate& c) { return c.choice.is_narrow_split(); };
  for (const bool fast : {false, true})
    for (const int64_t m : {1, 16, 64, 128}) {
      INFO("m " << m << ", fast " << fast);
      GemmDesc desc = narrow(DType::F8E4M3, DType::BF16, m, 4096, 4096);
      desc.a_scaling = desc.b_scaling = {.kind = ScaleKind::tensor};
      desc.fast_accumulate = fast;
      CHECK(is_split(candidates(desc).front()));
      for (const GemmCandidate& c : candidates(desc))
        CHECK((fast || !c.choice.has(kGemmNoPromotion)));
    }
  const auto any = [&](const GemmDesc& desc) {
    const auto all = candidates(desc);
    return std::any_of(all.begin(), all.end(), is_split);
  };
  const GemmDesc few = narrow(DType::F8E4M3, DType::BF16, 16, 4096, 4096);
  CHECK(any(few));
  GemmDesc other = few;
  other.epilogue.bias = Per::column, other.epilogue.activation = Activation::silu;
  CHECK(any(other));
  other.epilogue.gate = Gate::interleaved;
  CHECK_FALSE(any(other));
  other = few;
  other.flags |= kGemmDeviceM;
  CHECK_FALSE(any(other));
  other = few;
  other.batch = 2;
  CHECK_FALSE(any(other));
  other = few;
  other.flags |= kGemmInvariant;
  CHECK_FALSE(any(other));
  other = few;
  other.a_scaling = other.b_scaling = {.kind = ScaleKind::row128};
  CHECK(any(other));
  CHECK_FALSE(any(quantizing(Gate::none, 16)));
  CHECK_FALSE(any(narrow(DType::I8, DType::BF16, 16, 4096, 4096)));
}

TEST_CASE("gemm narrow: split-K kernels say what they lack") {
  const auto device = hopper();
  GemmChoice choice;
  REQUIRE(
      parse_gemm_choice("candidate", "gemm_f8e4m3_f8e4m3_any_rc_64x64_1x1_scaledsplit/2", &choice)
          .ok());
  GemmDesc desc = narrow(DType::F8E4M3, DType::BF16, 16, 4096, 4096);
  CHECK(check_gemm_choice(*device, gemm_problem_of(desc), choice).ok());
  desc.epilogue.gate = Gate::interleaved;
  CHECK_FALSE(check_gemm_choice(*device, gemm_problem_of(desc), choice).ok());
  CHECK(std::string(last_failure().message).find("one product without a gate") !=
        std::string::npos);
  CHECK_FALSE(check_gemm_choice(*device, gemm_problem_of(quantizing(Gate::none, 16)), choice).ok());
  CHECK(std::string(last_failure().message).find("takes no d_quantize") != std::string::npos);
}

TEST_CASE("gemm narrow: split-K kernels are persistent with a factor of 1") {
  const auto device = hopper(132, "NVIDIA H200");
  for (const uint32_t factor : {1u, 4u}) {
    INFO("factor " << factor);
    const GemmDesc desc = narrow(DType::F8E4M3, DType::BF16, 16, 64 * 200, 4096);
    GemmChoice choice;
    const std::string text =
        "gemm_f8e4m3_f8e4m3_any_rc_64x64_1x1_scaledsplit/" + std::to_string(factor);
    REQUIRE(parse_gemm_choice("candidate", text.c_str(), &choice).ok());
    std::unique_ptr<Plan> plan;
    REQUIRE(GemmPlan::create_forced(device, desc, choice, &plan).ok());
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    device->launches.clear();
    REQUIRE(static_cast<const GemmPlan&>(*plan)
                .run(*stream, {.a = 1 << 20, .b = 1 << 28, .d = 1 << 30})
                .ok());
    REQUIRE(device->launches.size() == 1);
    const LaunchConfig& config = device->launches[0].config;
    CHECK(config.grid[0] == (factor == 1 ? 132 : 200 * factor));
    CHECK(config.cluster[0] == factor);
    CHECK(plan->info().workspace_bytes == 0);
  }
}

TEST_CASE("gemm narrow: a 16-bit D of many tokens is stored by TMA in pieces of 64 columns") {
  const auto device = hopper(132, "NVIDIA H200");
  for (const DType out : {DType::BF16, DType::F32}) {
    const GemmDesc desc = narrow(DType::F8E4M3, out, 4096, 4096, 4096);
    const GemmCandidate best = GemmRanking(*device, gemm_problem_of(desc)).candidates(4096).front();
    REQUIRE(best.choice.is_scaled_rowstream());
    for (int64_t n = 1; n <= 1000; ++n) REQUIRE(gemm_tile_width(best.choice, desc, n) % 64 == 0);
    const auto plan = plan_of(device, desc);
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    device->launches.clear();
    REQUIRE(plan->run(*stream, {.a = 1 << 20,
                                .b = 1 << 28,
                                .d = 1 << 30,
                                .workspace = 1ull << 32,
                                .workspace_bytes = 1ull << 30})
                .ok());
    REQUIRE(device->launches.size() == 1);
    const bool stores = (device->launches[0].full.flags & kFullTmaStores) != 0;
    CHECK(stores == (out == DType::BF16));
    CHECK(plan->info().boxes_stored == (stores ? 4096 / 16 * (4096 / 64) : 0));
  }
}
