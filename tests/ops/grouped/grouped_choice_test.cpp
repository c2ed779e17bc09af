// SPDX-License-Identifier: Apache-2.0
// Which kernel a grouped product takes on Hopper, why not a faster one, and the predicted times.
#include "kernels/gemm/arguments/gemm.h"
#include "ops/grouped/grouped.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

using D = GroupedDesc;

std::shared_ptr<PaperDevice> h200() {
  auto device = std::make_shared<PaperDevice>(feature::wgmma | feature::mma | feature::tma, 132,
                                              "NVIDIA H200");
  device->set_shared_memory(kGemmSharedLimit);
  return device;
}

// A product that wgmma kernels support.
D desc_of() {
  D desc;
  desc.m = 4096, desc.n = 1024, desc.k = 512;
  desc.groups = 8;
  desc.b_order = Order::column;
  return desc;
}

std::unique_ptr<Plan> plan_of(const D& desc, const std::shared_ptr<PaperDevice>& device) {
  std::unique_ptr<Plan> plan;
  const Status made = GroupedPlan::create(device, desc, &plan);
  INFO(last_failure().message);
  REQUIRE(made.ok());
  return plan;
}

std::string explained(const D& desc) {
  return plan_of(desc, h200())->explain();
}

void says(const D& desc, const std::string& text) {
  const std::string all = explained(desc);
  INFO(all);
  CHECK(all.find(text) != std::string::npos);
}

// Checks that a description takes the mma.sync kernel for the reason `why`, and that it takes a
// wgmma kernel once `mend` has changed it.
template <class Mend>
void slow_because(const D& desc, const std::string& why, Mend mend) {
  says(desc, "kernel grouped_bf16_bf16_mma_64x64x32");
  says(desc, "not by wgmma: " + why);
  D mended = desc;
  mend(mended);
  says(mended, "kernel grouped_bf16_bf16_r");
  CHECK(explained(mended).find("not by wgmma") == std::string::npos);
}

std::vector<GroupedCandidate> candidates_of(const D& desc) {
  std::vector<GroupedCandidate> out;
  const Status listed = grouped_candidates_of(*h200(), desc, &out);
  INFO(last_failure().message);
  REQUIRE(listed.ok());
  REQUIRE(!out.empty());
  return out;
}

double nanoseconds_of(const D& desc) {
  return candidates_of(desc)[0].nanoseconds;
}

// The names of the kernels that a run with a workspace launches.
std::string launched(const D& desc) {
  const auto device = h200();
  const auto plan = plan_of(desc, device);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const auto at = [](uint64_t operand) { return operand << 40; };
  const GroupedRun run{.a = at(1),
                       .b = at(2),
                       .d = at(3),
                       .groups = at(4),
                       .a_rows = at(5),
                       .workspace = at(6),
                       .workspace_bytes = plan->info().workspace_bytes};
  const Status ran = static_cast<const GroupedPlan&>(*plan).run(*stream, run);
  INFO(last_failure().message);
  REQUIRE(ran.ok());
  std::string names;
  for (const PaperLaunch& launch : device->launches) names += launch.kernel + " ";
  return names;
}

struct Typical {
  int64_t m, groups, hint;
  int64_t used, rows;  // wanted
};

GroupedTypicalRun typical_run(const D& desc) {
  GroupedProblem problem;
  REQUIRE(grouped_problem(desc, &problem).ok());
  return grouped_typical_run(problem);
}

}  // namespace

