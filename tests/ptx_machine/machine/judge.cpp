// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/judge.hpp"

#include <algorithm>

#include "tests/ptx_machine/machine/advice.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {
namespace {

constexpr uint32_t kWord = 4;
constexpr uint32_t kShadowBlock = 256;
constexpr uint32_t kAllBytes = 15;
constexpr uint32_t kRecent = 1024;

/// Mask of the bytes of word `word` that are in [begin, end).
uint32_t bytes_of_word(uint64_t word, uint64_t begin, uint64_t end) {
  uint32_t mask = kAllBytes;
  if (word * kWord < begin) mask &= kAllBytes << (begin - word * kWord);
  if (word * kWord + kWord > end) mask &= kAllBytes >> (word * kWord + kWord - end);
  return mask & kAllBytes;
}

const Instruction& instruction_of(const Warp& warp) {
  return warp.image->code[warp.pc == 0 ? 0 : warp.pc - 1];
}

/// A letter about a write over what the instruction at `line` reads.
std::string after_product(const Warp& warp, uint32_t line) {
  return "overwrites bytes that " + place_of(*warp.image, line) +
         " reads, ordered only by the end of a wgmma; an arrival by each warp would order them";
}

}  // namespace

uint32_t line_of(const Warp& warp) {
  return instruction_of(warp).line;
}
Op op_of(const Warp& warp) {
  return instruction_of(warp).op;
}

Judge::Judge(const Cluster& cluster, uint32_t number, History* history)
    : cluster_of_(cluster),
      number_(number),
      per_cta_(static_cast<uint32_t>(cluster.ctas.front()->warps.size())),
      count_(per_cta_ * static_cast<uint32_t>(cluster.ctas.size())),
      history_(*history),
      warps_(count_),
      seen_(count_),
      fences_(count_),
      met_(count_, 0),
      maps_(count_),
      shadows_(cluster.ctas.size()),
      recent_(kRecent, 0) {
  const size_t agents = kKinds * size_t{count_};
  for (uint32_t i = 0; i < count_; ++i) {
    warps_[i].known.assign(agents, 0);
    warps_[i].fenced.assign(agents, 0);
    warps_[i].fenced_global.assign(agents, 0);
    warps_[i].inits.assign(agents, 0);
    warps_[i].known[i] = 1;
    warps_[i].passed = warps_[i].known;
    warps_[i].likely.assign(agents, 0);
  }
  for (size_t rank = 0; rank < shadows_.size(); ++rank) {
    const uint32_t bytes =
        (cluster.ctas[rank]->shared_bytes + kShadowBlock - 1) / kShadowBlock * kShadowBlock;
    shadows_[rank].touched.assign(bytes / kShadowBlock + 1, 0);
    shadows_[rank].writes.allocate(bytes);
    shadows_[rank].lanes.allocate(bytes);
    shadows_[rank].reads.allocate(size_t{bytes / kWord} * kReaders * count_);
    shadows_[rank].read_lanes.allocate(size_t{bytes / kWord} * per_cta_);
    shadows_[rank].read_lines.assign(size_t{kReaders} * count_, 0);
    shadows_[rank].remote.assign(agents, 0);
    shadows_[rank].remote_lines.assign(agents, 0);
  }
}

/// Clears the shadows for the next cluster.
Judge::~Judge() {
  for (Shadow& shadow : shadows_)
    for (size_t block = 0; block < shadow.touched.size(); ++block) {
      if (!shadow.touched[block]) continue;
      constexpr size_t kWords = kShadowBlock / kWord;
      shadow.writes.clear(block * kShadowBlock, kShadowBlock);
      shadow.lanes.clear(block * kShadowBlock, kShadowBlock);
      shadow.reads.clear(block * kWords * kReaders * count_, kWords * kReaders * count_);
      shadow.read_lanes.clear(block * kWords * per_cta_, kWords * per_cta_);
    }
}

