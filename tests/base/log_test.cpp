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
  process_log().set(collect, &lines, LogLevel::warning);
  CHECK(process_log().enabled(LogLevel::error));
  CHECK(process_log().enabled(LogLevel::warning));
  CHECK_FALSE(process_log().enabled(LogLevel::info));
  process_log().write(LogLevel::error, "%d", 1);
  process_log().write(LogLevel::warning, "%d", 2);
  process_log().write(LogLevel::info, "%d", 3);
  process_log().set(nullptr, nullptr, LogLevel::debug);
  CHECK_FALSE(process_log().enabled(LogLevel::error));
  process_log().write(LogLevel::error, "%d", 4);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].message == "1");
  CHECK(lines[1].level == static_cast<int32_t>(LogLevel::warning));
}

void log_again(void* user, int32_t, const char*) {
  ++*static_cast<int*>(user);
  process_log().write(LogLevel::error, "from inside");
  process_log().set(nullptr, nullptr, LogLevel::error);
}

TEST_CASE("a callback that logs or swaps the callback neither recurses nor deadlocks") {
  int calls = 0;
  process_log().set(log_again, &calls, LogLevel::debug);
  process_log().write(LogLevel::error, "a");
  process_log().write(LogLevel::error, "b");
  CHECK(calls == 2);
  process_log().set(nullptr, nullptr, LogLevel::error);
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
  process_log().set(slow, nullptr, LogLevel::debug);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!stop) process_log().write(LogLevel::error, "again");
    });
  std::thread remover([&] {
    process_log().set(nullptr, nullptr, LogLevel::debug);
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
      // The message takes long to format: set() may replace the callback for all levels meanwhile.
      while (!stop) process_log().write(LogLevel::debug, "%1000d", 1);
    });
  const auto all = [](void*, int32_t, const char*) {};
  const auto errors = [](void* user, int32_t level, const char*) {
    if (level > static_cast<int32_t>(LogLevel::error)) ++*static_cast<std::atomic<int>*>(user);
  };
  for (int i = 0; i < 5000 && above == 0; ++i) {
    process_log().set(all, nullptr, LogLevel::debug);
    process_log().set(errors, &above, LogLevel::error);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  process_log().set(nullptr, nullptr, LogLevel::error);
  CHECK(above == 0);
}

TEST_CASE("a log without a callback passes its messages on to the next") {
  std::vector<Line> first, second;
  Log next;
  Log log(&next);
  CHECK_FALSE(log.enabled(LogLevel::error));
  next.set(collect, &second, LogLevel::warning);
  CHECK(log.enabled(LogLevel::warning));
  CHECK_FALSE(log.enabled(LogLevel::info));
  log.write(LogLevel::warning, "to the next");
  log.write(LogLevel::info, "above the level of the next");
  log.set(collect, &first, LogLevel::info);
  log.write(LogLevel::info, "its own");
  log.write(LogLevel::debug, "above its own level");
  next.write(LogLevel::error, "never goes back");
  log.set(nullptr, nullptr, LogLevel::error);
  log.write(LogLevel::error, "to the next again");
  REQUIRE(first.size() == 1);
  CHECK(first[0].message == "its own");
  REQUIRE(second.size() == 3);
  CHECK(second[0].message == "to the next");
  CHECK(second[1].message == "never goes back");
  CHECK(second[2].message == "to the next again");
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
  process_log().set(wait, &inside, LogLevel::debug);
  std::thread thread([] { process_log().write(LogLevel::error, "waits"); });
  while (!inside.reached) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);  // ends a child that waits for a thread that only its parent has
    process_log().set(nullptr, nullptr, LogLevel::debug);
    _exit(process_log().enabled(LogLevel::error) ? 1 : 0);
  }
  inside.go_on = true;
  thread.join();
  process_log().set(nullptr, nullptr, LogLevel::debug);
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
      while (!stop) process_log().write(LogLevel::error, "line");
    });
  for (int i = 0; i < 200; ++i) {
    Flag flag;
    process_log().set(watch, &flag, LogLevel::error);
    std::this_thread::yield();
    process_log().set(nullptr, nullptr, LogLevel::error);
    flag.installed = false;
    CHECK(flag.late == 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tw
