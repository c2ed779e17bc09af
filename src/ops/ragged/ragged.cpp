// SPDX-License-Identifier: Apache-2.0
// Plans for padding and unpadding: preparation, runs and explanations.
#include "ops/ragged/ragged.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "kernels/ragged/ragged_host.hpp"
#include "ops/common/explain_line.hpp"

namespace tw {
namespace {

constexpr int64_t kAligned = 16;
constexpr uint32_t kPlainTileBytes = 4096;
constexpr uint32_t kNanPattern = 0x7ff77ff7;  // the NaN with which tensor maps fill
constexpr uint32_t kStepBlocks = 8;           // blocks per SM to count invalid sequences

bool is_multiple_of_16(int64_t value) {
  return value % kAligned == 0;
}

// Replaces -1 by the plan's number, and checks the result.
Status run_number(const char* argument, int64_t given, int64_t planned, int64_t* out) {
  *out = given == -1 ? planned : given;
  if (*out >= 0 && *out <= planned) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument, .rule = "ragged_run_size", .got = given, .limit = planned},
              "%s is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)", argument,
              given, planned);
}

}  // namespace

Status RaggedPlan::create(const std::shared_ptr<Device>& device, const RaggedDesc& desc,
                          std::unique_ptr<Plan>* out) {
  RaggedProblem problem;
  TW_TRY(ragged_problem(desc, &problem));
  std::unique_ptr<RaggedPlan> plan(new RaggedPlan(device, problem));
  if (!problem.empty()) TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status RaggedPlan::check(const Device&, const RaggedDesc& desc) {
  RaggedProblem problem;
  return ragged_problem(desc, &problem);
}

Status RaggedPlan::prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes) {
  const KernelEntry* entry =
      find_entry(*device(), Family::ragged,
                 [&](const KernelEntry& candidate) { return candidate.variant == variant; });
  return prepare_entry(*device(), Family::ragged, entry, dynamic_smem_bytes, &kernels_[variant]);
}

Status RaggedPlan::prepare() {
  const RaggedDesc& d = problem_.desc;
  // The best configuration of a sweep on an H200 (tests/README.md). Unpadding skips tiles without
  // rows of a sequence, so its blocks take more tiles.
  if (!problem_.pads()) tuning_ = {.warps = 1, .stages = 4, .stage_bytes = 4096, .warp_items = 4};
  if (d.max_sms != 0)
    tuning_.warps = kTilePipelineWarps;  // one block per SM, so it needs all warps
  if (d.warps != 0) tuning_.warps = std::min(d.warps, kTilePipelineWarps);
  if (d.stages != 0) tuning_.stages = d.stages;
  if (d.stage_bytes != 0) tuning_.stage_bytes = d.stage_bytes;
  if (d.warp_items != 0) tuning_.warp_items = d.warp_items;
  pipeline_ = pipeline_size(*device(), tuning_.warps, 0, tuning_.stages, tuning_.stage_bytes);
  TW_TRY(prepare_variant(kRaggedCountInvalid, 0));
  if (!bulk_refusal(0, 0)) TW_TRY(prepare_variant(kRaggedBulk, pipeline_.dynamic_smem_bytes()));
  // The worst addresses that the promises permit, as (0, 0) above are the best ones. A window may
  // begin at any column, so the promised alignment does not apply to its address.
  const bool windows = d.packed_columns != d.columns;
  const auto element = static_cast<uint64_t>(problem_.element_bytes);
  const uint64_t worst_packed = windows ? element : std::max<uint64_t>(d.packed_alignment, element);
  const uint64_t worst_padded = std::max<uint64_t>(d.padded_alignment, element);
  if (kernels_[kRaggedBulk] && !bulk_refusal(worst_packed, worst_padded)) return {};
  if ((d.methods & 1u << kRaggedPlain) != 0) return prepare_variant(kRaggedPlain, 0);
  if (kernels_[kRaggedBulk]) return {};
  return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
              "none of the allowed methods 0x%x supports these rows", d.methods);
}

