// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a gather or scatter, checked and converted to bytes.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "kernels/rows/rows.h"
#include "ops/plan/plan.hpp"

namespace tw {

/// Bits of RowsDesc::flags, with the values of the C API.
enum RowsFlag : uint32_t {
  kRowsLastWins = 1,
  kRowsDeterministic = 2,
  kRowsWeighted = 4,
  kRowsAccumulateF32 = 8,
  kRowsFlags = 15
};

/// The fields of tw_rows_desc: extents and pitches in elements.
struct RowsDesc {
  DType dtype = DType::BF16;
  DType index_dtype = DType::I32;
  uint32_t table_alignment = 0;
  uint32_t packed_alignment = 0;
  uint32_t max_sms = 0;
  int64_t table_rows = 0;
  int64_t table_pitch = 0;
  int64_t column = 0;
  int64_t columns = 0;
  int64_t count = 0;
  int64_t packed_pitch = 0;
  int64_t table_columns = 0;  // 0: the window lies inside the table
  int64_t group = 1;
  int32_t reduction = 0;  // kReduceNone and so on
  uint32_t flags = 0;
  DType packed_dtype = DType{0};  // 0: the same as dtype
  /// For tests and benchmarks: a bit 1 << method for each method that may be chosen, and the sizes
  /// of the shared-memory pipelines, where 0 means the library chooses.
  uint32_t methods = ~0u;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
  uint32_t warps = 0;       // per block
  uint32_t blocks = 0;      // per SM
  uint32_t warp_items = 0;  // stages per warp, after which its block ends
  int64_t launch_rows = 0;  // rows per launch of kRowsPlain, at most
  uint32_t policies = 0;    // bit 0: evict first what is read; bit 1: evict first what is written
};

/// The checked description in bytes. Pitches are filled in, and the window is clipped to the table.
struct RowsProblem {
  RowsDesc desc;
  int32_t element_bytes = 1;
  int32_t packed_element_bytes = 1;
  int32_t index_bytes = 4;
  uint32_t element = 0;         // type of the table's elements: kElementBits and so on
  uint32_t packed_element = 0;  // type of the packed operand's elements
  int64_t row_bytes = 0;        // of the packed operand
  int64_t lead_bytes = 0;       // bytes of a packed row before the table's first column
  int64_t tail_bytes = 0;       // bytes of a packed row after the table's last column
  int64_t moved_bytes = 0;      // bytes of a table row that are moved
  int64_t moved_columns = 0;
  int64_t column_bytes = 0;  // offset of the first moved column in a table row
  int64_t table_pitch = 0;   // bytes
  int64_t packed_pitch = 0;  // bytes
  int64_t table_bytes = 0;   // from the start of row 0 to the end of the last window
  int64_t packed_bytes = 0;  // the same for the described count
  /// Bytes of a packed row that a gather fills with zeros.
  int64_t margin_bytes(Op op) const { return op == Op::gather ? lead_bytes + tail_bytes : 0; }
  bool is_sum() const { return desc.group > 1 || (desc.flags & kRowsWeighted) != 0; }
  bool flag(RowsFlag bit) const { return (desc.flags & bit) != 0; }
  /// Whether the floating-point sums must have a fixed order.
  bool ordered() const {
    return flag(kRowsDeterministic) && desc.reduction == kReduceAdd &&
           (element == kElementF32 || element == kElementF16 || element == kElementBF16);
  }
};
/// Checks a description and converts it. Messages name the field at fault.
Status rows_problem(Op op, const RowsDesc& desc, RowsProblem* out);

}  // namespace tw
