// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a kernel launch: clusters of CTAs, whose warps take turns on one host thread.

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "tests/ptx_machine/machine/global_memory.hpp"
#include "tests/ptx_machine/machine/judge.hpp"
#include "tests/ptx_machine/machine/warp.hpp"

namespace tw::ptx_machine {

struct Shape {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {32, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t dynamic_shared = 0;
};

struct Options {
  /// 0: warps take long turns in order. Otherwise the order and the lengths of turns are random.
  uint64_t seed = 0;
  /// Do asynchronous work only when something waits for it or nothing else can run.
  bool late = false;
  uint64_t most_instructions = uint64_t{1} << 36;  ///< thread instructions before the launch fails
  uint32_t resident = 64;                          ///< CTAs that run at once
  /// Report reads of shared memory that nothing has written. Off by default: our kernels read such
  /// bytes in vectors and rows, and use only the other elements.
  bool strict_reads = false;
  /// Detect races (judge.hpp).
  bool judge = false;
  /// Receives reports of severity `letter`; may be nullptr. `history` has the accesses of earlier
  /// launches; nullptr: none.
  std::set<std::string>* letters = nullptr;
  History* history = nullptr;
};

struct Statistics {
  uint64_t thread_instructions = 0;
  bool approximate = false;  ///< an approximate function has run; its bits differ from a GPU's
  bool unordered = false;    ///< floating-point numbers were added in no fixed order
};

/// Generic addresses from these on are in another space than global memory.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 60;
inline constexpr uint64_t kLocalWindow = uint64_t{1} << 61;
inline constexpr uint64_t kParamWindow = uint64_t{1} << 62;
/// As on the hardware, a shared memory address has the CTA's rank in the cluster above its offset.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint32_t kMostShared = 232448;
inline constexpr uint8_t kPoison = 0x5b;

/// A barrier of bar.sync; counts threads.
struct NamedBarrier {
  uint32_t arrived = 0;
  uint32_t expected = 0;
  uint64_t generation = 0;
};

/// A wgmma of a warpgroup. It begins when all four warps have issued it.
struct Product {
  std::function<void()> run[4];  // the warps' parts
  uint32_t judged[4] = {}, times[4] = {};
  uint32_t issued = 0, waited = 0;  // number of warps
  uint64_t number = 0;              // from Launch::begin_work(), once it has begun
};
struct Warpgroup {
  uint64_t issued[4] = {};  // per warp: the number of wgmmas issued
  std::map<uint64_t, Product> products;
  uint64_t last_number = 0;
};

struct Cluster;

struct Cta {
  Launch* launch = nullptr;
  Cluster* cluster = nullptr;
  uint32_t id[3] = {};
  uint32_t rank = 0;
  std::vector<Warp> warps;
  std::vector<uint8_t> shared_storage;
  uint8_t* shared = nullptr;  // 1024-byte aligned; offsets count from it
  uint32_t shared_bytes = 0;
  std::vector<uint8_t> written;  // per byte of shared memory: something has written it
  NamedBarrier barriers[16];
  std::vector<Warpgroup> warpgroups;
  uint32_t alive_warps = 0;
};

struct Cluster {
  uint32_t id[3] = {};
  std::vector<std::unique_ptr<Cta>> ctas;
  uint32_t arrived = 0;  // threads
  uint32_t alive = 0;
  uint64_t generation = 0;
  std::unique_ptr<Judge> judge;
};

struct Launch {
  const Image& image;
  const GlobalMemory& memory;
  Shape shape;
  Options options;
  std::unique_ptr<History> own_history;  // if the options have none
  std::vector<uint8_t> params;           // 128-byte aligned by param(): tensor maps are in it
  std::mt19937_64 random;
  std::map<uint64_t, std::function<void()>> pending;
  uint64_t last_work = 0;
  std::vector<std::unique_ptr<Cluster>> clusters;  // the resident ones
  Statistics statistics;

  const uint8_t* param(uint64_t offset) const;
  /// Does asynchronous work, now or later. Returns its number for finish(), 0 if it is done.
  uint64_t begin_work(std::function<void()> work);
  /// Does the work if it is still pending.
  void finish(uint64_t number);
};

/// Runs a kernel to its end. Throws Error, which names the place, at the first fault.
Statistics run_launch(const Image& image, const GlobalMemory& memory, const Shape& shape,
                      const void* params, size_t param_bytes, const Options& options = {});

uint64_t special_value(const Warp& warp, Special special, uint32_t lane);
inline uint64_t shared_base(const Warp& warp) {
  return uint64_t{warp.cta->rank} << kRankShift;
}
/// Removes exited threads from the count that the cluster's barrier expects. `have_arrived`: the
/// current phase has counted them.
void cluster_exit(Cluster& cluster, uint32_t threads, bool have_arrived);
void cluster_arrive(Cluster& cluster, uint32_t threads);

}  // namespace tw::ptx_machine
