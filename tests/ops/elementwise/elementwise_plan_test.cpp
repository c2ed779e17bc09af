// SPDX-License-Identifier: Apache-2.0
// What an elementwise plan makes of a description: merged dimensions, the method for the addresses,
// launch arguments, and errors.
#include "ops/elementwise/elementwise.hpp"

#include <string>

#include "doctest_main.hpp"
#include "runtime/host/host_device.hpp"

using namespace tw;

namespace {

struct D {
  int64_t extent, a, b, dst;
};

ElementwiseDesc desc_of(DType a, DType b, DType dst, std::initializer_list<D> dims) {
  ElementwiseDesc desc;
  desc.dtype[kOperandA] = a;
  desc.dtype[kOperandB] = b;
  desc.dtype[kOperandDst] = dst;
  desc.rank = 0;
  for (const D& d : dims) {
    desc.shape[desc.rank] = d.extent;
    desc.stride[kOperandA][desc.rank] = d.a;
    desc.stride[kOperandB][desc.rank] = d.b;
    desc.stride[kOperandDst][desc.rank++] = d.dst;
  }
  return desc;
}

constexpr uint64_t kA = uint64_t{1} << 40;
constexpr uint64_t kB = uint64_t{2} << 40;
constexpr uint64_t kDst = uint64_t{3} << 40;

std::unique_ptr<Plan> plan_of(const ElementwiseDesc& desc) {
  static std::shared_ptr<Device> device;
  if (!device) REQUIRE(open_host_device(&device).ok());
  std::unique_ptr<Plan> plan;
  REQUIRE(ElementwisePlan::create(device, desc, &plan).ok());
  return plan;
}

uint32_t method_of(const ElementwiseDesc& desc, uint64_t a = 0, uint64_t b = 0, uint64_t dst = 0) {
  const auto plan = plan_of(desc);
  return static_cast<const ElementwisePlan&>(*plan).method_for_test(
      {.address = {kA + a, kB + b, kDst + dst}});
}

}  // namespace

TEST_CASE("elementwise_plan: dimensions that continue each other in every operand are one") {
  ElementwiseShape shape;
  REQUIRE(elementwise_shape(desc_of(DType::F32, DType::BF16, DType::F16,
                                    {{6, 80, 80, 80}, {4, 20, 20, 20}, {20, 1, 1, 1}}),
                            &shape)
              .ok());
  CHECK(shape.rank == 1);
  CHECK(shape.row_elements == 480);
  // One operand with a pitch keeps the rows separate, and so does a broadcast source.
  REQUIRE(elementwise_shape(desc_of(DType::F32, DType::BF16, DType::F16,
                                    {{6, 80, 96, 80}, {4, 20, 20, 20}, {20, 1, 1, 1}}),
                            &shape)
              .ok());
  CHECK(shape.rank == 2);
  CHECK(shape.row_elements == 80);
  CHECK(shape.stride[kOperandB][1] == 96 * 2);
  REQUIRE(
      elementwise_shape(
          desc_of(DType::F32, DType::BF16, DType::F16, {{24, 20, 0, 20}, {20, 1, 1, 1}}), &shape)
          .ok());
  CHECK(shape.rank == 2);
  // A negative stride of the destination is turned forward, beginning at the other end.
  REQUIRE(
      elementwise_shape(desc_of(DType::F32, DType{}, DType::F32, {{10, 3, 0, -1}}), &shape).ok());
  CHECK(shape.offset[kOperandA] == 9 * 12);
  CHECK(shape.offset[kOperandDst] == -36);
  CHECK(shape.stride[kOperandA][0] == -12);
  CHECK(shape.row_dims == 0);
}

TEST_CASE("elementwise_plan: vectors where every operand lies alike, counted in elements") {
  const ElementwiseDesc sum = desc_of(DType::BF16, DType::F32, DType::F8E4M3, {{1000, 1, 1, 1}});
  CHECK(method_of(sum) == kElementwiseVectors);
  CHECK(method_of(sum, 2 * 3, 4 * 3, 3) == kElementwiseVectors);
  CHECK(method_of(sum, 2 * 4, 4 * 8, 12) == kElementwiseVectors);
  CHECK(method_of(sum, 2 * 3, 4 * 2, 3) == kElementwiseStrided);
  CHECK(method_of(sum, 0, 0, 1) == kElementwiseStrided);
  // Pitches that differ by whole vectors, and pitches that do not.
  CHECK(method_of(desc_of(DType::F32, DType{}, DType::F32, {{9, 44, 0, 40}, {37, 1, 0, 1}})) ==
        kElementwiseVectors);
  CHECK(method_of(desc_of(DType::F32, DType{}, DType::F32, {{9, 39, 0, 39}, {37, 1, 0, 1}})) ==
        kElementwiseVectors);
  CHECK(method_of(desc_of(DType::F32, DType{}, DType::F32, {{9, 41, 0, 40}, {37, 1, 0, 1}})) ==
        kElementwiseStrided);
  // Rows shorter than two vectors, and operands without contiguous rows.
  CHECK(method_of(desc_of(DType::F32, DType{}, DType::F32, {{9, 40, 0, 40}, {7, 1, 0, 1}})) ==
        kElementwiseStrided);
  CHECK(method_of(desc_of(DType::F32, DType{}, DType::F32, {{50, 1, 0, 60}, {60, 50, 0, 1}})) ==
        kElementwiseStrided);
}

