// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the body of every C function: guard(), which lets no exception out, and the checks of
// arguments and structs.
//
// Every body has the same form: guard([&] { clear the outputs; check the arguments and that handles
// are alive; make one call into the library; convert the result }). It does nothing else.
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

/// Makes the last failure the one that tw_last_error() reports, writes it to the log, and returns
/// its status.
tw_status failed(Status status, Log& log);

/// Runs a body and converts exceptions to a status, so that none leaves the library.
template <class Body>
Status contain(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return fail(Code::ERROR_OUT_OF_MEMORY, {}, "host memory is exhausted");
#ifdef __GLIBCXX__
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_cancel and pthread_exit unwind with it; to swallow it would abort the process
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

/// Runs the body of a function on a handle. A failure goes to the log of the handle's device or, if
/// the handle is NULL or destroyed, to the process's log.
template <Handle T, class Body>
tw_status guard(const T* handle, Body&& body) {
  const Status status = contain(std::forward<Body>(body));
  if (status.ok()) return TW_OK;
  return failed(status, handle && handle->value ? handle->device().log() : process_log());
}

/// Refuses a NULL pointer.
Status require(const void* pointer, const char* argument);

/// The failure for a destroyed handle.
Status destroyed(const char* argument, const char* kind);

/// Refuses a handle that is NULL or destroyed.
template <Handle T>
Status require(const T* handle, const char* argument) {
  TW_TRY(require(static_cast<const void*>(handle), argument));
  return handle->value ? Status() : destroyed(argument, T::kKind);
}

/// Refuses a destroyed handle; NULL is allowed.
template <Handle T>
Status require_unless_null(const T* handle, const char* argument) {
  return handle ? require(handle, argument) : Status();
}

/// Refuses a NULL output argument and clears the output, so that it is 0 or NULL after any failure.
/// A body calls this first, before it checks other arguments.
template <class T>
Status clear_output(T* pointer, const char* argument) {
  TW_TRY(require(pointer, argument));
  *pointer = T{};
  return Code::OK;
}

/// As require(), and also refuses a handle whose device is closed, lost or of another process.
template <Handle T>
Status usable(const T* handle, const char* argument) {
  TW_TRY(require(handle, argument));
  return handle->device().check_alive();
}

/// Refuses two different devices, or two handles of different devices. Both handles must have
/// passed usable().
Status same_device(const Device& a, const char* name_a, const Device& b, const char* name_b);
template <class A, class B>
Status same_device(const A* a, const char* name_a, const B* b, const char* name_b) {
  return same_device(a->device(), name_a, b->device(), name_b);
}

/// Refuses a number that is not a TW_LOG_ level.
Status check_log_level(tw_log_level level);

/// Refuses a reserved field that is not 0. `owner` is the name of the struct's argument.
Status check_reserved(const char* owner, const char* field, uint64_t value);

/// Refuses bits of `flags` outside `known`, whose names are in `names`.
Status check_flags(const char* field, uint32_t flags, uint32_t known, const char* names);

/// Identity, sizes and alignment of a public struct.
struct StructType {
  const char* name;  ///< "tw_gemm_desc"
  uint32_t mark;     ///< its struct_mark
  size_t first;      ///< size of the struct's first version
  size_t ours;       ///< size in this library
  size_t alignment;
};

/// The first two fields of every public struct.
struct StructHead {
  uint32_t struct_size;
  uint32_t struct_mark;
};

/// A struct_mark has "TW" in its upper half and the struct's number in its lower half.
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

/// Reads a struct of the caller. `out` holds the defaults of tw_x_desc_init() on entry and the
/// caller's fields on return. Fields that a shorter struct lacks keep their defaults; fields that
/// this library does not know must be zero.
template <class T>
Status read_struct(const T* in, const char* argument, T* out) {
  return read_struct_bytes(in, argument, kStructType<T>, out);
}

/// First step of writing a struct of the caller: checks its head and clears the other fields.
template <class T>
Status clear_output_struct(T* out, const char* argument) {
  return clear_struct_bytes(out, argument, kStructType<T>);
}

/// Checks the heads of the `count` elements of an array before the first one is written, so that a
/// failure leaves the array unchanged. All elements must have the struct_size of the first one,
/// which is also their distance in bytes.
template <class T>
Status check_output_array(const T* out, size_t count, const char* argument) {
  return check_struct_array_bytes(out, count, argument, kStructType<T>);
}

/// Second step: copies as many bytes as the caller's struct has. The head of `value` is ignored.
template <class T>
void write_struct(T* out, const T& value) {
  write_struct_bytes(out, kStructType<T>, &value);
}

/// Fills `size` bytes of the caller's struct with its mark and its defaults, for the tw_x_init
/// functions. The caller's struct may be shorter or longer than this library's.
template <class T>
Status init_struct(T* out, size_t size, const char* argument, const T& defaults = {}) {
  return init_struct_bytes(out, size, argument, kStructType<T>, &defaults);
}

/// Refuses a required field that is TW_UNSET. `name` is the field's name.
Status check_set(const char* name, int64_t value, int32_t index = -1);

/// Refuses an array of extents or strides unless exactly its first `rank` numbers are set.
Status check_dimensions(const char* name, const int64_t (&values)[8], int32_t rank);

/// Sets an array of extents or strides to TW_UNSET.
void unset(int64_t (&values)[8]);

/// Copies a text into the caller's buffer, cut if necessary and always zero-terminated. `length`,
/// if not NULL, receives the bytes of the whole text including its zero.
Status write_text(std::string_view text, char* buffer, size_t capacity, size_t* length);

}  // namespace tw::capi
