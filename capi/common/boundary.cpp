// SPDX-License-Identifier: Apache-2.0
#include "capi/common/boundary.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/log.hpp"

namespace tw::capi {
namespace {

// Every public struct is far smaller than this. A larger struct_size was read from uninitialized
// memory, and a library that believed it would read out of bounds.
constexpr uint32_t kMaxStructSize = 4096;

StructHead head_of(const void* value) {
  StructHead head{};
  std::memcpy(&head, value, sizeof head);
  return head;
}

bool is_valid_size(size_t size, const StructType& type) {
  return size >= type.first && size <= kMaxStructSize && size % type.alignment == 0;
}

// The name of the struct that a mark belongs to, or nullptr.
const char* type_name_of_mark(uint32_t mark) {
#define TW_STRUCT(type, number, last) \
  if (mark == kStructMark + number) return #type;
#include "capi/common/structs.inc"
#undef TW_STRUCT
  return nullptr;
}

Status check_head(const StructHead& head, const char* argument, const StructType& type,
                  int32_t index = -1) {
  const Fault details{.argument = argument,
                      .index = index,
                      .got = head.struct_size,
                      .limit = static_cast<int64_t>(type.first)};
  if (head.struct_mark != type.mark) {
    if (const char* other = type_name_of_mark(head.struct_mark))
      return fail(Code::ERROR_STRUCT, details, "%s was initialized as a %s: call %s_init(%s, %zu)",
                  argument, other, type.name, argument, type.ours);
    return fail(Code::ERROR_STRUCT, details,
                "%s was not initialized: call %s_init(%s, %zu) before you set its fields", argument,
                type.name, argument, type.ours);
  }
  if (!is_valid_size(head.struct_size, type))
    return fail(Code::ERROR_STRUCT, details,
                "%s->struct_size is %u, which is not the size of any version of %s: the first "
                "version has %zu bytes, this library's has %zu; %s_init sets it",
                argument, head.struct_size, type.name, type.first, type.ours, type.name);
  return Code::OK;
}

}  // namespace

tw_status failed(Status status, Log& log) {
  publish_error();
  // NOT_READY is an ordinary answer, and a program that polls would fill its log with it.
  if (status.code() != Code::ERROR_NOT_READY && log.enabled(LogLevel::debug)) {
    log.write(LogLevel::debug, "TW_%s: %s", code_name(static_cast<int32_t>(status.code())),
              last_failure().message);
  }
  return static_cast<tw_status>(status.code());
}

Status require(const void* pointer, const char* argument) {
  if (pointer) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument}, "%s is NULL", argument);
}

Status destroyed(const char* argument, const char* kind) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument, .rule = "handle_destroyed"},
              "%s was destroyed with tw_%s_destroy() and can no longer be used: make another one",
              argument, kind);
}

Status check_log_level(tw_log_level level) {
  if (level >= TW_LOG_ERROR && level <= TW_LOG_DEBUG) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "level", .got = level, .limit = TW_LOG_DEBUG},
              "level %d is not a log level: TW_LOG_ERROR (1) to TW_LOG_DEBUG (4)", level);
}

Status check_reserved(const char* owner, const char* field, uint64_t value) {
  if (value == 0) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = field, .rule = "reserved_zero", .got = static_cast<int64_t>(value)},
              "%s->%s is %llu: this field is reserved and must be 0", owner, field,
              static_cast<unsigned long long>(value));
}

Status check_flags(const char* field, uint32_t flags, uint32_t known, const char* names) {
  if ((flags & ~known) == 0) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = field, .rule = "flag_bits", .got = flags, .limit = known},
              "%s is 0x%x, which has unknown bits 0x%x: the known bits are %s", field, flags,
              flags & ~known, names);
}

Status same_device(const Device& a, const char* name_a, const Device& b, const char* name_b) {
  if (&a == &b) return Code::OK;
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = name_b},
              "%s belongs to device \"%s\" %d, and %s to device \"%s\" %d%s: both must be made "
              "from the same device handle",
              name_a, a.info().name.c_str(), a.info().ordinal, name_b, b.info().name.c_str(),
              b.info().ordinal,
              a.info().kind == b.info().kind && a.info().ordinal == b.info().ordinal
                  ? ", opened twice"
                  : "");
}

Status init_struct_bytes(void* out, size_t size, const char* argument, const StructType& type,
                         const void* defaults) {
  TW_TRY(require(out, argument));
  if (!is_valid_size(size, type))
    return fail(Code::ERROR_STRUCT,
                {.argument = "size",
                 .got = static_cast<int64_t>(size),
                 .limit = static_cast<int64_t>(type.first)},
                "size is %zu, which is not the size of any version of %s: the first version has "
                "%zu bytes, this library's has %zu; pass the size of the struct, not of a pointer",
                size, type.name, type.first, type.ours);
  std::memset(out, 0, size);
  std::memcpy(out, defaults, std::min(size, type.ours));
  const StructHead head{.struct_size = static_cast<uint32_t>(size), .struct_mark = type.mark};
  std::memcpy(out, &head, sizeof head);
  return Code::OK;
}

