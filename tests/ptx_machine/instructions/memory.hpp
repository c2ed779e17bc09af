// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of loads, stores, atomic operations and fences, and address checks for all handlers.

#include "tests/ptx_machine/machine/image.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {

Run memory_handler(const Instruction& instruction);

/// A lane's value of an address operand.
uint64_t address_of(const Warp& warp, const Operand& operand, uint32_t lane);

/// Kind of access. `any` is a read of bytes that need not have been written.
enum class Access { read, write, both, any };

/// Checks an access of a lane, tells the judge, and returns the bytes' host address. Fails if they
/// are misaligned or out of bounds. Word::none: a generic address.
uint8_t* locate(Warp& warp, Word space, uint64_t address, uint32_t bytes, Access access,
                uint32_t lane, const Use& use = {});
/// The same for an access that all lanes of the warp make together, at the address of `lane`.
uint8_t* locate_for_each(Warp& warp, Word space, uint64_t address, uint32_t bytes, Access access,
                         uint32_t lane);

/// The CTA of the cluster that a shared address refers to. Fails if it has exited.
Cta& cta_at(Warp& warp, uint64_t address);
/// Host address of a range of a CTA's shared memory. Fails if it is out of bounds, or read with
/// strict_reads before it is written. A write marks it as written. Does not tell the judge.
uint8_t* shared_range(Warp& warp, Cta& cta, uint64_t offset, uint64_t bytes, Access access);
inline uint64_t shared_offset(uint64_t address) {
  return address & ((uint64_t{1} << kRankShift) - 1);
}

/// Converts a shared or generic address to a shared one; fails if it is in another space.
uint64_t as_shared(Warp& warp, uint64_t address);

}  // namespace tw::ptx_machine
