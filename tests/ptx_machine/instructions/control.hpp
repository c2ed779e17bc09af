// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of control flow: branches, calls, exit.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

Run control_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