const char* RaggedPlan::bulk_refusal(uint64_t packed, uint64_t padded) const {
  const RaggedProblem& p = problem_;
  const RaggedDesc& d = p.desc;
  if ((d.methods & 1u << kRaggedBulk) == 0) return "they are not among the allowed methods";
  if (pipeline_.stages == 0) return "the device has too little shared memory for the pipeline";
  if (!is_multiple_of_16(p.row_bytes)) return "the row size is not a multiple of 16 bytes";
  if (d.tokens > 1 && !is_multiple_of_16(p.packed_pitch))
    return "the packed operand's pitch is not a multiple of 16 bytes";
  if ((d.rows > 1 && !is_multiple_of_16(p.padded_pitch)) ||
      (d.batch > 1 && !is_multiple_of_16(p.batch_pitch)))
    return "the padded operand's pitches are not multiples of 16 bytes";
  const bool dense = p.packed_pitch == p.row_bytes && p.padded_pitch == p.row_bytes;
  if (!dense && p.row_bytes < kTileMinBulk)
    return "rows shorter than 64 bytes with gaps between them would need too many bulk copies";
  if (packed % kAligned != 0) return "the packed window's address is not a multiple of 16";
  if (padded % kAligned != 0) return "the padded operand's address is not a multiple of 16";
  return nullptr;
}

uint32_t RaggedPlan::choose(uint64_t packed, uint64_t padded) const {
  if (kernels_[kRaggedBulk] && !bulk_refusal(packed, padded)) return kRaggedBulk;
  return kernels_[kRaggedPlain] ? uint32_t{kRaggedPlain} : 0u;
}

Status RaggedPlan::check_run(const RaggedRun& run, int64_t batch, int64_t tokens) const {
  const RaggedProblem& p = problem_;
  const RaggedDesc& d = p.desc;
  const int64_t last_start = d.packed_columns - d.columns;
  if (run.column < 0 || run.column > last_start)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "column", .rule = "ragged_column", .got = run.column, .limit = last_start},
        "column is %" PRId64 ": windows of %" PRId64 " columns begin at 0 to %" PRId64
        " of packed rows of %" PRId64,
        run.column, d.columns, last_start, d.packed_columns);
  const auto element = static_cast<uint32_t>(p.element_bytes);
  const auto packed_bytes = static_cast<uint64_t>(p.packed_bytes(tokens));
  const auto padded_bytes = static_cast<uint64_t>(p.padded_bytes(batch));
  const auto offset_bytes = static_cast<uint64_t>((batch + 1) * p.offset_bytes);
  if (tokens != 0) TW_TRY(check_address("packed", run.packed, element, d.packed_alignment));
  TW_TRY(check_address("padded", run.padded, element, d.padded_alignment));
  TW_TRY(check_address("offsets", run.offsets, static_cast<uint32_t>(p.offset_bytes)));
  if (run.invalid_count != 0) TW_TRY(check_address("invalid_count", run.invalid_count, 8));
  return check_operands(
      *device(), {{"offsets", run.offsets, offset_bytes, false},
                  {"packed", run.packed, packed_bytes, !p.pads()},
                  {"padded", run.padded, padded_bytes, p.pads()},
                  {"invalid_count", run.invalid_count, run.invalid_count == 0 ? 0u : 8u, true}});
}

// On the host device, if the run has no invalid_count: waits for the offsets and checks them, so
// that an invalid run fails before anything is written.
Status RaggedPlan::check_offsets(Stream& stream, const RaggedArgs& args) const {
  if (device()->info().kind != DeviceKind::host || args.invalid_count != 0) return {};
  bool captured = false;
  TW_TRY(stream.is_captured(&captured));
  if (captured) return {};  // each launch of the graph may find other offsets
  TW_TRY(stream.synchronize());
  for (u64 i = 0; i < args.batch; ++i) {
    const i64 begin = ragged_offset_host(args, i);
    const i64 end = ragged_offset_host(args, i + 1);
    if (!checked_sequence(begin, end, args.tokens).invalid) continue;
    const bool first = begin < 0 || begin > args.tokens;
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "offsets",
                 .index = static_cast<int32_t>(std::min<u64>(first ? i : i + 1, INT32_MAX)),
                 .rule = "ragged_offsets",
                 .got = first ? begin : end,
                 .limit = args.tokens},
                "offsets %llu and %llu are %lld and %lld: offsets must not decrease and must lie "
                "between 0 and the run's %lld tokens (if invalid_count is given, such sequences "
                "are counted and have no rows)",
                i, i + 1, begin, end, args.tokens);
  }
  return {};
}

