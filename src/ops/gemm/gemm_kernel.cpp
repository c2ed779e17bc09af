// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_kernel.hpp"

#include <algorithm>
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

// The tile of a kernel. The orders are those of `seen`, the problem as the kernel sees it (after
// swap-AB): a GPU kernel's entry has the same orders, a host kernel's has none, since it serves
// all.
GemmTile tile_for(const KernelEntry& entry, const GemmProblem& seen) {
  GemmTile tile = gemm_tile(entry, seen.in_bytes, seen.out_bytes);
  if (seen.desc.a_order == Order::column) tile.variant |= kGemmColumnA;
  if (seen.desc.b_order == Order::column) tile.variant |= kGemmColumnB;
  return tile;
}

// Whether numbers in device memory determine what the run reads of A and B. device_beta only
// determines whether C is read.
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
  room_ = choice_.entry ? std::max(1u, blocks / choice_.cluster()) : blocks;
  if (choice_.entry && choice_.has(kGemmStreamK)) {
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
    const double rows = double(entry.tile[0]) * entry.cluster[0];
    const double columns = double(entry.tile[1]) * entry.cluster[1];
    band_ = static_cast<i32>(std::lround(std::sqrt(room_ * columns / rows)));
  }
  args_.host_in = static_cast<unsigned char>(d.a_dtype);
  args_.host_out = static_cast<unsigned char>(d.d_dtype);
  args_.host_column_a = d.a_order == Order::column;
  args_.host_column_b = d.b_order == Order::column;
  fill_epilogue(problem_, &full_);
  fill_batch();
  stores_ = choice_.entry && can_store();
  if (d.has(kGemmPointers)) TW_TRY(GemmPointers::create(device, problem_, maps, &pointers_));
  if (maps) TW_TRY(encode_maps(device));
  return choice_.entry ? ask_for_room() : Status{};
}

void GemmKernel::fill_batch() {
  const GemmDesc& d = problem_.desc;
  full_.batch = static_cast<i32>(std::max<int64_t>(d.batch, 1));
  full_.flags = problem_.swapped ? u32{kFullSwapped} : 0u;
  if (choice_.entry && gemm_tiles_together(choice_, d) > 1) full_.flags |= kFullPairs;
  if (d.batch <= 1 || d.has(kGemmPointers)) return;
  full_.a_batch = d.a_batch;
  full_.b_batch = d.b_batch;
  full_.c_batch = d.c_batch;
  full_.d_batch = d.d_batch;
}

Status GemmKernel::check_rows(int64_t rows) const {
  const GemmProblem at = problem_at(rows);
  return gemm_units(choice_, at) <= gemm_max_units(choice_) ? Status()
                                                            : too_many_gemm_units(choice_, at);
}

