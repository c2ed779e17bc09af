// SPDX-License-Identifier: Apache-2.0
// Ragged copies, many copies of one description, and prefetches. "of copy" is the speed relative to
// cuMemcpyAsync of as many bytes as the case moves; a ragged copy counts the rows read and the rows
// written, fill included. --peers=FILE is the output of peers_rows_copies.py from the same session;
// cases are joined by name.
//
// A prefetch is judged by a kernel that reads the range 50 us later: the fraction of its time after
// a flush that it still takes. An empty kernel instead of the prefetch is the control: its line
// must miss the target, or the measurement is worthless.
#include <algorithm>
#include <cstdio>
#include <random>

#include "ops/copies/copies.hpp"
#include "ops/prefetch/prefetch.hpp"
#include "ops/ragged/ragged.hpp"
#include "tests/bench/common/gpu_bench.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

constexpr uint64_t kArrival = 50000;  // ns until a prefetch has arrived

void report(const Options& options, const Peers& peers, Line line) {
  const auto of_case = peers.equal_range(line.name);
  for (auto at = of_case.first; at != of_case.second; ++at) {
    line.peer = at->second.name;
    line.peer_us = at->second.us;
    print_line(options, line);
  }
  if (of_case.first == of_case.second) print_line(options, line);
}

Variant driver_copy(GpuBench& bench, uint64_t dst, uint64_t src, uint64_t bytes) {
  return {"cuMemcpyAsync", [&bench, dst, src, bytes] {
            require(bench.driver().cuMemcpyDtoDAsync_(dst, src, bytes, bench.cuda_stream()) ==
                        CUDA_SUCCESS,
                    "cuMemcpyDtoDAsync");
          }};
}

struct RaggedCase {
  int64_t batch, rows, columns;
  DType dtype = DType::BF16;
  double target = 0;
};

// Lengths of 1 to `rows`, the same in every run.
std::vector<int32_t> draw_offsets(const RaggedCase& c) {
  std::mt19937 random(7);
  std::vector<int32_t> offsets{0};
  for (int64_t b = 0; b < c.batch; ++b)
    offsets.push_back(offsets.back() + 1 +
                      static_cast<int32_t>(random() % static_cast<uint32_t>(c.rows)));
  return offsets;
}

RaggedDesc describe(const RaggedCase& c, const Options& options, RaggedDirection direction,
                    int64_t tokens) {
  RaggedDesc desc;
  desc.dtype = c.dtype;
  desc.direction = direction;
  desc.batch = c.batch;
  desc.tokens = tokens;
  desc.rows = c.rows;
  desc.columns = c.columns;
  desc.methods = options.methods;
  desc.stages = options.stages;
  desc.stage_bytes = options.stage_bytes;
  desc.max_sms = options.max_sms;
  return desc;
}

// The library's choice of sizes first; with --sweep others too.
template <class Desc>
std::vector<Desc> tunings(const Desc& desc, bool sweep) {
  std::vector<Desc> out{desc};
  if (!sweep) return out;
  for (const uint32_t stage_bytes : {2048u, 4096u, 8192u})
    for (const uint32_t warps : {1u, 2u, 4u})
      for (const uint32_t items : {2u, 4u, 8u}) {
        out.push_back(desc);
        out.back().stage_bytes = stage_bytes;
        out.back().warps = warps;
        out.back().warp_items = items;
      }
  return out;
}

template <class Desc>
std::string sizes_name(const Desc& desc) {
  return "  " + std::to_string(desc.stage_bytes) + " B x " + std::to_string(desc.warps) +
         " warps x " + std::to_string(desc.warp_items);
}

