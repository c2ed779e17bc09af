// SPDX-License-Identifier: Apache-2.0
#pragma once
// Captures what a test enqueues into a CUDA graph and replays it. Devices without graphs, the host
// device and the PTX machine, enqueue it again instead.

#include <dlfcn.h>

#include <functional>
#include <memory>

#include "tests/device/common/fixture.hpp"

namespace tw::test {

/// Each call replays what `enqueue` enqueues and waits for it.
class Replay {
 public:
  Replay(const std::shared_ptr<Device>& device, std::function<void(Stream&)> enqueue)
      : enqueue_(std::move(enqueue)) {
    if (device->info().kind == DeviceKind::host || std::string(test_device()) == "ptx") {
      TW_REQUIRE_OK(device->create_stream(&stream_));
      return;
    }
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(library_ != nullptr);
    find(&begin_, "cuStreamBeginCapture_v2");
    find(&end_, "cuStreamEndCapture");
    find(&instantiate_, "cuGraphInstantiateWithFlags");
    find(&launch_, "cuGraphLaunch");
    find(&create_, "cuStreamCreate");
    find(&set_context_, "cuCtxSetCurrent");
    find(&retain_, "cuDevicePrimaryCtxRetain");
    void* context = nullptr;
    REQUIRE(retain_(&context, 0) == 0);
    REQUIRE(set_context_(context) == 0);
    REQUIRE(create_(&raw_, 1) == 0);
    TW_REQUIRE_OK(device->wrap_stream(static_cast<CUstream_st*>(raw_), &stream_));
    void* graph = nullptr;
    REQUIRE(begin_(raw_, 0) == 0);  // global mode: any unsafe call invalidates the capture
    enqueue_(*stream_);
    REQUIRE(end_(raw_, &graph) == 0);
    REQUIRE(instantiate_(&graph_, graph, 0) == 0);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void operator()() {
    if (graph_ == nullptr)
      enqueue_(*stream_);
    else
      REQUIRE(launch_(graph_, raw_) == 0);
    TW_REQUIRE_OK(stream_->synchronize());
  }

 private:
  template <class Function>
  void find(Function* function, const char* name) {
    *reinterpret_cast<void**>(function) = dlsym(library_, name);
    const bool found = *function != nullptr;
    REQUIRE(found);
  }

  std::function<void(Stream&)> enqueue_;
  std::unique_ptr<Stream> stream_;
  void* library_ = nullptr;
  void* raw_ = nullptr;
  void* graph_ = nullptr;
  int (*begin_)(void*, int) = nullptr;
  int (*end_)(void*, void**) = nullptr;
  int (*instantiate_)(void**, void*, unsigned long long) = nullptr;
  int (*launch_)(void*, void*) = nullptr;
  int (*create_)(void**, unsigned) = nullptr;
  int (*set_context_)(void*) = nullptr;
  int (*retain_)(void**, int) = nullptr;
};

}  // namespace tw::test
