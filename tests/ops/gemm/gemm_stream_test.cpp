// SPDX-License-Identifier: Apache-2.0
// Plans of stream-K kernels: the workspace that a run may provide, and what happens without it.
#include "ops/gemm/gemm_tune.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr const char* kStream = "gemm_bf16_bf16_rc_128x256_1x1_stream/8";

// 44 tiles of 128 columns on 132 SMs: three blocks share each tile. Each of them has two
// accumulation chains, which meet in the workspace, so that the blocks do not form a cluster.
GemmDesc shared_desc() {
  GemmDesc desc = gemm_desc(155, 5632, 1572864);
  desc.min_m = 155;
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  return desc;
}

// Makes the stream-K kernel the plan's choice by a tuning entry.
std::unique_ptr<GemmPlan> chosen(const std::shared_ptr<PaperDevice>& device, const GemmDesc& desc) {
  GemmChoice choice;
  REQUIRE(parse_gemm_choice("candidate", kStream, &choice).ok());
  GemmTuningEntry entry{
      gemm_tuning_key(*device, gemm_problem_of(desc)), desc.m, {.choice = choice}};
  entry.candidate.nanoseconds = 1000;
  GemmTuning tuning;
  tuning.add(entry);
  std::unique_ptr<Plan> plan;
  REQUIRE(GemmPlan::create(device, desc, &tuning, &plan).ok());
  return std::unique_ptr<GemmPlan>(static_cast<GemmPlan*>(plan.release()));
}

Status run(const std::shared_ptr<PaperDevice>& device, const GemmPlan& plan, const GemmRun& run) {
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  return plan.run(*stream, run);
}

}  // namespace

TEST_CASE("gemm stream-K: a run without a workspace takes another kernel") {
  const auto device = hopper();
  const auto plan = chosen(device, shared_desc());
  const uint64_t needed = plan->info().workspace_bytes;
  // Two tiles of 128 x 160 f32 for each of 132 blocks, and counters.
  CHECK(needed >= 132u * 128 * 160 * 4);
  CHECK(needed <= 2u * 132 * 128 * 160 * 4 + 4096);
  CHECK(std::string(launched(device, *plan, 155).kernel).find("stream") != std::string::npos);
  GemmRun none = kRun;
  none.workspace = none.workspace_bytes = 0;
  CHECK(std::string(launched(device, *plan, 155, none).kernel).find("stream") == std::string::npos);
  CHECK(plan->explain().find("runs without a workspace") != std::string::npos);
  GemmRun small = kRun;
  small.workspace_bytes = needed - 1;
  CHECK(run(device, *plan, small).code() == Code::ERROR_BUFFER_TOO_SMALL);
  GemmRun odd = kRun;
  odd.workspace += 16;
  CHECK(run(device, *plan, odd).code() == Code::ERROR_MISALIGNED);
  GemmRun overlapping = kRun;
  overlapping.workspace = kRun.d;
  CHECK(run(device, *plan, overlapping).code() == Code::ERROR_OVERLAP);
}

TEST_CASE("gemm stream-K: what else a run asks for goes to other kernels") {
  const auto device = hopper();
  const auto plan = chosen(device, shared_desc());
  const auto streams = [&](const GemmRun& of) {
    return std::string(launched(device, *plan, 155, of).kernel).find("stream") != std::string::npos;
  };
  CHECK(streams(kRun));
  GemmRun with_c = kRun;
  with_c.beta = 0.5f;
  CHECK_FALSE(streams(with_c));
  GemmRun nothing = kRun;
  nothing.alpha = 0;
  CHECK_FALSE(streams(nothing));
}

TEST_CASE("gemm stream-K: the stated workspace suffices for runs that read C") {
  const auto device = hopper();
  int other = 0;
  for (const int64_t m : {96, 192, 384, 768, 1152, 1536, 2304, 4096})
    for (const int64_t n : {512, 1536, 2112, 4096, 5632, 7168})
      for (const int64_t k : {512, 2048, 7168, 16384}) {
        GemmDesc desc = gemm_desc(m, n, k);
        desc.min_m = m;
        desc.b_order = Order::column;
        desc.ldb = k;
        desc.a_alignment = desc.b_alignment = desc.c_alignment = desc.d_alignment = 16;
        std::unique_ptr<Plan> made;
        REQUIRE(GemmPlan::create(device, desc, nullptr, &made).ok());
        const auto& plan = static_cast<const GemmPlan&>(*made);
        const uint64_t with_c = plan.kernel_with_c(m).workspace_bytes(m, m);
        INFO(m << " x " << n << " x " << k);
        CHECK(with_c <= plan.info().workspace_bytes);
        other += with_c > plan.kernel_for(m).workspace_bytes(m, m);
      }
  CHECK(other > 0);
}

TEST_CASE("gemm stream-K: a forced plan says what it lacks") {
  const auto device = hopper();
  const auto plan = forced(device, shared_desc(), kStream);
  REQUIRE(plan);
  GemmRun none = kRun;
  none.workspace = none.workspace_bytes = 0;
  CHECK(run(device, *plan, none).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(std::string(last_failure().fault.argument) == "workspace");
  CHECK(std::string(last_failure().message).find(std::to_string(plan->info().workspace_bytes)) !=
        std::string::npos);
  GemmRun nothing = kRun;
  nothing.alpha = 0;
  CHECK(run(device, *plan, nothing).code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.argument) == "alpha");
  CHECK(std::string(last_failure().message).find("alpha is 0") == 0);
  // Lines of D along m can have any length in a run.
  GemmDesc turned_d = shared_desc();
  turned_d.d_order = Order::column;
  turned_d.min_m = 1;
  CHECK_FALSE(forced(device, turned_d, kStream));
  GemmDesc odd = shared_desc();
  odd.n -= 4;
  CHECK_FALSE(forced(device, odd, kStream));
  CHECK(std::string(last_failure().fault.rule) == "candidate_stores");
  for (const char* parts : {"/3", "/5", "/6", "/7", "/2/2x1", "/4/1x2"}) {
    CHECK_FALSE(
        forced(device, shared_desc(), std::string("gemm_bf16_bf16_rc_128x256_1x1_stream") + parts));
    CHECK(std::string(last_failure().fault.rule) == "candidate_parts");
  }
}

