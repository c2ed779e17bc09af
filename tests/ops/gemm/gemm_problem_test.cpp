// SPDX-License-Identifier: Apache-2.0
// Invalid descriptions and their error messages.
#include <string>

#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::string refusal(const GemmDesc& desc) {
  GemmProblem problem;
  CHECK_FALSE(gemm_problem(desc, &problem).ok());
  return last_failure().message;
}

}  // namespace

TEST_CASE("a number that names no type is told as one form") {
  GemmDesc desc = gemm_desc(8, 8, 8);
  desc.a_dtype = DType{};
  CHECK(refusal(desc).find("a_dtype is no type (0): ") == 0);
  desc.a_dtype = DType::F64;
  CHECK(refusal(desc).find("a_dtype is f64 (") == 0);
  desc = gemm_desc(8, 8, 8);
  desc.d_dtype = static_cast<DType>(99);
  CHECK(refusal(desc).find("d_dtype is no type (99): ") == 0);
  desc = gemm_desc(8, 8, 8);
  desc.accumulator = DType{};
  CHECK(refusal(desc).find("accumulator_dtype is no type (0): ") == 0);
  desc = gemm_desc(8, 8, 8);
  desc.epilogue = {.bias = Per::row, .bias_dtype = static_cast<DType>(99)};
  CHECK(refusal(desc).find("bias_dtype is no type (99): ") == 0);
  desc.epilogue.bias = Per::none;
  CHECK(refusal(desc).find("bias_dtype is no type (99) ") == 0);
}

TEST_CASE("a stride whose bytes leave 63 bits is refused with the last that does not") {
  const auto with_limit = [](GemmDesc desc, int64_t GemmDesc::*stride, const char* argument) {
    INFO(argument);
    desc.*stride = INT64_MAX;
    const std::string message = refusal(desc);
    CHECK(last_failure().code == Code::ERROR_OVERFLOW);
    CHECK(std::string(last_failure().fault.argument) == argument);
    CHECK(last_failure().fault.got == INT64_MAX);
    const int64_t limit = last_failure().fault.limit;
    CHECK(limit < INT64_MAX);
    CHECK(message.find(std::to_string(limit)) != std::string::npos);
    GemmProblem problem;
    desc.*stride = limit;
    CHECK(gemm_problem(desc, &problem).ok());
    desc.*stride = limit + 1;
    CHECK_FALSE(gemm_problem(desc, &problem).ok());
  };
  for (const int64_t m : {0, 1, 7}) {
    GemmDesc desc = gemm_desc(m, 24, 40);
    with_limit(desc, &GemmDesc::lda, "lda");
    with_limit(desc, &GemmDesc::ldd, "ldd");
    for (const int64_t batch : {2, 5}) {
      desc.batch = batch;
      with_limit(desc, &GemmDesc::a_batch_stride, "a_batch_stride");
      with_limit(desc, &GemmDesc::d_batch_stride, "d_batch_stride");
    }
  }
}

TEST_CASE("extents end where the last tile would leave 31 bits") {
  GemmProblem problem;
  for (int64_t GemmDesc::*extent : {&GemmDesc::m, &GemmDesc::n, &GemmDesc::k}) {
    GemmDesc desc = gemm_desc(8, 8, 8);
    desc.*extent = 2147482624;  // the limit in the header
    CHECK(gemm_problem(desc, &problem).ok());
    desc.*extent = 2147482625;
    CHECK_FALSE(gemm_problem(desc, &problem).ok());
    CHECK(last_failure().fault.limit == 2147482624);
  }
}
