// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asynchronous copies: by threads, in bulk, and through tensor maps.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run bulk_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
