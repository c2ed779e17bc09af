// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/integers.hpp"

#include <type_traits>

#include "tests/ptx_machine/machine/warp.hpp"

namespace tw::ptx_machine {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
constexpr uint32_t kBits = 8 * sizeof(T);

// The type of twice the width, for mul.hi and mul.wide.
template <class T>
struct WideOf;
template <>
struct WideOf<uint16_t> {
  using Type = uint32_t;
};
template <>
struct WideOf<int16_t> {
  using Type = int32_t;
};
template <>
struct WideOf<uint32_t> {
  using Type = uint64_t;
};
template <>
struct WideOf<int32_t> {
  using Type = int64_t;
};
template <>
struct WideOf<uint64_t> {
  __extension__ using Type = unsigned __int128;
};
template <>
struct WideOf<int64_t> {
  __extension__ using Type = __int128;
};
template <class T>
using Wide = typename WideOf<T>::Type;

// Sums and products wrap, so they are computed in an unsigned type of at least 32 bits.
template <class T>
using Ring = std::conditional_t<sizeof(T) < 4, uint32_t, Unsigned<T>>;

#define TW_BINARY(name, expression)      \
  struct name {                          \
    template <class T>                   \
    static T of(T a, T b) {              \
      return static_cast<T>(expression); \
    }                                    \
  };
TW_BINARY(Add, Ring<T>(a) + Ring<T>(b))
TW_BINARY(Sub, Ring<T>(a) - Ring<T>(b))
TW_BINARY(MulLo, Ring<T>(a) * Ring<T>(b))
TW_BINARY(MulHi, (static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> kBits<T>)
TW_BINARY(Min, a < b ? a : b)
TW_BINARY(Max, a > b ? a : b)
// PTX leaves division by 0 unspecified; here it sets all bits. The minimum divided by -1 wraps.
TW_BINARY(Div, b == 0                              ? T(-1)
               : b == T(-1) && std::is_signed_v<T> ? T(Ring<T>(0) - Ring<T>(a))
                                                   : T(a / b))
TW_BINARY(Rem, b == 0 ? a : b == T(-1) && std::is_signed_v<T> ? T(0) : T(a % b))
TW_BINARY(And, a& b)
TW_BINARY(Or, a | b)
TW_BINARY(Xor, a ^ b)
#undef TW_BINARY

#define TW_UNARY(name, expression)       \
  struct name {                          \
    template <class T>                   \
    static T of(T a) {                   \
      return static_cast<T>(expression); \
    }                                    \
  };
TW_UNARY(Neg, Ring<T>(0) - Ring<T>(a))
TW_UNARY(Abs, a < 0 ? T(Ring<T>(0) - Ring<T>(a)) : a)
TW_UNARY(Not, ~a)
#undef TW_UNARY

template <class F, class T>
void binary(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = F::template of<T>(a[i], b[i]); });
}

template <class F, class T>
void unary(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = F::template of<T>(a[i]); });
}

template <class T>
void mul_wide(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]);
  Wide<T>* d = target<Wide<T>>(w, in.operand[0]);
  each_lane(w.mask,
            [&](uint32_t i) { d[i] = static_cast<Wide<T>>(a[i]) * static_cast<Wide<T>>(b[i]); });
}

template <class T>
void mad_wide(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]);
  const Wide<T>* c = source<Wide<T>>(w, in.operand[3]);
  Wide<T>* d = target<Wide<T>>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) {
    d[i] = Add::of<Wide<T>>(static_cast<Wide<T>>(a[i]) * static_cast<Wide<T>>(b[i]), c[i]);
  });
}

template <class F, class T>
void mad(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]),
          *c = source<T>(w, in.operand[3]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = Add::of<T>(F::template of<T>(a[i], b[i]), c[i]); });
}

// Shift amounts of at least the width give 0, or copies of the sign.
template <class T>
void shl(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  const uint32_t* n = source<uint32_t>(w, in.operand[2]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) {
    d[i] = n[i] >= kBits<T> ? T(0) : static_cast<T>(Ring<T>(a[i]) << n[i]);
  });
}

template <class T>
void shr(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  const uint32_t* n = source<uint32_t>(w, in.operand[2]);
  T* d = target<T>(w, in.operand[0]);
  constexpr uint32_t kLast = kBits<T> - 1;
  each_lane(w.mask, [&](uint32_t i) {
    const uint32_t by = n[i] > kLast ? kLast : n[i];
    d[i] = n[i] > kLast && std::is_unsigned_v<T> ? T(0) : static_cast<T>(a[i] >> by);
  });
}

