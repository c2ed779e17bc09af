// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_graph.hpp"

#include "runtime/host/host_stream.hpp"

namespace tw::host {
namespace {

const char* kind_name(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::copy_to_device:
      return "copy to the device";
    case Operation::Kind::copy_to_host:
      return "copy to the host";
    case Operation::Kind::copy:
      return "copy on the device";
    case Operation::Kind::fill:
      return "fill";
    default:
      return "launch";
  }
}

Status not_instantiated() {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "graph"},
              "graph was not instantiated: call tw_graph_instantiate() first");
}

/// An update may change addresses, sizes and kernels, but not the kinds and dependencies of the
/// operations.
Status check_topology(const Recording& was, const Recording& is) {
  const auto differs = [](size_t index) {
    return Fault{
        .argument = "captured", .index = static_cast<int32_t>(index), .rule = "graph_topology"};
  };
  constexpr const char* kRemedy =
      "capture the same calls in the same order, or instantiate `captured` instead";
  if (was.nodes.size() != is.nodes.size())
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "captured",
                 .rule = "graph_topology",
                 .got = static_cast<int64_t>(is.nodes.size()),
                 .limit = static_cast<int64_t>(was.nodes.size())},
                "`captured` has %zu operations and `graph` has %zu: %s", is.nodes.size(),
                was.nodes.size(), kRemedy);
  for (size_t i = 0; i < is.nodes.size(); ++i) {
    const Operation::Kind before = was.nodes[i].slot->operation.kind;
    const Operation::Kind now = is.nodes[i].slot->operation.kind;
    if (before != now)
      return fail(Code::ERROR_INVALID_ARGUMENT, differs(i),
                  "operation %zu of `captured` is a %s and that of `graph` is a %s: %s", i,
                  kind_name(now), kind_name(before), kRemedy);
    if (was.nodes[i].predecessors != is.nodes[i].predecessors)
      return fail(Code::ERROR_INVALID_ARGUMENT, differs(i),
                  "operation %zu of `captured` follows other operations than that of `graph`: %s",
                  i, kRemedy);
  }
  return Code::OK;
}

}  // namespace

HostGraph::~HostGraph() {
  // A forked child cannot destroy the worker: threads that exist only in the parent may hold its
  // lock.
  if (device()->forked() && last_worker_) leak(std::move(last_worker_));
}

Status HostGraph::instantiate() {
  instantiated_ = true;
  return Code::OK;
}

Status HostGraph::launch(Stream& stream) {
  if (!instantiated_) return not_instantiated();
  const std::shared_ptr<Worker>& worker = static_cast<HostStream&>(stream).worker();
  uint64_t position = 0;
  if (last_worker_ && last_worker_ != worker)
    TW_TRY(worker->enqueue(
        {.kind = Operation::Kind::wait, .awaited = last_worker_, .position = last_position_},
        nullptr, 0, &position));
  TW_TRY(worker->enqueue({.kind = Operation::Kind::graph, .recording = recording_}, nullptr, 0,
                         &position));
  last_worker_ = worker;
  last_position_ = position;
  return Code::OK;
}

Status HostGraph::update(Graph& captured) {
  if (!instantiated_) return not_instantiated();
  const auto& from = static_cast<HostGraph&>(captured);
  TW_TRY(check_topology(*recording_, *from.recording_));
  recording_ = from.recording_;
  return Code::OK;
}

}  // namespace tw::host
