// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the benchmarks measure: one GPU, one stream, variants of a case interleaved, medians.
//
// Before every timed launch a kernel reads 256 MB, which leaves the L2 full of clean lines that
// nobody needs. The queue is kept full, so that no gap of the host's is timed. Launches of a few
// microseconds are timed as graphs of many of them, on a warm L2.
//
// One thread; aborts with a message where anything fails: a benchmark has nobody to report to.

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

/// The driver's own copies, for comparison, and what timing needs of it.
struct Driver {
#define TW_BENCH_SYMBOL(name, symbol) decltype(&::name) name##_ = nullptr;
#include "tests/bench/common/symbols.inc"
#undef TW_BENCH_SYMBOL
};

/// One way of doing a case.
struct Variant {
  std::string name;
  std::function<void()> enqueue;
  std::function<void()> before = nullptr;  ///< enqueued first, and not timed
};

/// What a variant takes when it runs by itself for a while.
struct Alone {
  double us = 0;      ///< of a launch
  double joules = 0;  ///< of a launch, by the GPU's own energy counter; 0: it has none
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
  /// In how many 16-byte units two buffers differ; `bytes` is a multiple of 16.
  uint64_t differences(uint64_t one, uint64_t other, uint64_t bytes);
  /// Fills memory with random bytes again.
  void scramble(uint64_t address, uint64_t bytes);
  void upload(uint64_t to, const void* from, uint64_t bytes);
  void release_all();

  /// Whether a pass over the L2 precedes each timed launch of what follows; it does at first.
  void flush_before_each(bool on) { flushes_ = on; }
  /// Whether races tell the clock, too, for which a kernel of one thread runs before and after each
  /// timed launch; they do not at first.
  void read_clocks(bool on) { reads_clocks_ = on; }
  /// Megahertz of the SMs while each variant of the last race ran, medians; 0: not read.
  const std::vector<double>& megahertz() const { return megahertz_; }
  /// Median microseconds of each variant over `repeats` rounds.
  std::vector<double> race(const std::vector<Variant>& variants, int repeats);
  /// The same for launches too short to be timed alone: graphs of `nodes` launches, L2 warm.
  std::vector<double> race_graphs(const std::vector<Variant>& variants, int nodes, int repeats);
  /// Each variant by itself, launches back to back, for `seconds` twice, in the order ABBA: at the
  /// power limit the clock depends on what ran before. `guess_us` is about a launch's time.
  std::vector<Alone> race_alone(const std::vector<Variant>& variants, double seconds,
                                double guess_us);
  /// Enqueues a kernel that reads the range once, 64 bytes a thread at once, and keeps
  /// nothing; of `bytes` what is no multiple of 32 KB is left out.
  void read(uint64_t address, uint64_t bytes);
  /// Enqueues a kernel of one thread that does nothing for as long.
  void spin(uint64_t nanoseconds);
  /// The pass over the L2 alone.
  void flush();
  /// Makes lines that are to be evicted last normal ones, which a flush alone does not rid the L2
  /// of; waits for what runs.
  void forget_priorities();

 private:
  Alone run_alone(const Variant& variant, double seconds, double guess_us);
  /// Enqueues what writes an SM's clock, the time there and which SM it is: three words.
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

/// Arguments: --filter=TEXT (cases whose name holds it), --repeats=N, --json, --methods=MASK,
/// --stages=N and --stage_bytes=N (of the rings; 0 is the library's choice), --sweep (bench_rows:
/// all tunings in place of the table), --profile (bench_moves: what prefetch_counters.py looks at).
struct Options {
  std::string filter;
  int repeats = 30;
  bool json = false;
  uint32_t methods = ~0u;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
  bool sweep = false;
  bool profile = false;
  std::string peers;  // a file of what a script of peers printed
  uint32_t max_sms = 0;
};
Options parse_options(int argc, char** argv);
inline bool wanted(const Options& options, const std::string& name) {
  return name.find(options.filter) != std::string::npos;
}

inline constexpr double kSmallSlack = 0.2;  // us

/// What a script of peers printed, by the name of the case.
struct Peer {
  std::string name;
  double us;
};
using Peers = std::multimap<std::string, Peer>;
Peers read_peers(const std::string& path);

/// One line of a table: what ran, how fast, against the contiguous copy and against a peer.
struct Line {
  std::string name;
  std::string kernel;
  double bytes = 0;  ///< read plus written
  double us = 0;
  double copy_us = 0;  ///< cuMemcpyAsync moving as many bytes; 0: not measured
  std::string peer;
  double peer_us = 0;
  double target = 0;   ///< of the contiguous copy's speed; 0: none stated
  bool small = false;  ///< may take kSmallSlack longer than the peer, or the contiguous copy
};
void print_header(const Options& options);
void print_line(const Options& options, const Line& line);

}  // namespace tw::bench
