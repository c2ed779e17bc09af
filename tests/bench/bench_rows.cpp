// SPDX-License-Identifier: Apache-2.0
// Gather and scatter of rows at random, against the contiguous copy of as many bytes. Index bytes
// are not counted.
#include <algorithm>
#include <numeric>
#include <random>

#include "gpu_bench.hpp"
#include "ops/rows.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

enum class Order { identity, sorted, random };
const char* const kOrderNames[] = {"identity", "sorted", "random"};

struct Case {
  Op op;
  int64_t row_bytes;
  int64_t count;
  int64_t table_rows;
  Order order;
  double target;
  int64_t extra_pitch = 0;  // bytes between the table's rows
};

// Distinct rows of the table; a permutation where the table has as many rows.
std::vector<int32_t> draw(const Case& c) {
  std::vector<int32_t> rows(static_cast<size_t>(c.table_rows));
  std::iota(rows.begin(), rows.end(), 0);
  if (c.order != Order::identity) {
    std::mt19937_64 random(7);
    std::shuffle(rows.begin(), rows.end(), random);
  }
  rows.resize(static_cast<size_t>(c.count));
  if (c.order == Order::sorted) std::sort(rows.begin(), rows.end());
  return rows;
}

void run_case(GpuBench& bench, const Options& options, const Case& c) {
  const std::string name = std::string(family_name(c.op)) + " " + std::to_string(c.count) + " x " +
                           std::to_string(c.row_bytes) + " B " +
                           kOrderNames[static_cast<int>(c.order)] +
                           (c.extra_pitch ? " pitch +" + std::to_string(c.extra_pitch) : "");
  if (!wanted(options, name)) return;
  RowsDesc desc;
  desc.dtype = DType::U8;
  desc.columns = c.row_bytes;
  desc.table_rows = c.table_rows;
  desc.table_pitch = c.row_bytes + c.extra_pitch;
  desc.count = c.count;
  desc.methods = options.methods;
  desc.stages = options.stages;
  desc.stage_bytes = options.stage_bytes;
  std::unique_ptr<Plan> plan;
  if (!RowsPlan::create(bench.device(), c.op, desc, &plan).ok()) {
    std::printf("%-38s %s\n", name.c_str(), last_error().message);
    return;
  }
  const auto& rows = static_cast<const RowsPlan&>(*plan);
  const auto payload = static_cast<uint64_t>(c.count * c.row_bytes);
  const uint64_t table = bench.allocate(static_cast<uint64_t>(c.table_rows * desc.table_pitch));
  const uint64_t packed = bench.allocate(payload);
  const uint64_t index = bench.allocate(static_cast<uint64_t>(c.count) * 4);
  const uint64_t flat = bench.allocate(payload);
  const std::vector<int32_t> indices = draw(c);
  bench.upload(index, indices.data(), indices.size() * 4);

  const RowsRun run{.table = table, .index = index, .packed = packed, .count = -1};
  std::vector<Variant> variants;
  variants.push_back({"tilewright", [&] { require(rows.run(bench.stream(), run)); }});
  variants.push_back({"cuMemcpyAsync", [&] {
                        require(bench.driver().cuMemcpyDtoDAsync_(
                                    flat, packed, payload, bench.cuda_stream()) == CUDA_SUCCESS,
                                "cuMemcpyDtoDAsync");
                      }});
  const bool small = payload < (16 << 20);
  const std::vector<double> us = small ? bench.race_graphs(variants, 20, options.repeats)
                                       : bench.race(variants, options.repeats);
  Line line;
  line.name = name;
  line.kernel = plan->info().kernel;
  line.bytes = 2.0 * static_cast<double>(payload);
  line.us = us[0];
  line.copy_us = us[1];
  line.target = c.target;
  print_line(options, line);
  bench.release_all();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  GpuBench bench;
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
    for (const Width& w : widths)
      for (const Order order : {Order::random, Order::sorted, Order::identity}) {
        if (order != Order::random && w.bytes != 256 && w.bytes != 1024) continue;
        const int64_t count = (512 << 20) / w.bytes;
        run_case(bench, options,
                 {op, w.bytes, count, 8 * count, order, op == Op::gather ? w.gather : w.scatter});
      }
  for (const Op op : {Op::gather, Op::scatter}) {
    run_case(bench, options, {op, 14336, 256, 65536, Order::random, 0});
    run_case(bench, options, {op, 1024, 1 << 18, 1 << 20, Order::random, 0, 16});
    run_case(bench, options, {op, 1024, 1 << 18, 1 << 20, Order::random, 0, 2});
    run_case(bench, options, {op, 1026, 1 << 18, 1 << 20, Order::random, 0});
    run_case(bench, options, {op, 100, 1 << 21, 1 << 22, Order::random, 0});
    run_case(bench, options, {op, 48, 1 << 22, 1 << 23, Order::random, 0});
    run_case(bench, options, {op, 16, 1 << 22, 1 << 23, Order::random, 0});
  }
  return 0;
}
