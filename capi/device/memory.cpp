// SPDX-License-Identifier: Apache-2.0
// C API: memory, streams and events.
#include "capi/common/boundary.hpp"

using namespace tw;        // NOLINT
using namespace tw::capi;  // NOLINT

namespace {

constinit DestroyedHandles<tw_stream> g_destroyed_streams;
constinit DestroyedHandles<tw_event> g_destroyed_events;

/// Refuses a range that begins at address 0 or ends past the last address. `bytes` is above 0.
Status check_range(uint64_t address, uint64_t bytes, const char* argument) {
  if (address == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument},
                "%s is 0, but bytes is %llu: pass an address unless bytes is 0", argument,
                static_cast<unsigned long long>(bytes));
  if (address + bytes < address)
    return fail(Code::ERROR_OVERFLOW, {.argument = "bytes", .got = static_cast<int64_t>(bytes)},
                "%s 0x%llx plus %llu bytes exceeds 64 bits", argument,
                static_cast<unsigned long long>(address), static_cast<unsigned long long>(bytes));
  return Code::OK;
}

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// Refuses overlapping ranges. Copies between host and device memory need this check, too: memory
/// of the host device, and pinned memory, is host memory and device memory at once.
Status check_overlap(uint64_t dst, uint64_t src, uint64_t bytes) {
  const uint64_t distance = dst > src ? dst - src : src - dst;
  if (distance >= bytes) return Code::OK;
  return fail(Code::ERROR_OVERLAP,
              {.argument = "dst",
               .got = static_cast<int64_t>(distance),
               .limit = static_cast<int64_t>(bytes)},
              "dst 0x%llx and src 0x%llx are only %llu bytes apart: ranges of %llu bytes overlap",
              static_cast<unsigned long long>(dst), static_cast<unsigned long long>(src),
              static_cast<unsigned long long>(distance), static_cast<unsigned long long>(bytes));
}

/// Refuses a copy between devices if `side`, the device of its source or destination, is of another
/// kind than the stream's device `own`.
Status check_same_kind(const Device& own, const Device& side, const char* argument) {
  if (side.info().kind == own.info().kind) return Code::OK;
  const bool host = side.info().kind == DeviceKind::host;
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = argument},
              "%s is %s, but the stream belongs to %s: use tw_memcpy_to_device() or "
              "tw_memcpy_to_host(), which accept memory of the host device as host memory",
              argument, host ? "the host device" : "a CUDA device",
              host ? "a CUDA device" : "the host device");
}

}  // namespace

tw_status tw_malloc(tw_device* device, uint64_t bytes, uint64_t* address) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(address, "address"));
    TW_TRY(usable(device, "device"));
    if (bytes == 0) return Code::OK;
    return device->value->allocate(bytes, address);
  });
}

tw_status tw_free(tw_device* device, uint64_t address) {
  return guard(device, [&]() -> Status {
    TW_TRY(usable(device, "device"));
    if (address == 0) return Code::OK;
    return device->value->release(address);
  });
}

tw_status tw_malloc_host(tw_device* device, uint64_t bytes, void** memory) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(memory, "memory"));
    TW_TRY(usable(device, "device"));
    if (bytes == 0) return Code::OK;
    return device->value->allocate_host(bytes, memory);
  });
}

tw_status tw_free_host(tw_device* device, void* memory) {
  return guard(device, [&]() -> Status {
    TW_TRY(usable(device, "device"));
    if (!memory) return Code::OK;
    return device->value->release_host(memory);
  });
}

tw_status tw_memory_register(tw_device* device, uint64_t address, uint64_t bytes) {
  return guard(device, [&]() -> Status {
    TW_TRY(usable(device, "device"));
    if (address == 0 && bytes == 0) return Code::OK;
    TW_TRY(check_range(address, bytes, "address"));
    return device->value->register_memory(address, bytes);
  });
}

