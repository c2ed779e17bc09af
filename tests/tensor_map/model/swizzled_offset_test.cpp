// SPDX-License-Identifier: Apache-2.0
// The box layout that the public kernel header (device.cuh) states, against the TMA model, and
// against the tables of the PTX ISA for modes that the model's chip lacks.
#include <cstring>
#include <tilewright/device.cuh>
#include <vector>

#include "doctest_main.hpp"
#include "tensor_map/geometry.hpp"
#include "tensor_map/model/tma_model.hpp"
#include "tests/tensor_map/descs.hpp"

namespace tw {
namespace {

using tilewright::SwizzleMode;

constexpr SwizzleMode mode_of(Swizzle swizzle) {
  return static_cast<SwizzleMode>(static_cast<int>(swizzle));
}
static_assert(SwizzleMode::none == mode_of(Swizzle::none));
static_assert(SwizzleMode::bytes_32 == mode_of(Swizzle::b32));
static_assert(SwizzleMode::bytes_64 == mode_of(Swizzle::b64));
static_assert(SwizzleMode::bytes_128 == mode_of(Swizzle::b128));
static_assert(SwizzleMode::bytes_128_atom_32 == mode_of(Swizzle::b128_atom_32b));
static_assert(SwizzleMode::bytes_128_atom_32_flip == mode_of(Swizzle::b128_atom_32b_flip_8b));
static_assert(SwizzleMode::bytes_128_atom_64 == mode_of(Swizzle::b128_atom_64b));

constexpr uint32_t kSharedBytes = 64 * 1024;

struct alignas(1024) Shared {
  uint8_t bytes[kSharedBytes];
};

// A byte tensor with two or three dimensions, loaded as one box. Two tensors of the same shape hold
// the lower and the upper byte of each element's number, so that every element is distinguishable.
struct Numbered {
  std::vector<uint8_t> low, high;
  TensorMapDesc desc;

  Numbered(uint32_t row_bytes, uint32_t rows, uint32_t planes, Swizzle swizzle)
      : desc(test::matrix(rows, row_bytes, rows, row_bytes, swizzle, DType::U8)) {
    const size_t count = size_t{row_bytes} * rows * planes;
    low.resize(count + 16);
    high.resize(count + 16);
    if (planes > 1) {
      desc.rank = 3;
      desc.global_dim[2] = desc.box_dim[2] = planes;
      desc.global_stride_bytes[1] = uint64_t{row_bytes} * rows;
    }
  }

  // Loads both tensors with the model: shared[0] and shared[1] hold the two halves of each number.
  void load(uint32_t offset, Shared (&shared)[2]) {
    std::vector<uint8_t>* const halves[] = {&low, &high};
    for (int half = 0; half < 2; ++half) {
      std::vector<uint8_t>& bytes = *halves[half];
      const auto address = reinterpret_cast<uint64_t>(bytes.data());
      const size_t first = (16 - address % 16) % 16;
      for (size_t i = 0; i + first < bytes.size(); ++i)
        bytes[first + i] = static_cast<uint8_t>(half == 0 ? i : i >> 8);
      desc.global_address = address + first;
      const int32_t at[] = {0, 0, 0};
      REQUIRE(!model::load_tile(desc, at, shared[half].bytes, offset).fault);
    }
  }
};

// Compares every byte of a box of `rows` rows, `planes` times.
void check_box(Swizzle swizzle, uint32_t row_bytes, uint32_t rows, uint32_t planes) {
  static Shared shared[2];
  CAPTURE(static_cast<int>(swizzle));
  CAPTURE(row_bytes);
  const SwizzleMode mode = mode_of(swizzle);
  Numbered box(row_bytes, rows, planes, swizzle);
  CHECK(tilewright::box_row_pitch(mode, row_bytes) == row_pitch(box.desc));
  box.load(0, shared);
  uint32_t wrong = 0;
  for (uint32_t row = 0; row < rows * planes; ++row)
    for (uint32_t byte = 0; byte < row_bytes; ++byte) {
      const uint32_t at = tilewright::swizzled_offset(mode, row_bytes, row, byte);
      REQUIRE(at < kSharedBytes);
      const uint32_t number = shared[0].bytes[at] | uint32_t{shared[1].bytes[at]} << 8;
      wrong += number != ((row * row_bytes + byte) & 0xffff);
    }
  CHECK(wrong == 0);
}

TEST_CASE("every byte of a box lies where swizzled_offset() says, by the TMA model") {
  for (uint32_t row_bytes = 16; row_bytes <= 256; row_bytes += 16)
    check_box(Swizzle::none, row_bytes, 40, 1);
  for (const Swizzle swizzle : {Swizzle::b32, Swizzle::b64, Swizzle::b128})
    for (uint32_t row_bytes = 16; row_bytes <= swizzle_span(swizzle); row_bytes += 16)
      for (const uint32_t rows : {1u, 3u, 40u, 256u}) check_box(swizzle, row_bytes, rows, 1);
}

TEST_CASE("the rows of a box of three dimensions count on") {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128})
    check_box(swizzle, 32, 5, 7);
}

