// SPDX-License-Identifier: Apache-2.0
// "full" in names marks code of the epilogue kernels.
#include "ops/gemm/gemm_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm_narrow.h"
#include "kernels/gemm/gemm_entry.hpp"
#include "ops/common/counter_tag.hpp"
#include "ops/common/maps.hpp"
#include "ops/gemm/gemm_epilogue.hpp"
#include "ops/gemm/gemm_maps.hpp"
#include "ops/gemm/gemm_scales.hpp"

namespace tw {
namespace {

// The kernel's tile. Its bits for the orders of A and B come from the problem, because a host
// kernel serves all orders, so its entry has no such bits. A GPU kernel's entry has the same bits
// as the problem.
GemmTile tile_for(const KernelEntry& entry, const GemmProblem& kernel_problem) {
  GemmTile tile = gemm_tile(entry, kernel_problem.in_bytes, kernel_problem.out_bytes);
  if (kernel_problem.desc.a_order == Order::column) tile.variant |= kGemmColumnA;
  if (kernel_problem.desc.b_order == Order::column) tile.variant |= kGemmColumnB;
  return tile;
}

// Whether numbers in device memory determine which elements of A and B a run reads. device_beta
// does not count: it only determines whether C is read.
bool depends_on_device(const GemmRun& run) {
  return run.device_m != 0 || run.device_alpha != 0;
}

}  // namespace

Status GemmKernel::create(Device& device, const GemmProblem& problem, const GemmChoice& choice,
                          int64_t rows, std::unique_ptr<GemmKernel>* out) {
  std::unique_ptr<GemmKernel> kernel(
      new GemmKernel(choice.entry ? gemm_kernel_view(choice, problem) : problem, choice));
  TW_TRY(kernel->prepare(device));
  TW_TRY(kernel->check_rows(rows));
  *out = std::move(kernel);
  return {};
}

Status GemmKernel::prepare(Device& device) {
  const bool maps = choice_.entry && choice_.uses_maps();
  if (maps) tile_ = tile_for(*choice_.entry, problem_);
  TW_TRY(prepare_entry(device, Family::gemm, choice_.entry, maps ? gemm_shared(tile_).total : 0,
                       &prepared_));
  const GemmDesc& d = problem_.desc;
  const bool splits = choice_.entry && choice_.has(kGemmSplit);
  const uint32_t blocks =
      maps ? usable_sms(device, d.max_sms) : gemm_no_maps_blocks(device, d.max_sms, splits);
  resident_clusters_ = choice_.entry ? std::max(1u, blocks / choice_.cluster()) : blocks;
  if (choice_.entry && choice_.has(kGemmStreamK)) {
    // How many clusters of joined CTAs run at the same time, for gemm_shares().
    const GemmChip chip = GemmChip::of(device, d.max_sms);
    std::copy(std::begin(chip.clusters), std::end(chip.clusters), clusters_);
  }
  args_.a_stride_m = problem_.a_stride_m();
  args_.a_stride_k = problem_.a_stride_k();
  args_.b_stride_k = problem_.b_stride_k();
  args_.b_stride_n = problem_.b_stride_n();
  args_.c_stride_m = d.ldc;
  args_.d_stride_m = d.ldd;
  if (choice_.entry) {
    const KernelEntry& entry = *choice_.entry;
    const double unit_rows = double(entry.tile[0]) * choice_.cluster_m();
    const double unit_columns = double(entry.tile[1]) * choice_.cluster_n();
    // With b units along m, the resident units cover b * unit_rows rows and
    // resident_clusters_ / b * unit_columns columns of D. These are equal for this b.
    square_band_ =
        static_cast<i32>(std::lround(std::sqrt(resident_clusters_ * unit_columns / unit_rows)));
  }
  // Only host kernels read the types and orders, because one host kernel serves all of them.
  args_.host_in = static_cast<unsigned char>(d.a_dtype);
  args_.host_out = static_cast<unsigned char>(d.d_dtype);
  args_.host_column_a = d.a_order == Order::column;
  args_.host_column_b = d.b_order == Order::column;
  fill_epilogue(problem_, &epilogue_args_);
  fill_batch();
  has_d_map_ = choice_.entry && can_write_d_by_tma();
  if (d.has(kGemmPointers)) TW_TRY(GemmPointers::create(device, problem_, maps, &pointers_));
  if (maps) TW_TRY(encode_maps(device));
  return choice_.entry ? query_occupancy() : Status{};
}

void GemmKernel::fill_batch() {
  const GemmDesc& d = problem_.desc;
  epilogue_args_.batch = static_cast<i32>(std::max<int64_t>(d.batch, 1));
  epilogue_args_.flags = problem_.swapped ? u32{kFullSwapped} : 0u;
  // If a scale of D covers elements of two tiles, one worker computes both of them, one after the
  // other.
  if (choice_.entry && gemm_consecutive_tiles(choice_, d) > 1) epilogue_args_.flags |= kFullPairs;
  if (d.batch <= 1 || d.has(kGemmPointers)) return;
  epilogue_args_.a_batch = d.a_batch_stride;
  epilogue_args_.b_batch = d.b_batch_stride;
  epilogue_args_.c_batch = d.c_batch_stride;
  epilogue_args_.d_batch = d.d_batch_stride;
}

Status GemmKernel::check_rows(int64_t rows) const {
  const GemmProblem problem = problem_at(rows);
  return gemm_count_units(choice_, problem) <= gemm_max_units(choice_)
             ? Status()
             : too_many_gemm_units(choice_, problem);
}

Status GemmKernel::encode_maps(Device& device) {
  const GemmDesc& d = problem_.desc;
  const bool has_epilogue = choice_.has(kGemmEpilogue);
  const bool halves =
      has_epilogue && problem_.gates_along_lines() && d.epilogue.gate == Gate::halves;
  const auto boxes = [&](bool along_k, u32 lines, int32_t sharers, bool gated) {
    const auto multicast_ctas = static_cast<u32>(sharers);
    OperandBoxes out{gemm_box_extent(along_k, lines, tile_.k, multicast_ctas),
                     gemm_boxes_per_cta(along_k, lines, multicast_ctas), multicast_ctas, along_k,
                     gated};
    if (gated && along_k && (multicast_ctas == 1 || choice_.has(kGemmStreamK))) {
      // A box must lie in one half of the operand: one half has the gates, the other the lines that
      // they gate. So a box has half of the tile's lines or, with stream-K, at most half of the
      // lines that a warpgroup multiplies.
      const u32 half = (choice_.has(kGemmStreamK) ? gemm_rows_per_warpgroup(tile_) : lines) / 2;
      out.box_lines = std::min(half, lines / multicast_ctas);
      out.count = lines / multicast_ctas / out.box_lines;
    }
    // In stream-K kernels each CTA loads an equal part of the k block (stream_load_share()).
    if (choice_.has(kGemmStreamK) && !along_k) {
      out.box_lines = tile_.k / multicast_ctas;
      out.count = lines / 64;
    }
    return out;
  };
  a_boxes_ =
      boxes(d.a_order == Order::row, tile_.m, choice_.cluster_n(), halves && problem_.swapped);
  b_boxes_ = boxes(d.b_order == Order::column, gemm_b_stage_columns(tile_), choice_.cluster_m(),
                   halves && !problem_.swapped);
  const bool ak = a_boxes_.along_k, bk = b_boxes_.along_k;
  const auto span = kSwizzleBytes / static_cast<u32>(problem_.in_bytes);
  // Split-K kernels for narrow types have epilogues, but load like basic kernels.
  const int32_t rank = has_epilogue && !choice_.is_narrow_split() ? 3 : 2;
  TW_TRY(encode_gemm_map(device, d.a_dtype, ak ? d.k : d.m, ak ? d.m : d.k, d.lda,
                         {span, a_boxes_.box_lines, true}, rank,
                         {problem_.map_batch(d.a_batch_stride), d.a_batch_stride}, &args_.map_a));
  TW_TRY(encode_gemm_map(device, d.b_type(), bk ? d.k : d.n, bk ? d.n : d.k, d.ldb,
                         {span, b_boxes_.box_lines, true}, rank,
                         {problem_.map_batch(d.b_batch_stride), d.b_batch_stride}, &args_.map_b));
  const GemmSlab slab = gemm_slab(tile_);
  if (has_epilogue && has_d_map_)
    TW_TRY(encode_gemm_map(device, d.d_dtype, d_extent(d.n), d.m, d.ldd,
                           {slab.contiguous, kGemmStoreLines, slab.swizzled}, rank,
                           {problem_.map_batch(d.d_batch_stride), d.d_batch_stride}, &args_.map_d));
  if (!has_epilogue && problem_.d_pitch_suits_maps())
    TW_TRY(encode_gemm_map(device, d.d_dtype, problem_.d_contiguous(), problem_.d_lines(), d.ldd,
                           slab, rank, {}, &args_.map_d));
  return {};
}

Status GemmKernel::query_occupancy() {
  const KernelEntry& entry = *choice_.entry;
  if (entry.feature == feature::host || choice_.cluster() == 1) return {};
  LaunchConfig one;
  one.grid[0] = one.cluster[0] = choice_.cluster();
  one.block[0] = static_cast<uint32_t>(entry.threads);
  one.dynamic_smem_bytes = prepared_.dynamic_smem_bytes;
  int32_t blocks = 0, clusters = 0;
  TW_TRY(prepared_.kernel->occupancy(one, &blocks, &clusters));
  if (clusters < 1)
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "candidate", .rule = "candidate_cluster", .got = choice_.cluster()},
        "kernel %s runs in clusters of %u blocks, and the driver says that none of them fits "
        "the SMs of this context",
        entry.symbol, choice_.cluster());
  resident_clusters_ = std::min(resident_clusters_, static_cast<uint32_t>(clusters));
  return {};
}

