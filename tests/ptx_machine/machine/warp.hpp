// SPDX-License-Identifier: Apache-2.0
#pragma once
// A warp: registers of 32 lanes, and groups of lanes that have diverged.
//
// A group is a set of lanes with the same pc. The group with the smallest pc runs first, so that
// lanes reconverge where their paths join; when it blocks, another group runs. Warp-level
// instructions block until all lanes that they name have reached them.

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kAllLanes = ~0u;

struct Cta;
struct Launch;
class Judge;

/// A wait that a group has begun. When its instruction runs again, it does not arrive again.
struct Wait {
  enum class Kind : uint8_t { none, barrier, cluster } kind = Kind::none;
  uint32_t barrier = 0;
  uint64_t generation = 0;
};

struct Group {
  uint32_t pc = 0;
  uint32_t mask = 0;
  bool blocked = false;  // in this turn
  bool tired = false;    // has used up a whole turn; other groups go first
  Wait wait;
};

/// Asynchronous work: its number from Launch::begin_work(), and its time for the judge.
struct Work {
  uint64_t number = 0;
  uint32_t judged = 0;
};

/// Asynchronous work that has not been waited for, in groups as the commit instructions make them.
struct BulkGroups {
  std::vector<Work> open;                    // not committed yet
  std::vector<std::vector<Work>> committed;  // oldest first
};

/// The strongest access by threads to an accumulator since the last wgmma.fence. Moves and reads
/// are apart because nvcc itself moves zeros below the fence.
enum class Touch : uint8_t { none, move, write };

/// A register that wgmma adds into (accumulators.hpp).
struct Accumulator {
  uint64_t product = 0;     // number of the last wgmma
  uint32_t line = 0;        // its PTX line
  uint32_t touch_line = 0;  // PTX line of `touch`
  Touch touch = Touch::write;
};

/// The most registers per thread with which a CTA of `threads` threads can be launched.
uint32_t launched_registers(uint32_t threads);

struct Warp {
  Launch* launch = nullptr;
  Cta* cta = nullptr;
  const Image* image = nullptr;
  uint32_t number = 0;  // in the CTA

  uint8_t* registers = nullptr;
  const uint8_t* constants = nullptr;
  std::vector<uint32_t> predicates;

  // State of the group that runs.
  uint32_t pc = 0;  // of the next instruction
  uint32_t group_mask = 0;
  uint32_t mask = 0;   // active lanes of the instruction: those of the group whose guard holds
  uint32_t limit = 0;  // the group yields when pc reaches it
  Wait wait;
  bool blocked = false;

  bool cluster_arrived = false;                // at the cluster's barrier, and has not waited yet
  uint64_t cluster_generation = ~uint64_t{0};  // of that barrier, at the last arrival
  uint32_t thread_registers = 0;               // registers per thread, as setmaxnreg has set them

  std::vector<Group> others;
  uint32_t alive = 0;
  uint64_t executed = 0;  // thread instructions

  std::vector<uint8_t> call_space, local;  // one lane after another
  std::array<BulkGroups, kLanes> bulk;     // bulk stores and reductions, per lane
  std::array<BulkGroups, kLanes> copies;   // cp.async, per lane
  BulkGroups products;                     // wgmma
  std::vector<Accumulator> accumulators;
  uint64_t products_ended = 0;

  std::unique_ptr<uint8_t, void (*)(void*)> memory{nullptr, nullptr};

  // Called by handlers.
  /// nullptr unless Options::judge is set.
  Judge* judge() const;
  [[noreturn]] void fail(const std::string& reason) const;
  /// Makes a report of severity `letter`.
  void letter(const std::string& reason) const;
  /// The instruction runs again in the warp's next turn.
  void block();
  /// Whether all lanes of `wanted` that have not exited are here; blocks if not.
  bool converged(uint32_t wanted);
  void jump(uint32_t target, uint32_t lanes);
  void exit(uint32_t lanes);
};

/// Allocates the warp's registers. Its first `threads` lanes exist; more than 32 count as 32.
void begin_warp(Warp* warp, uint32_t threads);
/// Runs `budget` instructions, or until all groups wait or have exited. False: did nothing.
bool run_warp(Warp& warp, uint32_t budget);

// Access to lanes, operands and predicates.

template <class Visit>
inline void each_lane(uint32_t mask, Visit visit) {
  if (mask == kAllLanes) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) visit(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
  }
}

template <class T>
inline const T* source(const Warp& warp, const Operand& operand) {
  const uint8_t* base = operand.kind == Operand::Kind::constant ? warp.constants : warp.registers;
  return reinterpret_cast<const T*>(base + operand.slot);
}
template <class T>
inline T* target(Warp& warp, const Operand& operand) {
  const uint32_t slot = operand.kind == Operand::Kind::reg ? operand.slot : warp.image->scratch;
  return reinterpret_cast<T*>(warp.registers + slot);
}
inline uint32_t predicate(const Warp& warp, const Operand& operand) {
  if (operand.kind == Operand::Kind::constant) return operand.value != 0 ? kAllLanes : 0;
  const uint32_t mask = warp.predicates[operand.slot];
  return operand.negated ? ~mask : mask;
}
inline void set_predicate(Warp& warp, const Operand& operand, uint32_t value) {
  if (operand.kind != Operand::Kind::predicate) return;
  uint32_t& mask = warp.predicates[operand.slot];
  mask = (mask & ~warp.mask) | (value & warp.mask);
}
/// Operand `index` of a list.
inline const Operand& item(const Warp& warp, const Operand& list, uint32_t index) {
  return warp.image->lists[list.slot + index];
}
/// One lane of a register or constant of any width, zero-extended.
inline uint64_t read_lane(const Warp& warp, const Operand& operand, uint32_t lane) {
  switch (operand.bytes) {
    case 2:
      return source<uint16_t>(warp, operand)[lane];
    case 4:
      return source<uint32_t>(warp, operand)[lane];
    default:
      return source<uint64_t>(warp, operand)[lane];
  }
}
inline void write_lane(Warp& warp, const Operand& operand, uint32_t lane, uint64_t value) {
  switch (operand.bytes) {
    case 2:
      target<uint16_t>(warp, operand)[lane] = static_cast<uint16_t>(value);
      break;
    case 4:
      target<uint32_t>(warp, operand)[lane] = static_cast<uint32_t>(value);
      break;
    case 8:
      target<uint64_t>(warp, operand)[lane] = value;
      break;
    default:
      break;  // _
  }
}
inline uint32_t first_lane(uint32_t mask) {
  return static_cast<uint32_t>(std::countr_zero(mask));
}

}  // namespace tw::ptx_machine
