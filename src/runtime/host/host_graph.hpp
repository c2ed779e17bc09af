// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs of the host device: a launch enqueues the recording as one operation.

#include <cstdint>
#include <memory>

#include "runtime/device.hpp"
#include "runtime/host/capture.hpp"

namespace tw::host {

class HostGraph final : public Graph {
 public:
  HostGraph(std::shared_ptr<Device> device, std::shared_ptr<const Recording> recording)
      : Graph(std::move(device)), recording_(std::move(recording)) {}
  ~HostGraph() override;
  Status instantiate() override;
  Status launch(Stream& stream) override;
  Status update(Graph& captured) override;

 private:
  std::shared_ptr<const Recording> recording_;
  bool instantiated_ = false;
  // The last launch. As on a GPU, the next launch waits for it, even on another stream.
  std::shared_ptr<Worker> last_worker_;
  uint64_t last_position_ = 0;
};

}  // namespace tw::host
