// SPDX-License-Identifier: Apache-2.0
// Copies (contiguous, pitched, odd, boxes, transposes, permutations, small) against the driver's
// own. "of copy" is the speed relative to cuMemcpyAsync of as many bytes in the same run.
#include <array>

#include "ops/copy/copy.hpp"
#include "tests/bench/common/gpu_bench.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

struct Dim {
  int64_t extent, src, dst;  // elements
};

struct Case {
  std::string name;
  DType type;
  std::vector<Dim> dims;  // outermost first
  int64_t src_offset = 0;
  int64_t dst_offset = 0;
  double target = 0;
  bool small = false;
  bool driver_peer = false;  // compare with cuMemcpy2DAsync or cuMemcpy3DAsync
};

// Indexed by method (kCopyBoxes and the others).
const char* const kMethodNames[] = {
    "?",      "boxes",     "rows",       "strided", "permute",          "shift",
    "pieces", "transpose", "interleave", "driver",  "transpose (plain)"};
static_assert(sizeof kMethodNames / sizeof *kMethodNames == kCopyMethods);

CopyDesc describe(const Case& c, const Options& options) {
  CopyDesc desc;
  desc.dtype = c.type;
  desc.rank = static_cast<int32_t>(c.dims.size());
  for (size_t d = 0; d < c.dims.size(); ++d) {
    desc.shape[d] = c.dims[d].extent;
    desc.src_stride[d] = c.dims[d].src;
    desc.dst_stride[d] = c.dims[d].dst;
  }
  desc.methods = options.methods;
  desc.stages = options.stages;
  desc.stage_bytes = options.stage_bytes;
  desc.max_sms = options.max_sms;
  return desc;
}

void check(CUresult result) {
  require(result == CUDA_SUCCESS, "the driver's copy");
}

Variant driver_peer(GpuBench& bench, const Case& c, uint64_t src, uint64_t dst) {
  const auto bytes = static_cast<size_t>(dtype_bytes(c.type));
  const Dim& row = c.dims[c.dims.size() - 2];
  const size_t width = static_cast<size_t>(c.dims.back().extent) * bytes;
  if (c.dims.size() == 3) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = src;
    copy.dstDevice = dst;
    copy.srcPitch = static_cast<size_t>(row.src) * bytes;
    copy.dstPitch = static_cast<size_t>(row.dst) * bytes;
    copy.srcHeight = static_cast<size_t>(c.dims[0].src / row.src);
    copy.dstHeight = static_cast<size_t>(c.dims[0].dst / row.dst);
    copy.WidthInBytes = width;
    copy.Height = static_cast<size_t>(row.extent);
    copy.Depth = static_cast<size_t>(c.dims[0].extent);
    return {"cuMemcpy3DAsync",
            [&bench, copy] { check(bench.driver().cuMemcpy3DAsync_(&copy, bench.cuda_stream())); }};
  }
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = src;
  copy.dstDevice = dst;
  copy.srcPitch = static_cast<size_t>(row.src) * bytes;
  copy.dstPitch = static_cast<size_t>(row.dst) * bytes;
  copy.WidthInBytes = width;
  copy.Height = static_cast<size_t>(row.extent);
  return {"cuMemcpy2DAsync",
          [&bench, copy] { check(bench.driver().cuMemcpy2DAsync_(&copy, bench.cuda_stream())); }};
}

// Compares the plan's result, and all bytes around it, with an element-by-element copy.
void check_case(GpuBench& bench, CopyDesc desc, const CopyPlan& plan, uint64_t src, uint64_t dst,
                uint64_t base, uint64_t bytes) {
  std::unique_ptr<Plan> reference;
  desc.methods = 1u << kCopyStrided;
  require(CopyPlan::create(bench.device(), desc, &reference));
  const uint64_t other = bench.allocate(bytes);
  const uint64_t whole = (bytes + 255) / 256 * 256;
  require(bench.stream().fill(base, 0xa7, whole));
  require(bench.stream().fill(other, 0xa7, whole));
  require(plan.run(bench.stream(), src, dst));
  require(static_cast<const CopyPlan&>(*reference).run(bench.stream(), src, other + (dst - base)));
  require(bench.differences(base, other, whole) == 0, "comparing with the element-by-element copy");
}

