// SPDX-License-Identifier: Apache-2.0
#pragma once
// What plans and the ragged family's host bodies share.

#include "kernels/ragged/ragged.h"

namespace tw {

/// Offset number i, where the host can read it.
i64 ragged_offset_host(const RaggedArgs& args, u64 i);

}  // namespace tw
