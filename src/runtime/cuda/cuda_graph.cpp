// SPDX-License-Identifier: Apache-2.0
// Capture of CUDA streams, and graphs.
#include "runtime/cuda/cuda_graph.hpp"

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_stream.hpp"

namespace tw::cuda {
namespace {

CudaDevice& cuda_of(const DeviceObject& object) {
  return static_cast<CudaDevice&>(*object.device());
}

Status need_graphs(const CudaDevice& device) {
  const Driver& cu = device.cu();
  return device.need(cu.StreamBeginCapture && cu.StreamEndCapture && cu.GraphInstantiateWithFlags &&
                         cu.GraphLaunch && cu.GraphExecUpdate && cu.GraphExecDestroy &&
                         cu.GraphDestroy,
                     "one of the functions of graphs, such as cuGraphInstantiateWithFlags");
}

Status not_instantiated() {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "graph"},
              "graph was not instantiated: call tw_graph_instantiate() first");
}

/// The driver's reason for refusing an update.
const char* reason_of(CUgraphExecUpdateResult result) {
  switch (result) {
    case CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED:
      return "the number of operations or their order differs";
    case CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED:
      return "an operation is of another kind";
    case CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED:
    case CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE:
      return "a launch is of a kernel that cannot take the place of the other one";
    case CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED:
      return "an operation's parameters differ in a way that cannot be updated";
    case CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED:
      return "a launch's attributes differ in a way that cannot be updated";
    case CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED:
      return "an operation is of a kind that cannot be updated";
    default:
      return "the driver gives no reason";
  }
}

}  // namespace

Recording::~Recording() {
  if (graph_) cuda_of(*this).destroy_graph(graph_);
}

void Recording::own(CUgraph graph) {
  cuda_of(*this).keep_graph(graph);
  graph_ = graph;
}

Status CudaStream::begin_capture() {
  TW_TRY(need_graphs(cuda()));
  if (!stream_ || stream_ == CU_STREAM_LEGACY)
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "stream is the legacy default stream, which cannot be captured: capture one of "
                "tw_stream_create(), or the per-thread default stream");
  const Scope scope(cuda(), Scope::enqueue);
  TW_TRY(scope.status());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TW_TRY(capture_status(&status));
  if (status != CU_STREAM_CAPTURE_STATUS_NONE)
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream is being captured already: end that capture first");
  // Relaxed: no call of another thread breaks it, and any thread may end it.
  return cuda().check(cuda().cu().StreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED),
                      "cuStreamBeginCapture");
}

Status CudaStream::end_capture(std::unique_ptr<Graph>* out) {
  TW_TRY(need_graphs(cuda()));
  // All that may throw comes first, so that the capture goes on where memory is exhausted.
  std::shared_ptr<Recording> recording;
  std::unique_ptr<Graph> graph;
  if (out) {
    recording = std::make_shared<Recording>(device());
    graph = std::make_unique<CudaGraph>(device(), recording);
  }
  const Scope scope(cuda(), Scope::relaxed);
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
    // The driver says why there is no graph, which nobody wanted.
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

Status CudaStream::captured(bool* yes) {
  const Scope scope(cuda(), Scope::enqueue);
  TW_TRY(scope.status());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TW_TRY(capture_status(&status));
  *yes = status != CU_STREAM_CAPTURE_STATUS_NONE;
  return Code::OK;
}

CudaGraph::~CudaGraph() {
  if (exec_) cuda_of(*this).destroy_exec(exec_);
}

Status CudaGraph::instantiate() {
  if (exec_) return Code::OK;
  CudaDevice& device = cuda_of(*this);
  const Scope scope(device, Scope::relaxed);
  TW_TRY(scope.status());
  CUgraphExec exec = nullptr;
  TW_TRY(device.check(device.cu().GraphInstantiateWithFlags(&exec, recording_->handle(), 0),
                      "cuGraphInstantiateWithFlags"));
  device.keep_exec(exec);
  exec_ = exec;
  return Code::OK;
}

Status CudaGraph::launch(Stream& stream) {
  if (!exec_) return not_instantiated();
  CudaDevice& device = cuda_of(*this);
  const Scope scope(device, Scope::enqueue);
  TW_TRY(scope.status());
  const CUstream on = static_cast<CudaStream&>(stream).handle();
  TW_TRY(device.check(device.cu().GraphLaunch(exec_, on), "cuGraphLaunch"));
  device.launched("one of a graph");
  return Code::OK;
}

Status CudaGraph::update(Graph& captured) {
  if (!exec_) return not_instantiated();
  const auto& from = static_cast<CudaGraph&>(captured);
  CudaDevice& device = cuda_of(*this);
  const Driver& cu = device.cu();
  const Scope scope(device, Scope::relaxed);
  TW_TRY(scope.status());
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cu.GraphExecUpdate(exec_, from.recording_->handle(), &info);
  if (result == CUDA_SUCCESS) {
    recording_ = from.recording_;
    return Code::OK;
  }
  // The driver does not promise that it changed nothing before it failed.
  CUgraphExecUpdateResultInfo undone{};
  if (!is_sticky(result))
    TW_TRY(device.check(cu.GraphExecUpdate(exec_, recording_->handle(), &undone),
                        "cuGraphExecUpdate"));
  if (result != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
    return device.check(result, "cuGraphExecUpdate");
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "captured",
               .rule = "graph_topology",
               .driver_result = static_cast<int32_t>(result)},
              "captured cannot update graph: %s; an update captures the same calls again, "
              "otherwise instantiate captured",
              reason_of(info.result));
}

}  // namespace tw::cuda
