// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/convert.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/common/convert.h"
#include "tests/ptx_machine/machine/launch.hpp"
#include "tests/ptx_machine/machine/warp.hpp"

namespace tw::ptx_machine {
namespace {

// Compares all 32 lanes; set_predicate() applies the lane mask.
template <class T, class F>
uint32_t compare_lanes(Warp& w, const Instruction& in, F holds) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]);
  uint32_t out = 0;
  for (uint32_t i = 0; i < kLanes; ++i) out |= static_cast<uint32_t>(holds(a[i], b[i])) << i;
  return out;
}

template <class T>
uint32_t compare(Warp& w, const Instruction& in) {
  const auto nan = [](T a, T b) { return std::is_floating_point_v<T> && (a != a || b != b); };
  switch (in.word(Class::comparison)) {
    case Word::eq:
      return compare_lanes<T>(w, in, [](T a, T b) { return a == b; });
    case Word::ne:
      return compare_lanes<T>(w, in, [=](T a, T b) { return a != b && !nan(a, b); });
    case Word::lt:
      return compare_lanes<T>(w, in, [](T a, T b) { return a < b; });
    case Word::le:
      return compare_lanes<T>(w, in, [](T a, T b) { return a <= b; });
    case Word::gt:
      return compare_lanes<T>(w, in, [](T a, T b) { return a > b; });
    case Word::ge:
      return compare_lanes<T>(w, in, [](T a, T b) { return a >= b; });
    case Word::equ:
      return compare_lanes<T>(w, in, [=](T a, T b) { return a == b || nan(a, b); });
    case Word::neu:
      return compare_lanes<T>(w, in, [](T a, T b) { return !(a == b); });
    case Word::ltu:
      return compare_lanes<T>(w, in, [](T a, T b) { return !(a >= b); });
    case Word::leu:
      return compare_lanes<T>(w, in, [](T a, T b) { return !(a > b); });
    case Word::gtu:
      return compare_lanes<T>(w, in, [](T a, T b) { return !(a <= b); });
    case Word::geu:
      return compare_lanes<T>(w, in, [](T a, T b) { return !(a < b); });
    case Word::num:
      return compare_lanes<T>(w, in, [=](T a, T b) { return !nan(a, b); });
    default:
      return compare_lanes<T>(w, in, nan);
  }
}

template <class T>
void setp(Warp& w, const Instruction& in) {
  uint32_t out = compare<T>(w, in);
  switch (in.word(Class::logic)) {
    case Word::logic_and:
      out &= predicate(w, in.operand[3]);
      break;
    case Word::logic_or:
      out |= predicate(w, in.operand[3]);
      break;
    case Word::logic_xor:
      out ^= predicate(w, in.operand[3]);
      break;
    default:
      break;
  }
  set_predicate(w, in.operand[0], out);
}

template <class T>
void selp(Warp& w, const Instruction& in) {
  const T *a = source<T>(w, in.operand[1]), *b = source<T>(w, in.operand[2]);
  T* d = target<T>(w, in.operand[0]);
  const uint32_t p = predicate(w, in.operand[3]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = p >> i & 1 ? a[i] : b[i]; });
}

Run setp_handler(const Instruction& in) {
  if (in.has(Class::flush)) return nullptr;
  switch (in.types[0]) {
    case Type::b16:
    case Type::u16:
      return setp<uint16_t>;
    case Type::s16:
      return setp<int16_t>;
    case Type::b32:
    case Type::u32:
      return setp<uint32_t>;
    case Type::s32:
      return setp<int32_t>;
    case Type::b64:
    case Type::u64:
      return setp<uint64_t>;
    case Type::s64:
      return setp<int64_t>;
    case Type::f32:
      return setp<float>;
    case Type::f64:
      return setp<double>;
    default:
      return nullptr;
  }
}

// Moves.

