// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/rows_four.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/checked.hpp"
#include "kernels/rows/row_schedule.h"
#include "ops/common/maps.hpp"

namespace tw::rows {
namespace {

constexpr int64_t kMaxCoordinate = INT32_MAX;
constexpr int64_t kMaxPitch = int64_t{1} << 40;

// The table's tensor map. `four` in names is the method that moves four rows per instruction.
struct FourRowMap {
  int64_t element_bytes = 0;  // of the map's elements, not the table's
  int64_t part_bytes = 0;     // bytes per row of a box
  int64_t covered_bytes = 0;  // bytes of a table row that the map covers
  DType dtype = DType::U8;
};

bool is_multiple(int64_t value, int64_t divisor) {
  return value % divisor == 0;
}

// A TMA load can end at any element, a TMA store only at a multiple of 16 bytes. So the map of a
// gather covers the table's width, and the map of a scatter ends with the window. A box has at most
// 256 elements, so the map's element is the widest type of 1 to 8 bytes that divides the covered
// bytes.
FourRowMap four_row_map(const RowsSetup& setup) {
  const RowsProblem& p = setup.problem;
  const RowsDesc& d = p.desc;
  FourRowMap s;
  const int64_t columns = setup.op == Op::gather && d.table_columns != 0
                              ? d.table_columns
                              : p.column_bytes / p.element_bytes + p.moved_columns;
  s.covered_bytes = columns * p.element_bytes;
  for (const auto& [bytes, type] :
       {std::pair{1, DType::U8}, {2, DType::U16}, {4, DType::U32}, {8, DType::U64}})
    if (is_multiple(s.covered_bytes, bytes)) s.element_bytes = bytes, s.dtype = type;
  const int64_t row = setup.op == Op::gather ? p.row_bytes : p.moved_bytes;
  const int64_t maximum =
      std::min<int64_t>(kFourMaxBox * s.element_bytes, setup.pipeline.stage_bytes / kFourRows) /
      kFourRowMultiple * kFourRowMultiple;
  if (maximum == 0) return s;
  s.part_bytes =
      round_up(ceil_div(row, ceil_div(std::max<int64_t>(row, 1), maximum)), kFourRowMultiple);
  return s;
}

}  // namespace

const char* four_refusal(const RowsSetup& setup, uint64_t table, uint64_t packed) {
  const RowsProblem& p = setup.problem;
  const RowsDesc& d = p.desc;
  const bool gather = setup.op == Op::gather;
  const KernelEntry* entry = find_entry(setup.device, setup.op, [](const KernelEntry& candidate) {
    return candidate.variant == kRowsFour;
  });
  if (!entry &&
      (setup.device.info().features & (gather ? feature::gather4 : feature::scatter4)) != 0)
    return gather ? "no kernel with gather4 is embedded for this device"
                  : "no kernel with scatter4 is embedded for this device";
  if (!entry)
    return gather ? "the device has no gather4 (compute capability 10.0 has)"
                  : "the device has no scatter4 (compute capability 10.0 has)";
  if (setup.pipeline.stages == 0) return "the device has too little shared memory for the pipeline";
  if (d.count < kFourMinRows) return "there are fewer than 8 rows";
  const int64_t row_bytes = gather ? p.row_bytes : p.moved_bytes;
  if (row_bytes < kFourMinBytes) return "rows are shorter than 32 bytes";
  const int64_t column = d.column * p.element_bytes;
  if (!is_multiple(column, 16)) return "the first column does not lie at a multiple of 16 bytes";
  if (!is_multiple(row_bytes, 16)) return "the row size is not a multiple of 16 bytes";
  if (!gather && !is_multiple(p.column_bytes + p.moved_bytes, 16))
    return "stores write whole units of 16 bytes, and the window does not end at a multiple of 16 "
           "bytes";
  if (d.table_rows < 1 || d.table_rows > kMaxCoordinate)
    return "row numbers of the table do not fit 31 bits";
  if (!is_multiple(p.table_pitch, 16) || p.table_pitch >= kMaxPitch)
    return "the table's pitch is not a multiple of 16 bytes below 2^40";
  if (d.count > 1 && !is_multiple(p.packed_pitch, 16))
    return "the packed operand's pitch is not a multiple of 16 bytes";
  if (table % 16 != 0) return "the table's address is not a multiple of 16";
  if (packed % 16 != 0) return "the packed operand's address is not a multiple of 16";
  const FourRowMap s = four_row_map(setup);
  if (s.part_bytes == 0) return "a stage of the pipeline does not hold four rows";
  if (s.covered_bytes / s.element_bytes > kMaxCoordinate ||
      std::abs(column) / s.element_bytes > kMaxCoordinate)
    return "columns of the table do not fit 31 bits";
  if (ceil_div(row_bytes, s.part_bytes) > 1 &&
      ceil_div(d.count, int64_t{kFourRows}) >=
          static_cast<int64_t>(kDividerLimit) / ceil_div(row_bytes, s.part_bytes))
    return "the rows have 2^31 parts or more";
  return nullptr;
}

Status prepare_four(RowsSetup* setup) {
  const FourRowMap s = four_row_map(*setup);
  TensorMapDesc map;
  map.dtype = s.dtype;
  map.rank = 2;
  map.global_dim[0] = static_cast<uint64_t>(s.covered_bytes / s.element_bytes);
  map.global_dim[1] = static_cast<uint64_t>(setup->problem.desc.table_rows);
  map.global_stride_bytes[0] = static_cast<uint64_t>(setup->problem.table_pitch);
  map.box_dim[0] = static_cast<uint32_t>(s.part_bytes / s.element_bytes);
  map.box_dim[1] = 1;
  return encode_map(setup->device, map, &setup->four_map);
}

void fill_four(const RowsSetup& setup, uint64_t table, RowsLaunch* launch) {
  FourArgs& four = launch->four;
  RowsArgs& args = four.rows;
  launch->bytes = sizeof four;
  const FourRowMap s = four_row_map(setup);
  const bool gather = setup.op == Op::gather;
  const int64_t row = gather ? setup.problem.row_bytes : setup.problem.moved_bytes;
  // A gather writes whole packed rows, because gather4 loads zeros for columns outside the table.
  // So undo the skip of the columns before the table.
  if (gather) args.packed -= static_cast<u64>(setup.problem.lead_bytes);
  args.row_bytes = static_cast<u64>(row);
  args.part_bytes = static_cast<u32>(s.part_bytes);
  args.parts = static_cast<u32>(ceil_div(row, s.part_bytes));
  args.last_bytes = static_cast<u32>(row - int64_t{args.parts - 1} * s.part_bytes);
  args.part_divider = make_divider(args.parts);
  const int64_t warps = int64_t{usable_sms(setup.device, setup.problem.desc.max_sms)} *
                        setup.tuning.blocks * setup.pipeline.warps;
  const int64_t fit =
      std::min<int64_t>(setup.pipeline.stage_bytes / s.part_bytes, setup.max_pieces);
  const int64_t items = std::max<int64_t>(setup.problem.desc.count, 1) * args.parts;
  const int64_t fair = std::clamp<int64_t>(ceil_div(items, warps), kFourRows, fit);
  args.stage_pieces = static_cast<u32>(fair / kFourRows * kFourRows);
  args.stage_bytes = setup.pipeline.stage_bytes;
  args.stages = setup.pipeline.stages;
  args.dense = args.parts == 1 && setup.problem.packed_pitch == s.part_bytes && row == s.part_bytes;
  four.column =
      static_cast<i32>(setup.problem.desc.column * setup.problem.element_bytes / s.element_bytes);
  four.part_columns = static_cast<i32>(s.part_bytes / s.element_bytes);
  four.map = setup.four_map;
  rebind_address(&four.map, table);
}

}  // namespace tw::rows
