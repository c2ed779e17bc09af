// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a launch configuration so that a failure names the argument; the driver would only return
// INVALID_VALUE. Needs neither driver nor toolkit.

#include <cstdint>

#include "base/status.hpp"
#include "runtime/device.hpp"

namespace tw {

/// Limits of one kernel on one device.
struct LaunchLimits {
  uint32_t max_threads = 1024;       ///< per block
  uint32_t max_dynamic_smem = 0;     ///< bytes; the chip's maximum minus static_smem
  uint32_t static_smem = 0;          ///< bytes
  uint32_t max_cluster_blocks = 16;  ///< 8, or 16 with the non-portable attribute
};

Status check_launch(const LaunchConfig& config, const LaunchLimits& limits);

}  // namespace tw
