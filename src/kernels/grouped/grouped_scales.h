// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch arguments of grouped products of 8-bit types: GroupedArgs, then the scales of A and B. The
// device, the host bodies and the tests share them.
//
// Scales of A are indexed by the row of the caller's A, which for a gathered row differs from the
// row of the run. If each masked group has its own scale matrix, they are indexed by the row within
// the group.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/grouped/grouped.h"

namespace tw {

struct GroupedScaledArgs {
  GroupedArgs grouped;
  // batch_step of A leads from one masked group's scales to the next one's; 0 if all rows share a
  // matrix. batch_step of B leads from one weight matrix's scales to the next one's.
  GemmScales scales;
};
static_assert(sizeof(GroupedScaledArgs) == 1280, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GroupedScaledArgs, scales) == 1152, "as above");

/// Offset of the first scale of row r of group g, in elements. `a_row` is the row's index in the
/// caller's A.
TW_KERNEL_HD inline i64 grouped_a_scale(const GroupedScaledArgs& scaled_args, i32 g, i32 r,
                                        i32 a_row) {
  const GemmScale& scale = scaled_args.scales.a;
  const i32 line = scale.batch_step != 0 ? r - g * scaled_args.grouped.group_rows : a_row;
  return line * scale.line_step + g * scale.batch_step;
}

/// The scale of a row for scale block `block` of k; `begin` is the result of grouped_a_scale().
TW_KERNEL_HD inline float grouped_a_scale_at(const GemmScales& scales, i64 begin, i32 block) {
  if (scales.a_by == kScaleNone) return 1.0f;
  return reinterpret_cast<const float*>(scales.a.address)[begin + block * scales.a.block_step];
}

}  // namespace tw
