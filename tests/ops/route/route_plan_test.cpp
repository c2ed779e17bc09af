// SPDX-License-Identifier: Apache-2.0
// Which kernels a route plan chooses, what it reports about itself, and what it and its runs
// refuse.
#include <cmath>

#include "ops/route/route.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::shared_ptr<PaperDevice> gpu() {
  auto device = std::make_shared<PaperDevice>(kHopper, 132);
  device->set_shared_memory(232448);
  return device;
}

RouteDesc desc_of(int64_t tokens, int64_t experts = 256) {
  RouteDesc desc;
  desc.dtype = DType::BF16;
  desc.tokens = tokens;
  desc.experts = experts;
  desc.top_k = 8;
  return desc;
}

constexpr uint64_t at(uint64_t operand) {
  return operand << 40;
}

RouteRun run_of() {
  return {.logits = at(1),
          .ids = at(2),
          .weights = at(3),
          .counts = at(4),
          .offsets = at(5),
          .order = at(6),
          .order_tokens = at(7),
          .inverse = at(8),
          .invalid_count = at(9),
          .workspace = at(10),
          .workspace_bytes = uint64_t{1} << 36};
}

std::unique_ptr<Plan> plan_of(const RouteDesc& desc,
                              const std::shared_ptr<PaperDevice>& device = gpu()) {
  std::unique_ptr<Plan> plan;
  const Status made = RoutePlan::create(device, desc, &plan);
  INFO(last_failure().message);
  REQUIRE(made.ok());
  return plan;
}

// The launches of a run.
std::vector<PaperLaunch> launches_of(const RouteDesc& desc, const RouteRun& run) {
  const auto device = gpu();
  const auto plan = plan_of(desc, device);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const Status ran = static_cast<const RoutePlan&>(*plan).run(*stream, run);
  INFO(last_failure().message);
  REQUIRE(ran.ok());
  return device->launches;
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
  RouteDesc desc = desc_of(1000);
  edit(desc);
  std::unique_ptr<Plan> plan;
  at_fault(RoutePlan::create(gpu(), desc, &plan).code(), wanted, argument, rule);
  CHECK(!plan);
}

template <class Edit>
void refused_run(const RouteDesc& desc, Code wanted, const char* argument, const char* rule,
                 Edit edit) {
  const auto device = gpu();
  const auto plan = plan_of(desc, device);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  RouteRun run = run_of();
  edit(run);
  at_fault(static_cast<const RoutePlan&>(*plan).run(*stream, run).code(), wanted, argument, rule);
  CHECK(device->launches.empty());
}

constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;

}  // namespace

TEST_CASE("route: one cluster does few tokens, three kernels do many") {
  const std::pair<int64_t, uint32_t> grids[] = {{0, 1u},  {1, 1u},  {16, 1u},
                                                {17, 2u}, {64, 4u}, {128, 8u}};
  for (const auto& grid : grids) {
    const int64_t tokens = grid.first;
    const uint32_t blocks = grid.second;
    CAPTURE(tokens);
    const auto launches = launches_of(desc_of(tokens), run_of());
    REQUIRE(launches.size() == 1);
    CHECK(launches[0].kernel == "route_small_tma");
    CHECK(launches[0].config.grid[0] == blocks);
    CHECK(launches[0].config.cluster[0] == blocks);
    CHECK(launches[0].config.programmatic);
    CHECK(plan_of(desc_of(tokens))->info().workspace_bytes == 0);
  }
  const auto many = launches_of(desc_of(8192), run_of());
  REQUIRE(many.size() == 3);
  CHECK(many[0].kernel == "route_score_tma");
  CHECK(many[1].kernel == "route_scan_tma");
  CHECK(many[2].kernel == "route_place_tma");
  CHECK(many[0].config.grid[0] == 256);
  CHECK(launches_of(desc_of(8192, 1024), run_of())[0].kernel == "route_many_tma");
  RouteRun few = run_of();
  few.tokens = 128;
  CHECK(launches_of(desc_of(8192), few).size() == 1);
  RouteRun scores = {.logits = at(1), .ids = at(2)};  // needs no order, hence no workspace
  CHECK(launches_of(desc_of(8192), scores).size() == 1);
}

