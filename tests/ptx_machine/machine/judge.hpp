// SPDX-License-Identifier: Apache-2.0
#pragma once
// The race detector of a cluster. It reports accesses to shared and global memory that nothing
// orders: no barrier, no release and acquire, no wait for asynchronous work, no fence between the
// generic and the async proxy.
//
// An agent is a warp, or asynchronous work (knowledge.hpp). Lanes of a warp are told apart only in
// shared memory, between a write and a later read or write, and a read and a later write.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/ptx_machine/machine/history.hpp"
#include "tests/ptx_machine/machine/knowledge.hpp"
#include "tests/ptx_machine/machine/lazy_zeros.hpp"

namespace tw::ptx_machine {

struct Cta;
struct Cluster;
struct Warp;

/// Values of Use::lane: the lanes are not told apart; all lanes of the warp access.
inline constexpr uint8_t kNoLane = 255, kEachLane = 254;

/// Properties of an access by threads, as in GlobalAccess.
struct Use {
  uint8_t lane = kNoLane;
  Reach reach = Reach::weak;
  bool constant = false;
  bool map_copied = false;
  bool same = false;
};

/// Asynchronous work: its agent, and its time on that agent's clock.
struct JudgedWork {
  uint32_t agent = 0, time = 0;
};

/// Memory order of a strong access.
struct Order {
  bool acquires = false, releases = false;
};

class Judge {
 public:
  Judge(const Cluster& cluster, uint32_t number, History* history);
  ~Judge();

  // Shared memory. An error fails the warp (Warp::fail()).
  void access(Warp& warp, const Cta& cta, uint64_t offset, uint64_t bytes, bool reads, bool writes,
              const Use& use = {});
  /// The agent of the warp's work of a kind, and that of work that completes at an mbarrier.
  uint32_t agent(const Warp& warp, Kind kind = Kind::warp) const;
  uint32_t agent_at(const Warp& warp, const Cta& cta, uint64_t barrier);
  /// Returns the number of asynchronous work that begins now: its time.
  uint32_t begin_work() { return ++works_; }
  /// The work may read or write this range at any time from now until its end.
  void work_access(Warp& warp, const JudgedWork& work, const Cta& cta, uint64_t offset,
                   uint64_t bytes, bool writes, Proxy proxy, uint8_t lane = kNoLane);
  /// The warp has waited for work of its own, or of another warp of its CTA.
  void work_ended(Warp& warp, const JudgedWork& work);
  /// A wgmma of the warpgroup has ended. `other`, a warp of it, issued its part at `time`.
  void product_ended(Warp& warp, const Warp& other, uint32_t time);
  /// Returns the warp's time and advances it.
  uint32_t end_time(Warp& warp);
  /// The work's completion arrives at a barrier; whoever waits there learns of it.
  static void work_arrives(const JudgedWork& work, BarrierKnowledge* barrier);

  // Global memory.
  void global_access(Warp& warp, uint64_t address, uint64_t bytes, bool reads, bool writes,
                     const Use& use = {});
  void work_global(Warp& warp, const JudgedWork& work, uint64_t address, uint64_t bytes,
                   bool writes, Proxy proxy, Reach reach = Reach::weak);
  /// The warp uses a tensor map in global memory, or executes an acquire fence for it.
  void map_used(Warp& warp, uint64_t address);
  void map_acquired(Warp& warp, uint64_t address);

  // Synchronization through memory: `key` is a global address or shared_key().
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
  /// Checks that the warp's use of an mbarrier is ordered after its initialization.
  void barrier_used(Warp& warp, const Cta& cta, uint64_t offset);
  /// Records an arrival at a barrier of `cta` as an access to its shared memory.
  void arrives_at(Warp& warp, const Cta& cta);
  /// All threads of the CTA have exited. Checks that nobody may still access its shared memory.
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
    bool torn = false;  // unordered with an async proxy's write to these bytes: must not be read
    bool operator==(const Write&) const = default;
  };
  /// State of a CTA's shared memory. `writes` and `lanes`: for each byte the last write and its
  /// lane. `reads`: for each 4-byte word, and each agent that may read it, the agent's last read.
  /// The lower four bits are a mask of the word's bytes that it read, and the other bits are its
  /// time. `read_lanes`: for each word and warp of the CTA the lane of the warp's last read,
  /// kEachLane if there were several. Lanes of bytes without a write, and of words without a read,
  /// mean nothing.
  struct Shadow {
    LazyZeros<uint32_t> writes;
    LazyZeros<uint8_t> lanes;
    LazyZeros<uint32_t> reads;
    LazyZeros<uint8_t> read_lanes;
    /// For each block of kShadowBlock bytes: it has a write or a read.
    std::vector<uint8_t> touched;
    std::vector<uint32_t> read_lines;  // per agent
    /// Per agent that is asynchronous work or in another CTA: time and line of its last access.
    Clocks remote;
    std::vector<uint32_t> remote_lines;
  };
  struct Access {
    uint32_t agent = 0, own = 0, time = 0;  // own: the warp itself, or the one that began the work
    Proxy proxy = Proxy::generic;
    Use use;
  };
  /// The other access of a report.
  struct Other {
    uint32_t agent, line;
    Op op;
  };