void run_ragged(GpuBench& bench, const Options& options, const Peers& peers, const RaggedCase& c) {
  const std::string shape = std::to_string(c.batch) + " of 1 to " + std::to_string(c.rows) + " x " +
                            std::to_string(c.columns) + " " + dtype_name(c.dtype);
  if (!wanted(options, "pad " + shape) && !wanted(options, "unpad " + shape)) return;
  const std::vector<int32_t> offsets = draw_offsets(c);
  const int64_t tokens = offsets.back();
  const auto row = static_cast<uint64_t>(c.columns * dtype_bytes(c.dtype));
  const uint64_t packed_bytes = static_cast<uint64_t>(tokens) * row;
  const uint64_t padded_bytes = static_cast<uint64_t>(c.batch * c.rows) * row;
  const uint64_t packed = bench.allocate(packed_bytes);
  const uint64_t back = bench.allocate(packed_bytes);
  const uint64_t padded = bench.allocate(padded_bytes);
  const uint64_t list = bench.allocate(offsets.size() * 4);
  bench.upload(list, offsets.data(), offsets.size() * 4);
  for (const RaggedDirection direction : {RaggedDirection::pad, RaggedDirection::unpad}) {
    const bool pads = direction == RaggedDirection::pad;
    std::vector<std::unique_ptr<Plan>> plans;
    std::vector<Variant> variants{driver_copy(bench, back, packed, packed_bytes)};
    const auto descs = tunings(describe(c, options, direction, tokens), options.sweep);
    for (const RaggedDesc& desc : descs) {
      plans.emplace_back();
      require(RaggedPlan::create(bench.device(), desc, &plans.back()));
      const auto* plan = static_cast<const RaggedPlan*>(plans.back().get());
      const RaggedRun run{.packed = pads ? packed : back, .offsets = list, .padded = padded};
      variants.push_back(
          {"tilewright", [&bench, plan, run] { require(plan->run(bench.stream(), run)); }});
    }
    // Padding and unpadding must restore the packed rows (up to the last 16 bytes).
    if (!pads) {
      variants[1].enqueue();
      require(bench.differences(packed, back, packed_bytes / 16 * 16) == 0,
              "packed rows come back");
    }
    const std::vector<double> us = bench.race(variants, options.repeats);
    const uint64_t moved = packed_bytes + (pads ? padded_bytes : packed_bytes);
    for (size_t i = 1; i < us.size(); ++i) {
      Line line;
      line.name = i == 1 ? (pads ? "pad " : "unpad ") + shape : sizes_name(descs[i - 1]);
      line.kernel = plans[i - 1]->info().kernel;
      line.bytes = static_cast<double>(moved);
      line.us = us[i];
      line.copy_us = us[0] * static_cast<double>(moved) / (2.0 * static_cast<double>(packed_bytes));
      line.target = c.target;
      report(options, peers, line);
    }
  }
  bench.release_all();
}

struct CopiesCase {
  int64_t count, bytes;
  int64_t offset = 0;  // bytes by which every address is off a multiple of 256
  double target = 0;
};

CUgraphExec graph_of_copies(GpuBench& bench, const std::vector<uint64_t>& src,
                            const std::vector<uint64_t>& dst, uint64_t bytes) {
  const Driver& driver = bench.driver();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  require(driver.cuStreamBeginCapture_(bench.cuda_stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) ==
              CUDA_SUCCESS,
          "cuStreamBeginCapture");
  for (size_t i = 0; i < src.size(); ++i)
    require(driver.cuMemcpyDtoDAsync_(dst[i], src[i], bytes, bench.cuda_stream()) == CUDA_SUCCESS,
            "cuMemcpyDtoDAsync");
  require(driver.cuStreamEndCapture_(bench.cuda_stream(), &graph) == CUDA_SUCCESS,
          "cuStreamEndCapture");
  require(driver.cuGraphInstantiateWithFlags_(&exec, graph, 0) == CUDA_SUCCESS,
          "cuGraphInstantiate");
  driver.cuGraphDestroy_(graph);
  return exec;
}

