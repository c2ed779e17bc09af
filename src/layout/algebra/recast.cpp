// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/recast.hpp"

#include <bit>
#include <cstdlib>
#include <numeric>

#include "base/checked.hpp"

namespace tw {
namespace {

Status check_factor(const Layout& layout, int64_t n) {
  if (layout.has_basis_strides)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "the layout gives coordinates (basis strides), not indices of elements");
  if (n < 1)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "n", .got = n, .limit = 1},
                "n is %lld: it is at least 1", static_cast<long long>(n));
  return Code::OK;
}

Status does_not_fit(const char* what, int64_t got, int64_t n) {
  return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "layout", .got = got, .limit = n},
              "%s %lld and groups of %lld elements do not fit: one has to divide the other", what,
              static_cast<long long>(got), static_cast<long long>(n));
}

Status overflow() {
  return fail(Code::ERROR_OVERFLOW, {.argument = "layout"}, "an index exceeds 64 bits");
}

}  // namespace

// Dividing indices by n shifts the swizzle's base from M to M - log2(n). Bits that would fall below
// bit 0 are dropped: they are 0 for the first of n elements, which represents the group.
Status upcast(const BitSwizzle& swizzle, int64_t n, BitSwizzle* out) {
  *out = swizzle;
  if (swizzle.is_identity()) return Code::OK;
  if (n < 1 || !std::has_single_bit(static_cast<uint64_t>(n)))
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "n", .got = n},
                "a swizzle moves bits: elements can be joined by powers of two, not by %lld",
                static_cast<long long>(n));
  const int bits = std::countr_zero(static_cast<uint64_t>(n));
  if (bits <= swizzle.base) {
    out->base -= bits;
    return Code::OK;
  }
  const int lost = bits - swizzle.base;
  *out = {lost < swizzle.bits ? swizzle.bits - lost : 0, 0, swizzle.shift};
  return Code::OK;
}

Status downcast(const BitSwizzle& swizzle, int64_t n, BitSwizzle* out) {
  *out = swizzle;
  if (swizzle.is_identity()) return Code::OK;
  if (n < 1 || !std::has_single_bit(static_cast<uint64_t>(n)))
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "n", .got = n},
                "a swizzle moves bits: elements can be split by powers of two, not by %lld",
                static_cast<long long>(n));
  out->base += std::countr_zero(static_cast<uint64_t>(n));
  return check(*out);
}

Status upcast(const Layout& layout, int64_t n, Layout* out) {
  TW_TRY(check_factor(layout, n));
  *out = layout;
  TW_TRY(upcast(layout.swizzle, n, &out->swizzle));
  if (layout.offset % n != 0) return does_not_fit("offset", layout.offset, n);
  out->offset /= n;
  for (int i = 0; i < layout.leaves(); ++i) {
    const int64_t d = layout.stride[i], step = std::abs(d);
    int64_t& s = out->shape.value[i];
    if (d == 0 || step % n == 0) {
      out->stride[i] = d / n;
    } else if (n % step == 0) {
      // n / step elements along this mode become one.
      if (d < 0 && s > 1) return does_not_fit("negative stride", d, n);
      const int64_t joined = n / step;
      s = s / joined + (s % joined != 0);
      out->stride[i] = d < 0 ? -1 : 1;
    } else {
      return does_not_fit("stride", d, n);
    }
  }
  return validate(*out);
}

Status downcast(const Layout& layout, int64_t n, Layout* out) {
  TW_TRY(check_factor(layout, n));
  *out = layout;
  TW_TRY(downcast(layout.swizzle, n, &out->swizzle));
  if (n == 1) return Code::OK;
  bool placed = false;
  for (int i = 0; i < layout.leaves(); ++i) {
    const bool unit = layout.stride[i] == 1 && !placed;
    int64_t& changed = unit ? out->shape.value[i] : out->stride[i];
    if (!checked_mul(changed, n, &changed)) return overflow();
    placed = placed || unit;
  }
  if (!checked_mul(layout.offset, n, &out->offset)) return overflow();
  if (!placed)
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "layout"},
                "no mode has stride 1, so the parts of an element have no mode to lie in");
  return validate(*out);
}

namespace {

Status check_bits(int64_t from_bits, int64_t to_bits) {
  if (from_bits >= 1 && to_bits >= 1) return Code::OK;
  const bool from = from_bits < 1;
  return fail(
      Code::ERROR_INVALID_ARGUMENT,
      {.argument = from ? "from_bits" : "to_bits", .got = from ? from_bits : to_bits, .limit = 1},
      "%s is %lld: elements have at least 1 bit", from ? "from_bits" : "to_bits",
      static_cast<long long>(from ? from_bits : to_bits));
}

// Downcasts first, so that offsets and strides need not be multiples of both sizes.
template <class Value>
Status recast_as(const Value& value, int64_t from_bits, int64_t to_bits, Value* out) {
  TW_TRY(check_bits(from_bits, to_bits));
  const int64_t common = std::gcd(from_bits, to_bits);
  const int64_t down = from_bits / common, up = to_bits / common;
  if (up == 1) return downcast(value, down, out);
  if (down == 1) return upcast(value, up, out);
  Value parts;
  TW_TRY(downcast(value, down, &parts));
  return upcast(parts, up, out);
}

}  // namespace

Status recast(const Layout& layout, int64_t from_bits, int64_t to_bits, Layout* out) {
  return recast_as(layout, from_bits, to_bits, out);
}

Status recast(const BitSwizzle& swizzle, int64_t from_bits, int64_t to_bits, BitSwizzle* out) {
  TW_TRY(check(swizzle));
  return recast_as(swizzle, from_bits, to_bits, out);
}

}  // namespace tw
