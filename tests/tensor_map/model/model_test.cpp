// SPDX-License-Identifier: Apache-2.0
// The TMA model against plain loops and hand-derived formulas. Recorded results of the hardware are
// in tests/golden.
#include <cstring>
#include <string>
#include <vector>

#include "doctest_main.hpp"
#include "tensor_map/model/tma_model.hpp"
#include "tests/tensor_map/descs.hpp"

namespace tw {
namespace {

using model::Outcome;

struct alignas(1024) Shared {
  uint8_t bytes[64 * 1024];
  Shared() { std::memset(bytes, 0xab, sizeof bytes); }
  uint16_t half(uint32_t at) const {
    uint16_t value;
    std::memcpy(&value, bytes + at, 2);
    return value;
  }
};

// A matrix whose elements are their own linear indices, with spare memory behind it.
struct Matrix {
  std::vector<uint16_t> data;
  TensorMapDesc desc;

  Matrix(uint64_t rows, uint64_t columns, uint64_t pitch, uint32_t box_rows, uint32_t box_columns,
         Swizzle swizzle)
      : data(rows * pitch + 64), desc(test::matrix(rows, columns, box_rows, box_columns, swizzle)) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint16_t>(i);
    const auto address = reinterpret_cast<uint64_t>(data.data());
    skip = (16 - address % 16) % 16 / 2;
    desc.global_address = address + skip * 2;
    desc.global_stride_bytes[0] = pitch * 2;
  }
  uint16_t at(size_t row, size_t column) const {
    return data[skip + row * desc.global_stride_bytes[0] / 2 + column];
  }
  size_t skip;
};

bool says(const Outcome& outcome, const char* words) {
  return outcome.fault && std::string(outcome.reason).find(words) != std::string::npos;
}

TEST_CASE("128-byte swizzle of bf16: element (row, col) lies at ((col/8)^(row%8))*8 + col%8") {
  const Matrix m(64, 128, 128, 32, 64, Swizzle::b128);
  Shared shared;
  const int32_t coord[] = {64, 16};
  const Outcome outcome = model::load_tile(m.desc, coord, shared.bytes, 1024);
  REQUIRE(!outcome.fault);
  CHECK(outcome.transaction_bytes == 32 * 128);
  CHECK(outcome.shared_end == 1024 + 32 * 128);
  for (uint32_t row = 0; row < 32; ++row)
    for (uint32_t col = 0; col < 64; ++col) {
      const uint32_t place = row * 64 + ((col / 8) ^ (row % 8)) * 8 + col % 8;
      REQUIRE(shared.half(1024 + place * 2) == m.at(16 + row, 64 + col));
    }
  CHECK(shared.bytes[1023] == 0xab);
  CHECK(shared.bytes[1024 + 32 * 128] == 0xab);
}

TEST_CASE("the swizzle reads address bits, so that a box off its period is turned") {
  const Matrix m(64, 128, 128, 4, 64, Swizzle::b128);
  Shared shared;
  const int32_t coord[] = {0, 0};
  REQUIRE(!model::load_tile(m.desc, coord, shared.bytes, 3 * 128).fault);
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t col = 0; col < 64; ++col) {
      const uint32_t line = 3 + row;
      const uint32_t place = line * 64 + ((col / 8) ^ (line % 8)) * 8 + col % 8;
      REQUIRE(shared.half(place * 2) == m.at(row, col));
    }
}

TEST_CASE("32- and 64-byte swizzles") {
  for (const uint32_t span : {32u, 64u}) {
    const Matrix m(64, 128, 128, 32, span / 2, span == 32 ? Swizzle::b32 : Swizzle::b64);
    Shared shared;
    const int32_t coord[] = {8, 3};
    REQUIRE(!model::load_tile(m.desc, coord, shared.bytes, 0).fault);
    for (uint32_t row = 0; row < 32; ++row)
      for (uint32_t byte = 0; byte < span; byte += 2) {
        const uint32_t plain = row * span + byte;
        const uint32_t line = plain / 128;  // 128-byte line of shared memory
        const uint32_t place = plain ^ ((line % (span / 16)) * 16);
        REQUIRE(shared.half(place) == m.at(3 + row, 8 + byte / 2));
      }
  }
}

TEST_CASE("rows narrower than the span lie a span apart and count their own bytes") {
  const Matrix m(16, 128, 128, 8, 16, Swizzle::b128);
  Shared shared;
  const int32_t coord[] = {0, 0};
  const Outcome outcome = model::load_tile(m.desc, coord, shared.bytes, 0);
  CHECK(outcome.transaction_bytes == 8 * 32);
  CHECK(outcome.shared_end == 8 * 128);
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      const uint32_t place = row * 128 + (chunk ^ row) * 16;
      CHECK(shared.half(place) == (chunk < 2 ? m.at(row, chunk * 8) : 0xabab));
    }
}