void run_copies(GpuBench& bench, const Options& options, const CopiesCase& c) {
  std::string name = std::to_string(c.count) + " copies of " + std::to_string(c.bytes) + " B";
  if (c.offset != 0) name += " at +" + std::to_string(c.offset);
  if (!wanted(options, name)) return;
  const auto bytes = static_cast<uint64_t>(c.bytes);
  const uint64_t pitch = (bytes + 255) / 256 * 256 + 256;
  const auto count = static_cast<uint64_t>(c.count);
  const uint64_t src = bench.allocate(pitch * count);
  const uint64_t dst = bench.allocate(pitch * count);
  const uint64_t lists = bench.allocate(16 * count);
  std::vector<uint64_t> sources, targets;
  for (uint64_t i = 0; i < count; ++i) sources.push_back(src + i * pitch);
  std::shuffle(sources.begin(), sources.end(), std::mt19937(5));
  for (uint64_t i = 0; i < count; ++i)
    targets.push_back(dst + i * pitch + static_cast<uint64_t>(c.offset));
  bench.upload(lists, sources.data(), 8 * count);
  bench.upload(lists + 8 * count, targets.data(), 8 * count);
  CopiesDesc desc;
  desc.shape[0] = c.bytes;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  desc.count = c.count;
  desc.methods = options.methods;
  desc.stages = options.stages;
  desc.stage_bytes = options.stage_bytes;
  desc.max_sms = options.max_sms;
  const CopiesRun run{.src_list = lists, .dst_list = lists + 8 * count};
  const CUgraphExec loop = graph_of_copies(bench, sources, targets, bytes);
  std::vector<Variant> variants{
      driver_copy(bench, dst, src, bytes * count),
      {"graph", [&] { bench.driver().cuGraphLaunch_(loop, bench.cuda_stream()); }}};
  std::vector<std::unique_ptr<Plan>> plans;
  const auto descs = tunings(desc, options.sweep);
  for (const CopiesDesc& each : descs) {
    plans.emplace_back();
    require(CopiesPlan::create(bench.device(), each, &plans.back()));
    const auto* plan = static_cast<const CopiesPlan*>(plans.back().get());
    variants.push_back(
        {"tilewright", [&bench, plan, run] { require(plan->run(bench.stream(), run)); }});
  }
  const std::vector<double> us = bench.race(variants, options.repeats);
  bench.driver().cuGraphExecDestroy_(loop);
  for (size_t i = 2; i < us.size(); ++i) {
    Line line;
    line.name = i == 2 ? name : sizes_name(descs[i - 2]);
    line.kernel = plans[i - 2]->info().kernel;
    line.bytes = 2.0 * static_cast<double>(bytes * count);
    line.us = us[i];
    line.copy_us = us[0];
    line.target = c.target;
    line.peer = "cuMemcpyAsync x " + std::to_string(count) + " in a graph";
    line.peer_us = us[1];
    print_line(options, line);
  }
  bench.release_all();
}

