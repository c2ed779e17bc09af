// SPDX-License-Identifier: Apache-2.0
// Conversions, activations, sums and products of two tensors, and reductions into the destination.
// "of copy" is the speed relative to cuMemcpyAsync of as many bytes in the same run; a reduction
// counts two reads and one write. --peers=FILE is the output of peers_elementwise.py from the same
// session; cases are joined by name.
#include <algorithm>
#include <cstring>
#include <random>

#include "ops/elementwise/elementwise.hpp"
#include "tests/bench/common/gpu_bench.hpp"

using namespace tw;
using namespace tw::bench;

namespace {

struct Case {
  std::string name;
  DType a, b, dst;  // b is DType{} if there is one source
  int64_t rows, columns, pitch;
  int32_t reduction = kReduceNone;
  double target = 0;
  bool saturates = false;
  bool any_bits = false;  // random bits instead of normal numbers
  uint32_t combine = kCombineAdd;
  Activation activation = Activation::identity;
  bool device_scalars = false;  // alpha is 1 in device memory
};

ElementwiseDesc describe(const Case& c, const Options& options) {
  ElementwiseDesc desc;
  desc.dtype[kOperandA] = c.a;
  desc.dtype[kOperandB] = c.b;
  desc.dtype[kOperandDst] = c.dst;
  desc.rank = 2;
  desc.shape[0] = c.rows;
  desc.shape[1] = c.columns;
  for (auto& stride : desc.stride) {
    stride[0] = c.pitch;
    stride[1] = 1;
  }
  desc.reduction = c.reduction;
  desc.saturates = c.saturates;
  desc.combine = c.combine;
  desc.activation = c.activation;
  desc.device_scalars = c.device_scalars;
  desc.methods = options.methods;
  desc.max_sms = options.max_sms;
  return desc;
}

// Fills with normal numbers, as tensors have them: small formats cannot represent half of all
// random bits.
void fill_numbers(GpuBench& bench, uint64_t address, uint64_t bytes, DType type) {
  uint32_t kind = 0;
  if (!kind_of(type, &kind) || kind >= kTypeUnsigned) return;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<uint8_t> block(1 << 22);
  const u32 element = format_bytes(kind);
  for (size_t at = 0; at < block.size(); at += element) {
    const u32 bits = encode(kind, normal(random));
    std::memcpy(&block[at], &bits, element);
  }
  for (uint64_t at = 0; at < bytes; at += block.size())
    bench.upload(address + at, block.data(), std::min<uint64_t>(block.size(), bytes - at));
}

void check_case(GpuBench& bench, ElementwiseDesc desc, const ElementwisePlan& plan,
                const ElementwiseRun& run, uint64_t bytes) {
  std::unique_ptr<Plan> reference;
  desc.methods = 1u << kElementwiseStrided;
  require(ElementwisePlan::create(bench.device(), desc, &reference));
  ElementwiseRun other = run;
  other.address[kOperandDst] = bench.allocate(bytes);
  for (const uint64_t address : {run.address[kOperandDst], other.address[kOperandDst]})
    require(bench.stream().fill(address, 0x35, bytes));
  require(plan.run(bench.stream(), run));
  require(static_cast<const ElementwisePlan&>(*reference).run(bench.stream(), other));
  require(bench.differences(run.address[kOperandDst], other.address[kOperandDst], bytes) == 0,
          "comparing with element by element");
}

void run_case(GpuBench& bench, const Options& options, const Peers& peers, const Case& c) {
  if (!wanted(options, c.name)) return;
  const ElementwiseDesc desc = describe(c, options);
  std::unique_ptr<Plan> made;
  require(ElementwisePlan::create(bench.device(), desc, &made));
  const auto& plan = static_cast<const ElementwisePlan&>(*made);
  ElementwiseRun run{.alpha = 1, .beta = 1};
  uint64_t bytes = 0;
  for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
    if (desc.dtype[o] == DType{}) continue;
    bytes = static_cast<uint64_t>(c.rows * c.pitch * dtype_bytes(desc.dtype[o])) / 256 * 256 + 256;
    run.address[o] = bench.allocate(bytes);
    if (o != kOperandDst && !c.any_bits) fill_numbers(bench, run.address[o], bytes, desc.dtype[o]);
  }
  if (c.device_scalars) {
    run.device_alpha = bench.allocate(256);
    const float one = 1;
    bench.upload(run.device_alpha, &one, sizeof one);
  }
  check_case(bench, desc, plan, run, bytes);
  const PlanInfo info = plan.info();
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
  const auto of_case = peers.equal_range(c.name);
  for (auto peer = of_case.first; peer != of_case.second; ++peer)
    if (line.peer_us == 0 || peer->second.us < line.peer_us) {
      line.peer = peer->second.name;
      line.peer_us = peer->second.us;
    }
  print_line(options, line);
  bench.release_all();
}

