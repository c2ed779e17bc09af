// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.hpp"

#include <cstring>
#include <set>
#include <string>

#include "doctest_main.hpp"

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

TEST_CASE("every row of dtypes.inc is found by its number") {
  std::set<std::string> names;
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    CHECK(is_dtype(static_cast<int32_t>(row.dtype)));
    CHECK(dtype_bits(row.dtype) == row.bits);
    CHECK(row.bits % 8 == 0);
    CHECK(dtype_bytes(row.dtype) == row.bits / 8);
    CHECK(std::strcmp(dtype_name(row.dtype), row.text) == 0);
    CHECK(dtype_tensor_map_type(row.dtype) == row.map_type);
    CHECK_MESSAGE(names.insert(row.text).second, "two types of one name");
  }
}

TEST_CASE("numbers that name no type") {
  for (const int32_t value : {0, -1, 10, 19, 27, 45, 1000, INT32_MIN, INT32_MAX}) {
    CAPTURE(value);
    CHECK_FALSE(is_dtype(value));
    CHECK(dtype_bits(static_cast<DType>(value)) == 0);
    CHECK(std::strcmp(dtype_name(static_cast<DType>(value)), "?") == 0);
    CHECK(dtype_tensor_map_type(static_cast<DType>(value)) == -1);
  }
}

}  // namespace
}  // namespace tw
