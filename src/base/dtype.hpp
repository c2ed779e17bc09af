// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types. The list is dtypes.inc.

#include <cstdint>

namespace tw {

enum class DType : int32_t {
#define TW_DTYPE(name, value, bits, map_type, text) name = value,
#include "base/dtypes.inc"
#undef TW_DTYPE
};

/// Whether the number names an element type.
bool is_dtype(int32_t value);
/// Bits of one element; 0 for a number that names no type.
int32_t dtype_bits(DType dtype);
/// Bytes of one element; every type of the list is a whole number of bytes.
inline int32_t dtype_bytes(DType dtype) {
  return dtype_bits(dtype) / 8;
}
/// "bf16", ...; "?" for a number that names no type.
const char* dtype_name(DType dtype);
/// CUtensorMapDataType's number, or -1.
int32_t dtype_tensor_map_type(DType dtype);

}  // namespace tw
