// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/knowledge.hpp"

#include <algorithm>

namespace tw::ptx_machine {

void join_clocks(Clocks& into, const Clocks& from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void raise(Clocks& clocks, uint32_t agent, uint32_t time) {
  if (clocks.size() <= agent) clocks.resize(agent + 1, 0);
  clocks[agent] = std::max(clocks[agent], time);
}

void join_far(FarClocks& into, const FarClocks& from) {
  for (const auto& [cluster, clocks] : from) {
    Far& known = into[cluster];
    join_clocks(known.known, clocks.known);
    join_clocks(known.fenced, clocks.fenced);
  }
}

void Knowledge::join(const Knowledge& other) {
  join_clocks(known, other.known);
  join_clocks(fenced, other.fenced);
  join_clocks(fenced_global, other.fenced_global);
  join_far(far, other.far);
  predecessors |= other.predecessors;
  join_relaxed(other);
}

void Knowledge::join_relaxed(const Knowledge& other) {
  join_clocks(inits, other.inits);
  join_clocks(passed, other.passed);
  join_clocks(likely, other.likely);
}

void Knowledge::clear() {
  for (Clocks* clocks : {&known, &fenced, &fenced_global, &inits, &passed, &likely})
    clocks->clear();
  far.clear();
  predecessors = false;
}

uint64_t Releases::domain(Place place, Reach reach) {
  switch (reach) {
    case Reach::gpu:
      return 0;
    case Reach::cluster:
      return uint64_t{1} << 40 | place.cluster;
    default:
      return uint64_t{2} << 40 | uint64_t{place.cluster} << 8 | place.rank;
  }
}

void Releases::write(uint64_t address, Place place, Reach reach, const Knowledge* what,
                     bool joins) {
  if (!joins) left_.erase(left_.lower_bound({address, 0}), left_.lower_bound({address + 1, 0}));
  if (!what) return;
  // An acquire with a narrow scope also synchronizes with a wider release.
  for (const Reach to : {Reach::cta, Reach::cluster, Reach::gpu}) {
    if (to > reach) break;
    Left& left = left_[{address, domain(place, to)}];
    join_far(left.clocks, what->far);
    Far& own = left.clocks[place.cluster];
    join_clocks(own.known, what->known);
    join_clocks(own.fenced, what->fenced_global);
    left.predecessors |= what->predecessors;
  }
}

void Releases::read(uint64_t address, Place place, Reach reach, Knowledge* into) const {
  for (const Reach from : {Reach::cta, Reach::cluster, Reach::gpu}) {
    if (from > reach) break;
    const auto left = left_.find({address, domain(place, from)});
    if (left == left_.end()) continue;
    into->predecessors |= left->second.predecessors;
    for (const auto& [cluster, clocks] : left->second.clocks) {
      if (cluster != place.cluster) {
        join_far(into->far, {{cluster, clocks}});
        continue;
      }
      join_clocks(into->known, clocks.known);
      join_clocks(into->passed, clocks.known);
      join_clocks(into->inits, clocks.known);
      join_clocks(into->fenced_global, clocks.fenced);
    }
  }
}

}  // namespace tw::ptx_machine
