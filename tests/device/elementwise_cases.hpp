// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of elementwise operations share: a device with three arenas, a case, and a loop
// over its coordinates that says what the destination should be, by the formats' definitions.
#include <cmath>

#include "../kernels/float_reference.hpp"
#include "arena.hpp"
#include "ops/elementwise.hpp"

namespace tw::test {

inline constexpr uint64_t kElementwiseArena = 1 << 18;

struct ElementwiseCase {
  ElementwiseDesc desc;
  int64_t offset[kElementwiseOperands] = {};  // bytes into the arenas, of coordinate 0
  float alpha = 1;
  float beta = 1;
  bool in_place[2] = {};  // the source is the destination
};

inline std::string describe(const ElementwiseCase& c) {
  std::string text;
  const auto add = [&text](const char* before, auto number) {
    text += before;
    text += std::to_string(number);
  };
  for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
    text += std::string(operand_name(o)) + " " + dtype_name(c.desc.dtype[o]);
    add(" at ", c.offset[o]);
    text += "; ";
  }
  add("reduction ", c.desc.reduction);
  add(" saturates ", static_cast<int>(c.desc.saturates));
  add(" alpha ", c.alpha);
  add(" beta ", c.beta);
  add(" methods ", c.desc.methods & 7);
  if (c.in_place[0]) text += " a is dst";
  if (c.in_place[1]) text += " b is dst";
  for (int d = 0; d < c.desc.rank; ++d) {
    add("; ", c.desc.shape[d]);
    for (uint32_t o = 0; o < kElementwiseOperands; ++o)
      add(o == 0 ? ":" : ",", c.desc.stride[o][d]);
  }
  return text;
}

inline bool is_float(DType type) {
  return type == DType::F32 || small_format(type) != nullptr;
}
inline bool is_signed(DType type) {
  return type == DType::I8 || type == DType::I16 || type == DType::I32 || type == DType::I64;
}

inline uint64_t bits_at(const std::vector<uint8_t>& image, int64_t at, int64_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, &image[static_cast<size_t>(at)], static_cast<size_t>(bytes));
  return bits;
}

// A floating element's number, and back.
inline float number_at(DType type, uint64_t bits) {
  if (const FloatFormat* f = small_format(type))
    return static_cast<float>(meaning(*f, static_cast<uint32_t>(bits)));
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline uint64_t pattern_of(DType type, double value, bool saturates) {
  if (const FloatFormat* f = small_format(type)) return nearest(*f, value, saturates);
  if (std::isnan(value)) return 0x7fffffff;
  auto narrow = static_cast<float>(value);
  if (saturates && std::isinf(narrow)) narrow = std::copysign(3.40282347e38f, narrow);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  return bits;
}

template <class Number>
Number lesser_or_greater(Number x, Number y, bool greater) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == y) return (std::signbit(x) != greater) ? x : y;  // of two zeros -0 is the lesser
  return (x < y) != greater ? x : y;
}

inline uint64_t expected_float(const ElementwiseCase& c, uint64_t a, uint64_t b, uint64_t before) {
  const DType type = c.desc.dtype[kOperandDst];
  const float x = number_at(c.desc.dtype[kOperandA], a);
  float value = c.alpha * x;
  if (c.desc.dtype[kOperandB] != DType{}) {
    const float product = c.beta * number_at(c.desc.dtype[kOperandB], b);
    value = std::fma(c.alpha, x, product);
  }
  const uint64_t bits = pattern_of(type, value, c.desc.saturates);
  if (c.desc.reduction == kCombineNone) return bits;
  const float old = number_at(type, before);
  const float now = number_at(type, bits);
  // Exact in double for 8 and 16 bits; of f32 the sum of two is rounded once to f32 and once in
  // double, where that does no harm.
  const double result = c.desc.reduction == kCombineAdd
                            ? static_cast<double>(old) + static_cast<double>(now)
                            : lesser_or_greater(old, now, c.desc.reduction == kCombineMax);
  return pattern_of(type, result, c.desc.saturates);
}

inline uint64_t expected_double(const ElementwiseCase& c, uint64_t a, uint64_t b, uint64_t before) {
  double x, y, old;
  std::memcpy(&x, &a, 8);
  std::memcpy(&y, &b, 8);
  std::memcpy(&old, &before, 8);
  const double product = static_cast<double>(c.beta) * y;
  double value = static_cast<double>(c.alpha) * x;
  if (c.desc.dtype[kOperandB] != DType{})
    value = std::fma(static_cast<double>(c.alpha), x, product);
  if (c.desc.reduction == kCombineAdd) value = old + value;
  if (c.desc.reduction == kCombineMin || c.desc.reduction == kCombineMax)
    value = lesser_or_greater(old, value, c.desc.reduction == kCombineMax);
  if (std::isnan(value)) return 0x7fffffffffffffff;
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}

