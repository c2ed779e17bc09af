// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch arguments of grouped products of 8-bit types: those of every grouped product, followed by
// the scales of A and B. Kernels, host bodies and tests share them.
//
// Scales of A are indexed by the row of the caller's A, so that a gathered row keeps its scales. If
// each masked group has a matrix of scales of its own, they are indexed by the row within the
// group.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/grouped/grouped.h"

namespace tw {

struct GroupedScaledArgs {
  GroupedArgs grouped;
  // batch_step of A's scales: from one masked group's matrix to the next one's; 0: there is one
  // matrix for all rows. batch_step of B's: from one weight matrix's scales to the next one's.
  GemmScales scales;
};
static_assert(sizeof(GroupedScaledArgs) == 1280, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GroupedScaledArgs, scales) == 1152, "as above");

/// Where the scales of row r of group g begin, in elements; `a_row` is the row's row of A.
TW_KERNEL_HD inline i64 grouped_a_scale(const GroupedScaledArgs& all, i32 g, i32 r, i32 a_row) {
  const GemmScale& scale = all.scales.a;
  const i32 line = scale.batch_step != 0 ? r - g * all.grouped.group_rows : a_row;
  return line * scale.line_step + g * scale.batch_step;
}

/// The scale of a row for a block of k. `begin` is where the row's scales begin.
TW_KERNEL_HD inline float grouped_a_scale_at(const GemmScales& scales, i64 begin, i32 block) {
  if (scales.a_by == kScaleNone) return 1.0f;
  return reinterpret_cast<const float*>(scales.a.address)[begin + block * scales.a.block_step];
}

}  // namespace tw
