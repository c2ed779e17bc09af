// SPDX-License-Identifier: Apache-2.0
// How the scales of a grouped description and its runs become kernel arguments.
#include "ops/grouped/grouped.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

using D = GroupedDesc;

// The layout of DeepGEMM's tensors.
D blocks() {
  D d;
  d.a_dtype = DType::F8E4M3;
  d.d_dtype = DType::BF16;
  d.b_order = Order::column;
  d.m = 100, d.n = 300, d.k = 500;
  d.groups = 4;
  d.a_scaling = {.kind = ScaleKind::row128, .order = Order::column};
  d.b_scaling = {.kind = ScaleKind::block128, .order = Order::column};
  return d;
}

D of_kinds(ScaleKind a, ScaleKind b) {
  D d = blocks();
  d.a_scaling = {.kind = a}, d.b_scaling = {.kind = b};
  return d;
}

D masked() {
  D d = blocks();
  d.grouping = Grouping::masked;
  d.group_rows = 20;
  return d;
}

GroupedProblem problem_of(const D& desc) {
  GroupedProblem problem;
  const Status status = grouped_problem(desc, &problem);
  INFO(last_failure().message);
  REQUIRE(status.ok());
  return problem;
}

template <class Edit>
void refused(Code wanted, const char* argument, const char* rule, D desc, Edit edit) {
  edit(desc);
  GroupedProblem problem;
  const Code code = grouped_problem(desc, &problem).code();
  INFO(last_failure().message);
  CHECK(code == wanted);
  CHECK(std::string(last_failure().fault.argument) == argument);
  CHECK(std::string(last_failure().fault.rule) == rule);
}

constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;
constexpr Code kUnsupported = Code::ERROR_UNSUPPORTED;

}  // namespace

TEST_CASE("grouped scaled: packed scales and their strides are filled in") {
  const D d = problem_of(blocks()).desc;
  CHECK(d.a_scaling.leading == 100);  // rows of A, for each of four blocks of k
  CHECK(d.b_scaling.leading == 4);    // blocks of k, for each of three blocks of n
  CHECK(d.b_scaling.batch_stride == 12);
  D gathered = blocks();
  gathered.flags = kGroupedDescGather;
  gathered.a_count = 30;
  CHECK(problem_of(gathered).desc.a_scaling.leading == 30);
  D split = masked();
  split.a_scale_stride = 81;
  CHECK(problem_of(split).desc.a_scaling.leading == 20);
  CHECK(problem_of(of_kinds(ScaleKind::row, ScaleKind::row)).desc.b_scaling.batch_stride == 300);
  CHECK(problem_of(of_kinds(ScaleKind::tensor, ScaleKind::tensor)).desc.b_scaling.batch_stride ==
        1);
}

TEST_CASE("grouped scaled: kernels are told where scales lie") {
  const GroupedRun run{.a_scale = 4096, .b_scale = 8192};
  GemmScales s = grouped_scales(problem_of(blocks()), run);
  CHECK(s.a.address == 4096);
  CHECK((s.a.line_step == 1 && s.a.block_step == 100 && s.a.batch_step == 0));
  CHECK(s.b.address == 8192);
  CHECK((s.b.line_step == 4 && s.b.block_step == 1 && s.b.batch_step == 12));
  CHECK((s.a_by == kScaleDeep && s.b_by == kScaleBlock));
  CHECK((s.a_type == kFormatE4M3 && s.b_type == kFormatE4M3 && s.d_type == kFormatBF16));
  D d = masked();
  d.a_scale_stride = 81, d.b_scale_stride = 99;
  d.a_scaling.leading = 24;
  d.b_dtype = DType::F8E5M2;
  s = grouped_scales(problem_of(d), run);
  CHECK((s.a.line_step == 1 && s.a.block_step == 24 && s.a.batch_step == 81));
  CHECK(s.b.batch_step == 99);
  CHECK(s.b_type == kFormatE5M2);
}

