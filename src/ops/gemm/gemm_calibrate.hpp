// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calibration: measures a chip's rates for the cost model.

#include "ops/gemm/select/gemm_tuning.hpp"

namespace tw {

/// Bytes of scratch memory that calibration needs: three matrices of 8192 x 8192 in 16 bits.
inline constexpr uint64_t kGemmCalibrationBytes = uint64_t{3} * 8192 * 8192 * 2;

/// Measures two products in the scratch memory: one of few rows, whose weights do not fit in the
/// L2, and a large one, repeated until the chip has reached its power limit. Then finds the memory
/// bandwidth and the rate at the power limit with which the cost model predicts these two times,
/// and adds them to `out`. Takes about a second, and synchronizes the stream.
Status calibrate_gemm(const std::shared_ptr<Device>& device, Stream& stream, uint64_t scratch,
                      uint64_t scratch_bytes, GemmTuning* out);

}  // namespace tw
