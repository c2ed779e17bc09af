// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_stream.hpp"

#include <functional>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_graph.hpp"
#include "runtime/cuda/cuda_module.hpp"
#include "runtime/cuda/scope.hpp"

namespace tw::cuda {
namespace {

CudaDevice& cuda_of(const DeviceObject& object) {
  return static_cast<CudaDevice&>(*object.device());
}

CUevent handle_of(Event& event) {
  return static_cast<CudaEvent&>(event).handle();
}

Status check_graph_functions(const CudaDevice& device) {
  const Driver& cu = device.cu();
  return device.check_available(
      cu.StreamBeginCapture && cu.StreamEndCapture && cu.GraphInstantiateWithFlags &&
          cu.GraphLaunch && cu.GraphExecUpdate && cu.GraphExecDestroy && cu.GraphDestroy,
      "one of the functions of graphs, such as cuGraphInstantiateWithFlags");
}

}  // namespace

CudaEvent::~CudaEvent() {
  if (own_) cuda_of(*this).destroy_event(event_);
}

Status CudaEvent::cuda_handle(CUevent_st** out) {
  *out = event_;
  return Code::OK;
}

Status CudaEvent::check_not_captured() const {
  if (!captured_.load(std::memory_order_relaxed)) return Code::OK;
  return fail(Code::ERROR_CAPTURE, {.argument = "event"},
              "the event was last recorded during a capture, so it only orders work inside the "
              "graph: record it again outside a capture");
}

Status CudaEvent::synchronize() {
  TW_TRY(check_not_captured());
  CudaDevice& device = cuda_of(*this);
  TW_TRY(device.check_not_lost_or_forked());
  // Every driver call happens inside a ContextScope. Its modes are explained in scope.hpp.
  const ContextScope scope(device, ContextScope::relaxed_while_closing);
  TW_TRY(scope.status());
  TW_TRY(device.check(device.cu().EventSynchronize(event_), "cuEventSynchronize"));
  // Fails if the device was closed meanwhile, or another thread has found it lost.
  return device.check_alive();
}

Status CudaEvent::query() {
  TW_TRY(check_not_captured());
  CudaDevice& device = cuda_of(*this);
  const ContextScope scope(device, ContextScope::relaxed);
  TW_TRY(scope.status());
  const CUresult result = device.cu().EventQuery(event_);
  if (result == CUDA_ERROR_NOT_READY)
    return fail(Code::ERROR_NOT_READY, {.driver_result = static_cast<int32_t>(result)},
                "the event's last record has not completed yet");
  return device.check(result, "cuEventQuery");
}

Status CudaEvent::elapsed_since(Event& start, float* milliseconds) {
  auto& first = static_cast<CudaEvent&>(start);
  const bool start_recorded = first.recorded_.load(std::memory_order_relaxed);
  if (!start_recorded || !recorded_.load(std::memory_order_relaxed)) {
    const char* which = start_recorded ? "end" : "start";
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = which}, "%s was never recorded", which);
  }
  TW_TRY(first.query());
  TW_TRY(query());
  CudaDevice& device = cuda_of(*this);
  const ContextScope scope(device, ContextScope::relaxed);
  TW_TRY(scope.status());
  float value = 0;
  const CUresult result = device.cu().EventElapsedTime(&value, first.event_, event_);
  if (result == CUDA_ERROR_INVALID_HANDLE && !(first.own_ && own_)) {
    const char* which = first.own_ ? "end" : "start";
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = which, .driver_result = static_cast<int32_t>(result)},
                "%s is a wrapped CUDA event that cannot be timed: it was never recorded, or was "
                "created with CU_EVENT_DISABLE_TIMING",
                which);
  }
  TW_TRY(device.check(result, "cuEventElapsedTime"));
  *milliseconds = value;
  return Code::OK;
}

CudaStream::~CudaStream() {
  if (own_) cuda().destroy_stream(stream_);
}

