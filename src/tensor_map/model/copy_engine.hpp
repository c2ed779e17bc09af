// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model of the TMA copy engine of compute capability 9.0, byte for byte.
//
// Pure functions on a description: global memory is addressed by host pointers (global_address and
// the `global` arguments), shared memory is a buffer whose first byte counts as shared address 0,
// so that it stands for a 1024-byte aligned one: the swizzle reads address bits 7 to 9. Nothing is
// moved where an Outcome is a fault. Descriptions are such as check() accepts for 9.0, and without
// interleave: what the engine does with interleaved tensors was never measured, and an Outcome says
// so.
//
// Seen on hardware, and in no manual:
// - rows of a box narrower than the swizzle span lie a whole span apart in shared memory;
// - stores and reductions write each row up to the next 16 bytes past the tensor's last element;
// - loads with negative coordinates fill, stores and reductions with them fault;
// - TF32 loads round to nearest even, and NaN fill is the 16-bit pattern 0x7ff7 for every type.

#include <cstdint>

#include "tensor_map/tensor_map.hpp"

namespace tw::model {

struct Outcome {
  bool fault = false;              ///< an illegal instruction on a GPU; `reason` says why
  uint32_t transaction_bytes = 0;  ///< what a load counts on its mbarrier
  uint32_t shared_end = 0;         ///< one past the last byte of shared memory that the box spans
  char reason[200];

  Outcome() { reason[0] = '\0'; }  // the text is set where there is a fault alone
};

/// Numbers of the PTX operations, as the golden data has them.
enum class ReduceOp : int32_t {
  add = 0,
  min = 1,
  max = 2,
  inc = 3,
  dec = 4,
  and_ = 5,
  or_ = 6,
  xor_ = 7
};

/// One box through a tiled map; `coord` has `rank` entries, innermost first. `offset` is the box's
/// place in shared memory, a multiple of 128 for the hardware.
Outcome load_tile(const TensorMapDesc& desc, const int32_t* coord, uint8_t* shared,
                  uint32_t offset);
Outcome store_tile(const TensorMapDesc& desc, const int32_t* coord, const uint8_t* shared,
                   uint32_t offset);
Outcome reduce_tile(const TensorMapDesc& desc, const int32_t* coord, const uint8_t* shared,
                    uint32_t offset, ReduceOp op);
/// What a prefetch of the box does: it may fault, and moves nothing that can be seen.
Outcome prefetch_tile(const TensorMapDesc& desc, const int32_t* coord);

/// The same load into the shared memory of each block of a cluster whose bit is set in `mask`, at
/// the same offset of each; `shared` has 16 entries. Each block's mbarrier counts the transaction.
Outcome load_tile_multicast(const TensorMapDesc& desc, const int32_t* coord, uint8_t* const* shared,
                            uint16_t mask, uint32_t offset);

/// Four rows by number through a tiled map of rank 2, as four boxes of one row behind one another.
Outcome load_gather4(const TensorMapDesc& desc, int32_t column, const int32_t* rows,
                     uint8_t* shared, uint32_t offset);
Outcome store_scatter4(const TensorMapDesc& desc, int32_t column, const int32_t* rows,
                       const uint8_t* shared, uint32_t offset);

/// One column through an im2col map; `offsets` has rank - 2 entries, W first.
Outcome load_im2col(const TensorMapDesc& desc, const int32_t* coord, const uint16_t* offsets,
                    uint8_t* shared, uint32_t offset);

/// One-dimensional copies; addresses and sizes are multiples of 16, else they fault.
Outcome load_bulk(uint64_t global, uint8_t* shared, uint32_t offset, uint32_t bytes);
Outcome store_bulk(uint64_t global, const uint8_t* shared, uint32_t offset, uint32_t bytes);

Outcome reduce_bulk(uint64_t global, const uint8_t* shared, uint32_t offset, uint32_t bytes,
                    DType dtype, ReduceOp op);
Outcome prefetch_bulk(uint64_t global, uint32_t bytes);

/// Bytes of shared memory that an operation of the map spans.
uint64_t shared_span(const TensorMapDesc& desc);

}  // namespace tw::model
