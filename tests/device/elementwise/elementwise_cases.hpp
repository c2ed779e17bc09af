// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the tests of elementwise operations: a device with arenas, and a reference loop.
#include <cmath>

#include "ops/elementwise/elementwise.hpp"
#include "tests/device/common/arena.hpp"
#include "tests/device/elementwise/elementwise_reference.hpp"

namespace tw::test {

inline constexpr uint64_t kElementwiseArena = 1 << 18;

struct ElementwiseBench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> arena[kElementwiseOperands];
  std::unique_ptr<Arena> scalars;  // alpha, beta
  std::vector<uint8_t> clean;      // the destination's arena before each case
  std::mt19937_64 random;

  explicit ElementwiseBench(uint64_t seed, uint64_t bytes = kElementwiseArena) : random(seed) {
    device = open_test_device();
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    for (auto& one : arena) {
      one = std::make_unique<Arena>(device, *stream, bytes);
      fill(one->image());
      one->upload();
      TW_REQUIRE_OK(stream->synchronize());
    }
    clean = arena[kOperandDst]->image();
    scalars = std::make_unique<Arena>(device, *stream, 256);
  }

  // Fills an arena with random bits, numbers that narrow formats can hold, and special values.
  void fill(std::vector<uint8_t>& image) {
    std::normal_distribution<float> normal;
    const uint64_t special[] = {0x7f8000007fc00001, 0xff800000ff800001, 0x8000000000000000,
                                0x0000000180000001, 0x7c007e01fc00fe01, 0x7f807f81ff80ff81,
                                0x7f7fff7f7b7bfbfb, 0x0001800103ff83ff, 0x477ff00047700000,
                                0x43e8000043e80001, 0x7f7fffff00800000, 0x3f8000003f800001};
    for (size_t i = 0; i + 8 <= image.size(); i += 8) {
      uint64_t word = random();
      const int64_t style = pick(random, 0, 7);
      if (style == 0) word = special[pick(random, 0, 11)];
      const auto number = [&] {
        return std::ldexp(normal(random), static_cast<int>(pick(random, -12, 12)));
      };
      if (style == 1 || style == 2)
        word = static_cast<uint64_t>(patterns(DType::F32, number(), number()));
      if (style >= 3 && style <= 5) {
        const DType types[] = {DType::F16, DType::BF16, DType::F16};
        word = 0;
        for (int k = 0; k < 4; ++k)
          word = word << 16 | pattern_of(types[style - 3], number(), false);
      }
      std::memcpy(&image[i], &word, 8);
    }
  }
  static uint64_t patterns(DType type, double low, double high) {
    return pattern_of(type, low, false) | pattern_of(type, high, false) << 32;
  }
};

/// Calls with(a, b, before, place) for each coordinate: the bits of the sources and of the
/// destination before the run, and the result's offset in the destination's arena.
template <class With>
void for_each_element(const ElementwiseBench& bench, const ElementwiseCase& c, With with) {
  const ElementwiseDesc& desc = c.desc;
  for (int d = 0; d < desc.rank; ++d)
    if (desc.shape[d] == 0) return;
  int64_t at[kMaxCopyRank] = {};
  for (;;) {
    int64_t place = 0;
    uint64_t bits[kElementwiseOperands] = {};
    for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
      if (desc.dtype[o] == DType{}) continue;
      const int64_t bytes = dtype_bytes(desc.dtype[o]);
      place = c.offset[o];
      for (int d = 0; d < desc.rank; ++d) place += at[d] * desc.stride[o][d] * bytes;
      const bool itself = o == kOperandDst || c.in_place[o];
      bits[o] = bits_at(itself ? bench.clean : bench.arena[o]->image(), place, bytes);
    }
    with(bits[kOperandA], bits[kOperandB], bits[kOperandDst], place);
    int d = desc.rank - 1;
    while (d >= 0 && ++at[d] == desc.shape[d]) at[d--] = 0;
    if (d < 0) return;
  }
}

/// The destination's arena after the case; elements of `got` within an activation's error bounds.
inline std::vector<uint8_t> expected(const ElementwiseBench& bench, const ElementwiseCase& c,
                                     const std::vector<uint8_t>& got) {
  std::vector<uint8_t> dst = bench.clean;
  const int64_t bytes = dtype_bytes(c.desc.dtype[kOperandDst]);
  const bool activates = c.desc.activation != Activation::identity;
  for_each_element(bench, c, [&](uint64_t a, uint64_t b, uint64_t before, int64_t place) {
    uint64_t result = bits_at(got, place, bytes);
    if (!activates || !may_be(c, a, b, before, result))
      result = activates ? ~result : expected_element(c, a, b, before);
    std::memcpy(&dst[static_cast<size_t>(place)], &result, static_cast<size_t>(bytes));
  });
  return dst;
}

inline ElementwiseRun run_of(const ElementwiseBench& bench, const ElementwiseCase& c) {
  ElementwiseRun run{.alpha = c.alpha, .beta = c.beta};
  for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
    if (c.desc.dtype[o] == DType{}) continue;
    const bool itself = o != kOperandDst && c.in_place[o];
    run.address[o] =
        bench.arena[itself ? +kOperandDst : o]->address() + static_cast<uint64_t>(c.offset[o]);
  }
  // The host arguments differ from the device's factors, so a kernel that reads them is noticed.
  if (c.on_device[0]) run.alpha = c.alpha + 1, run.device_alpha = bench.scalars->address();
  if (c.on_device[1]) run.beta = c.beta + 1, run.device_beta = bench.scalars->address() + 4;
  return run;
}

inline void check_case(ElementwiseBench& bench, const ElementwiseCase& c) {
  INFO(describe(c));
  Arena& dst = *bench.arena[kOperandDst];
  dst.image() = bench.clean;
  dst.upload();
  std::memcpy(&bench.scalars->image()[0], &c.alpha, 4);
  std::memcpy(&bench.scalars->image()[4], &c.beta, 4);
  bench.scalars->upload();
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(ElementwisePlan::create(bench.device, c.desc, &plan));
  INFO(plan->explain());
  TW_REQUIRE_OK(static_cast<ElementwisePlan&>(*plan).run(*bench.stream, run_of(bench, c)));
  const auto got = dst.read();
  const auto want = expected(bench, c, got);
  const int64_t wrong = first_difference(got, want);
  const auto at = static_cast<size_t>(std::max<int64_t>(wrong, 0)) / 8 * 8;
  INFO("at byte " << wrong << ": before " << std::hex << bits_at(bench.clean, at, 8) << " got "
                  << bits_at(got, at, 8) << " want " << bits_at(want, at, 8));
  CHECK(wrong == -1);
}

}  // namespace tw::test
