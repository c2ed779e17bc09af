// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a golden line of the layout kind through the C API. Returns "" or what differs.

#include <nlohmann/json.hpp>
#include <string>

namespace golden {

std::string check_layout_line(const nlohmann::json& line);

}  // namespace golden