tw_status tw_memory_unregister(tw_device* device, uint64_t address) {
  return guard(device, [&]() -> Status {
    TW_TRY(usable(device, "device"));
    if (address == 0) return Code::OK;
    return device->value->unregister_memory(address);
  });
}

tw_status tw_stream_create(tw_device* device, tw_stream** stream) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(stream, "stream"));
    TW_TRY(usable(device, "device"));
    auto handle = std::make_unique<tw_stream>();
    TW_TRY(device->value->create_stream(&handle->value));
    *stream = handle.release();
    return Code::OK;
  });
}

tw_status tw_stream_create_from(tw_device* device, struct CUstream_st* cuda_stream,
                                tw_stream** stream) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(stream, "stream"));
    TW_TRY(usable(device, "device"));
    auto handle = std::make_unique<tw_stream>();
    TW_TRY(device->value->wrap_stream(cuda_stream, &handle->value));
    *stream = handle.release();
    return Code::OK;
  });
}

tw_status tw_stream_get_cuda(tw_stream* stream, struct CUstream_st** cuda_stream) {
  return guard(stream, [&]() -> Status {
    TW_TRY(clear_output(cuda_stream, "cuda_stream"));
    TW_TRY(usable(stream, "stream"));
    return stream->value->cuda_handle(cuda_stream);
  });
}

void tw_stream_destroy(tw_stream* stream) {
  g_destroyed_streams.destroy(stream);
}

tw_status tw_stream_synchronize(tw_stream* stream) {
  return guard(stream, [&]() -> Status {
    // This calls require() instead of usable(), because synchronize() itself checks the device: on
    // the host device it waits even after the device is lost or closed.
    TW_TRY(require(stream, "stream"));
    return stream->value->synchronize();
  });
}

tw_status tw_stream_query(tw_stream* stream) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    return stream->value->query();
  });
}

tw_status tw_stream_wait_event(tw_stream* stream, tw_event* event) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    TW_TRY(usable(event, "event"));
    TW_TRY(same_device(stream, "stream", event, "event"));
    return stream->value->wait(*event->value);
  });
}

tw_status tw_memcpy_to_device(tw_stream* stream, uint64_t dst, const void* src, uint64_t bytes) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    if (bytes == 0) return Code::OK;
    TW_TRY(check_range(dst, bytes, "dst"));
    TW_TRY(check_range(address_of(src), bytes, "src"));
    TW_TRY(check_overlap(dst, address_of(src), bytes));
    TW_TRY(stream->device().check_memory("dst", dst, bytes));
    return stream->value->copy_to_device(dst, src, bytes);
  });
}

tw_status tw_memcpy_to_host(tw_stream* stream, void* dst, uint64_t src, uint64_t bytes) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    if (bytes == 0) return Code::OK;
    TW_TRY(check_range(address_of(dst), bytes, "dst"));
    TW_TRY(check_range(src, bytes, "src"));
    TW_TRY(check_overlap(address_of(dst), src, bytes));
    TW_TRY(stream->device().check_memory("src", src, bytes));
    return stream->value->copy_to_host(dst, src, bytes);
  });
}

tw_status tw_memcpy_on_device(tw_stream* stream, uint64_t dst, uint64_t src, uint64_t bytes) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    if (bytes == 0) return Code::OK;
    TW_TRY(check_range(dst, bytes, "dst"));
    TW_TRY(check_range(src, bytes, "src"));
    TW_TRY(check_overlap(dst, src, bytes));
    TW_TRY(stream->device().check_memory("dst", dst, bytes));
    TW_TRY(stream->device().check_memory("src", src, bytes));
    return stream->value->copy_on_device(dst, src, bytes);
  });
}

