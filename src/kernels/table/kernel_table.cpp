// SPDX-License-Identifier: Apache-2.0
#include "kernels/table/kernel_table.hpp"

namespace tw {

KernelEntries kernel_entries(Family family) {
  switch (family) {
#define TW_FAMILY(name, value) \
  case Family::name:           \
    return name##_entries();
#include "kernels/families.inc"
#undef TW_FAMILY
  }
  return {nullptr, nullptr};
}

const char* family_name(Family family) {
  switch (family) {
#define TW_FAMILY(name, value) \
  case Family::name:           \
    return #name;
#include "kernels/families.inc"
#undef TW_FAMILY
  }
  return "?";
}

}  // namespace tw
