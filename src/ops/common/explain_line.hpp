// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats a line of the answer of tw_plan_explain().

#include <string>

namespace tw {

/// Returns the printf-formatted text, cut to 511 bytes, and a newline.
[[gnu::format(printf, 1, 2)]] std::string line(const char* format, ...);

}  // namespace tw
