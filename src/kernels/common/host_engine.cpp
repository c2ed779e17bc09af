// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/host_engine.hpp"

#include <cstdio>
#include <cstring>
#include <new>

#include "tensor_map/descriptor.hpp"

namespace tw {
namespace {

// The swizzle reads address bits below 1024: with this alignment they equal those of the offset.
constexpr std::align_val_t kAlignment{1024};

}  // namespace

HostEngine::HostEngine()
    : shared_(static_cast<uint8_t*>(::operator new(kSharedBytes, kAlignment))) {
  std::memset(shared_, 0, kSharedBytes);
}

HostEngine::~HostEngine() {
  ::operator delete(shared_, kAlignment);
}

const TensorMapDesc* HostEngine::decoded(const TensorMapBytes& map) {
  for (const Decoded& entry : cache_)
    if (entry.used && std::memcmp(&entry.bytes, &map, sizeof map) == 0) return &entry.desc;
  Decoded& entry = cache_[next_];
  entry.used = false;
  if (!decode(map, &entry.desc).ok()) {
    std::snprintf(fault_, sizeof fault_, "illegal instruction: invalid tensor map: %.200s",
                  last_failure().message);
    return nullptr;
  }
  std::memcpy(&entry.bytes, &map, sizeof map);
  entry.used = true;
  next_ = (next_ + 1) % kCached;
  return &entry.desc;
}

bool HostEngine::fits_shared(uint64_t shared_offset, uint64_t bytes) {
  if (shared_offset + bytes <= kSharedBytes) return true;
  std::snprintf(
      fault_, sizeof fault_,
      "shared address out of range: %llu bytes at offset %llu exceed the %u bytes of shared memory",
      static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(shared_offset),
      kSharedBytes);
  return false;
}

const TensorMapDesc* HostEngine::begin(const TensorMapBytes& map, uint32_t shared_offset) {
  if (fault_[0] != '\0') return nullptr;
  const TensorMapDesc* desc = decoded(map);
  return desc != nullptr && fits_shared(shared_offset, model::shared_span(*desc)) ? desc : nullptr;
}

bool HostEngine::finish(const model::Outcome& outcome) {
  if (!outcome.fault) return true;
  std::snprintf(fault_, sizeof fault_, "%s", outcome.reason);
  return false;
}

void HostEngine::load(const TensorMapBytes& map, const int32_t* coord, uint32_t shared_offset) {
  const TensorMapDesc* desc = begin(map, shared_offset);
  if (desc != nullptr && finish(model::load_tile(*desc, coord, shared_, shared_offset)))
    ++counters_.boxes_loaded;
}

void HostEngine::store(const TensorMapBytes& map, const int32_t* coord, uint32_t shared_offset) {
  const TensorMapDesc* desc = begin(map, shared_offset);
  if (desc != nullptr && finish(model::store_tile(*desc, coord, shared_, shared_offset)))
    ++counters_.boxes_stored;
}

namespace {

TensorMapBytes bytes_of(const KernelMap& map) {
  TensorMapBytes bytes;
  std::memcpy(bytes.words, map.words, sizeof bytes.words);
  return bytes;
}

}  // namespace

void HostEngine::load_gather4(const KernelMap& map, int32_t column, const int32_t* rows,
                              uint32_t shared_offset) {
  const TensorMapDesc* desc = begin(bytes_of(map), shared_offset);
  if (desc != nullptr && fits_shared(shared_offset, 4 * model::shared_span(*desc)) &&
      finish(model::load_gather4(*desc, column, rows, shared_, shared_offset)))
    ++counters_.boxes_loaded;
}

void HostEngine::store_scatter4(const KernelMap& map, int32_t column, const int32_t* rows,
                                uint32_t shared_offset) {
  const TensorMapDesc* desc = begin(bytes_of(map), shared_offset);
  if (desc != nullptr && fits_shared(shared_offset, 4 * model::shared_span(*desc)) &&
      finish(model::store_scatter4(*desc, column, rows, shared_, shared_offset)))
    ++counters_.boxes_stored;
}

void HostEngine::prefetch(const TensorMapBytes& map, const int32_t* coord) {
  const TensorMapDesc* desc = begin(map, 0);
  if (desc != nullptr && finish(model::prefetch_tile(*desc, coord))) ++counters_.boxes_prefetched;
}

void HostEngine::load_bulk(uint64_t global, uint32_t shared_offset, uint32_t bytes) {
  if (fault_[0] != '\0' || !fits_shared(shared_offset, bytes)) return;
  if (finish(model::load_bulk(global, shared_, shared_offset, bytes))) ++counters_.boxes_loaded;
}

void HostEngine::store_bulk(uint64_t global, uint32_t shared_offset, uint32_t bytes) {
  if (fault_[0] != '\0' || !fits_shared(shared_offset, bytes)) return;
  if (finish(model::store_bulk(global, shared_, shared_offset, bytes))) ++counters_.boxes_stored;
}

void HostEngine::reduce_bulk(uint64_t global, uint32_t shared_offset, uint32_t bytes, DType dtype,
                             model::ReduceOp op) {
  if (fault_[0] != '\0' || !fits_shared(shared_offset, bytes)) return;
  if (finish(model::reduce_bulk(global, shared_, shared_offset, bytes, dtype, op)))
    ++counters_.boxes_stored;
}

void HostEngine::prefetch_bulk(uint64_t global, uint32_t bytes) {
  if (fault_[0] != '\0') return;
  if (finish(model::prefetch_bulk(global, bytes))) ++counters_.boxes_prefetched;
}

}  // namespace tw
