// SPDX-License-Identifier: Apache-2.0
// Which kernel is selected, without a GPU.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/gemm/gemm_entry.hpp"
#include "ops/gemm/select/gemm_cost.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

GemmProblem problem(int64_t m, int64_t n, int64_t k, uint32_t max_sms = 0) {
  return gemm_problem_of(gemm_desc(m, n, k, max_sms));
}

GemmChoice chosen(const Device& device, const GemmProblem& of) {
  return GemmRanking(device, of).best(of.rows()).choice;
}

// Whether a wgmma kernel multiplies 16-bit types. The prologue kernel multiplies nothing, the
// scaled kernels multiply narrow types.
bool multiplies(const KernelEntry& entry) {
  return entry.feature == feature::wgmma && (entry.variant & (kGemmPrologue | kGemmNarrow)) == 0;
}

}  // namespace

TEST_CASE("the model has a time for every kernel") {
  const auto device = hopper();
  const GemmChip chip = GemmChip::of(*device, 0);
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if ((entry.variant & kGemmPrologue) != 0) continue;
    INFO(entry.symbol);
    for (const int64_t extent : {1, 4096}) {
      const GemmProblem p = problem(extent, 4096, extent == 1 ? 0 : 4096);
      const GemmTerms t = gemm_terms({&entry, 1}, p, chip);
      for (const double term : {t.launch, t.tensor, t.memory, t.l2, t.epilogue, t.copies}) {
        CHECK(term >= 0);
        CHECK(term <= t.total * 1.001);
      }
      CHECK(t.total > 500);
      CHECK(t.total < 1e9);
    }
  }
}

TEST_CASE("more rows and a longer k take longer") {
  const auto device = hopper(132, "NVIDIA H200");
  const GemmChip chip = GemmChip::of(*device, 0);
  const GemmRanking ranking(*device, problem(8192, 4096, 7168));
  double last = 0;
  for (int64_t m = 8; m <= 8192; m += m < 512 ? 8 : 64) {
    const double time = ranking.best(m).nanoseconds;
    INFO(m);
    // Partial tiles at the edge may take longer than full tiles with more rows.
    CHECK(time > 0.85 * last);
    last = std::max(last, time);
  }
  for (const GemmCandidate& c : ranking.candidates(8192)) {
    const auto time = [&](int64_t m, int64_t k) {
      return gemm_candidate(c.choice, gemm_kernel_view(c.choice, problem(m, 4096, k)), chip)
          .nanoseconds;
    };
    INFO(gemm_choice_text(c.choice));
    // Fewer rows than a cluster's tiles have may take longer than all of them.
    const int64_t unit =
        c.choice.has(kGemmSwapAB) ? 0 : int64_t{c.choice.entry->tile[0]} * c.choice.cluster_m();
    for (int64_t m = std::max<int64_t>(256, unit); m <= 4096; m *= 2)
      CHECK(time(2 * m, 7168) > time(m, 7168));
    for (int64_t k = 512; k <= 16384; k *= 2) CHECK(time(4096, 2 * k) > time(4096, k));
  }
}

TEST_CASE("other chips take what their rates say") {
  const auto best = [&](const char* name, int32_t sms, int64_t m, int64_t n, int64_t k) {
    const auto device = hopper(sms, name);
    return GemmRanking(*device, problem(m, n, k)).best(m).nanoseconds;
  };
  const auto h200 = [&](int64_t m, int64_t n, int64_t k) {
    return best("NVIDIA H200", 132, m, n, k);
  };
  // A small m is bound by memory bandwidth, a large one by the tensor cores.
  CHECK(best("NVIDIA H100 80GB HBM3", 132, 1, 16384, 16384) > 1.3 * h200(1, 16384, 16384));
  CHECK(best("NVIDIA H100 PCIe", 114, 1, 16384, 16384) > 2 * h200(1, 16384, 16384));
  CHECK(best("NVIDIA H20", 78, 8192, 8192, 8192) > 3 * h200(8192, 8192, 8192));
  CHECK(best("NVIDIA H20", 78, 1, 16384, 16384) < 1.5 * h200(1, 16384, 16384));
  // A MIG slice has its share. A chip without an entry is scaled by its SMs.
  const double part = best("NVIDIA H200 MIG 3g.71gb", 60, 8192, 8192, 8192);
  CHECK(part > 1.8 * h200(8192, 8192, 8192));
  CHECK(part < 2.8 * h200(8192, 8192, 8192));
  const double unknown = best("NVIDIA H900", 264, 8192, 8192, 8192);
  CHECK(unknown < 0.7 * h200(8192, 8192, 8192));
}

