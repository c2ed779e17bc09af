// SPDX-License-Identifier: Apache-2.0
// Plans of routings.
#include "ops/route/route.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/decimal.hpp"
#include "ops/common/explain_line.hpp"

namespace tw {
namespace {

constexpr uint32_t kWorkspaceAlignment = 256;
constexpr uint32_t kStepBlocksPerSm = 4;  // at most, in the grid of a step (route.h)

uint32_t logits_type(DType dtype) {
  return dtype == DType::BF16 ? kRouteBf16 : dtype == DType::F16 ? kRouteF16 : kRouteF32;
}

// Whether the run has results that depend on the bins of pairs. The bin of a pair is the local
// number of its expert, or local_experts if the expert is on another rank (route.h).
bool needs_bins(const RouteRun& run) {
  return (run.counts | run.offsets | run.order | run.order_tokens | run.inverse) != 0;
}

uint64_t aligned(uint64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

// Layout of the workspace: RouteArgs::pair_bins is at offset 0, the others are at these offsets.
struct RouteWorkspace {
  uint64_t chunk_counts = 0;  // byte offset
  uint64_t bin_totals = 0;    // byte offset
  uint64_t bytes = 0;
  uint32_t chunk_tokens = 0;
};

// Runs with fewer tokens use the same chunk size, so they have at most as many chunks.
RouteWorkspace route_workspace(const RouteDesc& d) {
  RouteWorkspace workspace;
  const auto tokens = static_cast<uint32_t>(d.tokens);
  const auto bin_count = static_cast<uint64_t>(d.local_experts) + 1;
  workspace.chunk_tokens = route_chunk_tokens(tokens);
  const uint64_t chunks = std::max<uint64_t>(
      1, (uint64_t{tokens} + workspace.chunk_tokens - 1) / workspace.chunk_tokens);
  workspace.chunk_counts = aligned(static_cast<uint64_t>(d.tokens * d.top_k) * 2);
  workspace.bin_totals = workspace.chunk_counts + aligned(bin_count * chunks * 4);
  workspace.bytes = workspace.bin_totals + aligned(bin_count * 4);
  return workspace;
}

Status wrong_source(const char* argument, const char* text) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument, .rule = "route_source"},
              "%s is not 0, but the plan was made %s TW_ROUTE_GIVEN_IDS", argument, text);
}

// Checks an address that may be 0.
Status optional_address(const char* argument, uint64_t address, uint32_t alignment) {
  return address == 0 ? Status() : check_address(argument, address, alignment);
}

// The bytes of an optional array: none if its address is 0.
uint64_t optional_bytes(uint64_t address, int64_t bytes) {
  return address == 0 ? 0 : static_cast<uint64_t>(bytes);
}

}  // namespace

Status RoutePlan::create(const std::shared_ptr<Device>& device, const RouteDesc& desc,
                         std::unique_ptr<Plan>* out) {
  RouteProblem problem;
  TW_TRY(route_problem(desc, &problem));
  std::unique_ptr<RoutePlan> plan(new RoutePlan(device, problem));
  TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status RoutePlan::check(const Device&, const RouteDesc& desc) {
  RouteProblem problem;
  return route_problem(desc, &problem);
}

Status RoutePlan::prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes) {
  const KernelEntry* entry = find_entry(*device(), Family::route,
                                        [&](const KernelEntry& e) { return e.variant == variant; });
  return prepare_entry(*device(), Family::route, entry, dynamic_smem_bytes, &kernels_[variant]);
}

bool RoutePlan::fits_cluster(int64_t tokens) const {
  return tokens <= kRouteSmallTokens && (problem_.desc.methods & 1u << kRouteSmall) != 0;
}

uint32_t RoutePlan::score_variant() const {
  const bool many = !problem_.given() && problem_.desc.experts > kRouteFewExperts;
  return many ? kRouteMany : kRouteScore;
}

uint64_t RoutePlan::workspace_bytes() const {
  return fits_cluster(problem_.desc.tokens) ? 0 : route_workspace(problem_.desc).bytes;
}

