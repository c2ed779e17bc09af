// SPDX-License-Identifier: Apache-2.0
// Which kernels a quantize plan chooses, what it reports about itself, and what it and its runs
// refuse.
#include "ops/quantize/quantize.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::shared_ptr<PaperDevice> gpu() {
  return std::make_shared<PaperDevice>(kHopper, 132);
}

QuantizeDesc desc_of(ScaleKind kind, int64_t rows = 4096, int64_t columns = 7168) {
  QuantizeDesc desc;
  desc.scale = kind;
  desc.rows = rows;
  desc.columns = columns;
  return desc;
}

constexpr uint64_t at(uint64_t operand) {
  return operand << 40;
}

QuantizeRun run_of() {
  return {.src = at(1),
          .dst = at(2),
          .scale = at(3),
          .workspace = at(5),
          .workspace_bytes = uint64_t{1} << 20};
}

std::unique_ptr<Plan> plan_of(const QuantizeDesc& desc,
                              const std::shared_ptr<PaperDevice>& device = gpu()) {
  std::unique_ptr<Plan> plan;
  const Status made = QuantizePlan::create(device, desc, &plan);
  INFO(last_failure().message);
  REQUIRE(made.ok());
  return plan;
}

std::vector<PaperLaunch> launches_of(const QuantizeDesc& desc, const QuantizeRun& run = run_of()) {
  const auto device = gpu();
  const auto plan = plan_of(desc, device);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const Status ran = static_cast<const QuantizePlan&>(*plan).run(*stream, run);
  INFO(last_failure().message);
  REQUIRE(ran.ok());
  return device->launches;
}

void takes(const QuantizeDesc& desc, const char* kernel, uint32_t blocks,
           const QuantizeRun& run = run_of()) {
  const auto launches = launches_of(desc, run);
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].kernel == kernel);
  CHECK(launches[0].config.grid[0] == blocks);
  CHECK(launches[0].config.programmatic);
}

bool says(const Plan& plan, const std::string& text) {
  INFO(plan.explain());
  const bool found = plan.explain().find(text) != std::string::npos;
  CHECK(found);
  return found;
}

void at_fault(Code code, Code wanted, const char* argument, const char* rule) {
  INFO(last_failure().message);
  CHECK(code == wanted);
  CHECK(std::string(last_failure().fault.argument) == argument);
  CHECK(std::string(last_failure().fault.rule) == rule);
}

template <class Edit>
void refused(Code wanted, const char* argument, const char* rule, Edit edit) {
  QuantizeDesc desc = desc_of(ScaleKind::row128);
  edit(desc);
  std::unique_ptr<Plan> plan;
  at_fault(QuantizePlan::create(gpu(), desc, &plan).code(), wanted, argument, rule);
  CHECK(!plan);
}

template <class Edit>
void refused_run(const QuantizeDesc& desc, Code wanted, const char* argument, const char* rule,
                 Edit edit) {
  const auto device = gpu();
  const auto plan = plan_of(desc, device);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  QuantizeRun run = run_of();
  edit(run);
  at_fault(static_cast<const QuantizePlan&>(*plan).run(*stream, run).code(), wanted, argument,
           rule);
  CHECK(device->launches.empty());
}

constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;
constexpr Code kUnsupported = Code::ERROR_UNSUPPORTED;

}  // namespace

TEST_CASE("quantize: each kind of scales has its kernel") {
  QuantizeDesc desc = desc_of(ScaleKind::row128);
  // All rows merge into one. A tile is 16 groups, a block has eight tiles.
  takes(desc, "quantize_groups_x8_tma", 4096 * 56 / 16 / 8);
  desc.scale_order = ScaleOrder::column;  // tiles of 8 rows by 2 groups
  takes(desc, "quantize_groups_x8_tma", 512 * 28 / 8);
  desc.src_dtype = DType::F32;
  takes(desc, "quantize_groups_x4_tma", 512 * 56 / 8);
  desc = desc_of(ScaleKind::row128);
  desc.scale_ld = 64;  // four tiles a row
  takes(desc, "quantize_groups_x8_tma", 4096 * 4 / 8);
  takes(desc_of(ScaleKind::row), "quantize_rows_x8_tma", 4096 / 2);  // four warps a row
  takes(desc_of(ScaleKind::row, 4096, 2048), "quantize_rows_x8_tma", 4096 / 8);
  takes(desc_of(ScaleKind::row, 4096, 65536), "quantize_rows_x8_tma", 4096);
  takes(desc_of(ScaleKind::block128), "quantize_blocks_x8_tma", 32 * 56);
  takes(desc_of(ScaleKind::block128, 129, 136), "quantize_blocks_x8_tma", 4);
  desc = desc_of(ScaleKind::tensor);
  desc.flags = kQuantizeDescGivenScale;
  takes(desc, "quantize_cast_x8_tma", 4096 * 56 / 16 / 8);
  for (const ScaleKind kind :
       {ScaleKind::tensor, ScaleKind::row, ScaleKind::row128, ScaleKind::block128}) {
    desc = desc_of(kind);
    std::swap(desc.src_dtype, desc.dst_dtype);
    CHECK(launches_of(desc)[0].kernel == "quantize_dequantize_x8_tma");
    desc.dst_dtype = DType::F32;
    CHECK(launches_of(desc)[0].kernel == "quantize_dequantize_x4_tma");
  }
}