TEST_CASE("a chip without a line is estimated from its clocks") {
  DeviceInfo info;
  info.name = "NVIDIA H200";
  info.sm_count = 132;
  const GemmRates known = gemm_rates(info);
  info.name = "another";
  info.clock_khz = 1980000;
  info.memory_clock_khz = 3201000;
  info.memory_bus_bits = 6144;
  info.l2_bytes = 60 << 20;
  const GemmRates estimated = gemm_rates(info);
  CHECK(estimated.clock == doctest::Approx(known.clock));
  CHECK(estimated.flops_per_clock == known.flops_per_clock);
  CHECK(estimated.power_limit_flop_per_ns ==
        doctest::Approx(known.power_limit_flop_per_ns).epsilon(0.1));
  CHECK(estimated.dram_bytes_per_ns == doctest::Approx(known.dram_bytes_per_ns).epsilon(0.1));
  CHECK(estimated.l2_size == doctest::Approx(60 << 20));
}

TEST_CASE("clusters that never fit are no candidates") {
  const auto device = std::make_shared<PaperDevice>(kHopper, 132);
  device->largest_cluster = 2;
  REQUIRE(query_cluster_occupancy(*device).ok());
  const GemmChip chip = GemmChip::of(*device, 0);
  CHECK(chip.clusters[2] == 66);
  CHECK(chip.clusters[3] == 0);
  const GemmProblem p = problem(64, 576, 7168);
  uint32_t most = 0;
  for (const GemmCandidate& c : GemmRanking(*device, p).candidates(64)) {
    most = std::max(most, c.choice.cluster());
    CHECK(c.waves > 0);
  }
  CHECK(most == 2);
  GemmChoice choice;
  const std::string text = gemm_symbol(128, 128, 1, kGemmSplit) + "/4";
  REQUIRE(parse_gemm_choice("candidate", text.c_str(), &choice).ok());
  CHECK(check_gemm_choice(*device, p, choice).code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.rule) == "candidate_cluster");
}

TEST_CASE("a choice takes less than a launch") {
  const auto device = hopper();
  const GemmProblem p = problem(4096, 4096, 4096);
  const auto least_us = [](const auto& call) {
    double least = 1e9;
    for (int i = 0; i < 20; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      call();
      const std::chrono::duration<double, std::micro> spent =
          std::chrono::steady_clock::now() - begin;
      least = std::min(least, spent.count());
    }
    return least;
  };
  const double choice = least_us([&] { REQUIRE(GemmRanking(*device, p).best(4096).choice.entry); });
  // The bound is a multiple of a chain of square roots, so that it holds in an emulator too. On x86
  // a choice takes 0.3 of their time.
  volatile double sum = 0;
  const double roots = least_us([&] {
    for (int i = 0; i < 10000; ++i) sum = std::sqrt(sum + i);
  });
  MESSAGE("microseconds of a choice: " << choice << ", of the square roots: " << roots);
  CHECK(choice < 8 * roots);
}

TEST_CASE("no tile is smaller than kGemmMinTile, which bounds the blocks of a launch") {
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    INFO(entry.symbol);
    if ((entry.variant & kGemmPrologue) != 0) continue;
    CHECK(entry.tile[0] * entry.cluster[0] >= kGemmMinTile);
    CHECK(entry.tile[1] * entry.cluster[1] >= kGemmMinTile);
  }
}

