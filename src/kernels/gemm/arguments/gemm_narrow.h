// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch arguments of the stream-K kernels for narrow types.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/gemm/arguments/gemm_stream.h"

namespace tw {

struct GemmNarrowArgs {
  GemmStreamArgs stream;
  GemmScales scales;
};

static_assert(sizeof(GemmNarrowArgs) == 896, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmNarrowArgs, scales) == 768, "as above");

}  // namespace tw
