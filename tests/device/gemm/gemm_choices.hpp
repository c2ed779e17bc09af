// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of the gemm table as tests walk them: each choice that a device can run, and
// descriptions that it can serve.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "ops/gemm/select/gemm_select.hpp"
#include "tests/device/gemm/gemm_lab.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"

namespace tw::test {

/// Every row that the device has, each split row once for every number of blocks or parts.
/// TW_ROWS=text takes those alone whose name has the text, and TW_EVERY=n of them each n-th, for
/// tools under which a kernel takes a hundred times as long.
inline std::vector<GemmChoice> all_choices(const Device& device) {
  std::vector<GemmChoice> choices;
  const char* every = std::getenv("TW_EVERY");
  const char* text = std::getenv("TW_ROWS");
  const int step = every ? std::max(1, std::atoi(every)) : 1;
  int number = 0;
  const auto take = [&](const GemmChoice& choice) {
    if (text && !std::strstr(choice.row->symbol, text)) return;
    if (number++ % step == 0) choices.push_back(choice);
  };
  for (const KernelEntry& row : kernel_entries(Family::gemm)) {
    if (!(row.feature & device.info().kernel_features)) continue;
    if (row.variant & (kGemmPrologue | kGemmScaled)) continue;
    GemmChoice choice{&row, 1};
    if (choice.has(kGemmStreamK))
      for (choice.split = 1; choice.split <= kMaxCluster; choice.split *= 2) take(choice);
    else if (!choice.has(kGemmSplit))
      take(choice);
    if (!choice.has(kGemmSplit)) continue;
    for (choice.split = choice.min_split(); choice.split <= kMaxCluster; ++choice.split)
      if (choice.cluster() <= kMaxCluster) take(choice);
  }
  return choices;
}

/// Whether it does alpha * A B alone, of a D that could go through a tensor map.
inline bool does_product_alone(const GemmChoice& choice) {
  return choice.has(kGemmBatched) || (choice.has(kGemmStreamK) && !choice.has(kGemmEpilogue));
}

/// One choice for each way that kernels work: schedule, cluster, split, width of D, transposed.
inline std::vector<GemmChoice> one_of_each_kind(const Device& device) {
  std::vector<GemmChoice> kinds;
  std::set<std::vector<int64_t>> seen;
  for (const GemmChoice& choice : all_choices(device)) {
    const KernelEntry& row = *choice.row;
    const uint32_t orders = row.variant & (kGemmColumnA | kGemmColumnB);
    const bool plain = choice.has(kGemmNoMaps);
    if (!plain && orders != kGemmColumnB && orders != kGemmColumnA) continue;
    if (choice.split != 1 && choice.split != 2 && choice.split != 5 && choice.split != 8) continue;
    const std::vector<int64_t> kind = {row.variant, choice.split, row.cluster[0], row.cluster[1],
                                       dtype_bytes(row.dtypes[1])};
    if (seen.insert(kind).second) kinds.push_back(choice);
  }
  return kinds;
}

/// All of them, or every n-th from the k-th on where TW_SHARE is k/n: several processes together.
inline std::vector<GemmChoice> share_of(const std::vector<GemmChoice>& all) {
  const char* share = std::getenv("TW_SHARE");
  int which = 0, of = 1;
  if (share) REQUIRE(std::sscanf(share, "%d/%d", &which, &of) == 2);
  std::vector<GemmChoice> own;
  for (size_t i = 0; i < all.size(); ++i)
    if (static_cast<int>(i) % of == which) own.push_back(all[i]);
  return own;
}

/// Types and orders that a choice serves for a D of this order; extents are the caller's to fill.
inline GemmDesc desc_for(const GemmChoice& choice, Order d_order) {
  const KernelEntry& row = *choice.row;
  GemmDesc desc;
  desc.a_dtype = row.dtypes[0];
  desc.d_dtype = row.dtypes[1];
  desc.d_order = d_order;
  if (choice.has(kGemmF16Accumulators)) desc.accumulator = DType::F16;
  Order a = choice.has(kGemmColumnA) ? Order::column : Order::row;
  Order b = choice.has(kGemmColumnB) ? Order::column : Order::row;
  // Turned once (a column-major D, or a transposed row), operands change places and orders.
  if (choice.has(kGemmSwapAB) != (d_order == Order::column)) {
    std::swap(a, b);
    a = a == Order::row ? Order::column : Order::row;
    b = b == Order::row ? Order::column : Order::row;
  }
  desc.a_order = a;
  desc.b_order = b;
  return desc;
}

/// Leading dimensions past the packed ones: multiples of 16 bytes where the choice needs maps, and
/// of D and C any. A choice that is for short k alone gets as much of it as it takes.
inline void set_pitches(const GemmChoice& choice, int variety, GemmDesc* desc) {
  if (choice.has(kGemmShort)) desc->k = std::min<int64_t>(desc->k, choice.row->tile[2]);
  const int64_t step = choice.uses_maps() ? 8 : 1;
  const int64_t any =
      choice.has(kGemmNoMaps) && choice.has(kGemmSplit) ? kGemmNoMapsSplitMinPitch : 1;
  const auto pitch = [any](int64_t least, int64_t multiple, int64_t more) {
    return (std::max<int64_t>(least, any) + multiple - 1) / multiple * multiple + more * multiple;
  };
  desc->lda = pitch(desc->a_order == Order::row ? desc->k : desc->m, step, variety % 3);
  desc->ldb = pitch(desc->b_order == Order::row ? desc->n : desc->k, step, variety / 3 % 3);
  const int64_t along = desc->d_order == Order::row ? desc->n : desc->m;
  desc->ldd = pitch(along, variety % 4 == 0 ? 1 : 8, variety % 2);
  desc->ldc = pitch(along, 1, variety % 5);
}

}  // namespace tw::test
