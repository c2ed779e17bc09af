// SPDX-License-Identifier: Apache-2.0
// Races every pipeline configuration that fits, and the other methods, on the same operands; and
// for misaligned rows the realigning kernel against plain loads and stores.
#include <algorithm>
#include <cstdio>
#include <set>

#include "tests/bench/moves/rows_bench.hpp"

namespace tw::bench {
namespace {

struct Tuning {
  uint32_t method, warps, stage_bytes, warp_items;
};

const char* method_name(uint32_t method) {
  switch (method) {
    case kRowsBulk:
    case kRowsBulkReduce:
    case kRowsSum:
      return "bulk";
    case kRowsStaged:
      return "staged";
    case kRowsSorted:
      return "sorted";
    case kRowsShift:
      return "realigned";
    default:
      return "plain";
  }
}

std::string tuning_name(const Tuning& t) {
  char text[100];
  std::snprintf(text, sizeof text, "%s, %u warps, stages of %u, items %u", method_name(t.method),
                t.warps, t.stage_bytes, t.warp_items);
  return text;
}

void apply(const Tuning& t, RowsDesc* desc) {
  desc->methods = 1u << t.method;
  desc->warps = t.warps;
  desc->stage_bytes = t.stage_bytes;
  desc->warp_items = t.warp_items;
}

void add_rings(uint32_t method, std::vector<Tuning>* out) {
  for (const uint32_t warps : {1u, 2u, 4u, 8u})
    for (const uint32_t bytes : {1024u, 2048u, 4096u})
      for (const uint32_t items : {2u, 3u, 4u, 6u, 8u, 12u})
        out->push_back({method, warps, bytes, items});
}

std::vector<Tuning> tunings() {
  std::vector<Tuning> out;
  for (const uint32_t warps : {1u, 2u, 4u, 8u}) out.push_back({kRowsPlain, warps, 0, 0});
  add_rings(kRowsBulk, &out);
  add_rings(kRowsStaged, &out);
  return out;
}

std::vector<Tuning> sum_tunings() {
  std::vector<Tuning> out;
  for (const uint32_t items : {1u, 2u, 4u})
    for (const uint32_t bytes : {512u, 1024u, 4096u, 1u << 20})
      out.push_back({kRowsSorted, 0, bytes, items});
  for (const uint32_t items : {4u, 8u}) out.push_back({kRowsBulkReduce, 4, 1024, items});
  return out;
}

void add_variant(GpuBench& bench, const RowsCase& c, const Tuning& t, const RowsRun& run,
                 std::vector<std::unique_ptr<Plan>>* plans, std::vector<Variant>* variants) {
  RowsDesc desc = case_desc(c);
  apply(t, &desc);
  std::unique_ptr<Plan> plan;
  if (!RowsPlan::create(bench.device(), c.op, desc, &plan).ok()) return;
  const auto* rows = static_cast<const RowsPlan*>(plan.get());
  variants->push_back(
      {tuning_name(t), [&bench, rows, run] { require(rows->run(bench.stream(), run)); }});
  plans->push_back(std::move(plan));
}

void sweep_case(GpuBench& bench, const Options& options, const RowsCase& c) {
  const std::string name = case_name(c);
  if (!wanted(options, name)) return;
  const RowsOperands o = make_operands(bench, c);
  const RowsRun run = run_of(o);
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<Variant> variants;
  for (Tuning t : tunings()) {
    if (c.weighted) {
      if (t.method == kRowsStaged || t.method == kRowsPlain) continue;
      t.method = t.method == kRowsBulk ? kRowsSum : kRowsSumPlain;
    }
    add_variant(bench, c, t, run, &plans, &variants);
  }
  variants.push_back(contiguous_copy(bench, o));
  const std::vector<double> us = o.payload < (16 << 20)
                                     ? bench.race_graphs(variants, 20, options.repeats)
                                     : bench.race(variants, options.repeats);
  std::vector<size_t> order;
  for (size_t v = 0; v + 1 < us.size(); ++v) {
    order.push_back(v);
    if (options.json)
      std::printf("{\"case\": \"%s\", \"tuning\": \"%s\", \"us\": %.2f, \"of_copy\": %.4f}\n",
                  case_name(c).c_str(), variants[v].name.c_str(), us[v], us.back() / us[v]);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return us[a] < us[b]; });
  std::set<std::string> seen;
  for (size_t k = 0; k < order.size() && !options.json; ++k) {
    const std::string& tuning = variants[order[k]].name;
    // Print the best four, and the best of each method and item count.
    const bool first_of_method = seen.insert(tuning.substr(0, tuning.find(','))).second;
    const bool first_of_items = seen.insert(tuning.substr(tuning.find("items"), 8)).second;
    if (k < 4 || first_of_method || first_of_items)
      std::printf("%-36s %5.3f %8.2f us  %s\n", name.c_str(), us.back() / us[order[k]],
                  us[order[k]], variants[order[k]].name.c_str());
  }
  std::fflush(stdout);
  bench.release_all();
}

// Sums into distinct rows, or (hot) with half of the indices naming one row. The limit is 1.5 times
// the time of a copy, since a sum reads two rows and writes one.
void sweep_sums(GpuBench& bench, const Options& options, DType dtype, int64_t row_bytes, bool hot) {
  const int64_t count = (256 << 20) / row_bytes;
  const RowsCase c{.op = Op::scatter,
                   .row_bytes = row_bytes,
                   .count = count,
                   .table_rows = 8 * count,
                   .dtype = dtype,
                   .reduction = kReduceAdd,
                   .hot = hot};
  const std::string name = case_name(c);
  if (!wanted(options, name)) return;
  const RowsOperands o = make_operands(bench, c);
  const RowsRun run = run_of(o);
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<Variant> variants;
  for (const Tuning& t : sum_tunings()) add_variant(bench, c, t, run, &plans, &variants);
  variants.push_back(contiguous_copy(bench, o));
  const std::vector<double> us = bench.race(variants, options.repeats);
  std::vector<size_t> order;
  for (size_t v = 0; v + 1 < us.size(); ++v) order.push_back(v);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return us[a] < us[b]; });
  for (size_t k = 0; k < order.size(); ++k)
    if (k < 3 || k % 4 == 0)
      std::printf("%-60s %5.3f of limit %8.1f us %s\n", name.c_str(),
                  1.5 * us.back() / us[order[k]], us[order[k]], variants[order[k]].name.c_str());
  std::fflush(stdout);
  bench.release_all();
}

