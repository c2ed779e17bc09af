// SPDX-License-Identifier: Apache-2.0
#pragma once
// The judge's vector clocks: what each warp of a cluster knows to have happened, and what barriers
// and memory carry from one warp to another.
//
// An agent is something whose accesses become known in order, so that one time says which of them
// are known. In a cluster of `count` warps kind * count + i is warp i, or the asynchronous work of
// that kind (Kind) that warp i has begun. Behind those is an agent for each mbarrier: the work that
// completes there.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tw::ptx_machine {

/// A time for each agent; those past the end have 0.
using Clocks = std::vector<uint32_t>;
inline uint32_t time_of(const Clocks& clocks, uint32_t agent) {
  return agent < clocks.size() ? clocks[agent] : 0;
}
/// Raises the agent's time to `time`.
void raise(Clocks& clocks, uint32_t agent, uint32_t time);
void join_clocks(Clocks& into, const Clocks& from);

/// Kinds of agents of a warp. The global writes of bulk stores are apart from their reads of shared
/// memory, because a bulk store has read its source before it has written its destination.
enum class Kind : uint8_t { warp, bulk, product, bulk_write, copy };
inline constexpr uint32_t kKinds = 5;
/// The kinds that read shared memory come first: warp, bulk, product.
inline constexpr uint32_t kReaders = 3;

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
