// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts of the same bytes as elements of another size. Upcast by n joins n adjacent elements into
// one; downcast by n splits each into n. A layout's swizzle is recast, too.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

Status upcast(const Layout& layout, int64_t n, Layout* out);
Status downcast(const Layout& layout, int64_t n, Layout* out);
Status recast(const Layout& layout, int64_t from_bits, int64_t to_bits, Layout* out);
Status upcast(const BitSwizzle& swizzle, int64_t n, BitSwizzle* out);
Status downcast(const BitSwizzle& swizzle, int64_t n, BitSwizzle* out);
Status recast(const BitSwizzle& swizzle, int64_t from_bits, int64_t to_bits, BitSwizzle* out);

}  // namespace tw
