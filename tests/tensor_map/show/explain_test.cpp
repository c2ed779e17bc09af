// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/show/explain.hpp"

#include <string>

#include "doctest_main.hpp"
#include "tensor_map/rules/check.hpp"
#include "tests/tensor_map/descs.hpp"

namespace tw {
namespace {

bool has(const std::string& text, const char* words) {
  return text.find(words) != text.npos;
}

TEST_CASE("a map in words") {
  const TensorMapDesc desc = test::matrix(1024, 512, 128, 64, Swizzle::b128);
  CHECK(explain(desc) ==
        "tiled tensor map of bf16 at 0x100000, 2 dimensions, innermost first\n"
        "  dimension 0: 512 elements, contiguous, box 64\n"
        "  dimension 1: 1024 elements, stride 1024 bytes, box 128\n"
        "  box: 128 rows of 128 bytes, 16384 bytes a transaction\n"
        "  shared memory: 16384 bytes, to be aligned to 1024 bytes so that the swizzle "
        "pattern begins there\n"
        "  swizzle: 128 bytes: address bits 4-6 are XORed with bits 7-9\n"
        "  outside the tensor: loads give zeros\n"
        "  boxes that cover the tensor: 64\n"
        "  stores: end with the tensor's last element\n");
}

TEST_CASE("without a swizzle, shared memory has only the TMA's own alignment") {
  const std::string plain = explain(test::matrix(1024, 512, 128, 64));
  CHECK(has(plain, "shared memory: 16384 bytes, which must be aligned to 128 bytes\n"));
  CHECK(has(plain, "swizzle: none\n"));
  const std::string narrow = explain(test::matrix(1024, 512, 128, 16, Swizzle::b32));
  CHECK(has(narrow, "4096 bytes, to be aligned to 256 bytes so that the swizzle pattern begins"));
}

TEST_CASE("a store's overhang is told, and whose bytes it takes") {
  TensorMapDesc desc = test::matrix(10, 20, 8, 16);
  desc.global_stride_bytes[0] = 48;
  CHECK(store_overhang(desc) == 8);
  CHECK(has(explain(desc),
            "write 8 bytes past the end of each row of the tensor, because a row has 40 bytes, "
            "which is not a multiple of 16. The bytes past the end must be padding"));
  desc.global_stride_bytes[0] = 32;  // overlapping windows
  CHECK(has(explain(desc), "The bytes past the end belong to other rows"));
  desc.rank = 1;
  CHECK(has(explain(desc), "The bytes past the end lie after the tensor"));
  desc.global_dim[0] = 24;
  CHECK(store_overhang(desc) == 0);
}

TEST_CASE("packed elements lie without gaps in global memory") {
  TensorMapDesc desc = test::matrix(16, 34, 8, 32, Swizzle::none, DType::U4X16_ALIGN8B);
  desc.global_stride_bytes[0] = 32;
  CHECK(check(desc, 100).ok());
  CHECK(store_overhang(desc) == 15);
  CHECK(has(explain(desc, 100),
            "write 15 bytes past the end of each row of the tensor, because a row has 17 bytes"));
  desc = test::matrix(16, 256, 8, 128, Swizzle::none, DType::U6X16_ALIGN16B);
  CHECK(store_overhang(desc) == 0);
  desc.global_dim[0] = 128;  // 96 bytes
  CHECK(store_overhang(desc) == 0);
}

TEST_CASE("narrow rows, element strides and im2col are told") {
  TensorMapDesc desc = test::matrix(10, 64, 8, 16, Swizzle::b128);
  desc.element_strides[1] = 3;
  CHECK(has(explain(desc), "rows are narrower than the swizzle's 128 bytes"));
  CHECK(has(explain(desc), "box 8, element stride 3"));
  CHECK(!has(explain(desc), "unverified"));
  CHECK(has(explain(desc, 103), "unverified"));
  CHECK(has(explain(desc, 103), "10.3"));
  const std::string image = explain(test::image());
  CHECK(has(image, "im2col tensor map"));
  CHECK(has(image, "corners -1 and -1"));
  CHECK(has(image, "column: 64 rows of 64 bytes"));
}

}  // namespace
}  // namespace tw
