// SPDX-License-Identifier: Apache-2.0
// Compares elementwise operations with a reference loop: random shapes, strides, offsets, types,
// factors and reductions, and every bit pattern of the narrow formats.
#include "tests/device/elementwise/elementwise_cases.hpp"

#include <numeric>

using namespace tw;
using namespace tw::test;

namespace {

constexpr DType kFloats[] = {DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2};
constexpr DType kSame[] = {DType::U8,  DType::I8,  DType::U16, DType::I16, DType::U32,
                           DType::I32, DType::U64, DType::I64, DType::F64};

bool reduces(DType type, int64_t op) {
  if (op <= int64_t{kReduceNone}) return true;
  if (op <= int64_t{kReduceMax}) return dtype_bytes(type) > 1 || !is_float(type);
  if (op <= int64_t{kReduceXor}) return !is_float(type) && type != DType::F64;
  return type == DType::U32;
}

// Draws how the sources are combined, an activation, and where the factors are.
void random_options(std::mt19937_64& random, bool two, ElementwiseCase* c) {
  ElementwiseDesc& desc = c->desc;
  if (two && pick(random, 0, 1) == 0) desc.combine = kCombineMultiply;
  if (!two || desc.combine == kCombineMultiply) c->beta = 1;
  const bool floats = is_float(desc.dtype[kOperandDst]);
  if (floats && pick(random, 0, 2) == 0)
    desc.activation = static_cast<Activation>(pick(random, 1, 4));
  if (!floats && desc.dtype[kOperandDst] != DType::F64) return;
  desc.device_scalars = pick(random, 0, 2) == 0;
  c->on_device[0] = desc.device_scalars && pick(random, 0, 3) != 0;
  c->on_device[1] =
      desc.device_scalars && two && desc.combine == kCombineAdd && pick(random, 0, 1) == 0;
}

// Draws a valid combination of types, reduction and factors.
void random_arithmetic(std::mt19937_64& random, ElementwiseCase* c) {
  ElementwiseDesc& desc = c->desc;
  const bool two = pick(random, 0, 1) == 0;
  if (pick(random, 0, 3) != 0) {
    for (auto& type : desc.dtype) type = kFloats[pick(random, 0, std::ssize(kFloats) - 1)];
    if (pick(random, 0, 2) == 0) desc.dtype[kOperandB] = desc.dtype[kOperandA];
    desc.saturates = pick(random, 0, 2) == 0;
    const float factors[] = {1, 1, -1, 0.5f, 3.1f, 1e-3f, 0, 1e30f};
    c->alpha = factors[pick(random, 0, 7)];
    c->beta = factors[pick(random, 0, 7)];
  } else {
    const DType type = kSame[pick(random, 0, 8)];
    for (auto& one : desc.dtype) one = type;
    const float factors[] = {1, 1, 1, -1, 2, -300, 65537, 0x1p40f};
    c->alpha = factors[pick(random, 0, 7)];
    c->beta = factors[pick(random, 0, 7)];
  }
  if (!two) desc.dtype[kOperandB] = DType{};
  random_options(random, two, c);
  if (pick(random, 0, 1) == 0) {
    do desc.reduction = static_cast<int32_t>(pick(random, 1, 8));
    while (!reduces(desc.dtype[kOperandDst], desc.reduction) &&
           reduces(desc.dtype[kOperandDst], kReduceAdd));
    if (!reduces(desc.dtype[kOperandDst], desc.reduction)) desc.reduction = kReduceNone;
  }
}

// Strides of nested dimensions with random gaps; each is a multiple of `multiple`. `order` lists
// the dimensions, innermost first.
void nest(std::mt19937_64& random, const ElementwiseDesc& desc, const std::vector<int>& order,
          int64_t multiple, int64_t* stride) {
  int64_t next = 1;
  bool first = true;
  for (const int d : order) {
    if (!first && pick(random, 0, 2) == 0) next += pick(random, 1, 9);
    if (!first) next = (next + multiple - 1) / multiple * multiple;
    stride[d] = next;
    next *= std::max<int64_t>(1, desc.shape[d]);
    first = false;
  }
}

bool place(std::mt19937_64& random, ElementwiseCase* c, uint32_t operand, int64_t align) {
  const ElementwiseDesc& desc = c->desc;
  const int64_t bytes = dtype_bytes(desc.dtype[operand]);
  int64_t low = 0;
  int64_t high = bytes;
  for (int d = 0; d < desc.rank; ++d) {
    const int64_t far = (desc.shape[d] - 1) * desc.stride[operand][d] * bytes;
    (far < 0 ? low : high) += far;
  }
  const auto room = static_cast<int64_t>(kElementwiseArena) - 2048;
  if (high - low > room) return false;
  const int64_t first = (-low + 79) / 16;
  c->offset[operand] = pick(random, first, first + 20) * 16 + pick(random, 0, 15) / align * align;
  return true;
}

bool random_case(std::mt19937_64& random, ElementwiseCase* c) {
  *c = ElementwiseCase{};
  ElementwiseDesc& desc = c->desc;
  random_arithmetic(random, c);
  desc.rank = static_cast<int32_t>(pick(random, 1, pick(random, 0, 3) == 0 ? 8 : 3));
  int64_t elements = 1;
  for (int d = 0; d < desc.rank; ++d) {
    const int64_t most[] = {1, 3, 5, 9, 40, 130, 700};
    desc.shape[d] = pick(random, 1, most[pick(random, 0, desc.rank > 4 ? 3 : 6)]);
    elements *= desc.shape[d];
  }
  if (elements > 12000) return false;
  std::vector<int> rows(static_cast<size_t>(desc.rank));
  std::iota(rows.rbegin(), rows.rend(), 0);
  const int64_t multiple = pick(random, 0, 1) == 0 ? 16 : 1;
  const bool dense = pick(random, 0, 2) != 0;
  for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
    auto order = rows;
    if (!dense) std::shuffle(order.begin(), order.end(), random);
    nest(random, desc, order, multiple, desc.stride[o]);
  }
  for (int d = 0; d < desc.rank; ++d) {
    for (const uint32_t o : {kOperandA, kOperandB})
      if (pick(random, 0, 24) == 0) desc.stride[o][d] = 0;
    for (uint32_t o = 0; o < kElementwiseOperands; ++o)
      if (pick(random, 0, 24) == 0) desc.stride[o][d] = -desc.stride[o][d];
  }
  const bool even = pick(random, 0, 3) != 0;
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    if (desc.dtype[o] != DType{} && !place(random, c, o, even ? 16 : dtype_bytes(desc.dtype[o])))
      return false;
  // Sometimes all operands have the same misalignment within a vector.
  if (!even && pick(random, 0, 1) == 0)
    for (uint32_t o = 0; o < kElementwiseOperands; ++o)
      if (desc.dtype[o] != DType{})
        c->offset[o] = c->offset[o] / 16 * 16 + 3 * dtype_bytes(desc.dtype[o]);
  // Sometimes a source is the destination.
  const auto other = static_cast<uint32_t>(pick(random, 0, 1));
  if (pick(random, 0, 3) == 0 && desc.dtype[other] != DType{} &&
      dtype_bytes(desc.dtype[other]) == dtype_bytes(desc.dtype[kOperandDst])) {
    c->in_place[other] = true;
    c->offset[other] = c->offset[kOperandDst];
    std::copy_n(desc.stride[kOperandDst], kMaxCopyRank, desc.stride[other]);
  }
  if (pick(random, 0, 3) == 0) desc.methods = 1u << kElementwiseStrided;
  if (pick(random, 0, 9) == 0) desc.max_sms = 1;
  return true;
}

