// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/arguments.h"

namespace tw {

/// The tag of the counters by which the blocks of a stream-K kernel find the last one that shares a
/// tile, see GemmStreamArgs. It is another one for each kernel that is made, in this process and in
/// others: what a workspace holds before its first launch is unlikely to carry it.
u64 next_counter_tag();

}  // namespace tw