Status RaggedPlan::make_args(uint32_t method, const RaggedRun& run, int64_t batch, int64_t tokens,
                             RaggedArgs* args) const {
  const RaggedProblem& p = problem_;
  const RaggedDesc& d = p.desc;
  *args = RaggedArgs{};
  args->packed = run.packed + static_cast<uint64_t>(run.column * p.element_bytes);
  args->padded = run.padded;
  args->offsets = run.offsets;
  args->tokens = tokens;
  args->batch = static_cast<u64>(batch);
  // Outside this range no row of any sequence is visible.
  args->first_row = std::clamp<int64_t>(run.row, -d.rows, tokens);
  args->packed_pitch = p.packed_pitch;
  args->padded_pitch = p.padded_pitch;
  args->batch_pitch = p.batch_pitch;
  args->read_low = p.pads() ? run.packed : run.padded;
  args->read_high = args->read_low + static_cast<uint64_t>(p.pads() ? p.packed_bytes(tokens)
                                                                    : p.padded_bytes(batch));
  args->invalid_count = run.invalid_count;
  args->offset_bytes = static_cast<u32>(p.offset_bytes);
  args->unpad = p.pads() ? 0 : 1;
  args->fill = d.fill == OobFill::nan ? kNanPattern : 0;
  args->stages = pipeline_.stages;
  args->stage_bytes = pipeline_.stage_bytes;
  const uint32_t plain = d.stage_bytes == 0 ? kPlainTileBytes : d.stage_bytes;
  return cut_tiles(args->batch, static_cast<u64>(d.rows), static_cast<u64>(p.row_bytes),
                   method == kRaggedBulk ? pipeline_.stage_bytes : plain, &args->cut);
}

LaunchConfig RaggedPlan::config(uint32_t method, RaggedArgs* args) const {
  const bool bulk = method == kRaggedBulk;
  const uint32_t threads = bulk ? pipeline_.warps * 32 : kTilePlainThreads;
  LaunchConfig config = tile_launch(args->cut, threads, bulk ? tuning_.warp_items : 1,
                                    problem_.desc.max_sms, &args->block_items);
  config.dynamic_smem_bytes = kernels_[method].dynamic_smem_bytes;
  return config;
}

Status RaggedPlan::count_invalid(Stream& stream, const RaggedArgs& args) const {
  const uint32_t max_sms = problem_.desc.max_sms;
  const uint64_t max_grid =
      max_sms != 0 ? max_sms : uint64_t{usable_sms(*device(), 0)} * kStepBlocks;
  LaunchConfig config;
  config.block[0] = kTilePlainThreads;
  config.grid[0] = static_cast<uint32_t>(
      std::clamp<uint64_t>((args.batch + kTilePlainThreads - 1) / kTilePlainThreads, 1, max_grid));
  return stream.launch(*kernels_[kRaggedCountInvalid].kernel, config, &args, sizeof args);
}