ElementwiseCase flat(DType a, DType b, DType dst, int64_t elements) {
  ElementwiseCase c;
  c.desc.dtype[kOperandA] = a;
  c.desc.dtype[kOperandB] = b;
  c.desc.dtype[kOperandDst] = dst;
  c.desc.shape[0] = elements;
  for (auto& stride : c.desc.stride) stride[0] = 1;
  for (auto& offset : c.offset) offset = 256;
  return c;
}

// Writes elements to the arena of source a, from byte 256 on.
template <class Element>
void put(ElementwiseBench& bench, const std::vector<Element>& elements) {
  Arena& a = *bench.arena[kOperandA];
  REQUIRE(256 + elements.size() * sizeof(Element) <= a.bytes());
  std::memcpy(&a.image()[256], elements.data(), elements.size() * sizeof(Element));
  a.upload();
  TW_REQUIRE_OK(bench.stream->synchronize());
}

template <class Element>
void check_patterns(ElementwiseBench& bench, DType from, const std::vector<Element>& elements) {
  put(bench, elements);
  for (const DType to : kFloats)
    for (const bool saturates : {false, true})
      for (const uint32_t method : {kElementwiseVectors, kElementwiseStrided}) {
        ElementwiseCase c = flat(from, DType{}, to, static_cast<int64_t>(elements.size()));
        c.desc.saturates = saturates;
        c.desc.methods = 1u << method;
        check_case(bench, c);
        // The kernels with reductions convert too: test them as well.
        if (method == kElementwiseVectors && dtype_bytes(to) > 1) {
          c.desc.reduction = kReduceMax;
          check_case(bench, c);
        }
      }
}

}  // namespace

