// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.hpp"

namespace tw {
namespace {

struct Row {
  DType dtype;
  int32_t bits;
  int32_t map_type;
  const char* text;
};

constexpr Row kRows[] = {
#define TW_DTYPE(name, value, bits, map_type, text) {DType::name, bits, map_type, text},
#include "base/dtypes.inc"
#undef TW_DTYPE
};

const Row* find(DType dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype) return &row;
  return nullptr;
}

}  // namespace

bool is_dtype(int32_t value) {
  return find(static_cast<DType>(value)) != nullptr;
}

int32_t dtype_bits(DType dtype) {
  const Row* row = find(dtype);
  return row ? row->bits : 0;
}

const char* dtype_name(DType dtype) {
  const Row* row = find(dtype);
  return row ? row->text : "?";
}

int32_t dtype_tensor_map_type(DType dtype) {
  const Row* row = find(dtype);
  return row ? row->map_type : -1;
}

}  // namespace tw
