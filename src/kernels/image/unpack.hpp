// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unpacking what fatbinary has packed: a zstd frame (CUDA 12.8 and later) or an LZ4 block (before),
// so that an embedded image can be shown as the cubin or PTX that it is.
//
// Pure functions over bytes: no output past `size`, and any input, damaged or made up, ends in an
// answer. Checksums are not looked at. The formats are those of
// RFC 8878 and of the LZ4 block description; dictionaries are not supported.

#include <cstddef>
#include <cstdint>

namespace tw {

/// Unpacks one zstd frame into exactly `size` bytes; false where it is no such frame.
bool unpack_zstd(const uint8_t* packed, size_t packed_size, uint8_t* out, size_t size);

/// Unpacks one LZ4 block into exactly `size` bytes; false where it is no such block.
bool unpack_lz4(const uint8_t* packed, size_t packed_size, uint8_t* out, size_t size);

}  // namespace tw