TEST_CASE("quantize: the scale of the whole matrix takes two kernels") {
  const auto launches = launches_of(desc_of(ScaleKind::tensor));
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].kernel == "quantize_amax_x8_tma");
  CHECK(launches[1].kernel == "quantize_cast_x8_tma");
  CHECK(launches[0].config.grid[0] == 132 * 4);
  CHECK(launches[1].config.grid[0] == 132 * 4);
  const auto few = launches_of(desc_of(ScaleKind::tensor, 1, 2048));
  CHECK(few[0].config.grid[0] == 1);
  const auto plan = plan_of(desc_of(ScaleKind::tensor));
  CHECK(plan->info().workspace_bytes == 4096);
  says(*plan, "preceded by quantize_amax_x8_tma, whose results need a workspace of 4096 bytes");
}

TEST_CASE("quantize: what is no whole vector goes element by element") {
  const QuantizeDesc desc = desc_of(ScaleKind::row128, 64, 1000);
  takes(desc, "quantize_groups_x8_tma", 4);  // tiles of 8 rows: rows are half a tile long
  for (const uint64_t bytes : {2, 8, 15 * 2}) {
    QuantizeRun run = run_of();
    run.src += bytes;
    takes(desc, "quantize_regions_any_tma", 64, run);
  }
  QuantizeRun run = run_of();
  run.dst += 4;
  takes(desc, "quantize_regions_any_tma", 64, run);
  run = run_of();
  run.scale += 4;  // does not matter
  takes(desc, "quantize_groups_x8_tma", 4, run);
  takes(desc_of(ScaleKind::row128, 64, 1001), "quantize_regions_any_tma", 64);
  takes(desc_of(ScaleKind::row, 64, 1001), "quantize_regions_any_tma", 8);
  takes(desc_of(ScaleKind::row, 64, 2049), "quantize_regions_any_tma", 64);
  takes(desc_of(ScaleKind::block128, 129, 1001), "quantize_regions_any_tma", 16);
  QuantizeDesc pitched = desc;
  pitched.src_pitch = 1001;
  takes(pitched, "quantize_regions_any_tma", 64);
  pitched.rows = 1;  // a single row has no pitch
  takes(pitched, "quantize_groups_x8_tma", 1);
  // A scale per tensor treats the matrix as one row, unless there is padding between rows.
  QuantizeDesc odd = desc_of(ScaleKind::tensor, 64, 1001);
  CHECK(launches_of(odd)[0].kernel == "quantize_amax_x8_tma");
  odd.dst_pitch = 1008;
  CHECK(launches_of(odd)[0].kernel == "quantize_amax_any_tma");
}

TEST_CASE("quantize: short rows with room between them go several at once") {
  QuantizeDesc desc = desc_of(ScaleKind::row128, 4096, 256);
  takes(desc, "quantize_groups_x8_tma", 4096 * 2 / 16 / 8);
  desc.src_pitch = 512;
  takes(desc, "quantize_groups_x8_tma", 4096 / 8 / 8);
  desc.max_sms = 7;
  takes(desc, "quantize_groups_x8_tma", 7);
}

