// SPDX-License-Identifier: Apache-2.0
#pragma once
// Explains a tensor map in words. May throw std::bad_alloc.

#include <string>

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Bytes that a store writes past the end of a tensor's row: the TMA writes rows up to the next
/// multiple of 16 bytes.
uint32_t store_overhang(const TensorMapDesc& desc);

/// Text with dimensions, box, transaction bytes, shared memory, and what a store writes outside the
/// tensor. For compute capabilities other than 9.0 it says that this was not measured.
std::string explain(const TensorMapDesc& desc, int32_t arch = 90);

}  // namespace tw
