// SPDX-License-Identifier: Apache-2.0
// The library inside another program: several streams and threads at once, graph capture in global
// mode while other threads call everything, replays, and the caller's current context.
#include <dlfcn.h>

#include <atomic>
#include <thread>

#include "tests/device/common/plan_set.hpp"

namespace tw::test {
namespace {

/// Driver functions that the tests call. Handles are plain pointers, as in the driver's ABI.
struct Capture {
  using Result = int32_t;
  Result (*device_get)(int*, int) = nullptr;
  Result (*context_create)(void**, unsigned, int) = nullptr;
  Result (*context_destroy)(void*) = nullptr;
  Result (*context_get)(void**) = nullptr;
  Result (*context_set)(void*) = nullptr;
  Result (*retain)(void**, int) = nullptr;
  Result (*stream_create)(CUstream_st**, unsigned) = nullptr;
  Result (*stream_destroy)(CUstream_st*) = nullptr;
  Result (*stream_wait)(CUstream_st*) = nullptr;
  Result (*begin)(CUstream_st*, int) = nullptr;
  Result (*end)(CUstream_st*, void**) = nullptr;
  Result (*instantiate)(void**, void*, unsigned long long) = nullptr;
  Result (*replay)(void*, CUstream_st*) = nullptr;
  Result (*destroy_exec)(void*) = nullptr;
  Result (*destroy_graph)(void*) = nullptr;

