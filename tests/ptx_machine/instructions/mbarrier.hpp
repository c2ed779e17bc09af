// SPDX-License-Identifier: Apache-2.0
#pragma once
// An mbarrier: eight bytes of shared memory that hold its counts and its phase.

#include <cstdint>

#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {

inline constexpr int64_t kMostCount = (1 << 20) - 1;

struct Mbarrier {
  uint32_t pending = 0;  // arrivals missing in this phase
  uint32_t count = 0;    // arrivals per phase
  int32_t bytes = 0;     // transaction bytes missing in this phase
  bool phase = false;
  bool valid = false;  // initialized

  uint64_t packed() const;
  static Mbarrier unpacked(uint64_t word);
};

/// The barrier at a shared address of any CTA of the cluster. Fails if none is initialized there.
uint64_t* mbarrier_at(Warp& warp, uint64_t address);

/// Adds to the transaction count the bytes expected (positive) or arrived (negative), counts
/// arrivals, and ends the phase if both are complete. A misuse fails `warp`.
void mbarrier_update(Warp& warp, uint64_t address, int64_t bytes, uint32_t arrivals);
/// The judge's state of the barrier; nullptr without a judge.
BarrierKnowledge* mbarrier_knowledge(Warp& warp, uint64_t address);

}  // namespace tw::ptx_machine
