// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/barriers.hpp"

#include "tests/ptx_machine/instructions/mbarrier.hpp"
#include "tests/ptx_machine/instructions/memory.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {
namespace {

/// The value of an operand that must be equal in all lanes.
uint32_t uniform(Warp& w, const Operand& operand) {
  const uint32_t* values = source<uint32_t>(w, operand);
  const uint32_t value = values[first_lane(w.mask)];
  each_lane(w.mask, [&](uint32_t i) {
    if (values[i] != value) w.fail("lanes name different barriers or counts");
  });
  return value;
}

NamedBarrier& named(Warp& w, const Instruction& in, bool has_count) {
  const uint32_t id = uniform(w, in.operand[0]);
  if (id > 15) w.fail("the barrier's number exceeds 15");
  NamedBarrier& barrier = w.cta->barriers[id];
  const uint32_t count = has_count ? uniform(w, in.operand[1]) : w.cta->alive_warps * kLanes;
  if (count == 0 || count % kLanes != 0) w.fail("the barrier's count is not a multiple of 32");
  if (has_count && barrier.arrived > 0 && barrier.expected != count)
    w.fail("warps name different counts for one barrier");
  barrier.expected = count;
  w.wait.barrier = id;
  return barrier;
}

void arrive(Warp& w, NamedBarrier& barrier) {
  BarrierKnowledge* knowledge = w.judge() ? &w.judge()->named(*w.cta, w.wait.barrier) : nullptr;
  if (knowledge) w.judge()->arrive(w, knowledge, Reach::gpu);
  barrier.arrived += kLanes;
  if (barrier.arrived > barrier.expected) w.fail("more threads at the barrier than its count");
  if (barrier.arrived < barrier.expected) return;
  barrier.arrived = 0;
  ++barrier.generation;
  if (knowledge) Judge::end_phase(knowledge);
}

void bar_sync(Warp& w, const Instruction& in) {
  if (w.wait.kind == Wait::Kind::none) {
    if (!w.converged(w.alive)) return;
    NamedBarrier& barrier = named(w, in, in.operands > 1);
    w.wait.kind = Wait::Kind::barrier;
    w.wait.generation = barrier.generation;
    arrive(w, barrier);
  }
  NamedBarrier& barrier = w.cta->barriers[w.wait.barrier];
  // A barrier without a count expects all warps, except those that have exited in the meantime.
  if (barrier.generation == w.wait.generation && in.operands == 1 &&
      barrier.arrived >= w.cta->alive_warps * kLanes) {
    barrier.arrived = 0;
    ++barrier.generation;
    if (w.judge()) Judge::end_phase(&w.judge()->named(*w.cta, w.wait.barrier));
  }
  if (barrier.generation == w.wait.generation) return w.block();
  if (w.judge()) w.judge()->wait(w, w.judge()->named(*w.cta, w.wait.barrier), Reach::gpu);
  w.wait = {};
}

void bar_arrive(Warp& w, const Instruction& in) {
  if (!w.converged(w.alive)) return;
  arrive(w, named(w, in, true));
  w.wait = {};
}

void cluster_barrier_arrive(Warp& w, const Instruction& in) {
  if (!w.converged(w.alive)) return;
  if (w.cluster_arrived) w.fail("arrives at the cluster's barrier twice");
  w.cluster_arrived = true;
  w.cluster_generation = w.cta->cluster->generation;
  if (w.judge())
    w.judge()->arrive(w, &w.judge()->cluster(), Reach::gpu, in.word(Class::order) == Word::relaxed);
  cluster_arrive(*w.cta->cluster, static_cast<uint32_t>(std::popcount(w.mask)));
}

void cluster_barrier_wait(Warp& w, const Instruction&) {
  if (!w.converged(w.alive)) return;
  if (!w.cluster_arrived) w.fail("waits for the cluster's barrier without having arrived");
  if (w.cta->cluster->generation == w.cluster_generation) return w.block();
  w.cluster_arrived = false;
  if (w.judge()) w.judge()->wait(w, w.judge()->cluster(), Reach::gpu);
}

// mbarriers.

uint64_t barrier_address(Warp& w, const Instruction& in, const Operand& operand, uint32_t lane) {
  const uint64_t address = address_of(w, operand, lane);
  if (in.word(Class::space) == Word::shared_cluster) return address;
  const uint64_t rank = address >> kRankShift;
  if (rank != 0 && rank != w.cta->rank) w.fail("shared::cta, and the barrier is another CTA's");
  return shared_base(w) | shared_offset(address);
}

void init(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = barrier_address(w, in, in.operand[0], i);
    const uint32_t count = source<uint32_t>(w, in.operand[1])[i];
    if (count == 0 || count > kMostCount) w.fail("the barrier's count is out of range");
    Mbarrier barrier;
    barrier.pending = barrier.count = count;
    barrier.valid = true;
    uint64_t* at =
        reinterpret_cast<uint64_t*>(locate(w, Word::shared_cluster, address, 8, Access::write, i));
    *at = barrier.packed();
  });
}