GemmProblem GemmKernel::problem_at(int64_t m) const {
  GemmProblem problem = problem_;
  problem.set_rows(m);
  return problem;
}

void GemmKernel::fill_sizes(int64_t m, int64_t tile_columns, GemmArgs* args) const {
  const KernelEntry& entry = *choice_.entry;
  args->m = static_cast<i32>(problem_.swapped ? problem_.desc.m : m);
  args->n = static_cast<i32>(problem_.swapped ? m : problem_.desc.n);
  // Divides 32-bit numbers, which takes a third of the time of 64-bit ones. The sum does not
  // overflow, because no extent exceeds kGemmMaxExtent.
  const auto units = [](i32 extent, int32_t unit) { return (extent + unit - 1) / unit; };
  const auto consecutive_tiles = static_cast<i32>(gemm_consecutive_tiles(choice_, problem_.desc));
  args->units_m =
      units(args->m, entry.tile[0] * choice_.cluster_m() * consecutive_tiles) * consecutive_tiles;
  args->units_n = units(args->n, static_cast<i32>(tile_columns) * choice_.cluster_n());
  args->band = gemm_band(square_band_, args->units_m, std::max(args->units_n, 1),
                         static_cast<i32>(resident_clusters_), choice_.cluster() > 1);
  args->band = (args->band + consecutive_tiles - 1) / consecutive_tiles * consecutive_tiles;
}

