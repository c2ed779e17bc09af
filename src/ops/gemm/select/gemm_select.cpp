// SPDX-License-Identifier: Apache-2.0
// What a choice costs.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "kernels/gemm/gemm_row.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/gemm/select/gemm_shares.hpp"

namespace tw {
namespace {

struct RowCost {
  double k_block_ns, tile_ns, launch_ns;
};

constexpr double kBytesPerNs = 4000.0;  // of device memory: 4.0 TB/s

// The measured row of gemm_costs.inc; what is not in it (plain and host rows) is the slowest.
RowCost row_cost(const KernelRow& row) {
  constexpr RowCost kSlowest = {5000, 5000, 5000};
  if (row.variant & kGemmPlain) return kSlowest;
  constexpr uint32_t k_coop = 0;
  constexpr uint32_t k_ping = kGemmPingpong;
  constexpr uint32_t k_split = kGemmSplit;
  constexpr uint32_t k_swap = kGemmTransposed;
  constexpr uint32_t k_swapsplit = kGemmTransposed | kGemmSplit;
  constexpr uint32_t k_full = kGemmFull;
  constexpr uint32_t k_fullping = kGemmFull | kGemmPingpong;
  constexpr uint32_t k_fullswap = kGemmFull | kGemmTransposed;
  const uint32_t schedule = row.variant & (kGemmPingpong | kGemmSplit | kGemmTransposed);
  const uint32_t own = schedule | (row.variant & (kGemmFull | kGemmAlone));
#define TW_GEMM_COST(tm, tn, cm, cn, wanted, k_block, tile_, launch)                            \
  if (row.tile[0] == (tm) && row.tile[1] == (tn) && row.cluster[0] == (cm) &&                   \
      row.cluster[1] == (cn) && ((k_##wanted & kGemmFull) != 0 ? own : schedule) == k_##wanted) \
    return {k_block, tile_, launch};
#include "ops/gemm/select/gemm_costs.inc"
#undef TW_GEMM_COST
  return kSlowest;
}

// Nanoseconds that a block's own requests for one k block take: lines of 128 bytes, of which those
// that start anywhere else than at a multiple of 128 bytes ask the L2 twice. Contiguous along n, B
// comes in boxes of 64 columns, which start where the tile does: of the first tile at such a
// multiple.
double asked_ns(const KernelRow& row, const GemmDesc& d, int32_t in_bytes, int32_t out_bytes) {
  constexpr double kAligned = 1.1, kStraddling = 2.4;
  const auto line = [&](int64_t pitch) {
    return pitch * in_bytes % 128 == 0 ? kAligned : kStraddling;
  };
  const GemmTile tile = gemm_tile(row, in_bytes, out_bytes);
  const bool along_k = (row.variant & kGemmColumnB) != 0;
  const bool starts = along_k || d.n <= row.tile[1];
  const double b_line = std::max(line(d.ldb), starts ? kAligned : line(row.tile[1]));
  return static_cast<double>(row.tile[0]) / row.cluster[1] * line(d.lda) +
         static_cast<double>(gemm_b_lines(tile)) / row.cluster[0] * b_line;
}

// What a warpgroup of a full row takes for its part of a tile's epilogue where there is more to do
// for each element than a bias and relu; for one of a thread's as measured with gelu_tanh. What
// sums parts has every option in its way already. Pair by pair (full_chunks.cuh) a tile of 128 x
// 160, which takes a part's bias at a time, has its loads behind the work: gelu_tanh of 4096 x 7168
// x 512 takes 60.5 us with it and 61.1 with pairs of 128 x 128. Of silu both take as long.
double warpgroup_ns(const GemmChoice& choice, const GemmProblem& problem) {
  const GemmEpilogue& e = problem.desc.epilogue;
  const bool across =
      e.bias != Per::none && (e.bias == Per::column) != (problem.desc.d_order == Order::row);
  const bool by_pairs = e.activation == Activation::gelu_tanh && e.scale == Per::none && !e.amax &&
                        e.gate == Gate::none && !across && !problem.reads_c;
  const double element_ns = by_pairs && choice.row->tile[1] == 160 ? 34 : 42;
  if (!choice.has(kGemmFull) || choice.has(kGemmSplit | kGemmTransposed)) return 0;
  const auto tile_m = static_cast<u32>(choice.row->tile[0]);
  const u32 sharers = choice.has(kGemmPingpong) ? 1 : gemm_consumers(tile_m);
  return element_ns * tile_m * choice.row->tile[1] / (128.0 * sharers);
}

bool takes_longer(const GemmEpilogue& e) {
  return e.activation > Activation::relu || e.scale != Per::none || e.amax;
}

// How a choice parts a problem; without rows or columns as with one.
struct Parts {
  int64_t m, n, batch;
  int64_t units, k_blocks;

  Parts(const GemmChoice& choice, const GemmProblem& problem)
      : m(std::max<int64_t>(problem.desc.m, 1)),
        n(std::max<int64_t>(problem.desc.n, 1)),
        batch(std::max<int64_t>(problem.desc.batch, 1)),
        units(ceil_div(m, choice.row->tile[0] * choice.row->cluster[0]) *
              ceil_div(n, choice.row->tile[1] * choice.row->cluster[1]) * batch),
        k_blocks(ceil_div(ceil_div(problem.desc.k, choice.row->tile[2]), choice.split)) {}
};

// What memory, or the L2, takes to give the operands and to take D.
double moves_ns(const GemmChoice& choice, const GemmProblem& problem, const Parts& parts) {
  const GemmDesc& d = problem.desc;
  const KernelRow& row = *choice.row;
  // What products share is read once.
  const auto matrices = [&](int64_t stride) {
    return static_cast<double>(stride == 0 ? 1 : parts.batch);
  };
  const double bytes = (static_cast<double>(parts.m * d.k) * matrices(d.a_batch) +
                        static_cast<double>(d.k * parts.n) * matrices(d.b_batch)) *
                           problem.in_bytes +
                       static_cast<double>(parts.m * parts.n) * matrices(d.d_batch) *
                           problem.out_bytes * (problem.reads_c ? 2 : 1);
  const double moves = bytes / kBytesPerNs;
  // Tiles of few columns share little: with more than one for the tokens it is the L2 that gives
  // the weights again and again. 28672 x 4096 takes 62 us with one, 90 with two and 133 with four.
  constexpr double kL2BytesPerNs = 6200;
  if (!choice.has(kGemmFull) || !choice.has(kGemmTransposed) || choice.has(kGemmSplit))
    return moves;
  return std::max(moves, static_cast<double>(parts.units * parts.k_blocks * row.tile[2]) *
                             problem.in_bytes * (row.tile[0] + row.tile[1]) / kL2BytesPerNs);
}

// Rows that read A without maps and share k: what a block does in a step of k, for each group of
// eight columns, and with the columns that it sums and writes. One NVIDIA H200, 2026-11-22.
double plain_split_ns(const GemmChoice& choice, const GemmProblem& problem, const GemmChip& chip) {
  constexpr double kLaunchNs = 2000, kClusterNs = 1300, kTileNs = 800, kColumnNs = 60;
  constexpr double kStepNs = 130, kGroupNs = 70, kShared = 1.5;  // two blocks on an SM
  const KernelRow& row = *choice.row;
  const GemmDesc& d = problem.desc;
  const int64_t n = std::max<int64_t>(d.n, 1);
  const auto waves =
      static_cast<double>(ceil_div(gemm_units(choice, problem), chip.at_once(choice)));
  const auto steps = static_cast<double>(ceil_div(ceil_div(d.k, row.tile[2]), choice.split));
  const auto columns = static_cast<double>(std::min<int64_t>(n, row.tile[1]));
  const bool shares = gemm_units(choice, problem) * choice.cluster() > chip.sms;
  const double step = (kStepNs + kGroupNs * std::ceil(columns / 8)) * (shares ? kShared : 1);
  const double work = waves * (steps * step + kTileNs + kColumnNs * columns / choice.split);
  return kLaunchNs + (choice.split > 1 ? kClusterNs : 0) +
         std::max(work, moves_ns(choice, problem, Parts(choice, problem)));
}

// Rows of a short k: what a block does for a tile, of which four on an SM overlap.
double plain_short_ns(const GemmChoice& choice, const GemmProblem& problem, const GemmChip& chip) {
  constexpr double kLaunchNs = 2400, kTileNs = 400, kStepNs = 12;
  const auto waves =
      static_cast<double>(ceil_div(gemm_units(choice, problem), chip.at_once(choice)));
  const double work = waves * (kTileNs + kStepNs * static_cast<double>(problem.desc.k));
  return kLaunchNs + std::max(work, moves_ns(choice, problem, Parts(choice, problem)));
}

// Stream-K: k blocks of the busiest cluster, tiles that it writes, and parts that meet.
double stream_ns(const GemmChoice& choice, const GemmProblem& problem, const GemmChip& chip) {
  const int64_t at_once = chip.clusters_at_once(choice.cluster());
  const GemmShares s = gemm_shares(choice, problem, at_once);
  const double width = static_cast<double>(s.width) / 256;
  const auto whole = static_cast<double>(ceil_div(s.whole, at_once));
  const double k_block = std::max(790 * width, 300.0);
  const double tile = 500 + 1249 * width * problem.out_bytes / 2;
  double work = whole * (static_cast<double>(s.k_blocks) * k_block + tile);
  if (s.shared() > 0) {
    work += static_cast<double>(s.share) * k_block + tile;
    if (s.parts() > 1) work += 1500 + 1100 * width * static_cast<double>(s.parts());
  }
  return 2200 + std::max(work, moves_ns(choice, problem, Parts(choice, problem)));
}

// The output of a tile is written by the same SMs: f32 doubles what is not hidden. A full row that
// sums parts has every option in its way: measured with one part, 90 ns for each element of a
// thread's.
double write_ns(const GemmChoice& choice, const GemmProblem& problem) {
  constexpr double kFullElementNs = 90;
  const KernelRow& row = *choice.row;
  const double times = choice.writes_chains() ? gemm_chains(problem.desc.k) : 1;
  const double write = row_cost(row).tile_ns * (problem.out_bytes / 2.0) * times;
  if (!choice.has(kGemmFull) || !choice.has(kGemmSplit | kGemmTransposed)) return write;
  return write + kFullElementNs * row.tile[0] * row.tile[1] /
                     (128.0 * gemm_consumers(static_cast<u32>(row.tile[0])) * choice.split);
}

// What `tiles` one after the other take, where a warpgroup has `own` to do with the elements of
// each. C takes as long, but for the last tile's, which has come by then: of 4096 x 7168 x 512 and
// 2048 with C this says 58 and 159 us for 128 x 160 and 56 and 165 for pairs of 128 x 128, of which
// 70, 166, 66 and 170 were measured.
double work_ns(const GemmChoice& choice, const GemmProblem& problem, double tiles, double multiply,
               double own) {
  const double write = write_ns(choice, problem);
  const double with_c = problem.reads_c ? warpgroup_ns(choice, problem) : 0;
  const auto all_of = [&](double each) {
    if (!choice.has(kGemmPingpong)) return tiles * (multiply + std::max(write, each));
    // Of two warpgroups in turn one writes while the other multiplies: what takes longer is seen.
    return std::max(tiles * (multiply + write), std::ceil(tiles / 2) * (multiply + each));
  };
  const double hidden = std::max(write, own + with_c) - std::max(write, own);
  return std::max(all_of(own), all_of(own + with_c) - hidden);
}

double row_ns(const GemmChoice& choice, const GemmProblem& problem, const GemmChip& chip) {
  if (choice.has(kGemmPlain) && choice.has(kGemmSplit))
    return plain_split_ns(choice, problem, chip);
  if (choice.has(kGemmShort)) return plain_short_ns(choice, problem, chip);
  if (choice.has(kGemmStreamK)) return stream_ns(choice, problem, chip);
  const RowCost cost = row_cost(*choice.row);
  const Parts parts(choice, problem);
  const auto tiles =
      static_cast<double>(ceil_div(parts.units, chip.clusters_at_once(choice.cluster())));
  const double k_block = std::max(
      cost.k_block_ns, asked_ns(*choice.row, problem.desc, problem.in_bytes, problem.out_bytes));
  const double multiply = static_cast<double>(parts.k_blocks) * k_block;
  const double own = takes_longer(problem.desc.epilogue) ? warpgroup_ns(choice, problem) : 0;
  const double work = work_ns(choice, problem, tiles, multiply, own);
  const double moves = moves_ns(choice, problem, parts);
  // The last tile's is nobody's to hide.
  const double all = cost.launch_ns + own + std::max(work, moves);
  // Batch rows have no options in their way: measured 2 to 13 % less than a full row of the tile.
  // And full rows are told apart by what memory hides, of which some shows all the same.
  constexpr double kAlone = 0.92, kShows = 0.05;
  if (!choice.has(kGemmFull)) return all;
  return (choice.has(kGemmAlone) ? kAlone : 1.0) * (all + kShows * std::min(work, moves));
}

}  // namespace

double gemm_cost(const GemmChoice& choice, const GemmProblem& problem, const GemmChip& chip) {
  const bool copies = choice.through_maps() && choice.row->feature != feature::host;
  return row_ns(choice, problem, chip) + (copies ? problem.copies_ns : 0);
}

int64_t gemm_units(const GemmChoice& choice, const GemmProblem& problem) {
  const KernelRow& row = *choice.row;
  return ceil_div(problem.desc.m, row.tile[0] * row.cluster[0]) *
         ceil_div(problem.desc.n, gemm_tile_columns(choice, problem) * row.cluster[1]) *
         problem.desc.batch;
}

}  // namespace tw
