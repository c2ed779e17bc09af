// SPDX-License-Identifier: Apache-2.0
#include "ops/rows.hpp"

#include <algorithm>
#include <bit>
#include <cinttypes>

#include "base/checked.hpp"
#include "kernels/parts/realign.h"

namespace tw {
namespace {

constexpr uint64_t kBulkAlignment = 16;
// Below this a row is too little for a bulk copy of its own, and plain loads do better.
constexpr int64_t kMinBulkRow = 96;
constexpr int64_t kMinPart = 512;  // of a long row in parts
constexpr int64_t kMinShiftRow = 32;
// Blocks of plain loads and stores on one SM, and what a thread of them moves at once.
constexpr uint32_t kPlainBlocks = 6;
constexpr uint32_t kPlainItemsOfThread = 4;
constexpr uint32_t kRingWarps = 8;
// Rows of at most this many bytes are narrow.
constexpr int64_t kMaxNarrowRow = 512;
constexpr uint32_t kNarrowBlocks = 3;

uint32_t bit_of(uint32_t method) {
  return 1u << method;
}

}  // namespace

Status RowsPlan::create(const std::shared_ptr<Device>& device, Op op, const RowsDesc& desc,
                        std::unique_ptr<Plan>* out) {
  RowsProblem problem;
  TW_TRY(rows_problem(desc, &problem));
  std::unique_ptr<RowsPlan> plan(new RowsPlan(device, op, problem));
  TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status RowsPlan::prepare() {
  const RowsDesc& d = problem_.desc;
  Device& dev = *device();
  const uint32_t notes = op() == Op::scatter ? rows_note_bytes(kRowsMaxStagePieces) : 0;
  const uint32_t warps = d.warps == 0 ? kRingWarps : std::min(d.warps, kRowsMaxRingWarps);
  ring_ = ring_size(dev, warps, notes, d.stages, d.stage_bytes, std::max(1u, d.blocks));
  args_.table_rows = d.table_rows;
  args_.table_pitch = problem_.table_pitch;
  args_.packed_pitch = problem_.packed_pitch;
  args_.row_bytes = static_cast<u64>(problem_.row_bytes);
  args_.index_bytes = static_cast<u32>(problem_.index_bytes);

  const auto row_of = [&](uint32_t method) {
    return find_row(dev, op(), [&](const KernelRow& row) { return row.variant == method; });
  };
  const bool others = (d.methods & (bit_of(kRowsShift) | bit_of(kRowsPlain))) != 0;
  const bool long_rows = problem_.row_bytes >= kMinBulkRow || !others;
  const bool bulk =
      (d.methods & bit_of(kRowsBulk)) && ring_.stages != 0 && long_rows && bulk_fits(0, 0);
  if (bulk) TW_TRY(prepare_row(dev, op(), row_of(kRowsBulk), ring_.dynamic_smem_bytes(), &bulk_));
  const bool promised = std::min(d.table_alignment, d.packed_alignment) >= kBulkAlignment;
  const bool always = bulk && promised;
  if ((d.methods & bit_of(kRowsShift)) && !always && problem_.row_bytes >= kMinShiftRow)
    TW_TRY(prepare_row(dev, op(), row_of(kRowsShift), 0, &shift_));
  if ((d.methods & bit_of(kRowsNarrow)) && !always && problem_.row_bytes <= kMaxNarrowRow)
    TW_TRY(prepare_row(dev, op(), row_of(kRowsNarrow), 0, &narrow_));
  if ((d.methods & bit_of(kRowsPlain)) && !always)
    TW_TRY(prepare_row(dev, op(), row_of(kRowsPlain), 0, &plain_));
  if (!bulk_ && !shift_ && !narrow_ && !plain_)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
                "none of the methods 0x%x serves these rows", d.methods);
  return {};
}

bool RowsPlan::bulk_fits(uint64_t table, uint64_t packed) const {
  const uint64_t first = table + static_cast<uint64_t>(problem_.column_bytes);
  const bool table_rows = problem_.desc.table_rows <= 1 || problem_.table_pitch % 16 == 0;
  const bool packed_rows = problem_.desc.count <= 1 || problem_.packed_pitch % 16 == 0;
  return problem_.row_bytes >= 16 && problem_.row_bytes % 16 == 0 && table_rows && packed_rows &&
         problem_.packed_bytes / kMinPart < static_cast<int64_t>(kDividerLimit) &&
         first % kBulkAlignment == 0 && packed % kBulkAlignment == 0;
}

const PreparedKernel& RowsPlan::choose(uint64_t table, uint64_t packed) const {
  if (bulk_ && bulk_fits(table, packed)) return bulk_;
  // Plain units of 16 bytes need no realigning.
  if (narrow_ && (!shift_ || plain_unit(table, packed) == 16)) return narrow_;
  if (shift_ && (!plain_ || plain_unit(table, packed) < 16)) return shift_;
  return plain_;
}

void RowsPlan::fill_bulk(RowsArgs* args) const {
  const int64_t row = problem_.row_bytes;
  const int64_t warps = int64_t{usable_sms(*device(), problem_.desc.max_sms)} *
                        std::max(1u, problem_.desc.blocks) * ring_.warps;
  const int64_t count = std::max<int64_t>(problem_.desc.count, 1);
  // A row in even parts of at most a stage; smaller ones where there would be fewer than warps.
  int64_t part = std::min<int64_t>(row, ring_.stage_bytes);
  while (part >= 1024 && count < ceil_div(warps, ceil_div(row, part))) part /= 2;
  const int64_t parts = ceil_div(row, round_up(part, 16));
  args->part_bytes = static_cast<u32>(round_up(ceil_div(row, parts), 16));
  args->parts = static_cast<u32>(ceil_div(row, args->part_bytes));
  args->last_bytes = static_cast<u32>(row - int64_t{args->parts - 1} * args->part_bytes);
  args->part_divider = make_divider(args->parts);
  const int64_t fit = std::min<int64_t>(
      ring_.stage_bytes / args->part_bytes,
      problem_.desc.stage_pieces == 0 ? kRowsMaxStagePieces
                                      : std::min(problem_.desc.stage_pieces, kRowsMaxStagePieces));
  const int64_t fair = count >= warps * fit ? fit : ceil_div(count * args->parts, warps);
  args->stage_pieces = static_cast<u32>(std::clamp<int64_t>(fair, 1, fit));
  args->stage_bytes = ring_.stage_bytes;
  args->stages = ring_.stages;
  args->dense = args->parts == 1 && problem_.packed_pitch == row;
}

uint32_t RowsPlan::plain_unit(uint64_t table, uint64_t packed) const {
  uint32_t unit = std::min({alignment_of(table), alignment_of(packed),
                            alignment_of(static_cast<uint64_t>(problem_.column_bytes)),
                            alignment_of(static_cast<uint64_t>(problem_.row_bytes))});
  if (problem_.desc.table_rows > 1)
    unit = std::min(unit, alignment_of(static_cast<uint64_t>(problem_.table_pitch)));
  if (problem_.desc.count > 1)
    unit = std::min(unit, alignment_of(static_cast<uint64_t>(problem_.packed_pitch)));
  return unit;
}

void RowsPlan::fill_plain(uint64_t table, uint64_t packed, RowsArgs* args) const {
  args->unit_bytes = plain_unit(table, packed);
  args->row_units = static_cast<u64>(problem_.row_bytes) / args->unit_bytes;
  args->lanes = static_cast<u32>(std::bit_ceil(std::min<u64>(args->row_units, 32)));
  args->parts = static_cast<u32>((args->row_units + args->lanes - 1) / args->lanes);
  args->part_divider = make_divider(args->parts);
}

void RowsPlan::fill_narrow(uint64_t table, uint64_t packed, RowsArgs* args) const {
  args->unit_bytes = plain_unit(table, packed);
  args->row_units = static_cast<u64>(problem_.row_bytes) / args->unit_bytes;
  args->part_divider = make_divider(static_cast<u32>(args->row_units));
  const int64_t sms = usable_sms(*device(), problem_.desc.max_sms);
  const int64_t warps = sms * kNarrowBlocks * (kRowsPlainThreads / 32);
  // Whole tiles where there are rows for all warps.
  args->tile_rows = static_cast<u32>(std::clamp<int64_t>(
      ceil_div(std::max<int64_t>(problem_.desc.count, 1), warps), 1, kRowsTile));
  args->parts = 1;
}

void RowsPlan::fill_shift(RowsArgs* args) const {
  args->lanes = 1;
  args->parts = static_cast<u32>(most_pieces(static_cast<u64>(problem_.row_bytes)));
  args->part_divider = make_divider(args->parts);
}

void RowsPlan::fill(const PreparedKernel& kernel, uint64_t table, uint64_t packed,
                    RowsArgs* args) const {
  if (&kernel == &bulk_)
    fill_bulk(args);
  else if (&kernel == &shift_)
    fill_shift(args);
  else if (&kernel == &narrow_)
    fill_narrow(table, packed, args);
  else
    fill_plain(table, packed, args);
}

LaunchConfig RowsPlan::config(const PreparedKernel& kernel, const RowsArgs& args) const {
  const uint64_t sms = usable_sms(*device(), problem_.desc.max_sms);
  const bool bulk = &kernel == &bulk_;
  const auto threads = bulk ? ring_.warps * 32 : static_cast<uint32_t>(kernel.row->threads);
  const uint64_t pieces = static_cast<uint64_t>(args.count) * args.parts;
  uint64_t of_block = args.stage_pieces;
  uint64_t room = sms * std::max(1u, problem_.desc.blocks);
  if (&kernel == &narrow_) {
    of_block = uint64_t{args.tile_rows} * (threads / 32);
    room = sms * kNarrowBlocks;
  } else if (!bulk) {
    of_block = uint64_t{threads} / args.lanes * kPlainItemsOfThread;
    room = sms * kPlainBlocks;
  }
  LaunchConfig config;
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<uint64_t>((pieces + of_block - 1) / of_block, 1, room));
  config.block[0] = threads;
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  return config;
}