TEST_CASE("grouped scaled: the kernel of 8-bit types is launched with scales, the steps without") {
  const auto device = std::make_shared<PaperDevice>(feature::host, 132);
  D d = blocks();
  d.flags = kGroupedDescZeroOthers;
  std::unique_ptr<Plan> plan;
  REQUIRE(GroupedPlan::create(device, d, &plan).ok());
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const GroupedRun run{.a = uint64_t{1} << 40,
                       .b = uint64_t{2} << 40,
                       .d = uint64_t{3} << 40,
                       .groups = uint64_t{4} << 40,
                       .a_scale = uint64_t{5} << 40,
                       .b_scale = uint64_t{6} << 40};
  REQUIRE(static_cast<const GroupedPlan&>(*plan).run(*stream, run).ok());
  REQUIRE(device->launches.size() == 2);
  CHECK(device->launches[0].kernel == "grouped_clear_host");
  CHECK(device->launches[1].kernel == "grouped_scaled_host");
  const std::string text = plan->explain();
  INFO(text);
  CHECK(text.find("f8e4m3 to bf16") != std::string::npos);
  CHECK(text.find("scales of A: one for each row and 128 of k; of B: one for each block of 128 by "
                  "128\nsums of each 128 of k are added in f32") != std::string::npos);
  for (uint64_t GroupedRun::*const scale : {&GroupedRun::a_scale, &GroupedRun::b_scale}) {
    const bool a = scale == &GroupedRun::a_scale;
    const auto refuse = [&](uint64_t address, const char* argument, const char* rule) {
      GroupedRun bad = run;
      bad.*scale = address;
      CHECK(!static_cast<const GroupedPlan&>(*plan).run(*stream, bad).ok());
      CHECK(std::string(last_failure().fault.argument) == argument);
      CHECK(std::string(last_failure().fault.rule) == rule);
    };
    refuse(0, a ? "a_scale" : "b_scale", "address_not_null");
    refuse(run.*scale + 2, a ? "a_scale" : "b_scale", "address_alignment");
    refuse(run.d, "d", "operands_disjoint");
  }
}

TEST_CASE("grouped scaled: types that do not go together are refused by name") {
  refused(kUnsupported, "a_dtype", "grouped_input_type", blocks(),
          [](D& d) { d.a_dtype = DType::TF32; });
  refused(kUnsupported, "b_dtype", "gemm_type_pair", blocks(), [](D& d) { d.b_dtype = DType::I8; });
  refused(kUnsupported, "b_dtype", "gemm_type_pair", blocks(),
          [](D& d) { d.a_dtype = d.b_dtype = DType::F8E5M2; });
  refused(kUnsupported, "b_dtype", "gemm_type_pair", D{.m = 4, .n = 4, .k = 4, .groups = 1},
          [](D& d) { d.b_dtype = DType::F16; });
  refused(kUnsupported, "d_dtype", "grouped_output_type", blocks(), [](D& d) { d.d_dtype = {}; });
  refused(kUnsupported, "d_dtype", "grouped_output_type", blocks(),
          [](D& d) { d.a_dtype = DType::I8, d.d_dtype = DType::I32; });
  refused(kUnsupported, "bias_dtype", "grouped_bias_type", blocks(),
          [](D& d) { d.bias_dtype = DType::F8E4M3; });
}

TEST_CASE("grouped scaled: scales that cannot be are refused by name") {
  const D rows = of_kinds(ScaleKind::row, ScaleKind::row);
  const auto pair = [](ScaleKind a, ScaleKind b, const char* name) {
    refused(kUnsupported, name, "gemm_scale_pair", of_kinds(a, b), [](D&) {});
  };
  pair(ScaleKind::row, ScaleKind::tensor, "a_scale");
  pair(ScaleKind::none, ScaleKind::tensor, "b_scale");
  pair(ScaleKind::block128, ScaleKind::row128, "a_scale");
  pair(ScaleKind::block128, ScaleKind::block128, "a_scale");
  refused(kUnsupported, "a_scale", "gemm_scale_pair", rows,
          [](D& d) { d.a_dtype = d.d_dtype = DType::BF16; });
  refused(kUnsupported, "a_scale", "gemm_scale_kind", rows,
          [](D& d) { d.a_scaling.kind = ScaleKind::row32_ue8m0; });
  refused(kInvalid, "b_scale", "gemm_scale_kind", rows,
          [](D& d) { d.b_scaling.kind = ScaleKind{7}; });
  refused(kInvalid, "a_scale_ld", "leading_dimension", blocks(),
          [](D& d) { d.a_scaling.leading = 99; });
  refused(kInvalid, "b_scale_ld", "leading_dimension", blocks(),
          [](D& d) { d.b_scaling.leading = 3; });
  refused(Code::ERROR_OVERFLOW, "a_scale_ld", "matrix_bytes", blocks(),
          [](D& d) { d.a_scaling.leading = INT64_MAX; });
  refused(Code::ERROR_OVERFLOW, "b_scale_stride", "batch_bytes", blocks(),
          [](D& d) { d.b_scale_stride = INT64_MAX / 4; });
  refused(kInvalid, "a_scale_order", "order_value", blocks(),
          [](D& d) { d.a_scaling.order = Order{2}; });
  refused(kInvalid, "a_scale_ld", "excluded", rows, [](D& d) { d.a_scaling.leading = 100; });
  refused(kInvalid, "b_scale_order", "excluded", rows,
          [](D& d) { d.b_scaling.order = Order::column; });
  for (const int64_t stride : {-1, -5}) {
    refused(kInvalid, "a_scale_stride", "grouped_stride", masked(),
            [&](D& d) { d.a_scale_stride = stride; });
    refused(kInvalid, "b_scale_stride", "grouped_stride", blocks(),
            [&](D& d) { d.b_scale_stride = stride; });
  }
  refused(kInvalid, "a_scale_stride", "excluded", blocks(), [](D& d) { d.a_scale_stride = 500; });
  refused(kInvalid, "a_scale_stride", "excluded", masked(),
          [](D& d) { d.flags = kGroupedDescGather, d.a_count = 9, d.a_scale_stride = 500; });
  refused(kInvalid, "a_scale_stride", "excluded", masked(), [](D& d) {
    d.a_scaling = d.b_scaling = {.kind = ScaleKind::tensor}, d.a_scale_stride = 500;
  });
  refused(kInvalid, "b_scale_stride", "excluded", blocks(),
          [](D& d) { d.a_scaling = d.b_scaling = {}, d.b_scale_stride = 500; });
}

