// SPDX-License-Identifier: Apache-2.0
// Host streams and events while a stream is captured.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>

#include "runtime/host/capture.hpp"
#include "runtime/host/host_device.hpp"
#include "runtime/host/host_stream.hpp"

namespace tw::host {
namespace {

/// Whether every node comes before one of `last`, or is one of them.
bool all_joined(const std::vector<Node>& nodes, const std::vector<size_t>& last) {
  std::vector<bool> reached(nodes.size());
  for (const size_t index : last) reached[index] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!reached[i]) return false;  // all that follow it lie behind it, and have been looked at
    for (const size_t before : nodes[i].after) reached[before] = true;
  }
  return true;
}

Status broken_capture() {
  return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
              "the capture of the stream was broken by an earlier call, which said why: end it, "
              "which records nothing, and begin again");
}

}  // namespace

std::mutex& HostStream::captures() const {
  return static_cast<HostDevice&>(*device()).captures();
}

bool HostStream::capturing() {
  if (point_.capture && point_.capture->ended) point_ = {};
  return point_.capture != nullptr;
}

Status HostStream::begin_capture() {
  const std::lock_guard lock(captures());
  if (capturing())
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream is being captured already: end that capture first");
  point_.capture = std::make_shared<Capture>(this);
  return Code::OK;
}

Status HostStream::end_capture(std::unique_ptr<Graph>* out) {
  const std::lock_guard lock(captures());
  if (!capturing())
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream is not being captured: call tw_stream_begin_capture() first");
  Capture& capture = *point_.capture;
  if (capture.origin != this)
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream joined a capture that began on another one: end it there");
  // All that may throw comes first, so that the capture goes on where memory is exhausted.
  std::unique_ptr<Graph> graph;
  if (out) graph = std::make_unique<HostGraph>(device(), capture.recording);
  const bool joined = all_joined(capture.recording->nodes, point_.last);
  const bool broken = capture.broken;
  capture.ended = true;
  point_ = {};
  if (!out) return Code::OK;
  if (broken) return broken_capture();
  if (!joined)
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the capture forked work to another stream and did not join it: record an event "
                "behind that work and let the captured stream wait for it; nothing was recorded");
  *out = std::move(graph);
  return Code::OK;
}

Status HostStream::captured(bool* yes) {
  const std::lock_guard lock(captures());
  *yes = capturing();
  return Code::OK;
}

void HostStream::leave_capture() {
  const std::lock_guard lock(captures());
  if (capturing() && point_.capture->origin == this) point_.capture->ended = true;
}

Status HostStream::record_node(Operation operation, const void* arguments, size_t bytes) {
  if (point_.capture->broken) return broken_capture();
  std::vector<Node>& nodes = point_.capture->recording->nodes;
  Node node{std::make_unique<Slot>(), point_.last};
  if (bytes > 0) std::memcpy(node.slot->arguments, arguments, bytes);
  node.slot->operation = std::move(operation);
  std::vector<size_t> last{nodes.size()};
  nodes.push_back(std::move(node));
  point_.last.swap(last);
  return Code::OK;
}

Status HostStream::wait_in_capture(HostEvent& event) {
  const CapturePoint& from = event.point();
  const auto refuse = [&](const char* why) {
    if (point_.capture) point_.capture->broken = true;
    return fail(Code::ERROR_CAPTURE, {.argument = "event"}, "%s", why);
  };
  if (!from.capture)
    return event.recorded() ? refuse(
                                  "event was recorded before the capture began, and a graph cannot "
                                  "wait for it: let the stream that launches the graph wait")
                            : Status(Code::OK);
  if (from.capture->ended)
    return refuse(
        "event was last recorded in a capture that has ended, and is never reached: record it "
        "again");
  if (!point_.capture) {  // the stream joins the capture
    point_ = from;
    return Code::OK;
  }
  if (point_.capture != from.capture) {
    from.capture->broken = true;
    return refuse(
        "event was recorded in another capture, and two captures cannot become one graph");
  }
  if (point_.capture->broken) return broken_capture();
  std::vector<size_t> merged;
  std::set_union(point_.last.begin(), point_.last.end(), from.last.begin(), from.last.end(),
                 std::back_inserter(merged));
  point_.last = std::move(merged);
  return Code::OK;
}

Status HostEvent::check_not_captured() const {
  const std::lock_guard lock(static_cast<HostDevice&>(*device()).captures());
  if (!point_.capture) return Code::OK;
  return fail(Code::ERROR_CAPTURE, {.argument = "event"},
              "the event was last recorded in a capture, in which it orders the work and is never "
              "reached: record it outside of one");
}

}  // namespace tw::host
