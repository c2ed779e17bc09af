// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of matrix instructions: ldmatrix, stmatrix, movmatrix, mma.sync, wgmma.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

Run matrix_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