TEST_CASE("quantize: a plan says what it is") {
  QuantizeDesc desc = desc_of(ScaleKind::row128, 100, 1000);
  desc.scale_order = ScaleOrder::column;
  desc.scale_ld = 104;
  const PlanInfo info = plan_of(desc)->info();
  CHECK(info.op == Op::quantize);
  CHECK(info.kernel == std::string("quantize_groups_x8_tma"));
  CHECK(info.bytes_read == 100 * 1000 * 2);
  CHECK(info.bytes_written == 100 * 1000 + 100 * 8 * 4);
  CHECK(info.workspace_bytes == 0);
  says(*plan_of(desc), "quantization of 100 by 1000 elements, bf16 to f8e4m3");
  says(*plan_of(desc),
       "each 128 elements of a row: 100 by 8, column-major with leading dimension 104");
  says(*plan_of(desc), "largest finite magnitude / 448\n");
  says(*plan_of(desc), "by vectors of 8 elements");
  desc.flags = kQuantizeDescPowersOfTwo;
  desc.dst_dtype = DType::I8;
  says(*plan_of(desc), "magnitude / 127, rounded up to a power of two");
  desc.columns = 1001;
  says(*plan_of(desc), "element by element: columns is 1001, not a multiple of 8 elements\n");
  desc.columns = 1000;
  desc.src_pitch = 1002;
  says(*plan_of(desc), "element by element: src_pitch is 1002, not a multiple of 8 elements\n");
  desc.src_pitch = 0;
  desc.dst_pitch = 1004;
  says(*plan_of(desc), "element by element: dst_pitch is 1004, not a multiple of 8 elements\n");
  desc.dst_pitch = 0;
  desc.methods = kQuantizeByElements;
  says(*plan_of(desc), "element by element: methods excludes vectors\n");
  desc.methods = kQuantizeByVectors;
  says(*plan_of(desc), "methods excludes element by element");
  desc = desc_of(ScaleKind::tensor, 3, 1001);
  says(*plan_of(desc), "element by element: rows times columns is 3003, not a multiple of 8");
  desc = desc_of(ScaleKind::tensor);
  CHECK(plan_of(desc)->info().bytes_read == 4096 * 7168 * 4);
  desc.flags = kQuantizeDescGivenScale;
  says(*plan_of(desc), "the scale is given");
  desc = desc_of(ScaleKind::block128);
  std::swap(desc.src_dtype, desc.dst_dtype);
  says(*plan_of(desc), "dequantization of 4096 by 7168 elements, f8e4m3 to bf16");
  CHECK(plan_of(desc)->info().bytes_read == 4096 * 7168 + 32 * 56 * 4);
  desc.rows = 0;
  says(*plan_of(desc), "empty, nothing runs");
  CHECK(launches_of(desc, {}).empty());
}

TEST_CASE("quantize: descriptions that cannot work are refused by name") {
  using D = QuantizeDesc;
  constexpr Code kOverflow = Code::ERROR_OVERFLOW;
  refused(kInvalid, "src_dtype", "quantize_dtype", [](D& d) { d.src_dtype = DType{0}; });
  refused(kUnsupported, "src_dtype", "quantize_dtype", [](D& d) { d.src_dtype = DType::F64; });
  refused(kUnsupported, "dst_dtype", "quantize_dtype", [](D& d) { d.dst_dtype = DType::F16; });
  refused(kUnsupported, "dst_dtype", "quantize_dtype", [](D& d) { d.src_dtype = DType::I8; });
  for (const int32_t wrong : {-1, 0, 5, 19, 22})
    refused(kInvalid, "scale", "quantize_scale_kind",
            [&](D& d) { d.scale = static_cast<ScaleKind>(wrong); });
  for (const ScaleKind later : {ScaleKind::row32_ue8m0, ScaleKind::row16_ue4m3})
    refused(kUnsupported, "scale", "quantize_scale_kind", [&](D& d) { d.scale = later; });
  for (const int32_t wrong : {-1, 2})
    refused(kInvalid, "scale_order", "order_value",
            [&](D& d) { d.scale_order = static_cast<ScaleOrder>(wrong); });
  refused(kInvalid, "scale_ld", "excluded",
          [](D& d) { d.scale = ScaleKind::tensor, d.scale_ld = 1; });
  refused(kInvalid, "flags", "quantize_flags", [](D& d) { d.flags = 4; });
  refused(kInvalid, "flags", "excluded", [](D& d) { d.flags = kQuantizeDescGivenScale; });
  refused(kInvalid, "rows", "quantize_not_negative", [](D& d) { d.rows = -1; });
  refused(kInvalid, "columns", "quantize_not_negative", [](D& d) { d.columns = -1; });
  refused(kInvalid, "src_pitch", "quantize_not_negative", [](D& d) { d.src_pitch = -1; });
  refused(kInvalid, "dst_pitch", "quantize_not_negative", [](D& d) { d.dst_pitch = -1; });
  refused(kInvalid, "scale_ld", "quantize_not_negative", [](D& d) { d.scale_ld = -1; });
  refused(kOverflow, "columns", "quantize_columns", [](D& d) { d.columns = int64_t{1} << 31; });
  refused(kOverflow, "rows", "quantize_groups", [](D& d) { d.rows = (int64_t{1} << 30) / 56 + 1; });
  refused(kInvalid, "src_pitch", "quantize_pitch", [](D& d) { d.src_pitch = 7167; });
  refused(kInvalid, "dst_pitch", "quantize_pitch", [](D& d) { d.dst_pitch = 7167; });
  refused(kOverflow, "src_pitch", "quantize_span", [](D& d) { d.src_pitch = int64_t{1} << 48; });
  refused(kInvalid, "scale_ld", "quantize_scale_ld", [](D& d) { d.scale_ld = 55; });
  refused(kInvalid, "scale_ld", "quantize_scale_ld",
          [](D& d) { d.scale_ld = 4095, d.scale_order = ScaleOrder::column; });
  refused(kOverflow, "scale_ld", "quantize_span", [](D& d) { d.scale_ld = int64_t{1} << 47; });
  refused(kInvalid, "src_cache", "cache_priority",
          [](D& d) { d.src_cache = static_cast<CachePriority>(3); });
  // The largest sizes.
  plan_of(desc_of(ScaleKind::row128, 64, INT32_MAX));
  plan_of(desc_of(ScaleKind::block128, int64_t{1} << 30, 128));
}

