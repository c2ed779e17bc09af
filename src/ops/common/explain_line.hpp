// SPDX-License-Identifier: Apache-2.0
#pragma once
// A line of what tw_plan_explain() answers.

#include <string>

namespace tw {

/// The text as printf makes it, up to 511 bytes of it, and the line's end.
[[gnu::format(printf, 1, 2)]] std::string line(const char* format, ...);

}  // namespace tw
