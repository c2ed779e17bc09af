// SPDX-License-Identifier: Apache-2.0
// The full rows of gemm many times over and on many streams, by every way of their epilogues and
// batches: always the same bits.
#include <cmath>
#include <limits>

#include "tests/device/common/kernel_folder.hpp"
#include "tests/device/gemm/gemm_full_cases.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int kStreams = 4;
constexpr int kLaunches = 10000;
static_assert(kStreams < FullLab::kSlots, "slot 0 is the truth");

// One of each kind (gemm_choices.hpp), each way: calls use(choice, plan, way).
template <class Use>
int each(GemmLab& lab, FullLab& full, bool small, Use use) {
  int pairs = 0;
  const std::vector<FullWay> ways = full_ways();
  for (const GemmChoice& choice : share_of(one_of_each_kind(*lab.device()))) {
    if (!choice.has(kGemmEpilogue)) continue;
    for (const FullWay& way : ways) {
      const GemmDesc desc = full_desc(choice, way, small);
      INFO(gemm_choice_text(choice) << ": " << way.name);
      const std::unique_ptr<Plan> plan = full_plan(lab.device(), choice, desc);
      if (!plan) continue;
      full.begin(desc, way, *plan);
      const auto& gemm = static_cast<const GemmPlan&>(*plan);
      full.make_truth(gemm);
      use(gemm);
      uint64_t different = 0;
      TW_REQUIRE_OK(lab.check().different(&different));
      CHECK(different == 0);
      ++pairs;
    }
  }
  if (have_kernel_folder()) CHECK(!images_of_folder().empty());
  return pairs;
}

}  // namespace

TEST_CASE("gemm full: a thousand runs of one plan give equal bits, by each way") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  FullLab full(*lab);
  const int pairs = each(*lab, full, false, [&](const GemmPlan& plan) {
    for (int i = 0; i < 1000; ++i) {
      full.clear(lab->stream(), 1);
      TW_REQUIRE_OK(plan.run(lab->stream(), full.run(1)));
      full.compare(lab->stream(), 1);
    }
  });
  MESSAGE(pairs << " pairs of kind and way");
  CHECK(pairs > 0);
}

TEST_CASE("gemm full: ten thousand launches back to back on four streams at once, by each way") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  FullLab full(*lab);
  std::unique_ptr<Stream> streams[kStreams];
  for (auto& stream : streams) TW_REQUIRE_OK(lab->device()->create_stream(&stream));
  constexpr int kOfPair = 12;  // for each stream
  int launches = 0, pairs = 1;
  while (launches < kLaunches && pairs > 0)  // once, but where rows are few, as from PTX
    pairs = each(*lab, full, false, [&](const GemmPlan& plan) {
      for (int s = 0; s < kStreams; ++s) full.clear(*streams[s], s + 1);
      for (int i = 0; i < kOfPair; ++i)
        for (int s = 0; s < kStreams; ++s, ++launches) {
          TW_REQUIRE_OK(plan.run(*streams[s], full.run(s + 1)));
          if (i % 4 == 3) full.compare(*streams[s], s + 1);
        }
      for (auto& stream : streams) TW_REQUIRE_OK(stream->synchronize());
    });
  MESSAGE(launches << " launches");
  CHECK(launches >= kLaunches);
}

TEST_CASE("gemm full: small products of each kind and way, for tools that slow kernels down") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  FullLab full(*lab);
  each(*lab, full, true, [&](const GemmPlan& plan) {
    full.clear(lab->stream(), 1);
    TW_REQUIRE_OK(plan.run(lab->stream(), full.run(1)));
    full.compare(lab->stream(), 1);
  });
}

TEST_CASE("gemm full: an infinite alpha times empty sums is NaN, whatever the row") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  FullLab full(*lab);
  const FullWay way = full_ways().front();
  int rows = 0;
  for (const GemmChoice& choice : one_of_each_kind(*lab->device())) {
    // Without k there is nothing to split.
    if (!choice.has(kGemmEpilogue) || choice.has(kGemmSplit) || choice.split > 1) continue;
    GemmDesc desc = full_desc(choice, way, true);
    desc.k = 0;
    INFO(gemm_choice_text(choice));
    const std::unique_ptr<Plan> plan = full_plan(lab->device(), choice, desc);
    if (!plan) continue;
    full.begin(desc, way, *plan);
    full.clear(lab->stream(), 0);
    GemmRun run = full.run(0);
    run.alpha = std::numeric_limits<float>::infinity();
    TW_REQUIRE_OK(static_cast<const GemmPlan&>(*plan).run(lab->stream(), run));
    const auto step = static_cast<size_t>(dtype_bytes(desc.d_dtype));
    std::vector<uint8_t> d(static_cast<size_t>(desc.m * desc.ldd) * step);
    TW_REQUIRE_OK(lab->stream().copy_to_host(d.data(), run.d, d.size()));
    TW_REQUIRE_OK(lab->stream().synchronize());
    int64_t numbers = 0;
    for (int64_t i = 0; i < desc.m; ++i)
      for (int64_t j = 0; j < desc.n; ++j)
        numbers += !std::isnan(
            decode_element(&d[static_cast<size_t>(i * desc.ldd + j) * step], desc.d_dtype));
    CHECK(numbers == 0);
    ++rows;
  }
  CHECK(rows > 0);
}