void inval(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = barrier_address(w, in, in.operand[0], i);
    uint64_t* at = mbarrier_at(w, address);
    if (w.judge()) w.judge()->access(w, cta_at(w, address), shared_offset(address), 8, false, true);
    *at = 0;
  });
}

/// The scope of an instruction; the default is .cta.
Reach reach_of(const Instruction& in) {
  return in.word(Class::scope) == Word::cluster ? Reach::cluster : Reach::cta;
}

/// A thread arrives. Returns the barrier's previous state.
uint64_t arrive_at(Warp& w, const Instruction& in, uint64_t address, int64_t bytes,
                   uint32_t arrivals) {
  const uint64_t before = *mbarrier_at(w, address);
  if (w.judge()) {
    w.judge()->arrives_at(w, cta_at(w, address));
    w.judge()->arrive(w, mbarrier_knowledge(w, address), reach_of(in));
  }
  mbarrier_update(w, address, bytes, arrivals);
  return before;
}

void mbarrier_arrive(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint32_t arrivals = in.operands > 2 ? source<uint32_t>(w, in.operand[2])[i] : 1;
    const uint64_t before = arrive_at(w, in, barrier_address(w, in, in.operand[1], i), 0, arrivals);
    write_lane(w, in.operand[0], i, before);
  });
}

void arrive_expect(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = barrier_address(w, in, in.operand[1], i);
    const uint64_t before = arrive_at(w, in, address, source<uint32_t>(w, in.operand[2])[i], 1);
    write_lane(w, in.operand[0], i, before);
  });
}

void expect(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = barrier_address(w, in, in.operand[0], i);
    mbarrier_update(w, address, source<uint32_t>(w, in.operand[1])[i], 0);
  });
}

uint32_t ended_phases(Warp& w, const Instruction& in) {
  uint32_t ended = 0;
  each_lane(w.mask, [&](uint32_t i) {
    const uint32_t parity = source<uint32_t>(w, in.operand[2])[i] & 1;
    const uint64_t address = barrier_address(w, in, in.operand[1], i);
    if (Mbarrier::unpacked(*mbarrier_at(w, address)).phase == (parity != 0)) return;
    ended |= 1u << i;
    if (w.judge()) w.judge()->wait(w, *mbarrier_knowledge(w, address), reach_of(in));
  });
  return ended;
}

/// Blocks until the phase of at least one lane has ended.
void try_wait(Warp& w, const Instruction& in) {
  const uint32_t ended = ended_phases(w, in);
  if (ended == 0) return w.block();
  set_predicate(w, in.operand[0], ended);
}

void test_wait(Warp& w, const Instruction& in) {
  set_predicate(w, in.operand[0], ended_phases(w, in));
}

}  // namespace

Run barrier_handler(const Instruction& in) {
  switch (in.op) {
    case Op::bar_sync:
    case Op::barrier_sync:
      return bar_sync;
    case Op::bar_arrive:
    case Op::barrier_arrive:
      return bar_arrive;
    case Op::cluster_arrive:
      return cluster_barrier_arrive;
    case Op::cluster_wait:
      return cluster_barrier_wait;
    case Op::mbarrier_init:
      return init;
    case Op::mbarrier_inval:
      return inval;
    case Op::mbarrier_arrive:
      return mbarrier_arrive;
    case Op::mbarrier_arrive_expect:
      return arrive_expect;
    case Op::mbarrier_expect:
      return expect;
    case Op::mbarrier_try_wait:
      return try_wait;
    case Op::mbarrier_test_wait:
      return test_wait;
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
