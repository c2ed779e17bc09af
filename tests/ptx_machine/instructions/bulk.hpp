// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of asynchronous copies: cp.async, bulk copies, tensor copies, st.async.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

Run bulk_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
