// SPDX-License-Identifier: Apache-2.0
#pragma once
// Branches, calls, ends.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run control_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