Status RoutePlan::prepare() {
  const RouteDesc& d = problem_.desc;
  const auto pairs =
      static_cast<uint32_t>(problem_.pairs(std::min<int64_t>(d.tokens, kRouteSmallTokens)));
  const auto bin_count = static_cast<uint32_t>(d.local_experts) + 1;
  TW_TRY(prepare_variant(kRouteSmall, route_small_bytes(pairs, bin_count)));
  if (fits_cluster(d.tokens)) return {};
  TW_TRY(prepare_variant(score_variant(), 0));
  TW_TRY(prepare_variant(kRouteScan, 0));
  return prepare_variant(kRoutePlace, 0);
}

Status RoutePlan::check_inputs(const RouteRun& run, int64_t tokens) const {
  const RouteProblem& p = problem_;
  if (p.given()) {
    if (run.logits != 0) return wrong_source("logits", "with");
    if (run.bias != 0) return wrong_source("bias", "with");
    if (tokens != 0)
      TW_TRY(check_address("given_ids", run.given_ids, static_cast<uint32_t>(p.id_bytes)));
    if (tokens != 0 && (run.given_weights != 0) != (run.weights != 0))
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "given_weights", .rule = "route_given_weights"},
                  "given_weights is %s, and weights is %s: each needs the other",
                  run.given_weights == 0 ? "0" : "not 0", run.weights == 0 ? "0" : "not 0");
    TW_TRY(optional_address("given_weights", run.given_weights, 4));
  } else {
    if (run.given_ids != 0) return wrong_source("given_ids", "without");
    if (run.given_weights != 0) return wrong_source("given_weights", "without");
    if (tokens != 0)
      TW_TRY(check_address("logits", run.logits, static_cast<uint32_t>(p.element_bytes)));
    TW_TRY(optional_address("bias", run.bias, 4));
  }
  if (run.expert_map != 0) return check_address("expert_map", run.expert_map, 4);
  if (p.desc.local_experts == p.desc.experts) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "expert_map",
               .rule = "route_map",
               .got = p.desc.local_experts,
               .limit = p.desc.experts},
              "expert_map is 0, but only %" PRId64 " of %" PRId64
              " experts are local: give the map, which says which are",
              p.desc.local_experts, p.desc.experts);
}

Status RoutePlan::check_outputs(const RouteRun& run) const {
  TW_TRY(optional_address("ids", run.ids, 4));
  TW_TRY(optional_address("weights", run.weights, 4));
  TW_TRY(optional_address("counts", run.counts, 4));
  TW_TRY(optional_address("offsets", run.offsets, static_cast<uint32_t>(problem_.offset_bytes)));
  TW_TRY(optional_address("order", run.order, 4));
  TW_TRY(optional_address("order_tokens", run.order_tokens, 4));
  TW_TRY(optional_address("inverse", run.inverse, 4));
  TW_TRY(optional_address("invalid_count", run.invalid_count, 8));
  if (run.ids != 0 || run.weights != 0 || needs_bins(run)) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "ids", .rule = "route_no_output"},
              "ids, weights, counts, offsets, order, order_tokens and inverse are 0: at least one "
              "result must be wanted");
}

Status RoutePlan::check_memory(const RouteRun& run, int64_t tokens) const {
  const RouteProblem& p = problem_;
  const RouteDesc& d = p.desc;
  const int64_t pairs = p.pairs(tokens);
  const bool uses_workspace = needs_bins(run) && !fits_cluster(tokens);
  if (uses_workspace)
    TW_TRY(check_workspace(run.workspace, run.workspace_bytes, workspace_bytes(),
                           kWorkspaceAlignment));
  const int64_t logits = p.given() || tokens == 0 ? 0 : p.row_bytes();
  return check_operands(
      *device(),
      {{"logits", run.logits, static_cast<uint64_t>(logits), false, tokens, p.pitch},
       {"bias", run.bias, optional_bytes(run.bias, d.experts * 4), false},
       {"given_ids", run.given_ids, optional_bytes(run.given_ids, pairs * p.id_bytes), false},
       {"given_weights", run.given_weights, optional_bytes(run.given_weights, pairs * 4), false},
       {"expert_map", run.expert_map, optional_bytes(run.expert_map, d.experts * 4), false},
       {"ids", run.ids, optional_bytes(run.ids, pairs * 4), true},
       {"weights", run.weights, optional_bytes(run.weights, pairs * 4), true},
       {"counts", run.counts, optional_bytes(run.counts, d.local_experts * 4), true},
       {"offsets", run.offsets, optional_bytes(run.offsets, (d.local_experts + 1) * p.offset_bytes),
        true},
       {"order", run.order, optional_bytes(run.order, pairs * 4), true},
       {"order_tokens", run.order_tokens, optional_bytes(run.order_tokens, pairs * 4), true},
       {"inverse", run.inverse, optional_bytes(run.inverse, pairs * 4), true},
       {"invalid_count", run.invalid_count, optional_bytes(run.invalid_count, 8), true},
       {"workspace", run.workspace, uses_workspace ? workspace_bytes() : 0, true}});
}

