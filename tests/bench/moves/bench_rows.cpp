// SPDX-License-Identifier: Apache-2.0
// Gather and scatter of random rows, against a contiguous copy of as many bytes. Sums read two rows
// and write one, so their limit is 1.5 times the time of that copy. Bytes of indices do not count.
// Each case is first checked on a sample of its rows.
//
// --peers=FILE is the output of peers_rows_copies.py from the same session; cases are joined by
// name.
#include <algorithm>
#include <cstdio>

#include "tests/bench/moves/rows_bench.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

struct Timed {
  double us, copy_us;
};

Timed time_case(GpuBench& bench, const Options& options, const RowsPlan& plan, const RowsCase& c,
                RowsOperands* o) {
  const RowsRun run = run_of(*o);
  const std::vector<Variant> variants = {
      {"tilewright", [&] { require(plan.run(bench.stream(), run)); }}, contiguous_copy(bench, *o)};
  const bool small = c.count * c.row_bytes < (16 << 20);
  const std::vector<double> us = small ? bench.race_graphs(variants, 20, options.repeats)
                                       : bench.race(variants, options.repeats);
  return {us[0], us[1]};
}

void run_case(GpuBench& bench, const Options& options, const Peers& peers, const RowsCase& c,
              double target) {
  const std::string name = case_name(c);
  if (!wanted(options, name)) return;
  RowsDesc desc = case_desc(c);
  desc.methods = options.methods;
  desc.stages = options.stages;
  desc.stage_bytes = options.stage_bytes;
  std::unique_ptr<Plan> plan;
  if (!RowsPlan::create(bench.device(), c.op, desc, &plan).ok()) {
    std::printf("%-38s %s\n", name.c_str(), last_failure().message);
    return;
  }
  const auto& rows = static_cast<const RowsPlan&>(*plan);
  RowsOperands o = make_operands(bench, c);
  check_sample(bench, rows, c, o);
  const Timed timed = time_case(bench, options, rows, c, &o);
  const bool sums = c.reduction != kReduceNone;
  Line line;
  line.name = name;
  line.kernel = plan->info().kernel;
  line.bytes = (sums ? 3.0 : 2.0) * static_cast<double>(o.payload);
  line.us = timed.us;
  line.copy_us = (sums ? 1.5 : 1.0) * timed.copy_us;
  line.target = target;
  const auto of_case = peers.equal_range(name);
  for (auto at = of_case.first; at != of_case.second; ++at) {
    line.peer = at->second.name;
    line.peer_us = at->second.us;
    print_line(options, line);
  }
  if (of_case.first == of_case.second) print_line(options, line);
  bench.release_all();
}

void run_table(GpuBench& bench, const Options& options, const Peers& peers) {
  // 512 MB of rows from a table of 4 GB.
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
      run_case(bench, options, peers,
               {.op = op, .row_bytes = w.bytes, .count = count, .table_rows = 8 * count},
               op == Op::gather ? w.gather : w.scatter);
    }
  RowsCase weighted{.op = Op::gather, .row_bytes = 1024, .count = 1 << 19, .table_rows = 1 << 21};
  weighted.weighted = true;
  for (const DType dtype : {DType::F32, DType::BF16}) {
    weighted.dtype = dtype;
    run_case(bench, options, peers, weighted, 0.88);
  }
  for (const DType dtype : {DType::BF16, DType::F32})
    for (const int64_t bytes : {256, 512, 1024, 2048, 14336})
      for (const bool hot : {false, true}) {
        const int64_t count = (256 << 20) / bytes;
        run_case(bench, options, peers,
                 {.op = Op::scatter,
                  .row_bytes = bytes,
                  .count = count,
                  .table_rows = 8 * count,
                  .dtype = dtype,
                  .reduction = kReduceAdd,
                  .hot = hot},
                 hot || bytes < 512 ? 0 : 0.75);
      }
}

void run_others(GpuBench& bench, const Options& options, const Peers& peers) {
  for (const Op op : {Op::gather, Op::scatter}) {
    const auto other = [&](int64_t bytes, int64_t count, int64_t table_rows, int64_t pitch = 0,
                           int64_t past = 0) {
      run_case(bench, options, peers,
               {.op = op,
                .row_bytes = bytes,
                .count = count,
                .table_rows = table_rows,
                .extra_pitch = pitch,
                .past = past},
               0);
    };
    other(14336, 256, 65536);
    other(1024, 1 << 18, 1 << 20, 16);
    other(1024, 1 << 18, 1 << 20, 2);
    other(1024, 1 << 18, 1 << 20, 0, 2);
    other(64, 1 << 22, 1 << 23, 0, 2);
    other(1026, 1 << 18, 1 << 20);
    other(100, 1 << 21, 1 << 22);
    other(48, 1 << 22, 1 << 23);
    other(16, 1 << 22, 1 << 23);
  }
  // The combine step of a mixture of experts: the weighted sum of eight rows of 14 KB.
  RowsCase combine{.op = Op::gather,
                   .row_bytes = 14336,
                   .count = 4096,
                   .table_rows = 32768,
                   .dtype = DType::BF16};
  combine.weighted = true;
  combine.group = 8;
  run_case(bench, options, peers, combine, 0);
  // The cost of deterministic sums, and of the last of equal indices winning.
  RowsCase order{.op = Op::scatter,
                 .row_bytes = 1024,
                 .count = 1 << 18,
                 .table_rows = 1 << 21,
                 .dtype = DType::F32,
                 .reduction = kReduceAdd,
                 .flags = kRowsDeterministic};
  run_case(bench, options, peers, order, 0);
  order.hot = true;
  run_case(bench, options, peers, order, 0);
  order = {.op = Op::scatter,
           .row_bytes = 1024,
           .count = 1 << 19,
           .table_rows = 1 << 22,
           .flags = kRowsLastWins};
  run_case(bench, options, peers, order, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  GpuBench bench;
  if (options.sweep) {
    sweep_rows(bench, options);
    return 0;
  }
  const Peers peers = read_peers(options.peers);
  print_header(options);
  run_table(bench, options, peers);
  run_others(bench, options, peers);
  return 0;
}
