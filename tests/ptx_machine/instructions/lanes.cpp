// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/lanes.hpp"

#include <array>

#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {
namespace {

/// Reads the member mask of an instruction. Returns false and blocks until all members are there.
bool members(Warp& w, const Operand& operand, uint32_t* mask) {
  const uint32_t* named = source<uint32_t>(w, operand);
  *mask = named[first_lane(w.mask)];
  each_lane(w.mask, [&](uint32_t i) {
    if (named[i] != *mask) w.fail("lanes name different members");
  });
  if ((w.mask & ~*mask) != 0)
    w.fail("a lane that is not in the member mask executes the instruction");
  return w.converged(*mask);
}

/// The lane that lane i reads. If it is outside i's segment, *inside is false and i reads itself.
uint32_t shuffled_lane(Word mode, uint32_t i, uint32_t b, uint32_t c, bool* inside) {
  const uint32_t clamp = c & 31, segment = c >> 8 & 31, by = b & 31;
  const uint32_t last = (i & segment) | (clamp & ~segment), first = i & segment;
  uint32_t from = 0;
  switch (mode) {
    case Word::up:
      from = i - by;
      *inside = static_cast<int32_t>(from) >= static_cast<int32_t>(last);
      break;
    case Word::down:
      from = i + by;
      *inside = from <= last;
      break;
    case Word::bfly:
      from = i ^ by;
      *inside = from <= last;
      break;
    default:
      from = first | (by & ~segment);
      *inside = from <= last;
      break;
  }
  return *inside ? from : i;
}

// Operands: d, predicate, a, b, c, members.
void shfl(Warp& w, const Instruction& in) {
  uint32_t mask = 0;
  if (!members(w, in.operand[5], &mask)) return;
  std::array<uint32_t, kLanes> out{};
  const uint32_t *a = source<uint32_t>(w, in.operand[2]), *b = source<uint32_t>(w, in.operand[3]),
                 *c = source<uint32_t>(w, in.operand[4]);
  uint32_t insides = 0;
  each_lane(w.mask, [&](uint32_t i) {
    bool inside = false;
    const uint32_t from = shuffled_lane(in.word(Class::shuffle), i, b[i], c[i], &inside);
    if (!(w.mask >> from & 1)) w.fail("reads a lane that does not take part");
    out[i] = a[from];
    insides |= static_cast<uint32_t>(inside) << i;
  });
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = out[i]; });
  set_predicate(w, in.operand[1], insides);
}

void ballot(Warp& w, const Instruction& in) {
  uint32_t mask = 0;
  if (!members(w, in.operand[2], &mask)) return;
  const uint32_t votes = predicate(w, in.operand[1]) & w.mask;
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = votes; });
}

void vote(Warp& w, const Instruction& in) {
  uint32_t mask = 0;
  if (!members(w, in.operand[2], &mask)) return;
  const uint32_t votes = predicate(w, in.operand[1]) & w.mask;
  bool out = votes == w.mask;
  if (in.word(Class::vote) == Word::any) out = votes != 0;
  if (in.word(Class::vote) == Word::uni) out = votes == 0 || votes == w.mask;
  set_predicate(w, in.operand[0], out ? kAllLanes : 0);
}

void match_any(Warp& w, const Instruction& in) {
  uint32_t mask = 0;
  if (!members(w, in.operand[2], &mask)) return;
  std::array<uint32_t, kLanes> out{};
  each_lane(w.mask, [&](uint32_t i) {
    each_lane(w.mask, [&](uint32_t k) {
      out[i] |=
          static_cast<uint32_t>(read_lane(w, in.operand[1], i) == read_lane(w, in.operand[1], k))
          << k;
    });
  });
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = out[i]; });
}

template <class T>
T combined(Word operation, T x, T y) {
  switch (operation) {
    case Word::op_add:
      return static_cast<T>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
    case Word::op_min:
      return x < y ? x : y;
    case Word::op_max:
      return x > y ? x : y;
    case Word::op_and:
      return x & y;
    case Word::op_or:
      return x | y;
    default:
      return x ^ y;
  }
}

template <class T>
void redux(Warp& w, const Instruction& in) {
  uint32_t mask = 0;
  if (!members(w, in.operand[2], &mask)) return;
  const T* a = source<T>(w, in.operand[1]);
  T out = a[first_lane(w.mask)];
  each_lane(w.mask & (w.mask - 1),
            [&](uint32_t i) { out = combined(in.word(Class::operation), out, a[i]); });
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = out; });
}

// Operands: d, predicate, members.
void elect(Warp& w, const Instruction& in) {
  uint32_t mask = 0;
  if (!members(w, in.operand[2], &mask)) return;
  const uint32_t leader = first_lane(w.mask);
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = leader; });
  set_predicate(w, in.operand[1], 1u << leader);
}

void activemask(Warp& w, const Instruction& in) {
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = w.mask; });
}

void bar_warp(Warp& w, const Instruction& in) {
  uint32_t mask = 0;
  if (members(w, in.operand[0], &mask) && w.judge()) w.judge()->lanes_met(w);
}

Run redux_handler(const Instruction& in) {
  const Word operation = in.word(Class::operation);
  const bool bits =
      operation == Word::op_and || operation == Word::op_or || operation == Word::op_xor;
  const bool sums =
      operation == Word::op_add || operation == Word::op_min || operation == Word::op_max;
  if (in.types[0] == Type::b32 ? !bits : !sums) return nullptr;
  return in.types[0] == Type::s32 ? redux<int32_t> : redux<uint32_t>;
}

}  // namespace

Run lanes_handler(const Instruction& in) {
  switch (in.op) {
    case Op::shfl:
      return shfl;
    case Op::vote_ballot:
      return ballot;
    case Op::vote:
      return vote;
    case Op::match_any:
      return match_any;
    case Op::redux:
      return redux_handler(in);
    case Op::elect:
      return elect;
    case Op::activemask:
      return activemask;
    case Op::bar_warp:
      return bar_warp;
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