template <class T>
void move(Warp& w, const Instruction& in) {
  const T* a = source<T>(w, in.operand[1]);
  T* d = target<T>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = a[i]; });
}
void move_predicate(Warp& w, const Instruction& in) {
  set_predicate(w, in.operand[0], predicate(w, in.operand[1]));
}
void move_special(Warp& w, const Instruction& in) {
  const Special special = static_cast<Special>(in.operand[1].slot);
  each_lane(w.mask,
            [&](uint32_t i) { write_lane(w, in.operand[0], i, special_value(w, special, i)); });
}
void move_symbol(Warp& w, const Instruction& in) {
  uint64_t address = static_cast<uint64_t>(in.operand[1].value);
  if (static_cast<Space>(in.operand[1].slot) == Space::shared) address += shared_base(w);
  each_lane(w.mask, [&](uint32_t i) { write_lane(w, in.operand[0], i, address); });
}
void pack(Warp& w, const Instruction& in) {
  const Operand& parts = in.operand[1];
  each_lane(w.mask, [&](uint32_t i) {
    uint64_t value = 0;
    for (uint32_t k = 0; k < parts.count; ++k)
      value |= read_lane(w, item(w, parts, k), i) << (8 * parts.bytes * k);
    write_lane(w, in.operand[0], i, value);
  });
}
void unpack(Warp& w, const Instruction& in) {
  const Operand& parts = in.operand[0];
  each_lane(w.mask, [&](uint32_t i) {
    const uint64_t value = read_lane(w, in.operand[1], i);
    for (uint32_t k = 0; k < parts.count; ++k)
      write_lane(w, item(w, parts, k), i, value >> (8 * parts.bytes * k));
  });
}

Run mov_handler(const Instruction& in) {
  const Operand &d = in.operand[0], &a = in.operand[1];
  if (in.types[0] == Type::pred) return move_predicate;
  if (d.kind == Operand::Kind::list) return a.kind == Operand::Kind::reg ? unpack : nullptr;
  if (d.kind != Operand::Kind::reg) return nullptr;
  switch (a.kind) {
    case Operand::Kind::list:
      return pack;
    case Operand::Kind::special:
      return move_special;
    case Operand::Kind::symbol:
      return move_symbol;
    case Operand::Kind::reg:
    case Operand::Kind::constant:
      break;
    default:
      return nullptr;
  }
  return d.bytes == 2 ? move<uint16_t> : d.bytes == 4 ? move<uint32_t> : move<uint64_t>;
}

// Conversions.

bool is_float(Type type) {
  return type == Type::f16 || type == Type::bf16 || type == Type::f32 || type == Type::f64;
}
bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}
uint32_t format_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f16x2:
      return kFormatF16;
    case Type::bf16:
    case Type::bf16x2:
      return kFormatBF16;
    case Type::e4m3x2:
      return kFormatE4M3;
    case Type::e5m2x2:
      return kFormatE5M2;
    default:
      return kFormatF32;
  }
}

/// Truncates bits to a type and sign- or zero-extends them.
uint64_t extended(Type type, uint64_t bits) {
  const int unused = 64 - 8 * type_bytes(type);
  const uint64_t top = bits << unused;
  return is_signed(type) ? static_cast<uint64_t>(static_cast<int64_t>(top) >> unused)
                         : top >> unused;
}

double as_double(Type type, uint64_t bits) {
  if (type == Type::f64) return std::bit_cast<double>(bits);
  return static_cast<double>(decode(format_of(type), static_cast<uint32_t>(bits)));
}

