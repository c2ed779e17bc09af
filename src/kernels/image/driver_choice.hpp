// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the driver takes out of an embedded fatbin for a chip, and so which features kernels may use
// there: a chip that has gather4 gets none of it from PTX that was made for another.
//
// Pure functions over the bytes that are embedded; needs neither driver nor toolkit. The rules are
// those of the CUDA C++ Programming Guide 13.0 (compute capabilities, binary and PTX compatibility)
// and of CUDA Compatibility.

#include <cstddef>
#include <cstdint>

#include "base/feature.hpp"
#include "kernels/image/precompiled.hpp"

namespace tw {

/// What a driver looks for code for.
struct ChipCode {
  int32_t major = 0;  ///< compute capability
  int32_t minor = 0;
  bool ptx_alone = false;  ///< CUDA_FORCE_PTX_JIT=1: machine code is passed over
};

struct DriverChoice {
  const Target* target = nullptr;  ///< nullptr: nothing in the fatbin runs there
  /// Whose nvcc made the fatbin, as the version of its PTX tells: 13000 is CUDA 13.0. 0 where it
  /// has no PTX.
  int32_t toolkit = 0;

  /// The oldest driver that loads it, as cuDriverGetVersion numbers it: for machine code any of the
  /// toolkit's major version, for PTX one of the toolkit's own. 0: not known.
  int32_t oldest_driver() const { return !target || target->ptx ? toolkit : toolkit / 1000 * 1000; }
};

/// The oldest driver that loads the fatbin's code for this target, in the same numbers; 0: not
/// known.
int32_t oldest_driver(const void* fatbin, size_t size, const Target& target);

DriverChoice driver_choice(const void* fatbin, size_t size, const ChipCode& chip);

/// What kernels of the table may use on such a chip: the features that every embedded image brings
/// which has code for it; 0 where none has.
FeatureMask embedded_features(const ChipCode& chip);

/// The target that has to be embedded for a kernel that needs a feature to run there as machine
/// code; nullptr where there is none.
const Target* target_for(FeatureMask feature, const ChipCode& chip);

}  // namespace tw
