// SPDX-License-Identifier: Apache-2.0
#include "tests/device/tensor_cores/draw_tiles.hpp"

#include <algorithm>
#include <cstring>

namespace tw::test {
namespace {

/// splitmix64, because the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
  }
  uint32_t below(uint32_t end) { return static_cast<uint32_t>((next() >> 32) * end >> 32); }
  int32_t between(int32_t low, int32_t high) {
    return low + static_cast<int32_t>(below(static_cast<uint32_t>(high - low + 1)));
  }
  bool one_in(uint32_t count) { return below(count) == 0; }

 private:
  uint64_t state_;
};

/// Layout of a type. tf32 is drawn as f32: the hardware must ignore the last 13 bits.
struct Float {
  int32_t exponent_bits, fraction_bits, bias;
  bool infinities;  // false for e4m3, whose largest exponent has finite numbers

  int32_t largest() const { return (1 << exponent_bits) - (infinities ? 2 : 1); }
  uint32_t of(Random& random, int32_t exponent) const {
    const int32_t field = std::clamp(exponent, 0, largest());
    uint32_t fraction = random.below(1u << fraction_bits);
    const uint32_t all = (1u << fraction_bits) - 1;
    // Clear low bits of some fractions, so that their products end inside the window.
    if (random.one_in(4)) fraction &= all << random.below(static_cast<uint32_t>(fraction_bits));
    if (!infinities && field == largest() && fraction == all) fraction = 0;
    return random.below(2) << (exponent_bits + fraction_bits) |
           static_cast<uint32_t>(field) << fraction_bits | fraction;
  }
  uint32_t special(Random& random) const {
    const uint32_t sign = random.below(2) << (exponent_bits + fraction_bits);
    const uint32_t all = ((1u << exponent_bits) - 1) << fraction_bits;
    if (!infinities) return sign | all | ((1u << fraction_bits) - 1);
    return sign | all | (random.one_in(3) ? random.below(1u << fraction_bits) : 0);
  }
  uint32_t bits(Random& random) const {
    return static_cast<uint32_t>(random.next() & ((2ull << (exponent_bits + fraction_bits)) - 1));
  }
};
Float float_of(DotType type) {
  switch (type) {
    case DotType::f16:
      return {5, 10, 15, true};
    case DotType::bf16:
      return {8, 7, 127, true};
    case DotType::e4m3:
      return {4, 3, 7, false};
    case DotType::e5m2:
      return {5, 2, 15, true};
    default:
      return {8, 23, 127, true};
  }
}

enum class Kind : uint32_t {
  near,      // numbers near 1
  steps,     // exponents over the bits of the window
  wide,      // finite numbers of any exponent
  tiny,      // subnormal numbers and the smallest normal ones
  huge,      // the largest numbers
  cancel,    // pairs of products that cancel, some except for a bit
  sparse,    // mostly zeros
  specials,  // some infinities and NaNs
  bits,      // random bits
  count,
};
constexpr const char* kKindNames[] = {"near",   "steps",  "wide",     "tiny", "huge",
                                      "cancel", "sparse", "specials", "bits"};
Kind kind_of(uint32_t number) {
  return static_cast<Kind>(number % static_cast<uint32_t>(Kind::count));
}

uint32_t draw(Random& random, const Float& type, Kind kind) {
  const int32_t low = -type.bias + 1;
  switch (kind) {
    case Kind::near:
      return type.of(random, type.bias + random.between(-3, 3));
    case Kind::steps:
    case Kind::cancel:
      return type.of(random, type.bias + random.between(std::max(low, -13), 1));
    case Kind::wide:
      return type.of(random, random.between(0, type.largest()));
    case Kind::tiny:
      return random.one_in(8) ? type.of(random, type.bias) : type.of(random, random.between(0, 2));
    case Kind::huge:
      return type.of(random, type.largest() - random.between(0, 3));
    case Kind::sparse:
      if (!random.one_in(4)) return random.below(2) << (type.exponent_bits + type.fraction_bits);
      return draw(random, type, random.one_in(2) ? Kind::steps : Kind::wide);
    case Kind::specials:
      return random.one_in(64) ? type.special(random) : draw(random, type, Kind::near);
    default:
      return type.bits(random);
  }
}