TEST_CASE("elementwise_plan: what is read and written, and by what, in words") {
  ElementwiseDesc desc =
      desc_of(DType::BF16, DType::F32, DType::F32, {{100, 64, 0, 64}, {64, 1, 1, 1}});
  auto plan = plan_of(desc);
  CHECK(plan->info().bytes_read == 100 * 64 * 2 + 64 * 4);
  CHECK(plan->info().bytes_written == 100 * 64 * 4);
  desc.reduction = kReduceMin;
  plan = plan_of(desc);
  CHECK(plan->info().bytes_read == 100 * 64 * 6 + 64 * 4);
  CHECK(plan->explain().find("min of f32 by comparing ordered integers") != std::string::npos);
  desc = desc_of(DType::I64, DType{}, DType::I64, {{64, 1, 0, 1}});
  desc.reduction = kReduceAdd;
  CHECK(plan_of(desc)->explain().find("add of i64 with the bits of u64 addition") !=
        std::string::npos);
  desc = desc_of(DType::U8, DType{}, DType::U8, {{64, 1, 0, 1}});
  desc.reduction = kReduceMax;
  CHECK(plan_of(desc)->explain().find("max of u8 in registers") != std::string::npos);
  desc = desc_of(DType::U32, DType{}, DType::U32, {{64, 1, 0, 1}});
  desc.reduction = kReduceInc;
  CHECK(plan_of(desc)->explain().find("inc of u32 with the result of the hardware's") !=
        std::string::npos);
}

TEST_CASE("elementwise_plan: which types are converted to one another, and which are reduced") {
  const DType types[] = {DType::U8,   DType::I8,     DType::U16,    DType::I16,
                         DType::U32,  DType::I32,    DType::U64,    DType::I64,
                         DType::F16,  DType::BF16,   DType::F32,    DType::F64,
                         DType::TF32, DType::F8E4M3, DType::F8E5M2, DType::B128};
  const auto is_float = [](DType type) {
    return type == DType::F16 || type == DType::BF16 || type == DType::F32 ||
           type == DType::F8E4M3 || type == DType::F8E5M2;
  };
  ElementwiseShape shape;
  for (const DType a : types)
    for (const DType dst : types) {
      const bool known = a != DType::TF32 && a != DType::B128;
      const bool right = (is_float(a) && is_float(dst)) || (a == dst && known);
      const Status status = elementwise_shape(desc_of(a, DType{}, dst, {{4, 1, 0, 1}}), &shape);
      CHECK(status.ok() == right);
      if (!right) CHECK(status.code() == Code::ERROR_UNSUPPORTED);
    }
  for (const DType type : types)
    for (int32_t op = 0; op <= 8; ++op) {
      if (type == DType::TF32 || type == DType::B128) continue;
      ElementwiseDesc desc = desc_of(type, DType{}, type, {{4, 1, 0, 1}});
      desc.reduction = op;
      const bool integer = !is_float(type) && type != DType::F64;
      const bool right = op == 0 || (op <= 3 && type != DType::F8E4M3 && type != DType::F8E5M2) ||
                         (op > 3 && op <= 6 && integer) || (op > 6 && type == DType::U32);
      CHECK(elementwise_shape(desc, &shape).ok() == right);
    }
}