uint32_t Judge::agent(const Warp& warp, Kind kind) const {
  return static_cast<uint32_t>(kind) * count_ + warp.cta->rank * per_cta_ + warp.number;
}

uint32_t Judge::agent_at(const Warp& warp, const Cta& cta, uint64_t barrier) {
  const auto next = static_cast<uint32_t>(at_barrier_.size());
  const auto [found, fresh] =
      barrier_agents_.try_emplace(shared_key(cta, barrier), kKinds * count_ + next);
  if (fresh) at_barrier_.push_back(0);
  at_barrier_[found->second - kKinds * count_] = agent(warp);
  return found->second;
}

uint32_t Judge::warp_of(uint32_t agent) const {
  return agent < kKinds * count_ ? agent % count_ : at_barrier_[agent - kKinds * count_];
}

Judge::Shadow& Judge::shadow(const Cta& cta) {
  return shadows_[cta.rank];
}

uint32_t Judge::write_id(const Write& write) {
  uint32_t& recent = recent_[(write.line * 31 + write.agent) % kRecent];
  if (recent != 0 && writes_[recent] == write) return recent;
  writes_.push_back(write);
  return recent = static_cast<uint32_t>(writes_.size() - 1);
}

// Reports.

std::string Judge::who(bool work, uint32_t rank, uint32_t warp) {
  return std::string(work ? "work of" : "by") + " warp " + std::to_string(warp) + " of CTA rank " +
         std::to_string(rank);
}

std::string Judge::who(uint32_t agent) const {
  const uint32_t warp = warp_of(agent);
  return who(agent >= count_, warp / per_cta_, warp % per_cta_);
}

std::string Judge::order_for(const Warp& warp, const Other& other) const {
  const uint32_t own = agent(warp), theirs = warp_of(other.agent);
  const Distance distance = theirs == own                         ? Distance::warp
                            : theirs / per_cta_ == warp.cta->rank ? Distance::cta
                                                                  : Distance::cluster;
  return remedy(other.op, distance);
}

void Judge::report(Warp& warp, const std::string& what, const Cta& cta, const Run& run,
                   const Other& other, const std::string& remedy) const {
  warp.fail(what + ": shared memory " + std::to_string(run.begin) + " to " +
            std::to_string(run.until - 1) + " of CTA rank " + std::to_string(cta.rank) +
            "; the other access is " + place_of(*warp.image, other.line) + " " + who(other.agent) +
            "; " + remedy + " would order them");
}

// Shared memory.

template <class Visit>
void Judge::each_run(const Cta& cta, uint64_t offset, uint64_t bytes, Visit visit) {
  const Shadow& of_cta = shadow(cta);
  const uint64_t end = offset + bytes;
  for (uint64_t byte = offset; byte < end;) {
    Run run{byte, byte, of_cta.writes[byte], of_cta.lanes[byte]};
    while (byte < end && of_cta.writes[byte] == run.id && of_cta.lanes[byte] == run.lane) ++byte;
    // A report shows the bytes of all lanes of the instruction.
    for (run.until = byte; run.until < end && of_cta.writes[run.until] == run.id;) ++run.until;
    if (run.id != 0) visit(run);
  }
}

/// Whether `write` is ordered before `access`, whose instruction is at `line`. Lanes that write the
/// same bytes in one instruction do not race: one of them prevails.
bool Judge::before(const Write& write, uint8_t lane, const Access& access, uint32_t line,
                   const Clocks& known) const {
  if (write.reach != Reach::weak && access.use.reach != Reach::weak) return true;
  if (write.agent != access.own)
    return write.time <= time_of(known, write.agent) ||
           (write.agent == access.agent && write.time == access.time);
  const bool same = (lane == access.use.lane && lane != kEachLane) || write.line == line;
  return same || lane == kNoLane || access.use.lane == kNoLane || write.time <= met_[access.own];
}

