// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices in registers and in shared memory, and their products.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run matrix_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
