// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of reductions, 16 bytes at a time.

#include "tensor_map/model/tma_model.hpp"

namespace tw::model {

/// global[i] = op(global[i], operand[i]) for all elements in 16 bytes.
using ReduceChunk = void (*)(uint8_t* global, const uint8_t* operand);

/// Returns nullptr if the hardware lacks the operation on the type.
ReduceChunk reduce_chunk(DType dtype, ReduceOp op);

}  // namespace tw::model
