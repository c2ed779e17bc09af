// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_ERROR_HPP
#define TILEWRIGHT_ERROR_HPP
/// @file error.hpp
/// The exception that a failed call throws, and the helpers of the classes in tilewright.hpp, which
/// includes this file.

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <tilewright/tilewright.h>

// A program may link several copies of the library, each with its own symbol_prefix.h. That header
// names a different inline namespace for each copy, so that the linker does not merge their inline
// functions. Users still write tilewright::.
#ifndef TILEWRIGHT_NAMESPACE
#define TILEWRIGHT_NAMESPACE v0
#endif

namespace tilewright {
inline namespace TILEWRIGHT_NAMESPACE {

/// A failed call. what() is tw_last_error(), or the message of an argument that the classes refuse.
class Error : public std::runtime_error {
 public:
  /// Takes the calling thread's last failure. Construct it right after the call that failed.
  explicit Error(tw_status status) : std::runtime_error(tw_last_error()) {
    (void)tw_error_info_init(&info_, sizeof(info_));
    if (tw_last_error_info(&info_) != TW_OK) info_ = {};
    info_.status = status;
  }
  /// For an argument that the classes refuse themselves; `argument` must be a static string.
  Error(tw_status status, const char* argument, const std::string& message)
      : std::runtime_error(message) {
    (void)tw_error_info_init(&info_, sizeof(info_));
    info_.status = status;
    info_.index = -1;
    info_.argument = argument;
  }
  tw_status status() const noexcept { return info_.status; }
  /// The argument, the rule, the numbers and the driver's result, as far as they apply.
  const tw_error_info& info() const noexcept { return info_; }

 private:
  tw_error_info info_{};
};

/// Throws Error unless the status is TW_OK.
inline void check(tw_status status) {
  if (status != TW_OK) throw Error(status);
}

namespace detail {

/// Owns one handle of the C API.
template <typename T, auto destroy>
class Handle {
 public:
  /// The handle, which this object still owns.
  T* get() const noexcept { return handle_.get(); }

 protected:
  explicit Handle(T* owned) noexcept : handle_(owned) {}

 private:
  struct Destroy {
    void operator()(T* handle) const noexcept { destroy(handle); }
  };
  std::unique_ptr<T, Destroy> handle_;
};

/// The value that a call writes through its last argument.
template <typename T, typename Call, typename... Args>
T result(Call call, Args... args) {
  T out{};
  check(call(args..., &out));
  return out;
}

/// A struct with the defaults of its init function.
template <typename T>
T initialized(tw_status (*init)(T*, size_t)) {
  T out{};
  check(init(&out, sizeof(T)));
  return out;
}

/// The struct that a call fills through its last argument.
template <typename T, typename Call, typename... Args>
T filled(tw_status (*init)(T*, size_t), Call call, Args... args) {
  T out = initialized(init);
  check(call(args..., &out));
  return out;
}

/// The zero-terminated text of a string. A string that contains a zero byte is refused, because the
/// C API would ignore the rest.
inline const char* c_text(const std::string& text, const char* argument) {
  const size_t zero = text.find('\0');
  if (zero == std::string::npos) return text.c_str();
  throw Error(TW_ERROR_INVALID_ARGUMENT, argument,
              std::string(argument) + " has a zero byte at " + std::to_string(zero) + " of its " +
                  std::to_string(text.size()) +
                  " bytes: the library would ignore the rest; pass a text without zero bytes");
}

/// The text of a call that writes to (buffer, capacity, &length). It repeats the call if another
/// thread makes the text longer in the meantime.
template <typename Call, typename T>
std::string text(Call call, const T* handle) {
  std::string out;
  size_t length = 0;
  tw_status status = call(handle, nullptr, 0, &length);
  while (length > out.size() && (status == TW_OK || status == TW_ERROR_BUFFER_TOO_SMALL)) {
    out.resize(length);
    status = call(handle, out.data(), out.size(), &length);
  }
  check(status);
  out.resize(std::strlen(out.c_str()));
  return out;
}

/// The handle that a Device shares with its memory objects. They may be destroyed after the Device,
/// and on other threads.
class OpenDevice {
 public:
  template <typename Call, typename... Args>
  explicit OpenDevice(Call create, Args... args) : handle_(result<tw_device*>(create, args...)) {}
  /// Only the Device calls this; no other thread uses a Device while it is destroyed.
  tw_device* get() const noexcept { return handle_; }
  /// Waits until other threads have finished freeing memory, then closes the device.
  void close() noexcept {
    std::unique_lock lock(mutex_);
    tw_device* const last = std::exchange(handle_, nullptr);
    lock.unlock();
    tw_device_destroy(last);
  }
  template <auto release, typename Address>
  void free(Address address) noexcept {
    const std::shared_lock lock(mutex_);
    if (handle_) (void)release(handle_, address);
  }

 private:
  std::shared_mutex mutex_;
  tw_device* handle_;
};

/// Whether the status of a query says that the work is done.
inline bool done(tw_status status) {
  if (status != TW_ERROR_NOT_READY) check(status);
  return status == TW_OK;
}

}  // namespace detail

}  // namespace TILEWRIGHT_NAMESPACE
}  // namespace tilewright

#endif  // TILEWRIGHT_ERROR_HPP
