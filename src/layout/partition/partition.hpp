// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who moves what: a thread's share of a tensor, the shared-memory passes that a warp's access
// takes. Plain functions of layouts.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// One thread's elements by a thread-value layout: CuTe's get_slice(thread).partition_S(tensor).
/// @param tile shape of the tile that `tv` numbers, leftmost fastest. @param tv (thread, value) to
/// the number of an element of the tile. The answer has the thread's values as first mode and the
/// tiles behind: (values, tile, tile, ...). `offset` as in slice.hpp.
Status partition_tv(const Layout& tensor, const IntTuple& tile, const Layout& tv, int64_t thread,
                    Layout* out, int64_t* offset);

/// Passes through shared memory (32 banks of 4 bytes) that a warp needs to access all its values.
/// @param layout of the elements, swizzled or not. @param tv (thread, value) to a coordinate of it,
/// of at most 32 threads. @param access_bytes 4, 8 or 16, taken by each thread at once: 4 for the
/// whole warp in a pass, 8 for half of it, 16 for a quarter. @param least passes without a
/// conflict.
Status bank_passes(const Layout& layout, int element_bits, const Layout& tv, int access_bytes,
                   int64_t* passes, int64_t* least);

}  // namespace tw
