// SPDX-License-Identifier: Apache-2.0
// The 128 bytes of a tensor map: hand-computed words, decoding, and rebinding.
#include <cstring>
#include <random>
#include <string>

#include "descs.hpp"
#include "doctest_main.hpp"
#include "tensor_map/descriptor.hpp"
#include "tensor_map/driver_faults.hpp"
#include "tensor_map/geometry.hpp"
#include "tensor_map/rebind.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw {
namespace {

TensorMapBytes encoded(const TensorMapDesc& desc) {
  TensorMapBytes bytes;
  REQUIRE(encode(desc, 90, &bytes).ok());
  return bytes;
}

TEST_CASE("a matrix's words, computed by hand") {
  TensorMapDesc desc = test::matrix(1024, 512, 128, 64, Swizzle::b128);
  desc.l2_promotion = L2Promotion::b256;
  const TensorMapBytes bytes = encoded(desc);
  CHECK(bytes.words[0] == 0x100000);
  // rank - 1 = 1, type 10 (bf16), swizzle 3, promotion 3; pitch 1024 / 16 = 64.
  CHECK(bytes.words[1] == (1u << 4 | 10u << 7 | 3u << 13 | 3u << 17 | uint64_t{64} << 32));
  CHECK(bytes.words[2] == 0);
  CHECK(bytes.words[3] == 0);
  CHECK(bytes.words[4] == (511u | uint64_t{1023} << 32));
  CHECK(bytes.words[5] == 0);
  CHECK(bytes.words[6] == uint64_t{63} << 56);
  CHECK(bytes.words[7] == 127);
  CHECK(bytes.words[8] == 128 * 64 * 2);
  CHECK(bytes.words[9] == 1024);
  for (int i = 10; i < 16; ++i) CHECK(bytes.words[i] == 0);
}

TEST_CASE("element strides, high stride bits and the bytes rounded down") {
  TensorMapDesc desc = test::tensor4();
  desc.element_strides[1] = 3;
  desc.element_strides[3] = 8;  // longer than its box: the field is 0
  desc.global_stride_bytes[2] = (uint64_t{1} << 40) - 16;
  const TensorMapBytes bytes = encoded(desc);
  CHECK((bytes.words[6] >> 32 & 0x7fff) == (2u << 3 | 7u << 9));
  CHECK((bytes.words[2] >> 32) == 0xffffffff);
  CHECK((bytes.words[3] >> 40 & 15) == 15);
  CHECK(bytes.words[8] == 0);
  CHECK(box_bytes(desc) == 32 * 2 * 3 * 2 * 1);
}

TEST_CASE("corners of im2col maps have 16, 8 or 5 bits") {
  TensorMapDesc desc = test::image();
  desc.lower_corner[0] = -3;
  desc.upper_corner[1] = 5;
  const TensorMapBytes bytes = encoded(desc);
  CHECK((bytes.words[1] & 1) == 1);
  CHECK((bytes.words[7] & 0xffff) == 0xfffd);
  CHECK((bytes.words[7] >> 16 & 0xffff) == 0x05ff);
  CHECK((bytes.words[7] >> 32) == 63);
  CHECK(bytes.words[8] == 32 * 2 * 64);
  TensorMapDesc back;
  REQUIRE(decode(bytes, &back).ok());
  CHECK(back.lower_corner[0] == -3);
  CHECK(back.upper_corner[1] == 5);
  CHECK(back.kind == MapKind::im2col);
}

TEST_CASE("every single bit that encode() does not write is found by decode()") {
  const TensorMapBytes right = encoded(test::tensor4());
  int unknown = 0;
  for (int bit = 0; bit < 1024; ++bit) {
    TensorMapBytes bytes = right;
    bytes.words[bit / 64] ^= uint64_t{1} << (bit % 64);
    TensorMapDesc desc;
    const Status status = decode(bytes, &desc);
    if (status.ok()) {
      bytes.words[1] &= ~(uint64_t{1} << 21);  // a known bit that belongs to no field
      TensorMapBytes again;
      encode_accepted(desc, &again);
      CHECK(std::memcmp(&again, &bytes, sizeof again) == 0);
      continue;
    }
    ++unknown;
    CHECK(status.code() == Code::ERROR_UNSUPPORTED);
    // The error names the word that changed, unless the change shows elsewhere: words 8 and 9
    // follow from other fields, and word 1 determines how the other words are read.
    const int32_t word = last_failure().fault.index;
    CHECK((word == bit / 64 || bit / 64 == 1 || word == 8 || word == 9));
  }
  CHECK(unknown > 500);
  CHECK(unknown < 800);
}

TEST_CASE("decode() reads any bytes") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    TensorMapBytes bytes;
    for (uint64_t& word : bytes.words) word = random() & random();
    if (i % 2 == 0)
      for (int w = 8; w < 16; ++w) bytes.words[w] = 0;
    TensorMapDesc desc;
    if (decode(bytes, &desc).ok()) {
      TensorMapBytes again;
      encode_accepted(desc, &again);
      bytes.words[1] &= ~(uint64_t{1} << 21);
      CHECK(std::memcmp(&again, &bytes, sizeof again) == 0);
    }
  }
}

