// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/memory.hpp"

#include <cstdio>
#include <cstring>

#include "tests/ptx_machine/instructions/reductions.hpp"

namespace tw::ptx_machine {
namespace {

std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// Returns the space of a generic address and converts the address to that space.
Word space_of(uint64_t* address) {
  for (const auto& [window, space] :
       {std::pair(kParamWindow, Word::param), std::pair(kLocalWindow, Word::local),
        std::pair(kSharedWindow, Word::shared_cluster)})
    if (*address >= window) {
      *address -= window;
      return space;
    }
  return Word::global;
}

uint8_t* locate_param(Warp& w, uint64_t address, uint32_t bytes, Access access, uint32_t lane) {
  if (address >= kCallSpace) {
    const uint64_t offset = address - kCallSpace, size = w.image->call_bytes;
    if (offset > size || bytes > size - offset) w.fail("outside the parameters of a call");
    return &w.call_space[lane * size + offset];
  }
  const uint64_t size = w.image->entry->param_bytes;
  if (access != Access::read) w.fail("writes a parameter");
  if (address > size || bytes > size - address)
    w.fail("outside the parameters: offset " + std::to_string(address));
  return const_cast<uint8_t*>(w.launch->param(address));
}

/// Host address of shared memory that the warp's threads access; tells the judge.
uint8_t* judged_range(Warp& w, Cta& cta, uint64_t offset, uint32_t bytes, Access access,
                      const Use& use) {
  uint8_t* at = shared_range(w, cta, offset, bytes, access);
  if (w.judge())
    w.judge()->access(w, cta, offset, bytes, access != Access::write,
                      access == Access::write || access == Access::both, use);
  return at;
}

uint8_t* judged_global(Warp& w, uint64_t address, uint32_t bytes, Access access, const Use& use) {
  if (!w.launch->memory.contains(address, bytes))
    w.fail("outside global memory: " + std::to_string(bytes) + " bytes at " + hex(address));
  if (w.judge())
    w.judge()->global_access(w, address, bytes, access != Access::write,
                             access == Access::write || access == Access::both, use);
  return reinterpret_cast<uint8_t*>(address);
}

}  // namespace

uint64_t address_of(const Warp& w, const Operand& operand, uint32_t lane) {
  const uint64_t offset = static_cast<uint64_t>(operand.value);
  if (operand.slot == kNoSlot) return offset;
  if (operand.bytes == 4)
    return static_cast<uint32_t>(
        reinterpret_cast<const uint32_t*>(w.registers + operand.slot)[lane] + offset);
  return reinterpret_cast<const uint64_t*>(w.registers + operand.slot)[lane] + offset;
}

Cta& cta_at(Warp& w, uint64_t address) {
  const uint64_t rank = address >> kRankShift;
  if (rank >= w.cta->cluster->ctas.size()) w.fail("outside shared memory: " + hex(address));
  Cta& cta = *w.cta->cluster->ctas[rank];
  if (cta.alive_warps == 0 && &cta != w.cta)
    w.fail("reaches the shared memory of a CTA that has exited");
  return cta;
}

uint8_t* shared_range(Warp& w, Cta& cta, uint64_t offset, uint64_t bytes, Access access) {
  if (offset < kSharedBegin || offset > cta.shared_bytes || bytes > cta.shared_bytes - offset)
    w.fail("outside shared memory: " + std::to_string(bytes) + " bytes at " + hex(offset) +
           ", of " + hex(cta.shared_bytes));
  uint8_t* written = cta.written.data() + offset;
  const bool reads = access == Access::read || access == Access::both;
  if (reads && w.launch->options.strict_reads && std::memchr(written, 0, bytes) != nullptr)
    w.fail("reads shared memory that nothing has written: " + std::to_string(bytes) + " bytes at " +
           hex(offset));
  if (access == Access::write || access == Access::both) std::memset(written, 1, bytes);
  return cta.shared + offset;
}

uint64_t as_shared(Warp& w, uint64_t address) {
  if (address < (uint64_t{1} << 32)) return address;
  if (space_of(&address) != Word::shared_cluster) w.fail("no address of shared memory");
  return address;
}

uint8_t* locate(Warp& w, Word space, uint64_t address, uint32_t bytes, Access access, uint32_t lane,
                const Use& use) {
  Use own = use;
  if (own.lane == kNoLane) own.lane = static_cast<uint8_t>(lane);
  if (address % bytes != 0)
    w.fail("not aligned: " + std::to_string(bytes) + " bytes at " + hex(address));
  if (space == Word::none) space = space_of(&address);
  switch (space) {
    case Word::global:
      return judged_global(w, address, bytes, access, own);
    case Word::shared:
    case Word::shared_cta:
      // An address of a symbol alone has rank 0.
      if (address >> kRankShift != 0 && address >> kRankShift != w.cta->rank)
        w.fail("shared::cta, and the address is another CTA's: " + hex(address));
      return judged_range(w, *w.cta, shared_offset(address), bytes, access, own);
    case Word::shared_cluster:
      return judged_range(w, cta_at(w, address), shared_offset(address), bytes, access, own);
    case Word::local: {
      const uint64_t size = w.image->local_bytes;
      if (address > size || bytes > size - address) w.fail("outside local memory");
      return &w.local[lane * size + address];
    }
    case Word::param:
      return locate_param(w, address, bytes, access, lane);
    default:
      w.fail("a state space that the machine does not have");
  }
}

uint8_t* locate_for_each(Warp& w, Word space, uint64_t address, uint32_t bytes, Access access,
                         uint32_t lane) {
  return locate(w, space, address, bytes, access, lane, {.lane = kEachLane});
}

namespace {

/// The scope of an access. `always`: it is strong without a modifier, as atomic operations are.
Reach reach_of(const Instruction& in, bool always) {
  const Word order = in.word(Class::order);
  const bool strong = order != Word::none && order != Word::weak;
  if (!always && !strong) return Reach::weak;
  switch (in.word(Class::scope)) {
    case Word::cta:
      return Reach::cta;
    case Word::cluster:
      return Reach::cluster;
    default:
      return Reach::gpu;
  }
}

/// Tells the judge of a strong access, which may synchronize.
void strong(Warp& w, const Instruction& in, Reach reach, uint64_t address, bool reads,
            bool writes) {
  if (!w.judge() || reach == Reach::weak) return;
  Word space = in.word(Class::space);
  if (space == Word::none) space = space_of(&address);
  uint64_t key = address;
  if (space != Word::global) {
    const bool far = space == Word::shared_cluster;
    key = Judge::shared_key(far ? cta_at(w, address) : *w.cta, shared_offset(address));
  }
  const Word word = in.word(Class::order);
  const Order order{word == Word::acquire || word == Word::acq_rel,
                    word == Word::release || word == Word::acq_rel};
  if (reads) w.judge()->strong_read(w, key, reach, order);
  if (writes) w.judge()->strong_write(w, key, reach, order, reads);
}

uint64_t load_bits(const uint8_t* from, int bytes, bool sign) {
  uint64_t value = 0;
  std::memcpy(&value, from, static_cast<size_t>(bytes));
  const int unused = 64 - 8 * bytes;
  return sign ? static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused) : value;
}

bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

void load(Warp& w, const Instruction& in) {
  const Operand& d = in.operand[0];
  const int bytes = type_bytes(in.types[0]);
  const uint32_t count = d.kind == Operand::Kind::list ? d.count : 1;
  const bool sign = is_signed(in.types[0]);
  const Word space = in.word(Class::space);
  const Use use{.reach = reach_of(in, false), .constant = in.has(Class::constant_path)};
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = address_of(w, in.operand[1], i);
    strong(w, in, use.reach, address, true, false);
    const uint8_t* from =
        locate(w, space, address, static_cast<uint32_t>(bytes) * count, Access::read, i, use);
    for (uint32_t k = 0; k < count; ++k)
      write_lane(w, d.kind == Operand::Kind::list ? item(w, d, k) : d, i,
                 load_bits(from + k * static_cast<uint32_t>(bytes), bytes, sign));
  });
}

