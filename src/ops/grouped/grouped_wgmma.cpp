// SPDX-License-Identifier: Apache-2.0
#include "ops/grouped/grouped_wgmma.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm_stream.h"
#include "ops/common/counter_tag.hpp"
#include "ops/common/maps.hpp"
#include "ops/gemm/gemm_maps.hpp"
#include "ops/gemm/select/gemm_shares.hpp"

namespace tw {
namespace {

constexpr u32 kTileColumns = 128;  // of B, of one block
constexpr i32 kTileRows = 256;     // of a group, at most
constexpr u32 kTileK = 64;

// k blocks that a block must save by sharing a tile: adding up the parts takes about as long as
// loading so many.
constexpr i32 kShareFrom = 6;

GemmTile tile_of(const GroupedProblem& problem) {
  return {kTileColumns,
          kTileRows,
          kTileK,
          kSchedule_grouped | kGemmColumnB,
          static_cast<u32>(problem.in_bytes),
          static_cast<u32>(problem.out_bytes)};
}

// What decides about accumulation chains.
GemmDesc sums_of(const GroupedProblem& problem) {
  GemmDesc desc;
  desc.d_dtype = problem.desc.d_dtype;
  desc.k = problem.desc.k;
  return desc;
}

u32 counter_bytes(uint32_t blocks) {
  return gemm_stream_counter_bytes(blocks, 1);
}

// Groups may overlap: each has at most all rows.
bool has_countable_tiles(const GroupedDesc& d) {
  int64_t tiles = 0;
  return !__builtin_mul_overflow(d.groups * ceil_div(d.m, int64_t{kTileRows}),
                                 ceil_div(d.n, int64_t{kTileColumns}), &tiles) &&
         tiles <= INT32_MAX;
}

bool suits_maps(int64_t elements, const GroupedProblem& problem) {
  return pitch_suits_maps(elements * problem.in_bytes);
}

}  // namespace

const char* grouped_wgmma_refusal(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  if (d.n == 0 || d.m == 0) return "there is nothing to multiply";
  if (!suits_maps(d.lda, problem)) return "lda is no multiple of 16 bytes below 2^40";
  if (!suits_maps(d.ldb, problem)) return "ldb is no multiple of 16 bytes below 2^40";
  if (!problem.ranges() && d.weights > 1 && !suits_maps(d.b_stride, problem))
    return "b_stride is no multiple of 16 bytes below 2^40";
  if (d.gate == Gate::halves && d.b_order == Order::row)
    return "the gated columns of a row-major B lie apart";
  if (!has_countable_tiles(d)) return "groups of all rows would have 2^31 tiles or more";
  return nullptr;
}

uint32_t grouped_wgmma_smem(const GroupedProblem& problem) {
  return gemm_shared(tile_of(problem)).total;
}

bool grouped_needs_workspace(const GroupedProblem& problem) {
  return gemm_chains_of(sums_of(problem)) > 1;
}

uint64_t grouped_wgmma_workspace(const GroupedProblem& problem, uint32_t blocks) {
  const GroupedDesc& d = problem.desc;
  const bool shares = !d.has(kGroupedDescInvariant) && !problem.ranges();
  if (!shares && !grouped_needs_workspace(problem)) return 0;
  const int64_t rows = std::clamp<int64_t>(round_up(d.m, 32), 32, kTileRows);
  return counter_bytes(blocks) +
         uint64_t{2} * blocks * gemm_stream_tile_bytes(kTileColumns, static_cast<u32>(rows));
}

namespace {

// B's boxes have the columns of a tile, in 64 where they are contiguous; where k is, as many as come
// from one place.
Status encode_rows(Device& device, const GroupedProblem& problem, GroupedArgs* args) {
  const GroupedDesc& d = problem.desc;
  const bool column = d.b_order == Order::column;
  const u32 lines = !column ? kTileK : d.gate == Gate::halves ? kTileColumns / 4 : kTileColumns;
  TW_TRY(encode_gemm_map(device, d.a_dtype, column ? d.k : d.n, column ? d.n : d.k, d.ldb,
                         {kTileK, lines, true}, 3, {d.weights, d.b_stride}, &args->map_b));
  for (int map = 0; map < kGroupedBoxCount; ++map)
    TW_TRY(encode_gemm_map(device, d.a_dtype, d.k, problem.a_rows(), d.lda,
                           {kTileK, static_cast<u32>(grouped_box(map)), true}, 2, {},
                           &args->map_a[map]));
  return {};
}

Status encode_ranges(Device& device, const GroupedProblem& problem, GroupedArgs* args) {
  const GroupedDesc& d = problem.desc;
  const GemmSlab box = {kTileK, kTileK, true};
  TW_TRY(encode_gemm_map(device, d.a_dtype, d.n, d.k, d.ldb, box, 2, {}, &args->map_b));
  return encode_gemm_map(device, d.a_dtype, d.m, d.k, d.lda, box, 2, {}, &args->map_a[0]);
}

}  // namespace

Status prepare_grouped_wgmma(Device& device, const GroupedProblem& problem, uint32_t blocks,
                             GroupedArgs* args) {
  TW_TRY(problem.ranges() ? encode_ranges(device, problem, args)
                          : encode_rows(device, problem, args));
  args->band = static_cast<i32>(
      std::lround(std::sqrt(static_cast<double>(blocks) * kTileRows / kTileColumns)));
  args->chain_blocks =
      static_cast<i32>(ceil_div(gemm_chain_length(sums_of(problem)), int64_t{kTileK}));
  args->share_from = kShareFrom;
  args->partials = counter_bytes(blocks);
  args->counter_tag = next_counter_tag();
  return {};
}

void bind_grouped_wgmma(const GroupedProblem& problem, const GroupedArgs& prepared,
                        GroupedArgs* args) {
  args->map_b = prepared.map_b;
  std::copy(std::begin(prepared.map_a), std::end(prepared.map_a), std::begin(args->map_a));
  args->band = prepared.band;
  args->chain_blocks = prepared.chain_blocks;
  args->share_from = prepared.share_from;
  args->partials = prepared.partials;
  args->counter_tag = prepared.counter_tag;
  if (problem.ranges()) {
    rebind_map(&args->map_b, args->b, 1, args->k);
    rebind_map(&args->map_a[0], args->a, 1, args->k);
    return;
  }
  // Neither operand is read where alpha is 0.
  if (args->alpha == 0.0f) args->k = 0;
  rebind_address(&args->map_b, args->b);
  for (KernelMap& map : args->map_a) rebind_map(&map, args->a, 1, args->m);
}

}  // namespace tw
