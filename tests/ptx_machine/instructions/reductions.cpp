// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/reductions.hpp"

#include <bit>
#include <cmath>

#include "base/float_formats.hpp"

namespace tw::ptx_machine {
namespace {

template <class T>
uint64_t whole(Word operation, T a, T b) {
  T out = a;
  switch (operation) {
    case Word::op_add:
      out = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      break;
    case Word::op_min:
      out = a < b ? a : b;
      break;
    case Word::op_max:
      out = a > b ? a : b;
      break;
    case Word::op_inc:
      out = a >= b ? T(0) : static_cast<T>(a + 1);
      break;
    case Word::op_dec:
      out = a == 0 || a > b ? b : static_cast<T>(a - 1);
      break;
    case Word::op_and:
      out = a & b;
      break;
    case Word::op_or:
      out = a | b;
      break;
    case Word::op_xor:
      out = a ^ b;
      break;
    default:
      out = b;
      break;  // exch
  }
  return static_cast<uint64_t>(out);
}

template <class To, class From>
uint64_t sum_of_bits(uint64_t a, uint64_t b, uint64_t nan) {
  const From sum =
      std::bit_cast<From>(static_cast<To>(a)) + std::bit_cast<From>(static_cast<To>(b));
  return std::isnan(sum) ? nan : std::bit_cast<To>(sum);
}

/// Rounding through float is exact: it has more than twice the 16-bit formats' significand plus two
/// bits, so its own rounding cannot create a tie.
uint64_t half_sum(bool bf16, uint64_t a, uint64_t b) {
  const uint16_t x = static_cast<uint16_t>(a), y = static_cast<uint16_t>(b);
  return bf16 ? float_to_bf16(bf16_to_float(x) + bf16_to_float(y))
              : float_to_f16(f16_to_float(x) + f16_to_float(y));
}

}  // namespace

bool is_floating(Type type) {
  switch (type) {
    case Type::f32:
    case Type::f64:
    case Type::f16:
    case Type::bf16:
    case Type::f16x2:
    case Type::bf16x2:
      return true;
    default:
      return false;
  }
}

bool can_reduce(Type type, Word operation) {
  if (is_floating(type)) return operation == Word::op_add;
  switch (type) {
    case Type::b32:
    case Type::b64:
      return operation == Word::op_and || operation == Word::op_or || operation == Word::op_xor ||
             operation == Word::op_exch;
    case Type::u32:
    case Type::s32:
    case Type::u64:
    case Type::s64:
      return operation == Word::op_add || operation == Word::op_min || operation == Word::op_max ||
             (type == Type::u32 && (operation == Word::op_inc || operation == Word::op_dec));
    default:
      return false;
  }
}

uint64_t reduced(Type type, Word operation, uint64_t a, uint64_t b) {
  switch (type) {
    case Type::b32:
    case Type::u32:
      return whole(operation, static_cast<uint32_t>(a), static_cast<uint32_t>(b));
    case Type::s32:
      return whole(operation, static_cast<int32_t>(a), static_cast<int32_t>(b)) & 0xffffffff;
    case Type::s64:
      return whole(operation, static_cast<int64_t>(a), static_cast<int64_t>(b));
    case Type::f32:
      return sum_of_bits<uint32_t, float>(a, b, 0x7fffffff);
    case Type::f64:
      return sum_of_bits<uint64_t, double>(a, b, 0xfff8000000000000);
    case Type::f16:
      return half_sum(false, a, b);
    case Type::bf16:
      return half_sum(true, a, b);
    case Type::f16x2:
    case Type::bf16x2: {
      const bool bf16 = type == Type::bf16x2;
      return half_sum(bf16, a >> 16, b >> 16) << 16 | half_sum(bf16, a, b);
    }
    default:
      return whole(operation, a, b);
  }
}

}  // namespace tw::ptx_machine
