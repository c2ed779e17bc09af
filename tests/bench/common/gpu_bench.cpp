// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/common/gpu_bench.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "runtime/cuda/open_cuda.hpp"
#include "tests/bench/common/gpu_bench_kernels.hpp"

namespace tw::bench {
namespace {

constexpr uint64_t kFlushBytes = 256ull << 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct ClockReading {
  uint64_t clocks, nanoseconds, sm;
  uint64_t unused;
};

// 0 if the readings are from different SMs.
double megahertz_between(const ClockReading& before, const ClockReading& after) {
  if (before.sm != after.sm || after.nanoseconds <= before.nanoseconds) return 0;
  return 1e3 * static_cast<double>(after.clocks - before.clocks) /
         static_cast<double>(after.nanoseconds - before.nanoseconds);
}

void launch_over(Stream& stream, Kernel& kernel, uint64_t base, uint64_t bytes) {
  uint64_t units = bytes / 16;
  void* params[] = {&base, &units};
  LaunchConfig config;
  config.grid[0] = 132 * 4;
  config.block[0] = 512;
  require(stream.launch_params(kernel, config, params));
}

}  // namespace

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

void require(Status status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", code_name(static_cast<int32_t>(status.code())),
               last_failure().message);
  std::exit(1);
}

GpuBench::GpuBench() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::printf("skipped: there is no libcuda.so.1\n");
    std::exit(77);
  }