/// Whether a store changes nothing. Only the judge needs it.
bool stores_same(const Warp& w, uint64_t address, const uint8_t* values, uint32_t bytes) {
  return w.judge() && w.launch->memory.contains(address, bytes) &&
         std::memcmp(reinterpret_cast<const void*>(address), values, bytes) == 0;
}

void store(Warp& w, const Instruction& in) {
  const Operand& a = in.operand[1];
  const uint32_t bytes = static_cast<uint32_t>(type_bytes(in.types[0]));
  const uint32_t count = a.kind == Operand::Kind::list ? a.count : 1;
  const Word space = in.word(Class::space);
  Use use{.reach = reach_of(in, false)};
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = address_of(w, in.operand[0], i);
    uint8_t values[64];
    for (uint32_t k = 0; k < count; ++k) {
      const uint64_t value = read_lane(w, a.kind == Operand::Kind::list ? item(w, a, k) : a, i);
      std::memcpy(values + k * bytes, &value, bytes);
    }
    use.same = stores_same(w, address, values, bytes * count);
    uint8_t* to = locate(w, space, address, bytes * count, Access::write, i, use);
    strong(w, in, use.reach, address, false, true);
    std::memcpy(to, values, bytes * count);
  });
}

/// Replaces a subnormal f32 by a zero of the same sign.
uint64_t flushed(uint64_t bits) {
  return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

/// The result of an atomic operation. f32 additions in global memory flush subnormal numbers.
uint64_t combined(const Instruction& in, uint64_t before, uint64_t operand) {
  const Type type = in.types[0];
  const Word operation = in.word(Class::operation);
  if (type != Type::f32 || operation != Word::op_add || in.word(Class::space) != Word::global)
    return reduced(type, operation, before, operand);
  return flushed(reduced(type, operation, flushed(before), flushed(operand)));
}

void atom(Warp& w, const Instruction& in) {
  const Type type = in.types[0];
  const uint32_t bytes = static_cast<uint32_t>(type_bytes(type));
  w.launch->statistics.unordered |= is_floating(type);
  const Use use{.reach = reach_of(in, true)};
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = address_of(w, in.operand[1], i);
    uint8_t* at = locate(w, in.word(Class::space), address, bytes, Access::both, i, use);
    strong(w, in, use.reach, address, true, true);
    const uint64_t before = load_bits(at, static_cast<int>(bytes), false);
    const uint64_t after = combined(in, before, read_lane(w, in.operand[2], i));
    std::memcpy(at, &after, bytes);
    write_lane(w, in.operand[0], i, before);
  });
}

