// SPDX-License-Identifier: Apache-2.0
#include "ops/copies/copies.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "kernels/copies/copies_host.hpp"
#include "ops/common/explain_line.hpp"

namespace tw {
namespace {

constexpr uint32_t kPlainTileBytes = 4096;
constexpr uint32_t kStepBlocks = 8;                    // blocks per SM to count skipped pairs
constexpr int64_t kMaxPairs = (int64_t{1} << 60) / 8;  // entries that a list can have

// Address bits that must be 0. Element alignment is always required, whatever the promise.
uint32_t mask_of(uint32_t alignment, int32_t element_bytes) {
  return std::max(alignment, static_cast<uint32_t>(element_bytes)) - 1;
}

Status wrong_pair(const char* argument, u64 pair, u64 address, uint32_t mask) {
  const auto index = static_cast<int32_t>(std::min<u64>(pair, INT32_MAX));
  if (address == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = argument, .index = index, .rule = "copies_address_not_null"},
                "%s: address %llu of the list is 0 (if invalid_count is given, such pairs are "
                "counted and skipped)",
                argument, pair);
  return fail(Code::ERROR_MISALIGNED,
              {.argument = argument,
               .index = index,
               .rule = "promised_alignment",
               .got = static_cast<int64_t>(address & mask),
               .limit = int64_t{mask} + 1},
              "%s: address %llu of the list is 0x%llx, not a multiple of the %lld bytes that the "
              "plan was promised (if invalid_count is given, such pairs are counted and skipped)",
              argument, pair, address, static_cast<long long>(mask) + 1);
}

Status read_desc(const CopiesDesc& desc, CopyShape* shape) {
  CopyDesc copy;
  copy.dtype = desc.dtype;
  copy.rank = desc.rank;
  std::copy(std::begin(desc.shape), std::end(desc.shape), copy.shape);
  std::copy(std::begin(desc.src_stride), std::end(desc.src_stride), copy.src_stride);
  std::copy(std::begin(desc.dst_stride), std::end(desc.dst_stride), copy.dst_stride);
  TW_TRY(copy_shape(copy, shape));
  const auto element = static_cast<uint32_t>(shape->element_bytes);
  TW_TRY(check_alignment("src_alignment", desc.src_alignment, element));
  TW_TRY(check_alignment("dst_alignment", desc.dst_alignment, element));
  if (desc.count < 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "count", .rule = "copies_count", .got = desc.count},
                "count is %" PRId64 ": it is 0 or more", desc.count);
  if (desc.count > kMaxPairs)
    return fail(
        Code::ERROR_OVERFLOW,
        {.argument = "count", .rule = "copies_count", .got = desc.count, .limit = kMaxPairs},
        "count is %" PRId64 ": it must be at most 2^57", desc.count);
  return {};
}

}  // namespace

Status CopiesPlan::create(const std::shared_ptr<Device>& device, const CopiesDesc& desc,
                          std::unique_ptr<Plan>* out) {
  CopyShape shape;
  TW_TRY(read_desc(desc, &shape));
  std::unique_ptr<CopiesPlan> plan(new CopiesPlan(device, desc, shape));
  TW_TRY(plan->arrange(*device));
  if (!plan->empty()) TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status CopiesPlan::check(const Device& device, const CopiesDesc& desc) {
  CopyShape shape;
  TW_TRY(read_desc(desc, &shape));
  return CopiesPlan(nullptr, desc, shape).arrange(device);
}

Status CopiesPlan::prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes) {
  const KernelEntry* entry =
      find_entry(*device(), Family::copies,
                 [&](const KernelEntry& candidate) { return candidate.variant == variant; });
  return prepare_entry(*device(), Family::copies, entry, dynamic_smem_bytes, &kernels_[variant]);
}

Status CopiesPlan::arrange(const Device& device) {
  if (empty()) return {};
  if (desc_.max_sms != 0)
    tuning_.warps = kTilePipelineWarps;  // one block per SM, so it needs all warps
  if (desc_.warps != 0) tuning_.warps = std::min(desc_.warps, kTilePipelineWarps);
  if (desc_.stages != 0) tuning_.stages = desc_.stages;
  if (desc_.stage_bytes != 0) tuning_.stage_bytes = desc_.stage_bytes;
  if (desc_.warp_items != 0) tuning_.warp_items = desc_.warp_items;
  pipeline_ = pipeline_size(device, tuning_.warps, 0, tuning_.stages, tuning_.stage_bytes);
  bulk_ = !bulk_refusal();
  CopiesArgs args;
  return fill({}, desc_.count, &args);  // fails if there are too many tiles
}