void shf(Warp& w, const Instruction& in) {
  const uint32_t *a = source<uint32_t>(w, in.operand[1]), *b = source<uint32_t>(w, in.operand[2]),
                 *c = source<uint32_t>(w, in.operand[3]);
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  const bool left = in.word(Class::direction) == Word::left;
  const bool wrap = in.word(Class::shift_mode) == Word::wrap;
  each_lane(w.mask, [&](uint32_t i) {
    const uint32_t n = wrap ? c[i] & 31 : c[i] > 32 ? 32 : c[i];
    const uint64_t both = uint64_t{b[i]} << 32 | a[i];
    d[i] = static_cast<uint32_t>(left ? both >> (32 - n) : both >> n);
  });
}

template <class T>
void bfe(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  const uint32_t *p = source<uint32_t>(w, in.operand[2]), *l = source<uint32_t>(w, in.operand[3]);
  T* d = target<T>(w, in.operand[0]);
  constexpr uint32_t kLast = kBits<T> - 1;
  each_lane(w.mask, [&](uint32_t i) {
    const uint32_t at = p[i] & 0xff, length = l[i] & 0xff;
    const Unsigned<T> u = static_cast<Unsigned<T>>(a[i]);
    const uint32_t top = at + length - 1 > kLast ? kLast : at + length - 1;
    const bool sign = std::is_signed_v<T> && length != 0 && (u >> top & 1) != 0;
    const Unsigned<T> out =
        at > kLast || length == 0 ? Unsigned<T>(0) : static_cast<Unsigned<T>>(u >> at);
    const uint32_t kept = at > kLast ? 0 : (length > kLast + 1 - at ? kLast + 1 - at : length);
    const Unsigned<T> low =
        static_cast<Unsigned<T>>(kept > kLast ? ~Unsigned<T>(0) : (Unsigned<T>(1) << kept) - 1);
    d[i] = static_cast<T>((out & low) | (sign ? static_cast<Unsigned<T>>(~low) : Unsigned<T>(0)));
  });
}

template <class T>
void bfi(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]);
  const uint32_t *p = source<uint32_t>(w, in.operand[3]), *l = source<uint32_t>(w, in.operand[4]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) {
    const uint32_t at = p[i] & 0xff, length = l[i] & 0xff;
    const uint64_t low = length >= kBits<T> ? ~uint64_t{0} : (uint64_t{1} << length) - 1;
    const uint64_t field = at >= kBits<T> ? 0 : low << at;
    const uint64_t placed = at >= kBits<T> ? 0 : uint64_t{a[i]} << at;
    d[i] = static_cast<T>((b[i] & ~field) | (placed & field));
  });
}

/// Position of the highest set bit, or of the highest clear bit of a negative number; ~0 if none.
template <class T>
uint32_t highest(T value) {
  Unsigned<T> bits = static_cast<Unsigned<T>>(value);
  if (std::is_signed_v<T> && value < 0) bits = ~bits;
  return bits == 0 ? ~0u : kBits<T> - 1 - static_cast<uint32_t>(std::countl_zero(bits));
}

template <class T>
void bfind(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  const bool shift = in.op == Op::bfind_shift;
  each_lane(w.mask, [&](uint32_t i) {
    const uint32_t found = highest(a[i]);
    d[i] = shift && found != ~0u ? kBits<T> - 1 - found : found;
  });
}

template <class T>
void brev(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) {
    T out = 0;
    for (uint32_t bit = 0; bit < kBits<T>; ++bit)
      out = static_cast<T>(out << 1 | (a[i] >> bit & 1));
    d[i] = out;
  });
}

template <class T>
void count_bits(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  const bool zeros = in.op == Op::clz;
  each_lane(w.mask, [&](uint32_t i) {
    d[i] = static_cast<uint32_t>(zeros ? std::countl_zero(a[i]) : std::popcount(a[i]));
  });
}

void prmt(Warp& w, const Instruction& in) {
  const uint32_t *a = source<uint32_t>(w, in.operand[1]), *b = source<uint32_t>(w, in.operand[2]),
                 *c = source<uint32_t>(w, in.operand[3]);
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t both = uint64_t{b[i]} << 32 | a[i];
    uint32_t out = 0;
    for (uint32_t byte = 0; byte < 4; ++byte) {
      const uint32_t pick = c[i] >> (4 * byte) & 15;
      uint32_t value = static_cast<uint32_t>(both >> (8 * (pick & 7)) & 0xff);
      if (pick & 8) value = value & 0x80 ? 0xff : 0;
      out |= value << (8 * byte);
    }
    d[i] = out;
  });
}