// Median microseconds of `timed`, each time after a flush, `first` and a wait of kArrival.
double time_after(GpuBench& bench, int repeats, const std::function<void()>& first,
                  const std::function<void()>& timed) {
  const Driver& driver = bench.driver();
  CUevent events[2];
  for (CUevent& event : events)
    require(driver.cuEventCreate_(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS, "cuEventCreate");
  std::vector<float> times;
  for (int round = 0; round < repeats + 1; ++round) {
    bench.reset_cache_priorities();
    bench.flush();
    first();
    bench.spin(kArrival);
    require(driver.cuEventRecord_(events[0], bench.cuda_stream()) == CUDA_SUCCESS, "event");
    timed();
    require(driver.cuEventRecord_(events[1], bench.cuda_stream()) == CUDA_SUCCESS, "event");
    require(bench.stream().synchronize());
    float milliseconds = 0;
    require(driver.cuEventElapsedTime_(&milliseconds, events[0], events[1]) == CUDA_SUCCESS,
            "cuEventElapsedTime");
    if (round > 0) times.push_back(milliseconds * 1e3f);
  }
  for (CUevent event : events) driver.cuEventDestroy_(event);
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

struct PrefetchCase {
  int64_t megabytes = 24;
  int64_t columns = 0;  // bytes per row, with a gap of 16 bytes after each; 0: one range
  PrefetchBy by = PrefetchBy::loads;
  CachePriority cache = CachePriority::normal;
};

std::string name_of(const PrefetchCase& c) {
  std::string name = "prefetch of " + std::to_string(c.megabytes) + " MB";
  if (c.columns != 0) name += " in rows of " + std::to_string(c.columns);
  if (c.by == PrefetchBy::requests) name += " by requests";
  return name + (c.cache == CachePriority::evict_last ? ", kept" : "");
}

PrefetchDesc describe(const PrefetchCase& c) {
  PrefetchDesc desc;
  const int64_t bytes = c.megabytes << 20;
  desc.dtype = DType::U8;
  desc.cache = c.cache;
  desc.by = c.by;
  desc.columns = c.columns == 0 ? bytes : c.columns;
  desc.rows = c.columns == 0 ? 1 : bytes / (c.columns + 16);
  desc.pitch = c.columns == 0 ? bytes : c.columns + 16;
  return desc;
}

void run_prefetch(GpuBench& bench, const Options& options, const PrefetchCase& c) {
  const std::string name = name_of(c);
  if (!wanted(options, name)) return;
  const PrefetchDesc desc = describe(c);
  std::unique_ptr<Plan> plan;
  require(PrefetchPlan::create(bench.device(), desc, &plan));
  const auto& prefetch = static_cast<const PrefetchPlan&>(*plan);
  const auto span = static_cast<uint64_t>(c.megabytes) << 20;
  const uint64_t src = bench.allocate(span);
  const auto read = [&] { bench.read(src, span); };
  const auto fetch = [&] { require(prefetch.run(bench.stream(), src)); };
  const double cold = time_after(
      bench, options.repeats, [] {}, read);
  const double empty = time_after(
      bench, options.repeats, [&] { bench.spin(0); }, read);
  const double warm = time_after(bench, options.repeats, fetch, read);
  const double alone = time_after(
      bench, options.repeats, [] {}, fetch);
  const double both = time_after(
      bench, options.repeats, [] {},
      [&] {
        fetch();
        read();
      });
  std::printf(
      "%-38s %-26s cold %.2f us, after it %.2f us: %.2f of that, %s 0.70; after an empty "
      "kernel %.2f, which %s; alone %.2f us; with the read at once %.2f us\n",
      name.c_str(), plan->info().kernel, cold, warm, warm / cold,
      warm <= 0.7 * cold ? "within" : "MISSES", empty / cold,
      empty <= 0.7 * cold ? "must NOT be within" : "misses it as it must", alone, both);
  std::fflush(stdout);
  bench.reset_cache_priorities();
  bench.release_all();
}

constexpr PrefetchCase kProfiled[] = {{},
                                      {.by = PrefetchBy::requests},
                                      {.columns = 8192},
                                      {.columns = 128},
                                      {.columns = 128, .by = PrefetchBy::requests},
                                      {.columns = 100},
                                      {.columns = 100, .by = PrefetchBy::requests},
                                      {.megabytes = 32},
                                      {.megabytes = 40}};

// For prefetch_counters.py: a flush, then nothing, an empty kernel or a prefetch, then a read.
void profile_prefetches(GpuBench& bench) {
  const uint64_t src = bench.allocate(uint64_t{64} << 20);
  const auto once = [&](const char* name, uint64_t bytes, const std::function<void()>& between) {
    bench.flush();
    between();
    bench.spin(kArrival);
    bench.read(src, bytes);
    require(bench.stream().synchronize());
    std::printf("case %s\n", name);
  };
  const uint64_t bytes = uint64_t{24} << 20;
  once("nothing", bytes, [] {});
  once("an empty kernel", bytes, [&] { bench.spin(0); });
  for (const PrefetchCase& c : kProfiled) {
    std::unique_ptr<Plan> plan;
    require(PrefetchPlan::create(bench.device(), describe(c), &plan));
    once(name_of(c).c_str(), static_cast<uint64_t>(c.megabytes) << 20,
         [&] { require(static_cast<const PrefetchPlan&>(*plan).run(bench.stream(), src)); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  GpuBench bench;
  if (options.profile) {
    profile_prefetches(bench);
    return 0;
  }
  const Peers peers = read_peers(options.peers);
  print_header(options);
  run_copies(bench, options, {.count = 4096, .bytes = 65536, .target = 0.90});
  for (const CopiesCase& c : {CopiesCase{65536, 4096}, CopiesCase{256, 1 << 20},
                              CopiesCase{4096, 65536, 4}, CopiesCase{4096, 65537}})
    run_copies(bench, options, c);
  for (const int64_t megabytes : {24, 8, 16, 32, 40, 96})
    run_prefetch(bench, options, {.megabytes = megabytes});
  run_prefetch(bench, options, {.cache = CachePriority::evict_last});
  run_prefetch(bench, options, {.by = PrefetchBy::requests});
  for (const int64_t columns : {8192, 128, 1000, 250, 100, 40})  // TMA boxes cannot load the last 3
    for (const PrefetchBy by : {PrefetchBy::loads, PrefetchBy::requests})
      run_prefetch(bench, options, {.columns = columns, .by = by});
  run_ragged(bench, options, peers, {4096, 512, 4096, DType::BF16, 0.90});
  for (const RaggedCase& c : {RaggedCase{4096, 512, 128}, RaggedCase{4096, 512, 100},
                              RaggedCase{4096, 512, 1, DType::I64}})
    run_ragged(bench, options, peers, c);
  return 0;
}
