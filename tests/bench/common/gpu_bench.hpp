// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the benchmarks measure: one GPU, one stream, interleaved variants of a case, medians.
//
// Before every timed launch, a kernel flushes the L2: it reads 256 MB, which leaves the L2 full of
// clean lines of other data. The stream never runs empty, so that host gaps are not timed. Launches
// of a few microseconds are timed as graphs of many, with a warm L2.
//
// Single-threaded. Any failure ends the program with a message.

#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device.hpp"
#include "tests/bench/common/gpu_sensors.hpp"

namespace tw::bench {

/// Ends the program with the message unless `good`.
void require(bool good, const char* what);
void require(Status status);

/// Driver functions: copies to compare with, and those that timing needs.
struct Driver {
#define TW_BENCH_SYMBOL(name, symbol) decltype(&::name) name##_ = nullptr;
#include "tests/bench/common/symbols.inc"
#undef TW_BENCH_SYMBOL
};

struct Variant {
  std::string name;
  std::function<void()> enqueue;
  std::function<void()> before = nullptr;  ///< unused
};

/// Cost of a launch of a variant that runs by itself for a while.
struct Alone {
  double us = 0;
  double joules = 0;  ///< by the GPU's energy counter; 0: it has none
};

class GpuBench {
 public:
  GpuBench();
  GpuBench(const GpuBench&) = delete;
  GpuBench& operator=(const GpuBench&) = delete;

  const std::shared_ptr<Device>& device() const { return device_; }
  Stream& stream() { return *stream_; }
  CUstream cuda_stream() const { return cuda_stream_; }
  const Driver& driver() const { return driver_; }
  const GpuSensors& sensors() const { return *sensors_; }

  /// Device memory, filled with random bytes; freed by release_all().
  uint64_t allocate(uint64_t bytes);
  /// Number of 16-byte units in which two buffers differ; `bytes` is a multiple of 16.
  uint64_t differences(uint64_t one, uint64_t other, uint64_t bytes);
  void scramble(uint64_t address, uint64_t bytes);
  void upload(uint64_t to, const void* from, uint64_t bytes);
  void release_all();

  /// Whether later races flush the L2 before each timed launch; on by default.
  void flush_before_each(bool on) { flushes_ = on; }
  /// Whether races also read the SM clock, by a one-thread kernel before and after each timed
  /// launch; off by default.
  void read_clocks(bool on) { reads_clocks_ = on; }
  /// Median SM clock in MHz of each variant of the last race; 0: not read.
  const std::vector<double>& megahertz() const { return megahertz_; }
  /// Median microseconds per launch of each variant over `repeats` rounds.
  std::vector<double> race(const std::vector<Variant>& variants, int repeats);
  /// The same for launches too short to time singly: graphs of `nodes` launches, with a warm L2.
  std::vector<double> race_graphs(const std::vector<Variant>& variants, int nodes, int repeats);
  /// Runs each variant by itself, back to back, for `seconds` twice, in the order ABBA, because at
  /// the power limit the clock depends on what ran before. `guess_us` estimates a launch's time.
  std::vector<Alone> race_back_to_back(const std::vector<Variant>& variants, double seconds,
                                       double guess_us);
  /// The kernels that a variant launches, by the names in their modules, with commas between.
  std::string kernel_names(const Variant& variant);
  /// Enqueues a kernel that reads the range once, 64 bytes per thread. Ignores the part of `bytes`
  /// beyond a multiple of 32 KB.
  void read(uint64_t address, uint64_t bytes);
  /// Enqueues a one-thread kernel that waits for this time.
  void spin(uint64_t nanoseconds);
  void flush();
  /// Resets evict-last lines to normal, since flush() does not evict them. Waits for running work.
  void reset_cache_priorities();

 private:
  CUgraph capture(const Variant& variant, int launches);
  Alone run_alone(const Variant& variant, double seconds, double guess_us);
  /// Enqueues a kernel that writes an SM's clock, its time in ns and its number: three words.
  void read_clock(uint64_t to);

  Driver driver_;
  std::shared_ptr<Device> device_;
  CUstream cuda_stream_ = nullptr;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Kernel> read_;
  std::unique_ptr<Kernel> read_wide_;
  std::unique_ptr<Kernel> spin_;
  std::unique_ptr<Kernel> scramble_;
  std::unique_ptr<Kernel> compare_;
  uint64_t flush_buffer_ = 0;
  bool flushes_ = true;
  bool reads_clocks_ = false;
  std::unique_ptr<Kernel> clock_;
  std::vector<double> megahertz_;
  std::vector<uint64_t> allocations_;
  std::unique_ptr<GpuSensors> sensors_;
};

/// Arguments: --filter=TEXT (cases whose name contains it), --repeats=N, --json, --methods=MASK,
/// --stages=N and --stage_bytes=N (of the pipelines; 0: the library's choice), --peers=FILE,
/// --max_sms=N, --sweep (bench_rows: all tunings instead of the table), --profile (bench_cache and
/// bench_moves: for cache_counters.py and prefetch_counters.py).
struct Options {
  std::string filter;
  int repeats = 30;
  bool json = false;
  uint32_t methods = ~0u;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
  bool sweep = false;
  bool profile = false;
  std::string peers;  // output file of a peer script
  uint32_t max_sms = 0;
};
Options parse_options(int argc, char** argv);
inline bool wanted(const Options& options, const std::string& name) {
  return name.find(options.filter) != std::string::npos;
}

inline constexpr double kSmallSlack = 0.2;  // us

/// A result of a peer script; Peers maps a case's name to results.
struct Peer {
  std::string name;
  double us;
};
using Peers = std::multimap<std::string, Peer>;
Peers read_peers(const std::string& path);

/// One line of a table: a case's time, compared with the contiguous copy and with a peer.
struct Line {
  std::string name;
  std::string kernel;
  double bytes = 0;  ///< read plus written
  double us = 0;
  double copy_us = 0;  ///< time of cuMemcpyAsync for as many bytes; 0: not measured
  std::string peer;
  double peer_us = 0;
  double target = 0;   ///< wanted fraction of the contiguous copy's speed; 0: none stated
  bool small = false;  ///< may take kSmallSlack longer than the peer or the contiguous copy
};
void print_header(const Options& options);
void print_line(const Options& options, const Line& line);

}  // namespace tw::bench
