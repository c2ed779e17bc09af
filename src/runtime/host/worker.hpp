// SPDX-License-Identifier: Apache-2.0
#pragma once
// The queue and the thread of one host stream.
//
// The worker's thread, which starts with the first operation, runs operations in order, one at a
// time. They wait in a ring buffer of fixed slots with room for all their arguments, so enqueueing
// allocates nothing. Enqueueing blocks while the ring buffer is full.
//
// A position numbers operations from 1; position p is done when done() >= p. An event is a worker
// and a position, and waiting for it is an ordinary operation. It can only name a position that was
// enqueued before it, so waits cannot form a cycle.
//
// Ownership: the device holds every worker until its thread has ended; streams, events and waiting
// operations share it. Everything may be called from any thread.

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/status.hpp"
#include "kernels/common/host_engine.hpp"
#include "kernels/table/kernel_table.hpp"
#include "runtime/device.hpp"

namespace tw::host {

class HostDevice;
class Worker;
struct Recording;

/// Leaks a pointer's reference without allocating. For destructors in a forked child, where the
/// object cannot be destroyed.
template <class T>
void leak(std::shared_ptr<T>&& pointer) noexcept {
  alignas(std::shared_ptr<T>) unsigned char never_destroyed[sizeof pointer];
  new (never_destroyed) std::shared_ptr<T>(std::move(pointer));
}

/// The records of an event. Each record takes the next number before it is enqueued. It publishes
/// this number with its worker and position only if enqueueing succeeded.
struct EventState {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  uint64_t drawn = 0;      // the last number that a record took
  uint64_t published = 0;  // the number of the record to which worker and position belong; 0: none
  std::shared_ptr<Worker> worker;
  uint64_t position = 0;
  uint64_t timed = 0;  // the number of the record to which reached_at belongs
  Clock::time_point reached_at;
};

/// One operation. Its kind determines which fields are used.
struct Operation {
  enum class Kind { copy_to_device, copy_to_host, copy, fill, launch, record, wait, graph };
  Kind kind = Kind::copy;
  uint8_t value = 0;
  void* dst = nullptr;
  const void* src = nullptr;
  uint64_t bytes = 0;
  const KernelEntry* entry = nullptr;
  std::shared_ptr<EventState> event;  // record
  uint64_t record = 0;
  std::shared_ptr<Worker> awaited;             // wait
  uint64_t position = 0;                       // wait: of the worker `awaited`
  std::shared_ptr<const Recording> recording;  // graph
};

/// An operation and the argument struct of its launch. The alignment is for tensor maps in it.
struct alignas(128) Slot {
  unsigned char arguments[kMaxArgumentBytes];
  Operation operation;
};

class Worker {
 public:
  explicit Worker(HostDevice& device) : device_(device) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Appends an operation and returns its position. `bytes` bytes of `arguments` are copied. Fails
  /// after finish().
  Status enqueue(Operation operation, const void* arguments, size_t bytes, uint64_t* position);

  uint64_t enqueued();
  uint64_t done();
  /// Blocks until the position is done.
  void wait(uint64_t position);

  /// Accepts no further operations. The thread ends when the queue is empty.
  void finish();
  /// Whether finish() was called and all operations are done.
  bool finished();
  /// Waits until the thread has ended. Call finish() first.
  void join();

 private:
  static constexpr size_t kSlots = 64;

  Status start();
  void run();
  void execute(const Slot& slot);
  void launch(const Slot& slot);

  HostDevice& device_;
  HostEngine engine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t enqueued_ = 0;
  uint64_t done_ = 0;
  bool finishing_ = false;
  bool started_ = false;
  pthread_t thread_{};
  Slot slots_[kSlots];
};

}  // namespace tw::host
