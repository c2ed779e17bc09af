// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether the accesses of a cluster to its shared memory and to global memory are in an order: by
// barriers, by releases and acquires, by completion of asynchronous work that was waited for, and
// by fences between the generic and the async proxy.
//
// Who accesses is a warp, or the asynchronous work that it has begun (knowledge.hpp). What a lane
// writes to shared memory and another lane of its warp reads needs an order too; otherwise the
// lanes of a warp are not told apart.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/ptx_machine/machine/history.hpp"
#include "tests/ptx_machine/machine/knowledge.hpp"

namespace tw::ptx_machine {

struct Cta;
struct Cluster;
struct Warp;

/// In the place of a lane: nobody asks which it is; all lanes of the warp.
inline constexpr uint8_t kNoLane = 255, kEachLane = 254;

/// What an access by threads is beside its range.
struct Use {
  uint8_t lane = kNoLane;
  Reach reach = Reach::weak;
  bool constant = false;    // by the path for constant data
  bool map_copied = false;  // tensormap.cp_fenceproxy
  bool same = false;        // writes what is there
};

/// How a strong access orders others.
struct Order {
  bool acquires = false, releases = false;
};

class Judge {
 public:
  Judge(const Cluster& cluster, uint32_t number, History* history);

  // Shared memory. Reports are faults of the warp.
  void access(Warp& warp, const Cta& cta, uint64_t offset, uint64_t bytes, bool reads, bool writes,
              const Use& use = {});
  /// A number for asynchronous work that the warp begins now.
  uint32_t begin_work(Warp& warp);
  /// What the work reads or writes; it may do so from now on until it has ended.
  void work_access(Warp& warp, uint32_t work, const Cta& cta, uint64_t offset, uint64_t bytes,
                   bool writes, Proxy proxy, uint8_t lane = kNoLane);
  /// The warp has waited for work of its own, or of another warp of its CTA. `read`: only until the
  /// work has read what it stores.
  void work_ended(Warp& warp, uint32_t work, bool read) { work_ended(warp, warp, work, read); }
  void work_ended(Warp& warp, const Warp& owner, uint32_t work, bool read = false);
  /// A product that another warp has begun with it at its time `time` has ended.
  void product_ended(Warp& warp, const Warp& other, uint32_t time);
  /// The warp's time, which ends here.
  uint32_t end_time(Warp& warp);
  /// The work's end counts on a barrier; whoever waits for that knows of it.
  void work_arrives(const Warp& warp, uint32_t work, BarrierKnowledge* barrier);

  // Global memory.
  void global_access(Warp& warp, uint64_t address, uint64_t bytes, bool reads, bool writes,
                     const Use& use = {});
  void work_global(Warp& warp, uint32_t work, uint64_t address, uint64_t bytes, bool writes,
                   Proxy proxy, Reach reach = Reach::weak);
  /// A tensor map in global memory is used, or an acquire fence makes it usable.
  void map_used(Warp& warp, uint64_t address);
  void map_acquired(Warp& warp, uint64_t address);

  // Order through memory: `key` is an address of global memory, or shared_key().
  static uint64_t shared_key(const Cta& cta, uint64_t offset);
  void strong_read(Warp& warp, uint64_t key, Reach reach, Order order);
  void strong_write(Warp& warp, uint64_t key, Reach reach, Order order, bool joins);
  void fence(Warp& warp, Reach reach);
  void fence_proxy(Warp& warp, bool shared, bool global);
  void fence_inits(Warp& warp);
  void predecessors_ended(Warp& warp);
  /// bar.warp.sync
  void lanes_met(Warp& warp);

  // Barriers.
  void arrive(Warp& warp, BarrierKnowledge* barrier, Reach reach, bool relaxed = false);
  static void end_phase(BarrierKnowledge* barrier);
  void wait(Warp& warp, const BarrierKnowledge& barrier, Reach reach);
  /// Whoever uses a barrier in shared memory must know that it has been initialised.
  void barrier_used(Warp& warp, const Cta& cta, uint64_t offset);
  /// The warp's threads access the CTA's shared memory by an arrival at a barrier there.
  void arrives_at(Warp& warp, const Cta& cta);
  /// All threads of the CTA have exited: nobody may still reach its shared memory.
  void cta_exits(Warp& last);

  BarrierKnowledge& mbarrier(const Cta& cta, uint64_t offset);
  BarrierKnowledge& named(const Cta& cta, uint32_t id);
  BarrierKnowledge& cluster() { return cluster_; }

