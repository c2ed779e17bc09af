// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/arguments.h"

namespace tw {

/// The tag of the counters by which the blocks of a stream-K kernel find the last one that shares a
/// tile, see GemmStreamArgs. One for the process, so that plans that take turns with a workspace
/// find each other's counters as they left them; what a workspace held before is unlikely to carry
/// it.
u64 counter_tag();

}  // namespace tw