/// Checks a write over an earlier write. Returns true if both are by the async proxy and the
/// earlier one may still run. That is allowed while nobody reads the bytes: prefetches load over
/// each other.
bool Judge::over_write(Warp& warp, const Cta& cta, const Access& access, const Run& run) {
  const Write& write = writes_[run.id];
  const Knowledge& knowledge = of(warp);
  const Other other{write.agent, write.line, write.op};
  const Op op = op_of(warp);
  if (write.op == Op::mbarrier_init && op != Op::mbarrier_init && op != Op::mbarrier_inval)
    report(warp, "overwrites an mbarrier", cta, run, other, "mbarrier.inval");
  if (access.proxy == Proxy::async && write.proxy == Proxy::generic &&
      write.time > time_of(knowledge.fenced, write.agent))
    report(warp, "no fence.proxy.async between a write by threads and one by the async proxy", cta,
           run, other, "fence.proxy.async");
  if (before(write, run.lane, access, line_of(warp), knowledge.known)) return false;
  if (access.proxy == Proxy::async && write.proxy == Proxy::async) return true;
  // A relaxed arrival at the cluster's barrier proves that the write has happened.
  if (before(write, run.lane, access, line_of(warp), knowledge.passed))
    warp.letter("overwrites bytes that " + place_of(*warp.image, write.line) +
                " has written, ordered only by a relaxed arrival at the cluster's barrier; "
                ".release would order them");
  else
    report(warp, "race: write is not ordered after an earlier write", cta, run, other,
           order_for(warp, other));
  return false;
}

void Judge::over_reads(Warp& warp, const Cta& cta, const Access& access, uint64_t begin,
                       uint64_t end) {
  const Shadow& of_cta = shadow(cta);
  const Clocks& passed = of(warp).passed;
  const uint32_t agents = kReaders * count_;
  for (uint64_t word = begin / kWord; word * kWord < end; ++word) {
    const uint32_t mask = bytes_of_word(word, begin, end);
    const uint32_t* reads = &of_cta.reads[word * kReaders * count_];
    if (access.agent == access.own) over_lanes(warp, cta, access, word, mask);
    // Almost always no read is open, so all agents are first compared without branches.
    uint32_t open = 0;
    const auto compare = [&](uint32_t from, uint32_t to) {
      for (uint32_t i = from; i < to; ++i)
        open |= (reads[i] >> kWord) > passed[i] ? reads[i] & mask : 0;
    };
    compare(0, std::min(access.agent, agents));
    compare(access.agent + 1, agents);
    if (open != 0) over_open_reads(warp, cta, access, word, mask);
  }
}

/// Reports the first read of a word that is not ordered before a write.
void Judge::over_open_reads(Warp& warp, const Cta& cta, const Access& access, uint64_t word,
                            uint32_t mask) {
  const Shadow& of_cta = shadow(cta);
  const Clocks &passed = of(warp).passed, &likely = of(warp).likely;
  const uint32_t* reads = &of_cta.reads[word * kReaders * count_];
  for (uint32_t i = 0; i < kReaders * count_; ++i)
    if (i != access.agent && (reads[i] >> kWord) > passed[i] && (reads[i] & mask) != 0) {
      const Other other{i, of_cta.read_lines[i], op_at(*warp.image, of_cta.read_lines[i])};
      const Run run{word * kWord, word * kWord + kWord, 0, kNoLane};
      if ((reads[i] >> kWord) <= time_of(likely, i))
        warp.letter(after_product(warp, other.line));
      else
        report(warp, "race: write is not ordered after an earlier read", cta, run, other,
               order_for(warp, other));
    }
}