Status read_struct_bytes(const void* in, const char* argument, const StructType& type, void* out) {
  TW_TRY(require(in, argument));
  StructHead head = head_of(in);
  TW_TRY(check_head(head, argument, type));
  const auto* bytes = static_cast<const unsigned char*>(in);
  for (size_t i = type.ours; i < head.struct_size; ++i)
    if (bytes[i] != 0)
      return fail(
          Code::ERROR_STRUCT,
          {.argument = argument, .got = head.struct_size, .limit = static_cast<int64_t>(type.ours)},
          "%s sets a field at byte %zu, but this library's %s has only %zu bytes: leave the field "
          "zero or use a newer library",
          argument, i, type.name, type.ours);
  std::memcpy(out, in, std::min<size_t>(head.struct_size, type.ours));
  head.struct_size = static_cast<uint32_t>(type.ours);
  std::memcpy(out, &head, sizeof head);
  return Code::OK;
}

Status clear_struct_bytes(void* out, const char* argument, const StructType& type) {
  TW_TRY(require(out, argument));
  const StructHead head = head_of(out);
  TW_TRY(check_head(head, argument, type));
  std::memset(static_cast<unsigned char*>(out) + sizeof head, 0, head.struct_size - sizeof head);
  return Code::OK;
}

Status check_struct_array_bytes(const void* out, size_t count, const char* argument,
                                const StructType& type) {
  if (count == 0) return Code::OK;
  TW_TRY(require(out, argument));
  const uint32_t first = head_of(out).struct_size;
  TW_TRY(check_head(head_of(out), argument, type, 0));
  const auto* at = static_cast<const unsigned char*>(out);
  for (size_t i = 1; i < count; ++i) {
    const StructHead head = head_of(at += first);
    TW_TRY(check_head(head, argument, type, static_cast<int32_t>(i)));
    if (head.struct_size != first)
      return fail(Code::ERROR_STRUCT,
                  {.argument = argument,
                   .index = static_cast<int32_t>(i),
                   .got = head.struct_size,
                   .limit = first},
                  "%s[%zu].struct_size is %u and %s[0]'s is %u: all elements of an array have the "
                  "same size",
                  argument, i, head.struct_size, argument, first);
  }
  return Code::OK;
}

void write_struct_bytes(void* out, const StructType& type, const void* value) {
  const StructHead head = head_of(out);
  std::memcpy(static_cast<unsigned char*>(out) + sizeof head,
              static_cast<const unsigned char*>(value) + sizeof head,
              std::min<size_t>(head.struct_size, type.ours) - sizeof head);
}

void unset(int64_t (&values)[8]) {
  for (int64_t& value : values) value = TW_UNSET;
}

Status check_set(const char* name, int64_t value, int32_t index) {
  if (value != TW_UNSET) return Code::OK;
  const std::string field = index < 0 ? name : name + ("[" + std::to_string(index) + "]");
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = name, .index = index, .rule = "required", .got = value},
              "%s is required but not set (0 makes an empty operation)", field.c_str());
}

Status check_dimensions(const char* name, const int64_t (&values)[8], int32_t rank) {
  if (rank < 1 || rank > 8) return Code::OK;  // the operation refuses such a rank
  for (int32_t i = 0; i < rank; ++i) TW_TRY(check_set(name, values[i], i));
  for (int32_t i = rank; i < 8; ++i)
    if (values[i] != TW_UNSET)
      return check_excluded(/*allowed=*/false, name, values[i],
                            ("rank is " + std::to_string(rank)).c_str(), i);
  return Code::OK;
}

Status write_text(std::string_view text, char* buffer, size_t capacity, size_t* length) {
  if (length) *length = text.size() + 1;
  if (capacity == 0) {
    if (!buffer && length) return Code::OK;  // the caller asks only for the length
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

using namespace tw::capi;

// Init functions of the structs that the library fills: everything after the head is zero.
#define TW_INIT_OUTPUT_STRUCT(type, argument)                             \
  tw_status type##_init(type* argument, size_t size) {                    \
    return guard([&] { return init_struct(argument, size, #argument); }); \
  }
TW_INIT_OUTPUT_STRUCT(tw_error_info, info)
TW_INIT_OUTPUT_STRUCT(tw_device_info, info)
TW_INIT_OUTPUT_STRUCT(tw_rule_violation, violation)
TW_INIT_OUTPUT_STRUCT(tw_kernel_info, info)
TW_INIT_OUTPUT_STRUCT(tw_plan_info, info)
TW_INIT_OUTPUT_STRUCT(tw_gemm_candidate, candidate)
TW_INIT_OUTPUT_STRUCT(tw_embedded_kernel, entry)
#undef TW_INIT_OUTPUT_STRUCT
