// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements of another size. A swizzle is recast with its layout.

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