TEST_CASE("quantize: runs that cannot work are refused by name, and launch nothing") {
  using R = QuantizeRun;
  const QuantizeDesc desc = desc_of(ScaleKind::row128, 64, 1000);
  const QuantizeDesc one = desc_of(ScaleKind::tensor, 64, 1000);
  QuantizeDesc back = one;
  std::swap(back.src_dtype, back.dst_dtype);
  refused_run(desc, kInvalid, "rows", "quantize_run_size", [](R& r) { r.rows = 65; });
  refused_run(desc, kInvalid, "rows", "quantize_run_size", [](R& r) { r.rows = -2; });
  refused_run(desc, kInvalid, "src", "address_not_null", [](R& r) { r.src = 0; });
  refused_run(desc, kInvalid, "dst", "address_not_null", [](R& r) { r.dst = 0; });
  refused_run(desc, kInvalid, "scale", "address_not_null", [](R& r) { r.scale = 0; });
  refused_run(desc, kInvalid, "amax", "excluded", [](R& r) { r.amax = at(4); });
  refused_run(back, kInvalid, "amax", "excluded", [](R& r) { r.amax = at(4); });
  refused_run(desc, Code::ERROR_MISALIGNED, "src", "address_alignment", [](R& r) { r.src += 1; });
  refused_run(desc, Code::ERROR_MISALIGNED, "scale", "address_alignment",
              [](R& r) { r.scale += 2; });
  refused_run(one, Code::ERROR_MISALIGNED, "amax", "address_alignment",
              [](R& r) { r.amax = at(4) + 2; });
  refused_run(one, kInvalid, "workspace", "address_not_null", [](R& r) { r.workspace = 0; });
  refused_run(one, Code::ERROR_BUFFER_TOO_SMALL, "workspace_bytes", "workspace_size",
              [](R& r) { r.workspace_bytes = 4095; });
  refused_run(desc, Code::ERROR_OVERLAP, "dst", "operands_disjoint", [](R& r) { r.dst = r.src; });
  refused_run(desc, Code::ERROR_OVERLAP, "scale", "operands_disjoint",
              [](R& r) { r.scale = r.dst + 400; });
  refused_run(one, Code::ERROR_OVERLAP, "amax", "operands_disjoint",
              [](R& r) { r.amax = r.scale; });
  // A given scale may lie within the source.
  QuantizeDesc given = one;
  given.flags = kQuantizeDescGivenScale;
  QuantizeRun run = run_of();
  run.scale = run.src + 4;
  CHECK(launches_of(given, run).size() == 1);
}