TEST_CASE("grouped choice: expected_rows decides whether gathered rows are copied first") {
  constexpr const char* kCopies = "first copies gathered rows into a packed matrix";
  constexpr const char* kGathers = "the product kernel gathers rows itself";
  D desc = desc_of();
  desc.flags = kGroupedDescGather;
  desc.a_count = 4096;
  CHECK(launched(desc) == "grouped_pack_tma grouped_bf16_bf16_rc_128 ");
  says(desc, kCopies);
  const uint64_t with_copy = plan_of(desc, h200())->info().workspace_bytes;
  desc.expected_rows = 47;
  CHECK(launched(desc) == "grouped_bf16_bf16_rc_128 ");
  says(desc, kGathers);
  says(desc, "(expected_rows is 47)");
  CHECK(plan_of(desc, h200())->info().workspace_bytes == with_copy - 4096 * 512 * 2);
  const double without_copy = nanoseconds_of(desc);
  desc.expected_rows = 48;
  says(desc, kCopies);
  CHECK(nanoseconds_of(desc) > without_copy + 500);  // the launch of the copy
  // Few rows for each weight matrix, but the hint says that only few groups have any.
  desc.m = 200;
  desc.expected_rows = 0;
  CHECK(launched(desc) == "grouped_bf16_bf16_rc_128 ");
  says(desc, "(expected_rows is not set)");
  desc.expected_rows = 100;
  CHECK(launched(desc) == "grouped_pack_tma grouped_bf16_bf16_rc_128 ");
}

TEST_CASE("grouped choice: the groups of a typical run") {
  for (const Typical& t :
       {Typical{1000, 8, 0, 8, 125}, Typical{1001, 8, 0, 8, 126}, Typical{3, 8, 0, 3, 1},
        Typical{1000, 8, 300, 4, 300}, Typical{1000, 8, 10, 8, 10}, Typical{100, 8, 5000, 1, 100},
        Typical{0, 8, 10, 0, 0}, Typical{100, 0, 0, 0, 0}}) {
    D desc = desc_of();
    desc.m = t.m, desc.groups = t.groups, desc.expected_rows = t.hint;
    CAPTURE(t.m);
    CAPTURE(t.hint);
    CHECK(typical_run(desc).groups == t.used);
    CHECK(typical_run(desc).rows == t.rows);
  }
  D desc = desc_of();
  desc.grouping = Grouping::masked;
  desc.group_rows = 64;
  CHECK(typical_run(desc).rows == 64);
  desc.expected_rows = 9;
  CHECK(typical_run(desc).rows == 9);
  CHECK(typical_run(desc).groups == 8);
  desc = desc_of();
  desc.b_order = Order::row;
  desc.grouping = Grouping::k_ranges;
  desc.k = 4000;
  CHECK(typical_run(desc).rows == 500);
  desc.expected_rows = 1000;
  CHECK(typical_run(desc).groups == 4);
}

TEST_CASE("grouped choice: each candidate has a predicted time") {
  const D desc = desc_of();
  const auto candidates = candidates_of(desc);
  REQUIRE(candidates.size() == 2);
  CHECK(std::string(candidates[0].entry->symbol) == "grouped_bf16_bf16_rc_128");
  CHECK(std::string(candidates[1].entry->symbol) == "grouped_bf16_bf16_mma_64x64x32");
  CHECK(candidates[0].nanoseconds > 1000);
  CHECK(candidates[0].nanoseconds < candidates[1].nanoseconds);
  // 8 groups of 512 rows, each two tiles of 256 rows; 1024 columns of B are eight tiles.
  CHECK(candidates[0].waves == doctest::Approx(8 * 2 * 8 / 132.0));
  says(desc, "predicted ");
  says(desc, " us, 0.97 waves, for 8 groups of 512 rows each (expected_rows is not set)");
  says(desc, "next best grouped_bf16_bf16_mma_64x64x32: predicted ");
  D forced = desc;
  forced.candidate = "grouped_bf16_bf16_mma_64x64x32";
  says(forced, "without forcing grouped_bf16_bf16_rc_128: predicted ");
  CHECK(candidates_of(forced).size() == 1);
  forced.candidate = "grouped_bf16_bf16_rc_128";  // the plan would choose it anyway
  says(forced, "next best grouped_bf16_bf16_mma_64x64x32: predicted ");
  D ranges;
  ranges.grouping = Grouping::k_ranges;
  ranges.m = ranges.n = 1024, ranges.k = 8192, ranges.groups = 8;
  CHECK(candidates_of(ranges).size() == 2);
  for (const GroupedCandidate& candidate : candidates_of(ranges)) CHECK(candidate.nanoseconds > 0);
  D narrow = desc;
  narrow.a_dtype = DType::F8E4M3, narrow.d_dtype = DType::BF16;
  CHECK(nanoseconds_of(narrow) > 0);
  narrow.m = 0;
  CHECK(nanoseconds_of(narrow) <= 0);
}

