// SPDX-License-Identifier: Apache-2.0
// Operations on several integers packed in a word, against one integer at a time.
#include <random>

#include "doctest_main.hpp"
#include "kernels/elementwise/element.h"

using namespace tw;

namespace {

template <u32 kBytes, bool kReduce>
u32 one_at_a_time(const ElementwiseArgs& args, u32 a, u32 b, u32 before) {
  constexpr u32 kBits = 8 * kBytes;
  constexpr u32 kMask = (1u << kBits) - 1;
  u32 word = 0;
  for (u32 at = 0; at < 32; at += kBits)
    word |= integer_element<kReduce, u32>(args, kBytes, a >> at & kMask, b >> at & kMask,
                                          before >> at & kMask)
            << at;
  return word;
}

// Words with values at which lanes carry, random words, and factors that wrap.
u32 word_of(std::mt19937& random) {
  constexpr u32 kEdges[] = {0,           ~0u,         0x80808080u, 0x7f7f7f7fu,
                            0xff00ff00u, 0x00ff00ffu, 0x80000001u};
  const u32 word = static_cast<u32>(random());
  return word % 4 == 0 ? kEdges[word / 4 % 7] : word;
}

ElementwiseArgs draw_args(std::mt19937& random) {
  constexpr int64_t kFactors[] = {0, 1, -1, 2, 127, 255, 256, -300, 65535, 65537, int64_t{1} << 40};
  ElementwiseArgs args{};
  args.alpha = static_cast<u64>(kFactors[random() % 11]);
  args.beta = static_cast<u64>(kFactors[random() % 11]);
  args.kind[kOperandDst] = random() % 2 ? kTypeSigned : kTypeUnsigned;
  args.reduction = static_cast<u32>(random() % (kReduceXor + 1));
  args.combine = random() % 2 ? kCombineMultiply : kCombineAdd;
  if (args.combine == kCombineMultiply) args.beta = 0;
  return args;
}

template <u32 kBytes>
void check_lanes() {
  std::mt19937 random(kBytes);
  for (int i = 0; i < 500000; ++i) {
    const ElementwiseArgs args = draw_args(random);
    const u32 a = word_of(random);
    const u32 b = word_of(random);
    const u32 before = word_of(random);
    const u32 x = args.combine == kCombineMultiply ? multiply_lanes<kBytes>(a, b) : a;
    const u32 combined =
        combine_lanes<kBytes>(static_cast<u32>(args.alpha), static_cast<u32>(args.beta), x, b);
    u32 reduced[] = {combined, combined};
    reduce_lanes<kBytes>(args.reduction, args.kind[kOperandDst] == kTypeSigned, {before, before},
                         reduced);
    if (combined != one_at_a_time<kBytes, false>(args, a, b, before) ||
        reduced[0] != one_at_a_time<kBytes, true>(args, a, b, before) || reduced[1] != reduced[0])
      FAIL(args.alpha << " * " << a << " + " << args.beta << " * " << b << ", combine "
                      << args.combine << ", reduction " << args.reduction << " into " << before);
  }
}

}  // namespace

TEST_CASE("lanes: words of bytes and of halves have the elements' results") {
  check_lanes<1>();
  check_lanes<2>();
}

TEST_CASE("lanes: every pair of bytes, with every factor") {
  for (u32 alpha = 0; alpha < 256; ++alpha)
    for (u32 a = 0; a < 256; ++a) {
      // The neighboring lanes are at their maximum, so that a carry between lanes shows.
      const u32 word = combine_lanes<1>(alpha, 255, 0xff00ffffu | a << 16, 0xffffffffu);
      const u32 largest = (alpha * 255 + 255 * 255) & 255;
      REQUIRE(word == (largest * 0x01000101u | ((alpha * a + 255 * 255) & 255) << 16));
    }
}
