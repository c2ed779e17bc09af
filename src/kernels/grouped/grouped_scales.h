// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the products of 8-bit types are launched with, for the device, the host bodies and the tests
// alike: scales of A and B behind the arguments of every grouped product.
//
// Scales of A go by the row of the caller's A, so that a gathered row has its own. Where masked
// groups have a matrix of scales each, they go by the row of the group.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/grouped/grouped.h"

namespace tw {

struct GroupedScaledArgs {
  GroupedArgs grouped;
  // Of A: batch_step leads from one masked group's scales to the next one's; 0: all rows have one
  // matrix. Of B: from one weight matrix's to the next one's.
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

/// The scale of a row for a block of k, from where its scales begin.
TW_KERNEL_HD inline float grouped_a_scale_at(const GemmScales& scales, i64 begin, i32 block) {
  if (scales.a_by == kScaleNone) return 1.0f;
  return reinterpret_cast<const float*>(scales.a.address)[begin + block * scales.a.block_step];
}

}  // namespace tw
