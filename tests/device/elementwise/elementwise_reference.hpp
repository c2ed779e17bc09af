// SPDX-License-Identifier: Apache-2.0
#pragma once
// A case of an elementwise operation, and what an element of its destination should be, by the
// formats' definitions.
#include <cmath>
#include <cstring>
#include <string>

#include "ops/elementwise/elementwise.hpp"
#include "tests/device/common/activations.hpp"
#include "tests/kernels/common/float_reference.hpp"

namespace tw::test {

struct ElementwiseCase {
  ElementwiseDesc desc;
  int64_t offset[kElementwiseOperands] = {};  // bytes into the arenas, of coordinate 0
  float alpha = 1;
  float beta = 1;
  bool in_place[2] = {};   // the source is the destination
  bool on_device[2] = {};  // alpha, beta: the run reads the factor from device memory
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
  add(" combine ", c.desc.combine);
  text += std::string(" activation ") + activation_name(c.desc.activation);
  add(" alpha ", c.alpha);
  add(" beta ", c.beta);
  add(" methods ", c.desc.methods & 7);
  if (c.on_device[0]) text += " alpha on the device";
  if (c.on_device[1]) text += " beta on the device";
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
Number min_or_max(Number x, Number y, bool greater) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == y) return (std::signbit(x) != greater) ? x : y;  // of two zeros -0 is the lesser
  return (x < y) != greater ? x : y;
}

// The destination's bits from a result, which the exactly rounded f32 or a bound of it may be.
inline uint64_t finished(const ElementwiseCase& c, double value, uint64_t before) {
  const DType type = c.desc.dtype[kOperandDst];
  const uint64_t bits = pattern_of(type, value, c.desc.saturates);
  if (c.desc.reduction == kCombineNone) return bits;
  const float old = number_at(type, before);
  const float now = number_at(type, bits);
  // Exact in double for 8 and 16 bits; of f32 the sum of two is rounded once to f32 and once in
  // double, where that does no harm.
  const double result = c.desc.reduction == kCombineAdd
                            ? static_cast<double>(old) + static_cast<double>(now)
                            : min_or_max(old, now, c.desc.reduction == kCombineMax);
  return pattern_of(type, result, c.desc.saturates);
}

inline bool multiplies(const ElementwiseCase& c) {
  return c.desc.combine == kSourcesMultiply;
}

// What the activation is applied to.
inline float activated(const ElementwiseCase& c, uint64_t a, uint64_t b) {
  const float x = number_at(c.desc.dtype[kOperandA], a);
  if (c.desc.dtype[kOperandB] == DType{} || multiplies(c)) return c.alpha * x;
  const float product = c.beta * number_at(c.desc.dtype[kOperandB], b);
  return std::fma(c.alpha, x, product);
}

// Without an activation every bit is known.
inline uint64_t expected_float(const ElementwiseCase& c, uint64_t a, uint64_t b, uint64_t before) {
  float value = activated(c, a, b);
  if (multiplies(c)) value *= number_at(c.desc.dtype[kOperandB], b);
  return finished(c, value, before);
}

struct Bounds {
  double low, high;
};

// The numbers that an activation may give.
inline Bounds activation_bounds(Activation which, float x) {
  if (std::isnan(x)) return {NAN, NAN};
  if (std::isinf(x)) return x < 0 ? Bounds{0, 0} : Bounds{INFINITY, INFINITY};
  const double near = exact_activation(which, double{x});
  double error = 0;
  if (which != Activation::relu)
    error = activation_error(which, double{x}) + std::fabs(near) * 0x1p-24 + 0x1p-149;
  return {near - error, near + error};
}

// Whether the destination's bits may be what an activation makes of these elements.
inline bool may_be(const ElementwiseCase& c, uint64_t a, uint64_t b, uint64_t before,
                   uint64_t got) {
  Bounds value = activation_bounds(c.desc.activation, activated(c, a, b));
  if (multiplies(c)) {
    const double y = number_at(c.desc.dtype[kOperandB], b);
    // The product of an infinity and what may be a zero is anything.
    if (std::isinf(y) && value.low <= 0 && value.high >= 0) return true;
    const double ends[] = {value.low * y, value.high * y};
    const double rounding = std::max(std::fabs(ends[0]), std::fabs(ends[1])) * 0x1p-24 + 0x1p-149;
    value = {std::fmin(ends[0], ends[1]), std::fmax(ends[0], ends[1])};
    if (std::isfinite(rounding)) value = {value.low - rounding, value.high + rounding};
    if (std::isnan(ends[0]) || std::isnan(ends[1])) value = {NAN, NAN};
  }
  const DType type = c.desc.dtype[kOperandDst];
  const uint64_t low = finished(c, value.low, before);
  const uint64_t high = finished(c, value.high, before);
  if (got == low || got == high) return true;
  // A bound past the numbers of f8e4m3, which has no infinity, is one all the same.
  const auto end = [&](uint64_t bits, double bound) {
    const float number = number_at(type, bits);
    const bool past = std::isnan(number) && type == DType::F8E4M3;
    return past ? std::copysign(INFINITY, static_cast<float>(bound)) : number;
  };
  const float number = number_at(type, got);
  return number >= end(low, value.low) && number <= end(high, value.high);
}

inline uint64_t expected_double(const ElementwiseCase& c, uint64_t a, uint64_t b, uint64_t before) {
  double x, y, old;
  std::memcpy(&x, &a, 8);
  std::memcpy(&y, &b, 8);
  std::memcpy(&old, &before, 8);
  const double product = static_cast<double>(c.beta) * y;
  double value = static_cast<double>(c.alpha) * x;
  if (multiplies(c))
    value *= y;
  else if (c.desc.dtype[kOperandB] != DType{})
    value = std::fma(static_cast<double>(c.alpha), x, product);
  if (c.desc.reduction == kCombineAdd) value = old + value;
  if (c.desc.reduction == kCombineMin || c.desc.reduction == kCombineMax)
    value = min_or_max(old, value, c.desc.reduction == kCombineMax);
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
  if (multiplies(c))
    value *= integer_of(type, b);
  else if (c.desc.dtype[kOperandB] != DType{})
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

inline uint64_t expected_element(const ElementwiseCase& c, uint64_t a, uint64_t b,
                                 uint64_t before) {
  const DType type = c.desc.dtype[kOperandDst];
  const auto by = is_float(type)       ? expected_float
                  : type == DType::F64 ? expected_double
                                       : expected_integer;
  return by(c, a, b, before);
}

}  // namespace tw::test