CudaDevice& CudaStream::cuda() const {
  return cuda_of(*this);
}

Status CudaStream::cuda_handle(CUstream_st** out) {
  *out = stream_;
  return Code::OK;
}

Status CudaStream::capture_status(CUstreamCaptureStatus* status) {
  return cuda().check(cuda().cu().StreamIsCapturing(stream_, status), "cuStreamIsCapturing");
}

Status CudaStream::check_not_captured() {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TW_TRY(capture_status(&status));
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return Code::OK;
  return fail(
      Code::ERROR_CAPTURE, {.argument = "stream"},
      "the stream is being captured: end the capture before you query or synchronize the stream");
}

Status CudaStream::synchronize() {
  TW_TRY(cuda().check_not_lost_or_forked());
  const ContextScope scope(cuda(), ContextScope::relaxed_while_closing);
  TW_TRY(scope.status());
  TW_TRY(check_not_captured());
  TW_TRY(cuda().check(cuda().cu().StreamSynchronize(stream_), "cuStreamSynchronize"));
  // As in CudaEvent::synchronize().
  return cuda().check_alive();
}

Status CudaStream::query() {
  const ContextScope scope(cuda(), ContextScope::relaxed);
  TW_TRY(scope.status());
  TW_TRY(check_not_captured());
  const CUresult result = cuda().cu().StreamQuery(stream_);
  if (result == CUDA_ERROR_NOT_READY)
    return fail(Code::ERROR_NOT_READY, {.driver_result = static_cast<int32_t>(result)},
                "work of the stream has not finished yet");
  return cuda().check(result, "cuStreamQuery");
}

Status CudaStream::wait(Event& event) {
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  return cuda().check(cuda().cu().StreamWaitEvent(stream_, handle_of(event), CU_EVENT_WAIT_DEFAULT),
                      "cuStreamWaitEvent");
}

Status CudaStream::record(Event& event) {
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  TW_TRY(cuda().check(cuda().cu().EventRecord(handle_of(event), stream_), "cuEventRecord"));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TW_TRY(capture_status(&status));
  static_cast<CudaEvent&>(event).note_record(status != CU_STREAM_CAPTURE_STATUS_NONE);
  return Code::OK;
}

Status CudaStream::copy_to_device(uint64_t dst, const void* src, uint64_t bytes) {
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  return cuda().check(cuda().cu().MemcpyHtoDAsync(dst, src, bytes, stream_), "cuMemcpyHtoDAsync");
}

Status CudaStream::copy_to_host(void* dst, uint64_t src, uint64_t bytes) {
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  return cuda().check(cuda().cu().MemcpyDtoHAsync(dst, src, bytes, stream_), "cuMemcpyDtoHAsync");
}

Status CudaStream::copy_on_device(uint64_t dst, uint64_t src, uint64_t bytes) {
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  return cuda().check(cuda().cu().MemcpyDtoDAsync(dst, src, bytes, stream_), "cuMemcpyDtoDAsync");
}

Status CudaStream::copy_between(Device& dst_device, uint64_t dst, Device& src_device, uint64_t src,
                                uint64_t bytes) {
  auto& to = static_cast<CudaDevice&>(dst_device);
  auto& from = static_cast<CudaDevice&>(src_device);
  TW_TRY(cuda().check_available(cuda().cu().MemcpyPeerAsync, "cuMemcpyPeerAsync"));
  // A ContextScope locks its device against closing and makes its context current. The first two
  // are entered in address order, so that copies in opposite directions cannot deadlock. The third
  // makes the context of the stream current.
  const bool in_order = std::less<>()(&to, &from);
  const ContextScope first(in_order ? to : from, ContextScope::keep_capture_mode);
  TW_TRY(first.status());
  const ContextScope second(in_order ? from : to, ContextScope::keep_capture_mode);
  TW_TRY(second.status());
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  return cuda().check(
      cuda().cu().MemcpyPeerAsync(dst, to.context(), src, from.context(), bytes, stream_),
      "cuMemcpyPeerAsync");
}