 private:
  /// A write to shared memory.
  struct Write {
    uint32_t agent = 0, time = 0, line = 0;
    Op op{};
    Proxy proxy = Proxy::generic;
    Reach reach = Reach::weak;
    bool torn =
        false;  // over another write by the async proxy, without an order: nobody may read it
    bool operator==(const Write&) const = default;
  };
  /// Per byte the last write and its lane; per word of four bytes and agent the time of the last
  /// read, the four bytes that it had below.
  struct Shadow {
    std::vector<uint32_t> writes;
    std::vector<uint8_t> lanes;
    std::vector<uint32_t> reads;
    std::vector<uint32_t> read_lines;  // per agent
    /// Of each agent of another CTA, and of asynchronous work, the last access and its line.
    Clocks remote;
    std::vector<uint32_t> remote_lines;
  };
  /// Who accesses, and how.
  struct Access {
    uint32_t agent = 0, own = 0, time = 0;  // own: the warp that has begun the work, or itself
    Proxy proxy = Proxy::generic;
    Use use;
  };
  /// The other access of a report.
  struct Other {
    uint32_t agent, line;
    Op op;
  };

  uint32_t agent(const Warp& warp) const;
  /// The warp's next time begins.
  void step(Warp& warp);
  void learn(Warp& warp, const Knowledge& knowledge);
  Knowledge& of(const Warp& warp) { return warps_[agent(warp)]; }
  Shadow& shadow(const Cta& cta);
  uint32_t write_id(const Write& write);
  bool before(const Write& write, uint8_t lane, const Access& access, uint32_t line,
              const Clocks& known) const;
  /// Bytes from `begin` on that one write has left, and how far it goes; its lane is of the first.
  struct Run {
    uint64_t begin = 0, until = 0;
    uint32_t id = 0;
    uint8_t lane = kNoLane;
  };
  template <class Visit>
  void each_run(const Cta& cta, uint64_t offset, uint64_t bytes, Visit visit);
  bool over_write(Warp& warp, const Cta& cta, const Access& access, const Run& run);
  void over_reads(Warp& warp, const Cta& cta, const Access& access, uint64_t begin, uint64_t end);
  /// True where work of the async proxy may be overwritten while it goes on, by such work.
  bool check_write(Warp& warp, const Cta& cta, const Access& access, uint64_t offset,
                   uint64_t bytes);
  void check_read(Warp& warp, const Cta& cta, const Access& access, uint64_t offset,
                  uint64_t bytes);
  void record(Warp& warp, const Cta& cta, const Access& access, uint64_t offset, uint64_t bytes,
              bool writes, bool torn = false);
  [[noreturn]] void report(Warp& warp, const std::string& what, const Cta& cta, const Run& run,
                           const Other& other, const std::string& remedy) const;
  std::string order_for(const Warp& warp, const Other& other) const;
  std::string who(uint32_t agent) const;

  // Global memory (global_judge.cpp).
  void global(Warp& warp, const GlobalAccess& access, uint64_t address, uint64_t bytes, bool reads,
              bool writes);
  bool ordered(Warp& warp, const GlobalAccess& other, const GlobalAccess& access, bool other_reads);
  bool fenced(Warp& warp, const GlobalAccess& other);
  void check_global_write(Warp& warp, const GlobalAccess& access, const History::Run& run);
  void check_global_read(Warp& warp, const GlobalAccess& access, const History::Run& run);
  GlobalAccess global_access_of(Warp& warp) const;
  [[noreturn]] void report_global(Warp& warp, const std::string& what, const History::Run& run,
                                  const GlobalAccess& other, const std::string& remedy) const;

  const Cluster& cluster_of_;
  uint32_t number_, per_cta_, count_;  // the cluster's; warps of a CTA, of the cluster
  History& history_;
  std::vector<Knowledge> warps_;
  std::vector<Knowledge> seen_;  // by relaxed reads, for a fence to acquire
  struct Fence {
    Reach reach = Reach::weak;
    Knowledge knowledge;
  };
  std::vector<Fence> fences_;    // the last one of each warp, for writes behind it to release
  std::vector<uint32_t> met_;    // of each warp, until when its lanes know of each other
  std::vector<uint32_t> works_;  // of each warp, how many it has begun
  std::vector<std::unordered_map<uint64_t, uint32_t>> maps_;  // of each warp, that it has acquired
  std::vector<Shadow> shadows_;                               // by rank
  std::vector<Write> writes_{1};
  std::vector<uint32_t> recent_;  // writes by their line
  Releases shared_releases_;
  std::unordered_map<uint64_t, BarrierKnowledge> mbarriers_, named_;
  BarrierKnowledge cluster_;
};

/// Where the warp's instruction stands.
uint32_t line_of(const Warp& warp);
Op op_of(const Warp& warp);

}  // namespace tw::ptx_machine
