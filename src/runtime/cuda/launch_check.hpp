// SPDX-License-Identifier: Apache-2.0
#pragma once
// The limits of a launch, checked by name before the driver, which would say INVALID_VALUE.
// Pure: needs neither driver nor toolkit.

#include <cstdint>

#include "base/status.hpp"
#include "runtime/device.hpp"

namespace tw {

/// Of one kernel on one device.
struct LaunchLimits {
  uint32_t max_threads = 1024;       ///< a block
  uint32_t max_dynamic_smem = 0;     ///< bytes, after the kernel's static share
  uint32_t static_smem = 0;          ///< bytes
  uint32_t max_cluster_blocks = 16;  ///< 8 everywhere; more where the chip has it
};

Status check_launch(const LaunchConfig& config, const LaunchLimits& limits);

}  // namespace tw