std::vector<Case> cases() {
  const DType none{};
  const int64_t side = 16384;
  std::vector<Case> list = {{"bf16 to f8e4m3", DType::BF16, none, DType::F8E4M3, side, side, side},
                            {"bf16 to f8e4m3 saturating", DType::BF16, none, DType::F8E4M3, side,
                             side, side, kReduceNone, 0.98, true},
                            {"f8e4m3 to bf16", DType::F8E4M3, none, DType::BF16, side, side, side},
                            {"f32 to bf16", DType::F32, none, DType::BF16, side, side, side},
                            {"bf16 to f32", DType::BF16, none, DType::F32, side, side, side},
                            {"add bf16", DType::BF16, DType::BF16, DType::BF16, side, side, side},
                            {"add f32", DType::F32, DType::F32, DType::F32, side, side, side},
                            {"add u8", DType::U8, DType::U8, DType::U8, 2 * side, side, side},
                            {"add i64", DType::I64, DType::I64, DType::I64, side / 2, side, side}};
  for (Case& c : list) c.target = 0.98;
  list.push_back({"bf16 to f8e4m3, random bits", DType::BF16, none, DType::F8E4M3, side, side, side,
                  kReduceNone, 0, false, true});
  list.push_back(
      {"add f32 into 1 GB", DType::F32, none, DType::F32, side, side, side, kReduceAdd, 0.90});
  list.push_back({"add bf16 into 1 GB", DType::BF16, none, DType::BF16, 2 * side, side, side,
                  kReduceAdd, 0.90});
  list.push_back(
      {"add u8 into 0.5 GB", DType::U8, none, DType::U8, 2 * side, side, side, kReduceAdd, 0.90});
  const auto activated = [&](const char* name, DType a, DType b, DType dst, Activation which,
                             uint32_t combine) {
    Case c{name, a, b, dst, side, side, side};
    c.activation = which;
    c.combine = combine;
    list.push_back(c);
  };
  Case cache{"bf16 to f8e4m3 saturating, factor in memory",
             DType::BF16,
             none,
             DType::F8E4M3,
             side,
             side,
             side,
             kReduceNone,
             0.98,
             true};
  cache.device_scalars = true;
  list.push_back(cache);
  const DType bf16 = DType::BF16;
  activated("multiply bf16", bf16, bf16, bf16, Activation::identity, kCombineMultiply);
  activated("multiply f32", DType::F32, DType::F32, DType::F32, Activation::identity,
            kCombineMultiply);
  activated("multiply u8", DType::U8, DType::U8, DType::U8, Activation::identity, kCombineMultiply);
  activated("silu(bf16) * bf16", bf16, bf16, bf16, Activation::silu, kCombineMultiply);
  activated("silu(bf16) * bf16 to f8e4m3", bf16, bf16, DType::F8E4M3, Activation::silu,
            kCombineMultiply);
  activated("gelu(bf16) * bf16", bf16, bf16, bf16, Activation::gelu, kCombineMultiply);
  activated("gelu(bf16)", bf16, none, bf16, Activation::gelu, kCombineAdd);
  activated("gelu_tanh(bf16)", bf16, none, bf16, Activation::gelu_tanh, kCombineAdd);
  activated("silu(f32)", DType::F32, none, DType::F32, Activation::silu, kCombineAdd);
  activated("relu(bf16 + bf16)", bf16, bf16, bf16, Activation::relu, kCombineAdd);
  activated("silu(f8e4m3) to f8e4m3", DType::F8E4M3, none, DType::F8E4M3, Activation::silu,
            kCombineAdd);
  list.push_back({"add bf16 rows of 1000 of 1024", DType::BF16, DType::BF16, DType::BF16, 8 * side,
                  1000, 1024});
  list.push_back({"add bf16 rows of 1001 of 1003", DType::BF16, DType::BF16, DType::BF16, 8 * side,
                  1001, 1003});
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const Peers peers = read_peers(options.peers);
  GpuBench bench;
  print_header(options);
  for (const Case& c : cases()) run_case(bench, options, peers, c);
  return 0;
}
