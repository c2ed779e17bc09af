// SPDX-License-Identifier: Apache-2.0
// mma.sync kernels with split-K: when a plan chooses them, and that they need no staging copy.
#include <string>

#include "ops/gemm/gemm_staging.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

bool is_mma_split(const GemmChoice& choice) {
  return choice.has(kGemmNoMaps) && choice.has(kGemmSplit);
}

// A small m; both operands are contiguous along an odd k.
GemmDesc odd_desc(int64_t m, int64_t n, int64_t k, bool staging_copy) {
  GemmDesc desc = gemm_desc(m, n, k);
  desc.min_m = m;
  desc.staging_copy = staging_copy;
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  return desc;
}

}  // namespace

TEST_CASE("with a small m and an odd pitch, mma.sync kernels with split-K make no copies") {
  const auto device = hopper();
  for (const bool staging_copy : {false, true})
    for (const int64_t k : {4097, 4098, 4100}) {
      INFO("k " << k << (staging_copy ? std::string(", staging copy") : std::string()));
      const auto plan = plan_of(device, odd_desc(17, 4096, k, staging_copy));
      const GemmChoice& choice = plan->kernel_for(17).choice();
      CHECK(is_mma_split(choice));
      CHECK(plan->info().workspace_bytes == 0);
      CHECK(plan->explain().find(gemm_choice_text(choice)) != std::string::npos);
      CHECK(plan->explain().find("are copied") == std::string::npos);
      device->launches.clear();
      const PaperLaunch launch = launched(device, *plan, 17);
      CHECK(device->launches.size() == 1);
      // swap-AB: the kernel's rows are those of the caller's B.
      CHECK(launch.args.a == kB);
      CHECK(launch.args.b == kA);
      CHECK(launch.args.m == 4096);
      CHECK(launch.args.n == 17);
      CHECK(launch.args.a_stride_m == k);
      CHECK(launch.args.b_stride_n == k);
      CHECK(launch.config.grid[0] == 32 * choice.split);
      CHECK(launch.config.cluster[0] == choice.split);
    }
}

TEST_CASE("mma.sync kernels with split-K take one pair of orders, any D, and no batch") {
  const auto device = hopper();
  for (int orders = 0; orders < 8; ++orders) {
    GemmDesc desc = odd_desc(17, 512, 1001, false);
    desc.a_order = static_cast<Order>(orders & 1);
    desc.b_order = static_cast<Order>(orders >> 1 & 1);
    desc.d_order = static_cast<Order>(orders >> 2);
    const bool along_k = desc.a_order == Order::row && desc.b_order == Order::column;
    int found = 0;
    for (const GemmCandidate& one : GemmRanking(*device, gemm_problem_of(desc)).candidates(17))
      found += is_mma_split(one.choice);
    CHECK(found == (along_k ? 8 : 0));
    const std::string text = "gemm_bf16_bf16_plainsplit_128x32x32/3";
    CHECK((forced(device, desc, text) != nullptr) == along_k);
    if (!along_k) CHECK(std::string(last_failure().fault.rule) == "candidate_orders");
  }
  GemmDesc batch = odd_desc(17, 512, 1001, false);
  batch.batch = 2;
  for (const GemmCandidate& one : GemmRanking(*device, gemm_problem_of(batch)).candidates(17))
    CHECK_FALSE(is_mma_split(one.choice));
}

TEST_CASE("invariant plans use no mma.sync kernel with split-K, whose factor depends on m") {
  const auto device = hopper();
  GemmDesc desc = odd_desc(17, 4096, 4097, false);
  desc.flags = kGemmInvariant;
  for (const GemmCandidate& one : GemmRanking(*device, gemm_problem_of(desc)).candidates(17))
    CHECK_FALSE(one.choice.has(kGemmSplit));
  CHECK_FALSE(forced(device, desc, "gemm_bf16_bf16_plainsplit_128x32x32/8"));
}

TEST_CASE("with a large m and a long odd k, operands are copied") {
  const auto device = hopper();
  const auto plan = plan_of(device, odd_desc(4096, 4096, 4097, true));
  CHECK(plan->kernel_for(4096).choice().uses_maps());
  CHECK(plan->info().workspace_bytes > 0);
  CHECK(plan->explain().find("are copied") != std::string::npos);
  // Forced, the kernel reads the operands in place.
  const auto own =
      forced(device, odd_desc(4096, 4096, 4097, true), "gemm_bf16_bf16_plainsplit_128x32x32/1");
  REQUIRE(own);
  CHECK(own->info().workspace_bytes == 0);
}

TEST_CASE("rows of A that are shorter than 16 bytes have another kernel") {
  const auto device = hopper();
  // A staging copy would give B a longer pitch, but this kernel reads the original.
  for (const bool staging_copy : {false, true}) {
    INFO((staging_copy ? "staging copy" : "no copy"));
    GemmDesc desc = odd_desc(1, 4096, 5, staging_copy);
    if (staging_copy) desc.a_alignment = desc.b_alignment = 0;
    const GemmProblem problem = gemm_with_staging(gemm_problem_of(desc));
    for (const GemmCandidate& one : GemmRanking(*device, problem).candidates(1))
      CHECK_FALSE(is_mma_split(one.choice));
    CHECK_FALSE(is_mma_split(plan_of(device, desc)->kernel_for(1).choice()));
    CHECK_FALSE(forced(device, desc, "gemm_bf16_bf16_plainsplit_128x32x32/1"));
    CHECK(std::string(last_failure().fault.rule) == "candidate_pitches");
    CHECK(std::string(last_failure().message).find(staging_copy ? "k is 5" : "ldb is 5") !=
          std::string::npos);
  }
}
