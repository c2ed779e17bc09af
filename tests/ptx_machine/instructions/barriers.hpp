// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of barriers: of a CTA, of a cluster, and mbarriers.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

Run barrier_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