TEST_CASE("tiles are as large as fill the chip, and a long k is shared where they do not") {
  const auto device = hopper();
  const auto best = [&](int64_t m, int64_t n, int64_t k) {
    return chosen(*device, problem(m, n, k));
  };
  const GemmChoice square = best(4096, 4096, 4096);
  REQUIRE(square.entry);
  CHECK(square.entry->tile[0] * square.entry->tile[1] >= 128 * 128);
  const GemmChoice deep = best(64, 576, 7168);
  CHECK((deep.entry->variant & kGemmSplit) != 0);
  CHECK(deep.split > 1);
  const GemmChoice small = best(64, 4096, 512);
  CHECK(small.entry->tile[0] * small.entry->tile[1] <= 128 * 64);
}

TEST_CASE("the chosen kernel entry needs nothing that the device or the description lacks") {
  const auto device = hopper();
  for (const uint32_t sms : {1u, 2u, 3u, 16u, 131u}) {
    const GemmChoice choice = chosen(*device, problem(256, 256, 8192, sms));
    REQUIRE(choice.entry);
    CHECK(choice.cluster() <= sms);
  }
  // Blackwell has no wgmma: only an mma.sync kernel, nothing through tensor maps.
  const PaperDevice blackwell(feature::tma | feature::mma | feature::tcgen05, 148);
  const GemmRanking ranking(blackwell, problem(256, 256, 256));
  for (const GemmCandidate& candidate : ranking.candidates(256))
    CHECK(candidate.choice.entry->feature == feature::mma);
  REQUIRE(ranking.best(256).choice.entry);
  // A GPU never gets a host body.
  const PaperDevice bare(feature::tma, 132);
  CHECK(GemmRanking(bare, problem(256, 256, 256)).best(256).choice.entry == nullptr);
}

TEST_CASE("candidates are sorted, unique, and all of them serve") {
  const auto device = hopper();
  for (const auto& [m, n, k] : {std::array{4096, 4096, 4096}, {64, 576, 7168}, {17, 4096, 96}}) {
    const GemmProblem p = problem(m, n, k);
    const auto candidates = GemmRanking(*device, p).candidates(m);
    CHECK(candidates.size() > 20);
    std::set<std::string> texts;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const GemmCandidate& c = candidates[i];
      if (i > 0) CHECK(candidates[i - 1].nanoseconds <= c.nanoseconds);
      CHECK(c.nanoseconds > 0);
      CHECK(c.waves > 0);
      CHECK(check_gemm_choice(*device, p, c.choice).ok());
      const std::string text = gemm_choice_text(c.choice);
      CHECK(text.size() < 104);  // fits tw_gemm_candidate
      CHECK(texts.insert(text).second);
      GemmChoice back;
      REQUIRE(parse_gemm_choice("candidate", text.c_str(), &back).ok());
      CHECK(back == c.choice);
    }
    CHECK(GemmRanking(*device, p).best(m).choice == candidates[0].choice);
  }
  // A large k allows every split-K factor.
  std::set<uint32_t> splits;
  for (const GemmCandidate& c : GemmRanking(*device, problem(64, 576, 7168)).candidates(64))
    splits.insert(c.choice.split);
  CHECK(splits == std::set<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8});
  // A k of 96 has two k blocks of 64.
  for (const GemmCandidate& c : GemmRanking(*device, problem(17, 4096, 96)).candidates(17))
    CHECK(c.choice.split <= 2);
}