void lop3(Warp& w, const Instruction& in) {
  const uint32_t *a = source<uint32_t>(w, in.operand[1]), *b = source<uint32_t>(w, in.operand[2]),
                 *c = source<uint32_t>(w, in.operand[3]);
  uint32_t* d = target<uint32_t>(w, in.operand[0]);
  const uint32_t table = static_cast<uint32_t>(in.operand[4].value);
  each_lane(w.mask, [&](uint32_t i) {
    uint32_t out = 0;
    for (uint32_t k = 0; k < 8; ++k)
      if (table >> k & 1)
        out |= (k & 4 ? a[i] : ~a[i]) & (k & 2 ? b[i] : ~b[i]) & (k & 1 ? c[i] : ~c[i]);
    d[i] = out;
  });
}

template <class F>
void predicates(Warp& w, const Instruction& in) {
  set_predicate(w, in.operand[0],
                F::template of<uint32_t>(predicate(w, in.operand[1]), predicate(w, in.operand[2])));
}
void predicate_not(Warp& w, const Instruction& in) {
  set_predicate(w, in.operand[0], ~predicate(w, in.operand[1]));
}

// Calls visit with a value of the C++ type.
template <class Visit>
Run with_type(Type type, Visit visit) {
  switch (type) {
    case Type::b16:
    case Type::u16:
      return visit(uint16_t());
    case Type::s16:
      return visit(int16_t());
    case Type::b32:
    case Type::u32:
      return visit(uint32_t());
    case Type::s32:
      return visit(int32_t());
    case Type::b64:
    case Type::u64:
      return visit(uint64_t());
    case Type::s64:
      return visit(int64_t());
    default:
      return nullptr;
  }
}

template <class F>
Run binary_of(Type type) {
  return with_type(type, [](auto t) -> Run { return binary<F, decltype(t)>; });
}
template <class F>
Run unary_of(Type type) {
  return with_type(type, [](auto t) -> Run { return unary<F, decltype(t)>; });
}
template <class F>
Run mad_of(Type type) {
  return with_type(type, [](auto t) -> Run { return mad<F, decltype(t)>; });
}
template <class F>
Run logic_of(Type type) {
  return type == Type::pred ? predicates<F> : binary_of<F>(type);
}
#define TW_WITH(function) with_type(type, [](auto t) -> Run { return function<decltype(t)>; })
#define TW_WITH_UNSIGNED(function) \
  with_type(type, [](auto t) -> Run { return function<std::make_unsigned_t<decltype(t)>>; })

Run wide_handler(Op op, Type type) {
  switch (type) {
    case Type::u16:
      return op == Op::mul_wide ? mul_wide<uint16_t> : mad_wide<uint16_t>;
    case Type::s16:
      return op == Op::mul_wide ? mul_wide<int16_t> : mad_wide<int16_t>;
    case Type::u32:
      return op == Op::mul_wide ? mul_wide<uint32_t> : mad_wide<uint32_t>;
    case Type::s32:
      return op == Op::mul_wide ? mul_wide<int32_t> : mad_wide<int32_t>;
    default:
      return nullptr;
  }
}

}  // namespace

Run integer_handler(const Instruction& instruction) {
  const Type type = instruction.types[0];
  switch (instruction.op) {
    case Op::add:
      return binary_of<Add>(type);
    case Op::sub:
      return binary_of<Sub>(type);
    case Op::mul_lo:
      return binary_of<MulLo>(type);
    case Op::mul_hi:
      return binary_of<MulHi>(type);
    case Op::mul_wide:
    case Op::mad_wide:
      return wide_handler(instruction.op, type);
    case Op::mad_lo:
      return mad_of<MulLo>(type);
    case Op::mad_hi:
      return mad_of<MulHi>(type);
    case Op::div:
      return binary_of<Div>(type);
    case Op::rem:
      return binary_of<Rem>(type);
    case Op::min:
      return binary_of<Min>(type);
    case Op::max:
      return binary_of<Max>(type);
    case Op::neg:
      return unary_of<Neg>(type);
    case Op::abs:
      return unary_of<Abs>(type);
    case Op::bit_and:
      return logic_of<And>(type);
    case Op::bit_or:
      return logic_of<Or>(type);
    case Op::bit_xor:
      return logic_of<Xor>(type);
    case Op::bit_not:
      return type == Type::pred ? predicate_not : unary_of<Not>(type);
    case Op::shl:
      return TW_WITH(shl);
    case Op::shr:
      return TW_WITH(shr);
    case Op::shf:
      return shf;
    case Op::bfe:
      return TW_WITH(bfe);
    case Op::bfi:
      return TW_WITH_UNSIGNED(bfi);
    case Op::bfind:
    case Op::bfind_shift:
      return TW_WITH(bfind);
    case Op::brev:
      return TW_WITH_UNSIGNED(brev);
    case Op::popc:
    case Op::clz:
      return TW_WITH_UNSIGNED(count_bits);
    case Op::prmt:
      return prmt;
    case Op::lop3:
      return lop3;
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
