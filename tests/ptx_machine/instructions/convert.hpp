// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of setp, selp, mov and cvt.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

Run convert_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