Status GemmKernel::encode_maps(Device& device) {
  const GemmDesc& d = problem_.desc;
  const KernelEntry& entry = *choice_.entry;
  const bool full = choice_.has(kGemmEpilogue);
  const bool halves = full && problem_.gate_along() && d.epilogue.gate == Gate::halves;
  const auto share = [&](bool along_k, u32 lines, int cluster, bool gated) {
    const auto sharers = static_cast<u32>(entry.cluster[cluster]);
    Share out{gemm_box_extent(along_k, lines, tile_.k, sharers),
              gemm_boxes_per_cta(along_k, lines, sharers), sharers, along_k, gated};
    if (gated && along_k && sharers == 1) {
      // A box must lie in one half of the operand: the gates or the lines that they gate. So it has
      // half of the tile's lines or, with stream-K, half of those that a warpgroup multiplies.
      out.part = (choice_.has(kGemmStreamK) ? gemm_rows_per_warpgroup(tile_) : out.part) / 2;
      out.boxes = lines / out.part;
    }
    return out;
  };
  share_a_ = share(d.a_order == Order::row, tile_.m, 1, halves && problem_.swapped);
  share_b_ = share(d.b_order == Order::column, gemm_b_stage_columns(tile_), 0,
                   halves && !problem_.swapped);
  const bool ak = share_a_.along_k, bk = share_b_.along_k;
  // The sharers of a B that is contiguous along n divide the k block: see stream_load_b().
  if (choice_.has(kGemmStreamK) && !bk) share_b_.part = tile_.k / share_b_.sharers;
  const auto line = kLineBytes / static_cast<u32>(problem_.in_bytes);
  const int32_t rank = full ? 3 : 2;
  TW_TRY(encode_gemm_map(device, d.a_dtype, ak ? d.k : d.m, ak ? d.m : d.k, d.lda,
                         {line, share_a_.part, true}, rank,
                         {problem_.map_batch(d.a_batch), d.a_batch}, &args_.map_a));
  TW_TRY(encode_gemm_map(device, d.b_type(), bk ? d.k : d.n, bk ? d.n : d.k, d.ldb,
                         {line, share_b_.part, true}, rank,
                         {problem_.map_batch(d.b_batch), d.b_batch}, &args_.map_b));
  const GemmSlab slab = gemm_slab(tile_);
  if (full && stores_)
    TW_TRY(encode_gemm_map(device, d.d_dtype, d_extent(d.n), d.m, d.ldd,
                           {slab.contiguous, kGemmStoreLines, slab.swizzled}, rank,
                           {problem_.map_batch(d.d_batch), d.d_batch}, &args_.map_d));
  if (!full && problem_.d_pitch_suits_maps())
    TW_TRY(encode_gemm_map(device, d.d_dtype, problem_.d_contiguous(), problem_.d_lines(), d.ldd,
                           slab, rank, {}, &args_.map_d));
  return {};
}

Status GemmKernel::ask_for_room() {
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
  room_ = std::min(room_, static_cast<uint32_t>(clusters));
  return {};
}

GemmProblem GemmKernel::problem_at(int64_t m) const {
  GemmProblem problem = problem_;
  problem.set_rows(m);
  return problem;
}

void GemmKernel::fill_sizes(int64_t m, GemmArgs* args) const {
  const KernelEntry& entry = *choice_.entry;
  args->m = static_cast<i32>(problem_.swapped ? problem_.desc.m : m);
  args->n = static_cast<i32>(problem_.swapped ? m : problem_.desc.n);
  // A 32-bit division takes a third of the time of a 64-bit one. kGemmMaxExtent leaves room for the
  // sum.
  const auto units = [](i32 extent, int32_t unit) { return (extent + unit - 1) / unit; };
  const auto together = static_cast<i32>(gemm_tiles_together(choice_, problem_.desc));
  args->units_m = units(args->m, entry.tile[0] * entry.cluster[0] * together) * together;
  const auto columns = static_cast<i32>(gemm_tile_columns(choice_, problem_.desc, args->n));
  args->units_n = units(args->n, columns * entry.cluster[1]);
  args->band = gemm_band(band_, args->units_m, std::max(args->units_n, 1), static_cast<i32>(room_),
                         choice_.cluster() > 1);
  args->band = (args->band + together - 1) / together * together;
}

LaunchConfig GemmKernel::config(const GemmArgs& args) const {
  if (choice_.has(kGemmStreamK)) return config(shares(args));
  const uint32_t units = static_cast<uint32_t>(args.units_m) * static_cast<uint32_t>(args.units_n) *
                         static_cast<uint32_t>(full_.batch);
  // Split-K launches a cluster per unit; all other kernels are persistent.
  return config(choice_.has(kGemmSplit) ? units : std::min(units, room_), choice_.cluster());
}

LaunchConfig GemmKernel::config(const GemmShares& shares) const {
  return config(static_cast<uint32_t>(shares.clusters),
                shares.joined > 0 ? static_cast<uint32_t>(shares.joined) : choice_.cluster());
}

// `clusters` counts clusters of the choice, `together` the blocks of a cluster in this launch.
LaunchConfig GemmKernel::config(uint32_t clusters, uint32_t together) const {
  LaunchConfig config;
  config.grid[0] = std::max(1u, clusters) * choice_.cluster();
  config.cluster[0] = together;
  config.block[0] = static_cast<uint32_t>(choice_.entry->threads);
  config.dynamic_smem_bytes = prepared_.dynamic_smem_bytes;
  // With arrays of addresses, a small kernel reads the arrays first. PDL lets the product start
  // while that kernel still runs.
  config.programmatic = problem_.desc.has(kGemmProgrammatic) || pointers_;
  return config;
}

