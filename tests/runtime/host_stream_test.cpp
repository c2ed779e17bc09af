// SPDX-License-Identifier: Apache-2.0
// Host streams: order of work, events between streams, and launches.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "host_fixture.hpp"
#include "runtime/host/host_stream.hpp"
#include "runtime/host/worker.hpp"

namespace tw::test {
namespace {

/// Blocks a stream until the test opens it, so that tests control the order of events.
struct Gate {
  std::atomic<bool>* open;
};
void wait_at_gate(HostEngine&, const void* arguments) {
  while (!static_cast<const Gate*>(arguments)->open->load()) std::this_thread::yield();
}
const KernelEntry kGateEntry = host_entry("gate", wait_at_gate);

struct Append {
  std::vector<int>* list;  // written by one stream at a time
  int value;
};
void append(HostEngine&, const void* arguments) {
  const auto& a = *static_cast<const Append*>(arguments);
  a.list->push_back(a.value);
}
const KernelEntry kAppendEntry = host_entry("append", append);

struct Blocked {
  sigset_t* signals;
};
void read_blocked(HostEngine&, const void* arguments) {
  pthread_sigmask(SIG_SETMASK, nullptr, static_cast<const Blocked*>(arguments)->signals);
}
const KernelEntry kBlockedEntry = host_entry("blocked", read_blocked);

void launch(Stream& stream, Kernel& kernel, const auto& arguments) {
  REQUIRE(stream.launch(kernel, LaunchConfig{}, &arguments, sizeof arguments).ok());
}

TEST_CASE("work of a stream runs in order, through more launches than the ring has slots") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::vector<int> list;
  for (int i = 0; i < 1000; ++i) launch(*stream, *kernel, Append{&list, i});
  REQUIRE(stream->synchronize().ok());
  REQUIRE(list.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(list[static_cast<size_t>(i)] == i);
  device->close();
}

TEST_CASE("arguments are copied when the launch is enqueued") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto gate = make_kernel(*device, kGateEntry);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::atomic<bool> open{false};
  std::vector<int> list;
  Append arguments{&list, 1};
  launch(*stream, *gate, Gate{&open});
  launch(*stream, *kernel, arguments);
  arguments.value = 2;
  open = true;
  REQUIRE(stream->synchronize().ok());
  CHECK(list == std::vector<int>{1});
}

TEST_CASE("query tells pending work from finished work") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto event = make_event(*device);
  const auto gate = make_kernel(*device, kGateEntry);
  CHECK(stream->query().ok());
  CHECK(event->query().ok());  // never recorded
  std::atomic<bool> open{false};
  launch(*stream, *gate, Gate{&open});
  REQUIRE(stream->record(*event).ok());
  CHECK(stream->query().code() == Code::ERROR_NOT_READY);
  CHECK(event->query().code() == Code::ERROR_NOT_READY);
  open = true;
  CHECK(event->synchronize().ok());
  CHECK(event->query().ok());
  CHECK(stream->synchronize().ok());
  CHECK(stream->query().ok());
}

TEST_CASE("a stream waits for an event of another one") {
  const auto device = open_host();
  const auto first = make_stream(*device);
  const auto second = make_stream(*device);
  const auto event = make_event(*device);
  const auto gate = make_kernel(*device, kGateEntry);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::atomic<bool> open{false};
  std::vector<int> list;
  launch(*first, *gate, Gate{&open});
  launch(*first, *kernel, Append{&list, 1});
  REQUIRE(first->record(*event).ok());
  REQUIRE(second->wait(*event).ok());
  launch(*second, *kernel, Append{&list, 2});
  // A later record of the event elsewhere does not release the wait enqueued before it.
  const auto third = make_stream(*device);
  REQUIRE(third->record(*event).ok());
  REQUIRE(third->synchronize().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(second->query().code() == Code::ERROR_NOT_READY);
  open = true;
  REQUIRE(second->synchronize().ok());
  CHECK(list == std::vector<int>{1, 2});
}

TEST_CASE("waiting for an event that was never recorded is no wait") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto event = make_event(*device);
  REQUIRE(stream->wait(*event).ok());
  CHECK(stream->synchronize().ok());
  CHECK(event->synchronize().ok());
}

TEST_CASE("elapsed time needs two reached records and orders them") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto start = make_event(*device);
  const auto end = make_event(*device);
  const auto gate = make_kernel(*device, kGateEntry);
  float milliseconds = -1;
  CHECK(end->elapsed_since(*start, &milliseconds).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(message_has("start was never recorded"));
  REQUIRE(stream->record(*start).ok());
  std::atomic<bool> open{false};
  launch(*stream, *gate, Gate{&open});
  REQUIRE(stream->record(*end).ok());
  CHECK(end->elapsed_since(*start, &milliseconds).code() == Code::ERROR_NOT_READY);
  REQUIRE(start->synchronize().ok());  // the worker may be late on a busy machine
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  open = true;
  REQUIRE(end->synchronize().ok());
  REQUIRE(end->elapsed_since(*start, &milliseconds).ok());
  CHECK(milliseconds >= 4.0f);
}

/// A stream whose worker has ended, so that enqueueing fails.
host::HostStream make_ended_stream(const std::shared_ptr<Device>& device) {
  auto worker = std::make_shared<host::Worker>(static_cast<host::HostDevice&>(*device));
  worker->finish();
  return {device, std::move(worker)};
}