TEST_CASE("a tile's rows of B cost more if they begin between multiples of 128 bytes") {
  const auto device = hopper(132, "NVIDIA H200");
  const GemmChip chip = GemmChip::of(*device, 0);
  const auto cost = [&](int columns, Order b_order) {
    GemmDesc d = gemm_desc(4096, 7168, 2112);
    d.b_order = b_order;
    for (const KernelEntry& entry : kernel_entries(Family::gemm))
      if (multiplies(entry) && entry.dtypes[1] == DType::BF16 && entry.tile[0] == 128 &&
          entry.tile[1] == columns && entry.cluster[0] * entry.cluster[1] == 1 &&
          entry.variant == (kGemmPingpong | kGemmColumnB)) {
        // For a row-major B the table leaves out the tiles that are slow for this reason. So the
        // entry for a row-major B is made from that for a column-major B.
        KernelEntry for_order = entry;
        if (b_order == Order::row) for_order.variant &= ~u32{kGemmColumnB};
        return gemm_candidate({&for_order, 1}, gemm_problem_of(d), chip).nanoseconds;
      }
    FAIL("no such candidate");
    return 0.0;
  };
  // With a row-major B, a tile of 160 columns has rows of 320 bytes of B, one of 144 columns has
  // rows of 288 bytes. These are not multiples of 128. Tiles of 128 and 192 columns have 256 and
  // 384.
  CHECK(cost(160, Order::row) > 1.15 * cost(160, Order::column));
  CHECK(cost(144, Order::row) > 1.15 * cost(144, Order::column));
  CHECK(cost(128, Order::row) == doctest::Approx(cost(128, Order::column)).epsilon(0.03));
  CHECK(cost(192, Order::row) == doctest::Approx(cost(192, Order::column)).epsilon(0.03));
}

TEST_CASE("stream-K takes no longer than its share of the last wave, and parts of tiles cost") {
  const auto device = hopper(132, "NVIDIA H200");
  const GemmChip chip = GemmChip::of(*device, 0);
  GemmChoice basic;
  REQUIRE(parse_gemm_choice("candidate", gemm_symbol(128, 128, 1, 0).c_str(), &basic).ok());
  KernelEntry entry = *basic.entry;
  entry.variant |= kGemmStreamK;
  const auto time = [&](const GemmChoice& choice, int64_t tiles) {
    return gemm_candidate(choice, problem(128, 128 * tiles, 16384), chip).nanoseconds;
  };
  const double one = time(basic, 132), two = time(basic, 264);
  for (const uint32_t split : {2u, 4u, 8u}) {
    INFO(split);
    const GemmChoice streams{&entry, split};
    CHECK(streams.cluster() == 1);
    // within the cost of its launch
    CHECK(time(streams, 132) == doctest::Approx(one).epsilon(0.02));
    // 33 more tiles are a quarter of a wave.
    CHECK(time(streams, 165) > one + 0.2 * (two - one));
    CHECK(time(streams, 165) < 0.87 * time(basic, 165));
    // Few tiles with a large k.
    CHECK(time(streams, 16) < (split == 8 ? 0.5 : 0.8) * time(basic, 16));
    CHECK(time(streams, 131) >= time(basic, 131));
  }
}

TEST_CASE("loads take longer the less the pitch is aligned to lines of the L2") {
  const auto device = hopper(132, "NVIDIA H200");
  const GemmChip chip = GemmChip::of(*device, 0);
  GemmChoice choice;
  REQUIRE(parse_gemm_choice("candidate", gemm_symbol(128, 128, 1, 0).c_str(), &choice).ok());
  double last = 0;
  // Pitches of 8320, 8256, 8224 and 8208 bytes: multiples of 128, 64, 32 and 16.
  for (const int64_t k : {4160, 4128, 4112, 4104}) {
    INFO(k);
    const double l2 = gemm_terms(choice, problem(4096, 4096, k), chip).l2;
    CHECK(l2 > 1.03 * last);
    last = l2;
  }
}

TEST_CASE("stream-K: an accumulation chain costs a read and a write of the tile, or registers") {
  const auto device = hopper(132, "NVIDIA H200");
  const auto time = [&](DType d_dtype, int64_t k, Activation activation = Activation::identity) {
    GemmDesc desc = gemm_desc(128, 256, k);
    desc.d_dtype = d_dtype;
    desc.epilogue.activation = activation;
    for (const GemmCandidate& c : GemmRanking(*device, gemm_problem_of(desc)).candidates(128))
      if (c.choice.has(kGemmStreamK) && c.choice.split == 1 && c.choice.cluster() == 1 &&
          c.choice.entry->tile[0] == 128)
        return c.nanoseconds;
    FAIL("no such candidate");
    return 0.0;
  };
  // One chain up to a k of 4096, then two with an f32 D. A bf16 D has one chain.
  constexpr Activation kRelu = Activation::relu;
  CHECK(time(DType::F32, 4160, kRelu) > time(DType::F32, 4096, kRelu) + 2000);
  CHECK(time(DType::F32, 4160) > time(DType::F32, 4096) + 500);
  CHECK(time(DType::F32, 4160) < time(DType::F32, 4096) + 4000);
  CHECK(time(DType::BF16, 4160) < time(DType::BF16, 4096) + 1000);
}

