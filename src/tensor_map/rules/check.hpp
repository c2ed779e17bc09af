// SPDX-License-Identifier: Apache-2.0
#pragma once
// A description held against the rules, all of which are listed in rules.inc.

#include <cstdint>

#include "base/status.hpp"
#include "tensor_map/rules/rules.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

/// What the rules are made of. Not in a manual: kMaxBoxBytes and kMaxAddress.
inline constexpr int64_t kMaxAddress = (int64_t{1} << 57) - 1;
inline constexpr int64_t kMaxDim = int64_t{1} << 32;
inline constexpr int64_t kMaxStride = (int64_t{1} << 40) - 1;
inline constexpr int64_t kMaxBoxDim = 256;
inline constexpr int64_t kMaxPixels = 1024;
inline constexpr int64_t kMaxElementStride = 8;
inline constexpr int64_t kMaxBoxBytes = 228 * 1024;

/// Smallest and largest corner of an im2col map: the fewer dimensions, the more bits each has.
struct CornerRange {
  int32_t min;
  int32_t max;
};
constexpr CornerRange corner_range(int32_t rank) {
  return rank <= 3 ? CornerRange{-32768, 32767}
                   : (rank == 4 ? CornerRange{-128, 127} : CornerRange{-16, 15});
}

/// What addresses and strides must be multiples of.
int64_t global_alignment(const TensorMapDesc& desc);
/// Positions of an im2col map's bounding box along spatial dimension i, as the driver counts them.
int64_t bounding_positions(const TensorMapDesc& desc, int32_t i);

/// Whether devices.inc has the compute capability major * 10 + minor. Rules of a capability that is
/// not listed are those of the chips of 10.0 and later.
bool known_arch(int32_t arch);

/// Lists every rule that the description breaks on the target.
void check_all(const TensorMapDesc& desc, int32_t arch, Violations* out);

/// The failure of a description that breaks rules: the first one, and a description that would be
/// accepted.
Status report(const TensorMapDesc& desc, int32_t arch, const Violations& violations);

/// Holds the description against every rule for a target (compute capability major * 10 + minor);
/// the first broken one is the Status.
Status check(const TensorMapDesc& desc, int32_t arch);

/// Checks the description and writes its descriptor.
Status encode(const TensorMapDesc& desc, int32_t arch, TensorMapBytes* bytes);

}  // namespace tw
