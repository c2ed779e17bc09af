// SPDX-License-Identifier: Apache-2.0
#pragma once
// Features that kernels need and devices have, as bit masks. See features.inc and devices.inc.

#include <cstdint>

namespace tw {

using FeatureMask = uint32_t;

namespace feature {
#define TW_FEATURE(name, bit, text) inline constexpr FeatureMask name = 1u << (bit);
#include "base/features.inc"
#undef TW_FEATURE
}  // namespace feature

/// The features of a CUDA device by compute capability; 0 below 9.0. Embedded kernels may be able
/// to use fewer, depending on their compilation targets: see kernels/image/driver_choice.hpp.
FeatureMask features_of(int32_t major, int32_t minor);
/// The name of the lowest feature in the mask; "none" for 0.
const char* feature_name(FeatureMask mask);

}  // namespace tw