LaunchConfig GemmKernel::config_for_units(const GemmArgs& args) const {
  const uint32_t units = static_cast<uint32_t>(args.units_m) * static_cast<uint32_t>(args.units_n) *
                         static_cast<uint32_t>(epilogue_args_.batch);
  return config_for_clusters(choice_.is_persistent() ? std::min(units, resident_clusters_) : units,
                             choice_.cluster());
}

LaunchConfig GemmKernel::config_for_shares(const GemmShares& shares) const {
  return config_for_clusters(
      static_cast<uint32_t>(shares.workers),
      shares.joined > 0 ? static_cast<uint32_t>(shares.joined) : choice_.cluster());
}

// Launches `clusters` times choice_.cluster() CTAs, in clusters of `launch_cluster` CTAs. The two
// sizes of clusters differ if CTAs of a stream-K kernel are joined (GemmShares::joined).
LaunchConfig GemmKernel::config_for_clusters(uint32_t clusters, uint32_t launch_cluster) const {
  LaunchConfig config;
  config.grid[0] = std::max(1u, clusters) * choice_.cluster();
  config.cluster[0] = launch_cluster;
  config.block[0] = static_cast<uint32_t>(choice_.entry->threads);
  config.dynamic_smem_bytes = prepared_.dynamic_smem_bytes;
  // If runs give arrays of addresses, a small kernel first reads the arrays. PDL lets the product
  // start while that kernel still runs.
  config.programmatic = problem_.desc.has(kGemmProgrammatic) || pointers_;
  return config;
}