uint32_t draw_addend(Random& random, DotType type, Kind kind) {
  const Float format = float_of(type);
  if (random.one_in(8)) return random.below(2) << (format.exponent_bits + format.fraction_bits);
  switch (kind) {
    case Kind::near:
    case Kind::steps:
    case Kind::cancel:
      return format.of(random, format.bias + random.between(-30, 6));
    case Kind::tiny:
      // Also exponents near those of the products of small factors.
      return format.of(
          random, random.one_in(2) ? random.between(0, 3) : format.bias + random.between(-40, -6));
    case Kind::specials:
      return random.one_in(16) ? format.special(random) : format.of(random, format.bias);
    case Kind::bits:
      return format.bits(random);
    default:
      return draw(random, format, random.one_in(2) ? kind : Kind::steps);
  }
}

uint32_t draw_integer(Random& random, Kind kind) {
  constexpr uint32_t kEnds[] = {0x80, 0x7f, 0xff, 0, 1, 0x81};
  return kind == Kind::huge ? kEnds[random.below(6)] : random.below(256);
}
uint32_t draw_sum(Random& random, Kind kind) {
  const auto any = static_cast<uint32_t>(random.next());
  return kind == Kind::huge ? 0x7fffffffu - any % 1000 : kind == Kind::tiny ? any % 1000 : any;
}

bool is_integer(DotType type) {
  return type == DotType::s8 || type == DotType::u8 || type == DotType::s32;
}

/// Draws a row of A or a column of B (`second`). Pairs that cancel: opposite in A, equal in B.
void draw_row(Random& random, DotType type, Kind kind, bool second, uint8_t* out) {
  const uint32_t bytes = dot_bytes(type), count = kRowBytes / bytes;
  const Float format = float_of(type);
  uint32_t element = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const bool again = kind == Kind::cancel && k % 2 == 1 && !is_integer(type);
    if (again && !second) element ^= 1u << (format.exponent_bits + format.fraction_bits);
    if (again && random.one_in(48)) element ^= 1u << (type == DotType::tf32 ? 13 : 0);
    if (!again)
      element = is_integer(type) ? draw_integer(random, kind) : draw(random, format, kind);
    std::memcpy(out + k * bytes, &element, bytes);
  }
}

uint64_t seed_of(const char* name, uint32_t number) {
  uint64_t hash = 0xcbf29ce484222325u + number;
  for (; *name; ++name) hash = (hash ^ static_cast<uint8_t>(*name)) * 0x100000001b3u;
  return hash;
}

}  // namespace

uint32_t dot_bytes(DotType type) {
  switch (type) {
    case DotType::f16:
    case DotType::bf16:
      return 2;
    case DotType::e4m3:
    case DotType::e5m2:
    case DotType::s8:
    case DotType::u8:
      return 1;
    default:
      return 4;
  }
}

void draw_tile(const DotForm& form, uint32_t number, DotTile* out) {
  Random random(seed_of(form.name, number));
  const Kind kind = kind_of(number);
  *out = {};
  for (auto& row : out->a) draw_row(random, form.a, kind, false, row);
  for (auto& column : out->b) draw_row(random, form.b, kind, true, column);
  const uint32_t bytes = dot_bytes(form.d);
  for (uint32_t i = 0; i < kTileRows * kTileColumns; ++i) {
    const uint32_t sum =
        form.d == DotType::s32 ? draw_sum(random, kind) : draw_addend(random, form.d, kind);
    std::memcpy(out->c + i * bytes, &sum, bytes);
  }
}

const char* tile_kind(uint32_t number) {
  return kKindNames[static_cast<uint32_t>(kind_of(number))];
}

}  // namespace tw::test