// Lines of a box. If the operand has fewer lines than a tile, the box is clipped to a multiple of 8
// lines, because a box that reaches past the edge loads slower.
u32 GemmKernel::clipped(const Share& share, int64_t lines) {
  if (!share.along_k || share.sharers > 1 || share.halves || lines >= share.part) return share.part;
  return static_cast<u32>(round_up(lines, 8));
}

// The first element of a line of D that plain stores must write, because a TMA store can only end
// at a multiple of 16 bytes.
int32_t GemmKernel::plain_from(int64_t contiguous, uint64_t d) const {
  if (d % kMapAlignment != 0 || !problem_.d_pitch_suits_maps()) return 0;
  if (problem_.desc.d_padding_free) return static_cast<int32_t>(contiguous);
  const int64_t bytes = contiguous * problem_.out_bytes / kMapAlignment * kMapAlignment;
  return static_cast<int32_t>(problem_.out_bytes == 2 ? bytes / 2 : bytes / 4);
}

// D += alpha A B in f32 is a TMA reduction, so the kernel need not read C.
bool GemmKernel::adds(const GemmRun& run) const {
  const GemmDesc& d = problem_.desc;
  return choice_.entry->feature != feature::host && choice_.uses_maps() &&
         !choice_.has(kGemmSplit) && d.d_dtype == DType::F32 && run.beta == 1.0f &&
         run.c == run.d && d.ldc == d.ldd;
}

void GemmKernel::bind_maps(GemmArgs* args) const {
  const bool ak = share_a_.along_k, bk = share_b_.along_k;
  rebind_map(&args->map_a, args->a, ak ? 1 : 0, args->m);
  rebind_map(&args->map_b, args->b, bk ? 1 : 0, args->n);
  const u32 a_lines = clipped(share_a_, args->m), b_lines = clipped(share_b_, args->n);
  if (a_lines < share_a_.part) rebind_box_rows(&args->map_a, a_lines, kLineBytes);
  if (b_lines < share_b_.part) rebind_box_rows(&args->map_b, b_lines, kLineBytes);
  // The lines of all boxes of a stage: an operand with gated halves has a box in each half.
  const auto landed = [](const Share& share, u32 lines) {
    return share.halves && share.along_k && share.sharers == 1 ? 2 * lines : lines;
  };
  args->stage_bytes = gemm_stage_bytes(tile_, landed(share_a_, a_lines), landed(share_b_, b_lines),
                                       share_a_.sharers, share_b_.sharers);
  if (args->plain_from == 0) return;
  const bool row = problem_.desc.d_order == Order::row;
  rebind_map(&args->map_d, args->d, 0, args->plain_from);
  rebind_map(&args->map_d, args->d, 1, row ? args->m : args->n);
}

void GemmKernel::bind(const GemmRun& run, int64_t m, GemmArgs* args) const {
  fill_sizes(m, args);
  args->a = problem_.swapped ? run.b : run.a;
  args->b = problem_.swapped ? run.a : run.b;
  args->c = run.c;
  args->d = run.d;
  args->alpha = run.alpha;
  args->beta = run.beta;
  args->k = run.reads_ab() ? static_cast<i32>(problem_.desc.k) : 0;
  if (!choice_.has(kGemmEpilogue)) {
    args->adds = adds(run) ? 1 : 0;
    if (choice_.makes_chains())
      args->more_chains = static_cast<unsigned char>(gemm_chains(args->k) - 1);
    if (!choice_.has(kGemmStreamK)) args->early = static_cast<unsigned short>(early());
    args->plain_from = plain_from(problem_.desc.d_order == Order::row ? args->n : args->m, args->d);
  }
  if (choice_.uses_maps()) bind_maps(args);
}

// The operands that may be loaded before griddepcontrol.wait if the predecessor grid is the plan's
// staging copy: the one that is not copied, or none if both are. All earlier kernels have ended,
// because the copy kernel is launched without PDL.
u32 GemmKernel::early_after_copy(u32 copied) const {
  const u32 early = copied ^ kGemmEarlyBoth;
  return problem_.swapped && early != 0 ? early ^ kGemmEarlyBoth : early;
}

