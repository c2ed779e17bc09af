// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs of a CUDA device. A captured CUgraph is shared by the graph that recorded it and each
// graph that was updated with it.

#include <memory>

#include "driver/driver.hpp"
#include "runtime/device.hpp"

namespace tw::cuda {

/// Owns a CUgraph. The CUgraph is also on the device's list of graphs, so that close() can destroy
/// it earlier.
class Recording final : public DeviceObject {
 public:
  using DeviceObject::DeviceObject;
  ~Recording() override;
  void own(CUgraph graph);
  CUgraph handle() const { return graph_; }

 private:
  CUgraph graph_ = nullptr;
};

class CudaGraph final : public Graph {
 public:
  CudaGraph(std::shared_ptr<Device> device, std::shared_ptr<Recording> recording)
      : Graph(std::move(device)), recording_(std::move(recording)) {}
  ~CudaGraph() override;
  Status instantiate() override;
  Status launch(Stream& stream) override;
  Status update(Graph& captured) override;

 private:
  // The recording that exec_ runs, kept so that a failed update can be undone.
  std::shared_ptr<Recording> recording_;
  CUgraphExec exec_ = nullptr;
};

}  // namespace tw::cuda
