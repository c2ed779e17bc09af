// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion between tw_tensor_map_desc and tw::TensorMapDesc, whose enumerations have equal
// numbers.

#include "capi/common/boundary.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw::capi {

/// The public form of a description.
tw_tensor_map_desc to_public(const TensorMapDesc& desc);

/// Reads a caller's description by the rules of struct_size.
Status read_desc(const tw_tensor_map_desc* desc, TensorMapDesc* out);

/// The TW_ARCH_ number whose rules apply to the maps of a device.
int32_t arch_of(const Device& device);

}  // namespace tw::capi