  Capture() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    const auto find = [&](auto* function, const char* name) {
      *reinterpret_cast<void**>(function) = dlsym(library, name);
      INFO(name);
      const bool found = *function != nullptr;
      REQUIRE(found);
    };
    find(&device_get, "cuDeviceGet");
    find(&context_create, "cuCtxCreate_v2");
    find(&context_destroy, "cuCtxDestroy_v2");
    find(&context_get, "cuCtxGetCurrent");
    find(&context_set, "cuCtxSetCurrent");
    find(&retain, "cuDevicePrimaryCtxRetain");
    find(&stream_create, "cuStreamCreate");
    find(&stream_destroy, "cuStreamDestroy_v2");
    find(&stream_wait, "cuStreamSynchronize");
    find(&begin, "cuStreamBeginCapture_v2");
    find(&end, "cuStreamEndCapture");
    find(&instantiate, "cuGraphInstantiateWithFlags");
    find(&replay, "cuGraphLaunch");
    find(&destroy_exec, "cuGraphExecDestroy");
    find(&destroy_graph, "cuGraphDestroy");
  }
};
constexpr int kGlobal = 0;  // CU_STREAM_CAPTURE_MODE_GLOBAL: unsafe calls of any thread count

bool on_cuda() {
  return std::string(test_device()) == "cuda";
}

// --- Streams ---

/// Runs two jobs alternately and checks their results every `look_every` runs. Returns the number
/// of errors, because doctest cannot be used in other threads.
int run_two(Job& first, Job& second, tw_stream* stream, int runs, int look_every) {
  int wrong = 0;
  for (int i = 0; i < runs; ++i) {
    for (Job* job : {&first, &second}) {
      if (i % look_every == 0) wrong += PlanSet::poison(*job, stream) != TW_OK;
      wrong += job->run(job->plan.get(), stream) != TW_OK;
    }
    if (i % look_every == look_every - 1 || i == runs - 1)
      wrong += !PlanSet::right(first, stream) + !PlanSet::right(second, stream);
  }
  return wrong;
}

TEST_CASE("four streams of four threads, two plans each") {
  const DeviceHandle device = open_any_device();
  if (!device) return;
  PlanSet set(device.get());
  for (int k = 0; k < 8; ++k) set.add(k);
  const int runs = on_cuda() ? 10000 : 40;
  std::vector<StreamHandle> streams;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (size_t t = 0; t < 4; ++t) streams.push_back(new_stream(device.get()));
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      wrong += run_two(set.jobs()[2 * t], set.jobs()[2 * t + 1], streams[t].get(), runs, 100);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

// Proves that the test can fail.
TEST_CASE("a wrong byte is noticed") {
  const DeviceHandle device = open_any_device();
  if (!device) return;
  PlanSet set(device.get());
  set.add(0);
  set.add(1);
  set.jobs()[1].expected[5] ^= 1;
  const StreamHandle stream = new_stream(device.get());
  CHECK(run_two(set.jobs()[0], set.jobs()[1], stream.get(), 1, 1) == 1);
}

// --- Everything at once ---

constexpr char kPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry nothing(.param .u64 unused)\n{\n  ret;\n}\n";

/// Calls everything that a program may call while another thread captures. Returns the text of the
/// first failure, or an empty string.
std::string call_everything(tw_device* device, bool cuda, int k) {
  std::string failed;
  const auto good = [&](const char* what, tw_status status) {
    if (status != TW_OK && failed.empty()) failed = std::string(what) + ": " + tw_last_error();
  };
#define GOOD(call) good(#call, call)
  tw_device* second = nullptr;
  GOOD(tw_device_create(cuda ? TW_DEVICE_CUDA : TW_DEVICE_HOST, 0, &second));
  tw_device_info info{};
  tw_device_info_init(&info, sizeof info);
  GOOD(tw_device_get_info(device, &info));
  tw_stream* stream = nullptr;
  tw_event *start = nullptr, *end = nullptr;
  uint64_t memory = 0;
  float milliseconds = 0;
  std::vector<uint8_t> bytes(4096);
  GOOD(tw_stream_create(device, &stream));
  GOOD(tw_event_create(device, &start));
  GOOD(tw_event_create(device, &end));
  GOOD(tw_malloc(device, 1 << 16, &memory));
  GOOD(tw_event_record(start, stream));
  GOOD(tw_memset(stream, memory, 0, 1 << 16));
  GOOD(tw_memcpy_to_device(stream, memory, bytes.data(), bytes.size()));
  GOOD(tw_memcpy_on_device(stream, memory + 8192, memory, 4096));
  GOOD(tw_memcpy_to_host(stream, bytes.data(), memory, bytes.size()));
  GOOD(tw_event_record(end, stream));
  GOOD(tw_stream_wait_event(stream, start));
  GOOD(tw_event_synchronize(end));
  GOOD(tw_event_elapsed(start, end, &milliseconds));
  tw_gemm_desc gemm;
  tw_copy_desc copy;
  tw_rows_desc rows;
  tw_prefetch_desc prefetch;
  GOOD(tw_gemm_desc_init(&gemm, sizeof gemm));
  gemm.m = gemm.n = gemm.k = 64 + 8 * (k % 4);
  GOOD(tw_copy_desc_init(&copy, sizeof copy));
  copy.dtype = TW_DTYPE_U32;
  copy.rank = 1;
  copy.shape[0] = 256 + k % 64;
  copy.src_stride[0] = copy.dst_stride[0] = 1;
  GOOD(tw_rows_desc_init(&rows, sizeof rows));
  rows.dtype = TW_DTYPE_F32;
  rows.table_rows = 16, rows.columns = 32, rows.count = 4;
  GOOD(tw_prefetch_desc_init(&prefetch, sizeof prefetch));
  prefetch.dtype = TW_DTYPE_U8;
  prefetch.rows = 1, prefetch.columns = 4096;
  tw_plan* plans[5] = {};
  GOOD(tw_gemm_plan(device, &gemm, &plans[0]));
  GOOD(tw_copy_plan(device, &copy, &plans[1]));
  GOOD(tw_gather_plan(device, &rows, &plans[2]));
  GOOD(tw_scatter_plan(device, &rows, &plans[3]));
  GOOD(tw_prefetch_plan(device, &prefetch, &plans[4]));
  tw_copy_args args;
  GOOD(tw_copy_args_init(&args, sizeof args));
  args.src = memory;
  args.dst = memory + 32768;
  GOOD(tw_copy_run(plans[1], stream, &args));
  args.dst = args.src;  // refused, with a message
  if (tw_copy_run(plans[1], stream, &args) != TW_ERROR_OVERLAP) good("overlap", TW_ERROR_INTERNAL);
  GOOD(tw_stream_synchronize(stream));
  GOOD(tw_stream_query(stream));
  tw_tensor_map_desc map_desc;
  tw_tensor_map* map = nullptr;
  GOOD(tw_tensor_map_desc_init(&map_desc, sizeof map_desc));
  map_desc.global_address = memory;
  map_desc.global_dim[0] = map_desc.global_dim[1] = 64;
  map_desc.global_stride_bytes[0] = 128;
  map_desc.box_dim[0] = map_desc.box_dim[1] = 8;
  GOOD(tw_tensor_map_create(device, &map_desc, &map));
  if (cuda) {
    tw_module* module = nullptr;
    tw_kernel* kernel = nullptr;
    tw_launch_desc launch;
    const uint64_t value = 0;
    const uint32_t size = 8;
    GOOD(tw_launch_desc_init(&launch, sizeof launch));
    GOOD(tw_module_load(device, kPtx, sizeof kPtx, &module));
    GOOD(tw_kernel_get(module, "nothing", &kernel));
    GOOD(tw_launch(stream, kernel, &launch, 1, &size, &value));
    GOOD(tw_stream_synchronize(stream));
    tw_kernel_destroy(kernel);
    tw_module_destroy(module);
  }
  tw_tensor_map_destroy(map);
  for (tw_plan* plan : plans) tw_plan_destroy(plan);
  GOOD(tw_free(device, memory));
  tw_event_destroy(start);
  tw_event_destroy(end);
  tw_stream_destroy(stream);
  tw_device_destroy(second);
#undef GOOD
  return failed;
}

TEST_CASE("threads that call everything at once") {
  const DeviceHandle device = open_any_device();
  if (!device) return;
  std::string failed[4];
  std::vector<std::thread> threads;
  for (std::string& mine : failed)
    threads.emplace_back([&device, &mine] {
      for (int k = 0; k < 10 && mine.empty(); ++k)
        mine = call_everything(device.get(), on_cuda(), k);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& what : failed) CHECK(what == "");
}

// --- Graphs ---

/// Captures one run of each job in global mode. On failure returns nullptr and sets *failed.
void* captured(const Capture& cu, PlanSet& set, CUstream_st* raw, tw_stream* stream,
               std::string* failed) {
  void *graph = nullptr, *exec = nullptr;
  if (cu.begin(raw, kGlobal) != 0) return *failed = "begin", nullptr;
  for (Job& job : set.jobs())
    if (job.run(job.plan.get(), stream) != TW_OK) *failed = job.name + ": " + tw_last_error();
  const int ended = cu.end(raw, &graph);
  if (ended != 0) *failed += " end of the capture: " + std::to_string(ended);
  if (failed->empty() && cu.instantiate(&exec, graph, 0) != 0) *failed = "instantiate";
  if (graph) cu.destroy_graph(graph);
  return exec;
}

/// A stream of the caller on the device's primary context, which it makes current.
struct CallersStream {
  CUstream_st* raw = nullptr;
  StreamHandle wrapped;

  CallersStream(const Capture& cu, tw_device* device) {
    int number = 0;
    void* context = nullptr;
    REQUIRE(cu.device_get(&number, 0) == 0);
    REQUIRE(cu.retain(&context, number) == 0);
    REQUIRE(cu.context_set(context) == 0);
    REQUIRE(cu.stream_create(&raw, 1) == 0);
    tw_stream* stream = nullptr;
    TW_REQUIRE_CALL(tw_stream_create_from(device, raw, &stream));
    wrapped.reset(stream);
  }
};

/// Poisons all outputs, replays the graph, and returns whether all outputs are right.
bool replay_is_right(const Capture& cu, PlanSet& set, void* exec, const CallersStream& stream,
                     std::vector<uint8_t>* bytes) {
  bytes->resize(set.out_bytes());
  if (tw_memset(stream.wrapped.get(), set.out(), kPoison, set.out_bytes()) != TW_OK) return false;
  if (cu.replay(exec, stream.raw) != 0) return false;
  if (tw_memcpy_to_host(stream.wrapped.get(), bytes->data(), set.out(), bytes->size()) != TW_OK)
    return false;
  if (cu.stream_wait(stream.raw) != 0) return false;
  for (const Job& job : set.jobs())
    if (std::memcmp(bytes->data() + (job.out - set.out()), job.expected.data(),
                    job.expected.size()) != 0)
      return false;
  return true;
}

TEST_CASE("a captured graph of twenty plans, replayed a thousand times") {
  if (!on_cuda()) return skip("graph capture needs a GPU");
  const DeviceHandle device = open_any_device();
  if (!device) return;
  const Capture cu;
  PlanSet set(device.get());
  for (int k = 0; k < 20; ++k) set.add(k);
  const CallersStream stream(cu, device.get());
  std::string failed;
  void* exec = captured(cu, set, stream.raw, stream.wrapped.get(), &failed);
  REQUIRE(failed == "");
  std::vector<uint8_t> bytes;
  int wrong = 0;
  for (int i = 0; i < 1000; ++i) wrong += !replay_is_right(cu, set, exec, stream, &bytes);
  CHECK(wrong == 0);
  // The graph owns the kernels and the maps, so the plans may be destroyed.
  for (Job& job : set.jobs()) job.plan.reset();
  CHECK(replay_is_right(cu, set, exec, stream, &bytes));
  cu.destroy_exec(exec);
}

TEST_CASE("captures in global mode while another thread calls everything") {
  if (!on_cuda()) return skip("graph capture needs a GPU");
  const DeviceHandle device = open_any_device();
  if (!device) return;
  const Capture cu;
  PlanSet set(device.get());
  for (int k = 0; k < 20; ++k) set.add(k);
  const CallersStream stream(cu, device.get());
  std::atomic<bool> stop = false;
  std::atomic<int> rounds = 0;
  std::string other_failed;
  std::thread other([&] {
    for (int k = 0; !stop && other_failed.empty(); ++k, ++rounds)
      other_failed = call_everything(device.get(), true, k);
  });
  std::string failed;
  std::vector<uint8_t> bytes;
  int captures = 0, wrong = 0;
  while (failed.empty() && (captures < 1000 || rounds < 500) && other_failed.empty()) {
    void* exec = captured(cu, set, stream.raw, stream.wrapped.get(), &failed);
    ++captures;
    if (!exec) continue;
    wrong += !replay_is_right(cu, set, exec, stream, &bytes);
    cu.destroy_exec(exec);
  }
  stop = true;
  other.join();
  INFO(captures, " captures beside ", rounds.load(), " rounds of calls");
  CHECK(failed == "");
  CHECK(other_failed == "");
  CHECK(wrong == 0);
  CHECK(rounds > 0);
}

// --- Contexts ---

TEST_CASE("whichever context is current, or none, stays current") {
  if (!on_cuda()) return skip("contexts need a GPU");
  const DeviceHandle device = open_any_device();
  if (!device) return;
  const Capture cu;
  int number = 0;
  void *foreign = nullptr, *left = nullptr;
  REQUIRE(cu.device_get(&number, 0) == 0);
  REQUIRE(cu.context_create(&foreign, 0, number) == 0);
  // Setting nullptr only pops the topmost context of the thread's stack.
  while (cu.context_get(&left) == 0 && left) REQUIRE(cu.context_set(nullptr) == 0);
  for (void* context : {static_cast<void*>(nullptr), foreign}) {
    if (context) REQUIRE(cu.context_set(context) == 0);
    CHECK(call_everything(device.get(), true, 1) == "");
    void* now = device.get();
    CHECK(cu.context_get(&now) == 0);
    CHECK(now == context);
    uint64_t address = 0;
    CHECK(tw_malloc(device.get(), UINT64_MAX / 2, &address) == TW_ERROR_OUT_OF_MEMORY);
    tw_stream* stream = nullptr;
    CHECK(tw_device_create(TW_DEVICE_CUDA, 9999, nullptr) != TW_OK);
    CHECK(tw_stream_create_from(device.get(), nullptr, &stream) == TW_OK);
    tw_stream_destroy(stream);
    CHECK(cu.context_get(&now) == 0);
    CHECK(now == context);
  }
  CHECK(cu.context_set(nullptr) == 0);
  CHECK(cu.context_destroy(foreign) == 0);
}

}  // namespace
}  // namespace tw::test
