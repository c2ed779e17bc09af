// SPDX-License-Identifier: Apache-2.0
#include "base/feature.hpp"

namespace tw {

FeatureMask features_of(int32_t major, int32_t minor) {
  using namespace feature;
#define TW_CAPABILITY(cap_major, cap_minor, mask, text) \
  if (major == (cap_major) && minor == (cap_minor)) return (mask);
#include "base/devices.inc"
#undef TW_CAPABILITY
  return major >= 9 ? tma | mma : 0;
}

const char* feature_name(FeatureMask mask) {
#define TW_FEATURE(name, bit, text) \
  if (mask & (1u << (bit))) return #name;
#include "base/features.inc"
#undef TW_FEATURE
  return "none";
}

}  // namespace tw
