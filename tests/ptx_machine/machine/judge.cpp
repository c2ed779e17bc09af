// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/judge.hpp"

#include <algorithm>

#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {
namespace {

constexpr uint32_t kWord = 4;
constexpr uint32_t kAllBytes = 15;

void join_clocks(Clocks& into, const Clocks& from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

/// The bytes of word `word` that a range has.
uint32_t bytes_of_word(uint64_t word, uint64_t begin, uint64_t end) {
  uint32_t mask = kAllBytes;
  if (word * kWord < begin) mask &= kAllBytes << (begin - word * kWord);
  if (word * kWord + kWord > end) mask &= kAllBytes >> (word * kWord + kWord - end);
  return mask & kAllBytes;
}

/// Where the warp's instruction stands.
uint32_t line_of(const Warp& warp) {
  return warp.pc == 0 ? 0 : warp.image->code[warp.pc - 1].line;
}

}  // namespace

void Knowledge::join(const Knowledge& other) {
  join_clocks(known, other.known);
  join_clocks(fenced, other.fenced);
  join_clocks(passed, other.passed);
}

void Knowledge::clear() {
  known.clear();
  fenced.clear();
  passed.clear();
}

Judge::Judge(const Cluster& cluster)
    : per_cta_(static_cast<uint32_t>(cluster.ctas.front()->warps.size())),
      count_(per_cta_ * static_cast<uint32_t>(cluster.ctas.size())),
      warps_(count_),
      works_(count_, 0),
      shadows_(cluster.ctas.size()) {
  for (uint32_t i = 0; i < count_; ++i) {
    warps_[i].known.assign(2 * size_t{count_}, 0);
    warps_[i].fenced.assign(2 * size_t{count_}, 0);
    warps_[i].known[i] = 1;
    warps_[i].passed = warps_[i].known;
  }
  for (size_t rank = 0; rank < shadows_.size(); ++rank) {
    const uint32_t bytes = (cluster.ctas[rank]->shared_bytes + kWord - 1) / kWord * kWord;
    shadows_[rank].writes.resize(bytes);
    shadows_[rank].reads.assign(size_t{bytes / kWord} * 2 * count_, 0);
    shadows_[rank].read_lines.assign(2 * size_t{count_}, 0);
  }
}

/// Warps come first, behind them the work of each.
uint32_t Judge::agent(const Warp& warp) const {
  return warp.cta->rank * per_cta_ + warp.number;
}

Judge::Shadow& Judge::shadow(const Cta& cta) {
  return shadows_[cta.rank];
}

void Judge::report(Warp& warp, const std::string& what, uint64_t offset, uint32_t other_agent,
                   uint32_t other_line) const {
  const bool work = other_agent >= count_;
  const uint32_t other = work ? other_agent - count_ : other_agent;
  warp.fail(what + " at shared memory " + std::to_string(offset) + "; the other access is line " +
            std::to_string(other_line) + (work ? ", work that warp " : ", warp ") +
            std::to_string(other % per_cta_) + " of CTA rank " + std::to_string(other / per_cta_) +
            (work ? " has begun" : ""));
}

/// Nothing that read or wrote the bytes may still be going on, or be without an order. Loads that
/// nobody reads may lie over each other: prefetches are such.
bool Judge::check_write(Warp& warp, const Shadow& shadow, uint32_t self, uint64_t offset,
                        uint64_t bytes, Proxy proxy) {
  const Clocks &known = of(warp).known, &passed = of(warp).passed;
  bool torn = false;
  for (uint64_t byte = offset; byte < offset + bytes; ++byte) {
    const Write& write = shadow.writes[byte];
    if (write.agent == self || write.time <= known[write.agent]) continue;
    if (proxy == Proxy::generic || write.proxy == Proxy::generic)
      report(warp, "race: writes what was written without an order", byte, write.agent, write.line);
    torn = true;
  }
  for (uint64_t word = offset / kWord; word * kWord < offset + bytes; ++word) {
    const uint32_t mask = bytes_of_word(word, offset, offset + bytes);
    const uint32_t* reads = &shadow.reads[word * 2 * count_];
    for (uint32_t i = 0; i < 2 * count_; ++i)
      if (i != self && (reads[i] >> kWord) > passed[i] && (reads[i] & mask) != 0)
        report(warp, "race: writes what may still be read", word * kWord, i, shadow.read_lines[i]);
  }
  return torn;
}

/// What wrote the bytes must be before, and known to the async proxy where that reads.
void Judge::check_read(Warp& warp, const Shadow& shadow, uint32_t self, uint64_t offset,
                       uint64_t bytes, Proxy proxy) {
  const Knowledge& knowledge = of(warp);
  const uint32_t own = agent(warp);
  for (uint64_t byte = offset; byte < offset + bytes; ++byte) {
    const Write& write = shadow.writes[byte];
    const bool mine = write.agent == self || write.agent == own;
    if (write.torn || (!mine && write.time > knowledge.known[write.agent]))
      report(warp, "race: reads what is written without an order", byte, write.agent, write.line);
    if (proxy == Proxy::async && write.proxy == Proxy::generic &&
        write.time > knowledge.fenced[write.agent])
      report(warp, "no fence.proxy.async between a write by threads and a read by the async proxy",
             byte, write.agent, write.line);
  }
}

void Judge::record(Shadow& shadow, uint32_t agent, uint32_t time, uint64_t offset, uint64_t bytes,
                   bool writes, Proxy proxy, uint32_t line, bool torn) {
  if (writes) {
    std::fill_n(shadow.writes.begin() + static_cast<long>(offset), bytes,
                Write{agent, time, line, proxy, torn});
    return;
  }
  shadow.read_lines[agent] = line;
  for (uint64_t word = offset / kWord; word * kWord < offset + bytes; ++word) {
    uint32_t& read = shadow.reads[word * 2 * count_ + agent];
    const uint32_t mask = bytes_of_word(word, offset, offset + bytes);
    read = (read >> kWord) == time ? read | mask : time << kWord | mask;
  }
}

void Judge::access(Warp& warp, const Cta& cta, uint64_t offset, uint64_t bytes, bool reads,
                   bool writes) {
  const uint32_t self = agent(warp), time = of(warp).known[self];
  Shadow& of_cta = shadow(cta);
  if (reads) {
    check_read(warp, of_cta, self, offset, bytes, Proxy::generic);
    record(of_cta, self, time, offset, bytes, false, Proxy::generic, line_of(warp));
  }
  if (writes) {
    check_write(warp, of_cta, self, offset, bytes, Proxy::generic);
    record(of_cta, self, time, offset, bytes, true, Proxy::generic, line_of(warp));
  }
}

uint32_t Judge::begin_work(Warp& warp) {
  return ++works_[agent(warp)];
}

void Judge::work_access(Warp& warp, uint32_t work, const Cta& cta, uint64_t offset, uint64_t bytes,
                        bool writes, Proxy proxy) {
  Shadow& of_cta = shadow(cta);
  const uint32_t self = agent(warp);
  bool torn = false;
  if (writes)
    torn = check_write(warp, of_cta, self, offset, bytes,
                       proxy);  // its own accesses are before its work
  else
    check_read(warp, of_cta, self, offset, bytes, proxy);
  record(of_cta, count_ + self, work, offset, bytes, writes, proxy, line_of(warp), torn);
}

void Judge::work_ended(Warp& warp, const Warp& owner, uint32_t work) {
  for (Clocks* clocks : {&of(warp).known, &of(warp).passed}) {
    uint32_t& time = (*clocks)[count_ + agent(owner)];
    time = std::max(time, work);
  }
}

void Judge::work_arrives(const Warp& warp, uint32_t work, BarrierKnowledge* barrier) {
  for (Clocks* clocks : {&barrier->open.known, &barrier->open.passed}) {
    if (clocks->size() < 2 * size_t{count_}) clocks->resize(2 * size_t{count_}, 0);
    uint32_t& time = (*clocks)[count_ + agent(warp)];
    time = std::max(time, work);
  }
}

void Judge::step(Warp& warp) {
  ++of(warp).known[agent(warp)];
  of(warp).passed[agent(warp)] = of(warp).known[agent(warp)];
}

void Judge::fence_proxy(Warp& warp) {
  of(warp).fenced = of(warp).known;
  step(warp);  // what is written from here on is not fenced
}

void Judge::arrive(Warp& warp, BarrierKnowledge* barrier, bool relaxed) {
  if (relaxed)
    join_clocks(barrier->open.passed, of(warp).passed);
  else
    barrier->open.join(of(warp));
  step(warp);
}

void Judge::end_phase(BarrierKnowledge* barrier) {
  std::swap(barrier->ended, barrier->open);
  barrier->open.clear();
}

void Judge::wait(Warp& warp, const BarrierKnowledge& barrier) {
  of(warp).join(barrier.ended);
}

BarrierKnowledge& Judge::mbarrier(const Cta& cta, uint64_t offset) {
  return mbarriers_[uint64_t{cta.rank} << kRankShift | offset];
}

BarrierKnowledge& Judge::named(const Cta& cta, uint32_t id) {
  return named_[uint64_t{cta.rank} << kRankShift | id];
}

}  // namespace tw::ptx_machine
