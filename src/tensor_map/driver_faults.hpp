// SPDX-License-Identifier: Apache-2.0
#pragma once
// Known faults of drivers' tensor-map encoders. driver_faults.inc lists them.

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Corrects a descriptor that a faulty driver encoded. Returns the id of the corrected fault (a
/// literal), or nullptr if there was none.
const char* correct_driver_faults(const TensorMapDesc& desc, int32_t arch, int32_t driver_version,
                                  TensorMapBytes* bytes);

/// Bytes from the start of the tensor to its end; UINT64_MAX if that overflows.
uint64_t tensor_span_bytes(const TensorMapDesc& desc);

/// Sets or clears kLargeTensorBit after a change of extents or strides.
void rebind_span(const TensorMapDesc& desc, int32_t arch, TensorMapBytes* bytes);

}  // namespace tw
