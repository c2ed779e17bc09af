// SPDX-License-Identifier: Apache-2.0
#pragma once
// Enumerates the GEMM kernels of a device for tests, and makes descriptions that a kernel supports.

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

/// Every GEMM kernel of the device: split-K and stream-K kernels once for each factor, and those
/// that take any cluster also once for each shape.
/// TW_KERNELS=text selects kernels whose name contains the text. TW_EVERY=n selects every n-th of
/// these, for tools that make kernels a hundred times slower.
inline std::vector<GemmChoice> all_choices(const Device& device) {
  std::vector<GemmChoice> choices;
  const char* every = std::getenv("TW_EVERY");
  const char* text = std::getenv("TW_KERNELS");
  const int step = every ? std::max(1, std::atoi(every)) : 1;
  int number = 0;
  const auto take = [&](const GemmChoice& choice) {
    if (!is_chosen_kernel(choice.entry->symbol)) return;
    if (number++ % step == 0) choices.push_back(choice);
  };
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if (!(entry.feature & device.info().kernel_features)) continue;
    if (entry.variant & (kGemmPrologue | kGemmNarrow)) continue;
    GemmChoice choice{&entry, 1};
    if (choice.has(kGemmStreamK)) {
      for (const auto& shape : kGemmClusterShapes) {
        const int ctas = shape[0] * shape[1];
        if (ctas > 1 && !choice.takes_any_cluster()) break;
        std::copy_n(shape, 2, choice.cluster_shape);
        for (choice.split = 1; choice.split <= kMaxCluster; ++choice.split)
          if (choice.has_stream_k_factor()) take(choice);
      }
    } else if (!choice.has(kGemmSplit)) {
      take(choice);
    }
    if (!choice.has(kGemmSplit)) continue;
    for (choice.split = choice.min_split(); choice.split <= kMaxCluster; ++choice.split)
      if (choice.cluster() <= kMaxCluster) take(choice);
  }
  if (text && number == 0) FAIL("TW_KERNELS=" << text << ": no GEMM kernel has such a name");
  return choices;
}

/// Whether the kernel only computes alpha * A B, for a D that a tensor map can describe.
inline bool does_product_alone(const GemmChoice& choice) {
  return choice.has(kGemmBatched) || (choice.has(kGemmStreamK) && !choice.has(kGemmEpilogue));
}

/// One choice for each kind of kernel: schedule, cluster, split factor, width of D, transposed.
inline std::vector<GemmChoice> one_of_each_kind(const Device& device) {
  std::vector<GemmChoice> kinds;
  std::set<std::vector<int64_t>> seen;
  for (const GemmChoice& choice : all_choices(device)) {
    const KernelEntry& entry = *choice.entry;
    const uint32_t orders = entry.variant & (kGemmColumnA | kGemmColumnB);
    const bool plain = choice.has(kGemmNoMaps);
    if (!plain && orders != kGemmColumnB && orders != kGemmColumnA) continue;
    if (choice.split != 1 && choice.split != 2 && choice.split != 5 && choice.split != 8) continue;
    const std::vector<int64_t> kind = {entry.variant, choice.split, choice.cluster_m(),
                                       choice.cluster_n(), dtype_bytes(entry.dtypes[1])};
    if (seen.insert(kind).second) kinds.push_back(choice);
  }
  return kinds;
}

/// Splits choices among processes: with TW_SHARE=k/n every n-th from the k-th on, else all.
inline std::vector<GemmChoice> share_of(const std::vector<GemmChoice>& all) {
  const char* share = std::getenv("TW_SHARE");
  int which = 0, of = 1;
  if (share) REQUIRE(std::sscanf(share, "%d/%d", &which, &of) == 2);
  std::vector<GemmChoice> own;
  for (size_t i = 0; i < all.size(); ++i)
    if (static_cast<int>(i) % of == which) own.push_back(all[i]);
  return own;
}

/// A description with types and orders that the choice supports. The caller sets the extents.
inline GemmDesc desc_for(const GemmChoice& choice, Order d_order) {
  const KernelEntry& entry = *choice.entry;
  GemmDesc desc;
  desc.a_dtype = entry.dtypes[0];
  desc.d_dtype = entry.dtypes[1];
  desc.d_order = d_order;
  if (choice.has(kGemmF16Accumulators)) desc.accumulator = DType::F16;
  Order a = choice.has(kGemmColumnA) ? Order::column : Order::row;
  Order b = choice.has(kGemmColumnB) ? Order::column : Order::row;
  // A column-major D or a transposed kernel swaps operands and orders; both cancel out.
  if (choice.has(kGemmSwapAB) != (d_order == Order::column)) {
    std::swap(a, b);
    a = a == Order::row ? Order::column : Order::row;
    b = b == Order::row ? Order::column : Order::row;
  }
  desc.a_order = a;
  desc.b_order = b;
  return desc;
}

/// Sets leading dimensions of at least the packed ones, which `variety` varies. Those of A and B
/// are multiples of 16 bytes if the choice uses tensor maps. Limits k for kernels for a short k.
inline void set_pitches(const GemmChoice& choice, int variety, GemmDesc* desc) {
  if (choice.has(kGemmShort)) desc->k = std::min<int64_t>(desc->k, choice.entry->tile[2]);
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
