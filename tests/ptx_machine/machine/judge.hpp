// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether accesses to the shared memory of a cluster are in an order: by barriers, by completion of
// asynchronous work that was waited for, and by fences between the generic and the async proxy.
//
// Who accesses is a warp, or the asynchronous work that it has begun. Each has a clock; a warp
// knows up to which time of every other what has happened is before it (`known`), and which of that
// a proxy fence has made visible to the async proxy (`fenced`). Barriers carry what their arrivers
// know to those who wait. Lanes of one warp are not told apart.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tw::ptx_machine {

struct Cta;
struct Cluster;
struct Warp;

/// For each agent a time.
using Clocks = std::vector<uint32_t>;

/// What one side has to tell the other.
struct Knowledge {
  Clocks known, fenced;
  /// What has been done, whether or not what it wrote is visible: enough to overwrite what was
  /// read. A relaxed arrival at a cluster's barrier brings this alone.
  Clocks passed;
  void join(const Knowledge& other);
  void clear();
};

/// Of a barrier: what has been brought to the phase that is open, and what the last one brought.
struct BarrierKnowledge {
  Knowledge open, ended;
};

enum class Proxy : uint8_t { generic, async };

class Judge {
 public:
  explicit Judge(const Cluster& cluster);

  /// An access by the warp's threads themselves. `lane` is not told apart.
  void access(Warp& warp, const Cta& cta, uint64_t offset, uint64_t bytes, bool reads, bool writes);
  /// A number for asynchronous work that the warp begins now.
  uint32_t begin_work(Warp& warp);
  /// What the work reads or writes; it may do so from now on until it has ended.
  void work_access(Warp& warp, uint32_t work, const Cta& cta, uint64_t offset, uint64_t bytes,
                   bool writes, Proxy proxy);
  /// The warp has waited for work of its own, or of another warp of its CTA.
  void work_ended(Warp& warp, uint32_t work) { work_ended(warp, warp, work); }
  void work_ended(Warp& warp, const Warp& owner, uint32_t work);
  /// The work's end counts on a barrier; whoever waits for that knows of it.
  void work_arrives(const Warp& warp, uint32_t work, BarrierKnowledge* barrier);

  void fence_proxy(Warp& warp);
  void arrive(Warp& warp, BarrierKnowledge* barrier, bool relaxed = false);
  static void end_phase(BarrierKnowledge* barrier);
  void wait(Warp& warp, const BarrierKnowledge& barrier);

  BarrierKnowledge& mbarrier(const Cta& cta, uint64_t offset);
  BarrierKnowledge& named(const Cta& cta, uint32_t id);
  BarrierKnowledge& cluster() { return cluster_; }

 private:
  struct Write {
    uint32_t agent = 0, time = 0, line = 0;
    Proxy proxy = Proxy::generic;
    bool torn =
        false;  // over another write by the async proxy, without an order: nobody may read it
  };
  /// Per byte the last write; per word of four bytes and agent the time of the last read, the four
  /// bytes that it had below.
  struct Shadow {
    std::vector<Write> writes;
    std::vector<uint32_t> reads;
    std::vector<uint32_t> read_lines;  // per agent
  };

  uint32_t agent(const Warp& warp) const;
  /// The warp's next time begins.
  void step(Warp& warp);
  Knowledge& of(const Warp& warp) { return warps_[agent(warp)]; }
  Shadow& shadow(const Cta& cta);
  /// True where work of the async proxy may be overwritten while it goes on, by such work.
  bool check_write(Warp& warp, const Shadow& shadow, uint32_t self, uint64_t offset, uint64_t bytes,
                   Proxy proxy);
  void check_read(Warp& warp, const Shadow& shadow, uint32_t self, uint64_t offset, uint64_t bytes,
                  Proxy proxy);
  void record(Shadow& shadow, uint32_t agent, uint32_t time, uint64_t offset, uint64_t bytes,
              bool writes, Proxy proxy, uint32_t line, bool torn = false);
  [[noreturn]] void report(Warp& warp, const std::string& what, uint64_t offset,
                           uint32_t other_agent, uint32_t other_line) const;

  uint32_t per_cta_, count_;  // warps of a CTA, of the cluster
  std::vector<Knowledge> warps_;
  std::vector<uint32_t> works_;  // of each warp, how many it has begun
  std::vector<Shadow> shadows_;  // by rank
  std::unordered_map<uint64_t, BarrierKnowledge> mbarriers_, named_;
  BarrierKnowledge cluster_;
};

}  // namespace tw::ptx_machine
