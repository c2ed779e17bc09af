// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "doctest_main.hpp"

namespace tw {
namespace {

struct Line {
  int32_t level;
  std::string message;
};

void collect(void* user, int32_t level, const char* message) {
  static_cast<std::vector<Line>*>(user)->push_back({level, message});
}

TEST_CASE("levels filter, and removal silences") {
  std::vector<Line> lines;
  log_set(collect, &lines, LogLevel::warning);
  CHECK(log_enabled(LogLevel::error));
  CHECK(log_enabled(LogLevel::warning));
  CHECK_FALSE(log_enabled(LogLevel::info));
  log(LogLevel::error, "%d", 1);
  log(LogLevel::warning, "%d", 2);
  log(LogLevel::info, "%d", 3);
  log_set(nullptr, nullptr, LogLevel::debug);
  CHECK_FALSE(log_enabled(LogLevel::error));
  log(LogLevel::error, "%d", 4);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].message == "1");
  CHECK(lines[1].level == static_cast<int32_t>(LogLevel::warning));
}

void log_again(void* user, int32_t, const char*) {
  ++*static_cast<int*>(user);
  log(LogLevel::error, "from inside");
  log_set(nullptr, nullptr, LogLevel::error);
}

TEST_CASE("a callback that logs or swaps the callback neither recurses nor deadlocks") {
  int calls = 0;
  log_set(log_again, &calls, LogLevel::debug);
  log(LogLevel::error, "a");
  log(LogLevel::error, "b");
  CHECK(calls == 2);
  log_set(nullptr, nullptr, LogLevel::error);
}

struct Flag {
  std::atomic<bool> installed{true};
  std::atomic<int> late{0};
};

void watch(void* user, int32_t, const char*) {
  Flag* flag = static_cast<Flag*>(user);
  if (!flag->installed) ++flag->late;
}

TEST_CASE("removal does not wait until all threads pause in their logging") {
  std::atomic<bool> stop{false}, removed{false};
  const auto slow = [](void*, int32_t, const char*) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  };
  log_set(slow, nullptr, LogLevel::debug);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!stop) log(LogLevel::error, "again");
    });
  std::thread remover([&] {
    log_set(nullptr, nullptr, LogLevel::debug);
    removed = true;
  });
  for (int i = 0; i < 1000 && !removed; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(removed);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  remover.join();
}

TEST_CASE("a callback gets nothing above its own level, whichever was there before it") {
  std::atomic<bool> stop{false};
  std::atomic<int> above{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      // A long message: who has found the callback for all levels there takes its time to come.
      while (!stop) log(LogLevel::debug, "%1000d", 1);
    });
  const auto all = [](void*, int32_t, const char*) {};
  const auto errors = [](void* user, int32_t level, const char*) {
    if (level > static_cast<int32_t>(LogLevel::error)) ++*static_cast<std::atomic<int>*>(user);
  };
  for (int i = 0; i < 5000 && above == 0; ++i) {
    log_set(all, nullptr, LogLevel::debug);
    log_set(errors, &above, LogLevel::error);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  log_set(nullptr, nullptr, LogLevel::error);
  CHECK(above == 0);
}

struct Inside {
  std::atomic<bool> reached{false}, go_on{false};
};

TEST_CASE("a child that is forked while a thread is inside the callback may remove it") {
  Inside inside;
  const auto wait = [](void* user, int32_t, const char*) {
    auto& at = *static_cast<Inside*>(user);
    at.reached = true;
    while (!at.go_on) std::this_thread::yield();
  };
  log_set(wait, &inside, LogLevel::debug);
  std::thread thread([] { log(LogLevel::error, "waits"); });
  while (!inside.reached) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);  // ends a child that waits for its parent's thread
    log_set(nullptr, nullptr, LogLevel::debug);
    _exit(log_enabled(LogLevel::error) ? 1 : 0);
  }
  inside.go_on = true;
  thread.join();
  log_set(nullptr, nullptr, LogLevel::debug);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("after removal no thread is inside the old callback") {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!stop) log(LogLevel::error, "line");
    });
  for (int i = 0; i < 200; ++i) {
    Flag flag;
    log_set(watch, &flag, LogLevel::error);
    std::this_thread::yield();
    log_set(nullptr, nullptr, LogLevel::error);
    flag.installed = false;
    CHECK(flag.late == 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tw
