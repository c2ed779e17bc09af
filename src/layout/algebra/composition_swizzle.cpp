// SPDX-License-Identifier: Apache-2.0
// Composition with a swizzle on the right: A o (Sw o B).
//
// Let A, as a function of one number, send the bits of its argument to separate bits: the bits that
// Sw reads to adjacent bits, in order, and so those that it writes. Then flipping a bit before A is
// flipping a bit behind A, and A o Sw = Sw' o A for the swizzle Sw' of the bits' images. Anything
// else is not of the form swizzle(offset + layout).
#include <bit>

#include "layout/algebra/algebra.hpp"
#include "layout/algebra/complement.hpp"
#include "layout/algebra/composition.hpp"

namespace tw {
namespace {

Status refuse() {
  return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "b"},
              "b is swizzled and a does not keep the swizzled bits together: the composition is no "
              "swizzled layout. Compose with b's inner layout, or with an a whose strides along "
              "the swizzled bits are powers of two");
}

// A's values at each bit of its argument, and its step for all above: A o (2,...,2,n):(1,2,4,...).
struct Bits {
  int count;
  int64_t value[kMaxLeaves];
  int64_t above;  ///< step of what lies above; 0 where there is nothing
  int64_t count_above;
};

Status read_bits(const Layout& a, int count, Bits* bits) {
  if (count + 1 > kMaxLeaves) return refuse();
  Layout binary, composed;
  LayoutBuilder builder(&binary);
  const int64_t unit = int64_t{1} << count;
  for (int i = 0; i < count; ++i) builder.leaf(2, int64_t{1} << i, 1, 1);
  const int64_t whole = size(a);
  const int64_t above = whole / unit + (whole % unit != 0);
  builder.leaf(above, unit, 1, 1);
  TW_TRY(builder.finish());
  LayoutBuilder out(&composed);
  TW_TRY(compose(a, a.root(), binary, binary.root(), 0, 0, &out));
  if (composed.leaves() != count + 1) return refuse();
  bits->count = count;
  for (int i = 0; i < count; ++i) bits->value[i] = composed.stride[i];
  bits->count_above = above;
  bits->above = above > 1 ? composed.stride[count] : 0;
  return Code::OK;
}

// Every bit goes to no bit or to one of its own, and what lies above goes above all of them.
bool are_separate(const Bits& bits) {
  uint64_t seen = 0;
  for (int i = 0; i < bits.count; ++i) {
    const auto value = static_cast<uint64_t>(bits.value[i]);
    if (bits.value[i] < 0 || (value & (value - 1)) != 0 || (seen & value) != 0) return false;
    seen |= value;
  }
  if (bits.above == 0) return true;
  const int lowest = std::countr_zero(static_cast<uint64_t>(bits.above));
  return bits.above > 0 && lowest >= static_cast<int>(std::bit_width(seen));
}

// Does b, its swizzle left out, stay inside what was looked at of a?
bool stays_below(const Layout& b, const Bits& bits) {
  Wide low = b.offset, high = b.offset;
  for (int i = 0; i < b.leaves(); ++i)
    (b.stride[i] < 0 ? low : high) += Wide{b.stride[i]} * (b.shape.value[i] - 1);
  return low >= 0 && high < Wide{bits.count_above} << bits.count;
}

// The place to which `count` bits from bit `from` on move, together.
bool move(const Bits& bits, int from, int count, int* to) {
  if (bits.value[from] == 0) return false;
  *to = std::countr_zero(static_cast<uint64_t>(bits.value[from]));
  for (int i = 1; i < count; ++i)
    if (bits.value[from + i] != int64_t{1} << (*to + i)) return false;
  return true;
}

}  // namespace

Status compose_swizzled(const Layout& a, const Layout& b, Layout* out) {
  if (!a.is_plain()) return refuse();
  const BitSwizzle& sw = b.swizzle;
  const int target = sw.base + (sw.shift < 0 ? -sw.shift : 0);
  const int source = sw.base + (sw.shift > 0 ? sw.shift : 0);
  const int top = (source > target ? source : target) + sw.bits;
  Layout inner = b;
  inner.swizzle = {};
  Radix radix;
  radix.read(a, a.root());
  if (radix.count == 1 && radix.stride[0] == 1) {  // the identity on numbers
    *out = b;
    return Code::OK;
  }
  Bits bits{};
  TW_TRY(read_bits(a, top, &bits));
  int new_target = 0, new_source = 0;
  if (!are_separate(bits) || !stays_below(b, bits) || !move(bits, target, sw.bits, &new_target) ||
      !move(bits, source, sw.bits, &new_source))
    return refuse();
  TW_TRY(composition(a, inner, out));
  const int low = new_source < new_target ? new_source : new_target;
  out->swizzle = {sw.bits, low, new_source - new_target};
  return validate(*out);
}

// (Sw o L) o R' = identity for R' = R o Sw, Sw being its own inverse: L(R(Sw(i))) = Sw(i).
Status right_inverse_swizzled(const Layout& layout, Layout* out) {
  Layout inner = layout, inverse, numbers;
  inner.swizzle = {};
  TW_TRY(right_inverse(inner, &inverse));
  const int64_t count = size(inverse);
  if (count % (int64_t{1} << std::bit_width(layout.swizzle.source_mask() |
                                            layout.swizzle.target_mask())) !=
      0)
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "layout", .got = count},
                "the layout counts to %lld, which the swizzle does not map onto itself",
                static_cast<long long>(count));
  LayoutBuilder builder(&numbers);
  builder.leaf(count, int64_t{1}, 0, 0);
  TW_TRY(builder.finish());
  numbers.swizzle = layout.swizzle;
  return composition(inverse, numbers, out);
}

}  // namespace tw
