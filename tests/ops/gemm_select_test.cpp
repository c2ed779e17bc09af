// SPDX-License-Identifier: Apache-2.0
// Which row multiplies, decided without a GPU.
#include <cstring>
#include <set>
#include <string>

#include "doctest_main.hpp"
#include "kernels/gemm/gemm.h"
#include "ops/gemm.hpp"

using namespace tw;

namespace {

// A device that is its information and nothing else.
class PaperDevice final : public Device {
 public:
  PaperDevice(FeatureMask features, int32_t sms) {
    info_.kind = DeviceKind::cuda;
    info_.features = features;
    info_.sm_count = sms;
    info_.name = "paper";
  }
  void close() override {}
  Status allocate(uint64_t, uint64_t*) override { return Code::ERROR_INTERNAL; }
  Status release(uint64_t) override { return Code::ERROR_INTERNAL; }
  Status create_stream(std::unique_ptr<Stream>*) override { return Code::ERROR_INTERNAL; }
  Status wrap_stream(CUstream_st*, std::unique_ptr<Stream>*) override {
    return Code::ERROR_INTERNAL;
  }
  Status create_event(std::unique_ptr<Event>*) override { return Code::ERROR_INTERNAL; }
  Status load_module(const void*, size_t, std::unique_ptr<Module>*) override {
    return Code::ERROR_INTERNAL;
  }
  Status prepare(const KernelRow&, uint32_t, std::unique_ptr<Kernel>*) override {
    return Code::ERROR_INTERNAL;
  }
  Status encode(const TensorMapDesc&, TensorMapBytes*) override { return Code::ERROR_INTERNAL; }
};

constexpr FeatureMask kHopper = feature::tma | feature::mma | feature::wgmma;

GemmProblem problem(int64_t m, int64_t n, int64_t k, uint32_t max_sms = 0) {
  GemmDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.b_order = Order::column;
  desc.max_sms = max_sms;
  GemmProblem out;
  REQUIRE(gemm_problem(desc, &out).ok());
  return out;
}

}  // namespace

TEST_CASE("every wgmma row has a measured cost") {
  const GemmProblem p = problem(4096, 4096, 4096);
  for (const KernelRow& row : kernel_rows(Family::gemm)) {
    if (row.feature != feature::wgmma) continue;
    INFO(row.symbol);
    // A row without its line of gemm_costs.inc would cost 5 us a k block.
    CHECK(gemm_cost({&row, 1}, p, 132) < 1e7);
  }
}

TEST_CASE("choices that are known to be best") {
  const PaperDevice hopper(kHopper, 132);
  const auto chosen = [&](int64_t m, int64_t n, int64_t k) {
    return select_gemm(hopper, problem(m, n, k), true);
  };
  const GemmChoice square = chosen(4096, 4096, 4096);
  REQUIRE(square.row);
  CHECK(square.row->tile[0] * square.row->tile[1] >= 128 * 256);
  const GemmChoice shallow = chosen(8192, 8192, 512);
  CHECK((shallow.row->variant & kGemmPingpong) != 0);
  const GemmChoice deep = chosen(64, 576, 7168);
  CHECK((deep.row->variant & kGemmSplit) != 0);
  CHECK(deep.split > 1);
  CHECK(chosen(64, 4096, 512).row->tile[0] == 64);
}

TEST_CASE("a row never needs what the device or the description lacks") {
  const PaperDevice hopper(kHopper, 132);
  for (const uint32_t sms : {1u, 2u, 3u, 16u, 131u}) {
    const GemmChoice choice = select_gemm(hopper, problem(256, 256, 8192, sms), true);
    REQUIRE(choice.row);
    const auto blocks =
        static_cast<uint32_t>(choice.row->cluster[0] * choice.row->cluster[1]) * choice.split;
    CHECK(blocks <= sms);
  }
  // Blackwell has no wgmma: the plain row, and nothing through maps.
  const PaperDevice blackwell(feature::tma | feature::mma | feature::tcgen05, 148);
  CHECK(select_gemm(blackwell, problem(256, 256, 256), true).row == nullptr);
  const GemmChoice plain = select_gemm(blackwell, problem(256, 256, 256), false);
  REQUIRE(plain.row);
  CHECK(plain.row->feature == feature::mma);
  // A GPU never gets a CPU body.
  const PaperDevice bare(feature::tma, 132);
  CHECK(select_gemm(bare, problem(256, 256, 256), false).row == nullptr);
}

TEST_CASE("every order and type pair has every tile and cluster") {
  std::set<std::string> seen;
  for (const KernelRow& row : kernel_rows(Family::gemm))
    if (row.feature == feature::wgmma) {
      char key[96];
      std::snprintf(key, sizeof key, "%d %d %u %dx%d %dx%d %u", static_cast<int>(row.dtypes[0]),
                    static_cast<int>(row.dtypes[1]), row.variant & 3u, row.tile[0], row.tile[1],
                    row.cluster[0], row.cluster[1], row.variant & ~3u);
      CHECK_MESSAGE(seen.insert(key).second, "twice: " << key);
    }
  for (const DType in : {DType::BF16, DType::F16})
    for (const DType out : {in, DType::F32})
      for (unsigned orders = 0; orders < 4; ++orders)
        for (const int tile_m : {64, 128})
          for (const int tile_n : {64, 128, 256})
            for (const auto& cluster : {std::pair{1, 1}, std::pair{2, 1}, std::pair{1, 2}}) {
              char key[96];
              std::snprintf(key, sizeof key, "%d %d %u %dx%d %dx%d 0", static_cast<int>(in),
                            static_cast<int>(out), orders, tile_m, tile_n, cluster.first,
                            cluster.second);
              CHECK_MESSAGE(seen.count(key) == 1, "missing: " << key);
            }
}

TEST_CASE("shared memory of every row fits a block") {
  for (const KernelRow& row : kernel_rows(Family::gemm))
    if (row.feature == feature::wgmma)
      CHECK(gemm_shared(static_cast<u32>(row.tile[0]), static_cast<u32>(row.tile[1]),
                        static_cast<u32>(row.tile[2]), static_cast<u32>(row.stages), 2)
                .total <= 232448);
}

TEST_CASE("the walk visits every unit once") {
  for (const int units_m : {1, 7, 8, 9, 33})
    for (const int units_n : {1, 5, 16}) {
      GemmArgs args{};
      args.units_m = units_m;
      args.units_n = units_n;
      args.band = 8;
      std::set<std::pair<int, int>> seen;
      for (int i = 0; i < units_m * units_n; ++i) {
        i32 m, n;
        gemm_unit(args, i, &m, &n);
        CHECK(m >= 0);
        CHECK(m < units_m);
        CHECK(n >= 0);
        CHECK(n < units_n);
        seen.insert({m, n});
      }
      CHECK(seen.size() == static_cast<size_t>(units_m * units_n));
    }
}
