// SPDX-License-Identifier: Apache-2.0
#include "base/excluded.hpp"

#include <string>

namespace tw {

Status check_excluded(bool allowed, const char* name, int64_t value, const char* because,
                      int32_t index) {
  if (allowed) return Code::OK;
  const std::string field = index < 0 ? name : name + ("[" + std::to_string(index) + "]");
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = name, .index = index, .rule = "excluded", .got = value},
              "%s is %lld, but %s: leave it as the init function sets it", field.c_str(),
              static_cast<long long>(value), because);
}

Status check_null_address(const char* name, uint64_t address, const char* because) {
  if (address == 0) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = name, .rule = "excluded", .got = static_cast<int64_t>(address)},
              "%s is 0x%llx, but %s: leave it 0, or describe it when the plan is made", name,
              static_cast<unsigned long long>(address), because);
}

}  // namespace tw