TEST_CASE("stream-K: joined CTAs are neighbors at different k, which slows down their loads") {
  const auto device = hopper(132, "NVIDIA H200");
  const GemmChip chip = GemmChip::of(*device, 0);
  const auto l2 = [&](uint32_t split) {
    const GemmProblem p = problem(128, 4096, 8192);
    for (const GemmCandidate& c : GemmRanking(*device, p).candidates(128))
      if (c.choice.has(kGemmStreamK) && c.choice.split == split && c.choice.cluster() == 1 &&
          c.choice.entry->tile[0] == 128)
        return gemm_terms(c.choice, gemm_kernel_view(c.choice, p), chip).l2;
    FAIL("no such candidate");
    return 0.0;
  };
  // 32 CTAs, then 64 with half of the k blocks each. Both would leave every other SM idle.
  CHECK(l2(2) > 0.51 * l2(1));
}

TEST_CASE("a split-K cluster that ends does not stop the memory traffic of the others") {
  const auto device = hopper(132, "NVIDIA H200");
  const GemmChip chip = GemmChip::of(*device, 0);
  const GemmProblem p = problem(1, 131072, 4096);
  int seen = 0;
  for (const GemmCandidate& c : GemmRanking(*device, p).candidates(1))
    if (c.choice.has(kGemmSplit) && c.choice.split == 2 && c.choice.has(kGemmSwapAB)) {
      INFO(gemm_choice_text(c.choice));
      const GemmTerms t = gemm_terms(c.choice, gemm_kernel_view(c.choice, p), chip);
      CHECK(t.total < t.launch + 1.1 * std::max(t.memory, t.l2 + t.epilogue));
      ++seen;
    }
  CHECK(seen > 0);
}

TEST_CASE("texts that are no candidates") {
  const std::string whole = gemm_symbol(128, 128, 1, 0);
  const std::string split = gemm_symbol(128, 128, 1, kGemmSplit);
  GemmChoice choice;
  const auto code = [&](const std::string& text) {
    return parse_gemm_choice("candidate", text.c_str(), &choice).code();
  };
  CHECK(code(whole) == Code::OK);
  CHECK(choice.split == 1);
  CHECK(code(split + "/4") == Code::OK);
  CHECK(choice.split == 4);
  for (const std::string& text : {whole + "/2", whole + "/", split, split + "/", split + "/1",
                                  split + "/9", split + "/44", split + "/4 ", split + "//4"}) {
    INFO(text);
    CHECK(code(text) == Code::ERROR_PARSE);
  }
  const std::string stream = "gemm_bf16_bf16_rc_64x256_1x1_stream";
  CHECK(code(stream + "/8") == Code::OK);
  CHECK(choice.cluster() == 1);
  CHECK(code(stream + "/8/2x4") == Code::OK);
  CHECK(choice.split == 8);
  CHECK(choice.cluster_m() == 2);
  CHECK(choice.cluster_n() == 4);
  CHECK(choice.cluster() == 8);
  CHECK(gemm_choice_text(choice) == stream + "/8/2x4");
  CHECK(code(stream + "/1/w112") == Code::OK);
  CHECK(choice.width == 112);
  CHECK(code(stream + "/8/2x4/w240") == Code::OK);
  CHECK(choice.width == 240);
  CHECK(choice.cluster_n() == 4);
  CHECK(gemm_choice_text(choice) == stream + "/8/2x4/w240");
  // No cluster has three or sixteen CTAs, or is longer than four. Other kernels have their own. The
  // columns of a tile are a multiple of 16, and of 8 for each CTA along m.
  for (const std::string& text :
       {stream + "/8/",
        stream + "/8/1x1",
        stream + "/8/3x1",
        stream + "/8/4x4",
        stream + "/8/8x1",
        stream + "/8/2x4/",
        stream + "/8 2x4",
        stream + "/8/w100",
        stream + "/8/w272",
        stream + "/8/4x1/w144",
        stream + "/8/w128/2x1",
        stream + "/8/w128/",
        stream + "/8//w128",
        stream + "/w128",
        stream + "/8/w",
        split + "/2/w64",
        whole + "/w64",
        std::string("gemm_f8e4m3_f8e4m3_any_rc_128x192_1x1_scaledrowstream/1/w64"),
        split + "/2/2x1",
        whole + "/1/2x1",
        std::string("gemm_i8_i8_any_rc_128x256_1x1_faststream/8/2x1")}) {
    INFO(text);
    CHECK(code(text) == Code::ERROR_PARSE);
  }
  for (const std::string& text :
       {std::string(), std::string("/"), std::string("/4"), std::string("gemm"),
        whole.substr(0, whole.size() - 1), whole + "a", " " + whole}) {
    INFO(text);
    CHECK(code(text) == Code::ERROR_NOT_FOUND);
  }
}

