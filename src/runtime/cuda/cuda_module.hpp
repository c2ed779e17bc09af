// SPDX-License-Identifier: Apache-2.0
#pragma once
// Modules and kernels of a CUDA device. Their CUlibrary stays loaded until the device closes, so
// both classes hold plain handles and free nothing.

#include <memory>
#include <vector>

#include "driver/driver.hpp"
#include "runtime/cuda/launch_check.hpp"
#include "runtime/device.hpp"

namespace tw::cuda {

class CudaDevice;

struct Parameter {
  size_t offset;
  size_t size;
};

/// Everything that a launch needs to know of a kernel.
struct LaunchTarget {
  CUfunction function = nullptr;
  const char* name = "";  // lives as long as the device
  LaunchLimits limits;
  KernelInfo info;
  std::vector<Parameter> parameters;
};

class CudaKernel final : public Kernel {
 public:
  CudaKernel(std::shared_ptr<Device> device, LaunchTarget target)
      : Kernel(std::move(device)), target_(std::move(target)) {}
  Status info(KernelInfo* out) override;
  Status param(int32_t index, size_t* offset, size_t* size) override;
  Status occupancy(const LaunchConfig& config, int32_t* blocks_per_sm, int32_t* clusters) override;

  CUfunction function() const { return target_.function; }
  const char* name() const { return target_.name; }
  Status check(const LaunchConfig& config) const { return check_launch(config, target_.limits); }
  /// Fails unless the kernel has exactly one parameter and that has `bytes` bytes.
  Status check_argument_bytes(size_t bytes) const;

 private:
  LaunchTarget target_;
};

class CudaModule final : public Module {
 public:
  CudaModule(std::shared_ptr<Device> device, CUlibrary library)
      : Module(std::move(device)), library_(library) {}
  Status kernel(const char* name, std::unique_ptr<Kernel>* out) override;

 private:
  CUlibrary library_;
};

/// Finds a kernel in a loaded library, loads it, and raises its shared memory and cluster limits to
/// the chip's.
Status get_kernel(CudaDevice& device, CUlibrary library, const char* name, LaunchTarget* out);

/// Writes the launch attributes of a configuration and returns their number, at most 2.
unsigned fill_attributes(const LaunchConfig& config, CUlaunchAttribute* attributes);

}  // namespace tw::cuda
