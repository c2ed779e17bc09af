// SPDX-License-Identifier: Apache-2.0
// C API: devices.
#include <cstring>

#include "base/log.hpp"
#include "capi/common/boundary.hpp"
#include "runtime/open/open_device.hpp"

using namespace tw;        // NOLINT
using namespace tw::capi;  // NOLINT

static_assert(TW_DEVICE_HOST == static_cast<int32_t>(DeviceKind::host) &&
              TW_DEVICE_CUDA == static_cast<int32_t>(DeviceKind::cuda));

namespace {

constinit DestroyedHandles<tw_device> g_destroyed_devices;

Status check_kind(tw_device_kind kind) {
  if (kind == TW_DEVICE_HOST || kind == TW_DEVICE_CUDA) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "kind", .got = kind},
              "kind %d is not a device kind: TW_DEVICE_HOST (1) or TW_DEVICE_CUDA (2)", kind);
}

/// Logs an opened device and passes its handle to the caller.
Status opened(std::unique_ptr<tw_device> handle, tw_device** out) {
  const DeviceInfo& info = handle->value->info();
  process_log().write(LogLevel::info, "device %d: %s, compute capability %d.%d, driver %d",
                      info.ordinal, info.name.c_str(), info.compute_major, info.compute_minor,
                      info.driver_version);
  *out = handle.release();
  return Code::OK;
}

}  // namespace

tw_status tw_device_count(tw_device_kind kind, int32_t* count) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(count, "count"));
    TW_TRY(check_kind(kind));
    return count_devices(static_cast<DeviceKind>(kind), count);
  });
}

tw_status tw_device_create(tw_device_kind kind, int32_t ordinal, tw_device** device) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(device, "device"));
    TW_TRY(check_kind(kind));
    auto handle = std::make_unique<tw_device>();
    TW_TRY(open_device(static_cast<DeviceKind>(kind), ordinal, &handle->value));
    return opened(std::move(handle), device);
  });
}

tw_status tw_device_create_from_context(struct CUctx_st* context, tw_device** device) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(device, "device"));
    TW_TRY(require(context, "context"));
    auto handle = std::make_unique<tw_device>();
    TW_TRY(open_cuda_context(context, &handle->value));
    return opened(std::move(handle), device);
  });
}

void tw_device_destroy(tw_device* device) {
  if (device && device->value) {
    device->value->close();
    device->value->log().set(nullptr, nullptr, LogLevel::error);
  }
  g_destroyed_devices.destroy(device);
}

tw_status tw_device_log_set(tw_device* device, tw_log_callback callback, void* user,
                            tw_log_level level) {
  return guard(device, [&]() -> Status {
    TW_TRY(usable(device, "device"));
    TW_TRY(check_log_level(level));
    device->value->log().set(callback, user, static_cast<LogLevel>(level));
    return Code::OK;
  });
}

tw_status tw_device_get_info(tw_device* device, tw_device_info* info) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output_struct(info, "info"));
    TW_TRY(usable(device, "device"));
    const DeviceInfo& from = device->value->info();
    tw_device_info value = {.kind = static_cast<tw_device_kind>(from.kind),
                            .ordinal = from.ordinal,
                            .compute_major = from.compute_major,
                            .compute_minor = from.compute_minor,
                            .driver_version = from.driver_version,
                            .sm_count = from.sm_count,
                            .max_dynamic_smem_bytes = from.max_dynamic_smem_bytes,
                            .features = from.features,
                            .total_memory_bytes = from.total_memory_bytes,
                            .l2_bytes = from.l2_bytes};
    std::strncpy(value.name, from.name.c_str(), sizeof value.name - 1);
    write_struct(info, value);
    return Code::OK;
  });
}

tw_status tw_device_get_cuda_context(tw_device* device, struct CUctx_st** context) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(context, "context"));
    TW_TRY(usable(device, "device"));
    return device->value->cuda_handle(context);
  });
}
