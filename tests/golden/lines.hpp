// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks golden lines of the tensor_map and tma kinds. Each check returns "" or what differs.

#include <nlohmann/json.hpp>
#include <string>

#include "tensor_map/tensor_map.hpp"

namespace golden {

/// The description that a line's arguments define, with address 0. `call` is tiled, im2col or
/// im2col_wide.
tw::TensorMapDesc read_map(const nlohmann::json& line, const std::string& call);

/// The type of a CUtensorMapDataType number; an invalid number gives an invalid DType.
tw::DType dtype_of_map_type(int32_t type);

std::string check_tensor_map_line(const nlohmann::json& line);
std::string check_tma_line(const nlohmann::json& line);

}  // namespace golden