/// Checks a lane's write to a word against reads by other lanes of its warp.
void Judge::over_lanes(Warp& warp, const Cta& cta, const Access& access, uint64_t word,
                       uint32_t mask) {
  if (&cta != warp.cta || access.use.lane == kNoLane) return;
  const Shadow& of_cta = shadow(cta);
  const uint32_t read = of_cta.reads[word * kReaders * count_ + access.agent];
  const uint8_t lane = of_cta.read_lanes[word * per_cta_ + warp.number];
  const uint32_t line = of_cta.read_lines[access.agent];
  if ((read & mask) == 0 || (read >> kWord) <= met_[access.own] || lane == kNoLane ||
      (lane == access.use.lane && lane != kEachLane) || line == line_of(warp))
    return;
  if ((read >> kWord) <= time_of(of(warp).likely, access.own))
    return warp.letter(after_product(warp, line));
  if (access.use.lane == kEachLane)
    return warp.letter("overwrites bytes that " + place_of(*warp.image, line) +
                       " reads, ordered only by waiting for all lanes of the warp; bar.warp.sync "
                       "would order them");
  report(warp, "race: write is not ordered after an earlier read by another lane", cta,
         {word * kWord, word * kWord + kWord, 0, kNoLane},
         {access.agent, line, op_at(*warp.image, line)}, remedy(Op::st, Distance::warp));
}

bool Judge::check_write(Warp& warp, const Cta& cta, const Access& access, uint64_t offset,
                        uint64_t bytes) {
  bool torn = false;
  each_run(cta, offset, bytes, [&](const Run& run) { torn |= over_write(warp, cta, access, run); });
  over_reads(warp, cta, access, offset, offset + bytes);
  return torn;
}

/// The last write must be ordered before the read and, if the async proxy reads, fenced for it.
void Judge::check_read(Warp& warp, const Cta& cta, const Access& access, uint64_t offset,
                       uint64_t bytes) {
  const Knowledge& knowledge = of(warp);
  each_run(cta, offset, bytes, [&](const Run& run) {
    const Write& write = writes_[run.id];
    const Other other{write.agent, write.line, write.op};
    if (write.torn || !before(write, run.lane, access, line_of(warp), knowledge.known))
      report(warp, "race: read is not ordered after an earlier write", cta, run, other,
             order_for(warp, other));
    if (access.proxy == Proxy::async && write.proxy == Proxy::generic &&
        write.time > time_of(knowledge.fenced, write.agent))
      report(warp, "no fence.proxy.async between a write by threads and a read by the async proxy",
             cta, run, other, "fence.proxy.async");
  });
}

void Judge::record(Warp& warp, const Cta& cta, const Access& access, uint64_t offset,
                   uint64_t bytes, bool writes, bool torn) {
  Shadow& of_cta = shadow(cta);
  const uint32_t line = line_of(warp);
  for (uint64_t block = offset / kShadowBlock; block * kShadowBlock < offset + bytes; ++block)
    of_cta.touched[block] = 1;
  if (&cta != warp.cta || access.agent >= count_) {
    raise(of_cta.remote, access.agent, access.time);
    raise(of_cta.remote_lines, access.agent, 0);
    of_cta.remote_lines[access.agent] = line;
  }
  if (writes) {
    const uint32_t id = write_id(
        {access.agent, access.time, line, op_of(warp), access.proxy, access.use.reach, torn});
    std::fill_n(of_cta.writes.begin() + offset, bytes, id);
    std::fill_n(of_cta.lanes.begin() + offset, bytes, access.use.lane);
    return;
  }
  if (access.use.reach != Reach::weak) return;
  of_cta.read_lines[access.agent] = line;
  for (uint64_t word = offset / kWord; word * kWord < offset + bytes; ++word) {
    uint32_t& read = of_cta.reads[word * kReaders * count_ + access.agent];
    const uint32_t mask = bytes_of_word(word, offset, offset + bytes);
    const bool again = (read >> kWord) == access.time;
    read = again ? read | mask : access.time << kWord | mask;
    if (access.agent >= count_ || &cta != warp.cta) continue;
    uint8_t& lane = of_cta.read_lanes[word * per_cta_ + warp.number];
    lane = again && lane != access.use.lane ? kEachLane : access.use.lane;
  }
}

