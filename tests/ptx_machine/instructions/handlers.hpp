// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which code executes an instruction.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the machine has none.
Run find_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