void run_case(GpuBench& bench, const Options& options, const Case& c) {
  if (!wanted(options, c.name)) return;
  const CopyDesc desc = describe(c, options);
  CopyShape shape;
  require(copy_shape(desc, &shape));
  std::unique_ptr<Plan> plan;
  const Status made = CopyPlan::create(bench.device(), desc, &plan);
  if (!made.ok()) {
    std::printf("%-38s %s\n", c.name.c_str(), last_failure().message);
    return;
  }
  const auto& copy = static_cast<const CopyPlan&>(*plan);
  const int64_t element = dtype_bytes(c.type);
  const uint64_t src =
      bench.allocate(static_cast<uint64_t>(shape.src_range.high + c.src_offset * element + 64)) +
      static_cast<uint64_t>(c.src_offset * element);
  const auto dst_bytes = static_cast<uint64_t>(shape.dst_range.high + c.dst_offset * element + 64);
  const uint64_t base = bench.allocate(dst_bytes);
  const uint64_t dst = base + static_cast<uint64_t>(c.dst_offset * element);
  check_case(bench, desc, copy, src, dst, base, dst_bytes);
  const auto payload = static_cast<uint64_t>(shape.elements * element);
  const uint64_t flat_src = bench.allocate(payload);
  const uint64_t flat_dst = bench.allocate(payload);

  std::vector<Variant> variants;
  variants.push_back({"tilewright", [&] { require(copy.run(bench.stream(), src, dst)); }});
  variants.push_back(
      {"cuMemcpyAsync", [&] {
         check(bench.driver().cuMemcpyDtoDAsync_(flat_dst, flat_src, payload, bench.cuda_stream()));
       }});
  if (c.driver_peer) variants.push_back(driver_peer(bench, c, src, dst));
  const std::vector<double> us = c.small ? bench.race_graphs(variants, 100, options.repeats)
                                         : bench.race(variants, options.repeats);
  Line line;
  line.name = c.name;
  line.kernel = kMethodNames[copy.method_for_test(src, dst)];
  line.bytes = 2.0 * static_cast<double>(payload);
  line.us = us[0];
  line.copy_us = us[1];
  line.target = c.target;
  line.small = c.small;
  if (us.size() > 2) {
    line.peer = variants[2].name;
    line.peer_us = us[2];
  }
  print_line(options, line);
  bench.release_all();
}

Case matrix(const std::string& name, int64_t rows, int64_t bytes, int64_t src_pitch,
            int64_t dst_pitch, double target) {
  Case c{name, DType::U8, {{rows, src_pitch, dst_pitch}, {bytes, 1, 1}}};
  c.target = target;
  c.driver_peer = true;
  return c;
}

// Permutes a packed tensor into another packed one: dimension k of the result is dimension order[k]
// of the source.
Case permutation(const std::string& name, DType type, const std::vector<int64_t>& shape,
                 const std::vector<int>& order, double target) {
  std::vector<int64_t> stride(shape.size());
  int64_t next = 1;
  for (size_t d = shape.size(); d-- > 0; next *= shape[d]) stride[d] = next;
  Case c{name, type, std::vector<Dim>(shape.size())};
  next = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    const auto d = static_cast<size_t>(order[k]);
    c.dims[k] = {shape[d], stride[d], next};
    next *= shape[d];
  }
  c.target = target;
  return c;
}

std::vector<Case> contiguous_cases() {
  std::vector<Case> cases;
  for (const int64_t mb : {64, 256, 1024}) {
    Case c{"contiguous " + std::to_string(mb) + " MB", DType::U8, {{mb << 20, 1, 1}}};
    c.target = 0.99;
    cases.push_back(c);
  }
  Case odd{"contiguous 256 MB, both 3 past 16", DType::U8, {{(256 << 20) - 5, 1, 1}}, 3, 3};
  Case apart{"contiguous 256 MB, 3 and 5 past 16", DType::U8, {{(256 << 20) - 5, 1, 1}}, 3, 5};
  cases.push_back(odd);
  cases.push_back(apart);
  return cases;
}

std::vector<Case> pitched_cases() {
  std::vector<Case> cases;
  for (const auto& [bytes, target] : std::vector<std::pair<int64_t, double>>{{131072, 0.93},
                                                                             {32768, 0.93},
                                                                             {8192, 0.93},
                                                                             {2048, 0.93},
                                                                             {512, 0.93},
                                                                             {256, 0.0},
                                                                             {128, 0.88},
                                                                             {64, 0.68}}) {
    const int64_t rows = std::min<int64_t>((256 << 20) / bytes, 2 << 20);
    const int64_t pitch = (bytes + 255) / 256 * 256 + 256;
    cases.push_back(matrix("pitched " + std::to_string(bytes) + " B rows", rows, bytes, pitch,
                           pitch + 256, target));
  }
  cases.push_back(matrix("rows of 4097 B, aligned pitches", 65536, 4097, 4352, 4608, 0.80));
  cases.push_back(matrix("rows of 4097 B, packed to pitched", 65536, 4097, 4097, 4352, 0.80));
  cases.push_back(matrix("rows of 4097 B, pitched to packed", 65536, 4097, 4352, 4097, 0.80));
  cases.push_back(matrix("rows of 100 B, aligned pitches", 1 << 21, 100, 112, 128, 0.55));
  cases.push_back(matrix("rows of 100 B, packed to pitched", 1 << 21, 100, 100, 112, 0.55));
  Case apart = matrix("rows of 4097 B, 3 and 5 past 16", 65536, 4097, 4352, 4608, 0.80);
  apart.src_offset = 3;
  apart.dst_offset = 5;
  cases.push_back(apart);
  apart = matrix("rows of 100 B, 3 and 5 past 16", 1 << 21, 100, 112, 128, 0.55);
  apart.src_offset = 3;
  apart.dst_offset = 5;
  cases.push_back(apart);
  return cases;
}

