// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proposes an acceptable description in place of one that breaks rules.

#include <cstdint>

#include "tensor_map/rules/rules.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Finds an acceptable description that differs from `desc` only in fields that the broken rules
/// name. If possible, its box has at least half the bytes of the requested one. Returns false and
/// sets *out to `desc` if none is found.
bool propose(const TensorMapDesc& desc, int32_t arch, const Violations& violations,
             TensorMapDesc* out);

/// Bytes of desc's box, ignoring element strides. A double, because in a broken description they
/// may exceed 64 bits. (box_bytes() of geometry.hpp is for valid descriptions.)
double unchecked_box_bytes(const TensorMapDesc& desc);

}  // namespace tw
