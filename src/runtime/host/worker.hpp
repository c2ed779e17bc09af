// SPDX-License-Identifier: Apache-2.0
#pragma once
// The queue and the thread behind one host stream.
//
// Operations run in order, one at a time, on the worker's own thread, which starts with the first
// of them. They wait in a ring of fixed slots that hold everything they need, so enqueueing
// allocates nothing; it blocks while the ring is full.
//
// A position counts operations from 1: position p is done when done() >= p. An event is a worker
// and a position, and a wait for one is an operation like any other. It names a position that was
// enqueued before it, so waits cannot form a circle.
//
// Ownership: the device holds every worker until it has ended; streams, events and waiting
// operations share it. Thread-safety: everything may be called from any thread.

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

/// Lets go of a pointer without giving up its share, and without allocating: for destructors in a
/// forked child, where what is shared cannot be destroyed.
template <class T>
void leak(std::shared_ptr<T>&& pointer) noexcept {
  alignas(std::shared_ptr<T>) unsigned char never_destroyed[sizeof pointer];
  new (never_destroyed) std::shared_ptr<T>(std::move(pointer));
}

/// What the last record of an event left behind. `reached_at` belongs to record number `timed`.
struct EventState {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  // Each record draws a number before it is enqueued, which may fail: only then it is published.
  uint64_t drawn = 0;
  uint64_t published = 0;  // the record that worker and position are of; 0: none
  std::shared_ptr<Worker> worker;
  uint64_t position = 0;
  uint64_t timed = 0;  // the record that reached_at is of
  Clock::time_point reached_at;
};

/// One operation. Which fields count follows from the kind.
struct Operation {
  enum class Kind { copy_to_device, copy_to_host, copy, fill, launch, record, wait, graph };
  Kind kind = Kind::copy;
  uint8_t value = 0;
  void* dst = nullptr;
  const void* src = nullptr;
  uint64_t bytes = 0;
  const KernelRow* row = nullptr;
  std::shared_ptr<EventState> event;  // record
  uint64_t record = 0;
  std::shared_ptr<Worker> other;  // wait
  uint64_t position = 0;
  std::shared_ptr<const Recording> recording;  // graph
};

/// An operation with the bytes that it needs. Argument structs hold tensor maps, which want this
/// alignment.
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

  /// Puts an operation behind the others and says its position. `arguments` is copied.
  Status enqueue(Operation operation, const void* arguments, size_t bytes, uint64_t* position);

  uint64_t enqueued();
  uint64_t done();
  /// Returns when the position is done.
  void wait(uint64_t position);

  /// No further operation will come: the thread ends when the ring is empty.
  void finish();
  /// After finish(): whether the thread has nothing left to run.
  bool idle();
  /// After finish(): waits for the thread's end.
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
