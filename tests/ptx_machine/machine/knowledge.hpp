// SPDX-License-Identifier: Apache-2.0
#pragma once
// The judge's vector clocks: what each warp of a cluster knows to have happened, and what barriers
// and memory carry from one warp to another.
//
// A cluster of `count` warps has 3 * count agents: warp i; count + i, the asynchronous work that
// warp i has begun; 2 * count + i, the global writes of that work. The last are separate because a
// bulk store reads its source before it has written its destination.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tw::ptx_machine {

/// A time for each agent.
using Clocks = std::vector<uint32_t>;
void join_clocks(Clocks& into, const Clocks& from);

/// Knowledge about another cluster: its agents' accesses, and those fenced for the async proxy.
struct Far {
  Clocks known, fenced;
};
/// By the number of the cluster.
using FarClocks = std::map<uint32_t, Far>;
void join_far(FarClocks& into, const FarClocks& from);

/// What a warp knows, or what a barrier or release carries. Each clock holds, per agent, the time
/// up to which the agent's accesses have the property.
struct Knowledge {
  /// Happened, and visible to the generic proxy.
  Clocks known;
  /// Visible to the async proxy, in shared and in global memory.
  Clocks fenced, fenced_global;
  /// mbarrier initializations are visible: all that fence.mbarrier_init orders.
  Clocks inits;
  /// Happened, visible or not. This is enough to overwrite bytes that were read. A relaxed arrival
  /// at the cluster's barrier carries it, but not `known`.
  Clocks passed;
  /// Happened on known hardware, without a guarantee of the memory model: a warp's instructions
  /// before a wgmma that has ended.
  Clocks likely;
  FarClocks far;
  bool predecessors = false;  // after griddepcontrol.wait

  void join(const Knowledge& other);
  /// Joins only what a relaxed arrival at the cluster's barrier carries.
  void join_relaxed(const Knowledge& other);
  void clear();
};

/// What a barrier's arrivals carry: of the current phase (open) and of the last one (ended).
struct BarrierKnowledge {
  Knowledge open, ended;
  /// Masks of CTA ranks that have arrived, and of those that did so with .cta scope.
  uint32_t open_ranks = 0, open_narrow = 0, ended_ranks = 0, ended_narrow = 0;
};

enum class Proxy : uint8_t { generic, async };

/// Scope of a strong access. Weak accesses do not synchronize.
enum class Reach : uint8_t { weak, cta, cluster, gpu };

/// Severity of a report. `letter`: the memory model forbids it, but no known hardware fails.
enum class Severity : uint8_t { error, letter };

/// The knowledge that releases leave at addresses, for later acquires there.
class Releases {
 public:
  /// The CTA that releases or acquires.
  struct Place {
    uint32_t cluster = 0, rank = 0;
  };
  /// A write with scope `reach` releases `what`; nullptr: nothing. `joins`: an atomic operation,
  /// which keeps what earlier writes have released.
  void write(uint64_t address, Place place, Reach reach, const Knowledge* what, bool joins);
  /// Adds to `into` what a read with scope `reach` acquires.
  void read(uint64_t address, Place place, Reach reach, Knowledge* into) const;
  bool empty() const { return left_.empty(); }
  void clear() { left_.clear(); }

 private:
  struct Left {
    FarClocks clocks;  // includes the releaser's own cluster
    bool predecessors = false;
  };
  /// An address, and the threads that may acquire there: all, a cluster, or a CTA (domain()).
  using Key = std::pair<uint64_t, uint64_t>;
  static uint64_t domain(Place place, Reach reach);

  std::map<Key, Left> left_;
};

}  // namespace tw::ptx_machine