void Judge::access(Warp& warp, const Cta& cta, uint64_t offset, uint64_t bytes, bool reads,
                   bool writes, const Use& use) {
  const uint32_t self = agent(warp);
  Access access{self, self, of(warp).known[self], Proxy::generic, use};
  if (reads) {
    check_read(warp, cta, access, offset, bytes);
    record(warp, cta, access, offset, bytes, false);
  }
  if (writes) {
    check_write(warp, cta, access, offset, bytes);
    // This write replaces the last one as the write that later accesses are compared with. If a
    // strong write replaces a weak one of the same agent and time, it is recorded as weak, so that
    // races with the weak one are still found.
    const Write& last = writes_[shadow(cta).writes[offset]];
    if (last.agent == self && last.time == access.time && last.reach == Reach::weak)
      access.use.reach = Reach::weak;
    record(warp, cta, access, offset, bytes, true);
  }
}

void Judge::work_access(Warp& warp, const JudgedWork& work, const Cta& cta, uint64_t offset,
                        uint64_t bytes, bool writes, Proxy proxy, uint8_t lane) {
  const Access access{work.agent, agent(warp), work.time, proxy, {.lane = lane}};
  bool torn = false;
  if (writes)
    torn = check_write(warp, cta, access, offset, bytes);
  else
    check_read(warp, cta, access, offset, bytes);
  record(warp, cta, access, offset, bytes, writes, torn);
}

void Judge::work_ended(Warp& warp, const JudgedWork& work) {
  raise(of(warp).known, work.agent, work.time);
  raise(of(warp).passed, work.agent, work.time);
}

uint32_t Judge::end_time(Warp& warp) {
  const uint32_t time = of(warp).known[agent(warp)];
  step(warp);
  return time;
}

void Judge::product_ended(Warp& warp, const Warp& other, uint32_t time) {
  raise(of(warp).likely, agent(other), time);
}

void Judge::work_arrives(const JudgedWork& work, BarrierKnowledge* barrier) {
  raise(barrier->open.known, work.agent, work.time);
  raise(barrier->open.passed, work.agent, work.time);
}

// Order.

void Judge::step(Warp& warp) {
  ++of(warp).known[agent(warp)];
  of(warp).passed[agent(warp)] = of(warp).known[agent(warp)];
}

/// Joins `knowledge` into the warp's; it may also order the warp's own lanes.
void Judge::learn(Warp& warp, const Knowledge& knowledge) {
  const uint32_t self = agent(warp);
  if (self < knowledge.known.size()) met_[self] = std::max(met_[self], knowledge.known[self]);
  of(warp).join(knowledge);
}

void Judge::fence_proxy(Warp& warp, bool shared, bool global) {
  if (shared) of(warp).fenced = of(warp).known;
  if (global) of(warp).fenced_global = of(warp).known;
  step(warp);  // later writes are not fenced
}

void Judge::fence_inits(Warp& warp) {
  join_clocks(of(warp).inits, of(warp).known);
  step(warp);
}

void Judge::predecessors_ended(Warp& warp) {
  of(warp).predecessors = true;
  history_.waited();
}

void Judge::lanes_met(Warp& warp) {
  met_[agent(warp)] = of(warp).known[agent(warp)];
  step(warp);
}

uint64_t Judge::shared_key(const Cta& cta, uint64_t offset) {
  return kSharedWindow | uint64_t{cta.rank} << kRankShift | offset;
}

void Judge::strong_read(Warp& warp, uint64_t key, Reach reach, Order order) {
  const Releases& releases = key >= kSharedWindow ? shared_releases_ : history_.releases();
  if (releases.empty()) return;
  Knowledge seen;
  releases.read(key, {number_, warp.cta->rank}, reach, &seen);
  if (order.acquires)
    learn(warp, seen);
  else
    seen_[agent(warp)].join(seen);
}

void Judge::strong_write(Warp& warp, uint64_t key, Reach reach, Order order, bool joins) {
  Releases& releases = key >= kSharedWindow ? shared_releases_ : history_.releases();
  const Fence& fence = fences_[agent(warp)];
  const Releases::Place place{number_, warp.cta->rank};
  if (order.releases) {
    releases.write(key, place, reach, &of(warp), joins);
    return step(warp);
  }
  const Reach both = std::min(reach, fence.reach);
  releases.write(key, place, both, both == Reach::weak ? nullptr : &fence.knowledge, joins);
}