TEST_CASE("a record that fails leaves the event as it was") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  auto ended = make_ended_stream(device);
  const auto start = make_event(*device);
  const auto end = make_event(*device);
  REQUIRE(stream->record(*end).ok());
  REQUIRE(!ended.record(*start).ok());
  float milliseconds = -1;
  CHECK(end->elapsed_since(*start, &milliseconds).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(message_has("start was never recorded"));
  REQUIRE(stream->record(*start).ok());
  REQUIRE(stream->synchronize().ok());
  CHECK(end->elapsed_since(*start, &milliseconds).ok());
}

TEST_CASE("a record counts although a later one has failed meanwhile") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto first = make_stream(*device);
  auto ended = make_ended_stream(device);
  const auto event = make_event(*device);
  const auto gate = make_kernel(*device, kGateEntry);
  REQUIRE(first->record(*event).ok());
  REQUIRE(first->synchronize().ok());
  // The second record waits for a slot in the full queue.
  std::atomic<bool> open{false};
  uint64_t address = 0;
  REQUIRE(device->allocate(1, &address).ok());
  launch(*stream, *gate, Gate{&open});
  for (int i = 1; i < 64; ++i) REQUIRE(stream->fill(address, 0, 1).ok());
  std::atomic<bool> recorded{false};
  std::thread recording([&] { recorded = stream->record(*event).ok(); });
  host::EventState& state = *static_cast<host::HostEvent&>(*event).state();
  const auto drawn = [&state] {
    const std::lock_guard lock(state.mutex);
    return state.drawn;
  };
  while (drawn() < 2) std::this_thread::yield();
  CHECK(!ended.record(*event).ok());
  CHECK(!recorded);
  open = true;
  recording.join();
  CHECK(recorded);
  std::shared_ptr<host::Worker> worker;
  uint64_t position = 0;
  static_cast<host::HostEvent&>(*event).last_record(&worker, &position);
  CHECK(position == 65);
}

TEST_CASE("a forked child waits for no lock that a thread of its parent held") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto event = make_event(*device);
  REQUIRE(stream->record(*event).ok());
  std::unique_lock held(static_cast<host::HostEvent&>(*event).state()->mutex);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(10);  // ends a child that waits
    const bool refused = event->synchronize().code() == Code::ERROR_FORKED &&
                         stream->synchronize().code() == Code::ERROR_FORKED;
    _exit(refused ? 0 : 1);
  }
  held.unlock();
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("copies and fills") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  uint64_t a = 0;
  uint64_t b = 0;
  REQUIRE(device->allocate(4096, &a).ok());
  REQUIRE(device->allocate(4096, &b).ok());
  std::vector<unsigned char> in(4096);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * 7);
  std::vector<unsigned char> out(4096);
  REQUIRE(stream->copy_to_device(a, in.data(), 4096).ok());
  REQUIRE(stream->fill(b, 0xee, 4096).ok());
  REQUIRE(stream->copy_on_device(b + 16, a, 4000).ok());
  REQUIRE(stream->copy_to_host(out.data(), b, 4096).ok());
  REQUIRE(stream->synchronize().ok());
  for (size_t i = 0; i < 4096; ++i) CHECK(out[i] == (i < 16 || i >= 4016 ? 0xee : in[i - 16]));
  CHECK(device->release(a).ok());
  CHECK(device->release(b).ok());
}

TEST_CASE("a stream that is destroyed with work in flight still does it") {
  const auto device = open_host();
  auto stream = make_stream(*device);
  const auto other = make_stream(*device);
  const auto event = make_event(*device);
  const auto gate = make_kernel(*device, kGateEntry);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::atomic<bool> open{false};
  std::vector<int> list;
  launch(*stream, *gate, Gate{&open});
  launch(*stream, *kernel, Append{&list, 1});
  REQUIRE(stream->record(*event).ok());
  stream.reset();
  REQUIRE(other->wait(*event).ok());
  open = true;
  REQUIRE(other->synchronize().ok());
  CHECK(list == std::vector<int>{1});
}

TEST_CASE("a stream's thread takes none of the program's signals, and hides no fault of its own") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto kernel = make_kernel(*device, kBlockedEntry);
  sigset_t blocked;
  sigemptyset(&blocked);
  launch(*stream, *kernel, Blocked{&blocked});
  REQUIRE(stream->synchronize().ok());
  for (const int asked : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD})
    CHECK(sigismember(&blocked, asked) == 1);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    CHECK(sigismember(&blocked, fault) == 0);
  device->close();
}

TEST_CASE("many threads may use one stream") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::vector<int> list;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const Append arguments{&list, 1};
      for (int i = 0; i < 200; ++i)
        (void)stream->launch(*kernel, LaunchConfig{}, &arguments, sizeof arguments);
    });
  for (auto& thread : threads) thread.join();
  REQUIRE(stream->synchronize().ok());
  CHECK(list.size() == 800);
}

TEST_CASE("streams that come and go leave nothing behind but their work") {
  const auto device = open_host();
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::vector<int> list;
  for (int i = 0; i < 50; ++i) {
    const auto stream = make_stream(*device);
    launch(*stream, *kernel, Append{&list, i});
    REQUIRE(stream->synchronize().ok());
  }
  CHECK(list.size() == 50);
}

}  // namespace
}  // namespace tw::test
