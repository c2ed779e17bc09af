// SPDX-License-Identifier: Apache-2.0
// Launches, explanations and refusals of grouped plans and their runs. The paper device has the
// host's kernels; it records launches and executes none.
#include <cmath>

#include "ops/grouped/grouped.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::shared_ptr<PaperDevice> paper_host(int32_t sms = 132) {
  return std::make_shared<PaperDevice>(feature::host, sms);
}

GroupedDesc desc_of() {
  GroupedDesc desc;
  desc.m = 1000, desc.n = 64, desc.k = 32;
  desc.groups = 8;
  return desc;
}

// Each token is multiplied by two groups. Pair numbers index the rows of A and D.
GroupedDesc by_pairs(Combine combine = Combine::sum) {
  GroupedDesc desc = desc_of();
  desc.flags = kGroupedDescGather | kGroupedDescScatter;
  desc.combine = combine;
  desc.a_count = desc.d_count = 500;
  desc.a_divisor = desc.d_divisor = 2;
  return desc;
}

GroupedDesc ranges() {
  GroupedDesc desc = desc_of();
  desc.grouping = Grouping::k_ranges;
  return desc;
}

constexpr uint64_t at(uint64_t operand) {
  return operand << 40;
}

GroupedRun run_of() {
  return {.a = at(1), .b = at(2), .d = at(3), .groups = at(4)};
}

GroupedRun pairs_run() {
  GroupedRun run = run_of();
  run.a_rows = at(5), run.d_rows = at(6);
  run.workspace = at(7), run.workspace_bytes = uint64_t{1} << 36;
  return run;
}

std::unique_ptr<Plan> plan_of(const GroupedDesc& desc,
                              const std::shared_ptr<PaperDevice>& device = paper_host()) {
  std::unique_ptr<Plan> plan;
  const Status made = GroupedPlan::create(device, desc, &plan);
  INFO(last_failure().message);
  REQUIRE(made.ok());
  return plan;
}

std::vector<PaperLaunch> launches_of(const GroupedDesc& desc, const GroupedRun& run) {
  const auto device = paper_host();
  const auto plan = plan_of(desc, device);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const Status ran = static_cast<const GroupedPlan&>(*plan).run(*stream, run);
  INFO(last_failure().message);
  REQUIRE(ran.ok());
  return device->launches;
}

