// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_stream.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>

#include "runtime/host/capture.hpp"
#include "runtime/host/host_device.hpp"
#include "runtime/host/host_graph.hpp"

namespace tw::host {
namespace {

// A device address of the host device is a pointer.
void* pointer_to(uint64_t address) {
  return reinterpret_cast<void*>(address);
}

Status refuse_callers_kernel() {
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = "kernel"},
              "the host device cannot launch the caller's own kernels");
}

}  // namespace

Status HostKernel::info(KernelInfo* out) {
  *out = KernelInfo{};
  out->max_threads = entry_.threads;
  return Code::OK;
}

Status HostKernel::param(int32_t, size_t*, size_t*) {
  return refuse_callers_kernel();
}

Status HostKernel::occupancy(const LaunchConfig&, int32_t* blocks_per_sm, int32_t* clusters) {
  *blocks_per_sm = 1;
  *clusters = 1;
  return Code::OK;
}

HostEvent::HostEvent(std::shared_ptr<Device> device)
    : Event(std::move(device)), state_(std::make_shared<EventState>()) {}

HostEvent::~HostEvent() = default;

void HostEvent::last_record(std::shared_ptr<Worker>* worker, uint64_t* position) const {
  const std::lock_guard lock(state_->mutex);
  *worker = state_->worker;
  *position = state_->position;
}

bool HostEvent::recorded() const {
  const std::lock_guard lock(state_->mutex);
  return state_->published != 0;
}

Status HostEvent::synchronize() {
  // A forked child must not lock or wait: the worker, and any thread that held a lock during the
  // fork, exist only in the parent.
  if (device()->forked()) return device()->check_alive();
  TW_TRY(check_not_captured());
  std::shared_ptr<Worker> worker;
  uint64_t position = 0;
  last_record(&worker, &position);
  if (worker) worker->wait(position);
  return device()->check_alive();
}

Status HostEvent::query() {
  TW_TRY(check_not_captured());
  std::shared_ptr<Worker> worker;
  uint64_t position = 0;
  last_record(&worker, &position);
  if (worker && worker->done() < position)
    return fail(Code::ERROR_NOT_READY, {}, "the event's last record has not completed yet");
  return device()->check_alive();
}

Status HostEvent::elapsed_since(Event& start, float* milliseconds) {
  auto& first = static_cast<HostEvent&>(start);
  EventState::Clock::time_point times[2];
  const struct {
    HostEvent& event;
    const char* name;
  } events[2] = {{first, "start"}, {*this, "end"}};
  for (int i = 0; i < 2; ++i) {
    const EventState& state = *events[i].event.state_;
    TW_TRY(events[i].event.check_not_captured());
    if (!events[i].event.recorded())
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = events[i].name},
                  "%s was never recorded", events[i].name);
    TW_TRY(events[i].event.query());
    const std::lock_guard lock(events[i].event.state_->mutex);
    times[i] = state.reached_at;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(times[1] - times[0]).count();
  return Code::OK;
}

HostStream::HostStream(std::shared_ptr<Device> device, std::shared_ptr<Worker> worker)
    : Stream(std::move(device)), worker_(std::move(worker)) {}

HostStream::~HostStream() {
  // A forked child must not lock the worker: a thread that exists only in the parent may hold the
  // lock.
  if (device()->forked()) {
    leak(std::move(worker_));
    return;
  }
  end_own_capture();
  worker_->finish();
}

Status HostStream::check_not_captured() {
  bool yes = false;
  TW_TRY(is_captured(&yes));
  if (!yes) return Code::OK;
  return fail(
      Code::ERROR_CAPTURE, {.argument = "stream"},
      "the stream is being captured: end the capture before you query or synchronize the stream");
}

Status HostStream::enqueue(Operation operation, const void* arguments, size_t bytes) {
  {
    const std::lock_guard lock(captures_mutex());
    if (capturing()) return record_node(std::move(operation), arguments, bytes);
  }
  uint64_t position = 0;
  return worker_->enqueue(std::move(operation), arguments, bytes, &position);
}

Status HostStream::synchronize() {
  if (device()->forked())
    return device()->check_alive();  // a child has no worker thread to wait for
  // On a lost or closed device, waits even during a capture, and then reports the device's error.
  if (device()->check_alive().ok()) TW_TRY(check_not_captured());
  worker_->wait(worker_->enqueued());
  return device()->check_alive();
}

Status HostStream::query() {
  TW_TRY(check_not_captured());
  if (worker_->done() < worker_->enqueued())
    return fail(Code::ERROR_NOT_READY, {}, "work of the stream has not finished yet");
  return device()->check_alive();
}

Status HostStream::wait(Event& event) {
  auto& host_event = static_cast<HostEvent&>(event);
  {
    const std::lock_guard lock(captures_mutex());
    // The event's last record may be part of a capture, which this stream then joins.
    if (capturing() || host_event.capture_point().capture) return wait_in_capture(host_event);
  }
  Operation operation{.kind = Operation::Kind::wait};
  host_event.last_record(&operation.awaited, &operation.position);
  // A stream runs in order, so it never needs to wait for itself.
  if (!operation.awaited || operation.awaited == worker_) return Code::OK;
  return enqueue(std::move(operation));
}

