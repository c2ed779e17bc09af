// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the judge knows of the order of accesses: vector clocks of the warps of a cluster and of
// their asynchronous work, and what barriers and memory carry from one warp to another.
//
// Agents of a cluster, for `count` warps: warp i; count + i, the asynchronous work that it has
// begun; 2 * count + i, what its bulk stores write to global memory, which ends later than what
// they read.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tw::ptx_machine {

/// For each agent a time.
using Clocks = std::vector<uint32_t>;
void join_clocks(Clocks& into, const Clocks& from);

/// What is known of another cluster.
struct Far {
  Clocks known, fenced;
};
/// By the number of the cluster.
using FarClocks = std::map<uint32_t, Far>;
void join_far(FarClocks& into, const FarClocks& from);

/// What one side has to tell the other.
struct Knowledge {
  Clocks known;
  /// Of that, what a fence has made visible to the async proxy, in shared and in global memory.
  Clocks fenced, fenced_global;
  /// Barriers that have been initialised: fence.mbarrier_init tells of these alone.
  Clocks inits;
  /// What has been done, whether or not what it wrote is visible: enough to overwrite what was
  /// read. A relaxed arrival at a cluster's barrier brings this alone.
  Clocks passed;
  /// What has been done by what is known of the hardware and not by the memory model: a warp's
  /// instructions before a product of wgmma that has ended.
  Clocks likely;
  FarClocks far;
  bool predecessors = false;  // griddepcontrol.wait has been passed

  void join(const Knowledge& other);
  /// What a relaxed arrival at the cluster's barrier brings.
  void join_relaxed(const Knowledge& other);
  void clear();
};

/// Of a barrier: what has been brought to the phase that is open, and what the last one brought.
struct BarrierKnowledge {
  Knowledge open, ended;
  /// CTAs by rank that have arrived, and those whose arrivals reach their own CTA alone.
  uint32_t open_ranks = 0, open_narrow = 0, ended_ranks = 0, ended_narrow = 0;
};

enum class Proxy : uint8_t { generic, async };

/// How far a strong access reaches: weak ones are no part of any synchronisation.
enum class Reach : uint8_t { weak, cta, cluster, gpu };

/// How bad a report is. `letter`: by the memory model alone, on no hardware that is known.
enum class Severity : uint8_t { error, letter };

/// What releases have left at an address, for those who acquire there.
class Releases {
 public:
  /// Who releases or acquires.
  struct Place {
    uint32_t cluster = 0, rank = 0;
  };
  /// A write of `reach`. Without `what` it releases nothing; `joins`: it is an atomic operation,
  /// which keeps what those before it have released.
  void write(uint64_t address, Place place, Reach reach, const Knowledge* what, bool joins);
  /// Adds to `into` what a read of that reach acquires.
  void read(uint64_t address, Place place, Reach reach, Knowledge* into) const;
  bool empty() const { return left_.empty(); }
  void clear() { left_.clear(); }

 private:
  struct Left {
    FarClocks clocks;  // the releaser's own cluster is one of them
    bool predecessors = false;
  };
  /// An address, and which threads may acquire what is left: all, a cluster's, a CTA's.
  using Key = std::pair<uint64_t, uint64_t>;
  static uint64_t domain(Place place, Reach reach);

  std::map<Key, Left> left_;
};

}  // namespace tw::ptx_machine