std::vector<Case> strided_cases() {
  std::vector<Case> cases;
  Case box{"256^3 f32 of 512^3",
           DType::F32,
           {{256, 512 * 512, 256 * 256}, {256, 512, 256}, {256, 1, 1}},
           (7 * 512 + 5) * 512 + 8};
  box.target = 0.90;
  box.driver_peer = true;
  cases.push_back(box);
  box.name = "100^3 f32 of 512^3";
  box.dims = {{100, 512 * 512, 10000}, {100, 512, 100}, {100, 1, 1}};
  box.target = 0;
  cases.push_back(box);
  const std::pair<DType, double> types[] = {
      {DType::I64, 0.90}, {DType::F32, 0.90}, {DType::BF16, 0.87}, {DType::U8, 0.80}};
  for (const auto& [type, target] : types)
    cases.push_back(permutation("transpose 16384^2 " + std::string(dtype_name(type)), type,
                                {16384, 16384}, {1, 0}, target));
  cases.push_back(permutation("transpose 4097x4099 bf16", DType::BF16, {4097, 4099}, {1, 0}, 0));
  cases.push_back(
      Case{"transpose 4097x4099 bf16 pitched", DType::BF16, {{4099, 1, 4104}, {4097, 4104, 1}}});
  const std::vector<int64_t> cube = {256, 1024, 1024};
  cases.push_back(permutation("permute 102 bf16", DType::BF16, cube, {1, 0, 2}, 0.90));
  cases.push_back(permutation("permute 021 bf16", DType::BF16, cube, {0, 2, 1}, 0.80));
  cases.push_back(permutation("permute 201 bf16", DType::BF16, cube, {2, 0, 1}, 0.80));
  cases.push_back(permutation("permute 120 bf16", DType::BF16, cube, {1, 2, 0}, 0.80));
  cases.push_back(permutation("permute 210 bf16", DType::BF16, cube, {2, 1, 0}, 0.72));
  cases.push_back(
      permutation("BSHD to BHSD bf16", DType::BF16, {8, 4096, 32, 128}, {0, 2, 1, 3}, 0.90));
  cases.push_back(
      permutation("BHSD to BSHD bf16", DType::BF16, {8, 32, 4096, 128}, {0, 2, 1, 3}, 0.90));
  cases.push_back(
      permutation("NCHW to NHWC 64 bf16", DType::BF16, {32, 64, 224 * 224}, {0, 2, 1}, 0.80));
  cases.push_back(
      permutation("NHWC to NCHW 64 bf16", DType::BF16, {32, 224 * 224, 64}, {0, 2, 1}, 0.80));
  cases.push_back(
      permutation("NCHW to NHWC 3 bf16", DType::BF16, {256, 3, 512 * 512}, {0, 2, 1}, 0.70));
  cases.push_back(
      permutation("NHWC to NCHW 3 bf16", DType::BF16, {256, 512 * 512, 3}, {0, 2, 1}, 0.70));
  cases.push_back(
      permutation("NCHW to NHWC 12 bf16", DType::BF16, {64, 12, 512 * 512}, {0, 2, 1}, 0));
  cases.push_back(permutation("six dimensions of 16 bf16 reversed", DType::BF16,
                              {16, 16, 16, 16, 16, 64}, {5, 4, 3, 2, 1, 0}, 0));
  return cases;
}

std::vector<Case> small_cases() {
  std::vector<Case> cases;
  for (const int64_t kb : {4, 64, 256, 1024})
    cases.push_back(Case{"small " + std::to_string(kb) + " KB", DType::U8, {{kb << 10, 1, 1}}});
  Case odd{"small 64 KB, 3 and 5 past 16", DType::U8, {{(64 << 10) - 5, 1, 1}}, 3, 5};
  cases.push_back(odd);
  for (const int64_t rows : {4, 64, 512})
    cases.push_back(
        matrix("small " + std::to_string(rows) + " rows of 1 KB", rows, 1024, 1280, 1536, 0));
  cases.push_back(matrix("small 512 rows of 100 B", 512, 100, 112, 128, 0));
  cases.push_back(matrix("small 64 rows of 1001 B packed", 64, 1001, 1001, 1024, 0));
  cases.push_back(permutation("small transpose 256^2 bf16", DType::BF16, {256, 256}, {1, 0}, 0));
  cases.push_back(
      permutation("small BSHD to BHSD 1x32x8x128 bf16", DType::BF16, {32, 8, 128}, {1, 0, 2}, 0));
  for (Case& c : cases) c.small = true;
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  GpuBench bench;
  print_header(options);
  for (const auto& cases : {contiguous_cases(), pitched_cases(), strided_cases(), small_cases()})
    for (const Case& c : cases) run_case(bench, options, c);
  return 0;
}
