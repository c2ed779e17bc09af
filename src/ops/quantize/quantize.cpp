// SPDX-License-Identifier: Apache-2.0
// Plans for quantization: preparation, runs and explanations.
#include "ops/quantize/quantize.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "base/excluded.hpp"
#include "ops/common/explain_line.hpp"

namespace tw {
namespace {

constexpr uint32_t kWorkspaceAlignment = 256;
constexpr uint64_t kWorkspaceBytes = uint64_t{kQuantizeMaxPartials} * 4;
constexpr uint32_t kBlocksPerSm = 4;  // that fit on an SM at once
// Regions of up to this many elements are processed by one warp, larger ones by one block.
constexpr uint32_t kWarpRegion = 2048;
// Contiguous rows are treated as one row (rows_contiguous()) of at most this many elements, so that
// the columns of a tile end below 2^32.
constexpr int64_t kMostColumns = (int64_t{1} << 31) - 1;

uint32_t blocks_for(uint32_t items, uint32_t per_block) {
  return (items + per_block - 1) / per_block;
}

}  // namespace

Status QuantizePlan::create(const std::shared_ptr<Device>& device, const QuantizeDesc& desc,
                            std::unique_ptr<Plan>* out) {
  QuantizeProblem problem;
  TW_TRY(quantize_problem(desc, &problem));
  std::unique_ptr<QuantizePlan> plan(new QuantizePlan(device, problem));
  if (!problem.empty()) TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status QuantizePlan::check(const Device&, const QuantizeDesc& desc) {
  QuantizeProblem problem;
  return quantize_problem(desc, &problem);
}

uint32_t QuantizePlan::main_step() const {
  if (problem_.dequantizes) return kQuantizeDequantize;
  switch (problem_.desc.scale) {
    case ScaleKind::tensor:
      return kQuantizeByOneScale;
    case ScaleKind::row:
      return kQuantizeRows;
    case ScaleKind::row128:
      return kQuantizeGroups;
    default:
      return kQuantizeBlocks;
  }
}

// Without vectors, and on the host, the steps for groups, rows and blocks share one kernel.
Status QuantizePlan::prepare_step(uint32_t step, uint32_t vector, PreparedKernel* out) {
  const uint32_t any_alignment_step = step < kQuantizeAmax ? kQuantizeRegions : step;
  const KernelEntry* entry =
      find_entry(*device(), Family::quantize, [&](const KernelEntry& candidate) {
        if (vector == 0 || candidate.feature == feature::host)
          return candidate.variant == any_alignment_step;
        return candidate.variant == (step | vector << 8);
      });
  return prepare_entry(*device(), Family::quantize, entry, 0, out);
}

Status QuantizePlan::prepare() {
  const auto vector = static_cast<uint32_t>(problem_.vector);
  const bool may[2] = {
      (problem_.desc.methods & kQuantizeByElements) != 0,
      (problem_.desc.methods & kQuantizeByVectors) != 0 && vectors_fit(problem_.desc.rows, 0, 0)};
  if (!may[0] && !may[1])
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
                "none of the allowed methods 0x%x supports this description",
                problem_.desc.methods);
  for (const bool vectors : {false, true}) {
    if (!may[vectors]) continue;
    TW_TRY(prepare_step(main_step(), vectors ? vector : 0, &main_[vectors]));
    if (problem_.two_steps())
      TW_TRY(prepare_step(kQuantizeAmax, vectors ? vector : 0, &amax_[vectors]));
  }
  return {};
}

// Returns whether the rows of both matrices consist of whole vectors. Contiguous rows count as one.
bool QuantizePlan::vectors_fit(int64_t rows, uint64_t src, uint64_t dst) const {
  const QuantizeProblem& p = problem_;
  const bool one = rows == 1 || rows_contiguous(rows);
  const auto fits = [&](uint64_t address, int64_t pitch, int64_t bytes) {
    const int64_t unit = p.vector * bytes;
    return address % static_cast<uint64_t>(unit) == 0 && (one || pitch * bytes % unit == 0);
  };
  const int64_t columns = one ? rows * p.desc.columns : p.desc.columns;
  return columns % p.vector == 0 && fits(src, p.desc.src_pitch, p.src_bytes) &&
         fits(dst, p.desc.dst_pitch, p.dst_bytes);
}

uint64_t QuantizePlan::workspace_bytes() const {
  return problem_.two_steps() && !problem_.empty() ? kWorkspaceBytes : 0;
}

Status QuantizePlan::check_run(const QuantizeRun& run, int64_t rows) const {
  const QuantizeProblem& p = problem_;
  if (p.dequantizes)
    TW_TRY(check_null_address("amax", run.amax, "the plan dequantizes"));
  else if (!p.tensor())
    TW_TRY(check_null_address("amax", run.amax, "the plan's scale is not TW_SCALE_TENSOR"));
  if (rows == 0 || p.empty()) return {};
  TW_TRY(check_address("src", run.src, static_cast<uint32_t>(p.src_bytes)));
  TW_TRY(check_address("dst", run.dst, static_cast<uint32_t>(p.dst_bytes)));
  TW_TRY(check_address("scale", run.scale, 4));
  if (run.amax != 0) TW_TRY(check_address("amax", run.amax, 4));
  if (p.two_steps())
    TW_TRY(
        check_workspace(run.workspace, run.workspace_bytes, kWorkspaceBytes, kWorkspaceAlignment));
  return check_memory(run, rows);
}

Status QuantizePlan::check_memory(const QuantizeRun& run, int64_t rows) const {
  const QuantizeProblem& p = problem_;
  const QuantizeDesc& d = p.desc;
  const bool columns = d.scale_order == ScaleOrder::column;
  const int64_t scale_lines = columns ? p.scale_columns() : p.scale_rows(rows);
  const int64_t scale_line = columns ? p.scale_rows(rows) : p.scale_columns();
  return check_operands(
      *device(), {{"src", run.src, static_cast<uint64_t>(d.columns * p.src_bytes), false, rows,
                   d.src_pitch * p.src_bytes},
                  {"dst", run.dst, static_cast<uint64_t>(d.columns * p.dst_bytes), true, rows,
                   d.dst_pitch * p.dst_bytes},
                  {"scale", run.scale, static_cast<uint64_t>(scale_line * 4), !p.given(),
                   scale_lines, d.scale_ld * 4},
                  {"amax", run.amax, run.amax == 0 ? 0u : 4u, true},
                  {"workspace", run.workspace, p.two_steps() ? kWorkspaceBytes : 0, true}});
}

// Returns whether a warp's tile spans several rows. It does if the scales of adjacent rows are
// adjacent, or if rows are so short that a tile along them would be mostly empty.
bool QuantizePlan::tile_spans_rows(const QuantizeArgs& args) const {
  const ScaleKind kind = problem_.desc.scale;
  if (kind == ScaleKind::row128 && problem_.desc.scale_order == ScaleOrder::column) return true;
  // The part of the tiles that `items` items fill.
  const auto filled = [](uint32_t items, uint32_t per_tile) {
    return static_cast<double>(items) / (blocks_for(items, per_tile) * per_tile);
  };
  const uint32_t groups = blocks_for(args.columns, kQuantizeGroup);
  const double spanning =
      filled(groups, groups_per_access()) * filled(args.rows, kQuantizeAccesses);
  return spanning > 1.25 * filled(groups, groups_per_access() * kQuantizeAccesses);
}

// A warp's tile consists of kQuantizeAccesses accesses, one after the other along a row, or one in
// each of as many rows. A tile of kQuantizeBlocks is one block of 128 x 128 elements.
void QuantizePlan::fill_tiles(QuantizeArgs* args) const {
  const QuantizeProblem& p = problem_;
  const bool blocks = !p.dequantizes && p.desc.scale == ScaleKind::block128;
  const bool rows = !p.dequantizes && p.desc.scale == ScaleKind::row;
  const uint32_t groups = blocks_for(args->columns, kQuantizeGroup);
  const bool spans_rows = tile_spans_rows(*args);
  const uint32_t tiles_across =
      blocks ? groups
             : blocks_for(groups, spans_rows ? groups_per_access()
                                             : groups_per_access() * kQuantizeAccesses);
  const uint32_t tile_rows = blocks ? kQuantizeGroup : spans_rows ? kQuantizeAccesses : 1;
  args->tiles_across = make_divider(tiles_across);
  args->tiles = blocks_for(args->rows, tile_rows) * tiles_across;
  const int64_t step = int64_t{groups_per_access()} * kQuantizeGroup;
  args->src_step = spans_rows ? args->src_pitch : step * p.src_bytes;
  args->dst_step = spans_rows ? args->dst_pitch : step * p.dst_bytes;
  // The rows of a tile share one row of the scale matrix if that covers 128 rows.
  const int64_t row_step = args->scale_row_shift == 0 ? args->scale_row : 0;
  args->scale_step = spans_rows ? row_step : groups_per_access() * args->scale_column;
  if (spans_rows) args->flags |= kQuantizeTileSpansRows;
  args->team_warps = 1;
  while (args->team_warps < kQuantizeWarpsPerBlock &&
         args->team_warps * 32 * kQuantizeAccesses * p.vector < args->columns)
    args->team_warps *= 2;
  args->region_rows = blocks ? kQuantizeGroup : 1;
  args->region_columns = rows ? args->columns : kQuantizeGroup;
  const uint32_t regions_across = blocks_for(args->columns, args->region_columns);
  args->regions_across = make_divider(regions_across);
  args->regions = blocks_for(args->rows, args->region_rows) * regions_across;
  if (uint64_t{args->region_rows} * args->region_columns <= kWarpRegion)
    args->flags |= kQuantizeWarps;
}

// Returns whether rows, and the scales of consecutive rows, are contiguous, so that the matrix can
// be treated as one row.
bool QuantizePlan::rows_contiguous(int64_t rows) const {
  const QuantizeDesc& d = problem_.desc;
  if (d.src_pitch != d.columns || d.dst_pitch != d.columns || rows * d.columns > kMostColumns)
    return false;
  if (problem_.tensor()) return true;
  return d.scale == ScaleKind::row128 && d.scale_order == ScaleOrder::row &&
         d.columns % kQuantizeGroup == 0 && d.scale_ld * kQuantizeGroup == d.columns;
}

QuantizeArgs QuantizePlan::fill(const QuantizeRun& run, int64_t rows) const {
  const QuantizeProblem& p = problem_;
  const QuantizeDesc& d = p.desc;
  QuantizeArgs args{};
  args.src = run.src, args.dst = run.dst, args.scale = run.scale;
  args.amax = run.amax, args.partial_amax = run.workspace;
  args.src_policy = cache_policy(d.src_cache);
  args.dst_policy = cache_policy(d.dst_cache);
  args.src_pitch = d.src_pitch * p.src_bytes;
  args.dst_pitch = d.dst_pitch * p.dst_bytes;
  args.scale_row = p.scale_row_step();
  args.scale_column = p.scale_column_step();
  args.scale_row_shift = d.scale == ScaleKind::block128 ? 7 : 0;
  args.rows = static_cast<u32>(rows);
  args.columns = static_cast<u32>(d.columns);
  args.src_format = p.src_format;
  args.dst_format = p.dst_format;
  args.flags = ((d.flags & kQuantizeDescPowersOfTwo) != 0 ? kQuantizePowersOfTwo : 0u) |
               (p.given() ? kQuantizeGiven : 0u);
  // The second kernel begins with the tiles that the first one read last, which the L2 still holds.
  if (p.two_steps()) args.flags |= kQuantizeReverseTiles;
  args.limit = p.dequantizes ? 0 : quantize_max(p.dst_format);
  if (rows_contiguous(rows)) {
    args.columns = static_cast<u32>(rows * d.columns);
    args.rows = 1;
  }
  fill_tiles(&args);
  return args;
}

// One block per tile or region. The kernels that compute the scale of the whole matrix, of which
// the first writes one partial maximum per block, use only as many blocks as run at once.
LaunchConfig QuantizePlan::config(const PreparedKernel& kernel, const QuantizeArgs& args,
                                  bool amax) const {
  const uint32_t step = kernel.entry->variant & 0xff;
  const bool by_elements = kernel.entry->variant >> 8 == 0;
  uint32_t blocks = 0;
  if (by_elements)
    blocks =
        blocks_for(args.regions, quantize_has(args, kQuantizeWarps) ? kQuantizeWarpsPerBlock : 1);
  else if (step == kQuantizeBlocks)
    blocks = args.tiles;
  else if (step == kQuantizeRows)
    blocks = blocks_for(args.rows, kQuantizeWarpsPerBlock / args.team_warps);
  else
    blocks = blocks_for(args.tiles, kQuantizeWarpsPerBlock);
  uint64_t maximum =
      max_blocks(*device(), problem_.desc.max_sms, problem_.two_steps() ? kBlocksPerSm : 0);
  if (amax) maximum = std::min<uint64_t>(maximum, kQuantizeMaxPartials);
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(std::clamp<uint64_t>(blocks, 1, maximum));
  config.block[0] = static_cast<uint32_t>(kernel.entry->threads);
  config.programmatic = true;  // the kernel waits for the predecessor grid itself
  return config;
}

Status QuantizePlan::run(Stream& stream, const QuantizeRun& run) const {
  const int64_t planned = problem_.desc.rows;
  const int64_t rows = run.rows == -1 ? planned : run.rows;
  if (rows < 0 || rows > planned)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "rows", .rule = "quantize_run_size", .got = rows, .limit = planned},
                "rows is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)", rows,
                planned);
  TW_TRY(check_run(run, rows));
  if (rows == 0 || problem_.empty()) return {};
  const bool vectors = static_cast<bool>(main_[1]) && vectors_fit(rows, run.src, run.dst);
  if (!main_[vectors])
    return fail(Code::ERROR_MISALIGNED, {.argument = "src", .rule = "quantize_methods"},
                "the only method allowed needs vectors of %" PRId64 " elements", problem_.vector);
  QuantizeArgs args = fill(run, rows);
  if (problem_.two_steps()) {
    const LaunchConfig first = config(amax_[vectors], args, true);
    args.partial_count = first.grid[0];
    QuantizeArgs amax_args = args;
    amax_args.flags &= ~u32{kQuantizeReverseTiles};
    TW_TRY(stream.launch(*amax_[vectors].kernel, first, &amax_args, sizeof amax_args));
  }
  return stream.launch(*main_[vectors].kernel, config(main_[vectors], args, false), &args,
                       sizeof args);
}

