// SPDX-License-Identifier: Apache-2.0
// Host time of the library: opening a device, the first plan of each family in a fresh context,
// making tensor maps and plans, and runs. A run with new pointers is compared with a bare
// cuLaunchKernelEx of the same kernel and parameters, which a hook in the driver table records.
//
// Linked with the library's objects instead of its archive, because it replaces the driver table
// and counts allocations. Exits with 77 without a GPU.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

#include "driver/driver.hpp"
#include "tilewright.h"

namespace {

thread_local long t_allocations = 0;

void require(tw_status status, const char* what) {
  if (status == TW_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, tw_last_error());
  std::exit(1);
}
#define REQUIRE(call) require(call, #call)

double now_ns() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::nano>(Clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Nanoseconds per call, median over rounds. `after` runs after each round and is not timed.
double cost(int rounds, int calls, const std::function<void(int)>& call,
            const std::function<void()>& after) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const double start = now_ns();
    for (int i = 0; i < calls; ++i) call(i);
    times.push_back((now_ns() - start) / calls);
    after();
  }
  return median(times);
}

struct Launch {
  CUlaunchConfig config{};
  CUlaunchAttribute attributes[8];
  CUfunction function = nullptr;
  alignas(128) unsigned char parameters[4096];
  size_t bytes = 0;
};
Launch g_launch;
const tw::Driver* g_driver = nullptr;
tw::Driver g_table;
CUresult (*g_param_info)(CUfunction, size_t, size_t*, size_t*) = nullptr;

CUresult record_launch(const CUlaunchConfig* config, CUfunction function, void** params,
                       void** extra) {
  g_launch.config = *config;
  std::copy_n(config->attrs, config->numAttrs, g_launch.attributes);
  g_launch.config.attrs = g_launch.attributes;
  g_launch.function = function;
  // A family's kernel has one parameter, its argument struct.
  size_t offset = 0;
  if (g_param_info(function, 0, &offset, &g_launch.bytes) != CUDA_SUCCESS) g_launch.bytes = 0;
  std::memcpy(g_launch.parameters, params[0], std::min<size_t>(g_launch.bytes, 4096));
  return g_driver->LaunchKernelEx(config, function, params, extra);
}

/// Replaces the driver table so that launches can be recorded. False without a GPU driver.
bool install() {
  if (!tw::find_driver(&g_driver).ok()) return false;
  *reinterpret_cast<void**>(&g_param_info) =
      dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "cuFuncGetParamInfo");
  if (!g_param_info) return false;
  g_table = *g_driver;
  tw::replace_driver(&g_table);
  return true;
}

struct Case {
  const char* name;
  tw_plan* plan = nullptr;
  std::function<tw_status(tw_plan**)> make;
  std::function<void(int)> run;
};

struct Bench {
  tw_device* device = nullptr;
  tw_stream* stream = nullptr;
  uint64_t memory = 0;
  std::vector<Case> cases;

  // The first half of the memory is read, the second written; run i uses addresses 4 KB further on.
  uint64_t in(int i) const { return memory + static_cast<uint64_t>(i % 64) * 4096; }
  uint64_t out(int i) const { return in(i) + (32u << 20); }

  void open();
  void add(const char* name, std::function<tw_status(tw_plan**)> make,
           std::function<tw_status(tw_plan*, int)> run);
  void add_copies();
  void add_rows();
  void add_routing();
  void add_products();
  void add_groups();
  void add_quantisations();
  void first_use();
  void maps() const;
  void plans() const;
  void runs();
};

void Bench::open() {
  const double start = now_ns();
  REQUIRE(tw_device_create(TW_DEVICE_CUDA, 0, &device));
  std::printf("%-46s %10.1f ms\n", "open the device, driver and context included",
              (now_ns() - start) * 1e-6);
  REQUIRE(tw_stream_create(device, &stream));
  REQUIRE(tw_malloc(device, 64 << 20, &memory));
  REQUIRE(tw_memset(stream, memory, 0, 64 << 20));
  REQUIRE(tw_stream_synchronize(stream));
}

