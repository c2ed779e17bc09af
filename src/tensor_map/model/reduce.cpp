// SPDX-License-Identifier: Apache-2.0
// Reductions of a tile into global memory.
#include "tensor_map/model/reduce_ops.hpp"
#include "tensor_map/model/stored_rows.hpp"

namespace tw::model {

Outcome reduce_tile(const TensorMapDesc& desc, const int32_t* coord, const uint8_t* shared,
                    uint32_t offset, ReduceOp op) {
  Outcome outcome;
  const ReduceChunk reduce = reduce_chunk(desc.dtype, op);
  if (!reduce) {
    set_fault(&outcome, "illegal instruction: no reduction %d of %s", static_cast<int>(op),
              dtype_name(desc.dtype));
    return outcome;
  }
  if (!may_store(desc, coord, offset, &outcome)) return outcome;
  for_each_stored_chunk(desc, coord, offset, [&](uint64_t address, uint32_t at) {
    reduce(pointer(address), shared + at);
  });
  count_box(desc, offset, &outcome);
  return outcome;
}

}  // namespace tw::model