Status GemmKernel::launch(Stream& stream, const GemmRun& run, int64_t m, u32 copied) const {
  if (choice_.has(kGemmStreamK)) return launch_stream(stream, run, m, copied);
  if (choice_.has(kGemmEpilogue)) return launch_full(stream, run, m, copied != 0);
  GemmArgs args = args_;
  bind(run, m, &args);
  LaunchConfig launch = config(args);
  if (copied != 0) {
    launch.programmatic = true;
    args.early = static_cast<unsigned short>(early_after_copy(copied));
  }
  return stream.launch(*prepared_.kernel, launch, &args, sizeof args);
}

GemmShares GemmKernel::shares(const GemmArgs& args) const {
  return gemm_shares(choice_, problem_.desc, args.m, args.n, room_, clusters_);
}

// Sets B's boxes for the tile width in use, and the stages and bytes per stage that follow from it.
void GemmKernel::bind_width(const GemmShares& shares, GemmStreamArgs* args) const {
  GemmArgs& base = args->full.base;
  const auto width = static_cast<u32>(shares.width);
  u32 lines = width / share_b_.sharers;
  if (share_b_.along_k) {
    if (share_b_.sharers == 1) lines = std::min(lines, static_cast<u32>(round_up(base.n, 8)));
    rebind_box_rows(&base.map_b, lines, kLineBytes);
  }
  const u32 b = share_b_.along_k ? lines * share_b_.sharers : (width + 63) / 64 * tile_.k;
  const u32 a = std::min(tile_.m, clipped(share_a_, base.m) * share_a_.boxes * share_a_.sharers);
  base.stage_bytes = (a + b) * kLineBytes;
  args->width = static_cast<i32>(width);
  args->width_number = shares.width_number;
  args->stage_step = gemm_stream_stage(tile_, width);
  const int64_t ring =
      gemm_ring_bytes(choice_, problem_.desc, tile_, shares.width) - shares.joined_bytes(choice_);
  args->stages =
      static_cast<i32>(std::min(static_cast<u32>(ring) / args->stage_step, kGemmMaxStages));
  args->joined = static_cast<i32>(shares.joined);
}

Status GemmKernel::launch_stream(Stream& stream, const GemmRun& run, int64_t m, u32 copied) const {
  GemmNarrowArgs narrow{};  // kernels for other types than the narrow ones get only `stream`
  GemmStreamArgs& args = narrow.stream;
  GemmArgs& base = args.full.base;
  if (choice_.has(kGemmEpilogue)) {
    args.full = full_;
    bind_options(run, &args.full);
  } else {
    base = args_;
  }
  bind(run, m, &base);
  GemmShares s = shares(base);
  if (base.k == 0 || depends_on_device(run)) s.share_nothing(room_);
  bind_width(s, &args);
  args.workspace = run.workspace;
  if (pointers_) args.workspace += gemm_pointers_bytes(problem_.desc);
  args.counter_tag = counter_tag();
  args.partials = static_cast<u32>(s.joined > 0 ? args.stages * static_cast<i64>(args.stage_step)
                                                : s.counter_bytes(choice_.cluster()));
  args.whole_units = static_cast<i32>(s.whole);
  args.share = static_cast<i32>(s.share);
  args.depth = static_cast<i32>(s.depth);
  args.chain_blocks = static_cast<i32>(s.chain);
  LaunchConfig launch = config(s);
  if (pointers_) {
    TW_TRY(pointers_->launch(stream, run, &args.full));
  } else if (copied != 0) {
    launch.programmatic = true;
    base.early = static_cast<unsigned short>(early_after_copy(copied));
  } else if (!depends_on_device(run)) {
    base.early = static_cast<unsigned short>(early());
  }
  if (!choice_.has(kGemmScaled))
    return stream.launch(*prepared_.kernel, launch, &args, sizeof args);
  fill_scales(problem_, run, &narrow.scales);
  return stream.launch(*prepared_.kernel, launch, &narrow, sizeof narrow);
}