TEST_CASE("gemm stream-K: no kernel is tuned for which the workspace is too small") {
  const auto device = hopper();
  device->time_of = [](const PaperLaunch& launch) {
    return std::string(launch.kernel).find("stream") != std::string::npos ? 0.010 : 0.020;
  };
  const auto tune = [&](uint64_t bytes) {
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    GemmRun of = kRun;
    of.workspace_bytes = bytes;
    if (bytes == 0) of.workspace = 0;
    GemmTuning tuning;
    GemmTuningEntry out;
    const Status status =
        tune_gemm(device, *stream, shared_desc(), of, {.candidates = 0}, tuning, &out);
    INFO(last_failure().message);
    REQUIRE(status.ok());
    return out.candidate.choice;
  };
  CHECK(tune(64 << 20).has(kGemmStreamK));
  // With too small a workspace a kernel that shares no tiles wins.
  CHECK(tune(0).split == 1);
  CHECK(tune(1024).split == 1);
}

TEST_CASE("gemm stream-K: a kernel with every epilogue serves all runs that bring a workspace") {
  const auto device = hopper();
  GemmDesc desc = shared_desc();
  desc.epilogue.bias = Per::column;
  desc.flags = kGemmDeviceM | kGemmDeviceScalars;
  const auto plan = forced(device, desc, "gemm_bf16_bf16_rc_128x256_1x1_fullstream/8");
  REQUIRE(plan);
  GemmRun whole = kRun;
  whole.bias = 1ull << 33;
  const PaperLaunch shares = launched(device, *plan, 155, whole);
  CHECK(shares.config.grid[0] == 132);
  CHECK(shares.full.bias == whole.bias);
  GemmRun with_c = whole, nothing = whole, counted = whole, scaled = whole;
  with_c.beta = 0.5f;
  CHECK(launched(device, *plan, 155, with_c).config.grid[0] == 132);
  // Tiles are not shared if nothing is multiplied or if only the device knows m or alpha.
  nothing.alpha = 0;
  counted.device_m = scaled.device_alpha = 1ull << 34;
  for (const GemmRun& run : {nothing, counted, scaled})
    CHECK(launched(device, *plan, 155, run).config.grid[0] == 44);
  GemmRun none = whole;
  none.workspace = none.workspace_bytes = 0;
  CHECK(run(device, *plan, none).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(std::string(last_failure().fault.argument) == "workspace");
}

TEST_CASE("gemm stream-K: one that shares nothing and makes one chain needs no workspace") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(155, 5632, 4096);
  desc.epilogue.activation = Activation::relu;
  for (const auto& [k, needs] : {std::pair<int64_t, bool>{4096, false}, {8192, true}}) {
    desc.k = k;
    desc.d_dtype = DType::F32;
    const auto plan = forced(device, desc, "gemm_bf16_f32_rc_128x256_1x1_fullstream/1");
    REQUIRE(plan);
    CHECK((plan->info().workspace_bytes > 0) == needs);
    GemmRun none = kRun;
    none.workspace = none.workspace_bytes = 0;
    CHECK(run(device, *plan, none).ok() != needs);
    // Without an epilogue the chains are added up in registers.
    GemmDesc basic = desc;
    basic.epilogue.activation = Activation::identity;
    basic.min_m = basic.m;
    basic.a_alignment = basic.b_alignment = basic.d_alignment = 16;
    const auto parks = forced(device, basic, "gemm_bf16_f32_rc_128x256_1x1_stream/1");
    REQUIRE(parks);
    CHECK(parks->info().workspace_bytes == 0);
    CHECK(run(device, *parks, none).ok());
  }
}

TEST_CASE("gemm stream-K: joined CTAs need a workspace for runs that depend on device memory") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(64, 5632, 8192);
  desc.min_m = desc.m;
  desc.d_dtype = DType::F32;
  desc.epilogue.activation = Activation::relu;
  const char* kernel = "gemm_bf16_f32_rc_128x256_1x1_fullstream/2";
  const auto joins = forced(device, desc, kernel);
  REQUIRE(joins);
  CHECK(joins->info().workspace_bytes == 0);
  // Such a run joins no CTAs. A block then has two accumulation chains.
  desc.flags = kGemmDeviceScalars;
  const auto depends = forced(device, desc, kernel);
  REQUIRE(depends);
  CHECK(depends->info().workspace_bytes > 0);
  GemmRun none = kRun;
  none.workspace = none.workspace_bytes = 0;
  none.device_alpha = 1ull << 34;
  CHECK(run(device, *depends, none).code() == Code::ERROR_INVALID_ARGUMENT);
}

TEST_CASE("gemm stream-K: each matrix of a batch has units, and addresses add to the workspace") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(128, 1280, 2048);
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  desc.batch = 5;  // 50 units of 32 k blocks; two blocks of the grid share each
  const std::string text = "gemm_bf16_bf16_rc_128x256_1x1_fullstream/4";
  CHECK(launched(device, *forced(device, desc, text), 128).config.grid[0] == 100);
  const uint64_t own = forced(device, desc, text)->info().workspace_bytes;
  desc.flags = kGemmPointers;
  CHECK(forced(device, desc, text)->info().workspace_bytes > own);
}
