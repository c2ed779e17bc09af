// SPDX-License-Identifier: Apache-2.0
// Which kernel a ragged plan chooses, what it reports about itself, and what it refuses.
#include "ops/ragged/ragged.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::shared_ptr<PaperDevice> gpu() {
  auto device = std::make_shared<PaperDevice>(kHopper, 132);
  device->set_shared_memory(232448);
  return device;
}

RaggedDesc desc_of(int64_t columns) {
  RaggedDesc desc;
  desc.dtype = DType::BF16;
  desc.batch = 64;
  desc.rows = 512;
  desc.tokens = 20000;
  desc.columns = columns;
  return desc;
}

std::unique_ptr<Plan> plan_of(const RaggedDesc& desc) {
  std::unique_ptr<Plan> plan;
  const Status made = RaggedPlan::create(gpu(), desc, &plan);
  INFO(last_failure().message);
  REQUIRE(made.ok());
  return plan;
}

bool says(const Plan& plan, const std::string& text) {
  INFO(plan.explain());
  const bool found = plan.explain().find(text) != std::string::npos;
  CHECK(found);
  return found;
}

void refused(Code code, const char* argument, const char* rule, const RaggedDesc& desc) {
  std::unique_ptr<Plan> plan;
  CHECK(RaggedPlan::create(gpu(), desc, &plan).code() == code);
  CHECK(!plan);
  INFO(last_failure().message);
  CHECK(std::string(last_failure().fault.argument) == argument);
  CHECK(std::string(last_failure().fault.rule) == rule);
}

}  // namespace

TEST_CASE("ragged: bulk copies where rows are whole 16-byte units, plain ones elsewhere") {
  RaggedDesc desc = desc_of(4096);
  CHECK(plan_of(desc)->info().kernel == std::string("ragged_bulk_tma"));
  says(*plan_of(desc), "promise packed_alignment and padded_alignment 16");
  says(*plan_of(desc), "become zeros");
  desc.packed_alignment = desc.padded_alignment = 16;
  CHECK(plan_of(desc)->explain().find("promise") == std::string::npos);
  // A window may begin at any column.
  desc.packed_columns = 5000;
  says(*plan_of(desc), "ragged_plain_tma");
  const auto plain = [](const RaggedDesc& d, const char* reason) {
    const auto plan = plan_of(d);
    CHECK(plan->info().kernel == std::string("ragged_plain_tma"));
    says(*plan, reason);
  };
  plain(desc_of(100), "row size is not a multiple of 16 bytes");
  desc = desc_of(64);
  desc.packed_pitch = 68;
  plain(desc, "packed operand's pitch is not a multiple of 16 bytes");
  desc = desc_of(64);
  desc.padded_pitch = 68;
  plain(desc, "padded operand's pitches are not multiples of 16 bytes");
  desc = desc_of(64);
  desc.padded_batch_pitch = 512 * 64 + 4;
  plain(desc, "padded operand's pitches are not multiples of 16 bytes");
  desc = desc_of(64);
  desc.packed_alignment = 8;
  plain(desc, "packed window's address is not a multiple of 16");
  desc = desc_of(64);
  desc.padded_alignment = 8;
  plain(desc, "padded operand's address is not a multiple of 16");
  desc = desc_of(16);
  desc.packed_pitch = 64;
  plain(desc, "shorter than 64 bytes");
  CHECK(plan_of(desc_of(8))->info().kernel == std::string("ragged_bulk_tma"));
}

TEST_CASE("ragged: a plan says what it is") {
  RaggedDesc desc = desc_of(4096);
  const PlanInfo pad = plan_of(desc)->info();
  CHECK(pad.op == Op::ragged);
  CHECK(pad.bytes_written == 64 * 512 * 8192);
  CHECK(pad.bytes_read == 20000 * 8192 + 65 * 4);
  desc.fill = OobFill::nan;
  says(*plan_of(desc), "become NaN");
  desc.fill = OobFill::zero;
  desc.direction = RaggedDirection::unpad;
  says(*plan_of(desc), "neither read nor written");
  CHECK(plan_of(desc)->info().bytes_written == 20000 * 8192);
  desc.batch = 0;
  says(*plan_of(desc), "empty, nothing runs");
}

