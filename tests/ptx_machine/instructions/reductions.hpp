// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of atom and red.

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

/// Whether sums of this type depend on their order.
bool is_floating(Type type);
bool can_reduce(Type type, Word operation);
/// The bits that memory holds after the operation.
uint64_t reduced(Type type, Word operation, uint64_t memory, uint64_t operand);

}  // namespace tw::ptx_machine
