// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the plan and the host bodies of the ragged family.

#include "kernels/ragged/ragged.h"

namespace tw {

/// Reads offset number i from memory that the host can access.
i64 ragged_offset_host(const RaggedArgs& args, u64 i);

}  // namespace tw
