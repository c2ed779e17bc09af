// SPDX-License-Identifier: Apache-2.0
#include "driver/driver.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace tw {
namespace {

constinit std::mutex g_mutex;  // guards g_libcuda, g_loaded and g_fake
constinit Driver g_libcuda;
constinit bool g_loaded = false;
constinit const Driver* g_fake = nullptr;
// The process that initialized the driver or is doing so; 0 if there is none. It is atomic, because
// find_driver() reads it before it locks g_mutex: in a forked child the mutex may stay locked
// forever, if a thread of the parent held it during the fork.
constinit std::atomic<pid_t> g_process{0};

enum class Need { required, optional };

/// cuGetProcAddress_v2, as of CUDA 12.0.
using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t,
                                    CUdriverProcAddressQueryResult*);

Status too_old(int32_t version, const char* missing) {
  return fail(Code::ERROR_DRIVER_TOO_OLD, {.got = version, .limit = kMinimumDriver},
              "the CUDA driver is for CUDA %d.%d%s%s; the library needs %d.%d at least (driver "
              "550): update the driver",
              version / 1000, version % 1000 / 10, missing ? " and lacks " : "",
              missing ? missing : "", kMinimumDriver / 1000, kMinimumDriver % 1000 / 10);
}

/// Loads libcuda and fills the table. cuGetProcAddress is asked for the version of each function
/// that symbols.inc gives, because other versions of a function can have other prototypes.
Status load_table(Driver* table) {
  // RTLD_LOCAL: libcuda's symbols must not resolve undefined symbols of other libraries.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    return fail(Code::ERROR_NO_DRIVER, {},
                "the CUDA driver library libcuda.so.1 cannot be loaded (%s): install the NVIDIA "
                "driver, or use the host device",
                reason ? reason : "no reason given");
  }
  const auto get_proc_address =
      reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  const auto get_version =
      reinterpret_cast<decltype(Driver::DriverGetVersion)>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  if (get_version) get_version(&version);
  if (!get_proc_address) return too_old(version, "cuGetProcAddress_v2");
  if (version < kMinimumDriver) return too_old(version, nullptr);

  const auto find = [&](const char* name, int symbol_version, Need need, void** out) -> Status {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result =
        get_proc_address(name, out, symbol_version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
    if (result == CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS && *out) return Code::OK;
    *out = nullptr;
    return need == Need::optional ? Status(Code::OK) : too_old(version, name);
  };
#define TW_DRIVER_SYMBOL(name, symbol_version, need, ...)            \
  {                                                                  \
    void* address = nullptr;                                         \
    TW_TRY(find("cu" #name, symbol_version, Need::need, &address));  \
    table->name = reinterpret_cast<decltype(Driver::name)>(address); \
  }
#include "driver/symbols.inc"
#undef TW_DRIVER_SYMBOL
  table->version = version;
  return Code::OK;
}

struct ResultClass {
  CUresult result;
  Code code;
  bool sticky;
};

constexpr ResultClass kResultClasses[] = {
#define TW_RESULT(number, status, sticky) {static_cast<CUresult>(number), Code::status, sticky},
#include "driver/results.inc"
#undef TW_RESULT
};

ResultClass classify(CUresult result) {
  for (const ResultClass& known : kResultClasses)
    if (known.result == result) return known;
  return {result, Code::ERROR_DRIVER, false};
}

// Loads libcuda unless that was done before or a test has replaced it, and calls cuInit. The caller
// has locked g_mutex.
Status load_and_initialize(const Driver** out) {
  if (!g_fake && !g_loaded) {
    Driver table;
    TW_TRY(load_table(&table));
    g_libcuda = table;
    g_loaded = true;
  }
  const Driver& cu = g_fake ? *g_fake : g_libcuda;
  if (const CUresult result = cu.Init(0); result != CUDA_SUCCESS)
    return driver_failure(cu, result, "cuInit");
  *out = &cu;
  return Code::OK;
}

}  // namespace

Status find_driver(const Driver** out) {
  const pid_t process = g_process.load(std::memory_order_acquire), own = getpid();
  if (process != 0 && process != own)
    return fail(Code::ERROR_FORKED, {.got = own, .limit = process},
                "process %d initialized the CUDA driver and this is its forked child %d, in which "
                "the driver cannot work: fork before the first use of CUDA",
                static_cast<int>(process), static_cast<int>(own));
  const std::lock_guard lock(g_mutex);
  const pid_t before = g_process.exchange(own);
  const Status status = load_and_initialize(out);
  if (!status.ok()) g_process.store(before);
  return status;
}

void replace_driver(const Driver* fake) {
  const std::lock_guard lock(g_mutex);
  g_fake = fake;
  g_process = 0;
}

bool is_sticky(CUresult result) {
  return classify(result).sticky;
}

const char* result_name(const Driver& cu, CUresult result) {
  const char* name = nullptr;
  if (cu.GetErrorName(result, &name) != CUDA_SUCCESS || !name) return "an unknown CUresult";
  return name;
}

Status driver_failure(const Driver& cu, CUresult result, const char* call) {
  const char* text = nullptr;
  if (cu.GetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "no description";
  return fail(classify(result).code, {.driver_result = static_cast<int32_t>(result)},
              "%s: %s (%d): %s", call, result_name(cu, result), static_cast<int>(result), text);
}

}  // namespace tw