// The measurements behind the rule in rows_methods.cpp for when realigning pays.
void sweep_misaligned(GpuBench& bench, const Options& options, const RowsCase& c) {
  const std::string name = case_name(c);
  if (!wanted(options, name)) return;
  const RowsOperands o = make_operands(bench, c);
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<Variant> variants;
  for (const uint32_t method : {kRowsShift, kRowsPlain})
    add_variant(bench, c, {method, 0, 0, 0}, run_of(o), &plans, &variants);
  const std::vector<double> us = bench.race(variants, options.repeats);
  std::printf("%-48s realigned %7.2f us, plain %7.2f us, %.2f of it\n", name.c_str(), us[0], us[1],
              us[1] / us[0]);
  std::fflush(stdout);
  bench.release_all();
}

}  // namespace

void sweep_rows(GpuBench& bench, const Options& options) {
  for (const Op op : {Op::gather, Op::scatter})
    sweep_case(bench, options, {.op = op, .row_bytes = 14336, .count = 256, .table_rows = 65536});
  sweep_case(bench, options,
             {.op = Op::gather,
              .row_bytes = 1024,
              .count = 1 << 19,
              .table_rows = 1 << 21,
              .dtype = DType::BF16,
              .weighted = true});
  for (const DType dtype : {DType::BF16, DType::F32})
    for (const int64_t width : {256, 512, 1024, 2048, 14336})
      for (const bool hot : {false, true}) sweep_sums(bench, options, dtype, width, hot);
  for (const Op op : {Op::gather, Op::scatter})
    for (const int64_t width : {64, 128, 256, 512, 1024, 2048, 8192, 14336})
      for (const Order order : {Order::random, Order::sorted, Order::identity}) {
        const int64_t count = (512 << 20) / width;
        sweep_case(bench, options, {op, width, count, 8 * count, order});
      }
  for (const Op op : {Op::gather, Op::scatter})
    for (const int64_t past : {1, 2, 4, 8})
      for (const int64_t width : {32, 48, 64, 96, 128, 192, 256, 512, 1024, 8192}) {
        RowsCase c{.op = op, .row_bytes = width, .count = (1 << 27) / width};
        c.table_rows = 2 * c.count;
        c.past = past;
        sweep_misaligned(bench, options, c);
        c.past = 0;
        c.extra_pitch = past;
        sweep_misaligned(bench, options, c);
      }
}

}  // namespace tw::bench
