// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every body of the C API shares: the exception wall and the argument rules.
//
// A body has one shape: guard([&] { outputs cleared, arguments checked, handles alive; one call
// into the library; result converted }). Nothing else belongs there.
//
//   tw_status tw_event_query(tw_event* event) {
//     return guard(event, [&]() -> Status {
//       TW_TRY(usable(event, "event"));
//       return event->value->query();
//     });
//   }

#include <cxxabi.h>

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "base/excluded.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "capi/common/handle.hpp"
#include "tilewright.h"

namespace tw::capi {

/// The number of the last failure, which is told to the caller's thread and to the log.
tw_status failed(Status status, Log& log);

/// Runs a body: no exception leaves the library.
template <class Body>
Status contain(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return fail(Code::ERROR_OUT_OF_MEMORY, {}, "host memory is exhausted");
#ifdef __GLIBCXX__
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_cancel and pthread_exit: swallowing their unwinding would abort the process
#endif
  } catch (const std::exception& error) {
    return fail(Code::ERROR_INTERNAL, {}, "unexpected exception: %s", error.what());
  } catch (...) {
    return fail(Code::ERROR_INTERNAL, {}, "unexpected exception of unknown type");
  }
}

/// Runs the body of a function that belongs to no device.
template <class Body>
tw_status guard(Body&& body) {
  const Status status = contain(std::forward<Body>(body));
  return status.ok() ? TW_OK : failed(status, process_log());
}

/// Runs the body of a function on a handle, which may be NULL or destroyed: a failure is reported
/// to the log of the handle's device.
template <Handle T, class Body>
tw_status guard(const T* handle, Body&& body) {
  const Status status = contain(std::forward<Body>(body));
  if (status.ok()) return TW_OK;
  return failed(status, handle && handle->value ? handle->device().log() : process_log());
}

/// A pointer argument that must not be NULL.
Status require(const void* pointer, const char* argument);

/// Refuses a destroyed handle.
Status destroyed(const char* argument, const char* kind);

/// A handle argument that must not be NULL: it has not been destroyed either.
template <Handle T>
Status require(const T* handle, const char* argument) {
  TW_TRY(require(static_cast<const void*>(handle), argument));
  return handle->value ? Status() : destroyed(argument, T::kKind);
}

/// A handle argument that may be NULL.
template <Handle T>
Status require_unless_null(const T* handle, const char* argument) {
  return handle ? require(handle, argument) : Status();
}

/// An output argument: not NULL, and cleared at once so that it is 0 or NULL after any failure.
/// Outputs come first in a body, before other arguments are looked at.
template <class T>
Status output(T* pointer, const char* argument) {
  TW_TRY(require(pointer, argument));
  *pointer = T{};
  return Code::OK;
}

/// A handle argument of a device: as require(), and its device is neither closed, lost nor of
/// another process.
template <Handle T>
Status usable(const T* handle, const char* argument) {
  TW_TRY(require(handle, argument));
  return handle->device().alive();
}

/// Two handles that passed usable() and must belong together.
Status same_device(const Device& a, const char* name_a, const Device& b, const char* name_b);
template <class A, class B>
Status same_device(const A* a, const char* name_a, const B* b, const char* name_b) {
  return same_device(a->device(), name_a, b->device(), name_b);
}

/// One of the TW_LOG_ levels.
Status check_log_level(tw_log_level level);

/// A field that is kept for later versions must be 0. `owner` is the struct's argument.
Status check_reserved(const char* owner, const char* field, uint64_t value);

/// No bit of `flags` outside `known`, whose names are in `names`.
Status check_flags(const char* field, uint32_t flags, uint32_t known, const char* names);

/// What the functions below must know of a public struct.
struct StructType {
  const char* name;  ///< "tw_gemm_desc"
  uint32_t mark;     ///< its struct_mark
  size_t first;      ///< size in the API's first version
  size_t ours;       ///< size in this library
  size_t alignment;
};

/// The first two fields of every public struct.
struct StructHead {
  uint32_t struct_size;
  uint32_t struct_mark;
};

/// "TW" in the upper half, the struct's number in the lower.
inline constexpr uint32_t kStructMark = 0x54570000;

/// Undefined for a type that structs.inc does not list.
template <class T>
extern const StructType kStructType;
#define TW_STRUCT(type, number, last)                                                   \
  template <>                                                                           \
  inline constexpr StructType kStructType<type>{                                        \
      #type, kStructMark + number,                                                      \
      (offsetof(type, last) + sizeof(type::last) + alignof(type) - 1) / alignof(type) * \
          alignof(type),                                                                \
      sizeof(type), alignof(type)};
#include "capi/common/structs.inc"
#undef TW_STRUCT

Status read_struct_bytes(const void* in, const char* argument, const StructType& type, void* out);
Status clear_struct_bytes(void* out, const char* argument, const StructType& type);
Status check_struct_array_bytes(const void* out, size_t count, const char* argument,
                                const StructType& type);
void write_struct_bytes(void* out, const StructType& type, const void* value);
Status init_struct_bytes(void* out, size_t size, const char* argument, const StructType& type,
                         const void* defaults);

/// A description that comes in. `out` holds the defaults on entry (from tw_x_desc_init) and the
/// caller's fields on return: what a shorter struct lacks keeps its default, a longer struct may
/// bring zeros alone in what this library does not know.
template <class T>
Status read_struct(const T* in, const char* argument, T* out) {
  return read_struct_bytes(in, argument, kStructType<T>, out);
}

/// An information struct that goes out, first step: checks its head and clears the rest.
template <class T>
Status output_struct(T* out, const char* argument) {
  return clear_struct_bytes(out, argument, kStructType<T>);
}

/// An array of such structs, before the first step with its first element: looks at the heads of
/// the `count` that are about to be written and touches nothing, so that a failure leaves the
/// array as it was. They lie as far apart as the first one's says, which all must have.
template <class T>
Status check_output_array(const T* out, size_t count, const char* argument) {
  return check_struct_array_bytes(out, count, argument, kStructType<T>);
}

/// Second step: copies as many bytes as the caller has room for. The head of `value` is ignored.
template <class T>
void write_struct(T* out, const T& value) {
  write_struct_bytes(out, kStructType<T>, &value);
}

/// Fills `size` bytes of a struct with its mark and its defaults, for the tw_x_init functions: of
/// the caller's struct, which may be shorter or longer than this library's.
template <class T>
Status init_struct(T* out, size_t size, const char* argument, const T& defaults = {}) {
  return init_struct_bytes(out, size, argument, kStructType<T>, &defaults);
}

/// A size that the caller must set. `name` is the field's.
Status check_set(const char* name, int64_t value, int32_t index = -1);

/// The first `rank` numbers of an array of extents or strides are set, and the others are not.
Status check_dimensions(const char* name, const int64_t (&values)[8], int32_t rank);

/// Sets an array of extents or strides to TW_UNSET.
void unset(int64_t (&values)[8]);

/// A text that goes into the caller's buffer, cut but always terminated. `length`, where not NULL,
/// becomes the bytes that the whole text needs with its zero.
Status write_text(std::string_view text, char* buffer, size_t capacity, size_t* length);

}  // namespace tw::capi
