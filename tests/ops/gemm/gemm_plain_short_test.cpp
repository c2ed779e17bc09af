// SPDX-License-Identifier: Apache-2.0
// mma.sync kernels for a short k: when a plan chooses them, and that they need no staging copy.
#include <string>

#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Both operands are contiguous along an odd k.
GemmDesc short_desc(int64_t m, int64_t n, int64_t k, bool realign) {
  GemmDesc desc = gemm_desc(m, n, k);
  desc.min_m = m;
  desc.staging_copy = realign;
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  return desc;
}

int short_rows(const std::shared_ptr<Device>& device, const GemmDesc& desc) {
  int found = 0;
  for (const GemmCandidate& one : GemmRanking(*device, gemm_problem_of(desc)).candidates(desc.m))
    found += one.choice.has(kGemmShort);
  return found;
}

constexpr const char* kText = "gemm_bf16_bf16_plainshort_32x32x64";

}  // namespace

TEST_CASE("few rows of a short odd k take one launch and no workspace") {
  const auto device = hopper();
  for (const bool realign : {false, true})
    for (const int64_t m : {1, 17})
      for (const int64_t k : {7, 33, 63}) {
        INFO("m " << m << ", k " << k << (realign ? std::string(", realign") : std::string()));
        const auto plan = plan_of(device, short_desc(m, 4096, k, realign));
        CHECK(gemm_choice_text(plan->kernel_for(m).choice()) == kText);
        CHECK(plan->info().workspace_bytes == 0);
        CHECK(plan->explain().find("are copied") == std::string::npos);
        CHECK((plan->explain().find("staging copies would take longer") != std::string::npos) ==
              realign);
        device->launches.clear();
        const PaperLaunch launch = launched(device, *plan, m);
        CHECK(device->launches.size() == 1);
        CHECK(launch.args.a == kA);
        CHECK(launch.args.b == kB);
        CHECK(launch.args.a_stride_m == k);
        CHECK(launch.args.b_stride_n == k);
        CHECK(launch.config.cluster[0] == 1);
        CHECK(launch.config.grid[0] == 128);
      }
}

TEST_CASE("many rows of a short odd k are copied where they may be") {
  const auto device = hopper();
  const auto plan = plan_of(device, short_desc(4096, 4096, 33, true));
  CHECK(plan->kernel_for(4096).choice().uses_maps());
  CHECK(plan->info().workspace_bytes > 0);
}

TEST_CASE("rows of a short k are predicted no faster than memory takes D") {
  const auto device = hopper();
  constexpr double kMostBytesPerNs = 4000;
  for (const DType out : {DType::BF16, DType::F32})
    for (const int64_t k : {1, 7, 63}) {
      GemmDesc desc = short_desc(32, int64_t{1} << 22, k, false);
      desc.d_dtype = out;
      const double bytes = 32.0 * static_cast<double>(desc.n) * dtype_bytes(out);
      int found = 0;
      for (const GemmCandidate& one :
           GemmRanking(*device, gemm_problem_of(desc)).candidates(desc.m)) {
        if (!one.choice.has(kGemmShort)) continue;
        INFO("k " << k << ", " << gemm_choice_text(one.choice));
        CHECK(one.nanoseconds > bytes / kMostBytesPerNs);
        ++found;
      }
      CHECK(found == 1);
    }
}

TEST_CASE("rows of a short k take 64 of it at most, one pair of orders and any D") {
  const auto device = hopper();
  for (int orders = 0; orders < 8; ++orders) {
    GemmDesc desc = short_desc(100, 512, 33, false);
    desc.lda = desc.ldb = 513;
    desc.a_order = static_cast<Order>(orders & 1);
    desc.b_order = static_cast<Order>(orders >> 1 & 1);
    desc.d_order = static_cast<Order>(orders >> 2);
    const bool along_k = desc.a_order == Order::row && desc.b_order == Order::column;
    CHECK(short_rows(device, desc) == (along_k ? 1 : 0));
    CHECK((forced(device, desc, kText) != nullptr) == along_k);
    if (!along_k) CHECK(std::string(last_failure().fault.rule) == "candidate_orders");
  }
  CHECK(short_rows(device, short_desc(100, 512, 65, false)) == 0);
  CHECK_FALSE(forced(device, short_desc(100, 512, 65, false), kText));
  CHECK(std::string(last_failure().fault.rule) == "candidate_depth");
  CHECK(std::string(last_failure().message).find("takes k up to 64: k is 65") != std::string::npos);
}

TEST_CASE(
    "what maps can read, and what every m adds alike, has other rows than those of a short k") {
  const auto device = hopper();
  CHECK(short_rows(device, short_desc(100, 512, 64, false)) == 0);
  GemmDesc desc = short_desc(100, 512, 33, false);
  desc.flags = kGemmInvariant;
  CHECK(short_rows(device, desc) == 0);
  CHECK_FALSE(forced(device, desc, kText));
  desc = short_desc(100, 512, 33, false);
  desc.batch = 2;
  CHECK(short_rows(device, desc) == 0);
}