Status HostStream::record(Event& event) {
  auto& host_event = static_cast<HostEvent&>(event);
  {
    const std::lock_guard lock(captures_mutex());
    if (capturing()) {
      host_event.capture_point() = point_;
      return Code::OK;
    }
  }
  const std::shared_ptr<EventState>& state = host_event.state();
  // Enqueueing may block until the worker has run an operation that takes the event's lock, so this
  // thread must not hold the lock. Instead, each record first takes the next number (`drawn` is the
  // last one taken). Of all records that were enqueued successfully, the one with the highest
  // number counts.
  uint64_t number = 0;
  {
    const std::lock_guard lock(state->mutex);
    number = ++state->drawn;
  }
  uint64_t position = 0;
  TW_TRY(worker_->enqueue({.kind = Operation::Kind::record, .event = state, .record = number},
                          nullptr, 0, &position));
  {
    const std::lock_guard lock(captures_mutex());
    host_event.capture_point() = {};
  }
  const std::lock_guard lock(state->mutex);
  if (number > state->published) {
    state->published = number;
    state->worker = worker_;
    state->position = position;
  }
  return Code::OK;
}

Status HostStream::copy_to_device(uint64_t dst, const void* src, uint64_t bytes) {
  return enqueue({.kind = Operation::Kind::copy_to_device,
                  .dst = pointer_to(dst),
                  .src = src,
                  .bytes = bytes});
}

Status HostStream::copy_to_host(void* dst, uint64_t src, uint64_t bytes) {
  return enqueue(
      {.kind = Operation::Kind::copy_to_host, .dst = dst, .src = pointer_to(src), .bytes = bytes});
}

Status HostStream::copy_on_device(uint64_t dst, uint64_t src, uint64_t bytes) {
  return enqueue({.kind = Operation::Kind::copy,
                  .dst = pointer_to(dst),
                  .src = pointer_to(src),
                  .bytes = bytes});
}

Status HostStream::copy_between(Device&, uint64_t dst, Device&, uint64_t src, uint64_t bytes) {
  return copy_on_device(dst, src, bytes);
}

Status HostStream::fill(uint64_t dst, uint8_t value, uint64_t bytes) {
  return enqueue(
      {.kind = Operation::Kind::fill, .value = value, .dst = pointer_to(dst), .bytes = bytes});
}

Status HostStream::launch(Kernel& kernel, const LaunchConfig&, const void* arguments,
                          size_t bytes) {
  if (bytes > kMaxArgumentBytes)
    return fail(Code::ERROR_INTERNAL,
                {.got = static_cast<int64_t>(bytes), .limit = kMaxArgumentBytes},
                "an argument struct of %zu bytes exceeds %zu", bytes, kMaxArgumentBytes);
  const KernelEntry& entry = static_cast<HostKernel&>(kernel).entry();
  return enqueue({.kind = Operation::Kind::launch, .entry = &entry}, arguments, bytes);
}

Status HostStream::launch_params(Kernel&, const LaunchConfig&, void**) {
  return refuse_callers_kernel();
}

// The rest of the file implements stream capture.

namespace {

/// Whether each node is in `last` or is a direct or indirect predecessor of a node in `last`. If
/// not, the capture has work that its stream does not wait for.
bool all_joined(const std::vector<Node>& nodes, const std::vector<size_t>& last) {
  std::vector<bool> reached(nodes.size());
  for (const size_t index : last) reached[index] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!reached[i]) return false;  // its successors have higher indices, so all were visited
    for (const size_t predecessor : nodes[i].predecessors) reached[predecessor] = true;
  }
  return true;
}

Status broken_capture() {
  return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
              "an earlier call invalidated the stream's capture and reported why: end the capture, "
              "which gives no graph, and begin again");
}

}  // namespace

std::mutex& HostStream::captures_mutex() const {
  return static_cast<HostDevice&>(*device()).captures_mutex();
}

bool HostStream::capturing() {
  if (point_.capture && point_.capture->ended) point_ = {};
  return point_.capture != nullptr;
}

Status HostStream::begin_capture() {
  const std::lock_guard lock(captures_mutex());
  if (capturing())
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream is being captured already: end that capture first");
  point_.capture = std::make_shared<Capture>(this);
  return Code::OK;
}

Status HostStream::end_capture(std::unique_ptr<Graph>* out) {
  const std::lock_guard lock(captures_mutex());
  if (!capturing())
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream is not being captured: call tw_stream_begin_capture() first");
  Capture& capture = *point_.capture;
  if (capture.origin != this)
    return fail(Code::ERROR_CAPTURE, {.argument = "stream"},
                "the stream joined a capture that began on another one: end it there");
  // Allocate before anything changes: if that throws, the capture goes on.
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
                "another stream recorded work in the capture, and the captured stream does not "
                "wait for that work, so there is no graph: record an event after the work, and let "
                "the captured stream wait for it before the capture ends");
  *out = std::move(graph);
  return Code::OK;
}

Status HostStream::is_captured(bool* yes) {
  const std::lock_guard lock(captures_mutex());
  *yes = capturing();
  return Code::OK;
}

void HostStream::end_own_capture() {
  const std::lock_guard lock(captures_mutex());
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
  const CapturePoint& from = event.capture_point();
  const auto refuse = [&](const char* why) {
    if (point_.capture) point_.capture->broken = true;
    return fail(Code::ERROR_CAPTURE, {.argument = "event"}, "%s", why);
  };
  if (!from.capture)
    return event.recorded()
               ? refuse(
                     "event was last recorded outside of a capture, and a graph cannot "
                     "wait for it: let the stream that launches the graph wait")
               : Status(Code::OK);
  if (from.capture->ended)
    return refuse(
        "event was last recorded in a capture that has ended, so it will never complete: record it "
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
  const std::lock_guard lock(static_cast<HostDevice&>(*device()).captures_mutex());
  if (!capture_point_.capture) return Code::OK;
  return fail(Code::ERROR_CAPTURE, {.argument = "event"},
              "the event was last recorded during a capture, so it only orders work inside the "
              "graph: record it again outside a capture");
}

}  // namespace tw::host
