// SPDX-License-Identifier: Apache-2.0
// How stream-K kernels divide a product: every k block of every unit is computed once, by at most
// the requested clusters, and the workspace is large enough.
#include "ops/gemm/select/gemm_shares.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include "kernels/gemm/arguments/gemm_stream.h"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// The kernels for bf16 to bf16, and those for 8-bit floats if `narrow`.
std::vector<const KernelEntry*> stream_entries(bool narrow = false) {
  std::vector<const KernelEntry*> entries;
  for (const KernelEntry& entry : kernel_entries(Family::gemm))
    if ((entry.variant & kGemmStreamK) != 0 && entry.dtypes[0] == DType::BF16 &&
        entry.dtypes[1] == DType::BF16)
      entries.push_back(&entry);
    else if (narrow && (entry.variant & kGemmStreamK) != 0 && entry.dtypes[0] == DType::F8E4M3)
      entries.push_back(&entry);
  return entries;
}

// A choice with a factor and a cluster that the kernel may have.
GemmChoice any_choice(const KernelEntry* entry, std::mt19937& random) {
  GemmChoice choice{entry, 1u << random() % 4};
  if (choice.takes_any_cluster())
    std::copy_n(kGemmClusterShapes[random() % std::size(kGemmClusterShapes)], 2,
                choice.cluster_shape);
  if (!choice.has_stream_k_factor()) choice.split = 8;
  return choice;
}

// The problem as a swap-AB kernel sees it. Sizes are the caller's.
GemmProblem swapped_problem(int64_t m, int64_t n, int64_t k) {
  return swap_ab(gemm_problem_of(gemm_desc(m, n, k)));
}

// The problem as a stream-K kernel without swap-AB sees it, which is the caller's.
GemmProblem unswapped_problem(const GemmChoice& choice, int64_t m, int64_t n, int64_t k) {
  GemmDesc desc = gemm_desc(m, n, k);
  if (choice.has(kGemmNarrow)) desc.a_dtype = desc.b_dtype = DType::F8E4M3;
  desc.a_order = Order::row;
  desc.b_order = Order::column;
  return gemm_problem_of(desc);
}

// The work as the kernel's StreamWork iterates over it: the k blocks of each unit, by worker.
struct Part {
  int64_t worker, begin, end;
};
std::map<int64_t, std::vector<Part>> walk(const GemmShares& s) {
  std::map<int64_t, std::vector<Part>> units;
  for (int64_t worker = 0; worker < s.workers; ++worker) {
    for (int64_t unit = worker; unit < s.whole_units; unit += s.workers)
      units[unit].push_back({worker, 0, s.k_blocks});
    const int64_t all = s.divided_units() * s.padded_k_blocks;
    int64_t at = std::min(worker * s.share, all);
    const int64_t stop = std::min(at + s.share, all);
    while (at < stop) {
      const int64_t begin = at % s.padded_k_blocks,
                    end = std::min(s.padded_k_blocks, begin + stop - at);
      units[s.whole_units + at / s.padded_k_blocks].push_back(
          {worker, begin, std::min(end, s.k_blocks)});
      at += end - begin;
    }
  }
  return units;
}

}  // namespace

