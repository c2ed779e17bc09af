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
#include "ops/gemm/select/gemm_chip.hpp"
#include "ops/gemm/select/gemm_shares.hpp"

namespace tw {
namespace {

constexpr u32 kTileColumns = kGroupedTileColumns;

// Rows of a group in a tile, at most, and elements of k in a k block.
u32 tile_rows(const GroupedProblem& problem) {
  return problem.desc.is_narrow() ? kGroupedScaledTileRows : kGroupedTileRows;
}
u32 tile_k(const GroupedProblem& problem) {
  return problem.desc.is_narrow() ? kGroupedScaledTileK : kGroupedTileK;
}

GemmTile tile_of(const GroupedProblem& problem) {
  return {kTileColumns,
          tile_rows(problem),
          tile_k(problem),
          (problem.desc.is_narrow() ? kSchedule_scaledgrouped : kSchedule_grouped) | kGemmColumnB,
          static_cast<u32>(problem.in_bytes),
          static_cast<u32>(problem.out_bytes)};
}

// What determines the accumulation chains of a product.
GemmDesc chains_desc(const GroupedProblem& problem) {
  GemmDesc desc;
  desc.d_dtype = problem.desc.d_dtype;
  desc.k = problem.desc.k;
  return desc;
}

u32 counter_bytes(uint32_t blocks) {
  return gemm_stream_counter_bytes(blocks, 1);
}

// Whether the number of tiles fits in 31 bits. Groups may overlap, so each may have all m rows.
bool has_countable_tiles(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  int64_t tiles = 0;
  return !__builtin_mul_overflow(d.groups * ceil_div(d.m, int64_t{tile_rows(problem)}),
                                 ceil_div(d.n, int64_t{kTileColumns}), &tiles) &&
         tiles <= INT32_MAX;
}

// Refuses a pitch or stride that tensor maps cannot have.
std::string pitch_refusal(const char* name, int64_t elements, const GroupedProblem& problem) {
  const int64_t bytes = elements * problem.in_bytes;
  if (pitch_suits_maps(bytes)) return {};
  const std::string begin = std::string(name) + " is " + std::to_string(elements) +
                            " elements, which are " + std::to_string(bytes) + " bytes: ";
  if (bytes >= kMapMaxStride) return begin + "tensor maps need less than 2^40 bytes";
  return begin + "tensor maps need a multiple of 16 bytes, for example " + name + " = " +
         std::to_string(round_up(bytes, kMapAlignment) / problem.in_bytes);
}

std::string pitches_refusal(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  std::string why = pitch_refusal("lda", d.lda, problem);
  if (why.empty()) why = pitch_refusal("ldb", d.ldb, problem);
  const bool has_stride = !problem.has_k_ranges() && d.weight_count > 1;
  if (why.empty() && has_stride) why = pitch_refusal("b_stride", d.b_stride, problem);
  return why;
}

std::string narrow_refusal(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  if (!is_f8(d.a_dtype)) return "a_dtype is i8: wgmma kernels support bf16, f16 and 8-bit floats";
  if (problem.has_k_ranges())
    return "a_dtype has 8 bits: wgmma kernels for TW_GROUPING_K_RANGES support bf16 and f16";
  if (d.b_order == Order::column) return {};
  return "b_order is TW_ROW_MAJOR: wgmma kernels for 8-bit floats need TW_COLUMN_MAJOR";
}

std::string gate_refusal(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  if (d.gate == Gate::halves && d.b_order == Order::row)
    return "gate is TW_GATE_HALVES and b_order is TW_ROW_MAJOR: the two columns that give an "
           "element of D are half a row apart; wgmma kernels need TW_COLUMN_MAJOR or "
           "TW_GATE_INTERLEAVED";
  if (d.gate == Gate::none || d.b_order == Order::row || d.n % 16 == 0) return {};
  return "n is " + std::to_string(d.n) +
         ": with a gate and TW_COLUMN_MAJOR wgmma kernels need a multiple of 16";
}

}  // namespace

std::string grouped_wgmma_refusal(const Device& device, const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  if (d.n == 0 || d.m == 0) return "there is nothing to multiply";
  std::string why = d.is_narrow() ? narrow_refusal(problem) : std::string();
  if (why.empty()) why = gate_refusal(problem);
  if (why.empty()) why = pitches_refusal(problem);
  if (!why.empty()) return why;
  if (static_cast<int64_t>(grouped_wgmma_smem(problem)) > device.info().max_dynamic_smem_bytes)
    return "a block has too little shared memory on this device";
  if (!has_countable_tiles(problem))
    return "if each group had all rows, there would be 2^31 tiles or more";
  return {};
}

uint32_t grouped_wgmma_smem(const GroupedProblem& problem) {
  return gemm_shared(tile_of(problem)).total;
}

bool grouped_needs_workspace(const GroupedProblem& problem) {
  if (problem.desc.is_narrow()) return false;  // each k block is a chain of its own
  return gemm_required_chains(chains_desc(problem)) > 1;
}

bool grouped_may_divide(const GroupedProblem& problem) {
  const GroupedDesc& d = problem.desc;
  return !d.has(kGroupedDescInvariant) && !problem.has_k_ranges() && !d.is_narrow();
}

uint64_t grouped_stream_k_bytes(const GroupedProblem& problem, uint32_t blocks) {
  const GroupedDesc& d = problem.desc;
  if (!grouped_may_divide(problem) && !grouped_needs_workspace(problem)) return 0;
  const int64_t rows = std::clamp<int64_t>(round_up(d.m, 32), 32, kGroupedTileRows);
  return counter_bytes(blocks) +
         uint64_t{2} * blocks * gemm_stream_tile_bytes(kTileColumns, static_cast<u32>(rows));
}

// Threads gather rows into a tile at half the speed of the TMA. For groups of few rows the loads of
// the weights hide that. For larger groups it is faster to copy the rows of A into a packed matrix
// first. The traffic of that copy is 2 m / (weights * n) of the traffic of reading the weights.
uint64_t grouped_packed_bytes(const GroupedProblem& problem) {
  constexpr int64_t kMinRows = 48, kMinColumns = 768, kMaxBytes = int64_t{1} << 30;
  const GroupedDesc& d = problem.desc;
  // Scales are indexed by the caller's rows of A, which a packed copy does not know.
  if (d.is_narrow()) return 0;
  if (!problem.gathers() || d.grouping == Grouping::masked || d.k == 0) return 0;
  const int64_t rows =
      d.expected_rows != 0 ? d.expected_rows : d.m / std::max<int64_t>(d.weight_count, 1);
  if (rows < kMinRows || d.n < kMinColumns) return 0;
  const int64_t bytes = d.m * d.k * problem.in_bytes;
  return d.k % 8 != 0 || bytes > kMaxBytes ? 0 : static_cast<uint64_t>(bytes);
}

namespace {

// Encodes a map whose boxes alternate eight gate columns and eight linear columns, so that both are
// in one tile.
Status encode_gated(Device& device, const GroupedProblem& problem, KernelMap* out) {
  constexpr uint64_t kEight = 8;
  const GroupedDesc& d = problem.desc;
  const auto column = static_cast<uint64_t>(d.ldb * problem.in_bytes);
  const auto half = static_cast<uint64_t>(d.n / 2);
  const bool halves = d.gate == Gate::halves;
  const uint64_t strides[] = {
      halves ? column : 2 * column, halves ? half * column : column,
      (halves ? kEight : 2 * kEight) * column,
      d.weight_count > 1 ? static_cast<uint64_t>(d.b_stride * problem.in_bytes) : column};
  const uint64_t dims[] = {static_cast<uint64_t>(std::max<int64_t>(d.k, 1)), kEight, 2,
                           half / kEight,
                           static_cast<uint64_t>(std::max<int64_t>(d.weight_count, 1))};
  const uint32_t box[] = {tile_k(problem), kEight, 2, kTileColumns / (2 * kEight), 1};
  TensorMapDesc desc;
  desc.dtype = d.a_dtype;
  desc.rank = 5;
  desc.swizzle = Swizzle::b128;
  desc.l2_promotion = L2Promotion::b128;
  std::copy(std::begin(dims), std::end(dims), std::begin(desc.global_dim));
  std::copy(std::begin(strides), std::end(strides), std::begin(desc.global_stride_bytes));
  std::copy(std::begin(box), std::end(box), std::begin(desc.box_dim));
  return encode_map(device, desc, out);
}

// A row-major B is loaded in boxes of 64 columns, a column-major one in a single box with all
// columns of a tile.
Status encode_weights(Device& device, const GroupedProblem& problem, KernelMap* out) {
  const GroupedDesc& d = problem.desc;
  const bool column = d.b_order == Order::column;
  if (column && d.gate != Gate::none) return encode_gated(device, problem, out);
  return encode_gemm_map(device, d.a_dtype, column ? d.k : d.n, column ? d.n : d.k, d.ldb,
                         {tile_k(problem), column ? kTileColumns : tile_k(problem), true}, 3,
                         {d.weight_count, d.b_stride}, out);
}

Status encode_rows(Device& device, const GroupedProblem& problem, GroupedArgs* args) {
  const GroupedDesc& d = problem.desc;
  const bool has_packed_a = grouped_packed_bytes(problem) != 0;
  const int64_t rows = has_packed_a ? d.m : problem.rows_of_a(), pitch = has_packed_a ? d.k : d.lda;
  TW_TRY(encode_weights(device, problem, &args->map_b));
  for (int map = 0; map < kGroupedBoxCount; ++map)
    TW_TRY(encode_gemm_map(device, d.a_dtype, d.k, rows, pitch,
                           {tile_k(problem), static_cast<u32>(grouped_box_rows(map)), true}, 2, {},
                           &args->map_a[map]));
  return {};
}

Status encode_ranges(Device& device, const GroupedProblem& problem, GroupedArgs* args) {
  const GroupedDesc& d = problem.desc;
  const GemmSlab box = {kGroupedTileK, kGroupedTileK, true};
  TW_TRY(encode_gemm_map(device, d.a_dtype, d.n, d.k, d.ldb, box, 2, {}, &args->map_b));
  return encode_gemm_map(device, d.a_dtype, d.m, d.k, d.lda, box, 2, {}, &args->map_a[0]);
}

}  // namespace

Status prepare_grouped_wgmma(Device& device, const GroupedProblem& problem, uint32_t blocks,
                             GroupedArgs* args) {
  TW_TRY(problem.has_k_ranges() ? encode_ranges(device, problem, args)
                                : encode_rows(device, problem, args));
  args->band = static_cast<i32>(
      std::lround(std::sqrt(static_cast<double>(blocks) * tile_rows(problem) / kTileColumns)));
  args->chain_blocks =
      static_cast<i32>(ceil_div(gemm_chain_length(chains_desc(problem)), int64_t{tile_k(problem)}));
  const GemmRates rates = gemm_rates(device.info());
  args->memory_rate = static_cast<i32>(std::lround(rates.dram_bytes_per_ns / rates.clock));
  args->partials_offset = counter_bytes(blocks);
  args->counter_tag = counter_tag();
  return {};
}

void bind_grouped_wgmma(const GroupedProblem& problem, const GroupedArgs& prepared,
                        GroupedArgs* args) {
  args->map_b = prepared.map_b;
  std::copy(std::begin(prepared.map_a), std::end(prepared.map_a), std::begin(args->map_a));
  args->band = prepared.band;
  args->chain_blocks = prepared.chain_blocks;
  args->memory_rate = prepared.memory_rate;
  args->partials_offset = prepared.partials_offset;
  args->counter_tag = prepared.counter_tag;
  if (problem.has_k_ranges()) {
    rebind_map(&args->map_b, args->b, 1, args->k);
    rebind_map(&args->map_a[0], args->a, 1, args->k);
    return;
  }
  // With alpha 0 neither operand may be read.
  if (args->alpha == 0.0f) args->k = 0;
  rebind_address(&args->map_b, args->b);
  for (KernelMap& map : args->map_a) rebind_map(&map, args->a, 1, args->m);
}

}  // namespace tw