TEST_CASE("route: a plan says what it is") {
  RouteDesc desc = desc_of(8192);
  const PlanInfo info = plan_of(desc)->info();
  CHECK(info.op == Op::route);
  CHECK(info.kernel == std::string("route_score_tma"));
  CHECK(info.bytes_read == 8192 * 256 * 2 + 256 * 4 + 256 * 4);  // logits, bias, map
  CHECK(info.bytes_written == 8192 * 8 * 20 + 256 * 4 + 257 * 4);
  CHECK(info.workspace_bytes >= 8192 * 8 * 2 + 257 * 256 * 4 + 257 * 4);
  says(*plan_of(desc), "best 8 of 256 experts by bf16 logits");
  says(*plan_of(desc), "softmax of all logits, times 1");
  says(*plan_of(desc_of(5)), "no workspace is needed");
  desc.groups = 8, desc.top_groups = 4, desc.group_score = RouteGroupScore::top2;
  desc.flags = kRouteDescRenormalize;
  says(*plan_of(desc),
       "4 of 8 groups, those with the largest sum of the ranking keys of their two best experts");
  says(*plan_of(desc), "divided by their sum");
  desc = desc_of(8192);
  desc.flags = kRouteDescGivenIds;
  desc.id_dtype = DType::I64;
  says(*plan_of(desc), "8 given ids (i64) of 256 experts");
  CHECK(plan_of(desc)->info().bytes_read == 8192 * 8 * (8 + 4) + 256 * 4);  // ids, weights, map
}

TEST_CASE("route: descriptions that cannot work are refused by name") {
  using D = RouteDesc;
  constexpr Code kUnsupported = Code::ERROR_UNSUPPORTED;
  refused(kInvalid, "flags", "route_flags", [](D& d) { d.flags = 4; });
  refused(kInvalid, "dtype", "route_dtype", [](D& d) { d.dtype = DType{0}; });
  refused(kUnsupported, "dtype", "route_dtype", [](D& d) { d.dtype = DType::F64; });
  refused(kUnsupported, "id_dtype", "route_id_dtype", [](D& d) { d.id_dtype = DType::U32; });
  refused(kInvalid, "offset_dtype", "route_offset_dtype",
          [](D& d) { d.offset_dtype = DType::F32; });
  for (const int32_t wrong : {-1, 3})
    refused(kInvalid, "score", "route_score", [&](D& d) { d.score = RouteScore{wrong}; });
  for (const int32_t wrong : {-1, 2})
    refused(kInvalid, "group_score", "route_group_score",
            [&](D& d) { d.group_score = RouteGroupScore{wrong}; });
  refused(kInvalid, "scale", "route_scale", [](D& d) { d.scale = NAN; });
  refused(kInvalid, "scale", "route_scale", [](D& d) { d.scale = INFINITY; });
  refused(kInvalid, "tokens", "route_not_negative", [](D& d) { d.tokens = -1; });
  refused(kInvalid, "local_experts", "route_not_negative", [](D& d) { d.local_experts = -1; });
  refused(kInvalid, "groups", "route_not_negative", [](D& d) { d.groups = -1; });
  refused(kInvalid, "top_groups", "route_not_negative", [](D& d) { d.top_groups = -1; });
  refused(kInvalid, "logits_pitch", "route_not_negative", [](D& d) { d.logits_pitch = -1; });
  refused(kInvalid, "experts", "route_experts", [](D& d) { d.experts = 0; });
  refused(kUnsupported, "experts", "route_experts", [](D& d) { d.experts = 1025; });
  refused(kInvalid, "top_k", "route_top_k", [](D& d) { d.top_k = 0; });
  refused(kUnsupported, "top_k", "route_top_k", [](D& d) { d.top_k = 33; });
  refused(kInvalid, "top_k", "route_top_k", [](D& d) { d.experts = 7; });
  refused(Code::ERROR_OVERFLOW, "tokens", "route_pairs",
          [](D& d) { d.tokens = (int64_t{1} << 31) / 8; });
  refused(kInvalid, "local_experts", "route_local_experts", [](D& d) { d.local_experts = 257; });
  refused(kUnsupported, "groups", "route_groups", [](D& d) { d.groups = 64; });
  refused(kInvalid, "groups", "route_groups", [](D& d) { d.groups = 7; });
  refused(kInvalid, "top_groups", "route_top_groups", [](D& d) { d.groups = 4, d.top_groups = 5; });
  refused(kInvalid, "top_k", "route_top_k",
          [](D& d) { d.groups = 32, d.top_groups = 1, d.top_k = 9; });
  refused(kInvalid, "logits_pitch", "route_pitch", [](D& d) { d.logits_pitch = 255; });
  refused(Code::ERROR_OVERFLOW, "logits_pitch", "route_span",
          [](D& d) { d.logits_pitch = INT64_MAX; });
  refused(Code::ERROR_OVERFLOW, "logits_pitch", "route_span",
          [](D& d) { d.logits_pitch = int64_t{1} << 50; });
  // Given ids may name an expert twice.
  RouteDesc desc = desc_of(10, 4);
  desc.flags = kRouteDescGivenIds;
  plan_of(desc);
}

