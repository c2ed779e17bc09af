// SPDX-License-Identifier: Apache-2.0
// The effect of cache priorities. A small copy runs, then a much larger one, then the small one
// again. It finds its source in the L2 if the large copy is evict-first, or the small one
// evict-last. Prints the time of the second small copy. --profile runs each case once for
// cache_counters.py, which counts the bytes that the second small copy reads from memory.
//
// Evict-last lines survive a flush, so every case first resets them to normal.
#include <algorithm>
#include <cstdio>

#include "ops/copy/copy.hpp"
#include "tests/bench/common/gpu_bench.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

constexpr int64_t kLarge = 128 << 20;

struct Case {
  const char* name;
  CachePriority small, large;
  bool has_large = true;
  uint64_t set_aside = 0;  // bytes of the L2 reserved for evict-last lines
};

constexpr Case kCases[] = {
    {"nothing", CachePriority::normal, CachePriority::normal, false},
    {"normal", CachePriority::normal, CachePriority::normal},
    {"evict_first", CachePriority::normal, CachePriority::evict_first},
    {"normal, itself evict_last", CachePriority::evict_last, CachePriority::normal},
    {"evict_first, itself evict_last", CachePriority::evict_last, CachePriority::evict_first},
    {"normal, itself evict_last, 32 MB set aside", CachePriority::evict_last, CachePriority::normal,
     true, 32 << 20}};

std::unique_ptr<Plan> plan_of(GpuBench& bench, int64_t bytes, CachePriority priority) {
  CopyDesc desc;
  desc.methods = 1u << kCopyPieces;  // the driver's own copy ignores priorities
  desc.shape[0] = bytes;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  desc.src_cache = desc.dst_cache = priority;
  std::unique_ptr<Plan> plan;
  require(CopyPlan::create(bench.device(), desc, &plan));
  return plan;
}

struct Pair {
  uint64_t src, dst;
};

class CacheBench {
 public:
  CacheBench(GpuBench& bench, const Options& options) : bench_(bench), options_(options) {
    for (CUevent& event : events_)
      require(bench.driver().cuEventCreate_(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS, "event");
  }
  ~CacheBench() {
    for (CUevent event : events_) bench_.driver().cuEventDestroy_(event);
  }

  void run(int64_t megabytes) {
    const int64_t small = megabytes << 20;
    const Pair of_small = pair(small);
    const Pair of_large = pair(kLarge);
    for (const Case& c : kCases) {
      const auto first = plan_of(bench_, small, c.small);
      const auto second = plan_of(bench_, kLarge, c.large);
      require(bench_.driver().cuCtxSetLimit_(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, c.set_aside) ==
                  CUDA_SUCCESS,
              "cuCtxSetLimit");
      std::vector<float> us;
      const int rounds = options_.profile ? 1 : options_.repeats;
      for (int round = 0; round < rounds; ++round)
        us.push_back(again(*first, of_small, c.has_large ? second.get() : nullptr, of_large));
      std::nth_element(us.begin(), us.begin() + rounds / 2, us.end());
      const float middle = us[static_cast<size_t>(rounds / 2)];
      if (options_.profile)
        std::printf("case %d MB again after %s\n", static_cast<int>(megabytes), c.name);
      else
        std::printf("%2d MB again after %-44s %6.2f us\n", static_cast<int>(megabytes), c.name,
                    static_cast<double>(middle));
      std::fflush(stdout);
    }
    bench_.release_all();
  }

 private:
  Pair pair(int64_t bytes) {
    return {bench_.allocate(static_cast<uint64_t>(bytes)),
            bench_.allocate(static_cast<uint64_t>(bytes))};
  }

  void copy(const Plan& plan, const Pair& at) {
    require(static_cast<const CopyPlan&>(plan).run(bench_.stream(), at.src, at.dst));
  }

  float again(const Plan& small, const Pair& of_small, const Plan* large, const Pair& of_large) {
    const Driver& driver = bench_.driver();
    bench_.reset_cache_priorities();
    bench_.flush();
    copy(small, of_small);
    if (large) copy(*large, of_large);
    bench_.spin(20000);
    driver.cuEventRecord_(events_[0], bench_.cuda_stream());
    copy(small, of_small);
    driver.cuEventRecord_(events_[1], bench_.cuda_stream());
    require(bench_.stream().synchronize());
    float milliseconds = 0;
    require(driver.cuEventElapsedTime_(&milliseconds, events_[0], events_[1]) == CUDA_SUCCESS,
            "cuEventElapsedTime");
    return milliseconds * 1e3f;
  }

  GpuBench& bench_;
  const Options& options_;
  CUevent events_[2];
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  GpuBench bench;
  CacheBench cache(bench, options);
  for (const int64_t megabytes : {8, 16}) cache.run(megabytes);
  return 0;
}