TEST_CASE("loads outside the tensor fill, element by element, on every side") {
  Matrix m(8, 20, 32, 16, 32, Swizzle::none);
  for (const OobFill fill : {OobFill::zero, OobFill::nan}) {
    m.desc.oob_fill = fill;
    Shared shared;
    const int32_t coord[] = {-8, -3};
    REQUIRE(!model::load_tile(m.desc, coord, shared.bytes, 0).fault);
    for (int row = 0; row < 16; ++row)
      for (int col = 0; col < 32; ++col) {
        const int r = row - 3, c = col - 8;
        const bool inside = r >= 0 && r < 8 && c >= 0 && c < 20;
        const uint16_t outside = fill == OobFill::nan ? 0x7ff7 : 0;
        REQUIRE(shared.half(static_cast<uint32_t>(row * 32 + col) * 2) ==
                (inside ? m.at(static_cast<size_t>(r), static_cast<size_t>(c)) : outside));
      }
  }
}

TEST_CASE("stores write whole 16-byte chunks: past the last element, into the padding") {
  Matrix m(4, 20, 32, 4, 32, Swizzle::none);
  const std::vector<uint16_t> before = m.data;
  Shared shared;
  const int32_t coord[] = {8, 1};
  const Outcome outcome = model::store_tile(m.desc, coord, shared.bytes, 0);
  REQUIRE(!outcome.fault);
  for (size_t i = 0; i < m.data.size(); ++i) {
    const size_t element = i - m.skip;
    const size_t row = element / 32, col = element % 32;
    const bool written = i >= m.skip && row >= 1 && row < 4 && col >= 8 && col < 24;
    CHECK(m.data[i] == (written ? 0xabab : before[i]));
  }
}

TEST_CASE("a swizzled store brings back what the load brought") {
  Matrix m(32, 64, 64, 32, 32, Swizzle::b64);
  Shared shared;
  const int32_t coord[] = {32, 0};
  REQUIRE(!model::load_tile(m.desc, coord, shared.bytes, 512).fault);
  const std::vector<uint16_t> before = m.data;
  for (uint16_t& element : m.data) element = 0;
  REQUIRE(!model::store_tile(m.desc, coord, shared.bytes, 512).fault);
  for (size_t row = 0; row < 32; ++row)
    for (size_t col = 0; col < 64; ++col)
      REQUIRE(m.at(row, col) == (col >= 32 ? before[m.skip + row * 64 + col] : 0));
}

TEST_CASE("element strides: every n-th row, rounded up") {
  Matrix m(64, 64, 64, 10, 8, Swizzle::none);
  m.desc.element_strides[1] = 4;
  Shared shared;
  const int32_t coord[] = {16, 5};
  const Outcome outcome = model::load_tile(m.desc, coord, shared.bytes, 0);
  CHECK(outcome.transaction_bytes == 3 * 16);
  for (uint32_t row = 0; row < 3; ++row) CHECK(shared.half(row * 16) == m.at(5 + row * 4, 16));
  CHECK(shared.bytes[48] == 0xab);
}

TEST_CASE("tf32 loads round to nearest even, f32_ftz loads do not touch a bit") {
  alignas(16) uint32_t data[4] = {0x3f801000, 0x3f803000, 0x7f800001, 0x00000fff};
  TensorMapDesc desc;
  desc.rank = 1;
  desc.dtype = DType::TF32;
  desc.global_address = reinterpret_cast<uint64_t>(data);
  desc.global_dim[0] = 4;
  desc.box_dim[0] = 4;
  Shared shared;
  const int32_t coord[] = {0};
  REQUIRE(!model::load_tile(desc, coord, shared.bytes, 0).fault);
  const uint32_t rounded[4] = {0x3f800000, 0x3f804000, 0x7fffe000, 0};
  CHECK(std::memcmp(shared.bytes, rounded, 16) == 0);
  desc.dtype = DType::F32_FTZ;
  REQUIRE(!model::load_tile(desc, coord, shared.bytes, 0).fault);
  CHECK(std::memcmp(shared.bytes, data, 16) == 0);
}

