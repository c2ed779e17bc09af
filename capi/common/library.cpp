// SPDX-License-Identifier: Apache-2.0
// C API: version, status, errors, log, element types.
#include "base/dtype.hpp"
#include "base/feature.hpp"
#include "base/log.hpp"
#include "capi/common/boundary.hpp"

using namespace tw;        // NOLINT: every body of this folder uses names of both APIs
using namespace tw::capi;  // NOLINT

// The C header repeats the numbers of these tables; check that they agree.
#define TW_STATUS(name, value, text) static_assert(TW_##name == (value));
#include "base/status.inc"
#undef TW_STATUS
#define TW_DTYPE(name, value, bits, map_type, text) static_assert(TW_DTYPE_##name == (value));
#include "base/dtypes.inc"
#undef TW_DTYPE
static_assert(TW_FEATURE_HOST == feature::host && TW_FEATURE_TMA == feature::tma &&
              TW_FEATURE_MMA == feature::mma && TW_FEATURE_WGMMA == feature::wgmma &&
              TW_FEATURE_GATHER4 == feature::gather4 && TW_FEATURE_SCATTER4 == feature::scatter4 &&
              TW_FEATURE_TCGEN05 == feature::tcgen05);
static_assert(TW_LOG_ERROR == static_cast<int32_t>(LogLevel::error) &&
              TW_LOG_WARNING == static_cast<int32_t>(LogLevel::warning) &&
              TW_LOG_INFO == static_cast<int32_t>(LogLevel::info) &&
              TW_LOG_DEBUG == static_cast<int32_t>(LogLevel::debug));

#define TW_TEXT_(x) #x
#define TW_TEXT(x) TW_TEXT_(x)

uint32_t tw_version(void) {
  return TW_VERSION_MAJOR * 10000 + TW_VERSION_MINOR * 100 + TW_VERSION_PATCH;
}

const char* tw_version_string(void) {
  return TW_TEXT(TW_VERSION_MAJOR) "." TW_TEXT(TW_VERSION_MINOR) "." TW_TEXT(TW_VERSION_PATCH);
}

const char* tw_status_name(tw_status status) {
  switch (status) {
#define TW_STATUS(name, value, text) \
  case value:                        \
    return "TW_" #name;
#include "base/status.inc"
#undef TW_STATUS
  }
  return "TW_ERROR_?";
}

const char* tw_status_text(tw_status status) {
  const char* text = code_text(status);
  return text ? text : "no status of this library";
}

const char* tw_last_error(void) {
  return published_error().message;
}

tw_status tw_last_error_info(tw_error_info* info) {
  // Read before guard(): a failure inside would replace the error that the caller asked for.
  const ErrorInfo& error = published_error();
  const tw_error_info value = {.status = static_cast<tw_status>(error.code),
                               .driver_result = error.fault.driver_result,
                               .index = error.fault.index,
                               .argument = error.fault.argument,
                               .rule = error.fault.rule,
                               .got = error.fault.got,
                               .limit = error.fault.limit};
  return guard([&]() -> Status {
    TW_TRY(clear_output_struct(info, "info"));
    write_struct(info, value);
    return Code::OK;
  });
}

tw_status tw_log_set(tw_log_callback callback, void* user, tw_log_level level) {
  return guard([&]() -> Status {
    TW_TRY(check_log_level(level));
    process_log().set(callback, user, static_cast<LogLevel>(level));
    return Code::OK;
  });
}

int32_t tw_dtype_size(tw_dtype dtype) {
  return dtype_bytes(static_cast<DType>(dtype));
}

const char* tw_dtype_name(tw_dtype dtype) {
  return dtype_name(static_cast<DType>(dtype));
}
