// SPDX-License-Identifier: Apache-2.0
// Loading libcuda.so.1: a missing function disables only what needs it. A process loads the driver
// once and keeps it, so each case runs in a child process. LD_LIBRARY_PATH leads to the fake
// driver.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "doctest_main.hpp"
#include "driver/driver.hpp"
#include "runtime/device.hpp"
#include "runtime/open/open_device.hpp"

namespace tw {
namespace {

bool is_ancient() {
  return std::getenv("TW_TEST_ANCIENT_DRIVER") != nullptr;
}

/// Runs the body in a child process with this environment variable; returns whether it held.
bool holds(const char* variable, const char* value, const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (variable) setenv(variable, value, 1);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The fake driver loads (it counts no devices), and its symbols stay local to the library.
bool loads() {
  int32_t count = -1;
  return count_devices(DeviceKind::cuda, &count).ok() && count == 0 &&
         dlsym(RTLD_DEFAULT, "cuDriverGetVersion") == nullptr;
}

/// The driver is reported as too old, with a message that contains these words.
bool too_old(const char* words) {
  int32_t count = -1;
  return count_devices(DeviceKind::cuda, &count).code() == Code::ERROR_DRIVER_TOO_OLD &&
         count <= 0 && std::strstr(last_failure().message, words) != nullptr &&
         std::strstr(last_failure().message, "update the driver") != nullptr;
}

TEST_CASE("a whole driver") {
  if (is_ancient()) return;
  CHECK(holds(nullptr, nullptr, loads));
}

TEST_CASE("every function alone is missing, or there in an older form") {
  if (is_ancient()) return;
  int optional = 0, required = 0;
  for (const char* how : {"FAKE_MISSING", "FAKE_OLDER"}) {
    const auto without = [&](const char* name, const std::string& need) {
      CAPTURE(how);
      CAPTURE(name);
      (need == "optional" ? optional : required) += 1;
      if (need == "optional")
        CHECK(holds(how, name, loads));
      else
        CHECK(holds(how, name, [name] { return too_old(name); }));
    };
#define TW_DRIVER_SYMBOL(name, version, need, ...) without("cu" #name, #need);
#include "driver/symbols.inc"
#undef TW_DRIVER_SYMBOL
  }
  CHECK(optional >= 2);
  CHECK(required > 40);
}

TEST_CASE("an old driver is named by its version") {
  if (is_ancient()) return;
  CHECK(holds("FAKE_VERSION", "12030", [] { return too_old("CUDA 12.3"); }));
  CHECK(holds("FAKE_VERSION", "12040", loads));
}

TEST_CASE("a driver from before cuGetProcAddress_v2") {
  if (!is_ancient()) return;
  CHECK(holds(nullptr, nullptr, [] { return too_old("cuGetProcAddress_v2"); }));
}

TEST_CASE("what failed to load is tried again") {
  if (is_ancient()) return;
  CHECK(holds("FAKE_MISSING", "cuInit", [] {
    const bool failed = too_old("cuInit");
    unsetenv("FAKE_MISSING");
    return failed && loads();
  }));
}

}  // namespace
}  // namespace tw
