// SPDX-License-Identifier: Apache-2.0
#include "boundary.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"

namespace tw::capi {
namespace {

// No struct of ours comes near; a larger number is an uninitialised one, and believing it would
// mean reading that far.
constexpr uint32_t kMaxStructSize = 4096;

// What is told to those who have set nothing: every struct that comes in has an init function,
// few of those that go out do.
constexpr const char* kOfInit = "call the struct's init function, or set it to sizeof";
constexpr const char* kOfCaller = "set it to sizeof of the struct";

Status check_struct_size(uint32_t size, const char* argument, const StructSizes& sizes,
                         const char* how, int32_t index = -1) {
  if (size == 0)
    return fail(
        Code::ERROR_STRUCT_SIZE,
        {.argument = argument, .index = index, .got = 0, .limit = static_cast<int64_t>(sizes.ours)},
        "%s->struct_size is 0: %s (%zu)", argument, how, sizes.ours);
  if (size < sizes.first || size > kMaxStructSize || size % sizes.alignment != 0)
    return fail(Code::ERROR_STRUCT_SIZE,
                {.argument = argument,
                 .index = index,
                 .got = size,
                 .limit = static_cast<int64_t>(sizes.first)},
                "%s->struct_size is %u, the size of no version of the struct: the first has %zu "
                "bytes, this library's %zu",
                argument, size, sizes.first, sizes.ours);
  return Code::OK;
}

}  // namespace

tw_status failed(Status status) {
  tell_error();
  // That work is not done yet is an answer; whoever polls does not want it told.
  if (status.code() != Code::ERROR_NOT_READY && log_enabled(LogLevel::debug)) {
    log(LogLevel::debug, "TW_%s: %s", code_name(static_cast<int32_t>(status.code())),
        last_error().message);
  }
  return static_cast<tw_status>(status.code());
}

Status require(const void* pointer, const char* argument) {
  if (pointer) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument}, "%s is NULL", argument);
}

Status check_reserved(const char* owner, const char* field, uint64_t value) {
  if (value == 0) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = field, .rule = "reserved_zero", .got = static_cast<int64_t>(value)},
              "%s->%s is %llu: it is kept for later versions and must be 0", owner, field,
              static_cast<unsigned long long>(value));
}

Status check_flag(const char* field, uint32_t value) {
  if (value <= 1) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = field, .rule = "flag", .got = value, .limit = 1},
              "%s is %u: 1 for yes, 0 for no", field, value);
}

Status same_device(const Device& a, const char* name_a, const Device& b, const char* name_b) {
  if (&a == &b) return Code::OK;
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = name_b},
              "%s is of device \"%s\" %d and %s of device \"%s\" %d%s: handles that work together "
              "must come from one device handle",
              name_a, a.info().name.c_str(), a.info().ordinal, name_b, b.info().name.c_str(),
              b.info().ordinal,
              a.info().kind == b.info().kind && a.info().ordinal == b.info().ordinal
                  ? ", opened twice"
                  : "");
}

Status read_struct_bytes(const void* in, const char* argument, const StructSizes& sizes,
                         void* out) {
  TW_TRY(require(in, argument));
  uint32_t size = 0;
  std::memcpy(&size, in, sizeof size);
  TW_TRY(check_struct_size(size, argument, sizes, kOfInit));
  const auto* bytes = static_cast<const unsigned char*>(in);
  for (size_t i = sizes.ours; i < size; ++i)
    if (bytes[i] != 0)
      return fail(Code::ERROR_STRUCT_SIZE,
                  {.argument = argument, .got = size, .limit = static_cast<int64_t>(sizes.ours)},
                  "%s sets a field at byte %zu that this library does not know: its struct ends at "
                  "%zu; leave the field zero or use a newer library",
                  argument, i, sizes.ours);
  std::memcpy(out, in, std::min<size_t>(size, sizes.ours));
  const auto ours = static_cast<uint32_t>(sizes.ours);
  std::memcpy(out, &ours, sizeof ours);
  return Code::OK;
}

Status clear_struct_bytes(void* out, const char* argument, const StructSizes& sizes) {
  TW_TRY(require(out, argument));
  uint32_t size = 0;
  std::memcpy(&size, out, sizeof size);
  TW_TRY(check_struct_size(size, argument, sizes, kOfCaller));
  std::memset(static_cast<unsigned char*>(out) + sizeof size, 0, size - sizeof size);
  return Code::OK;
}

Status check_struct_array_bytes(const void* out, size_t count, const char* argument,
                                const StructSizes& sizes) {
  if (count == 0) return Code::OK;
  TW_TRY(require(out, argument));
  uint32_t first = 0;
  std::memcpy(&first, out, sizeof first);
  TW_TRY(check_struct_size(first, argument, sizes, kOfCaller, 0));
  const auto* at = static_cast<const unsigned char*>(out);
  for (size_t i = 1; i < count; ++i) {
    uint32_t size = 0;
    std::memcpy(&size, at += first, sizeof size);
    if (size != first)
      return fail(
          Code::ERROR_STRUCT_SIZE,
          {.argument = argument, .index = static_cast<int32_t>(i), .got = size, .limit = first},
          "%s[%zu].struct_size is %u and %s[0]'s %u: elements of one array have one size, by "
          "which they lie apart; set it in each",
          argument, i, size, argument, first);
  }
  return Code::OK;
}

void write_struct_bytes(void* out, const StructSizes& sizes, const void* value) {
  uint32_t size = 0;
  std::memcpy(&size, out, sizeof size);
  std::memcpy(static_cast<unsigned char*>(out) + sizeof size,
              static_cast<const unsigned char*>(value) + sizeof size,
              std::min<size_t>(size, sizes.ours) - sizeof size);
}

Status write_text(std::string_view text, char* buffer, size_t capacity, size_t* length) {
  if (length) *length = text.size() + 1;
  if (capacity == 0) {
    if (!buffer && length) return Code::OK;  // a question for the length alone
  } else {
    TW_TRY(require(buffer, "buffer"));
    const size_t part = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), part);
    buffer[part] = '\0';
  }
  if (capacity > text.size()) return Code::OK;
  return fail(Code::ERROR_BUFFER_TOO_SMALL,
              {.argument = "capacity",
               .got = static_cast<int64_t>(capacity),
               .limit = static_cast<int64_t>(text.size() + 1)},
              "the text needs %zu bytes and capacity is %zu", text.size() + 1, capacity);
}

}  // namespace tw::capi
