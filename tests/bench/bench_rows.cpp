// SPDX-License-Identifier: Apache-2.0
// Gather and scatter of rows at random, against the contiguous copy of as many bytes. Index bytes
// are not counted.
#include <cstdio>

#include "rows_bench.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

void run_case(GpuBench& bench, const Options& options, const RowsCase& c, double target) {
  const std::string name = case_name(c);
  if (!wanted(options, name)) return;
  RowsDesc desc = case_desc(c);
  desc.methods = options.methods;
  desc.stages = options.stages;
  desc.stage_bytes = options.stage_bytes;
  std::unique_ptr<Plan> plan;
  if (!RowsPlan::create(bench.device(), c.op, desc, &plan).ok()) {
    std::printf("%-38s %s\n", name.c_str(), last_error().message);
    return;
  }
  const auto& rows = static_cast<const RowsPlan&>(*plan);
  const RowsOperands o = make_operands(bench, c);
  const RowsRun run{.table = o.table, .index = o.index, .packed = o.packed, .count = -1};
  const std::vector<Variant> variants = {
      {"tilewright", [&] { require(rows.run(bench.stream(), run)); }}, contiguous_copy(bench, o)};
  const bool small = o.payload < (16 << 20);
  const std::vector<double> us = small ? bench.race_graphs(variants, 20, options.repeats)
                                       : bench.race(variants, options.repeats);
  Line line;
  line.name = name;
  line.kernel = plan->info().kernel;
  line.bytes = 2.0 * static_cast<double>(o.payload);
  line.us = us[0];
  line.copy_us = us[1];
  line.target = target;
  print_line(options, line);
  bench.release_all();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  GpuBench bench;
  if (options.sweep) {
    sweep_rows(bench, options);
    return 0;
  }
  print_header(options);
  // 512 MB of rows out of a table of 4 GB.
  struct Width {
    int64_t bytes;
    double gather, scatter;
  };
  const Width widths[] = {{64, 0.61, 0.51},   {128, 0.87, 0.81},  {256, 0.93, 0.91},
                          {512, 0.94, 0.92},  {1024, 0.94, 0.93}, {2048, 0.94, 0.93},
                          {8192, 0.94, 0.93}, {14336, 0.94, 0.93}};
  for (const Op op : {Op::gather, Op::scatter})
    for (const Width& w : widths) {
      const int64_t count = (512 << 20) / w.bytes;
      run_case(bench, options, {op, w.bytes, count, 8 * count},
               op == Op::gather ? w.gather : w.scatter);
    }
  for (const Op op : {Op::gather, Op::scatter}) {
    run_case(bench, options, {op, 14336, 256, 65536}, 0);
    run_case(bench, options, {op, 1024, 1 << 18, 1 << 20, Order::random, 16}, 0);
    run_case(bench, options, {op, 1024, 1 << 18, 1 << 20, Order::random, 2}, 0);
    run_case(bench, options, {op, 1026, 1 << 18, 1 << 20}, 0);
    run_case(bench, options, {op, 100, 1 << 21, 1 << 22}, 0);
    run_case(bench, options, {op, 48, 1 << 22, 1 << 23}, 0);
    run_case(bench, options, {op, 16, 1 << 22, 1 << 23}, 0);
  }
  return 0;
}