  /// The warp that an agent is, or that has begun its last work.
  uint32_t warp_of(uint32_t agent) const;
  /// Advances the warp's time.
  void step(Warp& warp);
  void learn(Warp& warp, const Knowledge& knowledge);
  Knowledge& of(const Warp& warp) { return warps_[agent(warp)]; }
  Shadow& shadow(const Cta& cta);
  uint32_t write_id(const Write& write);
  bool before(const Write& write, uint8_t lane, const Access& access, uint32_t line,
              const Clocks& known) const;
  /// Bytes [begin, until) whose last write is `id`; `lane` is that of the first byte.
  struct Run {
    uint64_t begin = 0, until = 0;
    uint32_t id = 0;
    uint8_t lane = kNoLane;
  };
  template <class Visit>
  void each_run(const Cta& cta, uint64_t offset, uint64_t bytes, Visit visit);
  bool over_write(Warp& warp, const Cta& cta, const Access& access, const Run& run);
  void over_reads(Warp& warp, const Cta& cta, const Access& access, uint64_t begin, uint64_t end);
  void over_open_reads(Warp& warp, const Cta& cta, const Access& access, uint64_t word,
                       uint32_t mask);
  void over_lanes(Warp& warp, const Cta& cta, const Access& access, uint64_t word, uint32_t mask);
  /// Checks a write against earlier writes and reads. Returns true if the write may overlap in time
  /// with an earlier one and both are by the async proxy.
  bool check_write(Warp& warp, const Cta& cta, const Access& access, uint64_t offset,
                   uint64_t bytes);
  void check_read(Warp& warp, const Cta& cta, const Access& access, uint64_t offset,
                  uint64_t bytes);
  void record(Warp& warp, const Cta& cta, const Access& access, uint64_t offset, uint64_t bytes,
              bool writes, bool torn = false);
  [[noreturn]] void report(Warp& warp, const std::string& what, const Cta& cta, const Run& run,
                           const Other& other, const std::string& remedy) const;
  std::string order_for(const Warp& warp, const Other& other) const;
  static std::string who(bool work, uint32_t rank, uint32_t warp);
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
  uint32_t number_, per_cta_, count_;  // the cluster's number; warps per CTA, per cluster
  History& history_;
  std::vector<Knowledge> warps_;
  std::vector<Knowledge> seen_;  // per warp: found by relaxed reads, for a later fence to acquire
  struct Fence {
    Reach reach = Reach::weak;
    Knowledge knowledge;
  };
  std::vector<Fence> fences_;  // per warp: the last one, which later writes release
  std::vector<uint32_t> met_;  // per warp: its lanes know each other's accesses up to this time
  uint32_t works_ = 0;         // the number of works begun
  std::vector<uint32_t> at_barrier_;  // per agent of an mbarrier: the warp of its last work
  std::unordered_map<uint64_t, uint32_t> barrier_agents_;
  // Per warp: the tensor maps it has acquired, by address, and the ids of their writes.
  std::vector<std::unordered_map<uint64_t, uint32_t>> maps_;
  std::vector<Shadow> shadows_;  // by rank
  std::vector<Write> writes_{1};
  std::vector<uint32_t> recent_;  // cache of write_id()
  Releases shared_releases_;
  std::unordered_map<uint64_t, BarrierKnowledge> mbarriers_, named_;
  BarrierKnowledge cluster_;
};

/// PTX line and opcode of the warp's current instruction.
uint32_t line_of(const Warp& warp);
Op op_of(const Warp& warp);

}  // namespace tw::ptx_machine