Status CopiesPlan::prepare() {
  TW_TRY(prepare_variant(kCopiesSkipped, 0));
  if (bulk_) return prepare_variant(kCopiesBulk, pipeline_.dynamic_smem_bytes());
  if ((desc_.methods & 1u << kCopiesPlain) != 0) return prepare_variant(kCopiesPlain, 0);
  return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
              "none of the allowed methods 0x%x supports these copies", desc_.methods);
}

const char* CopiesPlan::bulk_refusal() const {
  if ((desc_.methods & 1u << kCopiesBulk) == 0) return "they are not among the allowed methods";
  if (pipeline_.stages == 0) return "the device has too little shared memory for the pipeline";
  if (shape_.row_bytes > pipeline_.stage_bytes) return nullptr;  // one row per tile, in parts
  if (shape_.row_bytes % 16 != 0) return "the row size is not a multiple of 16 bytes";
  if (shape_.rank == 0) return nullptr;
  if (shape_.row_bytes < kTileMinBulk)
    return "rows shorter than 64 bytes with gaps between them would need too many bulk copies";
  if (shape_.src_stride[0] % 16 != 0 || shape_.dst_stride[0] % 16 != 0)
    return "the strides between rows are not multiples of 16 bytes";
  return nullptr;
}

Status CopiesPlan::check_pair(const CopiesArgs& args, u64 pair) const {
  const u64 src = listed_address_host(args.src_list, pair);
  const u64 dst = listed_address_host(args.dst_list, pair);
  const bool counts = args.invalid_count != 0;
  if (counts && !copies_pair(args, src, dst)) return {};
  if (src == 0 || (src & args.src_mask) != 0) return wrong_pair("src", pair, src, args.src_mask);
  if (dst == 0 || (dst & args.dst_mask) != 0) return wrong_pair("dst", pair, dst, args.dst_mask);
  Status status = counts ? Status() : check_copy_disjoint(shape_, src, dst);
  if (status.ok()) status = check_memory_range(*device(), "src", src, shape_.src_range);
  if (status.ok()) status = check_memory_range(*device(), "dst", dst, shape_.dst_range);
  return status.ok() ? status : fail_context(status, "pair %llu", pair);
}

// On the host device: waits for the lists and checks all pairs, so that an invalid run fails before
// anything is written. If the caller counts invalid pairs, the run skips them.
Status CopiesPlan::check_pairs(Stream& stream, const CopiesArgs& args) const {
  if (!device()->checks_memory()) return {};
  bool captured = false;
  TW_TRY(stream.is_captured(&captured));
  if (captured) return {};  // each launch of the graph may find other addresses
  TW_TRY(stream.synchronize());
  for (u64 pair = 0; pair < args.pairs; ++pair) TW_TRY(check_pair(args, pair));
  return {};
}

Status CopiesPlan::fill(const CopiesRun& run, int64_t count, CopiesArgs* out) const {
  CopiesArgs args{};
  args.src_list = run.src_list;
  args.dst_list = run.dst_list;
  args.pairs = static_cast<u64>(count);
  args.invalid_count = run.invalid_count;
  args.src_offset = shape_.src_offset;
  args.dst_offset = shape_.dst_offset;
  args.src_low = shape_.src_range.low;
  args.src_high = shape_.src_range.high;
  args.rank = static_cast<u32>(shape_.rank);
  int64_t outer = 1;
  for (int32_t d = 0; d < shape_.rank; ++d) {
    args.src_stride[d] = shape_.src_stride[d];
    args.dst_stride[d] = shape_.dst_stride[d];
    args.extent[d] = static_cast<u64>(shape_.extent[d]);
    if (d > 0) outer *= shape_.extent[d];  // cannot overflow: there are fewer than 2^63 elements
  }
  args.outer = static_cast<u64>(outer);
  args.src_mask = mask_of(desc_.src_alignment, shape_.element_bytes);
  args.dst_mask = mask_of(desc_.dst_alignment, shape_.element_bytes);
  args.stages = pipeline_.stages;
  args.stage_bytes = pipeline_.stage_bytes;
  int64_t operands = 0;
  if (!checked_mul(std::max<int64_t>(count, 1), outer, &operands))
    return fail(Code::ERROR_OVERFLOW, {.argument = "count", .rule = "tile_count", .got = count},
                "count %" PRId64 " times the %" PRId64 " slices of a copy exceeds 2^63", count,
                outer);
  const uint32_t plain = desc_.stage_bytes == 0 ? kPlainTileBytes : desc_.stage_bytes;
  TW_TRY(cut_tiles(static_cast<uint64_t>(operands), shape_.rank == 0 ? 1 : args.extent[0],
                   static_cast<uint64_t>(shape_.row_bytes),
                   method() == kCopiesBulk ? pipeline_.stage_bytes : plain, &args.cut));
  args.outer_divider =
      make_divider(args.cut.items < kDividerLimit ? static_cast<u32>(args.outer) : 1);
  *out = args;
  return {};
}

