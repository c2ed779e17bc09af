// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor map: what the TMA is told of a tensor, as fields and as the 128 bytes it reads.
//
// Fields carry cuTensorMapEncodeTiled's and cuTensorMapEncodeIm2col's names and order (innermost
// dimension first, strides in bytes). Enumerations have cuda.h's numbers. Everything here is plain
// data.

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
  uint32_t box_dim[5] = {};              // tiled maps alone
  uint32_t element_strides[5] = {1, 1, 1, 1, 1};

  MapKind kind = MapKind::tiled;
  // What follows is of im2col maps alone. Corners are innermost first: W, H, D; im2col_wide has
  // the first alone.
  int32_t wide_mode = 0;  // CUtensorMapIm2ColWideMode's values: 0 W, 1 W128
  uint32_t channels_per_pixel = 0;
  uint32_t pixels_per_column = 0;
  int32_t lower_corner[3] = {};
  int32_t upper_corner[3] = {};
};

/// The 128 bytes. Aligned for a kernel parameter whatever the toolkit's CUtensorMap says.
struct alignas(128) TensorMapBytes {
  uint64_t words[16] = {};
};

}  // namespace tw
