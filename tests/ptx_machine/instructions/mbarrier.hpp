// SPDX-License-Identifier: Apache-2.0
#pragma once
// A barrier in shared memory: eight bytes with its counts and its phase.

#include <cstdint>

#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {

inline constexpr int64_t kMostCount = (1 << 20) - 1;

struct Mbarrier {
  uint32_t pending = 0;  // arrivals that are still to come
  uint32_t count = 0;    // of a phase
  int32_t bytes = 0;     // that are still to come
  bool phase = false;
  bool valid = false;  // initialised

  uint64_t packed() const;
  static Mbarrier unpacked(uint64_t word);
};

/// The barrier at an address of shared memory, of any CTA of the cluster. Fails where none has been
/// made there.
uint64_t* mbarrier_at(Warp& warp, uint64_t address);

/// Bytes that are expected (positive) or that have come (negative), and arrivals; ends the phase.
/// `warp` is who is told of a misuse.
void mbarrier_update(Warp& warp, uint64_t address, int64_t bytes, uint32_t arrivals);
/// What the judge knows of the barrier; nullptr where nobody judges.
BarrierKnowledge* mbarrier_knowledge(Warp& warp, uint64_t address);

}  // namespace tw::ptx_machine
