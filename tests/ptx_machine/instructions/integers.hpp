// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of integer and bit arithmetic.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

Run integer_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
