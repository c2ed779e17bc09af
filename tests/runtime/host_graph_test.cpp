// SPDX-License-Identifier: Apache-2.0
// Graphs of the host device: what a recording keeps alive, and how launches are ordered.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "host_fixture.hpp"

namespace tw::test {
namespace {

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

void faulting_kernel(HostEngine& engine, const void*) {
  engine.load_bulk(0, 0, 8);  // not a multiple of 16 bytes
}
const KernelEntry kFaultEntry = host_entry("fault", faulting_kernel);

void launch(Stream& stream, Kernel& kernel, const auto& arguments) {
  REQUIRE(stream.launch(kernel, LaunchConfig{}, &arguments, sizeof arguments).ok());
}

std::unique_ptr<Graph> ended(Stream& stream) {
  std::unique_ptr<Graph> graph;
  REQUIRE(stream.end_capture(&graph).ok());
  REQUIRE(graph->instantiate().ok());
  return graph;
}

TEST_CASE("a recording keeps the arguments as they were") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  auto kernel = make_kernel(*device, kAppendEntry);
  std::vector<int> list;
  Append arguments{&list, 1};
  REQUIRE(stream->begin_capture().ok());
  launch(*stream, *kernel, arguments);
  arguments.value = 2;
  launch(*stream, *kernel, arguments);
  const auto graph = ended(*stream);
  arguments.value = 3;
  kernel.reset();
  CHECK(list.empty());
  for (int i = 0; i < 2; ++i) REQUIRE(graph->launch(*stream).ok());
  REQUIRE(stream->synchronize().ok());
  CHECK(list == std::vector<int>{1, 2, 1, 2});
}

TEST_CASE("launches of one graph run one after the other on two streams") {
  const auto device = open_host();
  const auto first = make_stream(*device), second = make_stream(*device);
  const auto gate = make_kernel(*device, kGateEntry);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::atomic<bool> open{false};
  std::vector<int> list;
  REQUIRE(first->begin_capture().ok());
  launch(*first, *gate, Gate{&open});
  launch(*first, *kernel, Append{&list, 1});
  auto graph = ended(*first);
  REQUIRE(graph->launch(*first).ok());
  REQUIRE(graph->launch(*second).ok());
  REQUIRE(graph->launch(*first).ok());
  graph.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(second->query().code() == Code::ERROR_NOT_READY);
  open = true;
  REQUIRE(first->synchronize().ok());
  REQUIRE(second->synchronize().ok());
  CHECK(list == std::vector<int>{1, 1, 1});
}

TEST_CASE("a fault inside of a graph loses the device when it is launched") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto kernel = make_kernel(*device, kFaultEntry);
  REQUIRE(stream->begin_capture().ok());
  launch(*stream, *kernel, 0);
  const auto graph = ended(*stream);
  CHECK(stream->synchronize().ok());
  REQUIRE(graph->launch(*stream).ok());
  CHECK(stream->synchronize().code() == Code::ERROR_DEVICE_LOST);
}

TEST_CASE("work of other streams goes on while one is captured") {
  const auto device = open_host();
  const auto captured = make_stream(*device), other = make_stream(*device);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::vector<int> list;
  REQUIRE(captured->begin_capture().ok());
  launch(*captured, *kernel, Append{&list, 1});
  launch(*other, *kernel, Append{&list, 2});
  REQUIRE(other->synchronize().ok());
  CHECK(list == std::vector<int>{2});
  CHECK(captured->end_capture(nullptr).ok());
  REQUIRE(captured->synchronize().ok());
  CHECK(list == std::vector<int>{2});
}

TEST_CASE("threads enqueue on a stream while it is captured") {
  const auto device = open_host();
  const auto stream = make_stream(*device);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::vector<int> list;
  REQUIRE(stream->begin_capture().ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const Append arguments{&list, 1};
      for (int i = 0; i < 50; ++i)
        (void)stream->launch(*kernel, LaunchConfig{}, &arguments, sizeof arguments);
    });
  for (auto& thread : threads) thread.join();
  const auto graph = ended(*stream);
  REQUIRE(graph->launch(*stream).ok());
  REQUIRE(stream->synchronize().ok());
  CHECK(list.size() == 200);
}

TEST_CASE("a forked child destroys what was captured and launched") {
  const auto device = open_host();
  auto stream = make_stream(*device), other = make_stream(*device);
  const auto kernel = make_kernel(*device, kAppendEntry);
  std::vector<int> list;
  REQUIRE(stream->begin_capture().ok());
  launch(*stream, *kernel, Append{&list, 1});
  auto graph = ended(*stream);
  REQUIRE(graph->launch(*other).ok());
  REQUIRE(other->synchronize().ok());
  REQUIRE(stream->begin_capture().ok());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(10);  // ends a child that waits
    graph.reset();
    stream.reset();
    other.reset();
    device->close();
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace tw::test
