// SPDX-License-Identifier: Apache-2.0
#include "fake_driver.hpp"

#include <algorithm>
#include <cstring>

#include "fake_images.hpp"
#include "kernels/image/cubin_info.hpp"
#include "kernels/image/precompiled.hpp"

namespace tw::test {
namespace {

FakeState g_state;
uintptr_t g_next = 0x1000;

template <class Handle>
Handle fresh() {
  return reinterpret_cast<Handle>(g_next += 0x10);
}

/// Runs first in every call. `capture_unsafe`: forbidden during a capture in global mode.
CUresult step(const char* name, bool needs_context, bool capture_unsafe = false) {
  FakeState& s = g_state;
  if (s.on_call) s.on_call(name);
  s.log.push_back(name);
  if (needs_context && s.stack.empty()) s.misuse.push_back(std::string(name) + " without context");
  if (capture_unsafe && s.mode != CU_STREAM_CAPTURE_MODE_RELAXED) s.strict_calls.push_back(name);
  return ++s.calls == s.fail_at ? s.fail_with : CUDA_SUCCESS;
}

template <class Set, class Key>
void expect(const Set& set, const Key& key, const char* name) {
  if (set.count(key) == 0) g_state.misuse.push_back(std::string(name) + " of an unknown handle");
}

/// Bytes of the argument struct of a precompiled kernel, as its cubin states them; 0 for any other
/// name. Padding in front of it in the constant bank is not counted.
size_t argument_bytes_of(const char* name) {
  static std::map<std::string, size_t> known;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  Precompiled kernel;
  FatbinEntry entry;
  CubinInfo info;
  for (const char* target : {"sm_90a", "sm_100f"}) {
    if (!find_precompiled(name, target, &kernel).ok() || !precompiled_image(kernel, &entry).ok())
      continue;
    std::vector<uint8_t> cubin(entry.size);
    if (unpack(entry, cubin.data()).ok() &&
        read_cubin_info(cubin.data(), cubin.size(), name, &info))
      break;
  }
  return known[name] = static_cast<size_t>(info.param_bytes - info.param_offset);
}

#define TW_STEP(...) \
  if (const CUresult stepped = step(__VA_ARGS__); stepped != CUDA_SUCCESS) return stepped

bool callers(CUstream stream) {
  return stream == fake_callers_stream();
}
bool special(CUstream stream) {
  return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}
void expect_stream(CUstream stream, const char* name) {
  if (!callers(stream) && !special(stream)) expect(g_state.streams, stream, name);
}
void expect_event(CUevent event, const char* name) {
  if (event != fake_callers_event()) expect(g_state.events, event, name);
}

/// Adds work to a stream; a capture records it.
CUresult work(CUstream stream, const char* name) {
  expect_stream(stream, name);
  TW_STEP(name, true);
  if (const auto capture = g_state.captures.find(stream); capture != g_state.captures.end())
    capture->second.push_back(name);
  return CUDA_SUCCESS;
}

void fill_device(Driver* t) {
  t->Init = [](unsigned) -> CUresult {
    TW_STEP("Init", false);
    return g_state.devices == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
  };
  t->DriverGetVersion = [](int* v) -> CUresult { return *v = g_state.version, CUDA_SUCCESS; };
  t->GetErrorName = [](CUresult, const char** out) -> CUresult {
    return *out = "FAKE_ERROR", CUDA_SUCCESS;
  };
  t->GetErrorString = [](CUresult, const char** out) -> CUresult {
    return *out = "made up", CUDA_SUCCESS;
  };
  t->DeviceGetCount = [](int* out) -> CUresult {
    TW_STEP("DeviceGetCount", false);
    return *out = g_state.devices, CUDA_SUCCESS;
  };
  t->DeviceGet = [](CUdevice* out, int ordinal) -> CUresult {
    TW_STEP("DeviceGet", false);
    return *out = ordinal, CUDA_SUCCESS;
  };
  t->DeviceGetName = [](char* name, int size, CUdevice) -> CUresult {
    TW_STEP("DeviceGetName", false);
    return std::strncpy(name, "fake GPU", static_cast<size_t>(size)), CUDA_SUCCESS;
  };
  t->DeviceTotalMem = [](size_t* out, CUdevice) -> CUresult {
    TW_STEP("DeviceTotalMem", false);
    return *out = size_t{1} << 30, CUDA_SUCCESS;
  };
  t->DeviceGetAttribute = [](int* out, CUdevice_attribute which, CUdevice) -> CUresult {
    TW_STEP("DeviceGetAttribute", false);
    *out = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? g_state.compute_major
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? g_state.compute_minor
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT              ? 132
           : which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? g_state.shared_memory
                                                                            : 1 << 20;
    return CUDA_SUCCESS;
  };
  t->DevicePrimaryCtxRetain = [](CUcontext* out, CUdevice) -> CUresult {
    TW_STEP("DevicePrimaryCtxRetain", false);
    ++g_state.primary;
    return *out = fake_primary(), CUDA_SUCCESS;
  };
  t->DevicePrimaryCtxRelease = [](CUdevice) -> CUresult {
    --g_state.primary;
    return step("DevicePrimaryCtxRelease", false);
  };
  t->CtxPushCurrent = [](CUcontext context) -> CUresult {
    TW_STEP("CtxPushCurrent", false);
    if (context != fake_primary() && context != fake_other_context())
      return CUDA_ERROR_INVALID_CONTEXT;
    return g_state.stack.push_back(context), CUDA_SUCCESS;
  };
  t->CtxPopCurrent = [](CUcontext* out) -> CUresult {
    if (g_state.stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *out = g_state.stack.back();
    g_state.stack.pop_back();
    return CUDA_SUCCESS;
  };
  t->CtxGetDevice = [](CUdevice* out) -> CUresult {
    TW_STEP("CtxGetDevice", true);
    return *out = 0, CUDA_SUCCESS;
  };
  t->CtxGetDevResource = [](CUcontext, CUdevResource* out, CUdevResourceType) -> CUresult {
    TW_STEP("CtxGetDevResource", false);
    return out->sm.smCount = 66, CUDA_SUCCESS;
  };
  t->ThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) -> CUresult {
    std::swap(*mode, g_state.mode);
    return CUDA_SUCCESS;
  };
}

void fill_streams(Driver* t) {
  t->StreamCreate = [](CUstream* out, unsigned flags) -> CUresult {
    TW_STEP("StreamCreate", true, true);
    if (flags != CU_STREAM_NON_BLOCKING) g_state.misuse.push_back("a blocking stream");
    g_state.streams.insert(*out = fresh<CUstream>());
    return CUDA_SUCCESS;
  };
  t->StreamDestroy = [](CUstream stream) -> CUresult {
    expect(g_state.streams, stream, "StreamDestroy");
    if (g_state.captures.count(stream)) g_state.misuse.push_back("StreamDestroy in a capture");
    g_state.streams.erase(stream);
    return step("StreamDestroy", true);
  };
  t->StreamSynchronize = [](CUstream stream) -> CUresult {
    expect_stream(stream, "StreamSynchronize");
    if (g_state.captures.count(stream)) g_state.misuse.push_back("StreamSynchronize in a capture");
    TW_STEP("StreamSynchronize", true, true);
    return g_state.stream_result;
  };
  t->StreamQuery = [](CUstream stream) -> CUresult {
    expect_stream(stream, "StreamQuery");
    TW_STEP("StreamQuery", true, true);
    return g_state.stream_result;
  };
  t->StreamWaitEvent = [](CUstream stream, CUevent event, unsigned) -> CUresult {
    expect_stream(stream, "StreamWaitEvent");
    expect_event(event, "StreamWaitEvent");
    return step("StreamWaitEvent", true);
  };
  t->StreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* out) -> CUresult {
    const bool captured = g_state.capturing || g_state.captures.count(stream) != 0;
    *out = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return step("StreamIsCapturing", true);
  };
  t->StreamGetCtx = [](CUstream stream, CUcontext* out) -> CUresult {
    *out = callers(stream) ? fake_primary() : fake_other_context();
    return step("StreamGetCtx", true);
  };
  t->EventCreate = [](CUevent* out, unsigned) -> CUresult {
    TW_STEP("EventCreate", true, true);
    g_state.events.insert(*out = fresh<CUevent>());
    return CUDA_SUCCESS;
  };
  t->EventDestroy = [](CUevent event) -> CUresult {
    expect(g_state.events, event, "EventDestroy");
    g_state.events.erase(event);
    return step("EventDestroy", true);
  };
  t->EventRecord = [](CUevent event, CUstream stream) -> CUresult {
    expect_stream(stream, "EventRecord");
    expect_event(event, "EventRecord");
    return step("EventRecord", true);
  };
  t->EventQuery = [](CUevent) -> CUresult { return step("EventQuery", true, true); };
  t->EventSynchronize = [](CUevent) -> CUresult { return step("EventSynchronize", true, true); };
  t->EventElapsedTime = [](float* out, CUevent, CUevent) -> CUresult {
    TW_STEP("EventElapsedTime", true, true);
    if (g_state.event_without_timing) return CUDA_ERROR_INVALID_HANDLE;
    return *out = 1.5f, CUDA_SUCCESS;
  };
}

void fill_graphs(Driver* t) {
  t->StreamBeginCapture = [](CUstream stream, CUstreamCaptureMode mode) -> CUresult {
    expect_stream(stream, "StreamBeginCapture");
    TW_STEP("StreamBeginCapture", true);
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
      g_state.misuse.push_back("a capture in global mode");
    if (!stream || stream == CU_STREAM_LEGACY) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return g_state.captures.try_emplace(stream).second ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
  };
  t->StreamEndCapture = [](CUstream stream, CUgraph* out) -> CUresult {
    *out = nullptr;
    const auto capture = g_state.captures.find(stream);
    if (capture == g_state.captures.end()) return CUDA_ERROR_ILLEGAL_STATE;
    // A capture that fails ends, too.
    const std::vector<std::string> calls = capture->second;
    g_state.captures.erase(capture);
    TW_STEP("StreamEndCapture", true);
    g_state.graphs[*out = fresh<CUgraph>()] = calls;
    return CUDA_SUCCESS;
  };
  t->GraphInstantiateWithFlags = [](CUgraphExec* out, CUgraph graph,
                                    unsigned long long) -> CUresult {
    expect(g_state.graphs, graph, "GraphInstantiate");
    TW_STEP("GraphInstantiateWithFlags", true, true);
    g_state.execs[*out = fresh<CUgraphExec>()] = g_state.graphs[graph];
    return CUDA_SUCCESS;
  };
  t->GraphLaunch = [](CUgraphExec exec, CUstream stream) -> CUresult {
    expect(g_state.execs, exec, "GraphLaunch");
    return work(stream, "GraphLaunch");
  };
  t->GraphExecUpdate = [](CUgraphExec exec, CUgraph graph,
                          CUgraphExecUpdateResultInfo* info) -> CUresult {
    expect(g_state.execs, exec, "GraphExecUpdate");
    expect(g_state.graphs, graph, "GraphExecUpdate");
    TW_STEP("GraphExecUpdate", true, true);
    info->result = static_cast<CUgraphExecUpdateResult>(g_state.refused_update);
    const std::vector<std::string>& from = g_state.graphs[graph];
    if (info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS && from.size() != g_state.execs[exec].size())
      info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    else if (info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS && from != g_state.execs[exec])
      info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    return info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                        : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  t->GraphExecDestroy = [](CUgraphExec exec) -> CUresult {
    expect(g_state.execs, exec, "GraphExecDestroy");
    g_state.execs.erase(exec);
    return step("GraphExecDestroy", true, true);
  };
  t->GraphDestroy = [](CUgraph graph) -> CUresult {
    expect(g_state.graphs, graph, "GraphDestroy");
    g_state.graphs.erase(graph);
    return step("GraphDestroy", true, true);
  };
}

void fill_memory(Driver* t) {
  t->MemHostAlloc = [](void** out, size_t bytes, unsigned flags) -> CUresult {
    TW_STEP("MemHostAlloc", true, true);
    if (flags != CU_MEMHOSTALLOC_PORTABLE) g_state.misuse.push_back("memory of one context");
    if (bytes > size_t{1} << 30) return CUDA_ERROR_OUT_OF_MEMORY;
    g_state.host_memory.insert(*out = reinterpret_cast<void*>(g_next += 0x1000));
    return CUDA_SUCCESS;
  };
  t->MemFreeHost = [](void* memory) -> CUresult {
    expect(g_state.host_memory, memory, "MemFreeHost");
    g_state.host_memory.erase(memory);
    return step("MemFreeHost", true, true);
  };
  t->MemcpyPeerAsync = [](CUdeviceptr, CUcontext to, CUdeviceptr, CUcontext from, size_t,
                          CUstream stream) -> CUresult {
    g_state.peers = {to, from};
    return work(stream, "MemcpyPeerAsync");
  };
  t->MemAlloc = [](CUdeviceptr* out, size_t bytes) -> CUresult {
    TW_STEP("MemAlloc", true, true);
    if (bytes > size_t{1} << 30) return CUDA_ERROR_OUT_OF_MEMORY;
    g_state.memory[*out = g_next += 0x1000] = bytes;
    return CUDA_SUCCESS;
  };
  t->MemFree = [](CUdeviceptr address) -> CUresult {
    expect(g_state.memory, address, "MemFree");
    g_state.memory.erase(address);
    return step("MemFree", true, true);
  };
  t->MemcpyHtoDAsync = [](CUdeviceptr, const void*, size_t, CUstream stream) -> CUresult {
    return work(stream, "MemcpyHtoDAsync");
  };
  t->MemcpyDtoHAsync = [](void*, CUdeviceptr, size_t, CUstream stream) -> CUresult {
    return work(stream, "MemcpyDtoHAsync");
  };
  t->MemcpyDtoDAsync = [](CUdeviceptr, CUdeviceptr, size_t, CUstream stream) -> CUresult {
    return work(stream, "MemcpyDtoDAsync");
  };
  t->MemsetD8Async = [](CUdeviceptr, unsigned char, size_t, CUstream stream) -> CUresult {
    return work(stream, "MemsetD8Async");
  };
}

void fill_kernels(Driver* t) {
  t->LibraryLoadData = [](CUlibrary* out, const void* image, CUjit_option*, void**, unsigned,
                          CUlibraryOption*, void**, unsigned) -> CUresult {
    TW_STEP("LibraryLoadData", true, true);
    if (g_state.load_result != CUDA_SUCCESS) return g_state.load_result;
    const std::set<std::string>* kernels = nullptr;
    if (const CUresult taken = take_code(image, g_state, &kernels); taken != CUDA_SUCCESS)
      return taken;
    g_state.libraries.insert(*out = fresh<CUlibrary>());
    if (kernels) g_state.kernels_of[*out] = kernels;
    return CUDA_SUCCESS;
  };
  t->LibraryUnload = [](CUlibrary library) -> CUresult {
    expect(g_state.libraries, library, "LibraryUnload");
    g_state.libraries.erase(library);
    g_state.kernels_of.erase(library);
    return step("LibraryUnload", false, true);
  };
  t->LibraryGetModule = [](CUmodule* out, CUlibrary) -> CUresult {
    TW_STEP("LibraryGetModule", true, true);
    return *out = fresh<CUmodule>(), CUDA_SUCCESS;
  };
  t->LibraryGetKernel = [](CUkernel* out, CUlibrary library, const char* name) -> CUresult {
    TW_STEP("LibraryGetKernel", true, true);
    if (std::strcmp(name, "missing") == 0) return CUDA_ERROR_NOT_FOUND;
    const auto known = g_state.kernels_of.find(library);
    if (known != g_state.kernels_of.end() && known->second->count(name) == 0)
      return CUDA_ERROR_NOT_FOUND;
    *out = fresh<CUkernel>();
    if (const size_t bytes = argument_bytes_of(name)) g_state.argument_bytes[*out] = bytes;
    return CUDA_SUCCESS;
  };
  t->KernelGetFunction = [](CUfunction* out, CUkernel) -> CUresult {
    TW_STEP("KernelGetFunction", true, true);
    return *out = fresh<CUfunction>(), CUDA_SUCCESS;
  };
  t->KernelGetParamInfo = [](CUkernel kernel, size_t index, size_t* offset,
                             size_t* size) -> CUresult {
    TW_STEP("KernelGetParamInfo", true);
    if (const auto own = g_state.argument_bytes.find(kernel); own != g_state.argument_bytes.end()) {
      if (index >= 1) return CUDA_ERROR_INVALID_VALUE;
      return *offset = 0, *size = own->second, CUDA_SUCCESS;
    }
    if (index >= 2) return CUDA_ERROR_INVALID_VALUE;
    *offset = index * 128;
    *size = index == 0 ? 8 : 128;
    return CUDA_SUCCESS;
  };
  t->FuncLoad = [](CUfunction) -> CUresult { return step("FuncLoad", true, true); };
  t->FuncGetAttribute = [](int* out, CUfunction_attribute which, CUfunction) -> CUresult {
    TW_STEP("FuncGetAttribute", true);
    *out = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
           : which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES   ? 448
                                                            : 90;
    return CUDA_SUCCESS;
  };
  t->FuncSetAttribute = [](CUfunction, CUfunction_attribute which, int value) -> CUresult {
    TW_STEP("FuncSetAttribute", true);
    if (static_cast<int>(which) == g_state.refused_attribute) return CUDA_ERROR_INVALID_VALUE;
    g_state.function_attributes[which] = value;
    return CUDA_SUCCESS;
  };
  t->LaunchKernelEx = [](const CUlaunchConfig* launch, CUfunction, void**, void**) -> CUresult {
    if (const CUresult worked = work(launch->hStream, "LaunchKernelEx"); worked != CUDA_SUCCESS)
      return worked;
    g_state.launch = *launch;
    g_state.attributes.assign(launch->attrs, launch->attrs + launch->numAttrs);
    return CUDA_SUCCESS;
  };
  t->OccupancyMaxActiveBlocksPerMultiprocessor = [](int* out, CUfunction, int, size_t) -> CUresult {
    TW_STEP("OccupancyMaxActiveBlocksPerMultiprocessor", true);
    return *out = 2, CUDA_SUCCESS;
  };
  t->OccupancyMaxActiveClusters = [](int* out, CUfunction, const CUlaunchConfig*) -> CUresult {
    TW_STEP("OccupancyMaxActiveClusters", true);
    return *out = 30, CUDA_SUCCESS;
  };
  t->TensorMapEncodeTiled = [](CUtensorMap* out, CUtensorMapDataType, cuuint32_t, void* address,
                               const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                               const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                               CUtensorMapL2promotion, CUtensorMapFloatOOBfill) -> CUresult {
    TW_STEP("TensorMapEncodeTiled", true);
    std::memset(static_cast<void*>(out), 0xcc, sizeof *out);
    const auto word = reinterpret_cast<uintptr_t>(address);
    std::memcpy(static_cast<void*>(out), &word, sizeof word);
    return CUDA_SUCCESS;
  };
}

}  // namespace

FakeState& fake() {
  return g_state;
}

namespace {

Driver g_inner;  // the functions above
Driver* g_table = nullptr;
thread_local int t_depth = 0;

/// Wraps a function of the table and counts the nesting depth around it.
template <auto member>
struct Counted;
template <class R, class... Args, R (*Driver::*member)(Args...)>
struct Counted<member> {
  static R call(Args... args) {
    struct Depth {
      Depth() { ++t_depth; }
      ~Depth() { --t_depth; }
    } depth;
    return (g_inner.*member)(args...);
  }
};

}  // namespace

Driver* fake_table() {
  return g_table;
}

bool inside_fake_driver() {
  return t_depth > 0;
}

FakeDriver::FakeDriver(int version) {
  g_state = FakeState{};
  g_state.version = version;
  g_inner = Driver{};
  fill_device(&g_inner);
  fill_streams(&g_inner);
  fill_graphs(&g_inner);
  fill_memory(&g_inner);
  fill_kernels(&g_inner);
#define TW_DRIVER_SYMBOL(name, version, need, ...) \
  if (g_inner.name) table_.name = Counted<&Driver::name>::call;
#include "driver/symbols.inc"
#undef TW_DRIVER_SYMBOL
  table_.version = version;
  g_table = &table_;
  replace_driver(&table_);
}

FakeDriver::~FakeDriver() {
  replace_driver(nullptr);
}

}  // namespace tw::test
