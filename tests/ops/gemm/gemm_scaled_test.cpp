// SPDX-License-Identifier: Apache-2.0
// How a description's narrow types and scales become kernel arguments.
#include "doctest_main.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/gemm/gemm_scales.hpp"
#include "ops/gemm/gemm_staging.hpp"
#include "runtime/host/host_device.hpp"

using namespace tw;

namespace {

GemmDesc mixed() {
  GemmDesc d;
  d.a_dtype = DType::F8E4M3;
  d.b_dtype = DType::F8E5M2;
  d.d_dtype = DType::F32;
  d.b_order = Order::column;
  d.m = 100;
  d.n = 300;
  d.k = 500;
  d.a_scaling = {.kind = ScaleKind::row128, .order = Order::column, .leading = 104};
  d.b_scaling = {.kind = ScaleKind::block128, .order = Order::column};
  return d;
}

GemmProblem problem_of(const GemmDesc& desc) {
  GemmProblem problem;
  const Status status = gemm_problem(desc, &problem);
  INFO(last_failure().message);
  REQUIRE(status.ok());
  return problem;
}

GemmScales scales_of(const GemmProblem& seen) {
  GemmScales scales;
  fill_scales(seen, {.a_scale = 4096, .b_scale = 8192, .d_block_scale = 16384}, &scales);
  return scales;
}

}  // namespace

TEST_CASE("gemm scaled: packed scales, their batch strides and accumulators are filled in") {
  GemmDesc desc = mixed();
  desc.batch = 3;
  desc.a_scaling.leading = 0;
  const GemmDesc d = problem_of(desc).desc;
  CHECK(d.a_scaling.leading == 100);  // M-major, four blocks of k
  CHECK(d.a_scaling.batch_stride == 400);
  CHECK(d.b_scaling.leading == 4);  // three lines of four blocks
  CHECK(d.b_scaling.batch_stride == 12);
  desc.a_dtype = DType::I8;
  desc.b_dtype = DType{};
  desc.accumulator = DType::I32;
  desc.a_scaling = {.kind = ScaleKind::row};
  desc.b_scaling = {.kind = ScaleKind::row};
  const GemmDesc rows = problem_of(desc).desc;
  CHECK(rows.accumulator == DType::F32);
  CHECK(rows.a_scaling.batch_stride == 100);
  CHECK(rows.b_scaling.batch_stride == 300);
}

TEST_CASE("gemm scaled: kernels get each scale's steps, swapped where operands are") {
  const GemmProblem problem = problem_of(mixed());
  const GemmScales own = scales_of(problem);
  CHECK(own.a.address == 4096);
  CHECK(own.a.line_step == 1);
  CHECK(own.a.block_step == 104);
  CHECK(own.b.address == 8192);
  CHECK(own.b.line_step == 4);
  CHECK(own.b.block_step == 1);
  CHECK(own.a_by == kScaleDeep);
  CHECK(own.b_by == kScaleBlock);
  CHECK(own.a_type == kFormatE4M3);
  CHECK(own.b_type == kFormatE5M2);
  CHECK(own.d_type == kFormatF32);
  CHECK(own.d.address == 0);
  CHECK(gemm_scales_along_k(own));

  const GemmProblem other = swap_ab(problem);
  CHECK(other.desc.a_dtype == DType::F8E5M2);
  CHECK(other.desc.b_type() == DType::F8E4M3);
  const GemmScales swapped = scales_of(other);
  CHECK(swapped.a.address == 8192);
  CHECK(swapped.a.line_step == own.b.line_step);
  CHECK(swapped.a.block_step == own.b.block_step);
  CHECK(swapped.b.line_step == own.a.line_step);
  CHECK(swapped.b.block_step == own.a.block_step);
  CHECK(swapped.a_by == kScaleBlock);
  CHECK(swapped.a_type == kFormatE5M2);
  const GemmProblem back = swap_ab(other);
  CHECK(back.desc.a_scaling.order == problem.desc.a_scaling.order);
  CHECK(back.desc.b_scaling.order == problem.desc.b_scaling.order);
}

TEST_CASE("gemm scaled: a plan for other types or sums is refused with both named") {
  std::shared_ptr<Device> device;
  REQUIRE(open_host_device(&device).ok());
  GemmChoice choice;
  REQUIRE(parse_gemm_choice("candidate", "gemm_host_plain", &choice).ok());
  CHECK_FALSE(check_gemm_choice(*device, problem_of(mixed()), choice).ok());
  CHECK(std::string(last_failure().message).find("f8e4m3 by f8e5m2 to f32") != std::string::npos);
  REQUIRE(parse_gemm_choice("candidate", "gemm_host_scaled", &choice).ok());
  CHECK(check_gemm_choice(*device, problem_of(mixed()), choice).ok());
  CHECK_FALSE(check_gemm_choice(*device, problem_of({.m = 8, .n = 8, .k = 8}), choice).ok());
  CHECK(std::string(last_failure().message).find("8-bit types and tf32") != std::string::npos);
}

TEST_CASE("gemm scaled: a staging copy of narrow types lies along k") {
  GemmDesc desc = mixed();
  desc.staging_copy = true;
  desc.min_m = desc.m;
  desc.a_order = Order::column;
  desc.b_order = Order::row;
  const GemmProblem served = gemm_with_staging(problem_of(desc));
  CHECK(served.desc.a_order == Order::row);
  CHECK(served.desc.b_order == Order::column);
  CHECK(served.desc.lda == 512);
  CHECK(served.desc.ldb == 512);
  CHECK(served.staging_copies == 2);
  CHECK(served.staging_copy_bytes == 2.0 * (100 * 500 + 500 * 300));
  // Without TMA kernels no staging copy is needed.
  std::shared_ptr<Device> device;
  REQUIRE(open_host_device(&device).ok());
  std::unique_ptr<Plan> plan;
  REQUIRE(GemmPlan::create(device, desc, &plan).ok());
  CHECK(plan->info().workspace_bytes == 0);
  // 16-bit types need no K-major copy.
  GemmDesc wide{.m = 100, .n = 300, .k = 500, .min_m = 100, .staging_copy = true};
  wide.a_order = Order::column;
  CHECK(gemm_with_staging(problem_of(wide)).desc.a_order == Order::column);
}