Status RowsPlan::check_run(const RowsRun& run, int64_t count) const {
  const RowsDesc& d = problem_.desc;
  const auto element = static_cast<uint32_t>(problem_.element_bytes);
  const auto index_width = static_cast<uint32_t>(problem_.index_bytes);
  const auto table_bytes = static_cast<uint64_t>(problem_.table_bytes);
  const auto packed_bytes =
      static_cast<uint64_t>((count - 1) * problem_.packed_pitch + problem_.row_bytes);
  const uint64_t index_bytes = static_cast<uint64_t>(count) * index_width;
  if (table_bytes != 0)
    TW_TRY(check_address("table", run.table, std::max(d.table_alignment, element)));
  TW_TRY(check_address("packed", run.packed, std::max(d.packed_alignment, element)));
  TW_TRY(check_address("index", run.index, index_width));
  TW_TRY(check_disjoint("packed", run.packed, packed_bytes, "table", run.table, table_bytes));
  if (op() == Op::gather)
    return check_disjoint("packed", run.packed, packed_bytes, "index", run.index, index_bytes);
  return check_disjoint("table", run.table, table_bytes, "index", run.index, index_bytes);
}

Status RowsPlan::run(Stream& stream, const RowsRun& run) const {
  const int64_t planned = problem_.desc.count;
  const int64_t count = run.count == -1 ? planned : run.count;
  if (count < 0 || count > planned)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "count", .rule = "rows_run_count", .got = count, .limit = planned},
                "count is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)",
                count, planned);
  if (count == 0 || empty()) return {};
  TW_TRY(check_run(run, count));
  const PreparedKernel& kernel = choose(run.table, run.packed);
  if (!kernel)
    return fail(Code::ERROR_MISALIGNED, {.argument = "table", .rule = "rows_methods"},
                "the only method allowed needs rows whose ends are multiples of 16 bytes");
  RowsArgs args = args_;
  args.table = run.table + static_cast<uint64_t>(problem_.column_bytes);
  args.index = run.index;
  args.packed = run.packed;
  args.count = count;
  const bool gather = op() == Op::gather;
  args.read_low = gather ? run.table : run.packed;
  args.read_high =
      args.read_low +
      static_cast<uint64_t>(gather ? problem_.table_bytes
                                   : (count - 1) * problem_.packed_pitch + problem_.row_bytes);
  fill(kernel, run.table, run.packed, &args);
  return stream.launch(*kernel.kernel, config(kernel, args), &args, sizeof args);
}

}  // namespace tw
