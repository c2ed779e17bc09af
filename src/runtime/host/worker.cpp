// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/worker.hpp"

#include <csignal>
#include <cstring>
#include <new>

#include "runtime/host/capture.hpp"
#include "runtime/host/host_device.hpp"

namespace tw::host {

Worker::~Worker() = default;  // the device has joined the thread, unless this is a forked child

Status Worker::start() {
  // Block signals: the program's handlers must not run on a thread that it does not know. Signals
  // for the thread's own faults stay unblocked, because blocked ones would end the process without
  // calling the program's crash handler.
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    sigdelset(&others, fault);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  const int error = pthread_create(
      &thread_, nullptr,
      [](void* self) -> void* {
        static_cast<Worker*>(self)->run();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    return fail(Code::ERROR_OUT_OF_MEMORY, {.got = error},
                "the stream's thread cannot be started: %s", std::strerror(error));
  started_ = true;
  return Code::OK;
}

Status Worker::enqueue(Operation operation, const void* arguments, size_t bytes,
                       uint64_t* position) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return enqueued_ - done_ < kSlots || finishing_; });
  if (finishing_)  // another thread is closing the device
    return fail(Code::ERROR_DEVICE_CLOSED, {}, "the device of this stream has been destroyed");
  if (!started_) TW_TRY(start());
  Slot& slot = slots_[enqueued_ % kSlots];
  if (bytes > 0) std::memcpy(slot.arguments, arguments, bytes);
  slot.operation = std::move(operation);
  *position = ++enqueued_;
  changed_.notify_all();
  return Code::OK;
}

uint64_t Worker::enqueued() {
  const std::lock_guard lock(mutex_);
  return enqueued_;
}

uint64_t Worker::done() {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Worker::wait(uint64_t position) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= position; });
}

void Worker::finish() {
  const std::lock_guard lock(mutex_);
  finishing_ = true;
  changed_.notify_all();
}

bool Worker::finished() {
  const std::lock_guard lock(mutex_);
  return finishing_ && done_ == enqueued_;
}

void Worker::join() {
  {
    const std::lock_guard lock(mutex_);
    if (!started_) return;
    started_ = false;
  }
  pthread_join(thread_, nullptr);
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return done_ < enqueued_ || finishing_; });
    if (done_ == enqueued_) return;
    Slot& slot = slots_[done_ % kSlots];
    lock.unlock();
    execute(slot);
    slot.operation = Operation{};  // drop shared references before the operation counts as done
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

void Worker::execute(const Slot& slot) {
  const Operation& operation = slot.operation;
  // As on a GPU: after a fault the remaining work is dropped, but waits and records still complete.
  const bool lost = device_.lost();
  switch (operation.kind) {
    case Operation::Kind::copy_to_device:
    case Operation::Kind::copy_to_host:
    case Operation::Kind::copy:
      if (!lost) std::memcpy(operation.dst, operation.src, operation.bytes);
      break;
    case Operation::Kind::fill:
      if (!lost) std::memset(operation.dst, operation.value, operation.bytes);
      break;
    case Operation::Kind::launch:
      if (!lost) launch(slot);
      break;
    case Operation::Kind::graph:
      for (const Node& node : operation.recording->nodes) execute(*node.slot);
      break;
    case Operation::Kind::wait:
      operation.awaited->wait(operation.position);
      break;
    case Operation::Kind::record: {
      EventState& event = *operation.event;
      const std::lock_guard lock(event.mutex);
      // Records of one event on several streams may complete in any order: keep the time of the
      // record with the highest number.
      if (operation.record > event.timed) {
        event.timed = operation.record;
        event.reached_at = EventState::Clock::now();
      }
      break;
    }
  }
}

void Worker::launch(const Slot& slot) {
  const KernelEntry& entry = *slot.operation.entry;
  engine_.reset();
  try {
    entry.host(engine_, slot.arguments);
  } catch (const std::bad_alloc&) {
    // The launch call has returned already, so losing the device is the only way to report this.
    device_.fault(entry.symbol, "host memory is exhausted");
  }
  device_.add(engine_.counters());
  engine_.counters() = BoxCounters{};
  if (engine_.fault()[0] != '\0') device_.fault(entry.symbol, engine_.fault());
}

}  // namespace tw::host
