// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where stores and reductions write: whole 16-byte chunks. A row ends at the first multiple of 16
// bytes past the tensor's last element, whatever lies there.

#include "tensor_map/model/rows.hpp"

namespace tw::model {

/// The rules of may_run(), and no coordinate may be negative. False after a fault.
bool may_store(const TensorMapDesc& desc, const int32_t* coord, uint32_t offset, Outcome* outcome);

/// Calls visit(global address, offset in shared memory) for each chunk that is written.
template <class Visit>
void for_each_stored_chunk(const TensorMapDesc& desc, const int32_t* coord, uint32_t offset,
                           Visit visit) {
  const RowShape shape(desc, coord[0]);
  const int64_t left = shape.extent - shape.first;
  const uint32_t bytes =
      left <= 0 ? 0 : (left < shape.bytes ? static_cast<uint32_t>(left) : shape.bytes);
  uint32_t row = offset;
  for_each_row(desc, coord, [&](uint64_t address, bool inside) {
    if (inside)
      for (uint32_t i = 0; i < bytes; i += kChunk)
        visit(address + static_cast<uint64_t>(shape.first) + i, swizzled(row + i, shape.mask));
    row += shape.pitch;
  });
}

}  // namespace tw::model
