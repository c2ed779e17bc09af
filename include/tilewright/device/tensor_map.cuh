// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_TENSOR_MAP_CUH
#define TILEWRIGHT_DEVICE_TENSOR_MAP_CUH
/// @file tensor_map.cuh
/// The tensor map as a kernel parameter, and the positions of a box's elements in shared memory.
/// Any C++17 compiler accepts this file, so host code can compute the same offsets.

#ifdef __CUDACC__
#define TILEWRIGHT_HOST_DEVICE __host__ __device__
#else
#define TILEWRIGHT_HOST_DEVICE
#endif

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// A tensor map as a parameter of a kernel: the 128 bytes that tw_tensor_map_bytes() returns. A
/// kernel takes it as `const __grid_constant__ TensorMapParam map` and passes `&map` to the
/// functions of this header. A CUtensorMap has the same bytes: its address can be converted with
/// reinterpret_cast.
struct alignas(128) TensorMapParam {
  unsigned long long words[16];  ///< the map's bytes; their meaning is the hardware's own
};
static_assert(sizeof(TensorMapParam) == 128, "the TMA reads 128 bytes");

/// How a tensor map permutes a box in shared memory. The numbers equal those of tw_swizzle and of
/// CUtensorMapSwizzle, so both can be converted with static_cast.
enum class SwizzleMode : int {
  none = 0,                   ///< TW_SWIZZLE_NONE: rows are consecutive
  bytes_32 = 1,               ///< TW_SWIZZLE_32B: pieces of 16 bytes within 32
  bytes_64 = 2,               ///< TW_SWIZZLE_64B: pieces of 16 bytes within 64
  bytes_128 = 3,              ///< TW_SWIZZLE_128B: pieces of 16 bytes within 128
  bytes_128_atom_32 = 4,      ///< TW_SWIZZLE_128B_ATOM_32B: pieces of 32 bytes within 128
  bytes_128_atom_32_flip = 5, /**< TW_SWIZZLE_128B_ATOM_32B_FLIP_8B: the same, and in every second
                                   line of 128 bytes the halves of each 16 bytes are swapped */
  bytes_128_atom_64 = 6       ///< TW_SWIZZLE_128B_ATOM_64B: pieces of 64 bytes within 128
};

/// The number of bytes within which the mode permutes a row: 32, 64 or 128, and 0 without a
/// swizzle. A row of a swizzled box is at most this long.
TILEWRIGHT_HOST_DEVICE constexpr unsigned swizzle_span(SwizzleMode mode) {
  return mode == SwizzleMode::none       ? 0
         : mode == SwizzleMode::bytes_32 ? 32
         : mode == SwizzleMode::bytes_64 ? 64
                                         : 128;
}

/// The number of bytes after which the permutation repeats: 256, 512 or 1024. swizzled_offset()
/// holds for a box that begins at a multiple of it. Without a swizzle it is 128, the alignment that
/// every box needs in shared memory.
TILEWRIGHT_HOST_DEVICE constexpr unsigned swizzle_period(SwizzleMode mode) {
  return mode == SwizzleMode::none ? 128 : swizzle_span(mode) * 8;
}

/// The address in shared memory of the byte that would be at `address` without a swizzle. `address`
/// is a shared-memory address from shared_address(), or an offset from a multiple of
/// swizzle_period(). The function is its own inverse.
TILEWRIGHT_HOST_DEVICE constexpr unsigned swizzled_address(SwizzleMode mode, unsigned address) {
  switch (mode) {
    case SwizzleMode::bytes_32:
      return address ^ (address >> 3 & 0x10);
    case SwizzleMode::bytes_64:
      return address ^ (address >> 3 & 0x30);
    case SwizzleMode::bytes_128:
      return address ^ (address >> 3 & 0x70);
    case SwizzleMode::bytes_128_atom_32:
      return address ^ (address >> 2 & 0x60);
    case SwizzleMode::bytes_128_atom_32_flip:
      return address ^ (address >> 2 & 0x60) ^ (address >> 4 & 0x08);
    case SwizzleMode::bytes_128_atom_64:
      return address ^ (address >> 1 & 0x40);
    default:
      return address;
  }
}

/// The distance in bytes between consecutive rows of a box in shared memory, where a row has
/// `row_bytes` bytes. A row that is shorter than swizzle_span() is followed by unused bytes.
TILEWRIGHT_HOST_DEVICE constexpr unsigned box_row_pitch(SwizzleMode mode, unsigned row_bytes) {
  return row_bytes < swizzle_span(mode) ? swizzle_span(mode) : row_bytes;
}

/// The offset in bytes, from the start of a box in shared memory, of byte `byte` of row `row`. A
/// row is the box's extent along dimension 0 and has `row_bytes` bytes in shared memory. In a box
/// of more than two dimensions the rows are numbered with dimension 1 fastest. The box must begin
/// at a multiple of swizzle_period(). For a box that begins elsewhere use `swizzled_address(mode,
/// box + row * box_row_pitch(mode, row_bytes) + byte)`.
TILEWRIGHT_HOST_DEVICE constexpr unsigned swizzled_offset(SwizzleMode mode, unsigned row_bytes,
                                                          unsigned row, unsigned byte) {
  return swizzled_address(mode, row * box_row_pitch(mode, row_bytes) + byte);
}

/// @}

}  // namespace tilewright

#undef TILEWRIGHT_HOST_DEVICE

#endif  // TILEWRIGHT_DEVICE_TENSOR_MAP_CUH
