// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types. dtypes.inc lists them.

#include <cstdint>

namespace tw {

enum class DType : int32_t {
#define TW_DTYPE(name, value, bits, map_type, text) name = value,
#include "base/dtypes.inc"
#undef TW_DTYPE
};

/// An entry of dtypes.inc.
struct DTypeRow {
  int16_t bits = 0;       ///< 0: no type has this number
  int16_t map_type = -1;  ///< CUtensorMapDataType's number, or -1
  const char* name = "?";
};

inline constexpr int32_t kDTypeEnd = [] {
  int32_t end = 0;
#define TW_DTYPE(name, value, bits, map_type, text) end = (value) >= end ? (value) + 1 : end;
#include "base/dtypes.inc"
#undef TW_DTYPE
  return end;
}();

/// Indexed by the type's number, so that a lookup is one load: the rules of tensor maps look types
/// up very often.
struct DTypeTable {
  DTypeRow rows[kDTypeEnd];
};
inline constexpr DTypeTable kDTypes = [] {
  DTypeTable table;
#define TW_DTYPE(name, value, bits, map_type, text) table.rows[value] = {bits, map_type, text};
#include "base/dtypes.inc"
#undef TW_DTYPE
  return table;
}();

/// The entry of a type. For a number that names no type, an entry with 0 bits.
constexpr const DTypeRow& dtype_row(DType dtype) {
  const auto value = static_cast<uint32_t>(dtype);
  return kDTypes.rows[value < static_cast<uint32_t>(kDTypeEnd) ? value : 0];
}

/// Whether the number names an element type.
inline bool is_dtype(int32_t value) {
  return dtype_row(static_cast<DType>(value)).bits != 0;
}
/// Bits of one element; 0 for a number that names no type.
constexpr int32_t dtype_bits(DType dtype) {
  return dtype_row(dtype).bits;
}
/// Bytes of one element. All types are whole bytes.
constexpr int32_t dtype_bytes(DType dtype) {
  return dtype_bits(dtype) / 8;
}
/// "bf16", ...; "?" for a number that names no type.
inline const char* dtype_name(DType dtype) {
  return dtype_row(dtype).name;
}
/// CUtensorMapDataType's number, or -1.
inline int32_t dtype_tensor_map_type(DType dtype) {
  return dtype_row(dtype).map_type;
}

}  // namespace tw
