// SPDX-License-Identifier: Apache-2.0
// One-dimensional bulk copies, which need no tensor map.
#include <cstring>

#include "tensor_map/model/reduce_ops.hpp"
#include "tensor_map/model/rows.hpp"

namespace tw::model {
namespace {

Outcome begin_bulk(uint64_t global, uint32_t offset, uint32_t bytes) {
  Outcome outcome;
  if (global % kChunk != 0 || offset % kChunk != 0 || bytes % kChunk != 0)
    set_fault(
        &outcome,
        "misaligned address: a bulk copy of %u bytes between global address 0x%llx and shared "
        "address %u: all three must be multiples of %u",
        bytes, static_cast<unsigned long long>(global), offset, kChunk);
  outcome.transaction_bytes = outcome.fault ? 0 : bytes;
  outcome.shared_end = outcome.fault ? 0 : offset + bytes;
  return outcome;
}

}  // namespace

Outcome load_bulk(uint64_t global, uint8_t* shared, uint32_t offset, uint32_t bytes) {
  const Outcome outcome = begin_bulk(global, offset, bytes);
  if (!outcome.fault && bytes != 0) std::memcpy(shared + offset, pointer(global), bytes);
  return outcome;
}

Outcome store_bulk(uint64_t global, const uint8_t* shared, uint32_t offset, uint32_t bytes) {
  const Outcome outcome = begin_bulk(global, offset, bytes);
  if (!outcome.fault && bytes != 0) std::memcpy(pointer(global), shared + offset, bytes);
  return outcome;
}

Outcome reduce_bulk(uint64_t global, const uint8_t* shared, uint32_t offset, uint32_t bytes,
                    DType dtype, ReduceOp op) {
  Outcome outcome = begin_bulk(global, offset, bytes);
  const ReduceChunk reduce = reduce_chunk(dtype, op);
  if (!outcome.fault && !reduce)
    set_fault(&outcome, "illegal instruction: no reduction %d of %s", static_cast<int>(op),
              dtype_name(dtype));
  for (uint32_t i = 0; i < bytes && !outcome.fault; i += kChunk)
    reduce(pointer(global + i), shared + offset + i);
  return outcome;
}

Outcome prefetch_bulk(uint64_t global, uint32_t bytes) {
  return begin_bulk(global, 0, bytes);
}

}  // namespace tw::model