void cas(Warp& w, const Instruction& in) {
  const uint32_t bytes = static_cast<uint32_t>(type_bytes(in.types[0]));
  const Use use{.reach = reach_of(in, true)};
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = address_of(w, in.operand[1], i);
    uint8_t* at = locate(w, in.word(Class::space), address, bytes, Access::both, i, use);
    strong(w, in, use.reach, address, true, true);
    const uint64_t before = load_bits(at, static_cast<int>(bytes), false);
    const uint64_t after = read_lane(w, in.operand[3], i);
    if (before == read_lane(w, in.operand[2], i)) std::memcpy(at, &after, bytes);
    write_lane(w, in.operand[0], i, before);
  });
}

void red(Warp& w, const Instruction& in) {
  const Type type = in.types[0];
  const Operand& a = in.operand[1];
  const uint32_t bytes = static_cast<uint32_t>(type_bytes(type));
  const uint32_t count = a.kind == Operand::Kind::list ? a.count : 1;
  w.launch->statistics.unordered |= is_floating(type);
  const Use use{.reach = reach_of(in, true)};
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = address_of(w, in.operand[0], i);
    uint8_t* at = locate(w, in.word(Class::space), address, bytes * count, Access::both, i, use);
    strong(w, in, use.reach, address, true, true);
    for (uint32_t k = 0; k < count; ++k) {
      const uint64_t before = load_bits(at + k * bytes, static_cast<int>(bytes), false);
      const uint64_t operand = read_lane(w, a.kind == Operand::Kind::list ? item(w, a, k) : a, i);
      const uint64_t after = combined(in, before, operand);
      std::memcpy(at + k * bytes, &after, bytes);
    }
  });
}

void cvta(Warp& w, const Instruction& in) {
  const bool to_space = in.op == Op::cvta_to;
  uint64_t window = 0;
  switch (in.word(Class::space)) {
    case Word::global:
      break;
    case Word::shared:
    case Word::shared_cta:
    case Word::shared_cluster:
      window = kSharedWindow;
      break;
    case Word::local:
      window = kLocalWindow;
      break;
    case Word::param:
      window = kParamWindow;
      break;
    default:
      w.fail("a state space that the machine does not have");
  }
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t address = read_lane(w, in.operand[1], i);
    if (to_space && address < window) w.fail("the address is of another state space");
    write_lane(w, in.operand[0], i, to_space ? address - window : address + window);
  });
}

void mapa(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t rank = read_lane(w, in.operand[2], i);
    if (rank >= w.cta->cluster->ctas.size())
      w.fail("the cluster has no CTA " + std::to_string(rank));
    const uint64_t offset = shared_offset(read_lane(w, in.operand[1], i));
    write_lane(w, in.operand[0], i, rank << kRankShift | offset);
  });
}

void fence_proxy(Warp& w, const Instruction& in) {
  if (w.judge())
    w.judge()->fence_proxy(w, in.op != Op::fence_proxy_global, in.op != Op::fence_proxy_shared);
}

void fence(Warp& w, const Instruction& in) {
  if (w.judge()) w.judge()->fence(w, reach_of(in, true));
}

void fence_inits(Warp& w, const Instruction&) {
  if (w.judge()) w.judge()->fence_inits(w);
}

void fence_map(Warp& w, const Instruction& in) {
  if (!w.judge() || in.word(Class::order) != Word::acquire) return;
  each_lane(w.mask,
            [&](uint32_t i) { w.judge()->map_acquired(w, address_of(w, in.operand[0], i)); });
}

/// Prefetches have no visible effect.
void nothing(Warp&, const Instruction&) {}

}  // namespace

Run memory_handler(const Instruction& in) {
  switch (in.op) {
    case Op::ld:
      return load;
    case Op::st:
      return store;
    case Op::atom:
      return can_reduce(in.types[0], in.word(Class::operation)) ? atom : nullptr;
    case Op::atom_cas:
      return cas;
    case Op::red:
      return can_reduce(in.types[0], in.word(Class::operation)) ? red : nullptr;
    case Op::cvta:
    case Op::cvta_to:
      return cvta;
    case Op::mapa:
      return mapa;
    case Op::fence_proxy:
    case Op::fence_proxy_shared:
    case Op::fence_proxy_global:
      return fence_proxy;
    case Op::fence:
      return fence;
    case Op::fence_mbarrier_init:
      return fence_inits;
    case Op::fence_proxy_map:
      return fence_map;
    case Op::prefetch:
    case Op::prefetch_map:
      return nothing;
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
