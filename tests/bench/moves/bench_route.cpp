// SPDX-License-Identifier: Apache-2.0
// Routing of f32 logits to experts, weights, offsets and order: graphs of 20 runs with a warm L2.
// --peers=FILE is the output of peers_route.py from the same session; cases are joined by name.
// --methods=MASK selects kernels: 61 is all but the one for few tokens.
#include <cstdio>
#include <vector>

#include "ops/route/route.hpp"
#include "tests/bench/common/gpu_bench.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

constexpr int kNodes = 20;

struct RouteCase {
  const char* model;
  int64_t experts, top_k;
  RouteScore score = RouteScore::softmax;
  int64_t groups = 0, top_groups = 0;
  bool biased = false;
};

constexpr RouteCase kCases[] = {
    {"Mixtral-8x7B", 8, 2},
    {"Qwen3-30B-A3B", 128, 8},
    {"Qwen3-Next", 512, 10},
    {"256 experts", 256, 8},
    {"gpt-oss-120b", 128, 4, RouteScore::softmax_chosen},
    {"DeepSeek-V3", 256, 8, RouteScore::sigmoid, 8, 4, true},
};

RouteDesc describe(const RouteCase& c, const Options& options, int64_t tokens) {
  RouteDesc desc;
  desc.tokens = tokens;
  desc.experts = c.experts;
  desc.top_k = c.top_k;
  desc.score = c.score;
  desc.groups = c.groups;
  desc.top_groups = c.top_groups;
  if (c.groups > 1) desc.group_score = RouteGroupScore::top2;
  desc.flags = kRouteDescRenormalize;
  desc.methods = options.methods;
  desc.max_sms = options.max_sms;
  return desc;
}

// Uniform numbers from 0 to 8, so that equal logits of a token are unlikely.
void upload_logits(GpuBench& bench, uint64_t to, int64_t count) {
  std::vector<float> logits(static_cast<size_t>(count));
  uint64_t state = 1;
  for (float& logit : logits) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    logit = 8.0f * static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
  }
  bench.upload(to, logits.data(), logits.size() * 4);
}

void run_case(GpuBench& bench, const Options& options, const Peers& peers, const RouteCase& c,
              int64_t tokens) {
  const std::string name = std::string(c.model) + ", " + std::to_string(tokens) + " tokens";
  if (!wanted(options, name)) return;
  std::unique_ptr<Plan> plan;
  require(RoutePlan::create(bench.device(), describe(c, options, tokens), &plan));
  const PlanInfo info = plan->info();
  const auto pairs = static_cast<uint64_t>(tokens * c.top_k);
  RouteRun run;
  run.logits = bench.allocate(static_cast<uint64_t>(tokens * c.experts) * 4);
  upload_logits(bench, run.logits, tokens * c.experts);
  if (c.biased) {
    run.bias = bench.allocate(static_cast<uint64_t>(c.experts) * 4);
    upload_logits(bench, run.bias, c.experts);
  }
  run.ids = bench.allocate(pairs * 4);
  run.weights = bench.allocate(pairs * 4);
  run.offsets = bench.allocate(static_cast<uint64_t>(c.experts + 1) * 4);
  run.order = bench.allocate(pairs * 4);
  run.workspace_bytes = info.workspace_bytes;
  if (info.workspace_bytes != 0) run.workspace = bench.allocate(info.workspace_bytes);
  const auto* route = static_cast<const RoutePlan*>(plan.get());
  const std::vector<double> us = bench.race_graphs(
      {{"tilewright", [&bench, route, run] { require(route->run(bench.stream(), run)); }}}, kNodes,
      options.repeats);
  Line line;
  line.name = name;
  line.kernel = info.kernel;
  line.bytes = static_cast<double>(tokens * c.experts * 4) + static_cast<double>(pairs * 12);
  line.us = us[0];
  const auto of_case = peers.equal_range(line.name);
  for (auto at = of_case.first; at != of_case.second; ++at) {
    line.peer = at->second.name;
    line.peer_us = at->second.us;
    print_line(options, line);
  }
  if (of_case.first == of_case.second) print_line(options, line);
  bench.release_all();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  GpuBench bench;
  const Peers peers = read_peers(options.peers);
  print_header(options);
  for (const RouteCase& c : kCases)
    for (const int64_t tokens : {1, 16, 64, 256, 512, 2048, 8192})
      run_case(bench, options, peers, c, tokens);
  return 0;
}