double rounded(Word rounding, double value) {
  switch (rounding) {
    case Word::rzi:
      return std::trunc(value);
    case Word::rmi:
      return std::floor(value);
    case Word::rpi:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

/// Clamps an integral value to an integer type's range; a NaN gives 0.
uint64_t to_integer(Type type, double value) {
  if (std::isnan(value)) return 0;
  const int bits = 8 * type_bytes(type) - (is_signed(type) ? 1 : 0);
  const double end = std::ldexp(1.0, bits);
  const uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (value >= end) return most;
  if (is_signed(type))
    return value < -end ? ~most : static_cast<uint64_t>(static_cast<int64_t>(value));
  return value <= 0 ? 0 : static_cast<uint64_t>(value);
}

uint64_t to_float(Type type, double value) {
  if (type == Type::f64) return std::bit_cast<uint64_t>(value);
  return encode(format_of(type), static_cast<float>(value));
}

uint64_t converted(const Instruction& in, uint64_t bits) {
  const Type to = in.types[0], from = in.types[1];
  if (!is_float(from)) {
    const uint64_t whole = extended(from, bits);
    if (!is_float(to)) return extended(to, whole);
    if (to == Type::f64)
      return to_float(to, is_signed(from) ? static_cast<double>(static_cast<int64_t>(whole))
                                          : static_cast<double>(whole));
    const float value = is_signed(from) ? static_cast<float>(static_cast<int64_t>(whole))
                                        : static_cast<float>(whole);
    return encode(format_of(to), value);
  }
  const double value = as_double(from, bits);
  const Word rounding = in.word(Class::rounding);
  if (!is_float(to)) return extended(to, to_integer(to, rounded(rounding, value)));
  const bool whole = rounding == Word::rni || rounding == Word::rzi || rounding == Word::rmi ||
                     rounding == Word::rpi;
  return to_float(to, whole ? rounded(rounding, value) : value);
}

void cvt(Warp& w, const Instruction& in) {
  each_lane(w.mask, [&](uint32_t i) {
    write_lane(w, in.operand[0], i, converted(in, read_lane(w, in.operand[1], i)));
  });
}

template <class To, class From>
void cvt_integers(Warp& w, const Instruction& in) {
  const From* a = source<From>(w, in.operand[1]);
  To* d = target<To>(w, in.operand[0]);
  each_lane(w.mask, [&](uint32_t i) { d[i] = static_cast<To>(a[i]); });
}

/// Fast handlers of frequent conversions, if the registers have exactly their types' sizes.
Run quick_cvt(const Instruction& in) {
  const Type to = in.types[0], from = in.types[1];
  if (in.operand[0].bytes != type_bytes(to) || in.operand[1].bytes != type_bytes(from))
    return nullptr;
  if (to == Type::u32 && from == Type::u64) return cvt_integers<uint32_t, uint64_t>;
  if (to == Type::u64 && from == Type::u32) return cvt_integers<uint64_t, uint32_t>;
  if (to == Type::s64 && from == Type::s32) return cvt_integers<int64_t, int32_t>;
  if (to == Type::u16 && from == Type::u32) return cvt_integers<uint16_t, uint32_t>;
  if (to == Type::u32 && from == Type::u16) return cvt_integers<uint32_t, uint16_t>;
  if (to == Type::f32 && from == Type::s32) return cvt_integers<float, int32_t>;
  return nullptr;
}

Run cvt_handler(const Instruction& in) {
  const Word rounding = in.word(Class::rounding);
  const bool narrows = is_float(in.types[0]) && is_float(in.types[1]) &&
                       type_bytes(in.types[0]) < type_bytes(in.types[1]);
  if (in.has(Class::saturation) || in.has(Class::flush)) return nullptr;
  if (rounding == Word::rz || rounding == Word::rm || rounding == Word::rp) return nullptr;
  // f64 to 16 bits would be rounded twice.
  if (narrows && in.types[1] == Type::f64 && in.types[0] != Type::f32) return nullptr;
  const Run quick = quick_cvt(in);
  return quick ? quick : cvt;
}

/// Packs two f32 into a register, the first one into its upper half.
void cvt_pair(Warp& w, const Instruction& in) {
  const float *high = source<float>(w, in.operand[1]), *low = source<float>(w, in.operand[2]);
  const uint32_t format = format_of(in.types[0]), bits = 8 * format_bytes(format);
  const bool relu = in.has(Class::rectified);
  const bool finite = in.word(Class::saturation) == Word::satfinite;
  const auto narrow = [&](float value) {
    if (relu && value <= 0) value = 0;
    if (finite) value = saturate(value, format_max(format));
    return encode(format, value);
  };
  each_lane(w.mask, [&](uint32_t i) {
    write_lane(w, in.operand[0], i, narrow(high[i]) << bits | narrow(low[i]));
  });
}

/// Converts pairs between f16 and fp8.
void cvt_eights(Warp& w, const Instruction& in) {
  const uint32_t to = format_of(in.types[0]), from = format_of(in.types[1]);
  const uint32_t to_bits = 8 * format_bytes(to), from_bits = 8 * format_bytes(from);
  const bool relu = in.has(Class::rectified);
  each_lane(w.mask, [&](uint32_t i) {
    uint64_t out = 0;
    for (uint32_t half = 0; half < 2; ++half) {
      const uint64_t bits = read_lane(w, in.operand[1], i) >> (half * from_bits);
      float value = decode(from, static_cast<uint32_t>(bits & ((uint64_t{1} << from_bits) - 1)));
      if (relu && value <= 0) value = 0;
      if (in.has(Class::saturation)) value = saturate(value, format_max(to));
      out |= uint64_t{encode(to, value)} << (half * to_bits);
    }
    write_lane(w, in.operand[0], i, out);
  });
}

}  // namespace

Run convert_handler(const Instruction& in) {
  switch (in.op) {
    case Op::setp:
      return setp_handler(in);
    case Op::selp:
      return type_bytes(in.types[0]) == 2   ? selp<uint16_t>
             : type_bytes(in.types[0]) == 4 ? selp<uint32_t>
                                            : selp<uint64_t>;
    case Op::mov:
      return mov_handler(in);
    case Op::cvt:
      return cvt_handler(in);
    case Op::cvt_pair:
      return in.word(Class::rounding) == Word::rn ? cvt_pair : nullptr;
    case Op::cvt_eights:
      return in.word(Class::rounding) == Word::rn ? cvt_eights : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
