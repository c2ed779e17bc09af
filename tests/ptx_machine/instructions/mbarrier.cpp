// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/mbarrier.hpp"

#include "tests/ptx_machine/instructions/memory.hpp"

namespace tw::ptx_machine {

// Bits: pending 0-19, count 20-39, bytes 40-61, phase 62, valid 63. kPoison leaves bit 63 clear.
uint64_t Mbarrier::packed() const {
  return uint64_t{pending} | uint64_t{count} << 20 |
         (static_cast<uint64_t>(static_cast<uint32_t>(bytes)) & 0x3fffff) << 40 |
         uint64_t{phase} << 62 | uint64_t{valid} << 63;
}

Mbarrier Mbarrier::unpacked(uint64_t word) {
  Mbarrier out;
  out.pending = static_cast<uint32_t>(word & 0xfffff);
  out.count = static_cast<uint32_t>(word >> 20 & 0xfffff);
  out.bytes = static_cast<int32_t>(static_cast<uint32_t>(word >> 40 & 0x3fffff) << 10) >> 10;
  out.phase = word >> 62 & 1;
  out.valid = word >> 63;
  return out;
}

uint64_t* mbarrier_at(Warp& w, uint64_t address) {
  if (address % 8 != 0) w.fail("the barrier's address is no multiple of 8");
  Cta& cta = cta_at(w, address);
  const uint64_t offset = shared_offset(address);
  uint64_t* at = reinterpret_cast<uint64_t*>(shared_range(w, cta, offset, 8, Access::any));
  if (!Mbarrier::unpacked(*at).valid) w.fail("no barrier has been initialised there");
  if (w.judge()) w.judge()->barrier_used(w, cta, offset);
  return at;
}

BarrierKnowledge* mbarrier_knowledge(Warp& w, uint64_t address) {
  return w.judge() ? &w.judge()->mbarrier(cta_at(w, address), shared_offset(address)) : nullptr;
}

void mbarrier_update(Warp& w, uint64_t address, int64_t bytes, uint32_t arrivals) {
  uint64_t* at = mbarrier_at(w, address);
  Mbarrier barrier = Mbarrier::unpacked(*at);
  const int64_t total = barrier.bytes + bytes;
  if (total > kMostCount || total < -kMostCount)
    w.fail("the barrier's transaction count is out of range");
  barrier.bytes = static_cast<int32_t>(total);
  if (arrivals > barrier.pending)
    w.fail("more arrivals at the barrier than its count, " + std::to_string(barrier.count) + "; " +
           std::to_string(barrier.bytes) + " bytes are still to come");
  barrier.pending -= arrivals;
  if (barrier.pending == 0 && barrier.bytes == 0) {
    barrier.phase = !barrier.phase;
    barrier.pending = barrier.count;
    if (w.judge()) Judge::end_phase(mbarrier_knowledge(w, address));
  }
  *at = barrier.packed();
}

}  // namespace tw::ptx_machine
