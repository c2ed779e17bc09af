// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/arguments.h"

namespace tw {

/// Returns the tag of the counters by which the blocks of a stream-K kernel that share a tile find
/// each other, see GemmStreamArgs. The tag is the same for the whole process, so that plans that
/// share a workspace find valid counters. Other contents of a workspace are unlikely to carry it.
u64 counter_tag();

}  // namespace tw