TEST_CASE("gemm shares: every k block once, in order, by neighbours") {
  std::mt19937 random(1);
  const auto upto = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  for (int i = 0; i < 3000; ++i) {
    const auto entries = stream_entries(true);
    REQUIRE(!entries.empty());
    const KernelEntry* entry = entries[random() % entries.size()];
    const GemmChoice choice = any_choice(entry, random);
    const int64_t at_once = upto(132 / choice.cluster());
    const int64_t few = upto(i % 3 ? 300 : 5000), many = 8 * upto(2000);
    const int64_t k = upto(i % 2 ? 600 : 20000);
    const GemmProblem p = choice.has(kGemmSwapAB) ? swapped_problem(few, many, k)
                                                  : unswapped_problem(choice, many, few, k);
    // Clusters of each size that run at once. Every second round has fewer than the SMs could hold.
    uint32_t clusters[kMaxCluster + 1] = {};
    for (uint32_t size = 1; size <= kMaxCluster; ++size)
      clusters[size] = static_cast<uint32_t>(at_once) / (size + i % 2);
    const GemmShares s = gemm_shares(choice, p.desc, p.desc.m, p.desc.n, at_once, clusters);
    INFO(gemm_choice_text(choice), " as the kernel sees it: m ", p.desc.m, " n ", p.desc.n, " k ",
         p.desc.k, " on ", at_once);
    CHECK(s.workers <= at_once);
    CHECK(s.units_m * entry->tile[0] * choice.cluster_m() >= p.desc.m);
    CHECK(s.units_n * s.width * choice.cluster_n() >= p.desc.n);
    CHECK(s.width % (8 * choice.cluster_m()) == 0);  // each CTA along m loads whole swizzle atoms
    if (choice.cluster() > 1) CHECK(s.joined == 0);
    CHECK(kGemmWidths[s.width_index] == s.width);
    const auto units = walk(s);
    CHECK(static_cast<int64_t>(units.size()) == s.units());
    int64_t most = 0;
    for (const auto& [unit, parts] : units) {
      int64_t at = 0;
      for (size_t part = 0; part < parts.size(); ++part) {
        CHECK(parts[part].begin == at);
        CHECK(parts[part].end > parts[part].begin);
        CHECK(parts[part].worker == parts[0].worker + static_cast<int64_t>(part));
        at = parts[part].end;
      }
      CHECK(at == s.k_blocks);
      most = std::max<int64_t>(most, static_cast<int64_t>(parts.size()));
      if (unit < s.whole_units) continue;
      const GemmParts who =
          gemm_stream_parts(static_cast<i32>(unit - s.whole_units),
                            static_cast<i32>(s.padded_k_blocks), static_cast<i32>(s.share));
      CHECK(who.first == parts.front().worker);
      CHECK(who.last == parts.back().worker);
    }
    CHECK(most <= s.max_parts());
    CHECK(most <= 12);  // the counters of divided units have a bit for each part
    CHECK(s.max_parts() <= choice.split + 1);
    if (s.workspace_bytes(choice) == 0) CHECK((most == 1 || s.joined > 0));
    if (s.joined > 0) {
      for (const auto& [unit, parts] : units) CHECK(static_cast<int64_t>(parts.size()) == s.joined);
      CHECK(s.units() <= clusters[s.joined]);
      CHECK(s.workspace_bytes(choice) == 0);
      CHECK(s.share <= s.chain_blocks);
      CHECK(s.joined_bytes(choice) >= s.joined * entry->tile[0] * 4 * 16);
    }
    CHECK(s.workspace_bytes(choice) <= gemm_max_workspace_bytes(choice, p.desc.n, at_once));
  }
}

TEST_CASE("gemm shares: the widest tile is the narrowest with which the fewest tiles suffice") {
  const GemmChoice choice{stream_entries()[0], 1};
  REQUIRE(choice.cluster() == 1);
  for (int64_t columns = 1; columns <= 1100; ++columns) {
    const int64_t width = gemm_tile_width(choice, GemmDesc{}, columns);
    const int64_t tiles = (columns + width - 1) / width;
    CHECK(tiles == (columns + 255) / 256);
    const auto* at = std::find(std::begin(kGemmWidths), std::end(kGemmWidths), width);
    REQUIRE(at != std::end(kGemmWidths));
    if (at != std::begin(kGemmWidths)) CHECK(at[-1] * tiles < columns);
  }
}

TEST_CASE("gemm shares: of narrower tiles, those that leave a CTA fewer columns are considered") {
  std::mt19937 random(2);
  const auto upto = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  const auto entries = stream_entries(true);
  int64_t narrower = 0;
  for (int i = 0; i < 20000; ++i) {
    GemmChoice choice = any_choice(entries[random() % entries.size()], random);
    const int64_t at_once = upto(132) / choice.cluster() + 1;
    const int64_t few = upto(i % 3 ? 600 : 5000), many = 8 * upto(i % 2 ? 300 : 2000);
    const int64_t k = upto(9000);
    const GemmDesc desc = choice.has(kGemmSwapAB) ? swapped_problem(few, many, k).desc
                                                  : unswapped_problem(choice, many, few, k).desc;
    uint32_t clusters[kMaxCluster + 1] = {};
    for (uint32_t size = 1; size <= kMaxCluster; ++size)
      clusters[size] = static_cast<uint32_t>(at_once) / size;
    INFO(gemm_choice_text(choice), " as the kernel sees it: m ", desc.m, " n ", desc.n, " k ",
         desc.k, " on ", at_once);
    GemmShares s = gemm_shares(choice, desc, desc.m, desc.n, at_once, clusters);
    CHECK(s.width == gemm_tile_width(choice, desc, desc.n));
    const auto waves = [&] { return (s.units() + at_once - 1) / at_once; };
    for (;;) {
      const auto [next, fewer] = gemm_next_width(choice, desc, desc.m, desc.n, at_once);
      if (next == 0) break;
      ++narrower;
      CHECK(fewer < 1);
      CHECK(!choice.is_scaled_rowstream());
      CHECK(next >= 64);
      const int64_t wider = s.width, columns = waves() * wider;
      CHECK(s.units() <= 16 * at_once);
      choice.width = static_cast<uint16_t>(next);
      CHECK(gemm_width_is_possible(choice));
      s = gemm_shares(choice, desc, desc.m, desc.n, at_once, clusters);
      CHECK(s.width == next);
      CHECK(next < wider);
      CHECK(s.width * choice.cluster_n() * s.units_n >= desc.n);
      CHECK(s.workspace_bytes(choice) <= gemm_max_workspace_bytes(choice, desc.n, at_once));
      if (choice.split == 1)
        CHECK(fewer == doctest::Approx(static_cast<double>(waves() * s.width) /
                                       static_cast<double>(columns)));
    }
  }
  CHECK(narrower > 1000);
}