RouteArgs RoutePlan::fill(const RouteRun& run, int64_t tokens) const {
  const RouteProblem& p = problem_;
  const RouteDesc& d = p.desc;
  const RouteWorkspace workspace = route_workspace(d);
  RouteArgs args{};
  args.logits = run.logits, args.bias = run.bias, args.expert_map = run.expert_map;
  args.given_ids = run.given_ids, args.given_weights = run.given_weights;
  args.ids = run.ids, args.weights = run.weights;
  args.counts = run.counts, args.offsets = run.offsets;
  args.order = run.order, args.order_tokens = run.order_tokens, args.inverse = run.inverse;
  args.invalid_count = run.invalid_count;
  args.pair_bins = run.workspace;
  args.chunk_counts = run.workspace + workspace.chunk_counts;
  args.bin_totals = run.workspace + workspace.bin_totals;
  args.pitch = p.pitch;
  args.tokens = static_cast<u32>(tokens);
  args.experts = static_cast<u32>(d.experts);
  args.local_experts = static_cast<u32>(d.local_experts);
  args.top_k = static_cast<u32>(d.top_k);
  args.groups = static_cast<u32>(d.groups);
  args.group_size = args.experts / args.groups;
  args.top_groups = static_cast<u32>(d.top_groups);
  args.score = static_cast<u32>(d.score);
  args.logit_type = logits_type(d.dtype);
  args.id_bytes = static_cast<u32>(p.id_bytes);
  args.offset_bytes = static_cast<u32>(p.offset_bytes);
  args.chunk_tokens = workspace.chunk_tokens;
  args.chunks = std::max(1u, (args.tokens + workspace.chunk_tokens - 1) / workspace.chunk_tokens);
  args.scale = d.scale;
  const bool top2 = args.groups > 1 && d.group_score == RouteGroupScore::top2;
  args.flags = ((d.flags & kRouteDescRenormalize) != 0 ? kRouteRenormalize : 0u) |
               (p.given() ? kRouteGiven : 0u) | (needs_bins(run) ? kRouteOrders : 0u) |
               (top2 ? kRouteGroupTop2 : 0u) | (top2 || run.bias != 0 ? kRouteByScore : 0u);
  return args;
}

LaunchConfig RoutePlan::cluster_config(int64_t tokens) const {
  const RouteDesc& d = problem_.desc;
  const uint32_t room = d.max_sms == 0 ? kRouteCluster : std::min(d.max_sms, kRouteCluster);
  uint32_t blocks = 1;
  while (blocks * 2 <= room && blocks * kRouteScoreWarps < tokens) blocks *= 2;
  LaunchConfig config;
  config.grid[0] = config.cluster[0] = blocks;
  config.block[0] = kRouteScoreThreads;
  config.dynamic_smem_bytes = route_small_bytes(static_cast<uint32_t>(problem_.pairs(tokens)),
                                                static_cast<uint32_t>(d.local_experts) + 1);
  config.programmatic = true;  // the kernel waits for the predecessor grid itself
  return config;
}

LaunchConfig RoutePlan::config(uint32_t variant, uint64_t blocks) const {
  const uint64_t room = max_blocks(*device(), problem_.desc.max_sms, kStepBlocksPerSm);
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(std::clamp<uint64_t>(blocks, 1, room));
  config.block[0] = static_cast<uint32_t>(kernels_[variant].entry->threads);
  config.programmatic = true;
  return config;
}

Status RoutePlan::launch(Stream& stream, uint32_t variant, const LaunchConfig& config,
                         const RouteArgs& args) const {
  return stream.launch(*kernels_[variant].kernel, config, &args, sizeof args);
}

