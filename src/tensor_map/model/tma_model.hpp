// SPDX-License-Identifier: Apache-2.0
#pragma once
// The TMA model: it emulates the TMA of compute capability 9.0 on the host, byte for byte.
//
// Global addresses (global_address and the `global` arguments) are host pointers. Shared memory is
// a buffer whose first byte counts as address 0; the swizzle depends on address bits 7 to 9. A
// function that faults moves nothing. Descriptions must pass check() for 9.0. Interleaved maps and
// swizzles with wider atoms, which were not measured, fault.
//
// Measured on hardware, but not documented by NVIDIA:
// - rows narrower than the swizzle are one swizzle width apart in shared memory;
// - stores and reductions write each row up to the next multiple of 16 bytes past its last element;
// - loads with negative coordinates fill; stores and reductions with them fault;
// - TF32 loads round to nearest even; NaN fill is the 16-bit pattern 0x7ff7 for every type.

#include <cstdint>

#include "tensor_map/tensor_map.hpp"

namespace tw::model {

struct Outcome {
  bool fault = false;              ///< a GPU would raise an illegal instruction; see `reason`
  uint32_t transaction_bytes = 0;  ///< bytes that a load counts on its mbarrier
  uint32_t shared_end = 0;         ///< end of the box in shared memory
  char reason[200];

  Outcome() { reason[0] = '\0'; }  // the rest of the text stays uninitialized without a fault
};

/// The PTX reduction operations. The golden data uses these numbers.
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

/// Moves one box through a tiled map. `coord` has `rank` entries, innermost first. `offset` is the
/// box's address in shared memory and must be a multiple of 128.
Outcome load_tile(const TensorMapDesc& desc, const int32_t* coord, uint8_t* shared,
                  uint32_t offset);
Outcome store_tile(const TensorMapDesc& desc, const int32_t* coord, const uint8_t* shared,
                   uint32_t offset);
Outcome reduce_tile(const TensorMapDesc& desc, const int32_t* coord, const uint8_t* shared,
                    uint32_t offset, ReduceOp op);
/// Only checks for faults: a prefetch has no visible effect.
Outcome prefetch_tile(const TensorMapDesc& desc, const int32_t* coord);

/// Loads a box to the same offset in each block whose bit is set in `mask`. `shared` has 16
/// entries. Each block's mbarrier counts the transaction bytes.
Outcome load_tile_multicast(const TensorMapDesc& desc, const int32_t* coord, uint8_t* const* shared,
                            uint16_t mask, uint32_t offset);

/// Moves four rows by number through a tiled map of rank 2, as four consecutive boxes of one row.
Outcome load_gather4(const TensorMapDesc& desc, int32_t column, const int32_t* rows,
                     uint8_t* shared, uint32_t offset);
Outcome store_scatter4(const TensorMapDesc& desc, int32_t column, const int32_t* rows,
                       const uint8_t* shared, uint32_t offset);

/// Loads one column through an im2col map. `offsets` is the position in the filter (im2colOffsets
/// in PTX): rank - 2 entries, W first. `offset` is an address in shared memory, as for load_tile().
Outcome load_im2col(const TensorMapDesc& desc, const int32_t* coord, const uint16_t* offsets,
                    uint8_t* shared, uint32_t offset);

/// Bulk copies without a map. Addresses and sizes must be multiples of 16, or they fault.
Outcome load_bulk(uint64_t global, uint8_t* shared, uint32_t offset, uint32_t bytes);
Outcome store_bulk(uint64_t global, const uint8_t* shared, uint32_t offset, uint32_t bytes);

Outcome reduce_bulk(uint64_t global, const uint8_t* shared, uint32_t offset, uint32_t bytes,
                    DType dtype, ReduceOp op);
Outcome prefetch_bulk(uint64_t global, uint32_t bytes);

/// Bytes of shared memory that one box of the map spans.
uint64_t shared_span(const TensorMapDesc& desc);

}  // namespace tw::model