TEST_CASE("gemm shares: widths that do not suit a cluster are passed over, not those beside them") {
  GemmChoice choice;
  REQUIRE(
      parse_gemm_choice("candidate", "gemm_bf16_bf16_rc_128x256_1x1_stream/1/4x1", &choice).ok());
  // 14 units along m, at 33 clusters: three tiles of 192 columns and four of 160 take two waves,
  // five of 128 take three. 144, which four tiles could have too, is no multiple of 32.
  const GemmProblem p = swapped_problem(560, 14 * 4 * 128, 4096);
  CHECK(gemm_tile_width(choice, p.desc, 560) == 192);
  CHECK(gemm_next_width(choice, p.desc, p.desc.m, p.desc.n, 33).width == 160);
  choice.width = 160;
  CHECK(gemm_tile_width(choice, p.desc, 560) == 160);
  CHECK(gemm_tile_width(choice, p.desc, 96) == 96);  // no run needs wider tiles than it has columns
}

TEST_CASE("gemm shares: an empty product has no narrower tiles to consider") {
  for (const KernelEntry* entry : stream_entries(true))
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{0, 4096}, {4096, 0}, {0, 0}})
      CHECK(gemm_next_width({entry, 1}, GemmDesc{}, m, n, 132).width == 0);
}

TEST_CASE("gemm shares: one full wave of narrower tiles replaces two that are nearly empty") {
  const auto device = hopper(132, "NVIDIA H200");
  const std::string widest_text = "gemm_bf16_bf16_rc_128x256_1x1_stream/1";
  // These widths took the least time there: with 400 x 4992 x 4992 31.5 us, and 41.4 us with 208.
  struct Measured {
    int64_t m, n, k, width;
  };
  for (const Measured& shape : {Measured{400, 4992, 4992, 144},
                                {466, 3328, 5504, 96},
                                {543, 6976, 6976, 144},
                                {1864, 20416, 4800, 208}}) {
    const int64_t m = shape.m, n = shape.n, k = shape.k, width = shape.width;
    INFO("m ", m, " n ", n, " k ", k);
    const std::string text = widest_text + "/w" + std::to_string(width);
    GemmDesc desc = gemm_desc(m, n, k);
    desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
    const auto plan = forced(device, desc, text.c_str());
    REQUIRE(plan);
    const int64_t units_n = (m + width - 1) / width, units = (n + 127) / 128 * units_n;
    // The launch, the plan's description and the cost model have the same tiles.
    CHECK(launched(device, *plan, m, {.a = kA, .b = kB, .d = kD}).args.units_n == units_n);
    CHECK(plan->info().grid[0] == std::min<int64_t>(units, 132));
    CHECK(plan->explain().find(std::to_string(units) + " units of work") != std::string::npos);
    GemmChoice choice, widest;
    REQUIRE(parse_gemm_choice("candidate", text.c_str(), &choice).ok());
    REQUIRE(parse_gemm_choice("candidate", widest_text.c_str(), &widest).ok());
    const GemmChip chip = GemmChip::of(*device, 0);
    const GemmProblem seen = swapped_problem(m, n, k);
    const GemmCandidate narrow = gemm_candidate(choice, seen, chip);
    CHECK(narrow.waves == doctest::Approx(static_cast<double>(units) / 132));
    CHECK(narrow.nanoseconds < gemm_candidate(widest, seen, chip).nanoseconds);
    bool considered = false;
    for (GemmChoice next = widest; next.width != width;) {
      next.width = static_cast<uint16_t>(
          gemm_next_width(next, seen.desc, seen.desc.m, seen.desc.n, 132).width);
      considered = next.width == width;
      if (next.width == 0) break;
    }
    CHECK(considered);
  }
}

TEST_CASE("gemm shares: slices of a tile are whole steps and suffice for its columns") {
  for (const i32 step : {16, 64})
    for (i32 width = step; width <= 256; width += step)
      for (i32 count = 1; count <= 12; ++count) {
        const i32 columns = gemm_slice_columns(width, count, step);
        CHECK(columns % step == 0);
        CHECK(columns * count >= width);
        CHECK((columns - step) * count < width);
      }
}

TEST_CASE("gemm shares: no chain of products is longer than an f32 sum may be") {
  GemmDesc desc = gemm_desc(64, 4096, 1);
  for (desc.k = 64; desc.k < 200000; desc.k = desc.k * 5 / 4) {
    desc.d_dtype = DType::F16;
    CHECK(gemm_chain_length(desc) <= std::max<int64_t>(16384, (desc.k + 1) / 2));
    desc.d_dtype = DType::F32;
    CHECK(gemm_chain_length(desc) * gemm_chain_count(desc.k) >= desc.k);
    CHECK(gemm_chain_length(desc) <= std::max<int64_t>(4096, (desc.k + 1) / 2));
  }
}