TEST_CASE("decode() takes no interleave that there is none of") {
  TensorMapBytes bytes = encoded(test::tensor4());
  bytes.words[1] |= uint64_t{3} << kInterleaveShift;
  TensorMapDesc desc;
  CHECK(decode(bytes, &desc).code() == Code::ERROR_UNSUPPORTED);
  CHECK(last_failure().fault.index == 1);
  CHECK(last_failure().fault.got == int64_t{3} << kInterleaveShift);
}

TEST_CASE("the span of packed elements is that of global memory") {
  TensorMapDesc desc = test::matrix(1, 204800, 1, 128, Swizzle::b128, DType::U4X16_ALIGN16B);
  desc.rank = 1;
  CHECK(tensor_span_bytes(desc) == 204800 / 2);
  desc.dtype = DType::U6X16_ALIGN16B;
  CHECK(tensor_span_bytes(desc) == 204800 / 4 * 3);
  desc.dtype = DType::U4X16_ALIGN8B;
  CHECK(tensor_span_bytes(desc) == 204800 / 2);
}

TEST_CASE("what has no known bits is not encoded") {
  TensorMapDesc desc = test::matrix(128, 128, 8, 64, Swizzle::b128_atom_32b);
  TensorMapBytes bytes;
  CHECK(check(desc, 100).ok());
  CHECK(encode(desc, 100, &bytes).code() == Code::ERROR_UNSUPPORTED);
  desc = test::matrix(128, 128, 8, 128, Swizzle::b128, DType::U4X16_ALIGN16B);
  desc.global_stride_bytes[0] = 64;
  CHECK(check(desc, 100).ok());
  CHECK(encode(desc, 100, &bytes).code() == Code::ERROR_UNSUPPORTED);
}

TEST_CASE("a faulty driver's bit 85 is cleared for small tensors, on the chips that it hurts") {
  const uint64_t bit = uint64_t{1} << 21;
  const TensorMapDesc small = test::matrix(64, 64, 8, 64);
  const TensorMapDesc large = test::matrix(1024, 64, 8, 64);
  CHECK(tensor_span_bytes(small) == 64 * 64 * 2);
  CHECK(tensor_span_bytes(large) == 128 * 1024);
  const auto mends = [&](const TensorMapDesc& desc, int32_t arch, int32_t driver) {
    TensorMapBytes bytes = encoded(desc);
    bytes.words[1] |= bit;
    const char* id = correct_driver_faults(desc, arch, driver, &bytes);
    CHECK((id != nullptr) == ((bytes.words[1] & bit) == 0));
    return id != nullptr;
  };
  CHECK(mends(small, 100, 13010));
  CHECK(mends(small, 120, 12080));
  CHECK(!mends(small, 100, 13030));
  CHECK(!mends(small, 90, 13010));
  CHECK(!mends(large, 100, 13010));
  TensorMapBytes right = encoded(small);
  CHECK(correct_driver_faults(small, 100, 13010, &right) == nullptr);
}

TEST_CASE("rebinding gives the bytes of an encoding from scratch") {
  TensorMapDesc desc = test::tensor4();
  TensorMapBytes patched = encoded(desc);
  desc.global_address = 0x7f0000001230;
  desc.global_dim[0] = 1;
  desc.global_dim[1] = uint64_t{1} << 32;
  desc.global_dim[3] = 77;
  desc.global_stride_bytes[0] = (uint64_t{1} << 40) - 16;
  desc.global_stride_bytes[1] = 32;
  desc.global_stride_bytes[2] = uint64_t{0xabcdef120} * 16;
  rebind_address(&patched, desc.global_address);
  for (int i = 0; i < 4; ++i) rebind_dim(&patched, i, desc.global_dim[i]);
  for (int i = 0; i < 3; ++i) rebind_stride(&patched, i, desc.global_stride_bytes[i]);
  const TensorMapBytes anew = encoded(desc);
  CHECK(std::memcmp(&patched, &anew, sizeof patched) == 0);

  TensorMapDesc matrix = desc;
  matrix.rank = 2;
  for (const auto& [from, to] : {std::pair{128u, 8u}, {8u, 256u}, {256u, 1u}, {1u, 72u}}) {
    matrix.box_dim[1] = from;
    TensorMapBytes boxed = encoded(matrix);
    rebind_box_rows(&boxed, to,
                    matrix.box_dim[0] * static_cast<uint32_t>(dtype_bytes(matrix.dtype)));
    matrix.box_dim[1] = to;
    const TensorMapBytes other = encoded(matrix);
    CHECK(std::memcmp(&boxed, &other, sizeof boxed) == 0);
  }
}

TEST_CASE("a box of other lines gives the bytes of an encoding from scratch") {
  TensorMapDesc desc;
  desc.dtype = DType::BF16;
  desc.rank = 2;
  desc.swizzle = Swizzle::b128;
  desc.global_dim[0] = 4096;
  desc.global_dim[1] = 100;
  desc.global_stride_bytes[0] = 8192;
  desc.box_dim[0] = 64;
  desc.box_dim[1] = 256;
  TensorMapBytes patched = encoded(desc);
  for (const uint32_t lines : {1u, 8u, 104u, 256u}) {
    desc.box_dim[1] = lines;
    rebind_box_rows(&patched, lines, 128);
    const TensorMapBytes anew = encoded(desc);
    CHECK(std::memcmp(&patched, &anew, sizeof patched) == 0);
  }
}

}  // namespace
}  // namespace tw
