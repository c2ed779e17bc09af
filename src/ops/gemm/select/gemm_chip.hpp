// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the cost model knows of a chip: how fast its parts are.

#include "runtime/device.hpp"

namespace tw {

/// Rates of a chip. gemm_chips.inc has a line for each chip that is known.
struct GemmRates {
  static constexpr double kFlops = 4096;  ///< of an SM's tensor cores in a clock: m64n256k16 in 128
  double clock = 0;                       ///< of the SMs below the power limit, in GHz
  double flops_per_clock = 0;             ///< dense 16-bit, of an SM's tensor cores
  double limit_flops = 0;  ///< of all tensor cores at the power limit, in a nanosecond
  double dram_bytes = 0;   ///< that memory delivers in a nanosecond
  double l2_bytes = 0;     ///< that the L2 delivers in a nanosecond
  double l2_size = 0;      ///< bytes
};

/// The rates of gemm_chips.inc where it has the device's name; a part of the chip (MIG) has its
/// share by SMs. Any other device counts as a part or a multiple of an H100.
GemmRates gemm_rates(const DeviceInfo& info);

}  // namespace tw