// Lines of a box for an operand of `lines` lines. If the operand has fewer lines than a box, the
// box is clipped to a multiple of 8 lines, because a box that reaches past the operand's edge loads
// slower.
u32 GemmKernel::clipped_lines(const OperandBoxes& boxes, int64_t lines) {
  if (!boxes.along_k || boxes.multicast_ctas > 1 || boxes.halves || lines >= boxes.box_lines)
    return boxes.box_lines;
  return static_cast<u32>(round_up(lines, 8));
}

// Lines of D have `contiguous` elements. The kernel writes a line with the TMA up to the returned
// element, and with plain stores from there on, because a TMA store can only end at a multiple of
// 16 bytes. Returns 0 if the TMA cannot write D at all.
int32_t GemmKernel::plain_from(int64_t contiguous, uint64_t d) const {
  if (d % kMapAlignment != 0 || !problem_.d_pitch_suits_maps()) return 0;
  if (problem_.desc.d_padding_writable) return static_cast<int32_t>(contiguous);
  const int64_t bytes = contiguous * problem_.out_bytes / kMapAlignment * kMapAlignment;
  return static_cast<int32_t>(problem_.out_bytes == 2 ? bytes / 2 : bytes / 4);
}

// Whether the kernel computes D += alpha A B in f32 with TMA reductions, which need not read C.
bool GemmKernel::adds_to_d(const GemmRun& run) const {
  const GemmDesc& d = problem_.desc;
  return choice_.entry->feature != feature::host && choice_.uses_maps() &&
         !choice_.has(kGemmSplit) && d.d_dtype == DType::F32 && run.beta == 1.0f &&
         run.c == run.d && d.ldc == d.ldd;
}

// Completes the maps of A, B and, for basic kernels, D with the run's addresses and sizes.
void GemmKernel::bind_maps(GemmArgs* args) const {
  const bool ak = a_boxes_.along_k, bk = b_boxes_.along_k;
  rebind_map(&args->map_a, args->a, ak ? 1 : 0, args->m);
  rebind_map(&args->map_b, args->b, bk ? 1 : 0, args->n);
  const u32 a_lines = clipped_lines(a_boxes_, args->m), b_lines = clipped_lines(b_boxes_, args->n);
  if (a_lines < a_boxes_.box_lines) rebind_box_rows(&args->map_a, a_lines, kSwizzleBytes);
  if (b_lines < b_boxes_.box_lines) rebind_box_rows(&args->map_b, b_lines, kSwizzleBytes);
  // gemm_stage_bytes() expects the lines that a CTA loads of an operand that is contiguous along k.
  // With Gate::halves these are the lines of two boxes, one from each half of the operand.
  const auto stage_lines = [](const OperandBoxes& boxes, u32 lines) {
    return boxes.halves && boxes.along_k && boxes.multicast_ctas == 1 ? 2 * lines : lines;
  };
  args->stage_bytes =
      gemm_stage_bytes(tile_, stage_lines(a_boxes_, a_lines), stage_lines(b_boxes_, b_lines),
                       a_boxes_.multicast_ctas, b_boxes_.multicast_ctas);
  if (args->plain_from == 0) return;
  const bool row = problem_.desc.d_order == Order::row;
  rebind_map(&args->map_d, args->d, 0, args->plain_from);
  rebind_map(&args->map_d, args->d, 1, row ? args->m : args->n);
}

void GemmKernel::bind(const GemmRun& run, int64_t m, int64_t tile_columns, GemmArgs* args) const {
  fill_sizes(m, tile_columns, args);
  args->a = problem_.swapped ? run.b : run.a;
  args->b = problem_.swapped ? run.a : run.b;
  args->c = run.c;
  args->d = run.d;
  args->alpha = run.alpha;
  args->beta = run.beta;
  args->k = run.reads_ab() ? static_cast<i32>(problem_.desc.k) : 0;
  if (!choice_.has(kGemmEpilogue)) {
    args->adds_to_d = adds_to_d(run) ? 1 : 0;
    if (choice_.divides_k_into_chains())
      args->more_chains = static_cast<unsigned char>(gemm_chain_count(args->k) - 1);
    if (!choice_.has(kGemmStreamK)) args->early = static_cast<unsigned short>(constant_operands());
    args->plain_from = plain_from(problem_.desc.d_order == Order::row ? args->n : args->m, args->d);
  }
  if (choice_.uses_maps()) bind_maps(args);
}