// The names of the launched steps, for example "clear check mma".
std::string steps_of(const GroupedDesc& desc, const GroupedRun& run) {
  std::string text;
  for (const PaperLaunch& launch : launches_of(desc, run)) {
    const std::string name = launch.kernel.substr(8, launch.kernel.find('_', 8) - 8);
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

void says(const Plan& plan, const std::string& text) {
  INFO(plan.explain());
  CHECK(plan.explain().find(text) != std::string::npos);
}

void at_fault(Code code, Code wanted, const char* argument, const char* rule) {
  INFO(last_failure().message);
  CHECK(code == wanted);
  CHECK(std::string(last_failure().fault.argument) == argument);
  CHECK(std::string(last_failure().fault.rule) == rule);
}

constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;
constexpr Code kUnsupported = Code::ERROR_UNSUPPORTED;

template <class Edit>
void refused(Code wanted, const char* argument, const char* rule, Edit edit,
             GroupedDesc desc = desc_of()) {
  edit(desc);
  std::unique_ptr<Plan> plan;
  at_fault(GroupedPlan::create(paper_host(), desc, &plan).code(), wanted, argument, rule);
  CHECK(!plan);
}

template <class Edit>
void excluded(const char* argument, Edit edit, GroupedDesc desc = desc_of()) {
  refused(kInvalid, argument, "excluded", edit, desc);
}

template <class Edit>
void refused_run(const GroupedDesc& desc, Code wanted, const char* argument, const char* rule,
                 Edit edit) {
  const auto device = paper_host();
  const auto plan = plan_of(desc, device);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GroupedRun run = desc.has(kGroupedDescScatter) ? pairs_run() : run_of();
  edit(run);
  at_fault(static_cast<const GroupedPlan&>(*plan).run(*stream, run).code(), wanted, argument, rule);
  CHECK(device->launches.empty());
}

using D = GroupedDesc;
using R = GroupedRun;

}  // namespace

TEST_CASE("grouped: steps are launched where they are needed, in their order") {
  R run = run_of();
  CHECK(steps_of(desc_of(), run) == "mma");
  run.invalid_count = at(9);
  CHECK(steps_of(desc_of(), run) == "check mma");
  D desc = desc_of();
  desc.flags = kGroupedDescZeroOthers;
  CHECK(steps_of(desc, run) == "clear check mma");
  desc.grouping = Grouping::by_row;
  run.workspace = at(7), run.workspace_bytes = 256;
  CHECK(steps_of(desc, run) == "clear find check mma");
  CHECK(steps_of(ranges(), run_of()) == "ranges");
  CHECK(steps_of(by_pairs(), pairs_run()) == "mma clear link combine");
  CHECK(steps_of(by_pairs(Combine::store), pairs_run()) == "mma");
  CHECK(steps_of(by_pairs(Combine::add_atomic), pairs_run()) == "mma");
  CHECK(steps_of(by_pairs(Combine::add), pairs_run()) == "mma clear link combine");
  run = pairs_run();
  run.inverse = at(8);
  for (const Combine combine : {Combine::sum, Combine::add}) {
    desc = by_pairs(combine);
    desc.flags |= kGroupedDescInverse;
    CHECK(steps_of(desc, run) == "mma combine");
  }
  desc.flags |= kGroupedDescZeroOthers;
  CHECK(steps_of(desc, run) == "clear mma combine");
  desc.combine = Combine::sum;
  CHECK(steps_of(desc, run) == "mma combine");
}

TEST_CASE("grouped: an empty run launches what has to become zero, and nothing else") {
  R none{.m = 0};
  CHECK(steps_of(desc_of(), none).empty());
  none.d = at(3);
  CHECK(steps_of(by_pairs(), none) == "clear");
  D desc;
  for (const Combine combine : {Combine::store, Combine::add_atomic, Combine::add}) {
    desc = by_pairs(combine);
    CHECK(steps_of(desc, none).empty());
    desc.flags |= kGroupedDescZeroOthers;
    CHECK(steps_of(desc, none) == "clear");
  }
  none.d_count = 0;
  CHECK(steps_of(desc, none).empty());
  desc = desc_of();
  desc.n = 0;
  CHECK(steps_of(desc, {}).empty());
  desc = desc_of();
  desc.groups = 0;
  CHECK(steps_of(desc, {}).empty());
  desc = ranges();
  desc.k = 0;  // D is still written
  CHECK(steps_of(desc, {.d = at(3), .groups = at(4)}) == "ranges");
}

TEST_CASE("grouped: launches may begin early behind the run's own, or where the plan says so") {
  for (const bool programmatic : {false, true}) {
    D desc = by_pairs();
    if (programmatic) desc.flags |= kGroupedDescProgrammatic;
    const auto launches = launches_of(desc, pairs_run());
    REQUIRE(launches.size() == 4);
    CHECK(launches[0].config.programmatic == programmatic);
    for (size_t i = 1; i < 4; ++i) CHECK(launches[i].config.programmatic);
  }
}

TEST_CASE("grouped: max_sms bounds the blocks of every launch") {
  D desc = by_pairs();
  desc.max_sms = 5;
  desc.grouping = Grouping::by_row;
  R run = pairs_run();
  run.invalid_count = at(9);
  const auto launches = launches_of(desc, run);
  REQUIRE(launches.size() == 6);
  for (const PaperLaunch& launch : launches) CHECK(launch.config.grid[0] <= 5);
  CHECK(launches[0].config.grid[0] == 1);  // finds
  CHECK(launches[0].config.block[0] == 1024);
  CHECK(launches[2].config.block[0] == 128);
  desc.m = 100000;
  CHECK(launches_of(desc, run)[0].config.cluster[0] == 4);
  desc.max_sms = 0;
  CHECK(launches_of(desc, run)[0].config.cluster[0] == 8);
  CHECK(launches_of(desc, run)[0].config.grid[0] == 8);
  CHECK(launches_of(desc, run)[2].config.grid[0] == 132 * 4);
}

TEST_CASE("grouped: few tiles take few blocks") {
  D desc = desc_of();
  desc.n = 130;  // three tiles of columns
  const std::pair<int64_t, uint32_t> counts[] = {{1, 3u}, {8, 24u}, {9, 24u}, {72, 27u}};
  for (const auto& count : counts) {
    R run = run_of();
    run.m = count.first;
    CAPTURE(count.first);
    CHECK(launches_of(desc, run)[0].config.grid[0] == count.second);
  }
  D of_k = ranges();
  of_k.m = 65;
  CHECK(launches_of(of_k, run_of())[0].config.grid[0] == 16);
}

TEST_CASE("grouped: a plan says what it is") {
  D desc = by_pairs();
  desc.d_dtype = DType::F32;
  desc.expected_rows = 64;
  const PlanInfo info = plan_of(desc)->info();
  CHECK(info.op == Op::grouped);
  CHECK(info.flops == 2ull * 1000 * 64 * 32);
  CHECK(info.bytes_read == 1000 * 32 * 2 + 8 * 64 * 32 * 2);
  CHECK(info.bytes_written == 500 * 64 * 4);
  CHECK(info.workspace_bytes >= 1000 * 64 * 4 + 500 * 4 + 1000 * 4);
  says(*plan_of(desc),
       "up to 1000 rows, n 64, k 32, in 8 groups with 8 weight matrices, bf16 to f32");
  says(*plan_of(desc), "summed into rows of D by index, in ascending order");
  says(*plan_of(desc), "gathered by index");
  says(*plan_of(desc_of()), "no workspace is needed");
  says(*plan_of(desc_of()), "stored in place");
  says(*plan_of(ranges()), "groups are ranges of k");
  desc.flags |= kGroupedDescInverse;
  says(*plan_of(desc), "in the order of inverse");
  CHECK(plan_of(desc)->info().workspace_bytes == 1000 * 64 * 4);
  desc.combine = Combine::add;
  says(*plan_of(desc), "added to rows of D in the order of inverse");
  says(*plan_of(by_pairs(Combine::add_atomic)), "in any order");
  says(*plan_of(by_pairs(Combine::add)), "added to rows of D by index, in ascending order");
  says(*plan_of(by_pairs(Combine::store)), "stored at rows of D by index");
  desc = desc_of();
  desc.grouping = Grouping::by_row;
  CHECK(plan_of(desc)->info().workspace_bytes == 256);
  desc = desc_of();
  desc.activation = Activation::relu, desc.bias_dtype = DType::F32;
  says(*plan_of(desc), "each row is a product, plus a bias in f32, then relu\n");
  desc.gate = Gate::halves, desc.activation = Activation::silu, desc.gate_limit = 7;
  says(*plan_of(desc), "then silu of the first half of the columns times the second, limited by 7");
  desc = desc_of();
  desc.groups = -1, desc.grouping = Grouping::one;
  says(*plan_of(desc), "in 1 groups");
}

TEST_CASE("grouped: types and choices that cannot be are refused by name") {
  refused(kUnsupported, "a_dtype", "grouped_input_type", [](D& d) { d.a_dtype = DType::F32; });
  refused(kInvalid, "a_dtype", "grouped_input_type", [](D& d) { d.a_dtype = DType{99}; });
  refused(kUnsupported, "d_dtype", "grouped_output_type", [](D& d) { d.d_dtype = DType::F16; });
  refused(kUnsupported, "bias_dtype", "grouped_bias_type", [](D& d) { d.bias_dtype = DType::F16; });
  refused(kUnsupported, "index_dtype", "grouped_index_dtype",
          [](D& d) { d.index_dtype = DType::U32; });
  refused(kInvalid, "row_index_dtype", "grouped_row_index_dtype",
          [](D& d) { d.row_index_dtype = DType::F32; });
  for (const int32_t wrong : {-1, 7, 19, 21})
    refused(kInvalid, "grouping", "grouped_grouping", [&](D& d) { d.grouping = Grouping{wrong}; });
  refused(kUnsupported, "grouping", "grouped_grouping",
          [](D& d) { d.grouping = Grouping::blocks; });
  for (const int32_t wrong : {-1, 4})
    refused(kInvalid, "combine", "grouped_choice", [&](D& d) { d.combine = Combine{wrong}; });
  for (const int32_t wrong : {-1, 3})
    refused(kInvalid, "gate", "grouped_choice", [&](D& d) { d.gate = Gate{wrong}; });
  refused(kInvalid, "b_order", "order_value", [](D& d) { d.b_order = Order{2}; });
  refused(kInvalid, "activation", "activation", [](D& d) { d.activation = Activation{5}; });
  refused(kInvalid, "flags", "grouped_flags", [](D& d) { d.flags = 256; });
  refused(kInvalid, "gate_limit", "grouped_number", [](D& d) { d.gate_limit = NAN; });
  refused(kInvalid, "gate_offset", "grouped_number", [](D& d) { d.gate_offset = INFINITY; });
  refused(kInvalid, "gate_slope", "grouped_number", [](D& d) { d.gate_slope = -INFINITY; });
  refused(kInvalid, "gate_limit", "grouped_gate_limit",
          [](D& d) { d.gate = Gate::halves, d.gate_limit = -7; });
  refused(kInvalid, "n", "grouped_gate_columns",
          [](D& d) { d.gate = Gate::interleaved, d.n = 63; });
  refused(kInvalid, "a_alignment", "alignment_power_of_two", [](D& d) { d.a_alignment = 24; });
  refused(kInvalid, "b_alignment", "alignment_of_element", [](D& d) { d.b_alignment = 1; });
  refused(kInvalid, "d_alignment", "alignment_of_element",
          [](D& d) { d.d_dtype = DType::F32, d.d_alignment = 2; });
}

TEST_CASE("grouped: sizes and pitches that cannot be are refused by name") {
  constexpr Code kOverflow = Code::ERROR_OVERFLOW;
  constexpr int64_t kPast = kGemmMaxExtent + 1;
  int64_t D::*const extents[] = {&D::m, &D::n, &D::k, &D::weight_count, &D::expected_rows};
  const char* const names[] = {"m", "n", "k", "weight_count", "expected_rows"};
  for (int i = 0; i < 5; ++i) {
    refused(kInvalid, names[i], "grouped_extent", [&](D& d) { d.*extents[i] = -1; });
    refused(kUnsupported, names[i], "grouped_extent", [&](D& d) { d.*extents[i] = kPast; });
  }
  refused(kInvalid, "group_count", "grouped_groups", [](D& d) { d.groups = -1; });
  refused(kUnsupported, "group_count", "grouped_groups", [](D& d) { d.groups = 1025; });
  refused(kInvalid, "group_count", "grouped_groups", [](D& d) { d.grouping = Grouping::one; });
  refused(kInvalid, "group_rows", "grouped_group_rows",
          [](D& d) { d.grouping = Grouping::masked, d.group_rows = 126; });
  refused(kInvalid, "lda", "grouped_pitch", [](D& d) { d.lda = 31; });
  refused(kInvalid, "lda", "grouped_pitch", [](D& d) { d.lda = -1; });
  refused(kInvalid, "ldb", "grouped_pitch", [](D& d) { d.ldb = 63; });
  refused(kInvalid, "ldb", "grouped_pitch", [](D& d) { d.b_order = Order::column, d.ldb = 31; });
  refused(kInvalid, "ldd", "grouped_pitch", [](D& d) { d.ldd = 63; });
  refused(kInvalid, "b_stride", "grouped_stride", [](D& d) { d.b_stride = -1; });
  refused(kInvalid, "bias_stride", "grouped_stride",
          [](D& d) { d.bias_dtype = DType::F32, d.bias_stride = -64; });
  refused(kOverflow, "lda", "grouped_span", [](D& d) { d.lda = INT64_MAX; });
  refused(kOverflow, "ldb", "grouped_span", [](D& d) { d.ldb = int64_t{1} << 55; });
  refused(kOverflow, "ldd", "grouped_span", [](D& d) { d.ldd = int64_t{1} << 50; });
  refused(kOverflow, "b_stride", "grouped_span", [](D& d) { d.b_stride = int64_t{1} << 58; });
  refused(kOverflow, "bias_stride", "grouped_span",
          [](D& d) { d.bias_dtype = DType::F32, d.bias_stride = INT64_MAX; });
  refused(
      kOverflow, "d_count", "grouped_pairs", [](D& d) { d.d_count = d.d_divisor = 1 << 16; },
      by_pairs());
  refused(
      kOverflow, "m", "grouped_span",
      [](D& d) {
        d.m = d.n = kGemmMaxExtent;
        d.d_count = d.d_divisor = 1;
        d.k = 1;
      },
      by_pairs());
  refused(
      kInvalid, "a_count", "grouped_count", [](D& d) { d.a_count = 0; }, by_pairs());
  refused(
      kInvalid, "d_count", "grouped_count", [](D& d) { d.d_count = 0; }, by_pairs());
  refused(
      kInvalid, "a_divisor", "grouped_extent", [](D& d) { d.a_divisor = -1; }, by_pairs());
  refused(
      Code::ERROR_OVERLAP, "d_stride", "grouped_disjoint", [](D& d) { d.d_stride = 63; }, ranges());
}

TEST_CASE("grouped: fields that the others exclude are refused by name") {
  excluded("row_alignment", [](D& d) { d.row_alignment = 64; });
  excluded("group_rows", [](D& d) { d.group_rows = 64; });
  excluded("d_stride", [](D& d) { d.d_stride = 64000; });
  excluded("gate_limit", [](D& d) { d.gate_limit = 0.5f; });
  excluded("gate_offset", [](D& d) { d.gate_offset = 1; });
  excluded("gate_slope", [](D& d) { d.gate_slope = 2; });
  excluded("gate_slope", [](D& d) { d.gate = Gate::halves, d.gate_slope = 2; });
  excluded("bias_stride", [](D& d) { d.bias_stride = 64; });
  excluded("a_count", [](D& d) { d.a_count = 4; });
  excluded("a_divisor", [](D& d) { d.a_divisor = 1; });
  excluded("d_count", [](D& d) { d.d_count = 4; });
  excluded("d_divisor", [](D& d) { d.d_divisor = 2; });
  for (const Combine combine : {Combine::sum, Combine::add_atomic, Combine::add})
    excluded("combine", [&](D& d) { d.combine = combine; });
  excluded("flags", [](D& d) { d.flags = kGroupedDescRowWeightByIndex; });
  excluded("flags", [](D& d) { d.flags = kGroupedDescInverse; });
  for (const Combine combine : {Combine::store, Combine::add_atomic})
    excluded(
        "flags", [](D& d) { d.flags |= kGroupedDescInverse; }, by_pairs(combine));
  for (const uint32_t flag : {kGroupedDescGather, kGroupedDescScatter, kGroupedDescRowWeightByIndex,
                              kGroupedDescZeroOthers, kGroupedDescInverse})
    excluded(
        "flags", [&](D& d) { d.flags = flag; }, ranges());
  excluded(
      "combine", [](D& d) { d.combine = Combine::sum; }, ranges());
  excluded(
      "bias_dtype", [](D& d) { d.bias_dtype = DType::F32; }, ranges());
  excluded(
      "activation", [](D& d) { d.activation = Activation::relu; }, ranges());
  excluded(
      "gate", [](D& d) { d.gate = Gate::halves; }, ranges());
  excluded(
      "b_order", [](D& d) { d.b_order = Order::column; }, ranges());
  excluded(
      "b_stride", [](D& d) { d.b_stride = 64000; }, ranges());
  excluded(
      "weight_count", [](D& d) { d.weight_count = 8; }, ranges());
  refused(
      kUnsupported, "d_dtype", "grouped_output_type", [](D& d) { d.d_dtype = DType::BF16; },
      ranges());
}

TEST_CASE("grouped: sizes of runs that cannot be are refused by name") {
  const D desc = desc_of(), pairs = by_pairs();
  for (const int64_t wrong : {-2, 1001})
    refused_run(desc, kInvalid, "m", "grouped_run_size", [&](R& r) { r.m = wrong; });
  refused_run(ranges(), kInvalid, "k", "grouped_run_size", [](R& r) { r.k = 33; });
  refused_run(pairs, kInvalid, "a_count", "grouped_run_size", [](R& r) { r.a_count = 501; });
  refused_run(pairs, kInvalid, "d_count", "grouped_run_size", [](R& r) { r.d_count = 501; });
  refused_run(desc, kInvalid, "k", "excluded", [](R& r) { r.k = 32; });
  refused_run(desc, kInvalid, "a_count", "excluded", [](R& r) { r.a_count = 1; });
  refused_run(desc, kInvalid, "d_count", "excluded", [](R& r) { r.d_count = 1; });
  refused_run(desc, kInvalid, "beta", "excluded", [](R& r) { r.beta = 1; });
  refused_run(desc, kInvalid, "beta", "excluded", [](R& r) { r.beta = NAN; });
  for (const float wrong : {0.5f, -1.0f, 2.0f, NAN})
    refused_run(ranges(), kInvalid, "beta", "grouped_beta", [&](R& r) { r.beta = wrong; });
}

TEST_CASE("grouped: addresses that runs lack or have too many of are refused by name") {
  const D desc = desc_of(), pairs = by_pairs();
  const auto missing = [](const D& d, const char* name, uint64_t R::*field) {
    refused_run(d, kInvalid, name, "address_not_null", [&](R& r) { r.*field = 0; });
  };
  missing(desc, "a", &R::a);
  missing(desc, "b", &R::b);
  missing(desc, "d", &R::d);
  missing(desc, "groups", &R::groups);
  missing(pairs, "a_rows", &R::a_rows);
  missing(pairs, "d_rows", &R::d_rows);
  missing(pairs, "workspace", &R::workspace);
  D other = pairs;
  other.flags |= kGroupedDescInverse;
  missing(other, "inverse", &R::inverse);
  other = desc;
  other.bias_dtype = DType::BF16;
  missing(other, "bias", &R::bias);
  other = desc;
  other.weight_count = 7;
  refused_run(other, kInvalid, "group_map", "grouped_map", [](R&) {});
  const auto none_wanted = [](const D& d, const char* name, uint64_t R::*field) {
    refused_run(d, kInvalid, name, "excluded", [&](R& r) { r.*field = at(20); });
  };
  none_wanted(desc, "bias", &R::bias);
  none_wanted(desc, "a_rows", &R::a_rows);
  none_wanted(desc, "d_rows", &R::d_rows);
  none_wanted(desc, "inverse", &R::inverse);
  other = desc;
  other.grouping = Grouping::one, other.groups = 1;
  none_wanted(other, "groups", &R::groups);
  none_wanted(ranges(), "group_map", &R::group_map);
  none_wanted(ranges(), "group_alpha", &R::group_alpha);
  none_wanted(ranges(), "row_weights", &R::row_weights);
  none_wanted(ranges(), "a_rows", &R::a_rows);
  none_wanted(ranges(), "bias", &R::bias);
  refused_run(pairs, Code::ERROR_BUFFER_TOO_SMALL, "workspace_bytes", "workspace_size",
              [](R& r) { r.workspace_bytes = 1000; });
}

TEST_CASE("grouped: misaligned and shared addresses of runs are refused by name") {
  D desc = by_pairs();
  desc.flags |= kGroupedDescInverse;
  desc.index_dtype = DType::I64;
  desc.d_dtype = DType::F32;
  desc.bias_dtype = DType::F32;
  const auto whole = [](R& r) {
    r.bias = at(11), r.group_map = at(12), r.group_alpha = at(13), r.row_weights = at(14);
    r.inverse = at(15), r.invalid_count = at(16);
  };
  const std::pair<const char*, uint64_t R::*> operands[] = {{"a", &R::a},
                                                            {"b", &R::b},
                                                            {"bias", &R::bias},
                                                            {"groups", &R::groups},
                                                            {"group_map", &R::group_map},
                                                            {"group_alpha", &R::group_alpha},
                                                            {"a_rows", &R::a_rows},
                                                            {"d_rows", &R::d_rows},
                                                            {"row_weights", &R::row_weights},
                                                            {"inverse", &R::inverse}};
  for (const auto& operand : operands) {
    const char* const name = operand.first;
    uint64_t R::*const field = operand.second;
    CAPTURE(name);
    const uint64_t past = field == &R::a || field == &R::b ? 1 : field == &R::groups ? 4 : 2;
    refused_run(desc, Code::ERROR_MISALIGNED, name, "address_alignment",
                [&](R& r) { whole(r), r.*field += past; });
    refused_run(desc, Code::ERROR_OVERLAP, "d", "operands_disjoint",
                [&](R& r) { whole(r), r.*field = r.d; });
    refused_run(desc, Code::ERROR_OVERLAP, "workspace", "operands_disjoint",
                [&](R& r) { whole(r), r.*field = r.workspace + 256; });
  }
  refused_run(desc, Code::ERROR_MISALIGNED, "d", "address_alignment",
              [&](R& r) { whole(r), r.d += 2; });
  refused_run(desc, Code::ERROR_MISALIGNED, "invalid_count", "address_alignment",
              [&](R& r) { whole(r), r.invalid_count += 4; });
  refused_run(desc, Code::ERROR_MISALIGNED, "workspace", "address_alignment",
              [&](R& r) { whole(r), r.workspace += 128; });
  desc = desc_of();
  desc.a_alignment = 128;
  refused_run(desc, Code::ERROR_MISALIGNED, "a", "promised_alignment", [](R& r) { r.a += 16; });
  // Rows of D may lie between those of A.
  desc = desc_of();
  desc.lda = desc.ldd = 128;
  R run = run_of();
  run.d = run.a + 64;
  CHECK(steps_of(desc, run) == "mma");
}
