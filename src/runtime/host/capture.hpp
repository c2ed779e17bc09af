// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stream capture on the host device: what is enqueued on a captured stream is recorded, and a graph
// runs the recording as one operation of a stream.
//
// A recording lists its operations in the order in which they were enqueued, so it can run from
// front to back. Each operation also names the ones that it follows directly: by these an update is
// compared with what it replaces, and a stream that was never joined is found.
//
// Thread-safety: HostDevice::captures() guards captures and capture points.

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/host/worker.hpp"

namespace tw::host {

class HostStream;

struct Node {
  std::unique_ptr<Slot> slot;
  std::vector<size_t> after;  // indices of the nodes that this one follows directly, ascending
};

/// Never changed once its capture has ended.
struct Recording {
  std::vector<Node> nodes;
};

struct Capture {
  explicit Capture(const HostStream* stream) : origin(stream) {}
  const HostStream* origin;  // ends the capture, which does not outlive it
  std::shared_ptr<Recording> recording = std::make_shared<Recording>();
  bool ended = false;
  bool broken = false;  // a dependency was asked for that a graph cannot have
};

/// Where a stream or an event stands in a capture.
struct CapturePoint {
  std::shared_ptr<Capture> capture;  // nullptr: in none
  std::vector<size_t> last;          // the nodes that whatever comes next follows, ascending
};

}  // namespace tw::host