Status CudaStream::fill(uint64_t dst, uint8_t value, uint64_t bytes) {
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  return cuda().check(cuda().cu().MemsetD8Async(dst, value, bytes, stream_), "cuMemsetD8Async");
}

Status CudaStream::launch(Kernel& kernel, const LaunchConfig& config, const void* arguments,
                          size_t bytes) {
  TW_TRY(static_cast<CudaKernel&>(kernel).check_argument_bytes(bytes));
  // The driver's interface lacks the const; it only reads the bytes.
  void* params[] = {const_cast<void*>(arguments), nullptr};
  return launch_params(kernel, config, params);
}

Status CudaStream::launch_params(Kernel& kernel, const LaunchConfig& config, void** params) {
  auto& target = static_cast<CudaKernel&>(kernel);
  TW_TRY(target.check(config));

  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig launch{};
  launch.gridDimX = config.grid[0];
  launch.gridDimY = config.grid[1];
  launch.gridDimZ = config.grid[2];
  launch.blockDimX = config.block[0];
  launch.blockDimY = config.block[1];
  launch.blockDimZ = config.block[2];
  launch.sharedMemBytes = config.dynamic_smem_bytes;
  launch.hStream = stream_;
  launch.attrs = attributes;
  launch.numAttrs = fill_attributes(config, attributes);

  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  const CUresult result =
      cuda().cu().LaunchKernelEx(&launch, target.function(), params, /*extra=*/nullptr);
  if (result != CUDA_SUCCESS)
    return fail_context(cuda().check(result, "cuLaunchKernelEx"), "launching %s", target.name());
  cuda().note_launch(target.name());
  return Code::OK;
}

Status CudaStream::begin_capture() {
  TW_TRY(check_graph_functions(cuda()));
  if (!stream_ || stream_ == CU_STREAM_LEGACY)
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "stream is the legacy default stream, which cannot be captured: capture one of "
                "tw_stream_create(), or the per-thread default stream");
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TW_TRY(capture_status(&status));
  if (status != CU_STREAM_CAPTURE_STATUS_NONE)
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream is being captured already: end that capture first");
  // In CUDA's relaxed capture mode, allocations, loads and queries of any thread do not invalidate
  // the capture, and any thread may end it.
  return cuda().check(cuda().cu().StreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED),
                      "cuStreamBeginCapture");
}

Status CudaStream::end_capture(std::unique_ptr<Graph>* out) {
  TW_TRY(check_graph_functions(cuda()));
  // Allocate first: if that throws, the capture goes on.
  std::shared_ptr<Recording> recording;
  std::unique_ptr<Graph> graph;
  if (out) {
    recording = std::make_shared<Recording>(device());
    graph = std::make_unique<CudaGraph>(device(), recording);
  }
  const ContextScope scope(cuda(), ContextScope::relaxed);
  TW_TRY(scope.status());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TW_TRY(capture_status(&status));
  if (status == CU_STREAM_CAPTURE_STATUS_NONE)
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream is not being captured: call tw_stream_begin_capture() first");
  const Driver& cu = cuda().cu();
  CUgraph made = nullptr;
  const CUresult result = cu.StreamEndCapture(stream_, &made);
  if (!out) {
    if (made) cu.GraphDestroy(made);
    // The caller discards the recording, so an invalid or unjoined capture is not an error here.
    if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
        result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
      return Code::OK;
    return cuda().check(result, "cuStreamEndCapture");
  }
  TW_TRY(cuda().check(result, "cuStreamEndCapture"));
  recording->own(made);
  *out = std::move(graph);
  return Code::OK;
}

Status CudaStream::is_captured(bool* yes) {
  const ContextScope scope(cuda(), ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TW_TRY(capture_status(&status));
  *yes = status != CU_STREAM_CAPTURE_STATUS_NONE;
  return Code::OK;
}

}  // namespace tw::cuda