TEST_CASE("route: runs that cannot work are refused by name, and launch nothing") {
  using R = RouteRun;
  const RouteDesc desc = desc_of(1000);
  RouteDesc given = desc;
  given.flags = kRouteDescGivenIds;
  const auto takes_given = [](R& r) {
    r.logits = 0, r.given_ids = at(11), r.given_weights = at(12);
  };
  refused_run(desc, kInvalid, "tokens", "route_run_size", [](R& r) { r.tokens = 1001; });
  refused_run(desc, kInvalid, "tokens", "route_run_size", [](R& r) { r.tokens = -2; });
  refused_run(desc, kInvalid, "logits", "address_not_null", [](R& r) { r.logits = 0; });
  refused_run(desc, kInvalid, "given_ids", "route_source", [](R& r) { r.given_ids = at(11); });
  refused_run(desc, kInvalid, "given_weights", "route_source",
              [](R& r) { r.given_weights = at(11); });
  refused_run(given, kInvalid, "logits", "route_source", [](R& r) { r.given_ids = at(11); });
  refused_run(given, kInvalid, "bias", "route_source",
              [&](R& r) { takes_given(r), r.bias = at(13); });
  refused_run(given, kInvalid, "given_ids", "address_not_null",
              [&](R& r) { takes_given(r), r.given_ids = 0; });
  refused_run(given, kInvalid, "given_weights", "route_given_weights",
              [&](R& r) { takes_given(r), r.given_weights = 0; });
  refused_run(given, kInvalid, "given_weights", "route_given_weights",
              [&](R& r) { takes_given(r), r.weights = 0; });
  RouteDesc local = desc;
  local.local_experts = 32;
  refused_run(local, kInvalid, "expert_map", "route_map", [](R&) {});
  refused_run(desc, kInvalid, "ids", "route_no_output",
              [](R& r) { r = {.logits = at(1), .invalid_count = at(9)}; });
  refused_run(desc, kInvalid, "workspace", "address_not_null", [](R& r) { r.workspace = 0; });
  refused_run(desc, Code::ERROR_BUFFER_TOO_SMALL, "workspace_bytes", "workspace_size",
              [](R& r) { r.workspace_bytes = 1000; });
  refused_run(desc, Code::ERROR_OVERLAP, "order", "operands_disjoint",
              [](R& r) { r.order = r.ids + 4; });
  refused_run(desc, Code::ERROR_OVERLAP, "ids", "operands_disjoint",
              [](R& r) { r.ids = r.logits; });
}

TEST_CASE("route: misaligned addresses are refused by name") {
  const RouteDesc desc = desc_of(1000);
  const auto misaligned = [&](const char* name, uint64_t RouteRun::*field, uint64_t past,
                              RouteDesc of) {
    refused_run(of, Code::ERROR_MISALIGNED, name, "address_alignment", [&](RouteRun& r) {
      if (r.*field == 0) r.*field = at(14);
      r.*field += past;
    });
  };
  misaligned("logits", &RouteRun::logits, 1, desc);
  misaligned("bias", &RouteRun::bias, 2, desc);
  misaligned("expert_map", &RouteRun::expert_map, 2, desc);
  misaligned("ids", &RouteRun::ids, 2, desc);
  misaligned("weights", &RouteRun::weights, 1, desc);
  misaligned("counts", &RouteRun::counts, 2, desc);
  misaligned("offsets", &RouteRun::offsets, 2, desc);
  misaligned("order", &RouteRun::order, 2, desc);
  misaligned("order_tokens", &RouteRun::order_tokens, 2, desc);
  misaligned("inverse", &RouteRun::inverse, 2, desc);
  misaligned("invalid_count", &RouteRun::invalid_count, 4, desc);
  misaligned("workspace", &RouteRun::workspace, 128, desc);
  RouteDesc wide = desc;
  wide.offset_dtype = DType::I64;
  misaligned("offsets", &RouteRun::offsets, 4, wide);
}
