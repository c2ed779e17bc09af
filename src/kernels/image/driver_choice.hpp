// SPDX-License-Identifier: Apache-2.0
#pragma once
// Predicts which code the driver loads from an embedded fatbin for a chip, and so which features
// kernels may use there. For example, a chip with gather4 cannot use it in PTX of compute_90.
//
// Pure functions over the embedded bytes, without driver or toolkit. The rules are those of the
// CUDA C++ Programming Guide 13.0 (compute capabilities, binary and PTX compatibility) and of CUDA
// Compatibility.

#include <cstddef>
#include <cstdint>

#include "base/feature.hpp"
#include "kernels/image/precompiled.hpp"

namespace tw {

struct ChipCode {
  int32_t major = 0;  ///< compute capability
  int32_t minor = 0;
  bool ptx_only = false;  ///< CUDA_FORCE_PTX_JIT=1: the driver ignores machine code
};

struct DriverChoice {
  const Target* target = nullptr;  ///< nullptr: nothing in the fatbin runs on the chip
  /// CUDA version of the nvcc that made the fatbin, derived from its PTX version: 13000 is CUDA
  /// 13.0. 0 if the fatbin has no PTX.
  int32_t toolkit = 0;

  /// The oldest driver that loads the target, in cuDriverGetVersion's numbers: for machine code any
  /// driver of the toolkit's major version, for PTX one of the toolkit's version. 0: not known.
  int32_t oldest_driver() const { return !target || target->ptx ? toolkit : toolkit / 1000 * 1000; }
};

/// DriverChoice::oldest_driver() for a given target of the fatbin.
int32_t oldest_driver(const void* fatbin, size_t size, const Target& target);

DriverChoice driver_choice(const void* fatbin, size_t size, const ChipCode& chip);

/// The features that kernels may use on a chip: those common to the code that the driver selects
/// from each embedded image. Images without code for the chip do not count. 0 if none has any.
FeatureMask embedded_features(const ChipCode& chip);

/// The machine-code target with a feature that runs on a chip, whether this build embeds it or not;
/// nullptr if there is none.
const Target* target_for(FeatureMask feature, const ChipCode& chip);

}  // namespace tw
