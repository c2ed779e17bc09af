// SPDX-License-Identifier: Apache-2.0
// Init functions of the structs that the library fills: all zeros behind their heads.
#include "capi/common/boundary.hpp"

using namespace tw::capi;

#define TW_FILLED(type, argument)                                         \
  tw_status type##_init(type* argument, size_t size) {                    \
    return guard([&] { return init_struct(argument, size, #argument); }); \
  }
TW_FILLED(tw_error_info, info)
TW_FILLED(tw_device_info, info)
TW_FILLED(tw_rule_violation, violation)
TW_FILLED(tw_kernel_info, info)
TW_FILLED(tw_plan_info, info)
TW_FILLED(tw_gemm_candidate, candidate)
TW_FILLED(tw_kernel_entry, entry)
#undef TW_FILLED