// The kGemmOperand bits of the kernel's operands that the plan's staging copy does not copy. A
// product that follows the copy may load them before griddepcontrol.wait: the copy does not write
// them, and all kernels before the copy have ended, because it is launched without PDL.
u32 GemmKernel::operands_not_copied(u32 staged_operands) const {
  const u32 others = staged_operands ^ kGemmOperandBoth;
  // If operands are swapped, the caller's A is the kernel's B.
  return problem_.swapped && others != 0 ? others ^ kGemmOperandBoth : others;
}

Status GemmKernel::launch(Stream& stream, const GemmRun& run, int64_t m,
                          u32 staged_operands) const {
  if (choice_.has(kGemmStreamK)) return launch_stream(stream, run, m, staged_operands);
  if (choice_.is_narrow_split()) return launch_narrow_split(stream, run, m, staged_operands);
  if (choice_.has(kGemmEpilogue)) return launch_epilogue(stream, run, m, staged_operands != 0);
  GemmArgs args = args_;
  bind(run, m, choice_.entry->tile[1], &args);
  LaunchConfig launch = config_for_units(args);
  if (staged_operands != 0) {
    launch.programmatic = true;
    args.early = static_cast<unsigned short>(operands_not_copied(staged_operands));
  }
  return stream.launch(*prepared_.kernel, launch, &args, sizeof args);
}

// How a stream-K kernel divides a run among its workers. The caller's problem has m rows in this
// run.
GemmShares GemmKernel::shares(int64_t m) const {
  const GemmDesc& d = problem_.desc;
  return gemm_shares(choice_, d, problem_.swapped ? d.m : m, problem_.swapped ? m : d.n,
                     resident_clusters_, clusters_);
}

// Sets B's boxes for the tile width in use, and the stages and bytes per stage that follow from it.
void GemmKernel::bind_width(const GemmShares& shares, GemmStreamArgs* args) const {
  GemmArgs& base = args->full.base;
  const auto width = static_cast<u32>(shares.width);
  u32 lines = width / b_boxes_.multicast_ctas;
  if (b_boxes_.along_k) {
    if (b_boxes_.multicast_ctas == 1)
      lines = std::min(lines, static_cast<u32>(round_up(base.n, 8)));
    rebind_box_rows(&base.map_b, lines, kSwizzleBytes);
  }
  const u32 b = b_boxes_.along_k ? lines * b_boxes_.multicast_ctas : (width + 63) / 64 * tile_.k;
  const u32 a =
      std::min(tile_.m, clipped_lines(a_boxes_, base.m) * a_boxes_.count * a_boxes_.multicast_ctas);
  base.stage_bytes = (a + b) * kSwizzleBytes;
  args->width = static_cast<i32>(width);
  args->width_index = shares.width_index;
  args->stage_step = gemm_stream_stage(tile_, width);
  const int64_t pipeline_bytes = gemm_pipeline_bytes(choice_, problem_.desc, tile_, shares.width) -
                                 shares.joined_bytes(choice_);
  args->stages = static_cast<i32>(
      std::min(static_cast<u32>(pipeline_bytes) / args->stage_step, kGemmMaxStages));
  args->joined = static_cast<i32>(shares.joined);
  const auto cluster = choice_.cluster(), along_m = static_cast<uint32_t>(choice_.cluster_m());
  args->cluster_log = static_cast<unsigned char>(std::countr_zero(cluster));
  args->cluster_log_m = static_cast<unsigned char>(std::countr_zero(along_m));
  // Bits 0, along_m, 2 * along_m and so on.
  args->cluster_row_mask =
      static_cast<unsigned short>(((1u << cluster) - 1) / ((1u << along_m) - 1));
}