TEST_CASE("faults say which coordinate broke which rule, and move nothing") {
  Matrix m(16, 64, 64, 4, 16, Swizzle::none);
  Shared shared;
  int32_t coord[] = {3, 0};
  CHECK(says(model::load_tile(m.desc, coord, shared.bytes, 0), "coordinate 0 is 3"));
  CHECK(says(model::prefetch_tile(m.desc, coord), "coordinate 0 is 3"));
  coord[0] = 0;
  coord[1] = -1;
  CHECK(says(model::store_tile(m.desc, coord, shared.bytes, 0), "coordinate 1 of a store"));
  CHECK(says(model::reduce_tile(m.desc, coord, shared.bytes, 0, model::ReduceOp::add),
             "coordinate 1 of a store or reduction is -1"));
  CHECK(!model::load_tile(m.desc, coord, shared.bytes, 0).fault);
  CHECK(says(model::load_tile(m.desc, coord, shared.bytes, 16), "not a multiple of 128"));
  coord[1] = 0;
  CHECK(says(model::reduce_tile(m.desc, coord, shared.bytes, 0, model::ReduceOp::xor_),
             "no reduction 7 of bf16"));
  const uint16_t offsets[] = {0};
  CHECK(says(model::load_im2col(m.desc, coord, offsets, shared.bytes, 0), "tiled map"));
  CHECK(says(model::load_bulk(m.desc.global_address + 8, shared.bytes, 0, 16), "misaligned"));
  CHECK(says(model::store_bulk(m.desc.global_address, shared.bytes, 8, 16), "misaligned"));
  CHECK(says(model::store_bulk(m.desc.global_address, shared.bytes, 0, 8), "misaligned"));
}

TEST_CASE("reductions") {
  Matrix m(4, 16, 16, 4, 16, Swizzle::none);
  m.desc.dtype = DType::U32;
  m.desc.global_dim[0] = 8;
  m.desc.box_dim[0] = 8;
  Shared shared;
  const uint32_t old = 7;
  const auto result = [&](model::ReduceOp op, uint32_t operand) {
    std::memcpy(reinterpret_cast<void*>(m.desc.global_address), &old, 4);
    std::memcpy(shared.bytes, &operand, 4);
    const int32_t coord[] = {0, 0};
    REQUIRE(!model::reduce_tile(m.desc, coord, shared.bytes, 0, op).fault);
    uint32_t value;
    std::memcpy(&value, reinterpret_cast<void*>(m.desc.global_address), 4);
    return value;
  };
  CHECK(result(model::ReduceOp::add, 0xffffffff) == 6);
  CHECK(result(model::ReduceOp::min, 0xffffffff) == 7);
  CHECK(result(model::ReduceOp::max, 0xffffffff) == 0xffffffff);
  CHECK(result(model::ReduceOp::inc, 7) == 0);
  CHECK(result(model::ReduceOp::inc, 8) == 8);
  CHECK(result(model::ReduceOp::dec, 9) == 6);
  CHECK(result(model::ReduceOp::dec, 3) == 3);
  CHECK(result(model::ReduceOp::and_, 5) == 5);
  CHECK(result(model::ReduceOp::or_, 8) == 15);
  CHECK(result(model::ReduceOp::xor_, 2) == 5);
  m.desc.dtype = DType::I32;
  CHECK(result(model::ReduceOp::min, 0xffffffff) == 0xffffffff);
}

TEST_CASE("gather4 and scatter4 are four one-row boxes behind one another") {
  Matrix m(32, 64, 64, 1, 16, Swizzle::b128);
  const int32_t rows[] = {5, 31, 40, 5};
  Shared shared, expected;
  const Outcome outcome = model::load_gather4(m.desc, 16, rows, shared.bytes, 1024);
  REQUIRE(!outcome.fault);
  CHECK(outcome.transaction_bytes == 4 * 32);
  CHECK(outcome.shared_end == 1024 + 4 * 128);
  for (uint32_t i = 0; i < 4; ++i) {
    const int32_t coord[] = {16, rows[i]};
    REQUIRE(!model::load_tile(m.desc, coord, expected.bytes, 1024 + i * 128).fault);
  }
  CHECK(std::memcmp(shared.bytes, expected.bytes, sizeof shared.bytes) == 0);

  Matrix copy = m;
  copy.desc.global_address = reinterpret_cast<uint64_t>(copy.data.data() + copy.skip);
  if (copy.desc.global_address % 16 != 0) return;  // this copy is not aligned as TMA needs
  for (uint16_t& element : copy.data) element = 0;
  REQUIRE(!model::store_scatter4(copy.desc, 16, rows, shared.bytes, 1024).fault);
  for (size_t row = 0; row < 32; ++row)
    for (size_t col = 0; col < 64; ++col) {
      const bool written = (row == 5 || row == 31) && col >= 16 && col < 32;
      REQUIRE(copy.at(row, col) == (written ? m.at(row, col) : 0));
    }
  const int32_t negative[] = {5, -1, 40, 5};
  CHECK(!model::load_gather4(m.desc, 16, negative, shared.bytes, 0).fault);
  CHECK(says(model::store_scatter4(m.desc, 16, negative, shared.bytes, 0), "is -1"));
  CHECK(says(model::store_scatter4(m.desc, -16, rows, shared.bytes, 0), "is -16"));
  CHECK(says(model::load_gather4(m.desc, 4, rows, shared.bytes, 0), "coordinate 0 is 4"));
  CHECK(says(model::load_gather4(test::tensor4(), 0, rows, shared.bytes, 0), "rank 2"));
}