Status RoutePlan::run(Stream& stream, const RouteRun& run) const {
  const int64_t planned = problem_.desc.tokens;
  const int64_t tokens = run.tokens == -1 ? planned : run.tokens;
  if (tokens < 0 || tokens > planned)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "tokens", .rule = "route_run_size", .got = tokens, .limit = planned},
                "tokens is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)",
                tokens, planned);
  TW_TRY(check_inputs(run, tokens));
  TW_TRY(check_outputs(run));
  TW_TRY(check_memory(run, tokens));
  const RouteArgs args = fill(run, tokens);
  if (fits_cluster(tokens)) return launch(stream, kRouteSmall, cluster_config(tokens), args);
  const uint32_t score = score_variant();
  TW_TRY(launch(stream, score, config(score, args.chunks), args));
  if (!needs_bins(run)) return {};
  const uint64_t scans = (route_bin_count(args) + kRouteWarps - 1) / kRouteWarps;
  TW_TRY(launch(stream, kRouteScan, config(kRouteScan, scans), args));
  return launch(stream, kRoutePlace, config(kRoutePlace, args.chunks), args);
}

PlanInfo RoutePlan::info() const {
  const RouteProblem& p = problem_;
  const RouteDesc& d = p.desc;
  PlanInfo info;
  info.op = Op::route;
  const bool one_cluster = fits_cluster(d.tokens);
  const uint32_t variant = one_cluster ? uint32_t{kRouteSmall} : score_variant();
  const RouteArgs args = fill({}, d.tokens);
  const LaunchConfig launch = one_cluster ? cluster_config(d.tokens) : config(variant, args.chunks);
  info.kernel = kernels_[variant].entry->symbol;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  info.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  info.workspace_bytes = workspace_bytes();
  // Assumes that all optional operands are given and that all results are wanted.
  const auto pairs = static_cast<uint64_t>(p.pairs(d.tokens));
  const auto local = static_cast<uint64_t>(d.local_experts);
  const auto each_expert = static_cast<uint64_t>(d.experts) * 4;
  info.bytes_read = p.given() ? pairs * (static_cast<uint64_t>(p.id_bytes) + 4)
                              : static_cast<uint64_t>(d.tokens * p.row_bytes()) + each_expert;
  info.bytes_read += each_expert;  // expert_map
  info.bytes_written =
      pairs * 5 * 4 + local * 4 + (local + 1) * static_cast<uint64_t>(p.offset_bytes);
  return info;
}

std::string RoutePlan::explain() const {
  const RouteProblem& p = problem_;
  const RouteDesc& d = p.desc;
  std::string out =
      p.given()
          ? line("ordering of the pairs of %" PRId64 " tokens: each token has %" PRId64
                 " given ids (%s) of %" PRId64 " experts, and %" PRId64 " of the experts are local",
                 d.tokens, d.top_k, dtype_name(d.id_dtype), d.experts, d.local_experts)
          : line("routing of %" PRId64 " tokens to the best %" PRId64 " of %" PRId64
                 " experts by %s logits; %" PRId64 " of the experts are local",
                 d.tokens, d.top_k, d.experts, dtype_name(d.dtype), d.local_experts);
  constexpr const char* kScores[] = {"softmax of all logits", "sigmoid of each logit",
                                     "softmax of the chosen logits"};
  if (!p.given())
    out += line("weights are the %s%s, times %s", kScores[static_cast<int>(d.score)],
                (d.flags & kRouteDescRenormalize) != 0 ? ", divided by their sum" : "",
                Decimal::significant(static_cast<double>(d.scale), 6).text());
  if (d.groups > 1)
    out += line("experts are chosen from %" PRId64 " of %" PRId64 " groups, those with the %s",
                d.top_groups, d.groups,
                d.group_score == RouteGroupScore::top2
                    ? "largest sum of the ranking keys of their two best experts"
                    : "best expert");
  const PlanInfo i = info();
  out += line("kernel %s: %u blocks of %u threads, %u bytes of shared memory", i.kernel, i.grid[0],
              i.block[0], i.dynamic_smem_bytes);
  if (fits_cluster(d.tokens)) return out + "one cluster does all steps; no workspace is needed\n";
  return out + line("ordering the pairs takes two more kernels and a workspace of %" PRIu64
                    " bytes; runs of up to %u tokens take one kernel and no workspace",
                    i.workspace_bytes, kRouteSmallTokens);
}

}  // namespace tw