TEST_CASE("a long k is divided into as many chains as the type of D requires") {
  const auto device = hopper();
  constexpr std::pair<DType, DType> kTypes[] = {
      {DType::BF16, DType::BF16}, {DType::BF16, DType::F32}, {DType::F16, DType::F16}};
  for (const auto& types : kTypes)
    for (const bool full : {false, true})
      for (const int64_t k : {4096, 4104, 7168, 7176, 16384, 16392, 36864, 36872, 1 << 20}) {
        GemmDesc desc = gemm_desc(4096, 4096, k);
        desc.a_dtype = types.first;
        desc.d_dtype = types.second;
        if (full) desc.epilogue.bias = Per::column;
        // The error of n chains over k equals that of one chain over k / n^2 (gemm_chain_count()).
        const int64_t longest_chain = types.second == DType::F32 ? 4096 : 16384;
        int64_t required = 1;
        while (types.second != DType::BF16 && required * required * longest_chain < k) ++required;
        int64_t min_split = 1 << 20;
        uint32_t max_split = 1;
        bool divides_in_ctas = false;  // a kernel without split-K divides k into chains
        for (const GemmCandidate& c :
             GemmRanking(*device, gemm_problem_of(desc)).candidates(4096)) {
          if (!c.choice.uses_maps() || c.choice.has(kGemmStreamK)) continue;
          CHECK(c.choice.divides_k_into_chains() ==
                (types.second == DType::F32 && !c.choice.has(kGemmSplit) && !full));
          divides_in_ctas = divides_in_ctas || c.choice.divides_k_into_chains();
          if (!c.choice.divides_k_into_chains())
            min_split = std::min<int64_t>(min_split, c.choice.split);
          max_split = std::max(max_split, c.choice.split);
        }
        INFO(std::string(dtype_name(types.second)), ", k ", k, ", full ", full);
        CHECK(max_split > 1);
        CHECK(divides_in_ctas == (types.second == DType::F32 && !full));
        CHECK(min_split ==
              std::max<int64_t>(divides_in_ctas ? 2 : 1, std::min<int64_t>(required, max_split)));
      }
}

TEST_CASE("there are never more chains than the kernel's argument can say") {
  constexpr auto kMost = 1 + std::numeric_limits<decltype(GemmArgs::more_chains)>::max();
  CHECK(gemm_chain_count(int64_t{kMost} * kMost * 4096) == kMost);
  CHECK(gemm_chain_count((int64_t{1} << 31) - 1024) == kMost);
}

