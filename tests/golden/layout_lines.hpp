// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout kind of golden lines: the operation is done through the C API and its answer compared
// by what "equal" means for it. Returns "" or what differs.

#include <nlohmann/json.hpp>
#include <string>

namespace golden {

std::string check_layout_line(const nlohmann::json& line);

}  // namespace golden