uint64_t GemmKernel::workspace_bytes(int64_t first, int64_t last) const {
  if (gemm_needs_no_workspace(choice_, problem_.desc)) return 0;
  // Unless operands are swapped, the kernel's columns are the caller's n and do not depend on m.
  const int64_t columns = problem_.swapped ? last : problem_.desc.n;
  if (first < last) return static_cast<uint64_t>(gemm_max_workspace_bytes(choice_, columns, room_));
  GemmArgs args = args_;
  fill_sizes(last, &args);
  return static_cast<uint64_t>(shares(args).workspace_bytes(choice_));
}

// Whether an epilogue kernel may write D through a map, apart from D's address: a tile must consist
// of whole boxes. In a swapped problem D is contiguous along the caller's m, so stores() gives
// different answers for different m. TMA stores and plain stores round gelu_tanh differently
// (FullChunks::kFactor), so a batch-invariant plan then never uses the map.
bool GemmKernel::can_store() const {
  const GemmDesc& d = problem_.desc;
  if (problem_.swapped && d.has(kGemmInvariant) && d.epilogue.activation == Activation::gelu_tanh)
    return false;
  const int64_t of_tile = d_extent(choice_.entry->tile[1]);
  return choice_.has(kGemmEpilogue) && choice_.uses_maps() &&
         of_tile % gemm_slab(tile_).contiguous == 0 && choice_.entry->feature != feature::host &&
         !choice_.has(kGemmSplit | kGemmSwapAB) && problem_.d_pitch_suits_maps() &&
         problem_.batch_suits_maps(d.d_batch, problem_.out_bytes);
}

int64_t GemmKernel::d_extent(int64_t n) const {
  return problem_.gated() ? n / 2 : n;
}

// Whether D goes through its map at these sizes and this address. TMA stores can only end at a
// multiple of 16 bytes.
bool GemmKernel::stores(int64_t n, uint64_t address) const {
  const GemmDesc& d = problem_.desc;
  if (!stores_) return false;
  if (!d.d_padding_free && d_extent(n) * problem_.out_bytes % kMapAlignment != 0) return false;
  return d.has(kGemmPointers) ? d.d_alignment >= kMapAlignment : address % kMapAlignment == 0;
}

// A batched kernel computes alpha * A B with sizes known to the host, and writes D through a map
// only. A stream-K kernel needs a workspace to join parts. A stream-K kernel without epilogue also
// needs k > 0, no C, and a D whose lines the TMA can write to the end.
bool GemmKernel::does(const GemmRun& run, int64_t m) const {
  if (choice_.has(kGemmStreamK)) {
    if (run.workspace == 0 && workspace_bytes(m, m) != 0) return false;
    if (choice_.has(kGemmEpilogue)) return true;
    const int64_t contiguous = problem_at(m).d_contiguous();
    return !run.reads_c() && run.reads_ab() && problem_.desc.k > 0 &&
           plain_from(contiguous, run.d) == contiguous;
  }
  if (!choice_.has(kGemmBatched)) return true;
  return !run.reads_c() && run.device_m == 0 && run.device_alpha == 0 &&
         stores(problem_.swapped ? m : problem_.desc.n, run.d);
}

// Flags of the shortest epilogue that does all the run asks for, given a D that goes through its
// map. `n` is the run's: if it is odd, C cannot be read in pairs, since the last would reach past
// the end of C's line.
u32 GemmKernel::store_flags(const GemmRun& run, int64_t n) const {
  const GemmDesc& d = problem_.desc;
  if (!run.reads_c() && !d.epilogue.any()) return kFullTmaStores | kFullNoEpilogue;
  const auto in_pieces = [&](int64_t bytes) {
    return (d.has(kGemmPointers)
                ? d.c_alignment >= bytes
                : (run.c | static_cast<uint64_t>(full_.c_batch * problem_.out_bytes)) %
                          static_cast<uint64_t>(bytes) ==
                      0) &&
           d.ldc * problem_.out_bytes % bytes == 0;
  };
  const bool in_pairs = in_pieces(int64_t{2} * problem_.out_bytes) && n % 2 == 0;
  const bool is_short = !problem_.gated() && (d.epilogue.activation == Activation::identity ||
                                              d.epilogue.activation == Activation::relu);
  if (!is_short || (run.reads_c() && !in_pairs)) return kFullTmaStores;
  return kFullTmaStores | kFullSimpleEpilogue |
         (run.reads_c() && in_pieces(16) ? kFullAlignedC : 0u);
}