TEST_CASE("how many clusters run at once is the driver's word, asked once") {
  const auto device = std::make_shared<PaperDevice>(kHopper, 132);
  // the default 132 / 4, before the device is asked
  CHECK(GemmChip::of(*device, 0).clusters[4] == 33);
  REQUIRE(query_cluster_occupancy(*device).ok());
  CHECK(device->prepared == 1);
  const GemmChip chip = GemmChip::of(*device, 0);
  CHECK(chip.clusters[1] == 132);
  CHECK(chip.clusters[2] == 66);
  CHECK(chip.clusters[4] == 30);
  CHECK(chip.clusters[8] == 15);
  CHECK(GemmChip::of(*device, 16).clusters[4] == 4);
  CHECK(GemmChip::of(*device, 3).clusters[8] == 0);
  REQUIRE(query_cluster_occupancy(*device).ok());
  CHECK(device->prepared == 1);
  PaperDevice blackwell(feature::tma | feature::mma | feature::tcgen05, 148);
  REQUIRE(query_cluster_occupancy(blackwell).ok());
  CHECK(blackwell.prepared == 0);
}

TEST_CASE("the driver is asked about a kernel that the build has") {
  const auto device = std::make_shared<PaperDevice>(kHopper, 132);
  REQUIRE(query_cluster_occupancy(*device).ok());
  REQUIRE(!device->last_prepared.empty());
  const auto other = std::make_shared<PaperDevice>(kHopper, 132);
  other->left_out = device->last_prepared;
  REQUIRE(query_cluster_occupancy(*other).ok());
  CHECK(!other->last_prepared.empty());
  CHECK(other->last_prepared != other->left_out);
  CHECK(GemmChip::of(*other, 0).clusters[4] == 30);
}

TEST_CASE("steps of m") {
  int64_t last = 0;
  for (int64_t m = 1; m < 300000; ++m) {
    const int64_t end = gemm_step_end(m);
    REQUIRE(end >= m);
    REQUIRE(end >= last);
    REQUIRE(gemm_step_end(end) == end);
    REQUIRE(static_cast<double>(end) <=
            std::max(static_cast<double>(m) * 1.13, static_cast<double>(m + 7)));
    last = end;
  }
  CHECK(gemm_step_end(64) == 64);
  CHECK(gemm_step_end(65) == 72);
  CHECK(gemm_step_end(513) == 576);
  CHECK(gemm_step_end(4096) == 4096);
  CHECK(gemm_step_end((int64_t{1} << 31) - 1024) >= (int64_t{1} << 31) - 1024);
}

namespace {

// A text that identifies a kernel entry.
std::string entry_key(DType in, DType out, unsigned orders, int tile_m, int tile_n, int cluster_m,
                      int cluster_n, uint32_t schedule) {
  char key[96];
  std::snprintf(key, sizeof key, "%s to %s, orders %u, %dx%d, cluster %dx%d, schedule %u",
                dtype_name(in), dtype_name(out), orders, tile_m, tile_n, cluster_m, cluster_n,
                schedule);
  return key;
}

}  // namespace

TEST_CASE("the table has no kernel entry twice, and has the common tiles for all types") {
  std::set<std::string> seen;
  std::set<std::tuple<DType, DType, uint32_t>> types_and_schedules;  // types; orders and schedule
  for (const KernelEntry& entry : kernel_entries(Family::gemm))
    if (multiplies(entry)) {
      const std::string key =
          entry_key(entry.dtypes[0], entry.dtypes[1], entry.variant & 3u, entry.tile[0],
                    entry.tile[1], entry.cluster[0], entry.cluster[1], entry.variant & ~3u);
      CHECK_MESSAGE(seen.insert(key).second, "twice: " << key);
      types_and_schedules.insert({entry.dtypes[0], entry.dtypes[1], entry.variant});
    }
  const struct {
    int m, n;
    uint32_t schedule;
  } tiles[] = {{64, 64, 0}, {64, 128, 0}, {128, 128, kGemmPingpong}, {128, 256, 0}};
  for (const DType type : {DType::BF16, DType::F16})
    for (unsigned orders = 0; orders < 4; ++orders)
      for (const auto& tile : tiles) {
        const std::string key = entry_key(type, type, orders, tile.m, tile.n, 1, 1, tile.schedule);
        CHECK_MESSAGE(seen.count(key) == 1, "missing: " << key);
      }
  // Every pair of types and every order has basic, swap-AB split-K, stream-K and epilogue kernels.
  for (const DType in : {DType::BF16, DType::F16})
    for (const DType out : {in, DType::F32})
      for (uint32_t orders = 0; orders < 4; ++orders)
        for (const uint32_t schedule :
             {u32{0}, u32{kGemmSwapAB | kGemmSplit}, u32{kGemmSwapAB | kGemmStreamK},
              u32{kGemmSwapAB | kGemmStreamK | kGemmEpilogue}}) {
          INFO(dtype_name(in), " to ", dtype_name(out), ", orders ", orders, ", schedule ",
               schedule);
          CHECK(types_and_schedules.count({in, out, schedule | orders}) == 1);
        }
}