TEST_CASE("ragged: descriptions that cannot work are refused by name") {
  constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;
  const auto change = [](auto edit) {
    RaggedDesc desc = desc_of(64);
    edit(desc);
    return desc;
  };
  using D = RaggedDesc;
  refused(kInvalid, "dtype", "ragged_dtype", change([](D& d) { d.dtype = DType{999}; }));
  refused(Code::ERROR_UNSUPPORTED, "offset_dtype", "ragged_offset_dtype",
          change([](D& d) { d.offset_dtype = DType::U32; }));
  refused(kInvalid, "offset_dtype", "ragged_offset_dtype",
          change([](D& d) { d.offset_dtype = DType{0}; }));
  refused(kInvalid, "direction", "ragged_direction",
          change([](D& d) { d.direction = RaggedDirection{2}; }));
  refused(kInvalid, "fill", "ragged_fill", change([](D& d) { d.fill = OobFill{-1}; }));
  refused(kInvalid, "fill", "ragged_fill_unpad", change([](D& d) {
            d.fill = OobFill::nan;
            d.direction = RaggedDirection::unpad;
          }));
  for (const DType dtype : {DType::U8, DType::F8E4M3, DType::F8E5M2, DType::I32, DType::B128})
    refused(Code::ERROR_UNSUPPORTED, "fill", "ragged_fill_dtype", change([&](D& d) {
              d.fill = OobFill::nan;
              d.dtype = dtype;
            }));
  refused(kInvalid, "batch", "ragged_not_negative", change([](D& d) { d.batch = -1; }));
  refused(kInvalid, "tokens", "ragged_not_negative", change([](D& d) { d.tokens = -1; }));
  refused(kInvalid, "rows", "ragged_not_negative", change([](D& d) { d.rows = -1; }));
  refused(kInvalid, "columns", "ragged_not_negative", change([](D& d) { d.columns = -1; }));
  refused(kInvalid, "packed_columns", "ragged_columns",
          change([](D& d) { d.packed_columns = 63; }));
  refused(kInvalid, "packed_pitch", "ragged_pitch", change([](D& d) { d.packed_pitch = 63; }));
  refused(kInvalid, "padded_pitch", "ragged_pitch", change([](D& d) { d.padded_pitch = 63; }));
  refused(kInvalid, "padded_batch_pitch", "ragged_batch_pitch",
          change([](D& d) { d.padded_batch_pitch = 511 * 64; }));
  // Time-major: sequences lie side by side, which is allowed if rows do not overlap.
  CHECK(plan_of(change([](D& d) {
          d.padded_batch_pitch = 64;
          d.padded_pitch = 64 * 64;
        }))
            ->info()
            .kernel != std::string(""));
  refused(kInvalid, "padded_batch_pitch", "ragged_batch_pitch", change([](D& d) {
            d.padded_batch_pitch = 64;
            d.padded_pitch = 64 * 64 - 1;
          }));
  refused(kInvalid, "packed_alignment", "alignment_power_of_two",
          change([](D& d) { d.packed_alignment = 24; }));
  refused(kInvalid, "padded_alignment", "alignment_of_element",
          change([](D& d) { d.padded_alignment = 1; }));
  refused(Code::ERROR_OVERFLOW, "columns", "ragged_span",
          change([](D& d) { d.columns = int64_t{1} << 61; }));
  refused(Code::ERROR_OVERFLOW, "tokens", "ragged_span",
          change([](D& d) { d.tokens = INT64_MAX; }));
  refused(Code::ERROR_OVERFLOW, "batch", "ragged_span", change([](D& d) { d.batch = INT64_MAX; }));
  refused(Code::ERROR_OVERFLOW, "rows", "ragged_span", change([](D& d) { d.rows = INT64_MAX; }));
}

TEST_CASE("ragged: all tiles are in one launch, and the count of faults in another") {
  for (const int64_t columns : {4096, 100, 3}) {
    const auto device = gpu();
    std::unique_ptr<Plan> plan;
    REQUIRE(RaggedPlan::create(device, desc_of(columns), &plan).ok());
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    const RaggedRun run{.packed = 1ull << 32,
                        .offsets = 1ull << 42,
                        .padded = 1ull << 40,
                        .invalid_count = 1ull << 43};
    REQUIRE(static_cast<RaggedPlan&>(*plan).run(*stream, run).ok());
    CHECK(device->launches.size() == 2);
  }
}

TEST_CASE("ragged: rows of any length are cut into tiles that hold them") {
  for (const uint64_t row_bytes : {1u, 15u, 16u, 100u, 2048u, 2049u, 8192u, 100001u})
    for (const uint64_t rows : {1u, 3u, 1000u})
      for (const uint32_t tile_bytes : {1024u, 2048u}) {
        TileCut cut;
        REQUIRE(cut_tiles(7, rows, row_bytes, tile_bytes, &cut).ok());
        CHECK(cut.tile_rows * uint64_t{cut.part_bytes} <= tile_bytes);
        CHECK((cut.parts - 1) * uint64_t{cut.part_bytes} + cut.last_bytes == row_bytes);
        CHECK((cut.parts == 1 || cut.part_bytes % 16 == 0));
        CHECK(cut.last_bytes >= 1);
        CHECK(cut.items == 7 * cut.operand_tiles);
        CHECK(cut.operand_tiles == (rows + cut.tile_rows - 1) / cut.tile_rows * cut.parts);
      }
  TileCut cut;
  CHECK(cut_tiles(1ull << 40, 1ull << 40, 4096, 4096, &cut).code() == Code::ERROR_OVERFLOW);
}
