// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stream capture on the host device. A captured stream records its operations, and a graph runs the
// recording as one operation of a stream.
//
// A recording lists its operations in the order in which they were enqueued, so it can run from
// front to back. Each operation also names its direct predecessors. They serve to compare the
// topology of two recordings in an update, and to find a stream that was never joined.
//
// Thread-safety: the mutex HostDevice::captures_mutex() guards captures and capture points.

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/host/worker.hpp"

namespace tw::host {

class HostStream;

struct Node {
  std::unique_ptr<Slot> slot;
  std::vector<size_t> predecessors;  // indices of the direct ones, ascending
};

/// Immutable once its capture has ended.
struct Recording {
  std::vector<Node> nodes;
};

struct Capture {
  explicit Capture(const HostStream* stream) : origin(stream) {}
  const HostStream* origin;  // the stream that began the capture; its destructor ends it
  std::shared_ptr<Recording> recording = std::make_shared<Recording>();
  bool ended = false;
  bool broken = false;  // a call asked for a dependency that a graph cannot have
};

/// The position of a stream or an event in a capture.
struct CapturePoint {
  std::shared_ptr<Capture> capture;  // nullptr: not in a capture
  std::vector<size_t> last;          // direct predecessors of the next operation, ascending
};

}  // namespace tw::host
