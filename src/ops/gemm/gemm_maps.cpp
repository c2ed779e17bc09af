// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_maps.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/common/maps.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

Status encode_gemm_map(Device& device, DType type, int64_t contiguous, int64_t lines,
                       int64_t leading, const GemmSlab& box, int32_t rank, MapMatrices matrices,
                       KernelMap* out) {
  const int32_t bytes = dtype_bytes(type);
  TensorMapDesc desc;
  desc.dtype = type;
  desc.rank = rank;
  desc.swizzle = !box.swizzled                                              ? Swizzle::none
                 : box.contiguous * static_cast<u32>(bytes) < kSwizzleBytes ? Swizzle::b64
                                                                            : Swizzle::b128;
  // Promotion to 256 bytes costs up to 20 % of the time if pitches are not multiples of 128 bytes,
  // and gains nothing otherwise.
  desc.l2_promotion = L2Promotion::b128;
  // An empty operand is never read, but its map must be valid.
  desc.global_dim[0] = static_cast<uint64_t>(std::max<int64_t>(contiguous, 1));
  desc.global_dim[1] = static_cast<uint64_t>(std::max<int64_t>(lines, 1));
  desc.global_stride_bytes[0] =
      static_cast<uint64_t>(round_up(std::max<int64_t>(leading, 1) * bytes, kMapAlignment));
  desc.global_dim[2] = static_cast<uint64_t>(std::max<int64_t>(matrices.count, 1));
  desc.global_stride_bytes[1] = matrices.count > 1 ? static_cast<uint64_t>(matrices.stride * bytes)
                                                   : desc.global_stride_bytes[0];
  desc.box_dim[0] = box.contiguous;
  desc.box_dim[1] = box.lines;
  desc.box_dim[2] = 1;
  return encode_map(device, desc, out);
}

}  // namespace tw
