// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a tensor map's description against the rules of rules.inc.

#include <cstdint>

#include "base/status.hpp"
#include "tensor_map/rules/rules.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Limits in the rules. NVIDIA documents neither kMaxBoxBytes nor kMaxAddress.
inline constexpr int64_t kMaxAddress = (int64_t{1} << 57) - 1;
inline constexpr int64_t kMaxDim = int64_t{1} << 32;
inline constexpr int64_t kMaxStride = (int64_t{1} << 40) - 1;
inline constexpr int64_t kMaxBoxDim = 256;
inline constexpr int64_t kMaxPixels = 1024;
inline constexpr int64_t kMaxElementStride = 8;
inline constexpr int64_t kMaxBoxBytes = 228 * 1024;

/// The range of an im2col map's corners. The descriptor has fewer bits per corner at higher rank.
struct CornerRange {
  int32_t min;
  int32_t max;
};
constexpr CornerRange corner_range(int32_t rank) {
  return rank <= 3 ? CornerRange{-32768, 32767}
                   : (rank == 4 ? CornerRange{-128, 127} : CornerRange{-16, 15});
}

/// Required alignment of the global address and strides, in bytes.
int64_t global_alignment(const TensorMapDesc& desc);
/// Extent of an im2col map's bounding box along spatial dimension i, as the driver computes it.
int64_t bounding_positions(const TensorMapDesc& desc, int32_t i);

/// Whether devices.inc lists the compute capability major * 10 + minor. The checks below accept any
/// other, too: from 100 on they apply the rules of 10.0.
bool known_arch(int32_t arch);

/// Lists every rule that the description breaks on a compute capability, major * 10 + minor.
void check_all(const TensorMapDesc& desc, int32_t arch, Violations* out);

/// Fails with the first broken rule and a proposal for a description that would be accepted.
Status report(const TensorMapDesc& desc, int32_t arch, const Violations& violations);

/// Combines check_all() and report().
Status check(const TensorMapDesc& desc, int32_t arch);

/// Checks and encodes the description. Fails if can_encode() is false.
Status encode(const TensorMapDesc& desc, int32_t arch, TensorMapBytes* bytes);

}  // namespace tw