tw_status tw_memcpy_between_devices(tw_stream* stream, tw_device* dst_device, uint64_t dst,
                                    tw_device* src_device, uint64_t src, uint64_t bytes) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    TW_TRY(usable(dst_device, "dst_device"));
    TW_TRY(usable(src_device, "src_device"));
    TW_TRY(check_same_kind(stream->device(), dst_device->device(), "dst_device"));
    TW_TRY(check_same_kind(stream->device(), src_device->device(), "src_device"));
    if (&stream->device() != &dst_device->device() && &stream->device() != &src_device->device())
      return fail(
          Code::ERROR_WRONG_DEVICE, {.argument = "stream"},
          "stream belongs to neither dst_device nor src_device: use a stream of one of them");
    if (bytes == 0) return Code::OK;
    TW_TRY(check_range(dst, bytes, "dst"));
    TW_TRY(check_range(src, bytes, "src"));
    TW_TRY(check_overlap(dst, src, bytes));
    TW_TRY(dst_device->device().check_memory("dst", dst, bytes));
    TW_TRY(src_device->device().check_memory("src", src, bytes));
    return stream->value->copy_between(*dst_device->value, dst, *src_device->value, src, bytes);
  });
}

tw_status tw_memset(tw_stream* stream, uint64_t dst, int32_t value, uint64_t bytes) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    if (value < 0 || value > 255)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "value", .got = value, .limit = 255},
                  "value %d is not a byte: it must be 0 to 255", value);
    if (bytes == 0) return Code::OK;
    TW_TRY(check_range(dst, bytes, "dst"));
    TW_TRY(stream->device().check_memory("dst", dst, bytes));
    return stream->value->fill(dst, static_cast<uint8_t>(value), bytes);
  });
}

tw_status tw_event_create(tw_device* device, tw_event** event) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(event, "event"));
    TW_TRY(usable(device, "device"));
    auto handle = std::make_unique<tw_event>();
    TW_TRY(device->value->create_event(&handle->value));
    *event = handle.release();
    return Code::OK;
  });
}

tw_status tw_event_create_from(tw_device* device, struct CUevent_st* cuda_event, tw_event** event) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(event, "event"));
    TW_TRY(usable(device, "device"));
    TW_TRY(require(cuda_event, "cuda_event"));
    auto handle = std::make_unique<tw_event>();
    TW_TRY(device->value->wrap_event(cuda_event, &handle->value));
    *event = handle.release();
    return Code::OK;
  });
}

tw_status tw_event_get_cuda(tw_event* event, struct CUevent_st** cuda_event) {
  return guard(event, [&]() -> Status {
    TW_TRY(clear_output(cuda_event, "cuda_event"));
    TW_TRY(usable(event, "event"));
    return event->value->cuda_handle(cuda_event);
  });
}

void tw_event_destroy(tw_event* event) {
  g_destroyed_events.destroy(event);
}

tw_status tw_event_record(tw_event* event, tw_stream* stream) {
  return guard(event, [&]() -> Status {
    TW_TRY(usable(event, "event"));
    TW_TRY(usable(stream, "stream"));
    TW_TRY(same_device(event, "event", stream, "stream"));
    return stream->value->record(*event->value);
  });
}

tw_status tw_event_synchronize(tw_event* event) {
  return guard(event, [&]() -> Status {
    // This calls require() instead of usable(), as tw_stream_synchronize() does.
    TW_TRY(require(event, "event"));
    return event->value->synchronize();
  });
}

tw_status tw_event_query(tw_event* event) {
  return guard(event, [&]() -> Status {
    TW_TRY(usable(event, "event"));
    return event->value->query();
  });
}

tw_status tw_event_elapsed(tw_event* start, tw_event* end, float* milliseconds) {
  return guard(start, [&]() -> Status {
    TW_TRY(clear_output(milliseconds, "milliseconds"));
    TW_TRY(usable(start, "start"));
    TW_TRY(usable(end, "end"));
    TW_TRY(same_device(start, "start", end, "end"));
    return end->value->elapsed_since(*start->value, milliseconds);
  });
}