void Bench::add(const char* name, std::function<tw_status(tw_plan**)> make,
                std::function<tw_status(tw_plan*, int)> run) {
  Case one{name, nullptr, std::move(make), {}};
  const size_t at = cases.size();
  one.run = [this, at, run](int i) { REQUIRE(run(cases[at].plan, i)); };
  cases.push_back(std::move(one));
}

void Bench::add_copies() {
  tw_copy_desc copy;
  REQUIRE(tw_copy_desc_init(&copy, sizeof copy));
  copy.dtype = TW_DTYPE_U16;
  copy.rank = 2;
  copy.shape[0] = copy.shape[1] = 256;
  copy.src_stride[0] = 512, copy.dst_stride[0] = 256;
  copy.src_stride[1] = copy.dst_stride[1] = 1;
  tw_copy_args copy_args;
  REQUIRE(tw_copy_args_init(&copy_args, sizeof copy_args));
  add(
      "copy", [=, this](tw_plan** plan) { return tw_copy_plan(device, &copy, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        copy_args.src = in(i), copy_args.dst = out(i);
        return tw_copy_run(plan, stream, &copy_args);
      });
  tw_elementwise_desc sum;
  REQUIRE(tw_elementwise_desc_init(&sum, sizeof sum));
  sum.a_dtype = sum.b_dtype = sum.dst_dtype = TW_DTYPE_BF16;
  sum.rank = 2;
  sum.shape[0] = sum.shape[1] = 256;
  sum.a_stride[0] = sum.b_stride[0] = 512, sum.dst_stride[0] = 256;
  sum.a_stride[1] = sum.b_stride[1] = sum.dst_stride[1] = 1;
  tw_elementwise_args sum_args;
  REQUIRE(tw_elementwise_args_init(&sum_args, sizeof sum_args));
  add(
      "elementwise", [=, this](tw_plan** plan) { return tw_elementwise_plan(device, &sum, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        sum_args.a = in(i), sum_args.b = in(i) + (8u << 20), sum_args.dst = out(i);
        return tw_elementwise_run(plan, stream, &sum_args);
      });
  tw_copies_desc pairs;
  REQUIRE(tw_copies_desc_init(&pairs, sizeof pairs));
  pairs.dtype = TW_DTYPE_U16;
  pairs.rank = 1;
  pairs.shape[0] = 4096;
  pairs.src_stride[0] = pairs.dst_stride[0] = 1;
  pairs.count = 32;
  tw_copies_args pairs_args;
  REQUIRE(tw_copies_args_init(&pairs_args, sizeof pairs_args));
  pairs_args.invalid_count = memory + (25u << 20);
  add(
      "copies", [=, this](tw_plan** plan) { return tw_copies_plan(device, &pairs, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        pairs_args.src = in(i), pairs_args.dst = in(i) + (8u << 20);  // lists of zeros
        return tw_copies_run(plan, stream, &pairs_args);
      });
  tw_prefetch_desc prefetch;
  REQUIRE(tw_prefetch_desc_init(&prefetch, sizeof prefetch));
  prefetch.dtype = TW_DTYPE_U8;
  prefetch.rows = 1, prefetch.columns = 65536;
  tw_prefetch_args prefetch_args;
  REQUIRE(tw_prefetch_args_init(&prefetch_args, sizeof prefetch_args));
  add(
      "prefetch", [=, this](tw_plan** plan) { return tw_prefetch_plan(device, &prefetch, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        prefetch_args.src = in(i);
        return tw_prefetch_run(plan, stream, &prefetch_args);
      });
}

void Bench::add_rows() {
  tw_rows_desc rows;
  REQUIRE(tw_rows_desc_init(&rows, sizeof rows));
  rows.dtype = TW_DTYPE_BF16;
  rows.table_rows = 1024, rows.columns = 512, rows.count = 128;
  tw_rows_args rows_args;
  REQUIRE(tw_rows_args_init(&rows_args, sizeof rows_args));
  rows_args.index = memory + (24u << 20);  // zeros
  add(
      "gather", [=, this](tw_plan** plan) { return tw_gather_plan(device, &rows, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        rows_args.table = in(i), rows_args.packed = out(i);
        return tw_gather_run(plan, stream, &rows_args);
      });
  add(
      "scatter", [=, this](tw_plan** plan) { return tw_scatter_plan(device, &rows, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        rows_args.packed = in(i), rows_args.table = out(i);
        return tw_scatter_run(plan, stream, &rows_args);
      });
  tw_ragged_desc ragged;
  REQUIRE(tw_ragged_desc_init(&ragged, sizeof ragged));
  ragged.dtype = TW_DTYPE_BF16;
  ragged.direction = TW_RAGGED_PAD;
  ragged.batch = 8, ragged.tokens = 128, ragged.rows = 16, ragged.columns = 512;
  tw_ragged_args ragged_args;
  REQUIRE(tw_ragged_args_init(&ragged_args, sizeof ragged_args));
  ragged_args.offsets = memory + (24u << 20);  // zeros: empty sequences
  add(
      "ragged", [=, this](tw_plan** plan) { return tw_ragged_plan(device, &ragged, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        ragged_args.packed = in(i), ragged_args.padded = out(i);
        return tw_ragged_run(plan, stream, &ragged_args);
      });
}

void Bench::add_routing() {
  tw_route_desc route;
  REQUIRE(tw_route_desc_init(&route, sizeof route));
  route.dtype = TW_DTYPE_BF16;
  route.tokens = 64, route.experts = 256, route.top_k = 8;
  tw_route_args route_args;
  REQUIRE(tw_route_args_init(&route_args, sizeof route_args));
  add(
      "route", [=, this](tw_plan** plan) { return tw_route_plan(device, &route, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        route_args.logits = in(i), route_args.ids = out(i);
        route_args.offsets = out(i) + (64u << 10), route_args.order = out(i) + (128u << 10);
        return tw_route_run(plan, stream, &route_args);
      });
}

void Bench::add_groups() {
  tw_grouped_desc grouped;
  REQUIRE(tw_grouped_desc_init(&grouped, sizeof grouped));
  grouped.m = 64, grouped.n = grouped.k = 256, grouped.group_count = 8;
  tw_grouped_args grouped_args;
  REQUIRE(tw_grouped_args_init(&grouped_args, sizeof grouped_args));
  add(
      "grouped", [=, this](tw_plan** plan) { return tw_grouped_plan(device, &grouped, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        grouped_args.a = in(i), grouped_args.d = out(i);
        grouped_args.b = in(i) + (1u << 20), grouped_args.groups = in(i) + (512u << 10);
        return tw_grouped_run(plan, stream, &grouped_args);
      });
}

void Bench::add_quantisations() {
  tw_quantize_desc desc;
  REQUIRE(tw_quantize_desc_init(&desc, sizeof desc));
  desc.src_dtype = TW_DTYPE_BF16, desc.dst_dtype = TW_DTYPE_F8E4M3;
  desc.scale = TW_SCALE_1X128;
  desc.rows = 64, desc.columns = 512;
  tw_quantize_args args;
  REQUIRE(tw_quantize_args_init(&args, sizeof args));
  add(
      "quantize", [=, this](tw_plan** plan) { return tw_quantize_plan(device, &desc, plan); },
      [=, this](tw_plan* plan, int i) mutable {
        args.src = in(i), args.dst = out(i), args.scale = out(i) + (128u << 10);
        return tw_quantize_run(plan, stream, &args);
      });
}

void Bench::add_products() {
  tw_gemm_args gemm_args;
  REQUIRE(tw_gemm_args_init(&gemm_args, sizeof gemm_args));
  const auto product = [&](const char* name, const tw_gemm_desc& gemm) {
    add(
        name, [=, this](tw_plan** plan) { return tw_gemm_plan(device, &gemm, plan); },
        [=, this](tw_plan* plan, int i) mutable {
          gemm_args.a = in(i), gemm_args.b = in(i) + (8u << 20), gemm_args.d = out(i);
          return tw_gemm_run(plan, stream, &gemm_args);
        });
  };
  tw_gemm_desc gemm;
  REQUIRE(tw_gemm_desc_init(&gemm, sizeof gemm));
  gemm.m = gemm.n = gemm.k = 256;
  product("gemm", gemm);
  gemm.bias = TW_PER_COLUMN;
  gemm_args.bias = memory + (24u << 20);
  gemm.activation = TW_ACTIVATION_SILU;
  product("gemm, epilogue", gemm);
  gemm.batch_count = 4;
  gemm.a_batch_stride = gemm.b_batch_stride = gemm.d_batch_stride = -1;
  product("gemm, batch", gemm);
}

void Bench::first_use() {
  std::printf("\n%-14s %24s\n", "family", "first plan, ms");
  for (Case& one : cases) {
    const double start = now_ns();
    REQUIRE(one.make(&one.plan));
    std::printf("%-14s %24.2f\n", one.name, (now_ns() - start) * 1e-6);
  }
}

void Bench::maps() const {
  tw_tensor_map_desc desc;
  REQUIRE(tw_tensor_map_desc_init(&desc, sizeof desc));
  desc.global_address = memory;
  desc.global_dim[0] = desc.global_dim[1] = 1024;
  desc.global_stride_bytes[0] = 2048;
  desc.box_dim[0] = desc.box_dim[1] = 64;
  tw_tensor_map* map = nullptr;
  const double made = cost(
      21, 1000,
      [&](int) {
        REQUIRE(tw_tensor_map_create(device, &desc, &map));
        tw_tensor_map_destroy(map);
      },
      [] {});
  REQUIRE(tw_tensor_map_create(device, &desc, &map));
  const double rebound = cost(
      21, 1000,
      [&](int i) { REQUIRE(tw_tensor_map_rebind(map, memory + 256 * static_cast<uint64_t>(i))); },
      [] {});
  tw_tensor_map_destroy(map);
  std::printf("\n%-46s %10.0f ns\n%-46s %10.0f ns\n", "create and destroy a tensor map", made,
              "point it at another address", rebound);
}

void Bench::plans() const {
  for (const Case& one : cases) {
    const double made = cost(
        21, 50,
        [&](int) {
          tw_plan* plan = nullptr;
          REQUIRE(one.make(&plan));
          tw_plan_destroy(plan);
        },
        [] {});
    std::printf("create and destroy a %-25s %10.0f ns\n", one.name, made);
  }
}

void Bench::runs() {
  std::printf("\n%-14s %18s %18s %14s %12s\n", "run", "tw_<op>_run, ns", "bare launch, ns",
              "difference, ns", "allocations");
  const auto wait = [this] { REQUIRE(tw_stream_synchronize(stream)); };
  for (Case& one : cases) {
    g_table.LaunchKernelEx = record_launch;
    one.run(0);
    g_table.LaunchKernelEx = g_driver->LaunchKernelEx;
    void* params[] = {g_launch.parameters};
    const auto bare = [&](int) {
      if (g_driver->LaunchKernelEx(&g_launch.config, g_launch.function, params, nullptr) != 0)
        std::exit(1);
    };
    wait();
    std::vector<double> ours, theirs;
    const long before = t_allocations;
    for (int i = 0; i < 100; ++i) one.run(i);
    const long allocations = t_allocations - before;
    wait();
    for (int round = 0; round < 41; ++round) {
      ours.push_back(cost(1, 200, one.run, wait));
      theirs.push_back(cost(1, 200, bare, wait));
    }
    std::printf("%-14s %18.0f %18.0f %14.0f %12ld\n", one.name, median(ours), median(theirs),
                median(ours) - median(theirs), allocations);
  }
}

}  // namespace

// Counts allocations of the calling thread, the library's included.
void* operator new(size_t bytes) {
  ++t_allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

int main() {
  if (!install()) {
    std::printf("skipped: %s\n", tw_last_error());
    return 77;
  }
  Bench bench;
  bench.open();
  // Bare launches need a current context, which the library sets by itself.
  CUcontext context = nullptr;
  if (g_driver->DevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      g_driver->CtxPushCurrent(context) != CUDA_SUCCESS)
    return 1;
  bench.add_copies();
  bench.add_rows();
  bench.add_routing();
  bench.add_products();
  bench.add_groups();
  bench.add_quantisations();
  bench.first_use();
  bench.maps();
  bench.plans();
  bench.runs();
  for (const Case& one : bench.cases) tw_plan_destroy(one.plan);
  tw_stream_destroy(bench.stream);
  tw_device_destroy(bench.device);
  return 0;
}
