// SPDX-License-Identifier: Apache-2.0
// Quantization to 8 bits with scales, and back. "of copy" is the speed relative to cuMemcpyAsync of
// as many bytes in the same run, scales included. If one scale of the whole matrix is computed, the
// second read of the matrix counts. Each result is compared with an element-by-element one.
#include <algorithm>
#include <cstring>
#include <random>

#include "ops/quantize/quantize.hpp"
#include "tests/bench/common/gpu_bench.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

struct Case {
  std::string name;
  QuantizeDesc desc;
  double target = 0;
};

// Fills wide types with normal numbers, and narrow ones with random bits except NaN.
void fill_numbers(GpuBench& bench, uint64_t address, uint64_t bytes, DType type) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<uint8_t> block(1 << 22);
  const auto element = static_cast<size_t>(dtype_bytes(type));
  const u32 format = type == DType::F32   ? kFormatF32
                     : type == DType::F16 ? kFormatF16
                                          : kFormatBF16;
  for (size_t at = 0; at < block.size(); at += element) {
    const u32 bits = element == 1 ? random() & 0x77u : encode(format, normal(random));
    std::memcpy(&block[at], &bits, element);
  }
  for (uint64_t at = 0; at < bytes; at += block.size())
    bench.upload(address + at, block.data(), std::min<uint64_t>(block.size(), bytes - at));
}

void check_case(GpuBench& bench, QuantizeDesc desc, const QuantizePlan& plan,
                const QuantizeRun& run, uint64_t dst_bytes, uint64_t scale_bytes) {
  std::unique_ptr<Plan> reference;
  desc.methods = kQuantizeByElements;
  require(QuantizePlan::create(bench.device(), desc, &reference));
  QuantizeRun other = run;
  const bool back = dtype_bytes(desc.src_dtype) == 1;
  const bool given = back || (desc.flags & kQuantizeDescGivenScale) != 0;
  other.dst = bench.allocate(dst_bytes);
  if (!given) other.scale = bench.allocate(scale_bytes);
  for (const QuantizeRun& which : {run, other}) {
    require(bench.stream().fill(which.dst, 0x35, dst_bytes));
    if (!given) require(bench.stream().fill(which.scale, 0x35, scale_bytes));
  }
  require(plan.run(bench.stream(), run));
  require(static_cast<const QuantizePlan&>(*reference).run(bench.stream(), other));
  require(bench.differences(run.dst, other.dst, dst_bytes) == 0,
          "comparing with element by element");
  require(given || bench.differences(run.scale, other.scale, scale_bytes) == 0,
          "comparing scales with element by element");
}

uint64_t rounded(int64_t bytes) {
  return static_cast<uint64_t>(bytes) / 256 * 256 + 256;
}

void run_case(GpuBench& bench, const Options& options, const Case& c) {
  if (!wanted(options, c.name)) return;
  QuantizeDesc desc = c.desc;
  desc.methods = options.methods;
  desc.max_sms = options.max_sms;
  std::unique_ptr<Plan> made;
  require(QuantizePlan::create(bench.device(), desc, &made));
  const auto& plan = static_cast<const QuantizePlan&>(*made);
  const int64_t src_pitch = desc.src_pitch ? desc.src_pitch : desc.columns;
  const int64_t dst_pitch = desc.dst_pitch ? desc.dst_pitch : desc.columns;
  const uint64_t src_bytes = rounded(desc.rows * src_pitch * dtype_bytes(desc.src_dtype));
  const uint64_t dst_bytes = rounded(desc.rows * dst_pitch * dtype_bytes(desc.dst_dtype));
  const uint64_t scale_bytes = rounded((desc.rows + 8) * (desc.columns / 128 + 8) * 4);
  QuantizeRun run;
  run.src = bench.allocate(src_bytes);
  run.dst = bench.allocate(dst_bytes);
  run.scale = bench.allocate(scale_bytes);
  const PlanInfo info = plan.info();
  run.workspace_bytes = info.workspace_bytes;
  if (info.workspace_bytes != 0) run.workspace = bench.allocate(info.workspace_bytes);
  fill_numbers(bench, run.src, src_bytes, desc.src_dtype);
  fill_numbers(bench, run.scale, scale_bytes, DType::F32);
  check_case(bench, desc, plan, run, dst_bytes, scale_bytes);
  const uint64_t flat = (info.bytes_read + info.bytes_written) / 2;
  const uint64_t flat_src = bench.allocate(flat);
  const uint64_t flat_dst = bench.allocate(flat);
  const std::vector<double> us =
      bench.race({{"tilewright", [&] { require(plan.run(bench.stream(), run)); }},
                  {"cuMemcpyAsync",
                   [&] {
                     require(bench.driver().cuMemcpyDtoDAsync_(flat_dst, flat_src, flat,
                                                               bench.cuda_stream()) == CUDA_SUCCESS,
                             "cuMemcpyDtoDAsync");
                   }}},
                 options.repeats);
  Line line;
  line.name = c.name;
  line.kernel = info.kernel;
  line.bytes = static_cast<double>(info.bytes_read + info.bytes_written);
  line.us = us[0];
  line.copy_us = us[1];
  line.target = c.target;
  print_line(options, line);
  bench.release_all();
}