TEST_CASE("narrow types: no kernel entry twice, and each pair of 8-bit floats has two entries") {
  std::set<std::tuple<DType, DType, uint32_t>> seen;  // types and schedule
  std::set<std::tuple<DType, DType, uint32_t, int, int>> seen_tiles;
  for (const KernelEntry& entry : kernel_entries(Family::gemm))
    if (entry.feature == feature::wgmma && (entry.variant & kGemmNarrow)) {
      INFO(entry.symbol);
      const DType a = entry.dtypes[0], b = entry.dtypes[2];
      CHECK(seen_tiles.insert({a, b, entry.variant, entry.tile[0], entry.tile[1]}).second);
      // Only split-K kernels have several tiles.
      CHECK((seen.insert({a, b, entry.variant}).second || gemm_is_narrow_split(entry.variant)));
    }
  const struct {
    DType a, b;
  } pairs[] = {{DType::F8E4M3, DType::F8E4M3},
               {DType::F8E4M3, DType::F8E5M2},
               {DType::F8E5M2, DType::F8E4M3}};
  for (const auto& pair : pairs) {
    INFO(dtype_name(pair.a), " by ", dtype_name(pair.b));
    CHECK(seen.count({pair.a, pair.b, kSchedule_scaledstream | kGemmColumnB}) == 1);
    CHECK(seen.count({pair.a, pair.b, kSchedule_faststream | kGemmColumnB}) == 1);
  }
  for (const DType type : {DType::I8, DType::TF32})
    CHECK(seen.count({type, type, kSchedule_faststream | kGemmColumnB}) == 1);
}

TEST_CASE("the shared memory of every kernel entry fits a block") {
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if (entry.feature != feature::wgmma || (entry.variant & kGemmPrologue)) continue;
    INFO(entry.symbol);
    const bool narrow = (entry.variant & kGemmNarrow) != 0;
    const auto out = narrow ? static_cast<int32_t>(kGemmAnyBytes) : dtype_bytes(entry.dtypes[1]);
    const GemmTile tile = gemm_tile(entry, dtype_bytes(entry.dtypes[0]), out);
    CHECK(gemm_shared(tile).total <= kGemmSharedLimit);
  }
}

TEST_CASE("the tile scheduler visits every unit once") {
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

TEST_CASE("neighbours share the operand that the fewest units want") {
  CHECK(gemm_band(12, 64, 64, 132, false) == 12);  // the tiles at work form a square of D
  CHECK(gemm_band(12, 5, 64, 132, false) == 5);    // all rows: along m, units of the same columns
  CHECK(gemm_band(12, 64, 2, 132, false) == 1);    // all columns: along n, units of the same rows
  CHECK(gemm_band(12, 4, 3, 132, false) == 1);
  CHECK(gemm_band(12, 17, 8, 132, false) == 1);   // all of D at once
  CHECK(gemm_band(12, 64, 8, 132, false) == 17);  // D takes several waves, with several columns
  CHECK(gemm_band(12, 3, 4, 132, false) == 3);
  CHECK(gemm_band(8, 32, 2, 66, true) == 32);  // the clusters already share
}