void Judge::fence(Warp& warp, Reach reach) {
  const uint32_t self = agent(warp);
  learn(warp, seen_[self]);
  seen_[self].clear();
  fences_[self] = {reach, of(warp)};
  step(warp);
}

// Barriers.

void Judge::arrive(Warp& warp, BarrierKnowledge* barrier, Reach reach, bool relaxed) {
  if (relaxed)
    barrier->open.join_relaxed(of(warp));
  else
    barrier->open.join(of(warp));
  barrier->open_ranks |= 1u << warp.cta->rank;
  if (reach == Reach::cta) barrier->open_narrow |= 1u << warp.cta->rank;
  step(warp);
}

void Judge::end_phase(BarrierKnowledge* barrier) {
  std::swap(barrier->ended, barrier->open);
  barrier->open.clear();
  barrier->ended_ranks = barrier->open_ranks;
  barrier->ended_narrow = barrier->open_narrow;
  barrier->open_ranks = barrier->open_narrow = 0;
}

void Judge::wait(Warp& warp, const BarrierKnowledge& barrier, Reach reach) {
  learn(warp, barrier.ended);
  const uint32_t others = barrier.ended_ranks & ~(1u << warp.cta->rank);
  if (others != 0 && (reach == Reach::cta || (barrier.ended_narrow & others) != 0))
    warp.letter(
        "waits for arrivals of another CTA, and one of the two sides has .cta scope; "
        ".release.cluster and .acquire.cluster would order them");
}

void Judge::barrier_used(Warp& warp, const Cta& cta, uint64_t offset) {
  const uint32_t own = agent(warp);
  const Write& write = writes_[shadow(cta).writes[offset]];
  if (write.op != Op::mbarrier_init || write.agent == own) return;
  if (write.time <= of(warp).known[write.agent] ||
      write.time <= time_of(of(warp).inits, write.agent))
    return;
  const Other other{write.agent, write.line, write.op};
  const bool near = warp_of(write.agent) / per_cta_ == warp.cta->rank;
  const Run run{offset, offset + 8, 0, kNoLane};
  report(warp, "uses an mbarrier whose initialization is not ordered before", cta, run, other,
         near ? "bar.sync" : "fence.mbarrier_init and the cluster's barrier");
}

void Judge::arrives_at(Warp& warp, const Cta& cta) {
  if (&cta == warp.cta) return;
  const uint32_t own = agent(warp);
  raise(shadow(cta).remote, own, of(warp).known[own]);
  shadow(cta).remote_lines[own] = line_of(warp);
}

void Judge::cta_exits(Warp& last) {
  const Cta& cta = *last.cta;
  const Shadow& of_cta = shadow(cta);
  Clocks known;
  for (uint32_t i = 0; i < per_cta_; ++i)
    join_clocks(known, warps_[cta.rank * per_cta_ + i].passed);
  for (uint32_t i = 0; i < of_cta.remote.size(); ++i) {
    if (of_cta.remote[i] <= time_of(known, i)) continue;
    const uint32_t line = of_cta.remote_lines[i];
    const std::string wait = remedy(op_at(*last.image, line), Distance::warp);
    last.fail("the CTA exits while its shared memory may still be accessed: by " +
              place_of(*last.image, line) + " " + who(i) + "; " +
              (i < count_ ? "the cluster's barrier before the exit" : wait) + " would order them");
  }
}

BarrierKnowledge& Judge::mbarrier(const Cta& cta, uint64_t offset) {
  return mbarriers_[uint64_t{cta.rank} << kRankShift | offset];
}

BarrierKnowledge& Judge::named(const Cta& cta, uint32_t id) {
  return named_[uint64_t{cta.rank} << kRankShift | id];
}

}  // namespace tw::ptx_machine
