// SPDX-License-Identifier: Apache-2.0
#pragma once
// What would be accepted in place of a description that breaks rules.

#include <cstdint>

#include "tensor_map/rules/rules.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Finds an accepted description that differs from `desc` only in fields that the broken rules
/// name. Its box covers at least half the bytes asked for, where one that shared memory holds does.
/// False where no such description exists; *out is `desc` then.
bool propose(const TensorMapDesc& desc, int32_t arch, const Violations& violations,
             TensorMapDesc* out);

/// Bytes of the box that the description asks for, whatever its element strides; a number, since
/// a broken description may ask for more than 64 bits hold.
double asked_bytes(const TensorMapDesc& desc);

}  // namespace tw
