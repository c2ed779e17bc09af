// SPDX-License-Identifier: Apache-2.0
// Elementwise operations as inference engines use them: each activation of every number of a narrow
// format, a KV cache that is scaled and narrowed in one call, and gated layers.
#include <numeric>

#include "tests/device/common/replay.hpp"
#include "tests/device/elementwise/elementwise_cases.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr Activation kActivations[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                       Activation::silu};

// Writes elements to a source's arena, from byte 256 on.
template <class Element>
void put(ElementwiseBench& bench, uint32_t operand, const std::vector<Element>& elements) {
  Arena& arena = *bench.arena[operand];
  REQUIRE(256 + elements.size() * sizeof(Element) <= arena.bytes());
  std::memcpy(&arena.image()[256], elements.data(), elements.size() * sizeof(Element));
  arena.upload();
  TW_REQUIRE_OK(bench.stream->synchronize());
}

ElementwiseCase matrix(DType a, DType b, DType dst, int64_t rows, int64_t columns, int64_t pitch) {
  ElementwiseCase c;
  c.desc.dtype[kOperandA] = a;
  c.desc.dtype[kOperandB] = b;
  c.desc.dtype[kOperandDst] = dst;
  c.desc.rank = 2;
  c.desc.shape[0] = rows;
  c.desc.shape[1] = columns;
  for (auto& stride : c.desc.stride) stride[0] = pitch, stride[1] = 1;
  for (auto& offset : c.offset) offset = 256;
  return c;
}

// One source, a sum and a product of two, each by vectors and element by element.
void check_numbers(ElementwiseBench& bench, Activation which, DType from, DType to) {
  const int64_t count = dtype_bytes(from) == 1 ? 4096 : 65536;
  for (const bool two : {false, true})
    for (const uint32_t combine : {kCombineAdd, kCombineMultiply})
      for (const uint32_t method : {kElementwiseVectors, kElementwiseStrided}) {
        if (!two && combine == kCombineMultiply) continue;
        ElementwiseCase c = matrix(from, two ? from : DType{}, to, 1, count, count);
        c.desc.activation = which;
        c.desc.combine = combine;
        c.desc.methods = 1u << method;
        c.beta = two && combine == kCombineAdd ? 0.5f : 1.0f;
        check_case(bench, c);
      }
}

// Rows of a KV cache: kHeads x kColumns numbers per token, interleaved with others in the page.
ElementwiseCase cache(int64_t tokens) {
  constexpr int64_t kHeads = 3, kColumns = 72;
  ElementwiseCase c;
  c.desc.dtype[kOperandA] = DType::BF16;
  c.desc.dtype[kOperandDst] = DType::F8E4M3;
  c.desc.rank = 3;
  c.desc.saturates = true;
  c.desc.device_scalars = true;
  const int64_t shape[] = {tokens, kHeads, kColumns};
  const int64_t from[] = {kHeads * kColumns, kColumns, 1};
  const int64_t to[] = {2 * kHeads * 80, 80, 1};
  std::copy_n(shape, 3, c.desc.shape);
  std::copy_n(from, 3, c.desc.stride[kOperandA]);
  std::copy_n(to, 3, c.desc.stride[kOperandDst]);
  c.offset[kOperandA] = c.offset[kOperandDst] = 256;
  return c;
}

}  // namespace

TEST_CASE("elementwise: each activation of every number of 8 and 16 bits") {
  ElementwiseBench bench(11, 1 << 19);
  if (!bench.device) return;
  std::vector<uint16_t> wide(0x10000);
  std::iota(wide.begin(), wide.end(), uint16_t{0});
  std::vector<uint8_t> narrow(4096);
  for (size_t i = 0; i < narrow.size(); ++i) narrow[i] = static_cast<uint8_t>(i * 5 + i / 256);
  for (const Activation which : kActivations) {
    put(bench, kOperandA, wide);
    for (const DType from : {DType::F16, DType::BF16})
      for (const DType to : {from, DType::F32, DType::F8E4M3})
        check_numbers(bench, which, from, to);
    put(bench, kOperandA, narrow);
    for (const DType to : {DType::F8E5M2, DType::F16})
      check_numbers(bench, which, DType::F8E4M3, to);
    // With 8-bit sources and destination, vectors have eight elements.
    check_numbers(bench, which, DType::F8E5M2, DType::F8E5M2);
  }
}

TEST_CASE("elementwise: a cache is scaled and narrowed by a factor in device memory") {
  ElementwiseBench bench(12);
  if (!bench.device) return;
  for (const int64_t tokens : {1, 7, 64}) {
    ElementwiseCase c = cache(tokens);
    c.on_device[0] = true;
    for (const float factor : {1.0f, 0.037f, -448.0f, 1e-20f}) {
      c.alpha = factor;
      check_case(bench, c);
    }
  }
}

TEST_CASE("elementwise: a captured run reads its factors when it executes") {
  ElementwiseBench bench(13);
  if (!bench.device) return;
  ElementwiseCase c = cache(16);
  c.desc.dtype[kOperandB] = DType::F32;
  c.desc.stride[kOperandB][2] = 1;  // one row for all tokens and heads
  c.offset[kOperandB] = 512;
  c.on_device[0] = c.on_device[1] = true;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(ElementwisePlan::create(bench.device, c.desc, &plan));
  const ElementwiseRun run = run_of(bench, c);
  Replay replay(bench.device, [&](Stream& stream) {
    TW_REQUIRE_OK(static_cast<ElementwisePlan&>(*plan).run(stream, run));
  });
  Arena& dst = *bench.arena[kOperandDst];
  for (const float factor : {1.0f, 0.25f, -3.0f, 0.0f}) {
    c.alpha = factor;
    c.beta = factor - 0.5f;
    const float factors[] = {c.alpha, c.beta};
    std::memcpy(bench.scalars->image().data(), factors, sizeof factors);
    bench.scalars->upload();
    dst.image() = bench.clean;
    dst.upload();
    TW_REQUIRE_OK(bench.stream->synchronize());
    replay();
    const auto got = dst.read();
    CHECK(first_difference(got, expected(bench, c, got)) == -1);
  }
}

TEST_CASE("elementwise: gated layers, in place and with a factor for each row or column") {
  ElementwiseBench bench(14);
  if (!bench.device) return;
  for (const Activation which : kActivations)
    for (const DType type : {DType::BF16, DType::F16, DType::F32})
      for (const int64_t columns : {200, 201}) {
        // The sources are the halves of a row of 2 * columns; the result replaces the second half.
        ElementwiseCase c = matrix(type, type, type, 19, columns, 2 * columns);
        c.desc.combine = kCombineMultiply;
        c.desc.activation = which;
        c.alpha = 1.5f;
        check_case(bench, c);
        c.in_place[1] = true;
        c.offset[kOperandB] = c.offset[kOperandDst] = 256 + columns * dtype_bytes(type);
        check_case(bench, c);
      }
  for (const bool by_row : {false, true}) {
    ElementwiseCase c = matrix(DType::BF16, DType::F32, DType::F8E4M3, 40, 130, 144);
    c.desc.combine = kCombineMultiply;
    c.desc.saturates = true;
    c.desc.stride[kOperandB][by_row ? 1 : 0] = 0;
    c.desc.stride[kOperandB][by_row ? 0 : 1] = 1;
    check_case(bench, c);
  }
}
