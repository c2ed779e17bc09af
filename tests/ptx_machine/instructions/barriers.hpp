// SPDX-License-Identifier: Apache-2.0
#pragma once
// Barriers of a CTA and of a cluster, and those in shared memory.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run barrier_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
