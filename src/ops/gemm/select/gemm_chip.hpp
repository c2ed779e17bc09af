// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rates of a chip that the cost model uses.

#include "runtime/device.hpp"

namespace tw {

struct GemmRates {
  /// Dense 16-bit FLOP per clock of a Hopper SM: a wgmma of m64n256k16 takes 128 clocks.
  static constexpr double kFlops = 4096;

  double clock = 0;                    ///< SM clock below the power limit, in GHz
  double flops_per_clock = 0;          ///< dense 16-bit FLOP per SM and clock
  double power_limit_flop_per_ns = 0;  ///< dense 16-bit FLOP of the whole chip
  double dram_bytes_per_ns = 0;        ///< peak memory bandwidth
  double l2_size = 0;                  ///< bytes
};

/// The rates of a chip in gemm_chips.inc are those of the whole chip, even if the context has only
/// some of its SMs. A MIG slice gets a share in proportion to its SMs. The rates of other devices
/// are estimated from their clocks.
GemmRates gemm_rates(const DeviceInfo& info);

}  // namespace tw