Status GemmKernel::launch_stream(Stream& stream, const GemmRun& run, int64_t m,
                                 u32 staged_operands) const {
  GemmNarrowArgs narrow{};  // only kernels for narrow types get more than its member `stream`
  GemmStreamArgs& args = narrow.stream;
  GemmArgs& base = args.full.base;
  if (choice_.has(kGemmEpilogue)) {
    args.full = epilogue_args_;
    bind_options(run, &args.full);
  } else {
    base = args_;
  }
  GemmShares s = shares(m);
  bind(run, m, s.width, &base);
  if (choice_.has(kGemmEpilogue)) bind_d_map(run, &args.full);
  // The shares are for the sizes that the host knows. If numbers in device memory can change these,
  // or if A and B are not read, no unit may be divided.
  if (base.k == 0 || depends_on_device(run)) s.divide_no_unit(resident_clusters_);
  bind_width(s, &args);
  args.workspace = run.workspace;
  if (pointers_) args.workspace += gemm_pointers_bytes(problem_.desc);
  args.counter_tag = counter_tag();
  // If CTAs are joined, the partial accumulators are in shared memory, after the stages. Otherwise
  // they are in the workspace, after the counters.
  args.partials_offset =
      static_cast<u32>(s.joined > 0 ? args.stages * static_cast<i64>(args.stage_step)
                                    : s.counter_bytes(choice_.cluster()));
  args.whole_units = static_cast<i32>(s.whole_units);
  args.share = static_cast<i32>(s.share);
  args.padded_k_blocks = static_cast<i32>(s.padded_k_blocks);
  args.chain_blocks = static_cast<i32>(s.chain_blocks);
  LaunchConfig launch = config_for_shares(s);
  if (pointers_) {
    TW_TRY(pointers_->launch(stream, run, &args.full));
  } else if (staged_operands != 0) {
    launch.programmatic = true;
    base.early = static_cast<unsigned short>(operands_not_copied(staged_operands));
  } else if (!depends_on_device(run)) {
    base.early = static_cast<unsigned short>(constant_operands());
  }
  if (!choice_.has(kGemmNarrow))
    return stream.launch(*prepared_.kernel, launch, &args, sizeof args);
  fill_scales(problem_, run, &narrow.scales);
  return stream.launch(*prepared_.kernel, launch, &narrow, sizeof narrow);
}

uint64_t GemmKernel::workspace_bytes(int64_t first, int64_t last) const {
  if (gemm_needs_no_workspace(choice_, problem_.desc)) return 0;
  // Unless operands are swapped, the kernel's columns are the caller's n and do not depend on m.
  const int64_t columns = problem_.swapped ? last : problem_.desc.n;
  if (first < last)
    return static_cast<uint64_t>(gemm_max_workspace_bytes(choice_, columns, resident_clusters_));
  GemmShares s = shares(last);
  int64_t bytes = s.workspace_bytes(choice_);
  if (problem_.desc.has(kGemmDeviceM | kGemmDeviceScalars)) {
    // A run that depends on device memory divides no unit, but may add chains in the workspace.
    s.divide_no_unit(resident_clusters_);
    bytes = std::max(bytes, s.workspace_bytes(choice_));
  }
  return static_cast<uint64_t>(bytes);
}

// Whether runs of an epilogue kernel may write D through a map. For each run, writes_d_by_tma()
// then checks its sizes and address.
bool GemmKernel::can_write_d_by_tma() const {
  const GemmDesc& d = problem_.desc;
  // Kernels round gelu_tanh differently with and without TMA stores (FullChunks::kFactor), so the
  // choice must not depend on m if the plan is batch-invariant. It would for a column-major D of
  // the caller: its lines run along m, and their length decides whether the TMA can store them
  // (writes_d_by_tma()). `swapped` means such a D here, because this kernel is not a swap-AB kernel
  // or gets no map anyway (see below).
  if (problem_.swapped && d.has(kGemmInvariant) && d.epilogue.activation == Activation::gelu_tanh)
    return false;
  if (!choice_.has(kGemmEpilogue) || !choice_.uses_maps() ||
      choice_.entry->feature == feature::host || !problem_.d_pitch_suits_maps() ||
      !problem_.batch_suits_maps(d.d_batch_stride, problem_.out_bytes))
    return false;
  if (choice_.is_scaled_rowstream()) return problem_.out_bytes == 2 && !d.has(kGemmPointers);
  const int64_t tile_columns = d_extent(choice_.entry->tile[1]);  // of D
  // A tile must consist of whole boxes.
  return tile_columns % gemm_slab(tile_).contiguous == 0 && !choice_.has(kGemmSplit | kGemmSwapAB);
}

// The number of D's columns if A B has n columns.
int64_t GemmKernel::d_extent(int64_t n) const {
  return problem_.gated() ? n / 2 : n;
}

