// SPDX-License-Identifier: Apache-2.0
#pragma once
// The handles that callers hold. A handle is a small struct, the shell, which owns a `value`.
// Destroying a handle frees the value but keeps the empty shell for a while, so that a later call
// on it is refused with its name and does not read freed memory.
//
// A value that belongs to a device keeps the device alive with a shared_ptr. The handles of
// layouts, which belong to no device, are in layout_handle.hpp.

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/device.hpp"
#include "tensor_map/tensor_map.hpp"
#include "tensor_map/tile/tile_map.hpp"
#include "tilewright.h"

namespace tw {
class Plan;
}

namespace tw::capi {

/// A public handle: kKind is <kind> in the name of its tw_<kind>_destroy().
template <class T>
concept Handle = requires(const T& handle) {
  T::kKind;
  static_cast<bool>(handle.value);
};

/// The shells of the last kKept destroyed handles of one kind. There is one object for each kind,
/// with static storage; no constructor or destructor runs, so it works at any time of the process.
template <Handle T>
class DestroyedHandles {
 public:
  /// Destroys a handle; ignores NULL and a destroyed handle. The shell is freed when kKept more
  /// handles of the kind have been destroyed. Allocates nothing.
  void destroy(T* handle) {
    if (!handle || !handle->value) return;
    handle->value.reset();
    const uint32_t at = next_.fetch_add(1, std::memory_order_relaxed) % kKept;
    delete shells_[at].exchange(handle, std::memory_order_acq_rel);
  }

 private:
  static constexpr uint32_t kKept = 1024;
  std::atomic<uint32_t> next_{0};
  std::atomic<T*> shells_[kKept] = {};
};

/// The value of a tensor-map handle.
struct TensorMapValue {
  std::shared_ptr<Device> owner;
  TensorMapDesc desc;
  TensorMapBytes bytes;
  std::unique_ptr<TileMap> tile;  // only of a map from tw_tensor_map_create_tile(), else nullptr
};

}  // namespace tw::capi

struct tw_device {
  static constexpr const char* kKind = "device";
  std::shared_ptr<tw::Device> value;
  tw::Device& device() const { return *value; }
};
struct tw_stream {
  static constexpr const char* kKind = "stream";
  std::unique_ptr<tw::Stream> value;
  tw::Device& device() const { return *value->device(); }
};
struct tw_event {
  static constexpr const char* kKind = "event";
  std::unique_ptr<tw::Event> value;
  tw::Device& device() const { return *value->device(); }
};
struct tw_graph {
  static constexpr const char* kKind = "graph";
  std::unique_ptr<tw::Graph> value;
  tw::Device& device() const { return *value->device(); }
};
struct tw_module {
  static constexpr const char* kKind = "module";
  std::unique_ptr<tw::Module> value;
  tw::Device& device() const { return *value->device(); }
};
struct tw_kernel {
  static constexpr const char* kKind = "kernel";
  std::unique_ptr<tw::Kernel> value;
  tw::Device& device() const { return *value->device(); }
};
struct tw_tensor_map {
  static constexpr const char* kKind = "tensor_map";
  std::unique_ptr<tw::capi::TensorMapValue> value;
  tw::Device& device() const { return *value->owner; }
};
struct tw_plan {
  static constexpr const char* kKind = "plan";
  std::unique_ptr<tw::Plan> value;
  tw::Device& device() const;  // defined in plan.cpp, where tw::Plan is complete
};