// "a scale for each 128 elements of a row: 64 by 56, column-major with leading dimension 64".
std::string QuantizePlan::scales() const {
  const QuantizeDesc& d = problem_.desc;
  constexpr const char* kNames[] = {"", "the whole matrix", "each row",
                                    "each 128 elements of a row", "each 128 x 128 elements"};
  std::string out = std::string("a scale for ") + kNames[static_cast<int>(d.scale)];
  if (problem_.tensor()) return line("%s", out.c_str());
  return line("%s: %" PRId64 " by %" PRId64 ", %s with leading dimension %" PRId64, out.c_str(),
              problem_.scale_rows(d.rows), problem_.scale_columns(),
              d.scale_order == ScaleOrder::row ? "row-major" : "column-major", d.scale_ld);
}

PlanInfo QuantizePlan::info() const {
  const QuantizeProblem& p = problem_;
  const QuantizeDesc& d = p.desc;
  PlanInfo info;
  info.op = Op::quantize;
  if (p.empty()) return info;
  const bool vectors = static_cast<bool>(main_[1]);
  const PreparedKernel& kernel = main_[vectors];
  const LaunchConfig launch = config(kernel, fill({}, d.rows), false);
  info.kernel = kernel.entry->symbol;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  info.workspace_bytes = workspace_bytes();
  const auto elements = static_cast<uint64_t>(d.rows * d.columns);
  const auto scale_bytes = static_cast<uint64_t>(p.scale_rows(d.rows) * p.scale_columns() * 4);
  info.bytes_read = elements * static_cast<uint64_t>(p.src_bytes) * (p.two_steps() ? 2 : 1) +
                    (p.given() ? scale_bytes : 0);
  info.bytes_written =
      elements * static_cast<uint64_t>(p.dst_bytes) + (p.given() ? 0 : scale_bytes);
  return info;
}

