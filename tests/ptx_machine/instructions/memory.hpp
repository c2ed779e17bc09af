// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads, stores, atomic operations and addresses of the state spaces.

#include "tests/ptx_machine/machine/image.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run memory_handler(const Instruction& instruction);

/// The address that a lane's operand says.
uint64_t address_of(const Warp& warp, const Operand& operand, uint32_t lane);

/// What an access is, for checks of where it goes. `any` reads what need not have been written.
enum class Access { read, write, both, any };

/// Where the bytes lie. Fails where they are not aligned or not the kernel's. Space::none: a
/// generic address.
uint8_t* locate(Warp& warp, Word space, uint64_t address, uint32_t bytes, Access access,
                uint32_t lane, const Use& use = {});
/// The same for an access by all lanes of the warp together; the address is that lane's.
uint8_t* locate_for_each(Warp& warp, Word space, uint64_t address, uint32_t bytes, Access access,
                         uint32_t lane);

/// Shared memory of the CTA in the cluster that an address names.
Cta& cta_at(Warp& warp, uint64_t address);
/// The same for a range; fails where it is not all of that CTA's. Of what is read all must have
/// been written; what is written counts as such from then on.
uint8_t* shared_range(Warp& warp, Cta& cta, uint64_t offset, uint64_t bytes, Access access);
inline uint64_t shared_offset(uint64_t address) {
  return address & ((uint64_t{1} << kRankShift) - 1);
}

/// Any address as one of shared memory; fails where it is none.
uint64_t as_shared(Warp& warp, uint64_t address);

}  // namespace tw::ptx_machine
