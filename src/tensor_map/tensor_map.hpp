// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor map describes a tensor to the TMA: as fields (TensorMapDesc) and as the 128-byte
// descriptor that the TMA reads (TensorMapBytes).
//
// Fields have the names and order of cuTensorMapEncodeTiled's and cuTensorMapEncodeIm2col's
// arguments: innermost dimension first, strides in bytes. Enumerations have cuda.h's numbers.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"

namespace tw {

enum class MapKind : int32_t { tiled = 0, im2col = 1, im2col_wide = 2 };
enum class Interleave : int32_t { none = 0, b16 = 1, b32 = 2 };
enum class Swizzle : int32_t {
  none = 0,
  b32 = 1,
  b64 = 2,
  b128 = 3,
  b128_atom_32b = 4,
  b128_atom_32b_flip_8b = 5,
  b128_atom_64b = 6
};
enum class L2Promotion : int32_t { none = 0, b64 = 1, b128 = 2, b256 = 3 };
enum class OobFill : int32_t { zero = 0, nan = 1 };

struct TensorMapDesc {
  DType dtype = DType::BF16;
  int32_t rank = 2;
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  L2Promotion l2_promotion = L2Promotion::none;
  OobFill oob_fill = OobFill::zero;
  uint64_t global_address = 0;
  uint64_t global_dim[5] = {};
  uint64_t global_stride_bytes[5] = {};  // [i] is the pitch of dimension i + 1; [4] is unused
  uint32_t box_dim[5] = {};              // only for tiled maps
  uint32_t element_strides[5] = {1, 1, 1, 1, 1};

  MapKind kind = MapKind::tiled;
  // The rest is only for im2col maps. Corners are in the order W, H, D; im2col_wide uses W only.
  int32_t wide_mode = 0;  // CUtensorMapIm2ColWideMode's values: 0 W, 1 W128
  uint32_t channels_per_pixel = 0;
  uint32_t pixels_per_column = 0;
  int32_t lower_corner[3] = {};
  int32_t upper_corner[3] = {};
};

/// The encoded descriptor. 128-byte alignment, for kernel parameters, may exceed CUtensorMap's.
struct alignas(128) TensorMapBytes {
  uint64_t words[16] = {};
};

}  // namespace tw
