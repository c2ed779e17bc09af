// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unpacks images that fatbinary compressed, to a cubin or PTX: a zstd frame (CUDA 12.8 and later)
// or an LZ4 block (before).
//
// Pure functions over bytes. They never write past `size`, and return for any input, also damaged
// or malicious input. They ignore checksums. The formats are those of RFC 8878 and of the LZ4 block
// description; dictionaries are not supported.

#include <cstddef>
#include <cstdint>

namespace tw {

/// Unpacks one zstd frame to exactly `size` bytes; false if the input is not such a frame.
bool unpack_zstd(const uint8_t* packed, size_t packed_size, uint8_t* out, size_t size);

/// Unpacks one LZ4 block to exactly `size` bytes; false if the input is not such a block.
bool unpack_lz4(const uint8_t* packed, size_t packed_size, uint8_t* out, size_t size);

}  // namespace tw