TEST_CASE("a box off its period lies where swizzled_address() says") {
  static Shared shared[2];
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128})
    for (uint32_t offset = 0; offset < 2048; offset += 128) {
      CAPTURE(static_cast<int>(swizzle));
      CAPTURE(offset);
      const SwizzleMode mode = mode_of(swizzle);
      Numbered box(32, 40, 1, swizzle);
      box.load(offset, shared);
      const uint32_t pitch = tilewright::box_row_pitch(mode, 32);
      uint32_t wrong = 0;
      for (uint32_t i = 0; i < 40 * 32; ++i) {
        const uint32_t at = tilewright::swizzled_address(mode, offset + i / 32 * pitch + i % 32);
        wrong += (shared[0].bytes[at] | uint32_t{shared[1].bytes[at]} << 8) != i;
      }
      CHECK(wrong == 0);
    }
}

// The swizzle atoms of the PTX ISA ("Swizzling Modes"), in pieces of 16 bytes: the piece of the
// 128-byte line that lies at each place. The patterns repeat.
constexpr int kAtom32[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                               {2, 3, 0, 1, 6, 7, 4, 5},
                               {4, 5, 6, 7, 0, 1, 2, 3},
                               {6, 7, 4, 5, 2, 3, 0, 1}};
constexpr int kAtom64[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};

template <int kLines>
void check_lines(SwizzleMode mode, const int (&lines)[kLines][8], bool flips) {
  for (uint32_t line = 0; line < 64; ++line)
    for (uint32_t byte = 0; byte < 128; ++byte) {
      const uint32_t at = tilewright::swizzled_offset(mode, 128, line, byte);
      REQUIRE(at / 128 == line);
      const auto piece = static_cast<uint32_t>(lines[line % kLines][at % 128 / 16]);
      const uint32_t half = flips && line % 2 == 1 ? 8 : 0;
      CHECK(piece * 16 + (at % 16 ^ half) == byte);
    }
}

TEST_CASE("the modes of 10.0 permute lines as the PTX ISA lists them") {
  check_lines(SwizzleMode::bytes_128_atom_32, kAtom32, false);
  check_lines(SwizzleMode::bytes_128_atom_32_flip, kAtom32, true);
  check_lines(SwizzleMode::bytes_128_atom_64, kAtom64, false);
}

TEST_CASE("swizzled_address() is its own inverse and repeats after swizzle_period()") {
  for (int number = 0; number <= 6; ++number) {
    const auto mode = static_cast<SwizzleMode>(number);
    const uint32_t period = tilewright::swizzle_period(mode);
    for (uint32_t address = 0; address < 4096; ++address) {
      const uint32_t at = tilewright::swizzled_address(mode, address);
      CHECK(tilewright::swizzled_address(mode, at) == address);
      CHECK(tilewright::swizzled_address(mode, address + period) == at + period);
    }
  }
}

TEST_CASE("span and period are the library's") {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128,
                                Swizzle::b128_atom_32b, Swizzle::b128_atom_64b}) {
    CHECK(tilewright::swizzle_span(mode_of(swizzle)) == swizzle_span(swizzle));
    // Without a swizzle the library's period is the alignment of a box, 16 bytes.
    if (swizzle != Swizzle::none)
      CHECK(tilewright::swizzle_period(mode_of(swizzle)) == swizzle_period(swizzle));
  }
}

// These are constant expressions, so that a kernel computes no addresses at run time.
static_assert(tilewright::swizzled_offset(SwizzleMode::bytes_128, 128, 3, 17) == 3 * 128 + 33);
static_assert(alignof(tilewright::TensorMapParam) == 128);

}  // namespace
}  // namespace tw