// Whether a run writes D through its map, if A B has n columns and D is at `address`. TMA stores
// can only end at a multiple of 16 bytes.
bool GemmKernel::writes_d_by_tma(int64_t n, uint64_t address) const {
  const GemmDesc& d = problem_.desc;
  if (!has_d_map_) return false;
  if (!d.d_padding_writable && d_extent(n) * problem_.out_bytes % kMapAlignment != 0) return false;
  return d.has(kGemmPointers) ? d.d_alignment >= kMapAlignment : address % kMapAlignment == 0;
}

bool GemmKernel::supports(const GemmRun& run, int64_t m) const {
  if (choice_.has(kGemmStreamK)) {
    // The parts of a divided unit, or accumulation chains, may have to be added in a workspace.
    if (run.workspace == 0 && workspace_bytes(m, m) != 0) return false;
    if (choice_.has(kGemmEpilogue)) return true;
    // A basic stream-K kernel reads A and B but not C. It stores D in pieces of 16 bytes, so D's
    // address, stride and lines must be multiples of 16 bytes. Lines of another length are possible
    // if the padding behind them may be written.
    const int64_t contiguous = problem_at(m).d_contiguous();
    return !run.reads_c() && run.reads_ab() && problem_.desc.k > 0 &&
           plain_from(contiguous, run.d) == contiguous;
  }
  if (!choice_.has(kGemmBatched)) return true;
  // A batched kernel computes only alpha A B, reads neither m nor alpha from device memory, and
  // writes D only through a map.
  return !run.reads_c() && run.device_m == 0 && run.device_alpha == 0 &&
         writes_d_by_tma(problem_.swapped ? m : problem_.desc.n, run.d);
}

// Flags of the fastest epilogue that does all that the run asks for, if the TMA writes D. `n` is
// the kernel's number of columns. If it is odd, C cannot be read in pairs of elements, because the
// last pair would reach past the end of C's line.
u32 GemmKernel::tma_store_flags(const GemmRun& run, int64_t n) const {
  const GemmDesc& d = problem_.desc;
  if (!run.reads_c() && !d.epilogue.any()) return kFullTmaStores | kFullNoEpilogue;
  const auto c_is_aligned = [&](int64_t bytes) {
    return (d.has(kGemmPointers)
                ? d.c_alignment >= bytes
                : (run.c | static_cast<uint64_t>(epilogue_args_.c_batch * problem_.out_bytes)) %
                          static_cast<uint64_t>(bytes) ==
                      0) &&
           d.ldc * problem_.out_bytes % bytes == 0;
  };
  const bool c_in_pairs = c_is_aligned(int64_t{2} * problem_.out_bytes) && n % 2 == 0;
  const bool is_simple = !problem_.gated() && (d.epilogue.activation == Activation::identity ||
                                               d.epilogue.activation == Activation::relu);
  if (!is_simple || (run.reads_c() && !c_in_pairs)) return kFullTmaStores;
  return kFullTmaStores | kFullSimpleEpilogue |
         (run.reads_c() && c_is_aligned(16) ? kFullAlignedC : 0u);
}

// The kGemmOperand bits of operands that a kernel launched with PDL may load before
// griddepcontrol.wait, because of TW_GEMM_A_CONSTANT or TW_GEMM_B_CONSTANT.
u32 GemmKernel::constant_operands() const {
  const GemmDesc& d = problem_.desc;
  if (!d.has(kGemmProgrammatic)) return 0;
  return (d.has(kGemmConstantA) ? u32{kGemmOperandA} : 0u) |
         (d.has(kGemmConstantB) ? u32{kGemmOperandB} : 0u);
}

void GemmKernel::bind_options(const GemmRun& run, GemmEpilogueArgs* args) const {
  args->bias = run.bias;
  args->d_factor = run.d_factor;
  args->d_factor_value = run.d_factor_value;
  args->amax = problem_.desc.epilogue.amax ? run.amax : 0;
  args->device_m = run.device_m;
  args->device_alpha = run.device_alpha;
  args->device_beta = run.device_beta;
}

// If the run of an epilogue kernel writes D through its map, completes the map and sets the flags
// for such a run.
void GemmKernel::bind_d_map(const GemmRun& run, GemmEpilogueArgs* args) const {
  GemmArgs& base = args->base;
  if (!writes_d_by_tma(base.n, run.d)) return;
  args->flags |= tma_store_flags(run, base.n);
  rebind_map(&base.map_d, run.d, 0, d_extent(base.n));
  rebind_map(&base.map_d, run.d, 1, base.m);
}

