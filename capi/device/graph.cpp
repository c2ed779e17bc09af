// SPDX-License-Identifier: Apache-2.0
// C API: stream capture and graphs.
#include "capi/common/boundary.hpp"

using namespace tw;        // NOLINT
using namespace tw::capi;  // NOLINT

namespace {

constinit DestroyedHandles<tw_graph> g_destroyed_graphs;

}  // namespace

tw_status tw_stream_begin_capture(tw_stream* stream) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    return stream->value->begin_capture();
  });
}

tw_status tw_stream_end_capture(tw_stream* stream, tw_graph** graph) {
  return guard(stream, [&]() -> Status {
    if (graph) *graph = nullptr;
    TW_TRY(usable(stream, "stream"));
    if (!graph) return stream->value->end_capture(nullptr);
    auto handle = std::make_unique<tw_graph>();
    TW_TRY(stream->value->end_capture(&handle->value));
    *graph = handle.release();
    return Code::OK;
  });
}

tw_status tw_graph_instantiate(tw_graph* graph) {
  return guard(graph, [&]() -> Status {
    TW_TRY(usable(graph, "graph"));
    return graph->value->instantiate();
  });
}

tw_status tw_graph_launch(tw_graph* graph, tw_stream* stream) {
  return guard(graph, [&]() -> Status {
    TW_TRY(usable(graph, "graph"));
    TW_TRY(usable(stream, "stream"));
    TW_TRY(same_device(graph, "graph", stream, "stream"));
    bool captured = false;
    TW_TRY(stream->value->is_captured(&captured));
    if (captured)
      return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                  "stream is being captured, and a graph cannot be part of another one: enqueue "
                  "the calls that the graph was captured from");
    return graph->value->launch(*stream->value);
  });
}

tw_status tw_graph_update(tw_graph* graph, tw_graph* captured) {
  return guard(graph, [&]() -> Status {
    TW_TRY(usable(graph, "graph"));
    TW_TRY(usable(captured, "captured"));
    TW_TRY(same_device(graph, "graph", captured, "captured"));
    return graph->value->update(*captured->value);
  });
}

void tw_graph_destroy(tw_graph* graph) {
  g_destroyed_graphs.destroy(graph);
}
