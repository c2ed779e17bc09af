// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/rows_methods.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/rows/rows_four.hpp"

namespace tw::rows {
namespace {

// Limits of the length of a row, in bytes, for the methods that the names contain. Below those of
// kRowsBulk, kRowsStaged is tried first.
constexpr int64_t kBulkGatherMinRowBytes = 256;
constexpr int64_t kBulkScatterMinRowBytes = 1024;
constexpr int64_t kShiftMinRowBytes = 32;
constexpr int64_t kStagedMaxRowBytes = 512;
constexpr int64_t kFewMinRowBytes = 2048;
constexpr int64_t kFewMaxRowBytes = 64 << 20;  // limits the grid to 2^14 blocks per row

constexpr uint32_t kAligned = 16;  // methods depend on addresses modulo this

// Smallest row in bytes for which realigning in registers is faster than ordinary loads of
// `unit` bytes. With wider units it never is. Measured by bench_rows --sweep: one NVIDIA H200,
// driver 580.159.04, 2026-11-23, 128 MB of random rows out of 256 MB.
constexpr struct {
  uint32_t unit;
  int64_t gather, scatter;
} kShiftThresholds[] = {{1, 32, 48}, {2, 32, 128}, {4, 192, 512}};

bool shift_is_faster(Op op, int64_t row_bytes, uint32_t unit) {
  for (const auto& least : kShiftThresholds)
    if (least.unit == unit) return row_bytes >= (op == Op::gather ? least.gather : least.scatter);
  return false;
}

bool is_multiple_of_16(int64_t value) {
  return value % 16 == 0;
}

const char* bulk_refusal(const RowsSetup& setup, uint32_t method, uint64_t table, uint64_t packed) {
  const RowsProblem& p = setup.problem;
  const RowsDesc& d = p.desc;
  if (setup.pipeline.stages == 0) return "the device has too little shared memory for the pipeline";
  if (p.moved_bytes < 16 || !is_multiple_of_16(p.moved_bytes))
    return "the row size is not a multiple of 16 bytes";
  if (d.table_rows > 1 && !is_multiple_of_16(p.table_pitch))
    return "the table's pitch is not a multiple of 16 bytes";
  if (d.count > 1 && !is_multiple_of_16(p.packed_pitch))
    return "the packed operand's pitch is not a multiple of 16 bytes";
  if (setup.first_moved_in_table(table) % 16 != 0)
    return "the window's address in the table is not a multiple of 16";
  if (setup.first_moved_in_packed(packed) % 16 != 0)
    return "the packed operand's address is not a multiple of 16";
  if (d.group > setup.max_pieces || d.group * 16 > setup.pipeline.stage_bytes)
    return "a stage of the pipeline does not hold a group";
  // If a row has several pieces, the number of all pieces must be below kDividerLimit. fill_bulk()
  // cuts a row into at most as many parts as parts of `least` bytes would give.
  const int64_t least = std::min(kMinPart, setup.pipeline.stage_bytes / d.group / 16 * 16);
  const int64_t parts = ceil_div(p.moved_bytes, least);
  if ((parts > 1 || d.group > 1) &&
      d.count >= static_cast<int64_t>(kDividerLimit) / parts / d.group)
    return "the rows have 2^31 pieces or more";
  if (method == kRowsStaged &&
      p.moved_bytes > std::min<int64_t>(kStagedMaxRowBytes, setup.pipeline.stage_bytes))
    return "rows are longer than 512 bytes";
  if (method != kRowsBulkReduce) return nullptr;
  if (d.packed_dtype != d.dtype) return "bulk reductions do not convert";
  if (p.flag(kRowsAccumulateF32)) return "bulk reductions round every addend";
  if (d.reduction != kReduceAdd && (p.element == kElementF32 || p.element == kElementF64))
    return "bulk reductions have no minimum and maximum of f32 and f64";
  return nullptr;
}

}  // namespace

void list_methods(const RowsSetup& setup, uint32_t (&methods)[kMaxMethods]) {
  const RowsProblem& p = setup.problem;
  uint32_t* next = methods;
  if (setup.op == Op::gather && p.is_sum()) {
    *next++ = kRowsSum;
    *next++ = kRowsSumPlain;
    return;
  }
  if (p.desc.reduction != kReduceNone) {
    const bool number =
        p.element == kElementF32 || p.element == kElementF16 || p.element == kElementBF16;
    // kRowsSorted adds up the packed rows that go to the same table row before it reduces into the
    // table. This costs nothing if all indices differ. If many indices name one table row, it is
    // many times faster than a reduction for each packed row, because reductions to one address
    // queue up in the L2.
    if (number && p.desc.reduction == kReduceAdd) *next++ = kRowsSorted;
    *next++ = kRowsBulkReduce;
    if (!number || p.desc.reduction != kReduceAdd) *next++ = kRowsReduce;
    return;
  }
  // The host device models kRowsFour, but uses it only for tests that ask for it.
  const bool host = setup.device.info().kind == DeviceKind::host;
  if (!host || p.desc.methods == 1u << kRowsFour) *next++ = kRowsFour;
  if (setup.is_small() || p.desc.methods == 1u << kRowsFew) *next++ = kRowsFew;
  // For narrow rows, threads are faster than one bulk copy per row. Bulk stores need wider rows
  // than bulk loads.
  const bool staged =
      p.moved_bytes < (setup.op == Op::gather ? kBulkGatherMinRowBytes : kBulkScatterMinRowBytes);
  if (staged) *next++ = kRowsStaged;
  *next++ = kRowsBulk;
  if (!staged) *next++ = kRowsStaged;
  *next++ = kRowsShift;
  *next++ = kRowsPlain;
}

const char* refusal(const RowsSetup& setup, uint32_t method, uint64_t table, uint64_t packed) {
  const RowsProblem& p = setup.problem;
  if ((p.desc.methods & 1u << method) == 0) return "it is not among the allowed methods";
  switch (method) {
    case kRowsFour:
      return four_refusal(setup, table, packed);
    case kRowsFew:
      if (p.desc.methods != 1u << kRowsFew) {  // allowed alone, it serves more rows, for tests
        if (!setup.is_small()) return "there are many bytes";
        if (p.moved_bytes < kFewMinRowBytes) return "rows are shorter than 2 KB";
      }
      if (p.flag(kRowsLastWins)) return "it does not support TW_SCATTER_LAST_WINS";
      if (p.desc.max_sms != 0) return "its grid cannot be limited by max_sms";
      if (setup.plain_unit(table, packed) != 16) return "rows are not of whole 16-byte units";
      if (p.moved_bytes > kFewMaxRowBytes) return "rows are longer than 64 MB";
      return nullptr;
    case kRowsBulk:
    case kRowsStaged:
      if (setup.is_small() && (p.desc.methods & 1u << kRowsPlain) != 0 &&
          setup.plain_unit(table, packed) == 16)
        return "ordinary loads and stores are faster for so few bytes";
      return bulk_refusal(setup, method, table, packed);
    case kRowsSum:
    case kRowsBulkReduce:
      return bulk_refusal(setup, method, table, packed);
    case kRowsShift:
      if (p.moved_bytes < kShiftMinRowBytes) return "rows are shorter than 32 bytes";
      if ((p.desc.methods & 1u << kRowsPlain) != 0 &&
          !shift_is_faster(setup.op, p.moved_bytes, setup.plain_unit(table, packed)))
        return "ordinary loads and stores at the rows' alignment are faster";
      return nullptr;
    default:
      return nullptr;
  }
}

// Tries all address pairs. A window's first column shifts the rows, so the best or worst aligned
// operands need not have the best or worst aligned rows.
uint32_t reachable_methods(const RowsSetup& setup) {
  const auto step = [](uint32_t promised, int32_t element_bytes) {
    return std::clamp<uint32_t>(promised, static_cast<uint32_t>(element_bytes), kAligned);
  };
  const uint32_t table_step = step(setup.problem.desc.table_alignment, setup.problem.element_bytes);
  const uint32_t packed_step =
      step(setup.problem.desc.packed_alignment, setup.problem.packed_element_bytes);
  uint32_t wanted[kMaxMethods] = {};
  list_methods(setup, wanted);
  uint32_t reachable = 0;
  for (uint64_t table = 0; table < kAligned; table += table_step)
    for (uint64_t packed = 0; packed < kAligned; packed += packed_step)
      for (const uint32_t method : wanted) {
        if (method == 0 || refusal(setup, method, table, packed)) continue;
        reachable |= 1u << method;
        break;
      }
  return reachable;
}

}  // namespace tw::rows
