// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "base/log.hpp"

namespace tw {
namespace {

Status no_cuda_handle(const char* argument, const char* what) {
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = argument},
              "%s belongs to the host device, which has no CUDA %s: use a CUDA device", argument,
              what);
}

}  // namespace

Status Event::cuda_handle(CUevent_st**) {
  return no_cuda_handle("event", "event");
}

Status Stream::cuda_handle(CUstream_st**) {
  return no_cuda_handle("stream", "stream");
}

Status Device::cuda_handle(CUctx_st**) {
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = "device"},
              "device is the host device, which has no CUDA context: use a CUDA device");
}

Status Device::wrap_event(CUevent_st*, std::unique_ptr<Event>*) {
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = "device"},
              "device is the host device, which cannot record a CUDA event: use tw_event_create(), "
              "or a CUDA device");
}

Status Device::check_alive() const {
  if (const int32_t result = lost_.load(std::memory_order_acquire); result != 0)
    return fail(Code::ERROR_DEVICE_LOST, {.driver_result = result},
                "the device is lost: %s; destroy the device and its handles. %s", lost_message_,
                info().kind == DeviceKind::host
                    ? "Then open it again"
                    : "CUDA works again only in a new process: restart the process");
  if (closed_.load(std::memory_order_acquire))
    return fail(Code::ERROR_DEVICE_CLOSED, {},
                "the device of this handle has been destroyed; the handle can only be destroyed");
  if (forked())
    return fail(Code::ERROR_FORKED, {.got = getpid(), .limit = fork_mark_.process()},
                "the device was opened by process %d and this is its forked child %d: open devices "
                "after the fork",
                fork_mark_.process(), static_cast<int>(getpid()));
  return Code::OK;
}

void Device::mark_lost(int32_t result, const char* format, ...) {
  {
    const std::lock_guard lock(lost_mutex_);
    if (lost_.load(std::memory_order_relaxed) != 0) return;
    va_list args;
    va_start(args, format);
    std::vsnprintf(lost_message_, sizeof lost_message_, format, args);
    va_end(args);
    lost_.store(result, std::memory_order_release);
  }
  log_.write(LogLevel::error, "device %d is lost: %s", info().ordinal, lost_message_);
}

}  // namespace tw
