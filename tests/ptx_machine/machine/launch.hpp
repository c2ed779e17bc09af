// SPDX-License-Identifier: Apache-2.0
#pragma once
// A launch: clusters of CTAs of warps, which take turns.

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
  /// 0: warps take turns in their order, and long ones. Otherwise in an order and of lengths by
  /// chance.
  uint64_t seed = 0;
  /// Asynchronous work is done when something waits for it or nothing else can go on, and not at
  /// once.
  bool late = false;
  uint64_t most_instructions = uint64_t{1} << 36;  ///< of threads: above, the launch does not end
  uint32_t resident = 64;                          ///< CTAs that run at once
  /// A read of shared memory that nothing has written is a fault. Our kernels do so in vectors and
  /// rows whose other elements count alone.
  bool strict_reads = false;
  /// Accesses to memory are held against each other (judge.hpp).
  bool judge = false;
  /// Where reports of severity `letter` go, and what launches before have done, where that counts.
  std::set<std::string>* letters = nullptr;
  History* history = nullptr;
};

struct Statistics {
  uint64_t thread_instructions = 0;
  bool approximate = false;  ///< an approximate function has run, whose bits are not a GPU's
  bool unordered = false;    ///< floating-point numbers were added up in no fixed order
};

/// A generic address above these is of another space than global memory.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 60;
inline constexpr uint64_t kLocalWindow = uint64_t{1} << 61;
inline constexpr uint64_t kParamWindow = uint64_t{1} << 62;
/// An address of shared memory has the CTA's rank in its cluster above its offset, as on the
/// hardware.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint32_t kMostShared = 232448;
inline constexpr uint8_t kPoison = 0x5b;

/// A barrier of a CTA, in threads.
struct NamedBarrier {
  uint32_t arrived = 0;
  uint32_t expected = 0;
  uint64_t generation = 0;
};

/// A product of a warpgroup: it begins when all four warps have come to it.
struct Product {
  std::function<void()> run[4];  // the warps' parts
  uint32_t judged[4] = {}, times[4] = {};
  uint32_t issued = 0, waited = 0;  // warps
  uint64_t number = 0;              // of the launch's work, once it has begun
};
struct Warpgroup {
  uint64_t issued[4] = {};  // products of each warp
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
  std::vector<uint8_t> written;  // of shared memory, byte by byte
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
  std::unique_ptr<History> own_history;  // where the options have none
  std::vector<uint8_t> params;           // from a multiple of 128 on: tensor maps lie in it
  std::mt19937_64 random;
  std::map<uint64_t, std::function<void()>> pending;
  uint64_t last_work = 0;
  std::vector<std::unique_ptr<Cluster>> clusters;  // that are resident
  Statistics statistics;

  const uint8_t* param(uint64_t offset) const;
  /// Does asynchronous work, now or later; its number is for finish().
  uint64_t begin_work(std::function<void()> work);
  void finish(uint64_t number);
};

/// Runs a kernel to its end. Throws Error with the place where it does what it must not.
Statistics run_launch(const Image& image, const GlobalMemory& memory, const Shape& shape,
                      const void* params, size_t param_bytes, const Options& options = {});

uint64_t special_value(const Warp& warp, Special special, uint32_t lane);
inline uint64_t shared_base(const Warp& warp) {
  return uint64_t{warp.cta->rank} << kRankShift;
}
/// Counts a CTA's threads that have exited out of its cluster's barrier.
void cluster_exit(Cluster& cluster, uint32_t threads);
void cluster_arrive(Cluster& cluster, uint32_t threads);

}  // namespace tw::ptx_machine
