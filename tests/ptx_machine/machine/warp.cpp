// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/warp.hpp"

#include <algorithm>
#include <cstdlib>

#include "tests/ptx_machine/machine/advice.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {
namespace {

void free_registers(void* memory) {
  std::free(memory);
}

void put_away(Warp& w, bool tired = false) {
  if (w.group_mask != 0) w.others.push_back({w.pc, w.group_mask, w.blocked, tired, w.wait});
  w.group_mask = 0;
  w.blocked = false;
  w.wait = {};
}

/// Merges groups with the same pc, unless one of them has begun a wait there.
void merge(Warp& w) {
  for (size_t i = 0; i < w.others.size(); ++i)
    for (size_t j = i + 1; j < w.others.size();) {
      Group &a = w.others[i], &b = w.others[j];
      if (a.pc != b.pc || a.wait.kind != Wait::Kind::none || b.wait.kind != Wait::Kind::none) {
        ++j;
        continue;
      }
      a.mask |= b.mask;
      a.blocked = a.tired = false;
      w.others[j] = w.others.back();
      w.others.pop_back();
    }
}

/// The group with the smallest pc among those that can run; others.size() if none can.
size_t first_group(const Warp& w) {
  size_t best = w.others.size();
  for (size_t i = 0; i < w.others.size(); ++i) {
    const Group& group = w.others[i];
    if (!group.blocked && !group.tired && (best == w.others.size() || group.pc < w.others[best].pc))
      best = i;
  }
  return best;
}

/// Makes the group that runs next the current one. Returns false if all wait.
bool choose(Warp& w) {
  put_away(w);
  merge(w);
  size_t best = first_group(w);
  if (best == w.others.size()) {
    for (Group& group : w.others) group.tired = false;
    best = first_group(w);
    if (best == w.others.size()) return false;
  }
  const Group group = w.others[best];
  w.others[best] = w.others.back();
  w.others.pop_back();
  w.pc = group.pc;
  w.group_mask = group.mask;
  w.wait = group.wait;
  w.limit = kAllLanes;
  for (const Group& other : w.others)
    if (other.pc > w.pc && other.pc < w.limit) w.limit = other.pc;
  return true;
}

}  // namespace

void begin_warp(Warp* warp, uint32_t threads) {
  const Image& image = *warp->image;
  warp->memory = {static_cast<uint8_t*>(std::calloc(image.register_bytes / 64 + 2, 64)),
                  free_registers};
  const uintptr_t address = reinterpret_cast<uintptr_t>(warp->memory.get());
  warp->registers = warp->memory.get() + (64 - address % 64) % 64;
  warp->constants = image.module->constants.data();
  warp->accumulators.assign(image.accumulator_count, {});
  warp->predicates.assign(image.predicates + 1, 0);
  warp->alive = threads >= kLanes ? kAllLanes : (1u << threads) - 1;
  warp->call_space.assign(size_t{image.call_bytes} * kLanes, 0);
  warp->local.assign(size_t{image.local_bytes} * kLanes, kPoison);
  warp->others = {{0, warp->alive, false, false, {}}};
}

bool run_warp(Warp& w, uint32_t budget) {
  bool progress = false;
  for (Group& group : w.others) group.blocked = false;
  const Step* steps = w.image->steps.data();
  const uint32_t end = static_cast<uint32_t>(w.image->steps.size());
  while (budget > 0 && choose(w)) {
    while (w.pc < w.limit && budget > 0) {
      if (w.pc >= end) w.fail("the function has no ret");
      const Step& step = steps[w.pc++];
      const Instruction& in = *step.instruction;
      --budget;
      w.mask = w.group_mask;
      if (in.guarded) {
        const uint32_t guard = w.predicates[in.guard];
        w.mask &= in.guard_negated ? ~guard : guard;
      }
      if (w.mask != 0) step.run(w, in);
      if (w.blocked) {
        ++budget;  // blocked groups must not use up the turn of the others
      } else {
        progress = true;
        w.executed += static_cast<uint32_t>(std::popcount(w.mask));
      }
    }
  }
  put_away(w, budget == 0 && !w.blocked);
  return progress;
}

namespace {

/// Describes the warp's current instruction and its kernel.
std::string place(const Warp& w) {
  const uint32_t at = w.pc == 0 ? 0 : w.pc - 1;
  const Instruction& in = w.image->code[at < w.image->code.size() ? at : 0];
  return place_of(*w.image, in.line) + ", kernel " + w.image->entry->name;
}

}  // namespace

void Warp::fail(const std::string& reason) const {
  throw Error(place(*this) + ", CTA (" + std::to_string(cta->id[0]) + ", " +
              std::to_string(cta->id[1]) + ", " + std::to_string(cta->id[2]) + "), warp " +
              std::to_string(number) + ": " + reason);
}

void Warp::letter(const std::string& reason) const {
  if (launch->options.letters) launch->options.letters->insert(place(*this) + ": " + reason);
}

Judge* Warp::judge() const {
  return cta->cluster->judge.get();
}

void Warp::block() {
  --pc;
  blocked = true;
  limit = 0;
}

bool Warp::converged(uint32_t wanted) {
  const uint32_t missing = wanted & alive & ~mask;
  if (missing == 0) return true;
  // Lanes of this group whose guard is false never execute the instruction.
  if ((missing & group_mask) != 0)
    fail("lanes that the instruction waits for skip it (guard is false)");
  block();
  return false;
}

void Warp::jump(uint32_t target, uint32_t lanes) {
  const uint32_t stay = group_mask & ~lanes;
  if (stay == 0) {
    pc = target;
    if (others.empty()) return;
  } else {
    others.push_back({target, lanes, false, false, {}});
    group_mask = stay;
  }
  limit = 0;  // makes run_warp() choose a group again
}

namespace {

// setmaxnreg only redistributes the registers that the CTA was launched with. If its warps asked
// for more in total, the last setmaxnreg.inc would wait forever.
void check_registers(const Warp& warp) {
  const Cta& cta = *warp.cta;
  uint32_t asked = 0;
  for (const Warp& each : cta.warps) asked += each.thread_registers * kLanes;
  const auto warps = static_cast<uint32_t>(cta.warps.size());
  const uint32_t most = launched_registers(warps * kLanes) * warps * kLanes;
  if (asked > most)
    warp.fail("setmaxnreg: the CTA's warps request " + std::to_string(asked) +
              " registers, but the launch has at most " + std::to_string(most));
}

}  // namespace

uint32_t launched_registers(uint32_t threads) {
  constexpr uint32_t kOfSm = 65536, kMost = 255, kStep = 8;
  return std::min(kMost / kStep * kStep, kOfSm / threads / kStep * kStep);
}

void Warp::exit(uint32_t lanes) {
  alive &= ~lanes;
  group_mask &= ~lanes;
  cluster_exit(*cta->cluster, static_cast<uint32_t>(std::popcount(lanes)),
               cluster_generation == cta->cluster->generation);
  if (alive == 0 && --cta->alive_warps == 0) {
    check_registers(*this);
    if (judge()) judge()->cta_exits(*this);
  }
  if (group_mask == 0) limit = 0;
}

}  // namespace tw::ptx_machine