LaunchConfig CopiesPlan::config(CopiesArgs* args) const {
  const bool bulk = method() == kCopiesBulk;
  const uint32_t threads = bulk ? pipeline_.warps * 32 : kTilePlainThreads;
  LaunchConfig config = tile_launch(args->cut, threads, bulk ? tuning_.warp_items : 1,
                                    desc_.max_sms, &args->block_items);
  config.dynamic_smem_bytes = kernels_[method()].dynamic_smem_bytes;
  return config;
}

Status CopiesPlan::count_skipped(Stream& stream, const CopiesArgs& args) const {
  const uint64_t max_grid =
      desc_.max_sms != 0 ? desc_.max_sms : uint64_t{usable_sms(*device(), 0)} * kStepBlocks;
  LaunchConfig config;
  config.block[0] = kTilePlainThreads;
  config.grid[0] = static_cast<uint32_t>(
      std::clamp<uint64_t>((args.pairs + kTilePlainThreads - 1) / kTilePlainThreads, 1, max_grid));
  return stream.launch(*kernels_[kCopiesSkipped].kernel, config, &args, sizeof args);
}

Status CopiesPlan::run(Stream& stream, const CopiesRun& run) const {
  const int64_t planned = desc_.count;
  const int64_t count = run.count == -1 ? planned : run.count;
  if (count < 0 || count > planned)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "count", .rule = "copies_run_count", .got = run.count, .limit = planned},
        "count is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)", run.count,
        planned);
  if (count == 0 || empty()) return {};
  TW_TRY(check_address("src", run.src_list, 8));
  TW_TRY(check_address("dst", run.dst_list, 8));
  if (run.invalid_count != 0) TW_TRY(check_address("invalid_count", run.invalid_count, 8));
  const auto bytes = static_cast<uint64_t>(count) * 8;
  TW_TRY(check_operands(
      *device(), {{"src", run.src_list, bytes, false},
                  {"dst", run.dst_list, bytes, false},
                  {"invalid_count", run.invalid_count, run.invalid_count == 0 ? 0u : 8u, true}}));
  CopiesArgs args;
  TW_TRY(fill(run, count, &args));
  TW_TRY(check_pairs(stream, args));
  if (run.invalid_count != 0) TW_TRY(count_skipped(stream, args));
  const LaunchConfig launch = config(&args);
  return stream.launch(*kernels_[method()].kernel, launch, &args, sizeof args);
}

PlanInfo CopiesPlan::info() const {
  PlanInfo info;
  info.op = Op::copies;
  if (empty()) return info;
  CopiesArgs args;
  if (!fill({}, desc_.count, &args).ok()) return info;
  const LaunchConfig launch = config(&args);
  info.kernel = kernels_[method()].entry->symbol;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  info.tile[0] = args.cut.tile_rows;
  info.tile[1] = args.cut.part_bytes / static_cast<u32>(shape_.element_bytes);
  info.stages = method() == kCopiesBulk ? pipeline_.stages : 0;
  info.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  const auto bytes = static_cast<uint64_t>(desc_.count) * static_cast<uint64_t>(shape_.elements) *
                     static_cast<uint64_t>(shape_.element_bytes);
  info.bytes_read = bytes + static_cast<uint64_t>(desc_.count) * 16;
  info.bytes_written = bytes;
  return info;
}

std::string CopiesPlan::explain() const {
  std::string out = line("%" PRId64 " copies of %" PRId64 " elements of %s, rows of %" PRId64
                         " bytes, addresses from lists in device memory",
                         desc_.count, shape_.elements, dtype_name(desc_.dtype), shape_.row_bytes);
  if (empty()) return out + "empty, nothing runs\n";
  const PlanInfo i = info();
  out += line(
      "kernel %s: %u blocks of %u threads, tiles of %ux%u elements, %u stages, %u bytes of "
      "shared memory",
      i.kernel, i.grid[0], i.block[0], i.tile[0], i.tile[1], i.stages, i.dynamic_smem_bytes);
  const char* const reason = bulk_refusal();
  if (reason)
    out += line("not bulk copies: %s", reason);
  else
    out += "pairs with addresses that are not multiples of 16 use ordinary loads and stores\n";
  return out + line(
                   "a pair is skipped if an address is 0 or not a multiple of %u (source) or %u "
                   "(destination) bytes\n",
                   mask_of(desc_.src_alignment, shape_.element_bytes) + 1,
                   mask_of(desc_.dst_alignment, shape_.element_bytes) + 1);
}

}  // namespace tw