TEST_CASE("grouped scaled: what scales by blocks exclude is refused by name") {
  refused(kUnsupported, "flags", "gemm_fast_accumulate", blocks(),
          [](D& d) { d.flags = kGroupedDescFast; });
  refused(kUnsupported, "flags", "gemm_fast_accumulate", of_kinds(ScaleKind::row, ScaleKind::row),
          [](D& d) { d.flags = kGroupedDescFast, d.a_dtype = DType::I8; });
  D ranges = of_kinds(ScaleKind::row, ScaleKind::row);
  ranges.grouping = Grouping::k_ranges;
  ranges.b_order = Order::row;
  ranges.d_dtype = DType::F32;
  CHECK(problem_of(ranges).a_scales(100).rows == 100);
  refused(kUnsupported, "a_scale", "grouped_scale_ranges", ranges,
          [](D& d) { d.a_scaling.kind = d.b_scaling.kind = ScaleKind::row128; });
  refused(kInvalid, "b_scale_stride", "excluded", ranges, [](D& d) { d.b_scale_stride = 300; });
}

TEST_CASE("grouped scaled: 8-bit floats take wgmma where maps can read them") {
  const auto device = std::make_shared<PaperDevice>(kHopper, 132);
  device->set_shared_memory(kGemmSharedLimit);
  const auto kernel_of = [&](const D& desc, const char* says = nullptr) -> std::string {
    std::unique_ptr<Plan> plan;
    const Status made = GroupedPlan::create(device, desc, &plan);
    INFO(last_failure().message);
    REQUIRE(made.ok());
    INFO(plan->explain());
    if (says) CHECK(plan->explain().find(says) != std::string::npos);
    CHECK(plan->info().workspace_bytes == 0);
    return plan->info().kernel;
  };
  constexpr const char* kFast = "grouped_f8e4m3_f8e4m3_any_rc_128";
  constexpr const char* kAny = "grouped_f8_mma_32x128x32";
  D d = blocks();
  d.k = 512;
  CHECK(kernel_of(d, kAny) == kFast);  // for other addresses
  d.flags = kGroupedDescGather;
  d.a_count = 5000, d.m = 100000;
  CHECK(kernel_of(d) == kFast);  // gathered rows are not copied first
  d.b_scaling.kind = ScaleKind::row128;
  CHECK(kernel_of(d) == kFast);
  for (const DType out : {DType::F16, DType::F32}) {
    d.d_dtype = out;
    CHECK(kernel_of(d) == kFast);
  }
  for (const ScaleKind kind : {ScaleKind::row, ScaleKind::tensor, ScaleKind::none}) {
    d = of_kinds(kind, kind);
    d.k = 512;
    CHECK(kernel_of(d) == kFast);
  }
  d = blocks();
  CHECK(kernel_of(d, "not by wgmma: lda is ") == kAny);
  d.k = 512;
  d.b_dtype = DType::F8E5M2;
  CHECK(kernel_of(d) == "grouped_f8e4m3_f8e5m2_any_rc_128");
  std::swap(d.a_dtype, d.b_dtype);
  CHECK(kernel_of(d) == "grouped_f8e5m2_f8e4m3_any_rc_128");
  d.a_dtype = DType::I8, d.b_dtype = {};
  CHECK(kernel_of(d, "not by wgmma: a_dtype is i8") == "grouped_i8_mma_32x128x32");
  d = blocks();
  d.k = d.n = 512;
  d.b_order = Order::row;
  CHECK(kernel_of(d, "not by wgmma: b_order is TW_ROW_MAJOR") == kAny);
}
