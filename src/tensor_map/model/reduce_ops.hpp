// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of reductions, on 16 bytes at a time.

#include "tensor_map/model/copy_engine.hpp"

namespace tw::model {

/// global[i] = op(global[i], operand[i]) for the elements of 16 bytes.
using ReduceChunk = void (*)(uint8_t* global, const uint8_t* operand);

/// nullptr where the hardware has no such operation on the type.
ReduceChunk reduce_chunk(DType dtype, ReduceOp op);

}  // namespace tw::model
