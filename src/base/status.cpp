// SPDX-License-Identifier: Apache-2.0
#include "base/status.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace tw {
namespace {

// What last_failure() and published_error() return in this thread.
constinit thread_local ErrorInfo t_last_failure, t_published_error;

}  // namespace

const char* code_name(int32_t code) {
  switch (static_cast<Code>(code)) {
#define TW_STATUS(name, value, text) \
  case Code::name:                   \
    return #name;
#include "base/status.inc"
#undef TW_STATUS
  }
  return nullptr;
}

const char* code_text(int32_t code) {
  switch (static_cast<Code>(code)) {
#define TW_STATUS(name, value, text) \
  case Code::name:                   \
    return text;
#include "base/status.inc"
#undef TW_STATUS
  }
  return nullptr;
}

Status fail(Code code, const Fault& fault, const char* format, ...) {
  ErrorInfo& info = t_last_failure;
  info.code = code;
  info.fault = fault;
  va_list args;
  va_start(args, format);
  std::vsnprintf(info.message, sizeof info.message, format, args);
  va_end(args);
  return code;
}

Status fail_context(Status status, const char* format, ...) {
  if (status.ok()) return status;
  ErrorInfo& info = t_last_failure;
  char prefix[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(prefix, sizeof prefix, format, args);
  va_end(args);
  char old_message[sizeof info.message];
  std::memcpy(old_message, info.message, sizeof old_message);
  const int written = std::snprintf(info.message, sizeof info.message, "%s: ", prefix);
  const size_t used = written < 0 ? 0 : static_cast<size_t>(written);
  // The end of the old message is cut off if it does not fit behind the prefix.
  const size_t kept = std::min(std::strlen(old_message), sizeof info.message - used - 1);
  std::memcpy(info.message + used, old_message, kept);
  info.message[used + kept] = '\0';
  return status;
}

const ErrorInfo& last_failure() {
  return t_last_failure;
}

void clear_failure() {
  t_last_failure.code = Code::OK;
  t_last_failure.fault = Fault{};
  t_last_failure.message[0] = '\0';
}

// tw_last_error() reports a copy, because later failures inside the library may be harmless.
void publish_error() {
  t_published_error = t_last_failure;
}

const ErrorInfo& published_error() {
  return t_published_error;
}

RestoreErrors::RestoreErrors() : last_(t_last_failure), published_(t_published_error) {}

RestoreErrors::~RestoreErrors() {
  t_last_failure = last_;
  t_published_error = published_;
}

}  // namespace tw