TEST_CASE("grouped choice: predicted times grow with the work") {
  const auto grows = [](int64_t D::*extent, int64_t more, D desc) {
    const double less = nanoseconds_of(desc);
    desc.*extent = more;
    CHECK(nanoseconds_of(desc) > less * 1.5);
  };
  D desc = desc_of();
  desc.m = 16384, desc.n = desc.k = 4096;
  grows(&D::m, 65536, desc);
  grows(&D::n, 8192, desc);
  grows(&D::k, 8192, desc);
  desc.m = 64;  // the weights determine the time
  grows(&D::groups, 16, desc);
  // A group with all rows reads one weight matrix, eight groups read eight.
  const double all = nanoseconds_of(desc);
  desc.expected_rows = 64;
  CHECK(nanoseconds_of(desc) < all / 2);
  desc.max_sms = 16;
  CHECK(nanoseconds_of(desc) > all / 2);
}

// Times of an H200 from tests/bench/results (driver 580.159.04, 2026-11-27).
TEST_CASE("grouped choice: predicted times are near measured ones") {
  const struct {
    int64_t n, k, m, groups;
    double microseconds;
  } measured[] = {{3072, 4096, 79032, 16, 2668.1}, {7168, 2048, 8, 5, 45.41},
                  {3072, 4096, 152, 16, 103.01},   {16384, 5120, 676, 2, 171.56},
                  {2880, 2880, 5152, 1, 135.44},   {4096, 14336, 4248, 8, 718.02}};
  for (const auto& product : measured) {
    D desc = desc_of();
    desc.n = product.n, desc.k = product.k, desc.m = product.m, desc.groups = product.groups;
    const double ratio = nanoseconds_of(desc) / 1e3 / product.microseconds;
    CAPTURE(product.m);
    CHECK(ratio > 0.8);
    CHECK(ratio < 1.3);
  }
}

TEST_CASE("grouped choice: a device without wgmma kernels is the reason for a slow kernel") {
  const auto device = std::make_shared<PaperDevice>(feature::mma | feature::tma, 132);
  const std::string text = plan_of(desc_of(), device)->explain();
  INFO(text);
  CHECK(text.find("not by wgmma: this device runs no wgmma kernels") != std::string::npos);
}

TEST_CASE("grouped choice: a slow product says which argument makes it slow") {
  D desc = desc_of();
  desc.k = 65;
  slow_because(desc,
               "lda is 65 elements, which are 130 bytes: tensor maps need a multiple of 16 bytes, "
               "for example lda = 72",
               [](D& d) { d.lda = d.ldb = 72; });
  desc.lda = 72;
  slow_because(desc, "ldb is 65 elements, which are 130 bytes", [](D& d) { d.ldb = 72; });
  desc = desc_of();
  desc.b_stride = 1024 * 512 + 4;
  slow_because(desc, "b_stride is 524292 elements", [](D& d) { d.b_stride += 4; });
  desc = desc_of();
  desc.lda = int64_t{1} << 40;
  slow_because(desc, "lda is 1099511627776 elements, which are 2199023255552 bytes",
               [](D& d) { d.lda = 0; });
  desc = desc_of();
  desc.b_order = Order::row;
  desc.gate = Gate::halves;
  slow_because(desc, "gate is TW_GATE_HALVES and b_order is TW_ROW_MAJOR",
               [](D& d) { d.b_order = Order::column; });
  slow_because(desc, "gate is TW_GATE_HALVES and b_order is TW_ROW_MAJOR",
               [](D& d) { d.gate = Gate::interleaved; });
  desc = desc_of();
  desc.gate = Gate::interleaved;
  desc.n = 24;
  slow_because(desc, "n is 24: with a gate and TW_COLUMN_MAJOR wgmma kernels need a multiple of 16",
               [](D& d) { d.n = 32; });
}
