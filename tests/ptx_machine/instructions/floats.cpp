// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/floats.hpp"

#include <cmath>
#include <limits>

#include "tests/ptx_machine/instructions/rounding.hpp"
#include "tests/ptx_machine/machine/launch.hpp"
#include "tests/ptx_machine/machine/warp.hpp"

namespace tw::ptx_machine {
namespace {

// Every operation returns this NaN, whatever NaN went in.
constexpr uint32_t kNan32 = 0x7fffffff;
constexpr uint64_t kNan64 = 0xfff8000000000000;

float clean(float value) {
  return std::isnan(value) ? std::bit_cast<float>(kNan32) : value;
}
double clean(double value) {
  return std::isnan(value) ? std::bit_cast<double>(kNan64) : value;
}

/// .ftz: replaces a subnormal number by a zero of the same sign.
template <class T>
T flush(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T(0), value) : value;
}

#define TW_FLOAT(name, parameters, expression) \
  struct name {                                \
    template <class T>                         \
    static T of parameters {                   \
      return clean(expression);                \
    }                                          \
  };
TW_FLOAT(Add, (T a, T b), a + b)
TW_FLOAT(Sub, (T a, T b), a - b)
TW_FLOAT(Mul, (T a, T b), a* b)
TW_FLOAT(Div, (T a, T b), a / b)
TW_FLOAT(Fma, (T a, T b, T c), std::fma(a, b, c))
#undef TW_FLOAT

/// Minimum or maximum. -0 < +0. Without `propagate` (.NaN) the result is a NaN only if both are.
template <class T>
T extreme(T a, T b, bool larger, bool propagate) {
  if (std::isnan(a) || std::isnan(b)) {
    if (propagate || (std::isnan(a) && std::isnan(b)))
      return clean(std::numeric_limits<T>::quiet_NaN());
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) == larger ? b : a;
  return (a < b) == larger ? b : a;
}

template <class F, class T, bool kFlush>
void binary(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) {
    d[i] =
        kFlush ? flush(F::template of<T>(flush(a[i]), flush(b[i]))) : F::template of<T>(a[i], b[i]);
  });
}

template <class T>
void fma(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]),
          *c = source<T>(w, in.operand[3]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = Fma::of<T>(a[i], b[i], c[i]); });
}

template <class T>
void min_max(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]);
  T* d = target<T>(w, in.operand[0]);
  const bool larger = in.op == Op::fmax, propagate = in.has(Class::not_number);
  each_lane(w.mask, [&](uint32_t i) { d[i] = extreme(a[i], b[i], larger, propagate); });
}

template <class T>
void sign(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  T* d = target<T>(w, in.operand[0]);
  const bool negate = in.op == Op::fneg;
  each_lane(w.mask, [&](uint32_t i) { d[i] = negate ? -a[i] : std::fabs(a[i]); });
}

/// An .approx function. In double and rounded once, it is within PTX's error bounds.
double approximated(Op op, double x) {
  switch (op) {
    case Op::rcp_approx:
      return 1 / x;
    case Op::ex2_approx:
      return std::exp2(x);
    case Op::lg2_approx:
      return std::log2(x);
    case Op::tanh_approx:
      return std::tanh(x);
    case Op::sqrt_approx:
      return std::sqrt(x);
    default:
      return 1 / std::sqrt(x);
  }
}

void approximate(Warp& w, const Instruction& in) {
  const float* a = source<float>(w, in.operand[1]);
  float* d = target<float>(w, in.operand[0]);
  const bool flushes = in.has(Class::flush);
  w.launch->statistics.approximate = true;
  each_lane(w.mask, [&](uint32_t i) {
    const float x = flushes ? flush(a[i]) : a[i];
    const float y = clean(static_cast<float>(approximated(in.op, static_cast<double>(x))));
    d[i] = flushes ? flush(y) : y;
  });
}

template <class T>
void reciprocal(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = Div::of<T>(T(1), a[i]); });
}

// Doubles hold sums and products of 16-bit numbers precisely enough for a single rounding.
struct F16 {
  static double wide(uint16_t bits) { return static_cast<double>(f16_to_float(bits)); }
  static uint16_t narrow(double value) { return to_f16(value); }
};
struct Bf16 {
  static double wide(uint16_t bits) { return static_cast<double>(bf16_to_float(bits)); }
  static uint16_t narrow(double value) { return to_bf16(value); }
};

template <class F>
uint16_t half_of(const Instruction& in, uint16_t a, uint16_t b, uint16_t c) {
  const double x = F::wide(a), y = F::wide(b);
  switch (in.op) {
    case Op::half_add:
      return F::narrow(x + y);
    case Op::half_sub:
      return F::narrow(x - y);
    case Op::half_mul:
      return F::narrow(x * y);
    case Op::half_fma:
      return F::narrow(std::fma(x, y, F::wide(c)));
    default:
      return F::narrow(extreme(x, y, in.op == Op::half_max, in.has(Class::not_number)));
  }
}

template <class F, uint32_t kPer>
void halves(Warp& w, const Instruction& in) {
  const uint16_t *a = source<uint16_t>(w, in.operand[1]), *b = source<uint16_t>(w, in.operand[2]);
  const uint16_t* c = in.op == Op::half_fma ? source<uint16_t>(w, in.operand[3]) : a;
  uint16_t* d = target<uint16_t>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) {
    for (uint32_t k = kPer * i; k < kPer * i + kPer; ++k) d[k] = half_of<F>(in, a[k], b[k], c[k]);
  });
}

template <class F>
Run binary_of(const Instruction& in) {
  if (in.word(Class::rounding) != Word::none && in.word(Class::rounding) != Word::rn)
    return nullptr;
  if (in.types[0] == Type::f64) return binary<F, double, false>;
  return in.has(Class::flush) ? binary<F, float, true> : binary<F, float, false>;
}

}  // namespace

Run float_handler(const Instruction& in) {
  const bool wide = in.types[0] == Type::f64;
  const bool nearest = in.word(Class::rounding) == Word::rn;
  switch (in.op) {
    case Op::fadd:
      return binary_of<Add>(in);
    case Op::fsub:
      return binary_of<Sub>(in);
    case Op::fmul:
      return binary_of<Mul>(in);
    case Op::fdiv:
      return binary_of<Div>(in);
    case Op::ffma:
      if (!nearest || in.has(Class::flush)) return nullptr;
      return wide ? fma<double> : fma<float>;
    case Op::fmin:
    case Op::fmax:
      if (in.has(Class::flush)) return nullptr;
      return wide ? min_max<double> : min_max<float>;
    case Op::fneg:
    case Op::fabs:
      return wide ? sign<double> : sign<float>;
    case Op::rcp:
      return !nearest ? nullptr : wide ? reciprocal<double> : reciprocal<float>;
    case Op::rcp_approx:
    case Op::ex2_approx:
    case Op::lg2_approx:
    case Op::tanh_approx:
    case Op::sqrt_approx:
    case Op::rsqrt_approx:
      return approximate;
    case Op::half_add:
    case Op::half_sub:
    case Op::half_mul:
    case Op::half_fma:
    case Op::half_min:
    case Op::half_max:
      switch (in.types[0]) {
        case Type::f16:
          return halves<F16, 1>;
        case Type::f16x2:
          return halves<F16, 2>;
        case Type::bf16:
          return halves<Bf16, 1>;
        default:
          return halves<Bf16, 2>;
      }
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
