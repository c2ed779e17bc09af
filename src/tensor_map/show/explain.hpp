// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor map in words, for tw_tensor_map_explain and for error reports. May throw std::bad_alloc.

#include <string>

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Bytes that a store through the map writes behind each row that ends with the tensor: rows are
/// written up to the next multiple of 16.
uint32_t store_overhang(const TensorMapDesc& desc);

/// Dimensions, box, transaction, shared memory, and what a store would touch outside the tensor.
/// For chips other than 9.0 it says that what is known of them was not measured.
std::string explain(const TensorMapDesc& desc, int32_t arch = 90);

}  // namespace tw
