// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensor-map and copy-engine kinds of golden lines. Each check returns "" or what differs.

#include <nlohmann/json.hpp>
#include <string>

#include "tensor_map/tensor_map.hpp"

namespace golden {

/// The description that a line's arguments make; the address is left 0. `call` is tiled, im2col or
/// im2col_wide.
tw::TensorMapDesc read_map(const nlohmann::json& line, const std::string& call);

/// The type of a CUtensorMapDataType number; for a number that names none, a DType that is none.
tw::DType dtype_of_map_type(int32_t type);

std::string check_tensor_map_line(const nlohmann::json& line);
std::string check_tma_line(const nlohmann::json& line);

}  // namespace golden