TEST_CASE("a multicast is the same load for each bit of the mask") {
  const Matrix m(64, 128, 128, 8, 64, Swizzle::b128);
  Shared one, a, b, untouched;
  uint8_t* blocks[16] = {a.bytes, untouched.bytes, b.bytes};
  const int32_t coord[] = {64, 8};
  REQUIRE(!model::load_tile(m.desc, coord, one.bytes, 1024).fault);
  const Outcome outcome = model::load_tile_multicast(m.desc, coord, blocks, 5, 1024);
  REQUIRE(!outcome.fault);
  CHECK(outcome.transaction_bytes == 1024);
  CHECK(std::memcmp(one.bytes, a.bytes, sizeof a.bytes) == 0);
  CHECK(std::memcmp(one.bytes, b.bytes, sizeof b.bytes) == 0);
  CHECK(untouched.bytes[1024] == 0xab);
  CHECK(says(model::load_tile_multicast(m.desc, coord, blocks, 0, 0), "no block"));
}

TEST_CASE("f64 additions keep a NaN as it is; of two, the one from shared memory") {
  constexpr uint64_t kOne = 0x3ff0000000000000;
  constexpr uint64_t kSignalling = 0x7ff0000000000001;
  constexpr uint64_t kOther = 0xfff4000000000001;
  alignas(16) uint64_t data[4] = {kSignalling, kOne, kSignalling, kOne};
  Shared shared;
  const uint64_t operand[4] = {kOne, kOther, kOther, kOne};
  std::memcpy(shared.bytes, operand, 32);
  const auto address = reinterpret_cast<uint64_t>(data);
  REQUIRE(
      !model::reduce_bulk(address, shared.bytes, 0, 32, DType::F64, model::ReduceOp::add).fault);
  CHECK(data[0] == kSignalling);
  CHECK(data[1] == kOther);
  CHECK(data[2] == kOther);
  CHECK(data[3] == 0x4000000000000000);
}

TEST_CASE("bulk reductions have the tile reductions' arithmetic") {
  alignas(16) uint32_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  Shared shared;
  const uint32_t operand[4] = {10, 20, 30, 0xffffffff};
  std::memcpy(shared.bytes + 32, operand, 16);
  const auto address = reinterpret_cast<uint64_t>(data);
  REQUIRE(!model::reduce_bulk(address + 16, shared.bytes, 32, 16, DType::U32, model::ReduceOp::add)
               .fault);
  CHECK(data[3] == 4);
  CHECK(data[4] == 15);
  CHECK(data[7] == 7);
  CHECK(says(model::reduce_bulk(address, shared.bytes, 0, 16, DType::F32, model::ReduceOp::min),
             "no reduction 1 of f32"));
}

TEST_CASE("bulk copies move their bytes") {
  alignas(16) uint8_t data[64];
  for (uint8_t i = 0; i < 64; ++i) data[i] = i;
  Shared shared;
  const auto address = reinterpret_cast<uint64_t>(data);
  const Outcome load = model::load_bulk(address + 16, shared.bytes, 48, 32);
  CHECK(load.transaction_bytes == 32);
  CHECK(std::memcmp(shared.bytes + 48, data + 16, 32) == 0);
  CHECK(shared.bytes[47] == 0xab);
  CHECK(shared.bytes[80] == 0xab);
  REQUIRE(!model::store_bulk(address, shared.bytes, 64, 16).fault);
  CHECK(data[0] == 32);
  CHECK(data[16] == 16);
  CHECK(!model::prefetch_bulk(address, 16).fault);
  CHECK(says(model::prefetch_bulk(address + 1, 16), "misaligned"));
}

}  // namespace
}  // namespace tw