Status RaggedPlan::run(Stream& stream, const RaggedRun& run) const {
  int64_t batch = 0;
  int64_t tokens = 0;
  TW_TRY(run_number("batch", run.batch, problem_.desc.batch, &batch));
  TW_TRY(run_number("tokens", run.tokens, problem_.desc.tokens, &tokens));
  if (problem_.empty() || batch == 0) return {};
  TW_TRY(check_run(run, batch, tokens));
  const uint64_t packed = run.packed + static_cast<uint64_t>(run.column * problem_.element_bytes);
  const uint32_t method = choose(tokens == 0 ? 0 : packed, run.padded);
  if (method == 0)
    return fail(Code::ERROR_MISALIGNED, {.argument = "packed", .rule = "ragged_methods"},
                "the only allowed method needs addresses that are multiples of 16 bytes");
  RaggedArgs args;
  TW_TRY(make_args(method, run, batch, tokens, &args));
  TW_TRY(check_offsets(stream, args));
  if (run.invalid_count != 0) TW_TRY(count_invalid(stream, args));
  const LaunchConfig launch = config(method, &args);
  return stream.launch(*kernels_[method].kernel, launch, &args, sizeof args);
}

PlanInfo RaggedPlan::info() const {
  const RaggedProblem& p = problem_;
  const RaggedDesc& d = p.desc;
  PlanInfo info;
  info.op = Op::ragged;
  if (p.empty()) return info;
  const uint64_t packed = promised_address(d.packed_alignment);
  const uint64_t padded = promised_address(d.padded_alignment);
  const uint32_t method = choose(packed, padded);
  if (method == 0) return info;
  RaggedArgs args;
  if (!make_args(method, {.packed = packed, .padded = padded}, d.batch, d.tokens, &args).ok())
    return info;
  const LaunchConfig launch = config(method, &args);
  info.kernel = kernels_[method].entry->symbol;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  info.tile[0] = args.cut.tile_rows;
  info.tile[1] = args.cut.part_bytes / static_cast<u32>(p.element_bytes);
  info.stages = method == kRaggedBulk ? pipeline_.stages : 0;
  info.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  // Assumes that the sequences contain all tokens and that the padded operand has room for them.
  const auto row = static_cast<uint64_t>(p.row_bytes);
  const auto offsets = static_cast<uint64_t>((d.batch + 1) * p.offset_bytes);
  const uint64_t all = static_cast<uint64_t>(d.batch) * static_cast<uint64_t>(d.rows);
  const uint64_t moved = std::min(static_cast<uint64_t>(d.tokens), all) * row;
  info.bytes_read = moved + offsets;
  info.bytes_written = p.pads() ? all * row : moved;
  return info;
}

std::string RaggedPlan::explain() const {
  const RaggedProblem& p = problem_;
  const RaggedDesc& d = p.desc;
  std::string out = line("%s of %" PRId64 " sequences by %s offsets: %s [%" PRId64 ", %" PRId64
                         "] %s, %" PRId64 " bytes of a row, padded to %" PRId64 " rows",
                         p.pads() ? "padding" : "unpadding", d.batch, dtype_name(d.offset_dtype),
                         dtype_name(d.dtype), d.tokens, d.packed_columns,
                         p.pads() ? "from packed rows" : "to packed rows", p.row_bytes, d.rows);
  if (p.empty()) return out + "empty, nothing runs\n";
  const PlanInfo i = info();
  out += line(
      "kernel %s: %u blocks of %u threads, tiles of %ux%u elements, %u stages, %u bytes of "
      "shared memory",
      i.kernel, i.grid[0], i.block[0], i.tile[0], i.tile[1], i.stages, i.dynamic_smem_bytes);
  const char* const reason =
      bulk_refusal(promised_address(d.packed_alignment), promised_address(d.padded_alignment));
  if (reason)
    out += line("not bulk copies: %s", reason);
  else if (kernels_[kRaggedPlain])
    out += line(
        "uses bulk copies; runs with unsuitable addresses or columns use %s: promise "
        "packed_alignment and padded_alignment 16 to avoid it",
        kernels_[kRaggedPlain].entry->symbol);
  if (p.pads())
    out += line("rows that a sequence does not have become %s",
                d.fill == OobFill::nan ? "NaN (0x7ff7 in each 16 bits)" : "zeros");
  else
    out += "rows that a sequence does not have are neither read nor written\n";
  return out +
         "a sequence whose offsets decrease, are negative or run past the tokens has no rows\n";
}

}  // namespace tw