TEST_CASE("elementwise: random shapes, strides, offsets, types, factors and reductions") {
  ElementwiseBench bench(1);
  if (!bench.device) return;
  for (int done = 0; done < 4000;) {
    ElementwiseCase c;
    if (!random_case(bench.random, &c)) continue;
    check_case(bench, c);
    ++done;
  }
}

TEST_CASE("elementwise: every pattern of 8 and 16 bits to every format") {
  ElementwiseBench bench(2, 1 << 19);
  if (!bench.device) return;
  std::vector<uint16_t> wide(0x10000);
  std::iota(wide.begin(), wide.end(), uint16_t{0});
  for (const DType type : {DType::F16, DType::BF16}) check_patterns(bench, type, wide);
  std::vector<uint8_t> narrow(4096);
  for (size_t i = 0; i < narrow.size(); ++i) narrow[i] = static_cast<uint8_t>(i * 5 + i / 256);
  for (const DType type : {DType::F8E4M3, DType::F8E5M2}) check_patterns(bench, type, narrow);
}

TEST_CASE("elementwise: f32 of random bits, a quarter of them infinite or NaN, to every format") {
  ElementwiseBench bench(5, 1 << 19);
  if (!bench.device) return;
  std::vector<uint32_t> bits(100000);
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<uint32_t>(bench.random()) | (i % 4 == 0 ? kInfinityF32 : 0);
  for (uint32_t i = 0; i < 8; ++i) bits[i] = kInfinityF32 | (i & 3) | (i & 4) << 29;
  check_patterns(bench, DType::F32, bits);
}

TEST_CASE("elementwise: bytes and halves in vectors, with factors and reductions") {
  ElementwiseBench bench(6, 1 << 17);
  if (!bench.device) return;
  for (const DType type : {DType::U8, DType::I8, DType::U16, DType::I16})
    for (const float factor : {1.0f, -1.0f, 255.0f, 65537.0f})
      for (int32_t op = 0; op <= int32_t{kReduceDec}; ++op) {
        if (!reduces(type, op)) continue;
        ElementwiseCase c = flat(type, type, type, 5003);
        c.alpha = factor;
        c.beta = 3;
        c.desc.reduction = op;
        check_case(bench, c);
      }
}

TEST_CASE("elementwise: f32 around every number of a small format and every middle of two") {
  ElementwiseBench bench(3, 1 << 21);
  if (!bench.device) return;
  for (const FloatFormat& f : kSmallFormats) {
    const auto& steps = ladder_of(f);
    std::vector<float> values;
    const auto around = [&](double centre) {
      const auto middle = static_cast<float>(centre);
      for (const float value :
           {middle, std::nextafter(middle, INFINITY), std::nextafter(middle, 0.0f)})
        for (const float sign : {1.0f, -1.0f}) values.push_back(sign * value);
    };
    // Of formats with many numbers every 11th, and both ends.
    const size_t stride = steps.size() > 1000 ? 11 : 1;
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      if (i % stride != 0 && i > 40 && i + 40 < steps.size()) continue;
      around(steps[i]);
      around(steps[i] + (steps[i + 1] - steps[i]) / 2);
    }
    const double last = steps.back() - steps[steps.size() - 2];
    for (const double past : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0}) around(steps.back() + past * last);
    for (const float value : {INFINITY, NAN, 0x1p-149f, 0x1p-126f, 3.4028235e38f}) around(value);
    check_patterns(bench, DType::F32, values);
  }
}

TEST_CASE("elementwise: more vectors than a grid's threads take at once") {
  ElementwiseBench bench(4, 5 << 20);
  if (!bench.device) return;
  for (const int64_t elements : {(1 << 20) + 5, 999983}) {
    for (const uint32_t max_sms : {0u, 1u}) {
      ElementwiseCase c = flat(DType::F32, DType::F32, DType::F32, elements);
      c.desc.max_sms = max_sms;
      c.alpha = 0.75f;
      check_case(bench, c);
      c = flat(DType::BF16, DType{}, DType::F8E4M3, elements);
      c.desc.max_sms = max_sms;
      check_case(bench, c);
      c.desc.methods = 1u << kElementwiseStrided;
      check_case(bench, c);
      c = flat(DType::U8, DType::U8, DType::U8, elements);
      c.desc.max_sms = max_sms;
      c.desc.reduction = kReduceXor;
      c.offset[0] = c.offset[1] = c.offset[2] = 259;
      check_case(bench, c);
    }
  }
}