TEST_CASE("elementwise_plan: which types have activations, products and factors on the device") {
  const DType types[] = {DType::U8,   DType::I8,  DType::U16,    DType::I16,   DType::U32,
                         DType::I32,  DType::U64, DType::I64,    DType::F64,   DType::F16,
                         DType::BF16, DType::F32, DType::F8E4M3, DType::F8E5M2};
  const auto code_of = [](const ElementwiseDesc& desc) {
    ElementwiseShape shape;
    return elementwise_shape(desc, &shape).code();
  };
  for (const DType type : types) {
    uint32_t kind = 0;
    REQUIRE(kind_of(type, &kind));
    const ElementwiseDesc two = desc_of(type, type, type, {{4, 1, 1, 1}});
    ElementwiseDesc desc = two;
    desc.combine = kCombineMultiply;
    CHECK(code_of(desc) == Code::OK);
    desc.dtype[kOperandB] = DType{};
    CHECK(code_of(desc) == Code::ERROR_INVALID_ARGUMENT);
    for (const Activation which :
         {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
      desc = two;
      desc.activation = which;
      CHECK(code_of(desc) == (kind < kTypeUnsigned ? Code::OK : Code::ERROR_UNSUPPORTED));
    }
    desc = two;
    desc.device_scalars = true;
    const bool whole = kind >= kTypeUnsigned && kind != kTypeF64;
    CHECK(code_of(desc) == (whole ? Code::ERROR_UNSUPPORTED : Code::OK));
  }
}

TEST_CASE("elementwise_plan: with an activation vectors have eight elements at most") {
  const auto tile_of = [](DType a, DType dst, Activation which) {
    ElementwiseDesc desc = desc_of(a, DType{}, dst, {{1000, 1, 0, 1}});
    desc.activation = which;
    return plan_of(desc)->info().tile[1];
  };
  CHECK(tile_of(DType::F8E5M2, DType::F8E4M3, Activation::identity) == 16);
  CHECK(tile_of(DType::F8E5M2, DType::F8E4M3, Activation::silu) == 8);
  CHECK(tile_of(DType::BF16, DType::F8E4M3, Activation::silu) == 8);
  CHECK(tile_of(DType::F32, DType::F8E4M3, Activation::silu) == 4);
}

TEST_CASE("elementwise_plan: the combination, in words") {
  ElementwiseDesc desc = desc_of(DType::BF16, DType::BF16, DType::F8E4M3, {{64, 1, 1, 1}});
  desc.activation = Activation::gelu_tanh;
  CHECK(plan_of(desc)->explain().find("dst f8e4m3 = gelu_tanh(alpha * a bf16 + beta * b bf16), ") !=
        std::string::npos);
  desc.combine = kCombineMultiply;
  desc.device_scalars = true;
  const std::string text = plan_of(desc)->explain();
  CHECK(text.find("dst f8e4m3 = gelu_tanh(alpha * a bf16) * b bf16, ") != std::string::npos);
  CHECK(text.find("read from device memory") != std::string::npos);
}

TEST_CASE("elementwise_plan: a scalar is none of the destination's bytes") {
  ElementwiseShape shape;
  REQUIRE(elementwise_shape(
              desc_of(DType::F32, DType{}, DType::F16, {{10, 16, 0, 64}, {16, 1, 0, 1}}), &shape)
              .ok());
  const auto code_at = [&](int64_t from_dst) {
    return check_elementwise_scalar(shape, "device_alpha", kDst + static_cast<uint64_t>(from_dst),
                                    kDst)
        .code();
  };
  CHECK(code_at(-4) == Code::OK);
  CHECK(code_at(0) == Code::ERROR_OVERLAP);
  CHECK(code_at(28) == Code::ERROR_OVERLAP);
  // The gap after a row's 32 bytes, and the next row.
  CHECK(code_at(32) == Code::OK);
  CHECK(code_at(124) == Code::OK);
  CHECK(code_at(128) == Code::ERROR_OVERLAP);
  CHECK(code_at(9 * 128 + 28) == Code::ERROR_OVERLAP);
  CHECK(code_at(9 * 128 + 32) == Code::OK);
}

TEST_CASE(
    "elementwise_plan: a destination is a source's very elements, or shares nothing with it") {
  ElementwiseShape shape;
  const ElementwiseDesc desc =
      desc_of(DType::F32, DType::BF16, DType::F16, {{10, 64, 64, 64}, {48, 1, 1, 1}});
  REQUIRE(elementwise_shape(desc, &shape).ok());
  const auto disjoint = [&](uint64_t a, uint64_t b, uint64_t dst) {
    return check_elementwise_disjoint(shape, {a, b, dst}).code();
  };
  CHECK(disjoint(kA, kB, kDst) == Code::OK);
  // bf16 and f16 have elements of the same size, f32 has not.
  CHECK(disjoint(kA, kB, kB) == Code::OK);
  CHECK(disjoint(kA, kB, kA) == Code::ERROR_OVERLAP);
  CHECK(disjoint(kA, kB, kB + 2) == Code::ERROR_OVERLAP);
  // The gap after each row holds 16 elements, not these 48.
  CHECK(disjoint(kA, kB, kB + 2 * 48) == Code::ERROR_OVERLAP);
  // The memory after the last row.
  CHECK(disjoint(kA, kB, kB + 2 * 64 * 10) == Code::OK);
  const ElementwiseDesc narrow =
      desc_of(DType::F16, DType{}, DType::F16, {{10, 64, 0, 64}, {16, 1, 0, 1}});
  REQUIRE(elementwise_shape(narrow, &shape).ok());
  CHECK(disjoint(kA, 0, kA + 2 * 16) == Code::OK);
  CHECK(disjoint(kA, 0, kA + 2 * 49) == Code::ERROR_OVERLAP);
}
