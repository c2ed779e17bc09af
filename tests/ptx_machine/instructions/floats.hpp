// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of floating-point arithmetic, with PTX's rounding and error bounds.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

Run float_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
