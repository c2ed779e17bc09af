// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_graph.hpp"

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_stream.hpp"
#include "runtime/cuda/scope.hpp"

namespace tw::cuda {
namespace {

CudaDevice& cuda_of(const DeviceObject& object) {
  return static_cast<CudaDevice&>(*object.device());
}

Status not_instantiated() {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "graph"},
              "graph was not instantiated: call tw_graph_instantiate() first");
}

const char* reason_of(CUgraphExecUpdateResult result) {
  switch (result) {
    case CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED:
      return "the number of operations or their order differs";
    case CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED:
      return "an operation is of another kind";
    case CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED:
    case CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE:
      return "a launch uses a kernel that cannot replace the other one";
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

CudaGraph::~CudaGraph() {
  if (exec_) cuda_of(*this).destroy_exec(exec_);
}

Status CudaGraph::instantiate() {
  if (exec_) return Code::OK;
  CudaDevice& device = cuda_of(*this);
  const ContextScope scope(device, ContextScope::relaxed);
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
  const ContextScope scope(device, ContextScope::keep_capture_mode);
  TW_TRY(scope.status());
  const CUstream on = static_cast<CudaStream&>(stream).handle();
  TW_TRY(device.check(device.cu().GraphLaunch(exec_, on), "cuGraphLaunch"));
  device.note_launch("part of a graph");
  return Code::OK;
}

Status CudaGraph::update(Graph& captured) {
  if (!exec_) return not_instantiated();
  const auto& from = static_cast<CudaGraph&>(captured);
  CudaDevice& device = cuda_of(*this);
  const Driver& cu = device.cu();
  const ContextScope scope(device, ContextScope::relaxed);
  TW_TRY(scope.status());
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cu.GraphExecUpdate(exec_, from.recording_->handle(), &info);
  if (result == CUDA_SUCCESS) {
    recording_ = from.recording_;
    return Code::OK;
  }
  // Undo: the driver does not promise that a failed update changes nothing.
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
              "the graph `captured` cannot update `graph`: %s. Capture the same calls in the same "
              "order, or instantiate `captured` instead",
              reason_of(info.result));
}

}  // namespace tw::cuda
