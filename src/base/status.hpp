// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results and their explanations.
//
// A function that can fail returns Status. Whoever detects the fault calls fail() once: it stores
// the explanation in the calling thread's ErrorInfo and returns the code; everybody above passes
// the code on with TW_TRY. Success touches no thread-local state.
//
// Not every failure is one of the caller's call: some are answers, some are of what a destructor
// cannot do. So what the caller is told is kept apart, and only the C API's exit, failing, replaces
// it by the last failure.

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

/// What was wrong. `rule` and `argument` must point to storage that lives for ever (literals).
struct Fault {
  const char* argument = nullptr;  ///< the caller's name of the argument, e.g. "box_dim"
  int32_t index = -1;              ///< which element of it, or -1
  const char* rule = nullptr;      ///< stable id of the broken rule, e.g. "box_dim_limit"
  int64_t got = 0;
  int64_t limit = 0;
  int32_t driver_result = 0;  ///< the CUresult, if a driver call failed
};

/// The calling thread's last failure. Plain data: reading it never allocates.
struct ErrorInfo {
  Code code = Code::OK;
  Fault fault;
  char message[1024] = {};
};

/// Records the failure for the calling thread and returns its code. The message says what was
/// wrong, with the numbers, and what would work; it is cut at 1023 bytes.
[[gnu::format(printf, 3, 4)]] Status fail(Code code, const Fault& fault, const char* format, ...);

/// Adds a clause in front of the last failure's message ("while creating plan: ...").
[[gnu::format(printf, 2, 3)]] Status fail_context(Status status, const char* format, ...);

/// What fail() stored last.
const ErrorInfo& last_error();
void clear_error();
/// Makes the last failure the one that the caller is told.
void tell_error();
const ErrorInfo& told_error();

/// For a scope that runs code of the caller's in the middle of a call: whatever fails there, both
/// are afterwards what they were.
class KeptErrors {
 public:
  KeptErrors();
  ~KeptErrors();
  KeptErrors(const KeptErrors&) = delete;
  KeptErrors& operator=(const KeptErrors&) = delete;

 private:
  const ErrorInfo last_, told_;
};

}  // namespace tw

#define TW_TRY(expression)                                                              \
  do {                                                                                  \
    if (::tw::Status try_status_ = (expression); !try_status_.ok()) return try_status_; \
  } while (0)