Status GemmKernel::launch_epilogue(Stream& stream, const GemmRun& run, int64_t m,
                                   bool after_staging_copy) const {
  // Only kernels for narrow types get more than the member `full`.
  GemmScaledArgs scaled{.full = epilogue_args_, .scales = {}};
  GemmEpilogueArgs& args = scaled.full;
  bind(run, m, choice_.entry->tile[1], &args.base);
  bind_options(run, &args);
  if (choice_.has(kGemmNarrow)) fill_scales(problem_, run, &scaled.scales);
  bind_d_map(run, &args);
  if (pointers_)
    TW_TRY(pointers_->launch(stream, run, &args));
  else if (!depends_on_device(run))
    args.flags |= constant_operands();
  LaunchConfig launch = config_for_units(args.base);
  launch.programmatic |= after_staging_copy;
  return stream.launch(*prepared_.kernel, launch, &scaled,
                       choice_.has(kGemmNarrow) ? sizeof scaled : sizeof args);
}

Status GemmKernel::launch_narrow_split(Stream& stream, const GemmRun& run, int64_t m,
                                       u32 staged_operands) const {
  GemmNarrowArgs narrow{};
  GemmEpilogueArgs& args = narrow.stream.full;
  args = epilogue_args_;
  bind(run, m, choice_.entry->tile[1], &args.base);
  bind_options(run, &args);
  fill_scales(problem_, run, &narrow.scales);
  narrow.stream.width = choice_.entry->tile[1];
  LaunchConfig launch = config_for_units(args.base);
  launch.programmatic |= staged_operands != 0;
  args.base.early = static_cast<unsigned short>(
      staged_operands != 0 ? operands_not_copied(staged_operands) : constant_operands());
  return stream.launch(*prepared_.kernel, launch, &narrow, sizeof narrow);
}

LaunchConfig GemmKernel::config(int64_t m) const {
  if (choice_.has(kGemmStreamK)) return config_for_shares(shares(m));
  GemmArgs args = args_;
  fill_sizes(m, choice_.entry->tile[1], &args);
  return config_for_units(args);
}

uint64_t GemmKernel::units(int64_t m) const {
  return static_cast<uint64_t>(gemm_count_units(choice_, problem_at(m)));
}

uint64_t GemmKernel::boxes_loaded(int64_t m) const {
  if (!choice_.uses_maps()) return 0;
  const KernelEntry& entry = *choice_.entry;
  const auto blocks = units(m) * choice_.cluster();
  const auto k_blocks = static_cast<uint64_t>(ceil_div(problem_.desc.k, entry.tile[2]));
  return blocks * k_blocks * (a_boxes_.count + b_boxes_.count);
}

uint64_t GemmKernel::boxes_stored(int64_t m) const {
  if (!choice_.uses_maps() || choice_.has(kGemmSplit)) return 0;
  if (choice_.has(kGemmStreamK) && !choice_.is_scaled_rowstream()) return 0;
  const GemmProblem problem = problem_at(m);
  const GemmSlab slab = gemm_slab(tile_);
  if (choice_.has(kGemmEpilogue)) {
    if (!writes_d_by_tma(problem.desc.n, 0)) return 0;
    return static_cast<uint64_t>(ceil_div(problem.desc.m, int64_t{kGemmStoreLines}) *
                                 ceil_div(d_extent(problem.desc.n), slab.contiguous) *
                                 epilogue_args_.batch);
  }
  const int64_t times = adds_chains_in_d(m) ? gemm_chain_count(problem.desc.k) : 1;
  return static_cast<uint64_t>(ceil_div(problem.d_lines(), slab.lines) *
                               ceil_div(plain_from(problem.d_contiguous(), 0), slab.contiguous) *
                               times);
}

bool GemmKernel::adds_chains_in_d(int64_t m) const {
  // Kernels can park the upper 16 bits of accumulators only in runs in which the TMA writes all of
  // D. In other runs they add the chains in D.
  const int64_t contiguous = problem_at(m).d_contiguous();
  return choice_.adds_chains_in_d() ||
         (choice_.parks_upper_16_bits() && plain_from(contiguous, 0) < contiguous);
}

}  // namespace tw
