// SPDX-License-Identifier: Apache-2.0
#pragma once
// Known faults of drivers' encoders, by version. The list is driver_faults.inc.

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Puts right what a faulty driver wrote. Returns the id of the fault that was mended, a literal;
/// nullptr where there was none.
const char* mend_driver_faults(const TensorMapDesc& desc, int32_t arch, int32_t driver_version,
                               TensorMapBytes* bytes);

/// Bytes from the tensor's first to its last, both included.
uint64_t tensor_span_bytes(const TensorMapDesc& desc);

/// After a change of extents or strides: the bit by which chips of 10.0 and later tell tensors of
/// 128 KiB and more, see driver_faults.inc.
void rebind_span(const TensorMapDesc& desc, int32_t arch, TensorMapBytes* bytes);

}  // namespace tw
