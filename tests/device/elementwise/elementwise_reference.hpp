// SPDX-License-Identifier: Apache-2.0
#pragma once
// A case of an elementwise operation, and the reference result by the formats' definitions.
#include <cmath>
#include <cstring>
#include <string>

#include "ops/elementwise/elementwise.hpp"
#include "tests/device/common/activations.hpp"
#include "tests/kernels/common/float_reference.hpp"

namespace tw::test {

struct ElementwiseCase {
  ElementwiseDesc desc;
  int64_t offset[kElementwiseOperands] = {};  // of coordinate 0, in bytes from the arenas' begin
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

// Converts the bits of a floating-point element to a number; pattern_of() converts back.
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
  if (x == y) return (std::signbit(x) != greater) ? x : y;  // -0 < +0
  return (x < y) != greater ? x : y;
}

// The destination's bits for a result `value`: converted, and reduced with `before`.
inline uint64_t finished(const ElementwiseCase& c, double value, uint64_t before) {
  const DType type = c.desc.dtype[kOperandDst];
  const uint64_t bits = pattern_of(type, value, c.desc.saturates);
  if (c.desc.reduction == kReduceNone) return bits;
  const float old = number_at(type, before);
  const float now = number_at(type, bits);
  // In double a sum of 8- or 16-bit numbers is exact. A sum of f32 is rounded to double first,
  // which does not change its rounding to f32.
  const double result = c.desc.reduction == kReduceAdd
                            ? static_cast<double>(old) + static_cast<double>(now)
                            : min_or_max(old, now, c.desc.reduction == kReduceMax);
  return pattern_of(type, result, c.desc.saturates);
}

inline bool multiplies(const ElementwiseCase& c) {
  return c.desc.combine == kCombineMultiply;
}

// The argument of the activation.
inline float activated(const ElementwiseCase& c, uint64_t a, uint64_t b) {
  const float x = number_at(c.desc.dtype[kOperandA], a);
  if (c.desc.dtype[kOperandB] == DType{} || multiplies(c)) return c.alpha * x;
  const float product = c.beta * number_at(c.desc.dtype[kOperandB], b);
  return std::fma(c.alpha, x, product);
}

// The result without an activation, which is exact to the bit.
inline uint64_t expected_float(const ElementwiseCase& c, uint64_t a, uint64_t b, uint64_t before) {
  float value = activated(c, a, b);
  if (multiplies(c)) value *= number_at(c.desc.dtype[kOperandB], b);
  return finished(c, value, before);
}

struct Bounds {
  double low, high;
};

// Range of an activation's results, with the API's error bound and the rounding to f32.
inline Bounds activation_bounds(Activation which, float x) {
  if (std::isnan(x)) return {NAN, NAN};
  if (std::isinf(x)) return x < 0 ? Bounds{0, 0} : Bounds{INFINITY, INFINITY};
  const double near = exact_activation(which, double{x});
  double error = 0;
  if (which != Activation::relu)
    error = activation_error(which, double{x}) + std::fabs(near) * 0x1p-24 + 0x1p-149;
  return {near - error, near + error};
}

// Whether `got` is within the error bounds of an operation with an activation.
inline bool may_be(const ElementwiseCase& c, uint64_t a, uint64_t b, uint64_t before,
                   uint64_t got) {
  Bounds value = activation_bounds(c.desc.activation, activated(c, a, b));
  if (multiplies(c)) {
    const double y = number_at(c.desc.dtype[kOperandB], b);
    // Infinity times a value that may be zero: any result is allowed.
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
  // f8e4m3 has no infinity: a bound that overflows to its NaN counts as infinity.
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
  if (c.desc.reduction == kReduceAdd) value = old + value;
  if (c.desc.reduction == kReduceMin || c.desc.reduction == kReduceMax)
    value = min_or_max(old, value, c.desc.reduction == kReduceMax);
  if (std::isnan(value)) return 0x7fffffffffffffff;
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}

// Sign- or zero-extends an integer.
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
    case kReduceAdd:
      return old + now;
    case kReduceMin:
      return less ? now : old;
    case kReduceMax:
      return less ? old : now;
    case kReduceAnd:
      return old & now;
    case kReduceOr:
      return old | now;
    case kReduceXor:
      return old ^ now;
    case kReduceInc:
      return old >= now ? 0 : old + 1;
    case kReduceDec:
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
