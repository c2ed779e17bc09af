// SPDX-License-Identifier: Apache-2.0
#pragma once
// Captures one launch into a CUDA graph and reads it back, to see what the driver was asked for.

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "doctest_main.hpp"

namespace tw::test {

struct CapturedKernel {
  std::string name;
  uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {1, 1, 1};
  uint32_t dynamic_smem_bytes = 0;
};

class Capture {
 public:
  /// Returns false, and skips the test case, without a driver that can name a node's function.
  bool open() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return skipped("no libcuda.so.1");
#define TW_CAPTURE_SYMBOL(name, symbol) \
  name##_ = reinterpret_cast<decltype(name##_)>(dlsym(library, symbol));
#include "tests/device/common/captured_kernel.inc"
#undef TW_CAPTURE_SYMBOL
    if (!cuFuncGetName_ || !cuGraphKernelNodeGetAttribute_)
      return skipped("the driver does not name functions");
    CUdevice device;
    CUcontext context;
    REQUIRE(cuDeviceGet_(&device, 0) == CUDA_SUCCESS);
    REQUIRE(cuDevicePrimaryCtxRetain_(&context, device) == CUDA_SUCCESS);
    REQUIRE(cuCtxSetCurrent_(context) == CUDA_SUCCESS);
    REQUIRE(cuStreamCreate_(&stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    return true;
  }
  ~Capture() {
    if (graph_) cuGraphDestroy_(graph_);
    if (stream_) cuStreamDestroy_(stream_);
  }
  CUstream stream() const {
    return stream_;
  }

  void begin() {
    REQUIRE(cuStreamBeginCapture_(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
  }

  /// Returns the one kernel that was launched since begin().
  CapturedKernel end() {
    if (graph_) cuGraphDestroy_(graph_);
    REQUIRE(cuStreamEndCapture_(stream_, &graph_) == CUDA_SUCCESS);
    CUgraphNode node = nullptr;
    size_t count = 1;
    REQUIRE(cuGraphGetNodes_(graph_, nullptr, &count) == CUDA_SUCCESS);
    REQUIRE(count == 1);
    REQUIRE(cuGraphGetNodes_(graph_, &node, &count) == CUDA_SUCCESS);
    CUDA_KERNEL_NODE_PARAMS params{};
    REQUIRE(cuGraphKernelNodeGetParams_(node, &params) == CUDA_SUCCESS);
    CapturedKernel kernel;
    const char* name = nullptr;
    REQUIRE(cuFuncGetName_(&name, params.func) == CUDA_SUCCESS);
    kernel.name = name;
    const unsigned grid[] = {params.gridDimX, params.gridDimY, params.gridDimZ};
    const unsigned block[] = {params.blockDimX, params.blockDimY, params.blockDimZ};
    CUkernelNodeAttrValue value{};
    REQUIRE(cuGraphKernelNodeGetAttribute_(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) ==
            CUDA_SUCCESS);
    const unsigned cluster[] = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    for (int i = 0; i < 3; ++i) {
      kernel.grid[i] = grid[i];
      kernel.block[i] = block[i];
      // 0 if the launch has no cluster attribute.
      kernel.cluster[i] = cluster[i] ? cluster[i] : 1;
    }
    kernel.dynamic_smem_bytes = params.sharedMemBytes;
    return kernel;
  }

  /// Runs the graph of end() and waits for it.
  void replay() {
    CUgraphExec exec = nullptr;
    REQUIRE(cuGraphInstantiateWithFlags_(&exec, graph_, 0) == CUDA_SUCCESS);
    REQUIRE(cuGraphLaunch_(exec, stream_) == CUDA_SUCCESS);
    REQUIRE(cuStreamSynchronize_(stream_) == CUDA_SUCCESS);
    cuGraphExecDestroy_(exec);
  }

 private:
  static bool skipped(const char* reason) {
    skip(reason);
    return false;
  }

#define TW_CAPTURE_SYMBOL(name, symbol) decltype(&::name) name##_ = nullptr;
#include "tests/device/common/captured_kernel.inc"
#undef TW_CAPTURE_SYMBOL
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
};

}  // namespace tw::test
