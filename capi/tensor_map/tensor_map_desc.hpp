// SPDX-License-Identifier: Apache-2.0
#pragma once
// tw_tensor_map_desc to tw::TensorMapDesc and back. The enumerations share their numbers.

#include "capi/common/boundary.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw::capi {

/// The public form, struct_size set.
tw_tensor_map_desc to_public(const TensorMapDesc& desc);

/// Reads a caller's description by the rules of struct_size.
Status read_desc(const tw_tensor_map_desc* desc, TensorMapDesc* out);

/// Whose rules hold for a device's maps.
int32_t arch_of(const Device& device);

}  // namespace tw::capi
