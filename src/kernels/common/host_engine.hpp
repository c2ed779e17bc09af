// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine that runs host bodies: the TMA model on one CTA's shared memory, with counters.
//
// Each host stream's worker owns one engine. A host body may use all of its shared memory during a
// launch. The worker adds the counters to the device's when the launch ends. Nothing here allocates
// after construction.

#include <cstdint>

#include "kernels/arguments.h"
#include "tensor_map/model/tma_model.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

struct BoxCounters {
  uint64_t boxes_loaded = 0;
  uint64_t boxes_stored = 0;
  uint64_t boxes_prefetched = 0;
};

class HostEngine {
 public:
  /// Bytes of shared(), the most that a CTA can have on sm_90. shared() is 1024-byte aligned.
  static constexpr uint32_t kSharedBytes = 232448;
  uint8_t* shared() { return shared_; }
  BoxCounters& counters() { return counters_; }

  /// Loads or stores one box through a tensor map. `shared_offset` is the box's offset in shared().
  void load(const TensorMapBytes& map, const int32_t* coord, uint32_t shared_offset);
  void store(const TensorMapBytes& map, const int32_t* coord, uint32_t shared_offset);
  /// Four rows of a map, by their numbers. Each call counts as one box.
  void load_gather4(const KernelMap& map, int32_t column, const int32_t* rows,
                    uint32_t shared_offset);
  void store_scatter4(const KernelMap& map, int32_t column, const int32_t* rows,
                      uint32_t shared_offset);
  /// One-dimensional bulk copies; sizes and addresses are multiples of 16.
  void load_bulk(uint64_t global, uint32_t shared_offset, uint32_t bytes);
  void store_bulk(uint64_t global, uint32_t shared_offset, uint32_t bytes);
  /// Adds or combines with global memory; counts as a stored box.
  void reduce_bulk(uint64_t global, uint32_t shared_offset, uint32_t bytes, DType dtype,
                   model::ReduceOp op);
  void prefetch(const TensorMapBytes& map, const int32_t* coord);
  void prefetch_bulk(uint64_t global, uint32_t bytes);

  /// The first fault of the launch ("illegal instruction: ..."), as a GPU would have raised it;
  /// empty if there was none. After a fault all further operations of the launch are ignored.
  const char* fault() const { return fault_; }
  /// Begins a launch: clears the fault. The caller clears the counters.
  void reset() { fault_[0] = '\0'; }

  HostEngine();
  ~HostEngine();
  HostEngine(const HostEngine&) = delete;
  HostEngine& operator=(const HostEngine&) = delete;

 private:
  const TensorMapDesc* decoded(const TensorMapBytes& map);
  const TensorMapDesc* begin(const TensorMapBytes& map, uint32_t shared_offset);
  // Whether the bytes lie inside shared memory; reports a fault if not.
  bool fits_shared(uint64_t shared_offset, uint64_t bytes);
  bool finish(const model::Outcome& outcome);

  // Cache of decoded maps: a kernel uses the same few maps for every box of a launch.
  struct Decoded {
    TensorMapBytes bytes;
    TensorMapDesc desc;
    bool used = false;
  };
  static constexpr int32_t kCached = 4;

  uint8_t* shared_;
  BoxCounters counters_;
  Decoded cache_[kCached];
  int32_t next_ = 0;  // the cache entry that the next new map replaces
  char fault_[256] = {};
};

}  // namespace tw
