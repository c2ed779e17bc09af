// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floating point, with the roundings and bounds of PTX.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run float_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
