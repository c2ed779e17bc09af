// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the cost model knows of a chip: how fast its parts are.

#include "runtime/device.hpp"

namespace tw {

/// Rates of a chip.
struct GemmRates {
  static constexpr double kFlops = 4096;  ///< of an SM's tensor cores in a clock: m64n256k16 in 128

  double clock = 0;            ///< of the SMs below the power limit, in GHz
  double flops_per_clock = 0;  ///< dense 16-bit, of an SM's tensor cores
  double limit_flops = 0;      ///< of all tensor cores at the power limit, in a nanosecond
  double dram_bytes = 0;       ///< that memory has in a nanosecond at most
  double l2_size = 0;          ///< bytes
};

/// Those of gemm_chips.inc where it has the device's name, whatever part of it the context has; of
/// a slice of such a chip (MIG) its share by SMs. Any other device's are estimated from its clocks.
GemmRates gemm_rates(const DeviceInfo& info);

}  // namespace tw