#define TW_BENCH_SYMBOL(name, symbol)                                                    \
  driver_.name##_ = reinterpret_cast<decltype(driver_.name##_)>(dlsym(library, symbol)); \
  require(driver_.name##_ != nullptr, symbol);
#include "tests/bench/common/symbols.inc"
#undef TW_BENCH_SYMBOL
  require(open_cuda_device(0, &device_));
  CUdevice number;
  CUcontext context;
  require(driver_.cuDeviceGet_(&number, 0) == CUDA_SUCCESS, "cuDeviceGet");
  require(driver_.cuDevicePrimaryCtxRetain_(&context, number) == CUDA_SUCCESS, "primary context");
  char bus[32] = "";
  require(driver_.cuDeviceGetPCIBusId_(bus, sizeof bus, number) == CUDA_SUCCESS, "PCI bus id");
  sensors_ = std::make_unique<GpuSensors>(bus);
  require(driver_.cuCtxSetCurrent_(context) == CUDA_SUCCESS, "cuCtxSetCurrent");
  require(driver_.cuStreamCreate_(&cuda_stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS,
          "cuStreamCreate");
  require(device_->wrap_stream(cuda_stream_, &stream_));
  require(device_->load_module(kPtx, sizeof kPtx, &module_));
  require(module_->kernel("bench_read", &read_));
  require(module_->kernel("bench_read_wide", &read_wide_));
  require(module_->kernel("bench_spin", &spin_));
  require(module_->kernel("bench_scramble", &scramble_));
  require(module_->kernel("bench_compare", &compare_));
  require(module_->kernel("bench_clock", &clock_));
  require(device_->allocate(kFlushBytes, &flush_buffer_));
  launch_over(*stream_, *scramble_, flush_buffer_, kFlushBytes);
  require(stream_->synchronize());
}

uint64_t GpuBench::allocate(uint64_t bytes) {
  uint64_t address = 0;
  require(device_->allocate((bytes + 255) / 256 * 256, &address));
  allocations_.push_back(address);
  launch_over(*stream_, *scramble_, address, (bytes + 255) / 256 * 256);
  return address;
}

uint64_t GpuBench::differences(uint64_t one, uint64_t other, uint64_t bytes) {
  uint64_t count = allocate(16);
  uint64_t units = bytes / 16;
  uint32_t found = 0;
  require(stream_->fill(count, 0, 16));
  void* params[] = {&one, &other, &units, &count};
  LaunchConfig config;
  config.grid[0] = 132 * 4;
  config.block[0] = 512;
  require(stream_->launch_params(*compare_, config, params));
  require(stream_->copy_to_host(&found, count, sizeof found));
  require(stream_->synchronize());
  return found;
}

void GpuBench::scramble(uint64_t address, uint64_t bytes) {
  launch_over(*stream_, *scramble_, address, bytes);
}

void GpuBench::upload(uint64_t to, const void* from, uint64_t bytes) {
  require(stream_->copy_to_device(to, from, bytes));
  require(stream_->synchronize());
}

void GpuBench::release_all() {
  require(stream_->synchronize());
  for (const uint64_t address : allocations_) require(device_->release(address));
  allocations_.clear();
}

void GpuBench::read(uint64_t address, uint64_t bytes) {
  uint64_t units = bytes / 16;
  void* params[] = {&address, &units};
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>((units + 2047) / 2048);
  config.block[0] = 512;
  require(stream_->launch_params(*read_wide_, config, params));
}

void GpuBench::spin(uint64_t nanoseconds) {
  void* params[] = {&nanoseconds};
  LaunchConfig config;
  config.block[0] = 1;
  require(stream_->launch_params(*spin_, config, params));
}

void GpuBench::read_clock(uint64_t to) {
  void* params[] = {&to};
  LaunchConfig config;
  config.block[0] = 1;
  require(stream_->launch_params(*clock_, config, params));
}

void GpuBench::flush() {
  launch_over(*stream_, *read_, flush_buffer_, kFlushBytes);
}

void GpuBench::reset_cache_priorities() {
  require(driver_.cuCtxResetPersistingL2Cache_() == CUDA_SUCCESS, "cuCtxResetPersistingL2Cache");
}

std::vector<double> GpuBench::race(const std::vector<Variant>& variants, int repeats) {
  const size_t count = variants.size();
  std::vector<std::vector<double>> times(count);
  std::vector<std::vector<double>> clocks(count);
  std::vector<ClockReading> readings(2 * count);
  const uint64_t read_to = reads_clocks_ ? allocate(readings.size() * sizeof(ClockReading)) : 0;
  const auto clock_of = [&](size_t reading) {
    if (reads_clocks_) read_clock(read_to + reading * sizeof(ClockReading));
  };
  std::vector<CUevent> events(2 * count);
  for (CUevent& event : events)
    require(driver_.cuEventCreate_(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS, "cuEventCreate");
  for (const Variant& variant : variants) variant.enqueue();  // warm-up
  // A variant runs faster after one that took little power, because the chip's clock is then
  // higher. So the order changes in every second round, and is reversed in the others.
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(1);
  for (int round = 0; round < repeats; ++round) {
    if (round % 2 == 0 && round > 0) std::shuffle(order.begin(), order.end(), random);
    for (size_t k = 0; k < count; ++k) {
      const size_t v = order[round % 2 ? count - 1 - k : k];
      if (flushes_) flush();
      clock_of(2 * v);
      require(driver_.cuEventRecord_(events[2 * v], cuda_stream_) == CUDA_SUCCESS, "event");
      variants[v].enqueue();
      require(driver_.cuEventRecord_(events[2 * v + 1], cuda_stream_) == CUDA_SUCCESS, "event");
      clock_of(2 * v + 1);
    }
    if (reads_clocks_)
      require(
          stream_->copy_to_host(readings.data(), read_to, readings.size() * sizeof(ClockReading)));
    require(stream_->synchronize());
    for (size_t v = 0; reads_clocks_ && v < count; ++v)
      if (const double megahertz = megahertz_between(readings[2 * v], readings[2 * v + 1]))
        clocks[v].push_back(megahertz);
    for (size_t v = 0; v < count; ++v) {
      float milliseconds = 0;
      require(driver_.cuEventElapsedTime_(&milliseconds, events[2 * v], events[2 * v + 1]) ==
                  CUDA_SUCCESS,
              "cuEventElapsedTime");
      times[v].push_back(static_cast<double>(milliseconds) * 1e3);
    }
  }
  for (CUevent& event : events) driver_.cuEventDestroy_(event);
  std::vector<double> medians;
  for (const auto& t : times) medians.push_back(median(t));
  megahertz_.clear();
  for (const auto& c : clocks) megahertz_.push_back(c.empty() ? 0 : median(c));
  return medians;
}

CUgraph GpuBench::capture(const Variant& variant, int launches) {
  CUgraph graph = nullptr;
  require(driver_.cuStreamBeginCapture_(cuda_stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) ==
              CUDA_SUCCESS,
          "cuStreamBeginCapture");
  for (int i = 0; i < launches; ++i) variant.enqueue();
  require(driver_.cuStreamEndCapture_(cuda_stream_, &graph) == CUDA_SUCCESS, "cuStreamEndCapture");
  return graph;
}

std::string GpuBench::kernel_names(const Variant& variant) {
  CUgraph graph = capture(variant, 1);
  size_t count = 0;
  require(driver_.cuGraphGetNodes_(graph, nullptr, &count) == CUDA_SUCCESS, "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  require(driver_.cuGraphGetNodes_(graph, nodes.data(), &count) == CUDA_SUCCESS, "cuGraphGetNodes");
  std::string names;
  for (CUgraphNode node : nodes) {
    CUDA_KERNEL_NODE_PARAMS launch = {};
    // Other nodes, such as memory sets, are no kernels.
    if (driver_.cuGraphKernelNodeGetParams_(node, &launch) != CUDA_SUCCESS) continue;
    const char* name = nullptr;
    const bool has_name = launch.func
                              ? driver_.cuFuncGetName_(&name, launch.func) == CUDA_SUCCESS
                              : driver_.cuKernelGetName_(&name, launch.kern) == CUDA_SUCCESS;
    names += (names.empty() ? "" : ",") + std::string(has_name ? name : "?");
  }
  driver_.cuGraphDestroy_(graph);
  return names;
}

std::vector<double> GpuBench::race_graphs(const std::vector<Variant>& variants, int nodes,
                                          int repeats) {
  const size_t count = variants.size();
  std::vector<CUgraphExec> graphs(count);
  for (size_t v = 0; v < count; ++v) {
    variants[v].enqueue();
    require(stream_->synchronize());
    CUgraph graph = capture(variants[v], nodes);
    require(driver_.cuGraphInstantiateWithFlags_(&graphs[v], graph, 0) == CUDA_SUCCESS,
            "cuGraphInstantiate");
    driver_.cuGraphDestroy_(graph);
  }
  std::vector<Variant> launches;
  for (size_t v = 0; v < count; ++v)
    launches.push_back({variants[v].name, [this, &graphs, v] {
                          require(driver_.cuGraphLaunch_(graphs[v], cuda_stream_) == CUDA_SUCCESS,
                                  "cuGraphLaunch");
                        }});
  std::vector<double> medians = race(launches, repeats);
  for (double& us : medians) us /= nodes;
  for (CUgraphExec graph : graphs) driver_.cuGraphExecDestroy_(graph);
  return medians;
}

Alone GpuBench::run_alone(const Variant& variant, double seconds, double guess_us) {
  using Clock = std::chrono::steady_clock;
  constexpr double kChunkUs = 20e3;
  const int chunk = std::max(1, static_cast<int>(kChunkUs / guess_us));
  // A chunk is enqueued while the previous one runs, so that the device never waits for the host.
  CUevent ends[2];
  for (CUevent& event : ends)
    require(driver_.cuEventCreate_(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS, "cuEventCreate");
  const auto run_for = [&](double at_least) {
    const auto begun = Clock::now();
    int64_t chunks = 0;
    while (std::chrono::duration<double>(Clock::now() - begun).count() < at_least) {
      if (chunks >= 2)
        require(driver_.cuEventSynchronize_(ends[chunks % 2]) == CUDA_SUCCESS, "event");
      for (int i = 0; i < chunk; ++i) variant.enqueue();
      require(driver_.cuEventRecord_(ends[chunks % 2], cuda_stream_) == CUDA_SUCCESS, "event");
      ++chunks;
    }
    require(stream_->synchronize());
    return chunks * chunk;
  };
  run_for(seconds / 5);  // until clock and power are steady
  const double joules = sensors_->joules();
  const auto begun = Clock::now();
  const auto launches = static_cast<double>(run_for(seconds));
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
  for (CUevent& event : ends) driver_.cuEventDestroy_(event);
  return {us / launches, joules > 0 ? (sensors_->joules() - joules) / launches : 0};
}

std::vector<Alone> GpuBench::race_back_to_back(const std::vector<Variant>& variants, double seconds,
                                               double guess_us) {
  std::vector<Alone> sums(variants.size());
  const auto add = [&](size_t v) {
    const Alone one = run_alone(variants[v], seconds, guess_us);
    sums[v].us += one.us / 2;
    sums[v].joules += one.joules / 2;
  };
  for (size_t v = 0; v < variants.size(); ++v) add(v);
  for (size_t v = variants.size(); v-- > 0;) add(v);
  return sums;
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    const auto number = [&] {
      return static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 0));
    };
    if (name == "--filter")
      options.filter = value;
    else if (name == "--repeats")
      options.repeats = static_cast<int>(number());
    else if (name == "--json")
      options.json = true;
    else if (name == "--peers")
      options.peers = value;
    else if (name == "--sweep")
      options.sweep = true;
    else if (name == "--profile")
      options.profile = true;
    else if (name == "--methods")
      options.methods = number();
    else if (name == "--stages")
      options.stages = number();
    else if (name == "--stage_bytes")
      options.stage_bytes = number();
    else if (name == "--max_sms")
      options.max_sms = number();
    else
      require(false, ("argument " + argument).c_str());
  }
  return options;
}

void print_header(const Options& options) {
  if (options.json) return;
  std::printf("%-38s %-26s %10s %8s %7s %7s  %s\n", "case", "kernel", "us", "GB/s", "of copy",
              "wanted", "peer");
}

void print_line(const Options& options, const Line& line) {
  const double speed = line.bytes / line.us * 1e-3;
  const double ratio = line.copy_us > 0 ? line.copy_us / line.us : 0;
  if (options.json) {
    std::printf(
        "{\"case\": \"%s\", \"kernel\": \"%s\", \"bytes\": %.0f, \"us\": %.2f, "
        "\"copy_us\": %.2f, \"peer\": \"%s\", \"peer_us\": %.2f, \"target\": %.2f}\n",
        line.name.c_str(), line.kernel.c_str(), line.bytes, line.us, line.copy_us,
        line.peer.c_str(), line.peer_us, line.target);
  } else {
    std::printf("%-38s %-26s %10.2f %8.0f", line.name.c_str(), line.kernel.c_str(), line.us, speed);
    if (ratio > 0)
      std::printf(" %7.3f", ratio);
    else
      std::printf(" %7s", "");
    const double peer = line.peer_us > 0 ? line.peer_us : line.copy_us;
    if (line.small)
      std::printf(" %+5.2fus%s", line.us - peer, line.us <= peer + kSmallSlack ? " " : "!");
    else if (line.target > 0)
      std::printf(" %6.2f%s", line.target, ratio >= line.target ? " " : "!");
    else
      std::printf(" %7s", "");
    if (line.peer_us > 0)
      std::printf("  %.2fx %s (%.2f us)", line.peer_us / line.us, line.peer.c_str(), line.peer_us);
    std::printf("\n");
  }
  std::fflush(stdout);
}

Peers read_peers(const std::string& path) {
  Peers peers;
  if (path.empty()) return peers;
  std::ifstream file(path);
  std::string line;
  const auto text = [&](const char* key) {
    const std::string mark = std::string("\"") + key + "\": \"";
    const size_t from = line.find(mark);
    if (from == std::string::npos) return std::string();
    const size_t begin = from + mark.size();
    return line.substr(begin, line.find('"', begin) - begin);
  };
  while (std::getline(file, line)) {
    const size_t us = line.find("\"us\": ");
    if (us != std::string::npos)
      peers.insert({text("case"), {text("peer"), std::strtod(&line[us + 6], nullptr)}});
  }
  return peers;
}

}  // namespace tw::bench