u32 GemmKernel::early() const {
  const GemmDesc& d = problem_.desc;
  if (!d.has(kGemmProgrammatic)) return 0;
  return (d.has(kGemmConstantA) ? u32{kGemmEarlyA} : 0u) |
         (d.has(kGemmConstantB) ? u32{kGemmEarlyB} : 0u);
}

void GemmKernel::bind_options(const GemmRun& run, GemmEpilogueArgs* args) const {
  args->bias = run.bias;
  args->scale = run.scale;
  args->scale_value = run.scale_value;
  args->amax = problem_.desc.epilogue.amax ? run.amax : 0;
  args->device_m = run.device_m;
  args->device_alpha = run.device_alpha;
  args->device_beta = run.device_beta;
}

Status GemmKernel::launch_full(Stream& stream, const GemmRun& run, int64_t m,
                               bool behind_own) const {
  GemmScaledArgs scaled{.full = full_, .scales = {}};
  GemmEpilogueArgs& args = scaled.full;
  bind(run, m, &args.base);
  bind_options(run, &args);
  if (choice_.has(kGemmScaled)) fill_scales(problem_, run, &scaled.scales);
  if (stores(args.base.n, run.d)) {
    args.flags |= store_flags(run, args.base.n);
    rebind_map(&args.base.map_d, run.d, 0, d_extent(args.base.n));
    rebind_map(&args.base.map_d, run.d, 1, args.base.m);
  }
  if (pointers_)
    TW_TRY(pointers_->launch(stream, run, &args));
  else if (!depends_on_device(run))
    args.flags |= early();
  LaunchConfig launch = config(args.base);
  launch.programmatic |= behind_own;
  return stream.launch(*prepared_.kernel, launch, &scaled,
                       choice_.has(kGemmScaled) ? sizeof scaled : sizeof args);
}

LaunchConfig GemmKernel::config(int64_t m) const {
  GemmArgs args = args_;
  fill_sizes(m, &args);
  return config(args);
}

uint64_t GemmKernel::units(int64_t m) const {
  return static_cast<uint64_t>(gemm_units(choice_, problem_at(m)));
}

uint64_t GemmKernel::boxes_loaded(int64_t m) const {
  if (!choice_.uses_maps()) return 0;
  const KernelEntry& entry = *choice_.entry;
  const auto blocks = units(m) * static_cast<uint64_t>(entry.cluster[0] * entry.cluster[1]);
  const auto k_blocks = static_cast<uint64_t>(ceil_div(problem_.desc.k, entry.tile[2]));
  return blocks * k_blocks * (share_a_.boxes + share_b_.boxes);
}

uint64_t GemmKernel::boxes_stored(int64_t m) const {
  if (!choice_.uses_maps() || choice_.has(kGemmSplit | kGemmStreamK)) return 0;
  const GemmProblem at = problem_at(m);
  const GemmSlab slab = gemm_slab(tile_);
  if (choice_.has(kGemmEpilogue)) {
    if (!stores(at.desc.n, 0)) return 0;
    return static_cast<uint64_t>(ceil_div(at.desc.m, int64_t{kGemmStoreLines}) *
                                 ceil_div(d_extent(at.desc.n), slab.contiguous) * full_.batch);
  }
  const int64_t times = writes_chains(m) ? gemm_chains(at.desc.k) : 1;
  return static_cast<uint64_t>(ceil_div(at.d_lines(), slab.lines) *
                               ceil_div(plain_from(at.d_contiguous(), 0), slab.contiguous) * times);
}

bool GemmKernel::writes_chains(int64_t m) const {
  const int64_t contiguous = problem_at(m).d_contiguous();
  return choice_.writes_chains() ||
         (choice_.parks_chains() && plain_from(contiguous, 0) < contiguous);
}

}  // namespace tw