Case make(const std::string& what, DType src, DType dst, ScaleKind kind, int64_t rows,
          int64_t columns, double target, ScaleOrder order = ScaleOrder::row, uint32_t flags = 0) {
  Case c;
  c.name = what + ", " + std::to_string(rows) + " x " + std::to_string(columns);
  c.desc.src_dtype = src, c.desc.dst_dtype = dst;
  c.desc.scale = kind, c.desc.scale_order = order;
  c.desc.flags = flags;
  c.desc.rows = rows, c.desc.columns = columns;
  // DeepGEMM's layout: lines of scales are multiples of 16 bytes.
  if (order == ScaleOrder::column) c.desc.scale_ld = (rows + 3) / 4 * 4;
  c.target = target;
  return c;
}

std::vector<Case> cases() {
  constexpr DType kBf16 = DType::BF16, kE4m3 = DType::F8E4M3;
  std::vector<Case> list;
  const std::pair<int64_t, int64_t> shapes[] = {{4681, 7168},   {16384, 2048}, {8192, 7168},
                                                {16384, 16384}, {60000, 2880}, {16384, 4100}};
  for (const auto& [rows, columns] : shapes) {
    const bool vectors = columns % 8 == 0;
    const auto target = [&](double share) { return vectors ? share : 0; };
    list.push_back(
        make("bf16 to e4m3, 1x128", kBf16, kE4m3, ScaleKind::row128, rows, columns, target(0.97)));
    list.push_back(make("bf16 to e4m3, 1x128 M-major", kBf16, kE4m3, ScaleKind::row128, rows,
                        columns, target(0.95), ScaleOrder::column));
    list.push_back(make("bf16 to e4m3, 128x128", kBf16, kE4m3, ScaleKind::block128, rows, columns,
                        target(0.92)));
    list.push_back(
        make("bf16 to e4m3, rows", kBf16, kE4m3, ScaleKind::row, rows, columns, target(0.92)));
    list.push_back(make("bf16 to e4m3, tensor", kBf16, kE4m3, ScaleKind::tensor, rows, columns, 0));
    list.push_back(make("bf16 to e4m3, tensor given", kBf16, kE4m3, ScaleKind::tensor, rows,
                        columns, target(0.97), ScaleOrder::row, kQuantizeDescGivenScale));
    list.push_back(
        make("e4m3 to bf16, 1x128", kE4m3, kBf16, ScaleKind::row128, rows, columns, target(0.97)));
    list.push_back(make("e4m3 to bf16, 1x128 M-major", kE4m3, kBf16, ScaleKind::row128, rows,
                        columns, target(0.95), ScaleOrder::column));
  }
  for (const DType src : {DType::F16, DType::F32})
    for (const DType dst : {DType::F8E4M3, DType::F8E5M2, DType::I8}) {
      const std::string what = std::string(dtype_name(src)) + " to " + dtype_name(dst) + ", 1x128";
      list.push_back(make(what, src, dst, ScaleKind::row128, 8192, 7168, 0.95));
      list.push_back(make(what + " M-major", src, dst, ScaleKind::row128, 8192, 7168, 0.92,
                          ScaleOrder::column));
    }
  list.push_back(make("bf16 to i8, rows", kBf16, DType::I8, ScaleKind::row, 8192, 7168, 0.92));
  for (const int64_t rows : {1, 64, 256})
    list.push_back(make("bf16 to e4m3, 1x128 M-major", kBf16, kE4m3, ScaleKind::row128, rows, 7168,
                        0, ScaleOrder::column));
  Case pitched =
      make("bf16 to e4m3, 1x128, pitched", kBf16, kE4m3, ScaleKind::row128, 8192, 7168, 0.92);
  pitched.desc.src_pitch = 7424, pitched.desc.dst_pitch = 7296;
  list.push_back(pitched);
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  GpuBench bench;
  print_header(options);
  for (const Case& c : cases()) run_case(bench, options, c);
  return 0;
}