// Sign-extended, or zero-extended.
inline uint64_t integer_of(DType type, uint64_t bits) {
  const int shift = 64 - dtype_bits(type);
  if (is_signed(type)) return static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
  return bits << shift >> shift;
}

inline uint64_t expected_integer(const ElementwiseCase& c, uint64_t a, uint64_t b,
                                 uint64_t before) {
  const DType type = c.desc.dtype[kOperandDst];
  uint64_t value = integer_of(type, a) * static_cast<uint64_t>(static_cast<int64_t>(c.alpha));
  if (c.desc.dtype[kOperandB] != DType{})
    value += integer_of(type, b) * static_cast<uint64_t>(static_cast<int64_t>(c.beta));
  const uint64_t now = integer_of(type, value);
  const uint64_t old = integer_of(type, before);
  const bool less =
      is_signed(type) ? static_cast<int64_t>(now) < static_cast<int64_t>(old) : now < old;
  switch (c.desc.reduction) {
    case kCombineAdd:
      return old + now;
    case kCombineMin:
      return less ? now : old;
    case kCombineMax:
      return less ? old : now;
    case kCombineAnd:
      return old & now;
    case kCombineOr:
      return old | now;
    case kCombineXor:
      return old ^ now;
    case kCombineInc:
      return old >= now ? 0 : old + 1;
    case kCombineDec:
      return old == 0 || old > now ? now : old - 1;
    default:
      return now;
  }
}

struct ElementwiseBench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> arena[kElementwiseOperands];
  std::vector<uint8_t> clean;  // the destination's arena before each case
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
  }

  // Numbers of every size and kind: random bits, numbers that small formats hold too as each of the
  // wider ones, and special ones.
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

/// The destination's arena after the case, by a loop over coordinates.
inline std::vector<uint8_t> expected(const ElementwiseBench& bench, const ElementwiseCase& c) {
  const ElementwiseDesc& desc = c.desc;
  std::vector<uint8_t> dst = bench.clean;
  for (int d = 0; d < desc.rank; ++d)
    if (desc.shape[d] == 0) return dst;
  const int64_t dst_bytes = dtype_bytes(desc.dtype[kOperandDst]);
  int64_t at[kMaxCopyRank] = {};
  for (;;) {
    int64_t place[kElementwiseOperands];
    uint64_t bits[kElementwiseOperands] = {};
    for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
      if (desc.dtype[o] == DType{}) continue;
      const int64_t bytes = dtype_bytes(desc.dtype[o]);
      place[o] = c.offset[o];
      for (int d = 0; d < desc.rank; ++d) place[o] += at[d] * desc.stride[o][d] * bytes;
      const bool itself = o == kOperandDst || c.in_place[o];
      bits[o] = bits_at(itself ? bench.clean : bench.arena[o]->image(), place[o], bytes);
    }
    const DType type = desc.dtype[kOperandDst];
    const auto by = is_float(type)       ? expected_float
                    : type == DType::F64 ? expected_double
                                         : expected_integer;
    const uint64_t result = by(c, bits[kOperandA], bits[kOperandB], bits[kOperandDst]);
    std::memcpy(&dst[static_cast<size_t>(place[kOperandDst])], &result,
                static_cast<size_t>(dst_bytes));
    int d = desc.rank - 1;
    while (d >= 0 && ++at[d] == desc.shape[d]) at[d--] = 0;
    if (d < 0) return dst;
  }
}

inline ElementwiseRun run_of(const ElementwiseBench& bench, const ElementwiseCase& c) {
  ElementwiseRun run{.alpha = c.alpha, .beta = c.beta};
  for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
    const bool itself = o != kOperandDst && c.in_place[o];
    run.address[o] =
        bench.arena[itself ? +kOperandDst : o]->address() + static_cast<uint64_t>(c.offset[o]);
  }
  return run;
}

inline void check_case(ElementwiseBench& bench, const ElementwiseCase& c) {
  INFO(describe(c));
  Arena& dst = *bench.arena[kOperandDst];
  dst.image() = bench.clean;
  dst.upload();
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(ElementwisePlan::create(bench.device, c.desc, &plan));
  INFO(plan->explain());
  TW_REQUIRE_OK(static_cast<ElementwisePlan&>(*plan).run(*bench.stream, run_of(bench, c)));
  const auto got = dst.read();
  const auto want = expected(bench, c);
  const int64_t wrong = first_difference(got, want);
  const auto at = static_cast<size_t>(std::max<int64_t>(wrong, 0)) / 8 * 8;
  INFO("at byte " << wrong << ": before " << std::hex << bits_at(bench.clean, at, 8) << " got "
                  << bits_at(got, at, 8) << " want " << bits_at(want, at, 8));
  CHECK(wrong == -1);
}

}  // namespace tw::test
