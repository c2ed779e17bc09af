// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partitions of a tensor among threads, and bank conflicts of a warp's shared memory accesses.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// One thread's elements of a tensor: CuTe's get_slice(thread).partition_S(tensor). `tile` is the
/// shape of a tile; `tv` maps (thread, value) to the colexicographic number of an element in it.
/// The result has the modes (values, tile, tile, ...). See slice.hpp for `offset`.
Status partition_tv(const Layout& tensor, const IntTuple& tile, const Layout& tv, int64_t thread,
                    Layout* out, int64_t* offset);

/// The number of shared memory passes (32 banks of 4 bytes) in which a warp accesses all its
/// values, and the number without bank conflicts, `least`. `layout` places the elements; `tv` maps
/// (thread, value) to a coordinate of it, for at most 32 threads. Each thread accesses
/// `access_bytes` at once: with 4 bytes a pass serves the whole warp, with 8 a half, with 16 a
/// quarter.
Status bank_passes(const Layout& layout, int element_bits, const Layout& tv, int access_bytes,
                   int64_t* passes, int64_t* least);

}  // namespace tw
