// SPDX-License-Identifier: Apache-2.0
// The judge's part for global memory.
#include <algorithm>
#include <cstdio>

#include "tests/ptx_machine/machine/advice.hpp"
#include "tests/ptx_machine/machine/judge.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {
namespace {

constexpr uint64_t kMapBytes = 128;

std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void Judge::report_global(Warp& warp, const std::string& what, const History::Run& run,
                          const GlobalAccess& other, const std::string& remedy) const {
  const bool same = other.launch == history_.launch();
  const std::string place = same ? place_of(*warp.image, other.line) + " "
                                 : "line " + std::to_string(other.line) + " of an earlier launch ";
  warp.fail(what + ": global memory " + hex(run.address) + " to " +
            hex(run.address + run.bytes - 1) + "; the other access is " + place +
            (same ? who(other.agent >= count_, other.rank, other.warp) + ", cluster " +
                        std::to_string(other.cluster)
                  : "") +
            "; " + remedy + " would order them");
}

GlobalAccess Judge::global_access_of(Warp& warp) const {
  GlobalAccess access;
  access.launch = history_.launch();
  access.cluster = number_;
  access.line = line_of(warp);
  access.op = op_of(warp);
  access.rank = static_cast<uint8_t>(warp.cta->rank);
  access.warp = static_cast<uint8_t>(warp.number);
  return access;
}

void Judge::global_access(Warp& warp, uint64_t address, uint64_t bytes, bool reads, bool writes,
                          const Use& use) {
  GlobalAccess access = global_access_of(warp);
  access.agent = agent(warp);
  access.time = of(warp).known[access.agent];
  access.reach = use.reach;
  access.constant = use.constant;
  access.map_copied = use.map_copied;
  access.same = use.same;
  global(warp, access, address, bytes, reads, writes);
}

void Judge::work_global(Warp& warp, const JudgedWork& work, uint64_t address, uint64_t bytes,
                        bool writes, Proxy proxy, Reach reach) {
  GlobalAccess access = global_access_of(warp);
  access.agent = work.agent;
  access.time = work.time;
  access.proxy = proxy;
  access.reach = reach;
  global(warp, access, address, bytes, !writes, writes);
}

void Judge::global(Warp& warp, const GlobalAccess& access, uint64_t address, uint64_t bytes,
                   bool reads, bool writes) {
  if (bytes == 0) return;
  history_.each_run(address, bytes, [&](const History::Run& run) {
    if (run.write != 0 && reads) check_global_read(warp, access, run);
    if (writes) check_global_write(warp, access, run);
  });
  GlobalAccess kept = access;
  // This access replaces the last write as the one that later accesses are compared with. If a
  // strong write replaces a weak one of the same agent and time, it is recorded as weak, so that
  // races with the weak one are still found.
  history_.each_run(address, 1, [&](const History::Run& run) {
    const GlobalAccess& last = history_.at(run.write);
    if (run.write != 0 && last.launch == access.launch && last.cluster == access.cluster &&
        last.agent == access.agent && last.time == access.time && last.reach == Reach::weak)
      kept.reach = Reach::weak;
  });
  const uint32_t id = history_.add(kept);
  if (writes)
    history_.record_write(address, bytes, id);
  else
    history_.record_read(address, bytes, id);
}

/// Whether `other` is ordered before `access` by the warp, or both are strong enough not to race.
bool Judge::ordered(Warp& warp, const GlobalAccess& other, const GlobalAccess& access,
                    bool other_reads) {
  const Knowledge& knowledge = of(warp);
  if (other.launch != access.launch)
    return other.launch < history_.first_in_flight() || knowledge.predecessors;
  const bool cluster = other.cluster == access.cluster;
  const Reach apart = !cluster                    ? Reach::gpu
                      : other.rank != access.rank ? Reach::cluster
                                                  : Reach::cta;
  if (other.reach >= apart && access.reach >= apart) return true;
  if (!cluster) {
    const auto far = knowledge.far.find(other.cluster);
    return far != knowledge.far.end() && other.time <= time_of(far->second.known, other.agent);
  }
  if (other.agent == agent(warp)) return true;
  if (other.agent == access.agent && other.time == access.time) return true;
  return other.time <= time_of(other_reads ? knowledge.passed : knowledge.known, other.agent);
}

/// Whether a fence, or the end of a launch, has made a write visible to the async proxy.
bool Judge::fenced(Warp& warp, const GlobalAccess& other) {
  const Knowledge& knowledge = of(warp);
  if (other.launch != history_.launch()) return true;
  if (other.cluster == number_) return other.time <= time_of(knowledge.fenced_global, other.agent);
  const auto far = knowledge.far.find(other.cluster);
  return far != knowledge.far.end() && other.time <= time_of(far->second.fenced, other.agent);
}

namespace {

Distance distance_of(const GlobalAccess& a, const GlobalAccess& b) {
  if (a.launch != b.launch) return Distance::launch;
  if (a.cluster != b.cluster) return Distance::grid;
  if (a.rank != b.rank) return Distance::cluster;
  return a.warp == b.warp ? Distance::warp : Distance::cta;
}

}  // namespace

void Judge::check_global_read(Warp& warp, const GlobalAccess& access, const History::Run& run) {
  const GlobalAccess& other = history_.at(run.write);
  if (!ordered(warp, other, access, false))
    report_global(warp, "race: read is not ordered after an earlier write", run, other,
                  remedy(other.op, distance_of(other, access)));
  const bool generic = other.proxy == Proxy::generic && !other.map_copied;
  if (access.proxy == Proxy::async && generic && !fenced(warp, other))
    report_global(warp,
                  "no fence.proxy.async between a write by threads and a read by the async proxy",
                  run, other, "fence.proxy.async");
  if (access.constant && other.launch >= history_.first_in_flight())
    report_global(
        warp,
        other.launch == access.launch
            ? "constant load of memory that the grid writes"
            : "constant load of memory that a predecessor grid, which may still run, writes",
        run, other, "no fence helps: use a load without .nc");
}

void Judge::check_global_write(Warp& warp, const GlobalAccess& access, const History::Run& run) {
  if (run.write != 0) {
    const GlobalAccess& other = history_.at(run.write);
    const bool in_order = ordered(warp, other, access, false);
    if (!in_order && access.same && other.launch == access.launch)
      warp.letter("writes the same bytes as " + place_of(*warp.image, other.line) + ", unordered");
    else if (!in_order)
      report_global(warp, "race: write is not ordered after an earlier write", run, other,
                    remedy(other.op, distance_of(other, access)));
    if (access.proxy == Proxy::async && other.proxy == Proxy::generic && !fenced(warp, other))
      report_global(warp,
                    "no fence.proxy.async between a write by threads and one by the async proxy",
                    run, other, "fence.proxy.async");
  }
  history_.each_read(run.reads, [&](const GlobalAccess& other) {
    if (!ordered(warp, other, access, true))
      report_global(warp, "race: write is not ordered after an earlier read", run, other,
                    remedy(other.op, distance_of(other, access)));
    if (other.constant && other.launch == access.launch)
      report_global(warp, "writes what the grid has read as constant", run, other,
                    "no fence helps: use a load without .nc");
    return true;
  });
}

// Tensor maps that a grid writes.

void Judge::map_used(Warp& warp, uint64_t address) {
  GlobalAccess access = global_access_of(warp);
  access.agent = agent(warp);
  access.time = of(warp).known[access.agent];
  history_.each_run(address, kMapBytes, [&](const History::Run& run) {
    if (run.write == 0) return;
    const GlobalAccess& other = history_.at(run.write);
    if (other.launch < history_.first_in_flight()) return;
    if (!other.map_copied)
      report_global(warp, "uses a tensor map that threads have written", run, other,
                    "fence.proxy.tensormap::generic.release or tensormap.cp_fenceproxy, and an "
                    "acquire,");
    if (!ordered(warp, other, access, false))
      report_global(warp, "race: use of a tensor map is not ordered after an earlier write", run,
                    other, remedy(other.op, distance_of(other, access)));
    const auto acquired = maps_[agent(warp)].find(address);
    if (acquired == maps_[agent(warp)].end() || acquired->second != run.write)
      report_global(warp, "uses a tensor map that has been written, without an acquire", run, other,
                    "fence.proxy.tensormap::generic.acquire");
  });
  history_.record_read(address, kMapBytes, history_.add(access));
}

void Judge::map_acquired(Warp& warp, uint64_t address) {
  const GlobalAccess access = global_access_of(warp);
  history_.each_run(address, kMapBytes, [&](const History::Run& run) {
    if (run.write != 0 && ordered(warp, history_.at(run.write), access, false))
      maps_[agent(warp)][address] = run.write;
  });
}

}  // namespace tw::ptx_machine
