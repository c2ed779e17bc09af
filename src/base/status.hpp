// SPDX-License-Identifier: Apache-2.0
#pragma once
// Status codes and error messages.
//
// A function that can fail returns Status. The function that detects the fault calls fail() once,
// which stores the explanation in the calling thread's ErrorInfo and returns the Code. Callers pass
// the Code on with TW_TRY. Success touches no thread-local state.
//
// Not every failure reaches the user: some calls only probe whether something is possible, others
// fail in a destructor. So the error that tw_last_error() reports is separate (published_error()).
// Only a failing C API function replaces it by the last failure, through publish_error().

#include <cstdint>

namespace tw {

enum class Code : int32_t {
#define TW_STATUS(name, value, text) name = value,
#include "base/status.inc"
#undef TW_STATUS
};

/// "OK", "ERROR_NO_DRIVER", ...; nullptr for a number that is no code.
const char* code_name(int32_t code);
/// The sentence of status.inc; nullptr for a number that is no code.
const char* code_text(int32_t code);

class [[nodiscard]] Status {
 public:
  constexpr Status(Code code = Code::OK) : code_(code) {}
  constexpr bool ok() const { return code_ == Code::OK; }
  constexpr Code code() const { return code_; }

 private:
  Code code_;
};

/// The machine-readable part of an error. `rule` and `argument` must be literals.
struct Fault {
  const char* argument = nullptr;  ///< the caller's name of the argument, e.g. "box_dim"
  int32_t index = -1;              ///< the element of an array argument, or -1
  const char* rule = nullptr;      ///< stable id of the broken rule, e.g. "box_dim_limit"
  int64_t got = 0;
  int64_t limit = 0;
  int32_t driver_result = 0;  ///< the CUresult, if a driver call failed
};

struct ErrorInfo {
  Code code = Code::OK;
  Fault fault;
  char message[1024] = {};
};

/// Records a failure for the calling thread and returns its code. The message should say what was
/// wrong, with the numbers, and what would work. It is cut at 1023 bytes.
[[gnu::format(printf, 3, 4)]] Status fail(Code code, const Fault& fault, const char* format, ...);

/// Prepends "FORMAT: " to the last failure's message. Does nothing if `status` is OK. Returns it.
[[gnu::format(printf, 2, 3)]] Status fail_context(Status status, const char* format, ...);

/// What the calling thread's last fail() stored. tw_last_error() reports published_error() instead.
const ErrorInfo& last_failure();
void clear_failure();
/// Makes the last failure the one that tw_last_error() reports.
void publish_error();
const ErrorInfo& published_error();

/// Restores last_failure() and published_error() at the end of a scope. For probes whose failure is
/// an expected result, and around callbacks into the user's code.
class RestoreErrors {
 public:
  RestoreErrors();
  ~RestoreErrors();
  RestoreErrors(const RestoreErrors&) = delete;
  RestoreErrors& operator=(const RestoreErrors&) = delete;

 private:
  const ErrorInfo last_, published_;  // the results of last_failure() and published_error()
};

}  // namespace tw

#define TW_TRY(expression)                                                              \
  do {                                                                                  \
    if (::tw::Status try_status_ = (expression); !try_status_.ok()) return try_status_; \
  } while (0)
