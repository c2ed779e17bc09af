// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/geometry.hpp"

namespace tw {

uint64_t box_bytes(const TensorMapDesc& desc) {
  return row_bytes(desc) * box_rows(desc);
}

uint64_t box_span_bytes(const TensorMapDesc& desc) {
  return row_pitch(desc) * box_rows(desc);
}

}  // namespace tw