std::string QuantizePlan::method_reason() const {
  const QuantizeProblem& p = problem_;
  const QuantizeDesc& d = p.desc;
  if (main_[1])
    return line("by vectors of %" PRId64 " elements; %s", p.vector,
                main_[0] ? "runs with addresses that are not multiples of a vector go element by "
                           "element"
                         : "methods excludes element by element, so runs need addresses that are "
                           "multiples of a vector");
  if ((d.methods & kQuantizeByVectors) == 0)
    return "element by element: methods excludes vectors\n";
  const auto not_whole = [&](const char* name, int64_t value) {
    return line("element by element: %s is %" PRId64 ", not a multiple of %" PRId64 " elements",
                name, value, p.vector);
  };
  if (d.rows > 1 && rows_contiguous(d.rows))
    return not_whole("rows times columns", d.rows * d.columns);
  if (d.columns % p.vector != 0) return not_whole("columns", d.columns);
  if (d.src_pitch % p.vector != 0) return not_whole("src_pitch", d.src_pitch);
  return not_whole("dst_pitch", d.dst_pitch);
}

std::string QuantizePlan::explain() const {
  const QuantizeProblem& p = problem_;
  const QuantizeDesc& d = p.desc;
  std::string out = line("%s of %" PRId64 " by %" PRId64 " elements, %s to %s",
                         p.dequantizes ? "dequantization" : "quantization", d.rows, d.columns,
                         dtype_name(d.src_dtype), dtype_name(d.dst_dtype));
  if (p.empty()) return out + "empty, nothing runs\n";
  out += scales();
  if (!p.dequantizes && p.given())
    out += "the scale is given, and read when a run executes\n";
  else if (!p.dequantizes)
    out += line("a scale is the largest finite magnitude / %d%s",
                static_cast<int>(quantize_max(p.dst_format)),
                (d.flags & kQuantizeDescPowersOfTwo) != 0 ? ", rounded up to a power of two" : "");
  const PlanInfo i = info();
  out += line("kernel %s: %u blocks of %u threads", i.kernel, i.grid[0], i.block[0]);
  if (p.two_steps())
    out += line("preceded by %s, whose results need a workspace of %" PRIu64 " bytes",
                amax_[static_cast<bool>(main_[1])].entry->symbol, workspace_bytes());
  out += line("%" PRIu64 " bytes read, %" PRIu64 " written", i.bytes_read, i.bytes_written);
  return out + method_reason();
}

}  // namespace tw
