// SPDX-License-Identifier: Apache-2.0
// Every ring that fits, and the other methods, on the same operands in the same rounds.
#include <algorithm>
#include <cstdio>

#include "rows_bench.hpp"

namespace tw::bench {
namespace {

struct Tuning {
  uint32_t methods, warps, blocks, stages, stage_bytes;
};

std::string tuning_name(const Tuning& t) {
  if (t.warps == 0) return t.methods == 1u << kRowsNarrow ? "narrow" : "plain";
  char text[80];
  std::snprintf(text, sizeof text, "warps %u blocks %u stages %u x %u B", t.warps, t.blocks,
                t.stages, t.stage_bytes);
  return text;
}

std::vector<Tuning> tunings() {
  constexpr uint32_t kRoom = 232448;
  std::vector<Tuning> out = {{1u << kRowsNarrow, 0, 0, 0, 0}, {1u << kRowsPlain, 0, 0, 0, 0}};
  for (const uint32_t blocks : {1u, 2u})
    for (const uint32_t warps : {4u, 8u, 12u, 16u})
      for (const uint32_t bytes : {2048u, 4096u, 8192u, 16384u})
        for (const uint32_t stages : {4u, 6u, 8u, 12u})
          if (blocks * (warps * stages * (bytes + 1032) + 1024) <= kRoom)
            out.push_back({1u << kRowsBulk, warps, blocks, stages, bytes});
  return out;
}

void sweep_case(GpuBench& bench, const Options& options, const RowsCase& c) {
  if (!wanted(options, case_name(c))) return;
  const RowsOperands o = make_operands(bench, c);
  const RowsRun run{.table = o.table, .index = o.index, .packed = o.packed, .count = -1};
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<Variant> variants;
  for (const Tuning& t : tunings()) {
    RowsDesc desc = case_desc(c);
    desc.methods = t.methods;
    desc.warps = t.warps;
    desc.blocks = t.blocks;
    desc.stages = t.stages;
    desc.stage_bytes = t.stage_bytes;
    std::unique_ptr<Plan> plan;
    if (!RowsPlan::create(bench.device(), c.op, desc, &plan).ok()) continue;
    const auto* rows = static_cast<const RowsPlan*>(plan.get());
    variants.push_back(
        {tuning_name(t), [&bench, rows, run] { require(rows->run(bench.stream(), run)); }});
    plans.push_back(std::move(plan));
  }
  variants.push_back(contiguous_copy(bench, o));
  const std::vector<double> us = bench.race(variants, options.repeats);
  std::vector<size_t> order;
  for (size_t v = 0; v + 1 < us.size(); ++v) {
    order.push_back(v);
    if (options.json)
      std::printf("{\"case\": \"%s\", \"tuning\": \"%s\", \"us\": %.2f, \"of_copy\": %.4f}\n",
                  case_name(c).c_str(), variants[v].name.c_str(), us[v], us.back() / us[v]);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return us[a] < us[b]; });
  for (size_t k = 0; k < order.size() && !options.json; ++k) {
    const bool other = variants[order[k]].name.rfind("warps", 0) != 0;
    if (k < 4 || other)
      std::printf("%-36s %5.3f  %s\n", case_name(c).c_str(), us.back() / us[order[k]],
                  variants[order[k]].name.c_str());
  }
  std::fflush(stdout);
  bench.release_all();
}

// Sums into distinct rows, and into one that half of all indices name. The limit reads both rows
// and writes one: half as much again as a copy.
void sweep_sums(GpuBench& bench, const Options& options, DType dtype, int64_t row_bytes, bool hot) {
  const int64_t count = (256 << 20) / row_bytes;
  const RowsCase c{Op::scatter, row_bytes, count, 8 * count};
  const std::string name = std::string("add ") + dtype_name(dtype) + " " + case_name(c) +
                           (hot ? " half of them one row" : "");
  if (!wanted(options, name)) return;
  const RowsOperands o = make_operands(bench, c);
  if (hot) {
    std::vector<int32_t> rows = distinct_rows(c);
    for (size_t i = 0; i < rows.size(); i += 2) rows[i] = 12345;
    bench.upload(o.index, rows.data(), rows.size() * 4);
  }
  const RowsRun run{.table = o.table, .index = o.index, .packed = o.packed, .count = -1};
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<Variant> variants;
  for (Tuning t : tunings()) {
    if (t.methods == 1u << kRowsNarrow) t.methods = 1u << kRowsSorted;
    if (t.methods == 1u << kRowsBulk) t.methods = 1u << kRowsBulkReduce;
    RowsDesc desc = case_desc(c);
    desc.dtype = dtype;
    for (int64_t* columns : {&desc.columns, &desc.table_pitch}) *columns /= dtype_bytes(dtype);
    desc.reduction = kReduceAdd;
    desc.methods = t.methods;
    desc.warps = t.warps;
    desc.blocks = t.blocks;
    desc.stages = t.stages;
    desc.stage_bytes = t.stage_bytes;
    std::unique_ptr<Plan> plan;
    if (!RowsPlan::create(bench.device(), c.op, desc, &plan).ok()) continue;
    const auto* rows = static_cast<const RowsPlan*>(plan.get());
    variants.push_back({t.methods == 1u << kRowsSorted ? "sorted" : tuning_name(t),
                        [&bench, rows, run] { require(rows->run(bench.stream(), run)); }});
    plans.push_back(std::move(plan));
  }
  variants.push_back(contiguous_copy(bench, o));
  const std::vector<double> us = bench.race(variants, options.repeats);
  std::vector<size_t> order;
  for (size_t v = 0; v + 1 < us.size(); ++v) order.push_back(v);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return us[a] < us[b]; });
  for (size_t k = 0; k < order.size(); ++k)
    if (k < 3 || k + 1 == order.size() || variants[order[k]].name == "sorted")
      std::printf("%-60s %5.3f of limit %8.1f us %s\n", name.c_str(),
                  1.5 * us.back() / us[order[k]], us[order[k]], variants[order[k]].name.c_str());
  std::fflush(stdout);
  bench.release_all();
}

}  // namespace

void sweep_rows(GpuBench& bench, const Options& options) {
  for (const DType dtype : {DType::BF16, DType::F32})
    for (const int64_t width : {256, 512, 1024, 2048, 14336})
      for (const bool hot : {false, true}) sweep_sums(bench, options, dtype, width, hot);
  for (const Op op : {Op::gather, Op::scatter})
    for (const int64_t width : {64, 128, 256, 512, 1024, 2048, 8192, 14336})
      for (const Order order : {Order::random, Order::sorted, Order::identity}) {
        const int64_t count = (256 << 20) / width;
        sweep_case(bench, options, {op, width, count, 8 * count, order});
      }
}

}  // namespace tw::bench
