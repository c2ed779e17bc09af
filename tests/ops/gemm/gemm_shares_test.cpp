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

GemmProblem seen(int64_t m, int64_t n, int64_t k) {
  return swap_ab(gemm_problem_of(gemm_desc(m, n, k)));
}

// The problem as a kernel sees it whose rows are tokens.
GemmProblem seen_unswapped(int64_t m, int64_t n, int64_t k) {
  GemmDesc desc = gemm_desc(m, n, k);
  desc.a_dtype = desc.b_dtype = DType::F8E4M3;
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
    const int64_t all = s.divided_units() * s.depth;
    int64_t at = std::min(worker * s.share, all);
    const int64_t stop = std::min(at + s.share, all);
    while (at < stop) {
      const int64_t begin = at % s.depth, end = std::min(s.depth, begin + stop - at);
      units[s.whole_units + at / s.depth].push_back({worker, begin, std::min(end, s.k_blocks)});
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
    const GemmChoice choice{entry, 1u << random() % 4};
    const int64_t at_once = upto(132);
    const int64_t few = upto(i % 3 ? 300 : 5000), many = 8 * upto(2000);
    const int64_t depth = upto(i % 2 ? 600 : 20000);
    const GemmProblem p =
        choice.streams_rows() ? seen_unswapped(many, few, depth) : seen(few, many, depth);
    uint32_t clusters[kMaxCluster + 1] = {};
    for (uint32_t size = 1; size <= kMaxCluster; ++size)
      clusters[size] = static_cast<uint32_t>(at_once) / (size + i % 2);
    const GemmShares s = gemm_shares(choice, p.desc, p.desc.m, p.desc.n, at_once, clusters);
    INFO(entry->symbol, "/", choice.split, " m ", p.desc.n, " n ", p.desc.m, " k ", p.desc.k,
         " on ", at_once);
    CHECK(s.workers <= at_once);
    CHECK(s.units_m * entry->tile[0] * entry->cluster[0] >= p.desc.m);
    CHECK(s.units_n * s.width * entry->cluster[1] >= p.desc.n);
    CHECK(kGemmWidths[s.width_index] == s.width);
    const auto units = walk(s);
    CHECK(static_cast<int64_t>(units.size()) == s.units());
    int64_t most = 0;
    for (const auto& [unit, parts] : units) {
      int64_t at = 0;
      for (size_t k = 0; k < parts.size(); ++k) {
        CHECK(parts[k].begin == at);
        CHECK(parts[k].end > parts[k].begin);
        CHECK(parts[k].worker == parts[0].worker + static_cast<int64_t>(k));
        at = parts[k].end;
      }
      CHECK(at == s.k_blocks);
      most = std::max<int64_t>(most, static_cast<int64_t>(parts.size()));
      if (unit < s.whole_units) continue;
      const GemmParts who = gemm_stream_parts(static_cast<i32>(unit - s.whole_units),
                                              static_cast<i32>(s.depth), static_cast<i32>(s.share));
      CHECK(who.first == parts.front().worker);
      CHECK(who.last == parts.back().worker);
    }
    CHECK(most <= s.max_parts());
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

TEST_CASE("gemm shares: the width holds the columns with the least rest") {
  const GemmChoice choice{stream_entries()[0], 1};
  REQUIRE(choice.cluster() == 1);
  for (int64_t m = 1; m <= 1100; ++m) {
    const int64_t width = gemm_tile_columns(choice, GemmDesc{}, m);
    const int64_t tiles = (m + width - 1) / width;
    CHECK(tiles == (m + 255) / 256);
    const auto* at = std::find(std::begin(kGemmWidths), std::end(kGemmWidths), width);
    REQUIRE(at != std::end(kGemmWidths));
    if (at != std::begin(kGemmWidths)) CHECK(at[-1] * tiles < m);
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
